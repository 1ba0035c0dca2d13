//! Staleness of standbys as clients see it, measured during a trial: a writer commits a sequence number on the primary
//! about a hundred times a second, and sessions read it from the standbys, over the networks of the trial's clients.
//! Used by `trial`.

use connect::Stopwatch;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use connect::{ConnectError, Session, Target};
use experiment::ALL_STANDBYS;
use results::{Latency, Missing, Observation, StaleSession, Staleness};
use run::{Control, RunError};
use stats::Distribution;

/// The table of the probe, in the trial's database.
const TABLE: &str = "public.pgmeter_staleness";
/// Pause between two writes, and between two reads of a session.
const PAUSE: Duration = Duration::from_millis(10);
/// Remembered acknowledgements: a standby that is further behind has at least the staleness of the oldest.
const ACKNOWLEDGED_MAX: usize = 100_000;
/// How long a standby may take to have the table.
const TABLE_LIMIT: Duration = Duration::from_secs(60);
/// The name of the probe in `missing`.
const NAME: &str = "staleness of standbys";

/// What the threads of a probe share.
struct Shared {
    stop: AtomicBool,
    /// Increased when what was measured before does not count: at the start and in the warm-up.
    epoch: AtomicU64,
    stopwatch: Stopwatch,
    acknowledged: Mutex<Acknowledged>,
}

/// Times of acknowledged commits, by their sequence numbers from 1.
#[derive(Default)]
struct Acknowledged {
    times: VecDeque<Duration>,
    /// Number of the last one.
    last: u64,
}

impl Acknowledged {
    fn add(&mut self, at: Duration) {
        self.last += 1;
        self.times.push_back(at);
        if self.times.len() > ACKNOWLEDGED_MAX {
            self.times.pop_front();
        }
    }

    /// The time of a number, or that of the oldest known one after it; `None` if it is not acknowledged yet.
    fn time_of(&self, number: u64) -> Option<Duration> {
        let first = self.last - self.times.len() as u64 + 1;
        let at = number.max(first).checked_sub(first)?;
        self.times.get(usize::try_from(at).ok()?).copied()
    }
}

/// A running probe; dropping it ends its threads.
pub(super) struct StalenessProbe {
    shared: Arc<Shared>,
    primary: Target,
    writer: Option<JoinHandle<Result<(), ConnectError>>>,
    readers: Vec<(String, JoinHandle<Result<Reader, ConnectError>>)>,
}

impl StalenessProbe {
    /// Creates the table, and starts a session that writes, one for each standby, and one that reads from all standbys
    /// in turn.
    pub(super) fn start(
        primary: &Target,
        standbys: &[(String, Target)],
        control: &Control,
    ) -> Result<StalenessProbe, RunError> {
        let mut session = control.connect(primary)?;
        for sql in [
            format!("DROP TABLE IF EXISTS {TABLE}"),
            format!("CREATE TABLE {TABLE} (number bigint NOT NULL)"),
            format!("INSERT INTO {TABLE} VALUES (0)"),
        ] {
            control.guard(&mut session, |session| session.execute(&sql))?;
        }
        drop(session);
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            stopwatch: Stopwatch::start(),
            acknowledged: Mutex::default(),
        });
        let primary = primary.clone();
        let mut probe =
            StalenessProbe { shared, primary: primary.clone(), writer: None, readers: Vec::new() };
        let shared = Arc::clone(&probe.shared);
        probe.writer = Some(spawn("staleness, writer", move || write(&primary, &shared))?);
        let single = standbys.iter().filter(|(name, _)| name != ALL_STANDBYS);
        let each = single.clone().map(|(name, target)| (name.clone(), vec![target.clone()]));
        let together: Vec<Target> = single.map(|(_, target)| target.clone()).collect();
        let in_turn = (together.len() > 1).then(|| (ALL_STANDBYS.to_owned(), together));
        for (name, targets) in each.chain(in_turn) {
            let shared = Arc::clone(&probe.shared);
            let reader = spawn("staleness, reader", move || read(&targets, &shared))?;
            probe.readers.push((name, reader));
        }
        Ok(probe)
    }

    /// What was measured so far does not count.
    pub(super) fn forget(&self) {
        self.shared.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the probe, removes its table, and adds its results to an observation.
    pub(super) fn finish(mut self, observation: &mut Observation) {
        let mut missing = |error: &ConnectError| {
            observation.missing.push(Missing::new(NAME, error.to_string()));
        };
        let mut sessions = Vec::new();
        self.shared.stop.store(true, Ordering::Relaxed);
        for (name, reader) in self.readers.drain(..) {
            match reader.join() {
                Ok(Ok(reader)) => sessions.push(reader.session(name)),
                Ok(Err(error)) => missing(&error),
                Err(_) => {}
            }
        }
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => missing(&error),
            _ => {
                let dropped = Session::connect(&self.primary)
                    .and_then(|mut session| session.execute(&format!("DROP TABLE IF EXISTS {TABLE}")));
                if let Err(error) = dropped {
                    missing(&error);
                }
            }
        }
        let writes = self.shared.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).last;
        observation.staleness = (!sessions.is_empty()).then_some(Staleness { writes, sessions });
    }
}

impl Drop for StalenessProbe {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Their sessions have time limits; results and errors do not matter any more.
        self.readers.drain(..).for_each(|(_, reader)| drop(reader.join()));
        drop(self.writer.take().map(JoinHandle::join));
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, RunError> {
    let failed = |error| RunError::System { what: "start a thread".to_owned(), error };
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(failed)
}

/// Commits the next number again and again.
fn write(target: &Target, shared: &Shared) -> Result<(), ConnectError> {
    let mut session = Session::connect(target)?;
    let mut number = 0_u64;
    while !shared.stop.load(Ordering::Relaxed) {
        number += 1;
        session.execute(&format!("UPDATE {TABLE} SET number = {number}"))?;
        let at = shared.stopwatch.passed();
        shared.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).add(at);
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Reads the number from these servers in turn, as one session of an application.
fn read(targets: &[Target], shared: &Shared) -> Result<Reader, ConnectError> {
    let sessions: Result<Vec<_>, _> = targets.iter().map(Session::connect).collect();
    let mut sessions = sessions?;
    let stopwatch = Stopwatch::start();
    for session in &mut sessions {
        while let Err(error) = number(session) {
            if session.is_lost() || shared.stop.load(Ordering::Relaxed) || stopwatch.passed() > TABLE_LIMIT {
                return Err(error);
            }
            thread::sleep(PAUSE);
        }
    }
    let mut reader = Reader::default();
    for at in (0..sessions.len()).cycle() {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let epoch = shared.epoch.load(Ordering::Relaxed);
        let acknowledged = || shared.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let (written, sent) = (acknowledged().last, shared.stopwatch.passed());
        let seen = number(&mut sessions[at])?;
        // The commit after the one that was seen is the oldest that was missed.
        let missed_at = if seen < written { acknowledged().time_of(seen + 1) } else { None };
        reader.count(Read { epoch, written, seen, age: missed_at.map(|at| sent.saturating_sub(at)) });
        thread::sleep(PAUSE);
    }
    Ok(reader)
}

fn number(session: &mut Session) -> Result<u64, ConnectError> {
    let rows = session.query(&format!("SELECT number FROM {TABLE}"))?;
    Ok(rows.first().and_then(|row| row.get(0)).and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// One read.
struct Read {
    epoch: u64,
    /// The last number whose commit was acknowledged before the read was sent.
    written: u64,
    /// The number that was read.
    seen: u64,
    /// Age of the oldest acknowledged commit that the read missed; `None` if it missed none.
    age: Option<Duration>,
}

/// The counts of a session that reads.
#[derive(Default)]
struct Reader {
    epoch: u64,
    highest: u64,
    reads: u64,
    stale: u64,
    backward: u64,
    behind_max: u64,
    ages: Distribution,
}

impl Reader {
    fn count(&mut self, read: Read) {
        if read.epoch != self.epoch {
            *self = Reader { epoch: read.epoch, highest: self.highest, ..Reader::default() };
        }
        self.reads += 1;
        self.stale += u64::from(read.seen < read.written);
        self.backward += u64::from(read.seen < self.highest);
        self.behind_max = self.behind_max.max(read.written.saturating_sub(read.seen));
        self.highest = self.highest.max(read.seen);
        self.ages.record(read.age.unwrap_or_default());
    }

    fn session(self, name: String) -> StaleSession {
        assert!(self.stale <= self.reads && self.backward <= self.reads, "each read counts once");
        StaleSession {
            reads_from: name.into(),
            reads: self.reads,
            stale_reads: self.stale,
            backward_reads: self.backward,
            commits_behind_max: self.behind_max,
            staleness_us: Latency::of(&self.ages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_as_stale_as_the_oldest_commit_that_it_missed() {
        let ms = Duration::from_millis;
        let mut acknowledged = Acknowledged::default();
        for at in [10, 20, 30] {
            acknowledged.add(ms(at));
        }
        assert_eq!(acknowledged.time_of(2), Some(ms(20)));
        assert_eq!(acknowledged.time_of(4), None);
        let mut reader = Reader::default();
        for (written, seen, age) in [(3, 3, None), (3, 1, Some(ms(15))), (3, 2, Some(ms(5))), (3, 4, None)] {
            reader.count(Read { epoch: 0, written, seen, age });
        }
        let session = reader.session("one".to_owned());
        assert_eq!((session.reads, session.stale_reads, session.backward_reads), (4, 2, 2));
        assert_eq!(session.commits_behind_max, 2);
        assert!((session.staleness_us.unwrap().max - 15_000.0).abs() < 20.0);
    }

    #[test]
    fn the_warm_up_does_not_count_but_what_was_seen_there_is_remembered() {
        let mut reader = Reader::default();
        reader.count(Read { epoch: 0, written: 9, seen: 5, age: None });
        reader.count(Read { epoch: 1, written: 9, seen: 4, age: None });
        let session = reader.session("one".to_owned());
        assert_eq!((session.reads, session.backward_reads), (1, 1));
    }

    #[test]
    fn acknowledgements_are_limited_and_the_oldest_stands_for_those_before() {
        let mut acknowledged = Acknowledged::default();
        for number in 1..=ACKNOWLEDGED_MAX as u64 + 5 {
            acknowledged.add(Duration::from_millis(number));
        }
        assert_eq!(acknowledged.times.len(), ACKNOWLEDGED_MAX);
        assert_eq!(acknowledged.time_of(1), Some(Duration::from_millis(6)));
        assert_eq!(acknowledged.time_of(7), Some(Duration::from_millis(7)));
    }
}
