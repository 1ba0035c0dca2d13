//! What the server was doing, over time: backends by what they waited for, and the counters that belong beside them.
//! Made from the samples of an observation; many samples become few, by the mean over their time.

use std::collections::BTreeMap;

use results::{Observation, ServerSample};

use super::{POINTS_MAX, neighbours};

/// Kinds of waits that have a colour of their own; the rest is one.
const KINDS_MAX: usize = 8;

/// Backends by what they did, stacked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitsOverTime {
    /// Middles of the stretches.
    pub(crate) time_s: Vec<f64>,
    /// The most frequent first; the last one is everything else, if there is more.
    pub(crate) series: Vec<WaitSeries>,
}

/// One kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitSeries {
    pub(crate) event_type: String,
    pub(crate) event: String,
    /// On average, at each time.
    pub(crate) backends: Vec<f64>,
}

/// Counters by name, per second, and gauges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerOverTime {
    pub(crate) time_s: Vec<f64>,
    /// `None` where a counter was not seen.
    pub(crate) values: BTreeMap<String, Vec<Option<f64>>>,
}

/// A stretch of samples and how long each was.
struct Stretch<'a> {
    time_s: f64,
    samples: &'a [ServerSample],
    seconds: f64,
}

impl WaitsOverTime {
    /// `None` if no backend was seen doing anything.
    pub(crate) fn of(observation: &Observation) -> Option<WaitsOverTime> {
        let stretches = stretches(&observation.samples);
        let mut sums: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for sample in &observation.samples {
            for wait in &sample.waits {
                let seconds = sample.end_s - sample.start_s;
                *sums.entry((&wait.event_type, &wait.event)).or_default() += wait.backends * seconds;
            }
        }
        let mut kinds: Vec<_> = sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect();
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        if kinds.is_empty() || stretches.is_empty() {
            return None;
        }
        let rest: Vec<_> = if kinds.len() > KINDS_MAX { kinds.split_off(KINDS_MAX - 1) } else { Vec::new() };
        let means = |kinds: &[(&str, &str)]| stretches.iter().map(|it| it.backends(kinds)).collect();
        let mut series: Vec<WaitSeries> = kinds
            .iter()
            .map(|(kind, _)| WaitSeries {
                event_type: kind.0.to_owned(),
                event: kind.1.to_owned(),
                backends: means(&[*kind]),
            })
            .collect();
        if !rest.is_empty() {
            let kinds: Vec<_> = rest.iter().map(|(kind, _)| *kind).collect();
            let event = format!("{} other kinds", kinds.len());
            series.push(WaitSeries { event_type: String::new(), event, backends: means(&kinds) });
        }
        Some(WaitsOverTime { time_s: stretches.iter().map(|it| it.time_s).collect(), series })
    }
}

impl ServerOverTime {
    /// Counters whose names end in `_share` are means, all others are per second.
    pub(crate) fn of(observation: &Observation) -> ServerOverTime {
        let stretches = stretches(&observation.samples);
        let mut names: Vec<&str> =
            observation.samples.iter().flat_map(|it| it.values.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let values = |name: &str| stretches.iter().map(|stretch| stretch.value(name)).collect();
        ServerOverTime {
            time_s: stretches.iter().map(|it| it.time_s).collect(),
            values: names.iter().map(|name| ((*name).to_owned(), values(name))).collect(),
        }
    }
}

fn stretches(samples: &[ServerSample]) -> Vec<Stretch<'_>> {
    let stretch = |samples: &'_ [ServerSample]| {
        let (start_s, end_s) = (samples.first()?.start_s, samples.last()?.end_s);
        Some((f64::midpoint(start_s, end_s), end_s - start_s)).filter(|(_, seconds)| *seconds > 0.0)
    };
    let chunks = samples.chunks(neighbours(samples.len(), POINTS_MAX));
    let with_time = |samples| {
        let (time_s, seconds) = stretch(samples)?;
        Some(Stretch { time_s, samples, seconds })
    };
    chunks.filter_map(with_time).collect()
}

impl Stretch<'_> {
    /// Backends in any of these kinds of waits, on average over the time.
    fn backends(&self, kinds: &[(&str, &str)]) -> f64 {
        let of_sample = |sample: &ServerSample| -> f64 {
            let waits = sample.waits.iter();
            let ours = waits.filter(|wait| kinds.contains(&(wait.event_type.as_str(), wait.event.as_str())));
            ours.map(|wait| wait.backends).sum::<f64>() * (sample.end_s - sample.start_s)
        };
        self.samples.iter().map(of_sample).sum::<f64>() / self.seconds
    }

    fn value(&self, name: &str) -> Option<f64> {
        let seen = self.samples.iter().filter_map(|sample| Some((sample, *sample.values.get(name)?)));
        let (mut sum, mut seconds) = (0.0, 0.0);
        for (sample, value) in seen {
            let span = sample.end_s - sample.start_s;
            sum += if name.ends_with("_share") { value * span } else { value };
            seconds += span;
        }
        (seconds > 0.0).then(|| sum / seconds)
    }
}

#[cfg(test)]
mod tests {
    use results::{ObserveLevel, ObserverCost, PerTransaction, WaitMean};

    use super::*;

    fn sample(start_s: f64, waits: &[(&str, f64)], wal_bytes: f64) -> ServerSample {
        let wait = |(event, backends): &(&str, f64)| WaitMean {
            event_type: "LWLock".to_owned(),
            event: (*event).to_owned(),
            backends: *backends,
        };
        ServerSample {
            start_s,
            end_s: start_s + 2.0,
            looks: 40,
            idle: 0.0,
            waits: waits.iter().map(wait).collect(),
            values: [("wal_bytes".to_owned(), wal_bytes), ("host_busy_share".to_owned(), 0.5)].into(),
        }
    }

    fn observation(samples: Vec<ServerSample>) -> Observation {
        Observation {
            level: ObserveLevel::Full,
            missing: Vec::new(),
            cost: ObserverCost::default(),
            waits: None,
            per_transaction: PerTransaction::default(),
            counters: Vec::new(),
            statements: Vec::new(),
            events: Vec::new(),
            samples,
            backend_memory: None,
            standbys: Vec::new(),
            staleness: None,
            server_cpus_allowed: None,
            ceilings: Vec::new(),
        }
    }

    #[test]
    fn what_is_rare_is_one_kind() {
        let names: Vec<String> = (0..12).map(|number| format!("W{number:02}")).collect();
        let waits: Vec<(&str, f64)> =
            names.iter().enumerate().map(|(at, name)| (name.as_str(), 12.0 - at as f64)).collect();
        let waits = WaitsOverTime::of(&observation(vec![sample(0.0, &waits, 0.0)])).unwrap();
        assert_eq!(waits.series.len(), KINDS_MAX);
        assert_eq!(waits.series[0].event, "W00");
        let rest = waits.series.last().unwrap();
        assert_eq!((rest.event.as_str(), rest.backends[0]), ("5 other kinds", 15.0));
    }

    #[test]
    fn many_samples_become_their_mean_over_time() {
        let busy_at = |second: u32| if second.is_multiple_of(2) { 4.0 } else { 0.0 };
        let samples = (0..600u32)
            .map(|second| sample(f64::from(second) * 2.0, &[("WALWrite", busy_at(second))], 100.0))
            .collect();
        let observation = observation(samples);
        let waits = WaitsOverTime::of(&observation).unwrap();
        assert_eq!(waits.time_s.len(), 300);
        assert!(waits.series[0].backends.iter().all(|backends| *backends == 2.0));
        let server = ServerOverTime::of(&observation);
        assert_eq!(server.values["wal_bytes"][0], Some(50.0));
        assert_eq!(server.values["host_busy_share"][0], Some(0.5));
    }

    #[test]
    fn where_nothing_was_seen_there_is_nothing() {
        assert_eq!(WaitsOverTime::of(&observation(Vec::new())), None);
        assert!(ServerOverTime::of(&observation(Vec::new())).values.is_empty());
    }
}
