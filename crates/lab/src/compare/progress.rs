//! Progress of a comparison in words: number of pairs, estimate, remaining time. The listener decides whether a line is
//! redrawn or printed.

use super::state::ComparisonRun;
use crate::event::ComparisonEvent;

/// Growth of the number of pairs between two estimates, because the calculation takes time with the square of the
/// pairs.
const GROWTH: f64 = 1.05;

/// From this ratio on, fewer digits are shown.
const LARGE: f64 = 10.0;

/// What to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressText {
    /// A message that remains.
    Message(String),
    /// The state, which replaces the one before.
    State(String),
    /// The end: the state is removed.
    End,
}

/// The progress of a comparison in words, not more often than at an interval.
pub struct ComparisonProgress {
    every_s: f64,
    next_s: f64,
    /// The estimate, and its number of pairs.
    known: (String, f64),
}

impl ComparisonProgress {
    /// With so many seconds between two states.
    pub fn new(every_s: f64) -> Self {
        Self { every_s, next_s: 0.0, known: ("no estimate yet".to_owned(), 0.0) }
    }

    /// What to show after an event.
    pub fn after(&mut self, run: &ComparisonRun, event: ComparisonEvent) -> Option<ProgressText> {
        match event {
            // The first pairs have ended, or the servers are ready.
            ComparisonEvent::Begins(pairs) => {
                self.next_s = run.passed_s() + self.every_s;
                let (block_s, budget_s) = (run.block_s(), run.options().budget_s);
                let change = |change_s| format!("; a change of the schema takes {change_s:.2} s");
                let change = run.schema_change_s().map_or(String::new(), change);
                Some(ProgressText::Message(format!(
                    "comparing: at most {pairs} pairs with those of the noise floor, blocks of {block_s:.3} s, {budget_s:.0} s{change}"
                )))
            }
            ComparisonEvent::Pair | ComparisonEvent::Block if run.passed_s() < self.next_s => None,
            ComparisonEvent::Pair => {
                self.estimate(run);
                Some(self.state(run))
            }
            ComparisonEvent::Block => Some(self.state(run)),
            ComparisonEvent::Ends => Some(ProgressText::End),
        }
    }

    fn estimate(&mut self, run: &ComparisonRun) {
        let pairs = run.pairs() as f64;
        if pairs < self.known.1 * GROWTH {
            return;
        }
        if let Some(finding) = run.finding() {
            let decimals = if finding.ratio < LARGE { 3 } else { 1 };
            let smallest = finding.smallest_difference_so_far.map(|it| it * 100.0);
            let seen = smallest.map_or(String::new(), |it| format!(", detectable {it:.1} %"));
            self.known = (format!("B ÷ A ×{:.decimals$}{seen}", finding.ratio), pairs);
        }
    }

    fn state(&mut self, run: &ComparisonRun) -> ProgressText {
        self.next_s = run.passed_s() + self.every_s;
        let left_s = (run.options().budget_s - run.passed_s()).max(0.0);
        ProgressText::State(format!("{} pairs, {}, at most {left_s:.0} s left", run.pairs(), self.known.0))
    }
}
