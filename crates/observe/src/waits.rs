//! Samples of the activity of backends: of the run, per script, per second. Pure; `watch` reads the server.
//!
//! A sample contains each backend once; `strata` computes shares from the counts.

use std::collections::BTreeMap;

use connect::Row;

use crate::event_names::{CPU, RUNNING, WaitEvent, newest, owned};
use crate::scripts::Matcher;

/// A backend after authentication that has not yet waited for its first command.
const STARTING: (&str, &str) = (CPU, "starting");
/// PostgreSQL's name for waiting for the client, since version 10.
const CLIENT_READ: (&str, &str) = ("Client", "ClientRead");

/// Backends with the same activity in one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// `None`: idle, waiting for the next transaction.
    pub(crate) doing: Option<WaitEvent>,
    /// The statement, if it was queried.
    pub(crate) statement: Option<String>,
    /// A parallel worker, not a client's backend.
    pub(crate) is_worker: bool,
    pub(crate) backends: u64,
}

/// Maximum number of distinct wait events, to limit memory; PostgreSQL has about 300.
const KINDS_MAX: usize = 1_000;
const OTHER: (&str, &str) = ("Unknown", "other");
/// Maximum number of backends, above that of any server.
const BACKENDS_MAX: u64 = 1 << 20;

impl Seen {
    /// From a row of a sample: type, event, state, number, whether they are parallel workers, statement.
    pub(crate) fn of(row: &Row) -> Option<Seen> {
        let text = |column| row.get(column).unwrap_or_default();
        let (event_type, event, state) = (text(0), text(1), text(2));
        let doing = match (state, event_type) {
            ("idle", _) => None,
            // Servers up to 9.6 have no wait event for this.
            ("idle in transaction" | "idle in transaction (aborted)", "") => Some(owned(CLIENT_READ)),
            // Without track_activities the state is unknown.
            ("disabled" | "", "Client") => None,
            ("", "") => Some(owned(STARTING)),
            (_, "") => Some(owned(RUNNING)),
            _ => Some(newest(event_type, event)),
        };
        Some(Seen {
            doing,
            statement: row.get(5).map(str::to_owned),
            is_worker: text(4) == "t",
            backends: text(3).parse::<u64>().ok()?.min(BACKENDS_MAX),
        })
    }
}

/// Counts of samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) looks: u64,
    pub(crate) idle: u64,
    /// Client backends that were not idle.
    pub(crate) doing: BTreeMap<WaitEvent, u64>,
    /// Parallel workers.
    pub(crate) workers: BTreeMap<WaitEvent, u64>,
    /// By script, including workers, if the script is known.
    pub(crate) scripts: Vec<BTreeMap<WaitEvent, f64>>,
}

impl Tally {
    /// Adds one sample.
    pub(crate) fn count(&mut self, look: &[Seen], matcher: &Matcher) {
        self.looks += 1;
        self.scripts.resize_with(matcher.scripts().max(self.scripts.len()), BTreeMap::new);
        for Seen { doing, statement, is_worker, backends } in look {
            let Some(doing) = doing else {
                self.idle += backends;
                continue;
            };
            let counts = if *is_worker { &mut self.workers } else { &mut self.doing };
            let is_new = !counts.contains_key(doing);
            let doing = if is_new && counts.len() >= KINDS_MAX { owned(OTHER) } else { doing.clone() };
            *counts.entry(doing.clone()).or_default() += backends;
            for (script, share) in matcher.shares(statement.as_deref()) {
                *self.scripts[script].entry(doing.clone()).or_default() += share * *backends as f64;
            }
        }
    }

    /// Adds another tally.
    pub(crate) fn merge(&mut self, other: &Tally) {
        let Tally { looks, idle, doing, workers, scripts } = other;
        self.looks += looks;
        self.idle += idle;
        for (mine, theirs) in [(&mut self.doing, doing), (&mut self.workers, workers)] {
            for (doing, seen) in theirs {
                *mine.entry(doing.clone()).or_default() += seen;
            }
        }
        self.scripts.resize_with(scripts.len().max(self.scripts.len()), BTreeMap::new);
        for (mine, theirs) in self.scripts.iter_mut().zip(scripts) {
            for (doing, seen) in theirs {
                *mine.entry(doing.clone()).or_default() += seen;
            }
        }
    }

    /// Whether the backend uses a CPU or waits for one.
    pub(crate) fn is_awake((event_type, _): &WaitEvent) -> bool {
        event_type == CPU
    }

    /// Samples of client backends that waited or were idle.
    pub(crate) fn asleep(&self) -> u64 {
        let waits = self.doing.iter().filter(|(doing, _)| !Tally::is_awake(doing));
        self.idle + waits.map(|(_, seen)| seen).sum::<u64>()
    }

    /// Samples of client backends.
    pub(crate) fn clients(&self) -> u64 {
        self.idle + self.doing.values().sum::<u64>()
    }

    /// Samples of all backends that were not idle.
    pub(crate) fn busy(&self) -> u64 {
        self.doing.values().chain(self.workers.values()).sum()
    }

    /// Number of samples with this activity.
    pub(crate) fn seen(&self, doing: &WaitEvent) -> u64 {
        [&self.doing, &self.workers].iter().filter_map(|counts| counts.get(doing)).sum()
    }

    /// Replaces the samples by more frequent counts that do not distinguish idle backends from those that wait for the
    /// client within a transaction. The samples provide that ratio, and, with several scripts, the assignment to
    /// scripts.
    pub(crate) fn with_counts(
        &self,
        looks: u64,
        mut doing: BTreeMap<WaitEvent, u64>,
        matcher: &Matcher,
    ) -> Tally {
        let client_read = owned(CLIENT_READ);
        let reading = self.doing.get(&client_read).copied().unwrap_or(0);
        let waiting = doing.remove(&client_read).unwrap_or(0);
        let idle_share =
            if self.idle + reading > 0 { self.idle as f64 / (self.idle + reading) as f64 } else { 1.0 };
        let idle = scaled(waiting, idle_share);
        if waiting > idle {
            doing.insert(client_read, waiting - idle);
        }
        // These counts contain client backends only; workers are only in the samples.
        let looked = if self.looks == 0 { 0.0 } else { looks as f64 / self.looks as f64 };
        let workers =
            self.workers.iter().map(|(doing, &seen)| (doing.clone(), rounded(seen as f64 * looked)));
        let workers: BTreeMap<WaitEvent, u64> = workers.collect();
        let mut scripts = self.scripts.clone();
        if !matcher.needs_text() {
            scripts.resize_with(matcher.scripts().max(scripts.len()), BTreeMap::new);
            for (script, _) in matcher.shares(None) {
                scripts[script].clear();
                for (doing, &seen) in doing.iter().chain(&workers) {
                    *scripts[script].entry(doing.clone()).or_default() += seen as f64;
                }
            }
        }
        Tally { looks, idle, doing, workers, scripts }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a count, never negative"
)]
pub(crate) fn rounded(count: f64) -> u64 {
    count.round() as u64
}

/// A share of a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of a count that is far below 2⁵³"
)]
pub(crate) fn scaled(count: u64, share: f64) -> u64 {
    (count as f64 * share.clamp(0.0, 1.0)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripts::Script;

    const SYNC: (&str, &str) = ("IO", "WALSync");

    fn seen(event_type: &str, event: &str, statement: &str, backends: u64) -> Seen {
        let doing = Some(owned((event_type, event)));
        Seen { doing, statement: Some(statement.to_owned()), is_worker: false, backends }
    }

    fn idle(backends: u64) -> Seen {
        Seen { doing: None, statement: None, is_worker: false, backends }
    }

    fn matcher() -> Matcher {
        let script = |weight, command: &str| Script { weight, commands: vec![Some(command.to_owned())] };
        Matcher::new(&[script(1, "select 1 from a"), script(1, "select 1 from b")])
    }

    #[test]
    fn shares_are_of_what_is_not_idle_and_add_up_to_one() {
        let mut tally = Tally::default();
        tally.count(&[idle(2), seen("IO", "WALSync", "select 1 from a", 3)], &matcher());
        tally.count(&[seen("Lock", "tuple", "select 2 from b", 1), idle(2)], &matcher());
        let waits = tally.to_waits(&[], None, "x", 5.0);
        assert_eq!((waits.looks, waits.backends_seen, waits.idle_share), (2, 8, 0.5));
        assert_eq!((waits.top[0].event.as_str(), waits.top[0].seen), ("WALSync", 3));
        for list in waits.scripts.iter().chain([&waits.top]) {
            assert!((list.iter().map(|wait| wait.share).sum::<f64>() - 1.0).abs() < 1e-9);
        }
        assert_eq!(waits.scripts[1][0].event, "tuple");
    }

    #[test]
    fn of_counts_that_know_no_idle_backends_our_own_looks_say_how_many_are() {
        let reads = |backends| seen("Client", "ClientRead", "select 1 from a", backends);
        let look = [idle(3), reads(1), seen("IO", "WALSync", "select 1 from a", 1)];
        let one = Matcher::new(&[Script { weight: 1, commands: Vec::new() }]);
        for (matcher, seen_of_script) in [(one, 80.0), (matcher(), 2.0)] {
            let mut own = Tally::default();
            own.count(&look, &matcher);
            let counts = [(owned(CLIENT_READ), 80), (owned(SYNC), 40), (owned(RUNNING), 20)];
            let tally = own.with_counts(100, BTreeMap::from(counts), &matcher);
            let waits = tally.to_waits(&[], None, "x", 100.0);
            let top: Vec<_> = waits.top.iter().map(|wait| (wait.event.as_str(), wait.seen)).collect();
            assert_eq!(top, [("WALSync", 40), ("running", 20), ("ClientRead", 20)]);
            assert_eq!((waits.looks, waits.backends_seen), (100, 140));
            assert!((waits.idle_share - 60.0 / 140.0).abs() < 1e-9);
            // With several scripts, the activity per script comes from the samples only.
            assert_eq!(tally.scripts[0].values().sum::<f64>(), seen_of_script);
        }
    }

    #[test]
    fn nothing_seen_is_no_share() {
        let waits = Tally::default().to_waits(&[], None, "x", 5.0);
        assert_eq!((waits.idle_share, waits.top.len()), (0.0, 0));
    }

    #[test]
    fn merging_equals_counting_all_at_once() {
        let looks = [
            [idle(1), seen("IO", "WALSync", "select 1 from a", 3)],
            [idle(4), seen("CPU", "running", "x", 1)],
        ];
        let (mut all, mut first, mut second) = (Tally::default(), Tally::default(), Tally::default());
        looks.iter().for_each(|look| all.count(look, &matcher()));
        first.count(&looks[0], &matcher());
        second.count(&looks[1], &matcher());
        first.merge(&second);
        assert_eq!(all.to_waits(&[], None, "x", 1.0), first.to_waits(&[], None, "x", 1.0));
        assert_eq!(all.means(None), first.means(None));
    }
}
