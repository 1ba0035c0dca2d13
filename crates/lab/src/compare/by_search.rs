//! A comparison by searches: which side sustains the higher rate under the same goals. The steps of both searches
//! alternate, A B B A, so that a drift of the machine hits both.

use connect::Patience;
use experiment::{Cell, Comparable};
use results::{
    ComparisonDecision, RatioInterval, SearchAnswer, SearchComparison, SearchRecord, SearchResult, Status,
};
use run::{Circumstances, Control, RunError, RunSpec, StorePlaces};
use stats::{RateEstimate, RateRatio};

use super::layout::{Layout, PlacedSides};
use crate::error::LabError;
use crate::event::Listener;
use crate::search::{
    About, KeptSearch, Loads, SearchOptions, SearchRun, Searched, ServerLoads, goals, record,
};
use crate::trial;

/// Which side has the next step.
const ORDER: [usize; 4] = [0, 1, 1, 0];
/// Before the lines of progress of each side.
const SIDES: [&str; 2] = ["A: ", "B: "];

/// Options of a comparison by searches.
#[derive(Clone, Copy, Debug)]
pub struct SearchesOptions {
    /// Of each search; the budget is that of both.
    pub search: SearchOptions,
    /// The largest deterioration of B that is accepted, as a share.
    pub tolerance: f64,
    /// How long changes of the schema of a database in place wait for locks.
    pub patience: Patience,
}

/// A side during the comparison.
struct SearchedSide<'a> {
    run: SearchRun,
    loads: ServerLoads<'a>,
    has_ended: bool,
}

/// Searches on both sides in turns, and saves the result: the search on B, with that on A in it.
///
/// # Errors
/// There is no answer. A comparison that was interrupted or ended early is saved with what is known so far.
pub fn compare_searches(
    what: Comparable,
    cells: [Cell; 2],
    options: SearchesOptions,
    places: &StorePlaces,
    circumstances: &Circumstances,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Searched, LabError> {
    let specs = cells.each_ref().map(|cell| &cell.configuration.load);
    let goals = specs.map(goals);
    let [goals, of_b] = goals;
    let (goals, of_b) = (goals?, of_b?);
    if goals != of_b {
        return Err(
            RunError::Usage("the sides have different goals, so their rates say nothing".to_owned()).into()
        );
    }
    if specs.iter().any(|load| load.rate_tps.is_some()) {
        return Err(RunError::Usage("a search finds the rate: leave it out".to_owned()).into());
    }
    trial::check(&cells)?;
    places.check()?;
    super::remove_leftovers(&cells, listener)?;
    let annotation = what.experiment.annotation.clone();
    let factor = what.experiment.factors.first().map_or("side".to_owned(), |factor| factor.name.clone());
    let labels = cells.each_ref().map(label);
    let (ask_password, seed) = (circumstances.ask_password, options.search.seed);
    let patience = options.patience;
    let layout = Layout { what, cells, seed, patience, places, ask_password, listener, control };
    // Each side has half of the time, and no confirmation: a broken one would leave no ratio.
    let half = SearchOptions { budget_s: options.search.budget_s / 2.0, confirms: false, ..options.search };
    let (_, mut placed) = layout.placed(options.search.budget_s)?;
    let side = |at: usize, placed: &PlacedSides<'_>| -> Result<SearchedSide<'_>, RunError> {
        let request = trial::request(&layout.cells[at], seed, placed.targets[at].clone(), Vec::new())?;
        let spec = RunSpec { rate_tps: None, until: None, ..request.spec };
        let by = (places, circumstances);
        let target = placed.targets[at].clone();
        let loads = ServerLoads::new(spec, target, &half, goals.clone(), by, listener, control)?;
        let clients = layout.cells[at].configuration.given_clients();
        let run = SearchRun::new(&SearchOptions { clients, ..half }, goals.clone(), loads.clients_max())
            .of_side(SIDES[at]);
        Ok(SearchedSide { run, loads, has_ended: false })
    };
    let mut sides = [side(0, &placed)?, side(1, &placed)?];
    let searched = alternate(&mut sides, &mut placed, listener);
    let restored = placed.restore_schema();
    let (status, failure) = match searched.and(restored) {
        Ok(()) => (Status::Complete, None),
        Err(failure) if sides.iter().any(|side| side.run.is_empty()) => return Err(failure.into()),
        Err(failure) if failure.is_interruption() => (Status::Interrupted, Some(failure)),
        Err(failure) => (Status::Failed { reason: failure.to_string().into() }, Some(failure.after_begin())),
    };
    let record_of = |side: &SearchedSide<'_>| -> Result<SearchRecord, RunError> {
        let about: About =
            side.loads.about().ok_or_else(|| RunError::Usage("no load has ended".to_owned()))?;
        Ok(record(&side.run, about, annotation.clone(), status.clone(), side.loads.passed_s()))
    };
    let [a, b] = [record_of(&sides[0])?, record_of(&sides[1])?];
    let record = compared(a, b, (factor, labels), options.tolerance);
    let kept = KeptSearch::new(places, None).keep(&record);
    Ok(Searched { record, kept, failure })
}

/// The level of a side.
fn label(cell: &Cell) -> String {
    cell.levels.first().map_or("everything".to_owned(), |(_, level)| level.clone())
}

/// The steps of both searches until both have ended.
fn alternate(
    sides: &mut [SearchedSide<'_>; 2],
    placed: &mut PlacedSides<'_>,
    listener: Listener<'_>,
) -> Result<(), RunError> {
    for preferred in ORDER.into_iter().cycle() {
        let at = if sides[preferred].has_ended { 1 - preferred } else { preferred };
        let side = &mut sides[at];
        if side.has_ended {
            return Ok(());
        }
        placed.switch_schema(at)?;
        side.has_ended = !side.run.step(&mut side.loads, listener)?;
    }
    Ok(())
}

/// The record of B with that of A and the ratio.
fn compared(
    a: SearchRecord,
    b: SearchRecord,
    (factor, labels): (String, [String; 2]),
    tolerance: f64,
) -> SearchRecord {
    let ratio = estimate(&a.search).zip(estimate(&b.search)).map(|(a, b)| RateRatio::new(&a, &b));
    let comparison = SearchComparison {
        factor,
        labels,
        a,
        ratio: ratio.map(|it| it.ratio),
        interval: ratio.map(|it| RatioInterval { low: it.low, high: it.high }),
        tolerance,
        decision: ratio.map_or(ComparisonDecision::Undecided, |it| decision(&it, tolerance)),
    };
    SearchRecord { comparison: Some(Box::new(comparison)), ..b }
}

/// The fitted answer of a search; `None` if it has another one.
fn estimate(search: &SearchResult) -> Option<RateEstimate> {
    let interval = search.interval.filter(|_| search.answer == SearchAnswer::Sustains)?;
    Some(RateEstimate { rate_tps: search.rate_tps?, low_tps: interval.low, high_tps: interval.high })
}

/// What the interval says, as of other comparisons.
fn decision(ratio: &RateRatio, tolerance: f64) -> ComparisonDecision {
    let (worse, better) = (1.0 - tolerance, 1.0 + tolerance);
    match (ratio.low, ratio.high) {
        (_, high) if high < worse => ComparisonDecision::WorseThanTolerance,
        (low, _) if low > 1.0 => ComparisonDecision::Better,
        (low, high) if low > worse && high < better => ComparisonDecision::Equivalent,
        (low, _) if low > worse => ComparisonDecision::NoWorse,
        _ => ComparisonDecision::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::RateInterval;
    use testkit::search_record::search_record;

    fn searched(rate_tps: f64, half: f64) -> SearchRecord {
        let mut record = search_record();
        record.search.rate_tps = Some(rate_tps);
        record.search.interval =
            Some(RateInterval { low: rate_tps * (1.0 - half), high: rate_tps * (1.0 + half) });
        record
    }

    fn decided(a: SearchRecord, b: SearchRecord) -> ComparisonDecision {
        let names = ("settings.jit".to_owned(), ["on".to_owned(), "off".to_owned()]);
        let record = compared(a, b, names, 0.02);
        let comparison = record.comparison.expect("there are two sides");
        assert_eq!(comparison.ratio.is_some(), comparison.interval.is_some());
        comparison.decision
    }

    #[test]
    fn the_interval_of_the_ratio_decides_as_in_other_comparisons() {
        use ComparisonDecision::{Better, Equivalent, NoWorse, Undecided, WorseThanTolerance};
        assert_eq!(decided(searched(1000.0, 0.03), searched(800.0, 0.03)), WorseThanTolerance);
        assert_eq!(decided(searched(1000.0, 0.03), searched(1200.0, 0.03)), Better);
        assert_eq!(decided(searched(1000.0, 0.005), searched(1000.0, 0.005)), Equivalent);
        assert_eq!(decided(searched(1000.0, 0.03), searched(1030.0, 0.03)), NoWorse);
        assert_eq!(decided(searched(1000.0, 0.03), searched(1000.0, 0.03)), Undecided);
        let mut open = searched(1000.0, 0.03);
        (open.search.answer, open.search.interval) = (SearchAnswer::Between, None);
        assert_eq!(decided(open, searched(800.0, 0.03)), Undecided);
    }
}
