//! What happened during a run, for the gutter above its charts: actions, checkpoints, vacuums, lock queues, stalls and
//! outages. An event that covers more than half of the run is a sentence.

use results::{ActionResult, Event, EventKind, Outages, PopulationSummary, Stall};

use crate::chart::{Band, Colour};
use crate::figures::{latency, measured_seconds};
use crate::prose::{cut, escaped_line, titled};
use crate::run::{action_detail, action_outcome, outage_phases, storm_phases};

/// Characters of an event's detail.
const DETAIL_LEN_MAX: usize = 120;

/// Where a record has its events.
#[derive(Copy, Clone, Debug)]
pub(super) struct Events<'a> {
    pub(super) observed: &'a [Event],
    pub(super) stalls: &'a [Stall],
    pub(super) actions: &'a [ActionResult],
    pub(super) outages: Option<&'a Outages>,
    pub(super) population: Option<&'a PopulationSummary>,
}

impl Events<'_> {
    /// Those that began before the end, and took no more than half of the time.
    pub(super) fn bands(&self, end_s: f64) -> Vec<Band> {
        self.all(end_s).into_iter().filter(|band| !is_long(band, end_s)).collect()
    }

    /// The others as sentences.
    pub(super) fn sentences(&self, end_s: f64) -> Vec<String> {
        let all = self.all(end_s);
        let sentence = |band: &Band| {
            let start = measured_seconds(band.start.max(0.0));
            let to = band.end.filter(|end| *end < end_s).map_or("the end".to_owned(), measured_seconds);
            let detail = if band.detail.is_empty() { String::new() } else { format!(": {}", band.detail) };
            format!("{} from {start} to {to}{detail}.", titled(&band.kind))
        };
        all.iter().filter(|band| is_long(band, end_s)).map(sentence).collect()
    }

    fn all(&self, end_s: f64) -> Vec<Band> {
        let band = |colour, kind: &str, detail: String, start, end| Band {
            colour,
            kind: kind.to_owned(),
            detail: cut(&detail, DETAIL_LEN_MAX),
            start,
            end,
            is_shaded: false,
            has_words: false,
        };
        let events = self.observed.iter().map(|event| {
            let colour = match event.kind {
                EventKind::Checkpoint => Colour::Checkpoint,
                EventKind::Autovacuum => Colour::Autovacuum,
                EventKind::LockQueue => Colour::LockQueue,
            };
            let detail = escaped_line(event.detail.as_str());
            band(colour, crate::run::event_name(event.kind), detail, event.start_s, event.end_s)
        });
        let stalls = self.stalls.iter().map(|stall| {
            let detail = format!("no transaction completed for {}", latency(stall.length_s() * 1e6));
            band(Colour::Stall, "stall", detail, stall.start_s, Some(stall.end_s))
        });
        let actions = self.actions.iter().filter_map(|result| {
            let detail =
                format!("{}, {}", action_detail(&result.action.work), action_outcome(&result.outcome));
            Some(band(Colour::Action, "action", detail, result.begin_s?, result.end_s))
        });
        let phases = self.outages.map(outage_phases).unwrap_or_default();
        let storms = self.population.map(storm_phases).unwrap_or_default();
        let phases = phases
            .into_iter()
            .chain(storms)
            .map(|(kind, detail, start, end)| band(Colour::Stall, kind, detail, start, end));
        // Events go on being observed for a moment after the last transaction.
        actions.chain(events).chain(stalls).chain(phases).filter(|band| band.start < end_s).collect()
    }
}

fn is_long(band: &Band, end_s: f64) -> bool {
    band.end.unwrap_or(end_s).min(end_s) - band.start.max(0.0) > end_s / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_more_than_half_of_the_run_is_a_sentence() {
        let event = |start_s: f64, end_s: Option<f64>| Event {
            kind: EventKind::Checkpoint,
            start_s,
            end_s,
            detail: "time".to_owned().into(),
        };
        let observed =
            [event(10.0, Some(20.0)), event(-3.0, Some(31.0)), event(25.0, None), event(61.0, None)];
        let events =
            Events { observed: &observed, stalls: &[], actions: &[], outages: None, population: None };
        let starts: Vec<f64> = events.bands(60.0).iter().map(|band| band.start).collect();
        assert_eq!(starts, [10.0]);
        let told: Vec<String> =
            events.sentences(60.0).iter().map(|it| crate::figures::with_ordinary_spaces(it)).collect();
        assert_eq!(
            told,
            ["Checkpoint from 0.0 s to 31.0 s: time.", "Checkpoint from 25.0 s to the end: time."]
        );
    }
}
