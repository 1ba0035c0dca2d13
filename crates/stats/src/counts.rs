//! How many transactions there were and how they ended.
//! Not how long they took: that is `distribution`. Filled by the recorder, merged upward, stored as is.

use crate::{Ending, Failure};

/// Transactions by ending, plus how many were late and how much was retried.
///
/// `scheduled = succeeded + failed.total() + skipped + unfinished`, see [`Counts::check`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All transactions whose turn came, however they ended.
    pub scheduled: u64,
    /// Those that did all their script asked.
    pub succeeded: u64,
    /// Those that an error ended.
    pub failed: FailureCounts,
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
    /// Business transactions that the succeeded ones stand for; as many as they are, unless a script says more.
    pub business: u64,
}

/// Failed transactions by kind of error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureCounts {
    /// SQLSTATE 40001.
    pub serialization: u64,
    /// SQLSTATE 40P01.
    pub deadlock: u64,
    /// Everything else.
    pub other: u64,
}

impl FailureCounts {
    /// Failed transactions of every kind.
    pub fn total(&self) -> u64 {
        let FailureCounts { serialization, deadlock, other } = *self;
        serialization + deadlock + other
    }

    /// Adds `other` to `self`.
    pub fn merge(&mut self, other: &FailureCounts) {
        let FailureCounts { serialization, deadlock, other } = *other;
        self.serialization += serialization;
        self.deadlock += deadlock;
        self.other += other;
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
            Ending::Failed(Failure::Serialization) => self.failed.serialization += 1,
            Ending::Failed(Failure::Deadlock) => self.failed.deadlock += 1,
            Ending::Failed(Failure::Other) => self.failed.other += 1,
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
        let Counts { scheduled, succeeded, failed, skipped, unfinished, late, retried, retries, business } =
            *other;
        self.scheduled += scheduled;
        self.succeeded += succeeded;
        self.failed.merge(&failed);
        self.skipped += skipped;
        self.unfinished += unfinished;
        self.late += late;
        self.retried += retried;
        self.retries += retries;
        self.business = self.business.saturating_add(business);
        self.check();
    }

    /// Whether every scheduled transaction has exactly one ending. For counts that come from outside,
    /// such as a stored record; large numbers that do not add up do not overflow either.
    pub fn is_balanced(&self) -> bool {
        let Counts { scheduled, succeeded, failed, skipped, unfinished, late, retried, retries, business } =
            *self;
        let FailureCounts { serialization, deadlock, other } = failed;
        let ended: u128 = [succeeded, serialization, deadlock, other, skipped, unfinished]
            .iter()
            .map(|&n| u128::from(n))
            .sum();
        let balanced = ended == u128::from(scheduled);
        balanced
            && late <= succeeded
            && retried <= scheduled
            && retried <= retries
            && business >= succeeded
            && (business == 0 || succeeded > 0)
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
        let failed = FailureCounts { serialization: 1, deadlock: 1, other: 1 };
        let expected = Counts {
            scheduled: 7,
            succeeded: 2,
            failed,
            skipped: 1,
            unfinished: 1,
            late: 1,
            retried: 2,
            retries: 3,
            business: 11,
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
    }
}
