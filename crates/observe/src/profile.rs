//! Waits counted by the extension pg_wait_sampling: a server process samples all backends every few milliseconds and
//! counts by backend and event. The growth between two readings is used. Pure, except for the queries, which `probe`
//! and `watch` run.
//!
//! Some versions of the extension count only waiting backends. A server has processes that always wait; their counts
//! are the number of samples, and a backend without a count in a sample was running.

use std::collections::{BTreeMap, BTreeSet};

use connect::Row;

use crate::event_names::{RUNNING, WaitEvent, newest, owned};
use crate::scripts::Matcher;
use crate::waits::{Tally, scaled};

/// Name in the record.
pub(crate) const NAME: &str = "pg_wait_sampling";

/// Counts by process, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitReading {
    /// Counts of the benchmark's existing backends, by event.
    mine: BTreeMap<u32, BTreeMap<WaitEvent, u64>>,
    /// Total counts of all other processes.
    others: BTreeMap<u32, u64>,
}

/// Query for the counts of existing processes: PID, type of event, event, count, whether it belongs to the benchmark.
/// `mine` is a query or a list of PIDs.
pub(crate) fn sql(schema: &str, mine: &str) -> String {
    format!(
        "select a.pid, coalesce(p.event_type, ''), coalesce(p.event, ''), coalesce(sum(p.count), 0), a.is_mine \
         from (select pid, false as is_mine from pg_stat_activity where pid not in ({mine}) \
               union all select pid, true from (select unnest(array({mine})) as pid) as mine) as a \
         left join {schema}.pg_wait_sampling_profile as p on p.pid = a.pid group by 1, 2, 3, 5"
    )
}

impl WaitReading {
    /// Parses rows of [`sql`].
    pub(crate) fn of(rows: &[Row]) -> WaitReading {
        let mut reading = WaitReading::default();
        for row in rows {
            let number = |column: usize| row.get(column).and_then(|text| text.parse::<u64>().ok());
            let Some((pid, count)) = number(0).and_then(|pid| u32::try_from(pid).ok()).zip(number(3)) else {
                continue;
            };
            let (event_type, event) = (row.get(1).unwrap_or_default(), row.get(2).unwrap_or_default());
            if row.get(4) == Some("t") {
                let doing = if event.is_empty() { owned(RUNNING) } else { newest(event_type, event) };
                let counts = reading.mine.entry(pid).or_default();
                if count > 0 {
                    *counts.entry(doing).or_default() += count;
                }
            } else {
                *reading.others.entry(pid).or_default() += count;
            }
        }
        reading
    }

    /// PIDs of the benchmark's backends.
    pub(crate) fn backends(&self) -> BTreeSet<u32> {
        self.mine.keys().copied().collect()
    }

    /// Activity of the backends since `before`; `lived_share` is the share of that time for which they existed. `None`
    /// if the number of samples is unknown.
    pub(crate) fn since(&self, before: &WaitReading, lived_share: f64) -> Option<WaitGrowth> {
        let looks_at_all = self.looks_since(before)?;
        let mut growth = WaitGrowth { looks: scaled(looks_at_all, lived_share), ..WaitGrowth::default() };
        let mut waited = Vec::new();
        for (pid, counts) in &self.mine {
            let known = before.mine.get(pid);
            let mut waits = 0;
            for (doing, &count) in counts {
                let earlier = known.and_then(|counts| counts.get(doing)).copied().unwrap_or(0);
                // A decreased count means a reset.
                growth.was_reset |= count < earlier;
                let grown = count.checked_sub(earlier).unwrap_or(count).min(looks_at_all);
                waits += grown;
                if grown > 0 {
                    *growth.doing.entry(doing.clone()).or_default() += grown;
                }
            }
            // The backend existed at each sample with a wait.
            growth.looks = growth.looks.max(waits);
            // The start time of a new backend is unknown.
            waited.extend(known.map(|_| waits));
        }
        let running: u64 = waited.iter().map(|waits| growth.looks - waits).sum();
        if running > 0 {
            *growth.doing.entry(owned(RUNNING)).or_default() += running;
        }
        (growth.looks > 0).then_some(growth)
    }

    /// Number of samples of each backend: a process is counted at most once per sample, and some always wait.
    fn looks_since(&self, before: &WaitReading) -> Option<u64> {
        let grown = |later: u64, earlier: u64| later.checked_sub(earlier).unwrap_or(later);
        let others =
            self.others.iter().filter_map(|(pid, &later)| Some(grown(later, *before.others.get(pid)?)));
        let sum = |counts: &BTreeMap<WaitEvent, u64>| counts.values().sum::<u64>();
        let mine =
            self.mine.iter().filter_map(|(pid, later)| Some(grown(sum(later), sum(before.mine.get(pid)?))));
        others.chain(mine).max().filter(|&looks| looks > 0)
    }
}

/// Activity of backends between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitGrowth {
    /// Number of samples of each backend.
    looks: u64,
    /// Number of samples by activity.
    doing: BTreeMap<WaitEvent, u64>,
    /// The counts were reset in between.
    pub(crate) was_reset: bool,
}

impl WaitGrowth {
    /// Replaces the observer's samples of the same time. Those provide what the counts lack: the ratio of idle backends
    /// to those idle in a transaction and, with several scripts, the assignment to scripts.
    pub(crate) fn instead_of(self, own: &Tally, matcher: &Matcher) -> Tally {
        own.with_counts(self.looks, self.doing, matcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: (&str, &str) = ("IO", "WALSync");

    /// Counts of one backend.
    type Counted<'a> = &'a [((&'a str, &'a str), u64)];

    fn reading(mine: &[(u32, Counted<'_>)], others: &[(u32, u64)]) -> WaitReading {
        let counts = |counts: Counted<'_>| {
            counts.iter().map(|&(doing, count)| (owned(doing), count)).collect::<BTreeMap<_, _>>()
        };
        WaitReading {
            mine: mine.iter().map(|&(pid, of)| (pid, counts(of))).collect(),
            others: others.iter().copied().collect(),
        }
    }

    fn grown(before: &WaitReading, after: &WaitReading, lived_share: f64) -> (u64, Vec<(String, u64)>) {
        let growth = after.since(before, lived_share).expect("it was looked");
        (growth.looks, growth.doing.into_iter().map(|((_, event), count)| (event, count)).collect())
    }

    fn of(doing: &[(&str, u64)]) -> Vec<(String, u64)> {
        doing.iter().map(|&(event, count)| (event.to_owned(), count)).collect()
    }

    #[test]
    fn a_backend_that_was_not_counted_at_a_look_was_running() {
        let before = reading(&[(1, &[(SYNC, 10)]), (2, &[])], &[(7, 1000), (8, 5)]);
        let after = reading(&[(1, &[(SYNC, 40)]), (2, &[(SYNC, 5)])], &[(7, 1100), (8, 55)]);
        assert_eq!(grown(&before, &after, 1.0), (100, of(&[("running", 165), ("WALSync", 35)])));
    }

    #[test]
    fn what_runs_is_not_counted_twice_where_the_extension_counts_it_too() {
        let before = reading(&[(1, &[(SYNC, 10), (RUNNING, 5)])], &[(7, 1000)]);
        let after = reading(&[(1, &[(SYNC, 40), (RUNNING, 75)])], &[(7, 1090)]);
        assert_eq!(grown(&before, &after, 1.0), (100, of(&[("running", 70), ("WALSync", 30)])));
    }

    #[test]
    fn of_the_time_after_its_end_a_backend_was_not_running() {
        let before = reading(&[(1, &[(SYNC, 10)])], &[(7, 0)]);
        let after = reading(&[(1, &[(SYNC, 20)])], &[(7, 100)]);
        assert_eq!(grown(&before, &after, 0.25), (25, of(&[("running", 15), ("WALSync", 10)])));
    }

    #[test]
    fn a_backend_that_is_new_has_what_was_counted_of_it_and_a_reset_begins_anew() {
        let before = reading(&[(1, &[(SYNC, 50)])], &[(7, 1000)]);
        let after = reading(&[(1, &[(SYNC, 30)]), (2, &[(SYNC, 5)])], &[(7, 30)]);
        assert_eq!(grown(&before, &after, 1.0), (30, of(&[("WALSync", 35)])));
        assert!(after.since(&before, 1.0).expect("it was looked").was_reset);
    }

    #[test]
    fn a_backend_was_there_at_each_look_that_found_it_waiting() {
        let before = reading(&[(1, &[]), (2, &[])], &[(7, 0)]);
        let after = reading(&[(1, &[(SYNC, 60)]), (2, &[(SYNC, 20)])], &[(7, 100)]);
        assert_eq!(grown(&before, &after, 0.5), (60, of(&[("running", 40), ("WALSync", 80)])));
    }

    #[test]
    fn where_it_was_not_looked_nothing_is_known() {
        let still = reading(&[(1, &[(SYNC, 50)])], &[(7, 1000)]);
        assert_eq!(still.since(&still, 1.0), None);
        assert_eq!(still.since(&WaitReading::default(), 1.0), None);
    }
}
