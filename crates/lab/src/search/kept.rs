//! The search in the store: its row is written when the first trials have ended and replaced as the search goes on, so that
//! `--resume` can continue one that was broken off.

use results::{RateInterval, SearchAnswer, SearchGoal, SearchRecord, Status, Store};
use run::{RunError, StorePlaces};

use super::options::ResumedSearch;

/// Seconds between two writes of a search that goes on.
const EVERY_S: f64 = 30.0;

/// The row of a search.
pub(crate) struct KeptSearch<'a> {
    places: &'a StorePlaces,
    /// Its number, once it has a row.
    number: Option<i64>,
    next_s: f64,
}

impl<'a> KeptSearch<'a> {
    /// Of a new search, or of one that is continued.
    pub(crate) fn new(places: &'a StorePlaces, number: Option<i64>) -> Self {
        Self { places, number, next_s: 0.0 }
    }

    /// Whether the search should be written now.
    pub(crate) fn is_due(&self, passed_s: f64) -> bool {
        passed_s >= self.next_s
    }

    /// Writes it; returns its number.
    pub(crate) fn keep(&mut self, record: &SearchRecord) -> Result<i64, RunError> {
        self.next_s = record.search.elapsed_s + EVERY_S;
        let mut store = self.places.open()?;
        // A row that was removed meanwhile is written anew: nothing that was measured is lost.
        let number = match self.number {
            Some(number) if store.replace_search(number, record)? => number,
            Some(_) | None => store.add_search(record)?,
        };
        self.number = Some(number);
        Ok(number)
    }
}

/// The search to continue, with its number.
pub(crate) fn earlier(
    places: &StorePlaces,
    which: ResumedSearch,
    goals: &[SearchGoal],
) -> Result<(i64, SearchRecord), RunError> {
    let store = Store::open(places.store())?;
    let (number, record) = match which {
        ResumedSearch::Number(number) => (number, store.search(number)?),
        ResumedSearch::Newest => {
            let newest = store.newest_searches()?;
            let found = newest.into_iter().find(|(_, record)| record.search.goals == goals);
            found.ok_or_else(|| {
                RunError::Usage(format!(
                    "the store {} has no search with these goals: leave --resume out to begin one",
                    places.store().display()
                ))
            })?
        }
    };
    if record.search.goals != goals {
        let theirs: Vec<String> = record.search.goals.iter().map(|goal| goal.goal.to_string()).collect();
        return Err(RunError::Usage(format!(
            "search h{number} has other goals ({}): give them too, or leave --resume out to begin a new one",
            theirs.join(", ")
        )));
    }
    match refused(&record) {
        None => Ok((number, record)),
        Some(why) => Err(RunError::Usage(format!("search h{number} cannot be continued: {why}"))),
    }
}

/// Why a search cannot be continued.
fn refused(record: &SearchRecord) -> Option<&'static str> {
    let search = &record.search;
    if record.comparison.is_some() {
        return Some("it is a side of a comparison");
    }
    let is_wide = |interval: RateInterval| interval.half_width() > search.method.width;
    let is_open = match search.answer {
        SearchAnswer::Between | SearchAnswer::Nothing => true,
        SearchAnswer::Sustains | SearchAnswer::Corrected | SearchAnswer::Unconfirmed => {
            search.interval.is_some_and(is_wide)
        }
        SearchAnswer::KeptAtHighest | SearchAnswer::BrokenAtLowest | SearchAnswer::GeneratorLimited => false,
    };
    let has_ended = record.status == Status::Complete && !is_open;
    has_ended.then_some("it has its answer; leave --resume out to begin a new one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::search_record::search_record;

    #[test]
    fn a_search_with_its_answer_is_not_continued_but_one_that_was_broken_off_or_is_too_wide() {
        let mut record = search_record();
        record.search.method.width = 0.03;
        assert_eq!(refused(&record), None, "3.4 % is too wide");
        record.search.method.width = 0.05;
        assert!(refused(&record).is_some());
        record.status = Status::Interrupted;
        assert_eq!(refused(&record), None);
    }
}
