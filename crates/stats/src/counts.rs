//! Numbers of transactions by ending.
//! Filled by the recorder, merged upward, and stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ending, Failure, Timestamp};

/// Transactions by ending, late transactions and retries:
/// `scheduled = succeeded + failed + skipped + unfinished + unknown`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// All transactions that were due, however they ended.
    pub scheduled: u64,
    /// Transactions that completed their script.
    pub succeeded: u64,
    /// Transactions that ended with an error.
    pub failed: u64,
    /// Transactions not run because they were already too late.
    pub skipped: u64,
    /// Transactions still running at the end of the run.
    pub unfinished: u64,
    /// Transactions whose connection was lost after COMMIT was sent: applied or not.
    #[serde(default)]
    pub unknown: u64,
    /// Succeeded transactions that the server acknowledged with a reservation: committed on the primary, but perhaps
    /// not on the synchronous standby.
    #[serde(default)]
    pub reserved: u64,
    /// Succeeded transactions with a response time above the latency limit.
    pub late: u64,
    /// Transactions with more than one try, whether they succeeded or not.
    pub retried: u64,
    /// Tries after the first ones.
    pub retries: u64,
    /// Business transactions of the succeeded ones: the same number, unless a script has a larger `\batch`.
    pub business: u64,
    /// The parts in the measured time of the service times of succeeded transactions that were scheduled in the warm-up, in
    /// billionths of a transaction; absent without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub head_billionths: u64,
    /// Succeeded transactions that ended after the measured time; absent without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail: u64,
    /// The parts of their service times after the measured time, in billionths of a transaction; absent without any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail_billionths: u64,
    /// Failed transactions by kind of error.
    pub failures: Failures,
}

/// Billionths of a transaction.
const BILLION: u64 = 1_000_000_000;

/// The part of the service time after `moment`, in billionths.
fn part_after(moment: Timestamp, [started, finished]: [Timestamp; 2]) -> u64 {
    let after_ns = finished.as_nanos().saturating_sub(moment.max(started).as_nanos());
    let service_ns = finished.as_nanos().saturating_sub(started.as_nanos());
    let part = u128::from(after_ns) * u128::from(BILLION) / u128::from(service_ns.max(1));
    u64::try_from(part).unwrap_or(BILLION).min(BILLION)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants a reference
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Failed transactions by kind of error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// SQLSTATE 40001.
    pub serialization: u64,
    /// SQLSTATE 40P01.
    pub deadlock: u64,
    /// Connections that were lost before COMMIT was sent, or could not be made.
    #[serde(default)]
    pub connection: u64,
    /// All other errors.
    pub other: u64,
}

impl Failures {
    /// Counts one failed transaction.
    fn count(&mut self, failure: Failure) {
        match failure {
            Failure::Serialization => self.serialization += 1,
            Failure::Deadlock => self.deadlock += 1,
            Failure::Connection => self.connection += 1,
            Failure::Other => self.other += 1,
        }
    }

    /// The sum of both; `None` on overflow.
    fn checked_add(&self, more: &Failures) -> Option<Failures> {
        let Failures { serialization, deadlock, connection, other } = *more;
        Some(Failures {
            serialization: self.serialization.checked_add(serialization)?,
            deadlock: self.deadlock.checked_add(deadlock)?,
            connection: self.connection.checked_add(connection)?,
            other: self.other.checked_add(other)?,
        })
    }
}

impl Counts {
    /// Counts one transaction. `late` matters only for succeeded ones.
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
            Ending::Unknown => self.unknown += 1,
        }
        // As pgbench 15 and later: failed transactions count too.
        if tries > 1 {
            self.retried += 1;
            self.retries += u64::from(tries - 1);
        }
    }

    /// Counts one transaction that succeeded at its first try with a multiplicity of 1.
    #[inline]
    pub(crate) fn count_prompt(&mut self, late: bool) {
        self.scheduled += 1;
        self.succeeded += 1;
        self.late += u64::from(late);
        self.business = self.business.saturating_add(1);
    }

    /// A transaction of the warm-up, which is not counted, has succeeded after the measured time began.
    pub(crate) fn reach_into(&mut self, times: [Timestamp; 2], begin: Timestamp, end: Option<Timestamp>) {
        let after = end.map_or(0, |end| part_after(end, times));
        let within = part_after(begin, times).saturating_sub(after);
        self.head_billionths = self.head_billionths.saturating_add(within);
    }

    /// The counted transaction, which has succeeded, ended after `end`.
    pub(crate) fn reach_beyond(&mut self, times: [Timestamp; 2], end: Timestamp) {
        self.tail += 1;
        self.tail_billionths = self.tail_billionths.saturating_add(part_after(end, times));
    }

    /// Succeeded transactions in the measured time. One that began before it or ended after it counts with the part of its
    /// service time within.
    // Counts stay far below 2⁵³, where f64 begins to round integers.
    pub fn succeeded_in_time(&self) -> f64 {
        self.succeeded as f64 + (self.head_billionths as f64 - self.tail_billionths as f64) / BILLION as f64
    }

    /// Adds `other`, and checks that no transaction was lost on either side.
    ///
    /// # Panics
    /// If a transaction is missing, see [`Counts::check`].
    pub fn merge(&mut self, other: &Counts) {
        other.check();
        *self = self.checked_add(other).expect("no run has 2⁶⁴ transactions");
        self.check();
    }

    /// The sum of both; `None` on overflow, which only a damaged file can cause.
    pub fn checked_add(&self, more: &Counts) -> Option<Counts> {
        let Counts {
            scheduled,
            succeeded,
            failed,
            skipped,
            unfinished,
            unknown,
            reserved,
            late,
            retried,
            retries,
            business,
            head_billionths,
            tail,
            tail_billionths,
            failures,
        } = *more;
        Some(Counts {
            scheduled: self.scheduled.checked_add(scheduled)?,
            succeeded: self.succeeded.checked_add(succeeded)?,
            failed: self.failed.checked_add(failed)?,
            skipped: self.skipped.checked_add(skipped)?,
            unfinished: self.unfinished.checked_add(unfinished)?,
            unknown: self.unknown.checked_add(unknown)?,
            reserved: self.reserved.checked_add(reserved)?,
            late: self.late.checked_add(late)?,
            retried: self.retried.checked_add(retried)?,
            retries: self.retries.checked_add(retries)?,
            business: self.business.saturating_add(business),
            head_billionths: self.head_billionths.saturating_add(head_billionths),
            tail: self.tail.checked_add(tail)?,
            tail_billionths: self.tail_billionths.saturating_add(tail_billionths),
            failures: self.failures.checked_add(&failures)?,
        })
    }

    /// Whether every scheduled transaction has exactly one ending. For counts from outside, such as a stored record;
    /// inconsistent large numbers do not overflow.
    pub fn is_balanced(&self) -> bool {
        let sum = |counts: &[u64]| counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        let Failures { serialization, deadlock, connection, other } = self.failures;
        let endings = [self.succeeded, self.failed, self.skipped, self.unfinished, self.unknown];
        sum(&endings) == u128::from(self.scheduled)
            && sum(&[serialization, deadlock, connection, other]) == u128::from(self.failed)
            && self.late <= self.succeeded
            && self.reserved <= self.succeeded
            && self.retried <= self.scheduled
            && self.retried <= self.retries
            && self.tail <= self.succeeded
            && u128::from(self.tail_billionths) <= u128::from(self.tail) * u128::from(BILLION)
            && self.business >= self.succeeded
            && (self.business == 0 || self.succeeded > 0)
    }

    /// Share of all due transactions that were skipped or exceeded the latency limit; 0 if none was due.
    pub fn late_or_skipped_share(&self) -> f64 {
        self.share(self.late.saturating_add(self.skipped))
    }

    /// Share of all due transactions that were skipped, or left over at the end of a run with this number of clients,
    /// each of which may have one running; 0 if none was due.
    pub fn missed_share(&self, clients: u32) -> f64 {
        let left_over = self.unfinished.saturating_sub(u64::from(clients));
        self.share(self.skipped.saturating_add(left_over))
    }

    /// A share of all due transactions.
    fn share(&self, transactions: u64) -> f64 {
        if self.scheduled == 0 { 0.0 } else { transactions as f64 / self.scheduled as f64 }
    }

    /// Asserts that no transaction was lost.
    ///
    /// # Panics
    /// If the counts are inconsistent: `scheduled = succeeded + failed + skipped + unfinished + unknown`,
    /// `late ≤ succeeded`, `reserved ≤ succeeded`, `retried ≤ scheduled`, `retried ≤ retries` and
    /// `succeeded ≤ business`.
    pub fn check(&self) {
        assert!(
            self.is_balanced(),
            "a transaction was lost or counted twice: \
             scheduled must equal succeeded + failed + skipped + unfinished + unknown in {self:?}"
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
        counts.count(Ending::Failed(Failure::Connection), 1, 1, false);
        counts.count(Ending::Unknown, 1, 10, true);
        let expected = Counts {
            scheduled: 9,
            succeeded: 2,
            failed: 4,
            skipped: 1,
            unfinished: 1,
            unknown: 1,
            reserved: 0,
            late: 1,
            retried: 2,
            retries: 3,
            business: 11,
            failures: Failures { serialization: 1, deadlock: 1, connection: 1, other: 1 },
            ..Counts::default()
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
        assert!(!Counts { reserved: 1, ..Counts::default() }.is_balanced());
        assert!(!Counts { unknown: 1, ..Counts::default() }.is_balanced());
        assert!(!Counts { scheduled: 1, failed: 1, ..Counts::default() }.is_balanced(), "of no kind");
        assert_eq!(absurd.checked_add(&absurd), None);
    }

    #[test]
    fn a_transaction_at_the_edge_of_the_measured_time_counts_with_its_part_within() {
        let at = |second: u64| Timestamp::from_nanos(second * BILLION);
        let mut counts = Counts::default();
        // Scheduled in the warm-up, from 8 to 12 s: half of it is after 10 s.
        counts.reach_into([at(8), at(12)], at(10), Some(at(20)));
        // From 18 to 22 s, and one that began after the end.
        for times in [[at(18), at(22)], [at(21), at(22)]] {
            counts.count(Ending::Succeeded, 1, 1, false);
            counts.reach_beyond(times, at(20));
        }
        assert_eq!((counts.succeeded, counts.tail), (2, 2));
        assert!((counts.succeeded_in_time() - 1.0).abs() < 1e-9, "{counts:?}");
        // One that is longer than the measured time is all of it.
        let mut long = Counts::default();
        long.reach_into([at(0), at(40)], at(10), Some(at(20)));
        assert!((long.succeeded_in_time() - 0.25).abs() < 1e-9, "{long:?}");
        assert!(counts.is_balanced() && long.is_balanced());
    }
}
