//! How many transactions there were and how they ended.
//! Not how long they took: that is `distribution`. Filled by the recorder, merged upward, stored as is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ending, Failure};

/// Transactions by ending, plus how many were late and how much was retried:
/// `scheduled = succeeded + failed + skipped + unfinished`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// All transactions whose turn came, however they ended.
    pub scheduled: u64,
    /// Those that did all their script asked.
    pub succeeded: u64,
    /// Those that an error ended, of all kinds.
    pub failed: u64,
    /// Those not run because they would have been too late.
    pub skipped: u64,
    /// Those still under way when the run ended.
    pub unfinished: u64,
    /// The succeeded ones whose response time was above the latency limit.
    pub late: u64,
    /// Those tried more than once, whether they succeeded in the end or not.
    pub retried: u64,
    /// All tries after the first ones.
    pub retries: u64,
    /// Business transactions that the succeeded ones stand for: as many as they are, unless a script says with `\batch`
    /// that it does the work of more.
    pub business: u64,
    /// The failed ones by kind of error.
    pub failures: Failures,
}

/// Failed transactions by kind of error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// SQLSTATE 40001.
    pub serialization: u64,
    /// SQLSTATE 40P01.
    pub deadlock: u64,
    /// Everything else.
    pub other: u64,
}

impl Failures {
    /// Counts one failed transaction.
    fn count(&mut self, failure: Failure) {
        match failure {
            Failure::Serialization => self.serialization += 1,
            Failure::Deadlock => self.deadlock += 1,
            Failure::Other => self.other += 1,
        }
    }

    /// The sum of both; `None` if it is more than can be counted.
    fn checked_add(&self, more: &Failures) -> Option<Failures> {
        let Failures { serialization, deadlock, other } = *more;
        Some(Failures {
            serialization: self.serialization.checked_add(serialization)?,
            deadlock: self.deadlock.checked_add(deadlock)?,
            other: self.other.checked_add(other)?,
        })
    }
}

impl Counts {
    /// Counts one transaction. `late` is asked of succeeded ones only.
    #[inline]
    pub(crate) fn count(&mut self, ending: Ending, tries: u32, business: u64, late: bool) {
        self.scheduled += 1;
        match ending {
            Ending::Succeeded => {
                self.succeeded += 1;
                self.late += u64::from(late);
                self.business = self.business.saturating_add(business);
            }
            Ending::Failed(failure) => {
                self.failed += 1;
                self.failures.count(failure);
            }
            Ending::Skipped => self.skipped += 1,
            Ending::Unfinished => self.unfinished += 1,
        }
        // As pgbench 15 and later count them: for failed transactions too.
        if tries > 1 {
            self.retried += 1;
            self.retries += u64::from(tries - 1);
        }
    }

    /// Counts one transaction that succeeded at its first try and stands for itself alone.
    #[inline]
    pub(crate) fn count_prompt(&mut self, late: bool) {
        self.scheduled += 1;
        self.succeeded += 1;
        self.late += u64::from(late);
        self.business = self.business.saturating_add(1);
    }

    /// Adds `other` to `self`, and checks that nothing was lost on either side.
    ///
    /// # Panics
    /// If a transaction is missing, see [`Counts::check`].
    pub fn merge(&mut self, other: &Counts) {
        other.check();
        *self = self.checked_add(other).expect("no run has 2⁶⁴ transactions");
        self.check();
    }

    /// The sum of both; `None` if it is more than can be counted, which only a damaged file can hold.
    pub fn checked_add(&self, more: &Counts) -> Option<Counts> {
        let Counts {
            scheduled,
            succeeded,
            failed,
            skipped,
            unfinished,
            late,
            retried,
            retries,
            business,
            failures,
        } = *more;
        Some(Counts {
            scheduled: self.scheduled.checked_add(scheduled)?,
            succeeded: self.succeeded.checked_add(succeeded)?,
            failed: self.failed.checked_add(failed)?,
            skipped: self.skipped.checked_add(skipped)?,
            unfinished: self.unfinished.checked_add(unfinished)?,
            late: self.late.checked_add(late)?,
            retried: self.retried.checked_add(retried)?,
            retries: self.retries.checked_add(retries)?,
            business: self.business.saturating_add(business),
            failures: self.failures.checked_add(&failures)?,
        })
    }

    /// Whether every scheduled transaction has exactly one ending. For counts that come from outside,
    /// such as a stored record; large numbers that do not add up do not overflow either.
    pub fn is_balanced(&self) -> bool {
        let sum = |counts: &[u64]| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        let Failures { serialization, deadlock, other } = self.failures;
        sum(&[self.succeeded, self.failed, self.skipped, self.unfinished]) == u128::from(self.scheduled)
            && sum(&[serialization, deadlock, other]) == u128::from(self.failed)
            && self.late <= self.succeeded
            && self.retried <= self.scheduled
            && self.retried <= self.retries
            && self.business >= self.succeeded
            && (self.business == 0 || self.succeeded > 0)
    }

    /// Of all transactions that were due, the share of those that were skipped or above the latency limit; 0 if none was
    /// due.
    pub fn late_or_skipped_share(&self) -> f64 {
        self.share(self.late.saturating_add(self.skipped))
    }

    /// Of all transactions that were due, the share of those that were skipped or left over at the end of a run with so
    /// many clients, each of which may then be in the middle of one; 0 if none was due.
    pub fn missed_share(&self, clients: u32) -> f64 {
        let left_over = self.unfinished.saturating_sub(u64::from(clients));
        self.share(self.skipped.saturating_add(left_over))
    }

    /// So many of all transactions that were due.
    fn share(&self, transactions: u64) -> f64 {
        if self.scheduled == 0 { 0.0 } else { transactions as f64 / self.scheduled as f64 }
    }

    /// Asserts that no transaction disappeared.
    ///
    /// # Panics
    /// If the counts are not balanced: `scheduled = succeeded + failed + skipped + unfinished`,
    /// `late ≤ succeeded`, `retried ≤ scheduled`, `retried ≤ retries` and `succeeded ≤ business`.
    pub fn check(&self) {
        assert!(
            self.is_balanced(),
            "a transaction was lost or counted twice: \
             scheduled must equal succeeded + failed + skipped + unfinished in {self:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ending_is_counted_under_its_own_name() {
        let mut counts = Counts::default();
        counts.count(Ending::Succeeded, 1, 1, false);
        counts.count(Ending::Succeeded, 3, 10, true);
        counts.count(Ending::Failed(Failure::Serialization), 2, 10, false);
        counts.count(Ending::Failed(Failure::Deadlock), 1, 1, false);
        counts.count(Ending::Failed(Failure::Other), 1, 1, true);
        counts.count(Ending::Skipped, 0, 1, true);
        counts.count(Ending::Unfinished, 1, 1, true);
        let expected = Counts {
            scheduled: 7,
            succeeded: 2,
            failed: 3,
            skipped: 1,
            unfinished: 1,
            late: 1,
            retried: 2,
            retries: 3,
            business: 11,
            failures: Failures { serialization: 1, deadlock: 1, other: 1 },
        };
        assert_eq!(counts, expected);
        counts.check();
    }

    #[test]
    #[should_panic(expected = "a transaction was lost or counted twice")]
    fn merging_counts_that_lost_a_transaction_panics() {
        let lost = Counts { scheduled: 2, succeeded: 1, ..Counts::default() };
        Counts::default().merge(&lost);
    }

    #[test]
    fn absurd_counts_are_unbalanced_not_an_overflow() {
        let absurd = Counts { scheduled: 0, succeeded: u64::MAX, skipped: 1, ..Counts::default() };
        assert!(!absurd.is_balanced());
        assert!(!Counts { late: 1, ..Counts::default() }.is_balanced());
        assert!(!Counts { scheduled: 1, failed: 1, ..Counts::default() }.is_balanced(), "of no kind");
        assert_eq!(absurd.checked_add(&absurd), None);
    }
}
