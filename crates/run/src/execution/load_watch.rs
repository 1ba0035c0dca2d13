//! Watches conditions of the server while a load runs, on a session and a thread of its own, and pauses or ends the load.
//! `results` defines what is recorded, `engine` carries a pause out.

mod standby_lag;

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use connect::{ConnectError, Session, StatementLimit, Target};
use engine::{GateState, LoadGate};
use observe::Observer;
use results::{LoadPause, LoadPauses, LoadStop, LoadWatch, SafeText, WatchReason};

use self::standby_lag::{Lag, StandbyReplies};
use crate::error::RunError;
use crate::spec::RunSpec;
use crate::spec::surface::Surface;

/// Time between two checks.
const PERIOD: Duration = Duration::from_secs(1);
/// Limit of each statement of a check on the server, and a little more for a server that does not answer.
const STATEMENT_LIMIT: &str = "2s";
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// Limit for connecting: the end of a run waits for it.
const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// Name of the session, which distinguishes it from those of the load.
const APPLICATION_NAME: &str = "pgmeter watch";
/// Versions below do not report the lag of standbys.
const LAG_SINCE: u32 = 10_00_00;

/// The conditions of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watch {
    max_lag: Option<Duration>,
    max_waiting_locks: Option<u64>,
    pause_when: Option<String>,
    stop_when: Option<String>,
    max_pause: Duration,
    /// Where it was written, for messages.
    surface: Surface,
}

/// Result of a check.
#[derive(Debug, PartialEq)]
enum Finding {
    Fine,
    Pause(WatchReason),
    Stop(WatchReason),
}

/// A watch while its load runs.
pub(crate) struct Watching {
    gate: Arc<LoadGate>,
    origin: Arc<OnceLock<Instant>>,
    /// Dropped at the end of the run.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<Log>>,
}

/// What happened, by the observer's clock.
#[derive(Debug, Default)]
struct Log {
    pauses: Vec<(Instant, Instant, WatchReason)>,
    stop: Option<(Instant, Option<Duration>, WatchReason)>,
}

impl Watch {
    /// The conditions of this run; `None` without any.
    pub(crate) fn new(spec: &RunSpec, surface: Surface) -> Option<Self> {
        let RunSpec { max_lag, max_waiting_locks, pause_when, stop_when, max_pause, .. } = spec.clone();
        let is_any =
            max_lag.is_some() || max_waiting_locks.is_some() || pause_when.is_some() || stop_when.is_some();
        is_any.then_some(Self { max_lag, max_waiting_locks, pause_when, stop_when, max_pause, surface })
    }

    /// As it is recorded.
    pub(crate) fn recorded(&self) -> LoadWatch {
        let sql = |text: &Option<String>| text.as_deref().map(SafeText::sql);
        LoadWatch {
            max_lag_s: self.max_lag.map(|lag| lag.as_secs_f64()),
            max_waiting_locks: self.max_waiting_locks,
            pause_when: sql(&self.pause_when),
            stop_when: sql(&self.stop_when),
            max_pause_s: self.max_pause.as_secs_f64(),
        }
    }

    /// Checks once that each condition can be read on this server; returns the number of standbys.
    ///
    /// # Errors
    /// One cannot be read: with the option and the reason.
    pub(crate) fn check(&self, session: &mut Session) -> Result<u64, RunError> {
        for (option, sql) in [("pause_when", &self.pause_when), ("stop_when", &self.stop_when)] {
            let Some(sql) = sql else { continue };
            let refuse = |reason| self.refusal(option, reason);
            // Also refuses several statements.
            session.analyze(sql).map_err(|error| refuse(error.to_string()))?;
            ask(session, sql).map_err(refuse)?;
        }
        if self.max_waiting_locks.is_some() {
            waiting_locks(session).map_err(|why| self.refusal("max_waiting_locks", why))?;
        }
        let Some(_) = self.max_lag else { return Ok(0) };
        let refuse = |reason: String| Err(self.refusal("max_lag", reason));
        if session.server_version_num() < LAG_SINCE {
            return refuse("a server before version 10 does not report the lag of its standbys".to_owned());
        }
        match StandbyReplies::default().lag(session, Observer::now()) {
            Ok(Lag { standbys: 0, .. }) => refuse("the server has no standby".to_owned()),
            Ok(Lag { standbys, .. }) => Ok(standbys),
            Err(reason) => refuse(reason),
        }
    }

    fn refusal(&self, option: &str, reason: String) -> RunError {
        RunError::Usage(format!("{} cannot be used: {reason}", self.surface.name(option)))
    }

    /// Checks all conditions; `standbys` is their number at the start.
    fn find(
        &self,
        session: &mut Session,
        standbys: u64,
        replies: &mut StandbyReplies,
    ) -> Result<Finding, String> {
        if let Some(sql) = &self.stop_when
            && ask(session, sql)?
        {
            return Ok(Finding::Stop(WatchReason::StopWhen));
        }
        if let Some(max) = self.max_lag {
            let Lag { standbys: connected, lag_s } = replies.lag(session, Observer::now())?;
            if connected < standbys {
                return Ok(Finding::Pause(WatchReason::StandbyGone { connected, expected: standbys }));
            }
            let max_s = max.as_secs_f64();
            if lag_s > max_s {
                return Ok(Finding::Pause(WatchReason::Lag { lag_s, max_s }));
            }
        }
        if let Some(max) = self.max_waiting_locks {
            let waiting = waiting_locks(session)?;
            if waiting > max {
                return Ok(Finding::Pause(WatchReason::WaitingLocks { waiting, max }));
            }
        }
        if let Some(sql) = &self.pause_when
            && ask(session, sql)?
        {
            return Ok(Finding::Pause(WatchReason::PauseWhen));
        }
        Ok(Finding::Fine)
    }
}

/// Executes statements in a read-only transaction of their own with short limits, and leaves nothing in the session.
fn in_transaction<T>(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<T, ConnectError>,
) -> Result<T, String> {
    session.set_statement_limit(StatementLimit::Within(ANSWER_LIMIT));
    let begin = format!(
        "begin read only; set local statement_timeout = '{STATEMENT_LIMIT}'; set local lock_timeout = '{STATEMENT_LIMIT}'"
    );
    let result = session.execute(&begin).and_then(|_| work(session));
    let ended = if session.is_in_transaction() { session.execute("rollback").map(drop) } else { Ok(()) };
    result.and_then(|value| ended.map(|()| value)).map_err(|error| error.to_string())
}

/// Whether the query returns true.
fn ask(session: &mut Session, sql: &str) -> Result<bool, String> {
    let sets = in_transaction(session, |session| session.query_sets(sql))?;
    let answer = match sets.as_slice() {
        [set] if set.columns.len() == 1 && set.rows.len() == 1 => set.rows[0].get(0),
        _ => None,
    };
    match answer {
        Some("t") => Ok(true),
        Some("f") => Ok(false),
        _ => Err("the query must return one row with one boolean that is not null, such as select count(*) > 100 from \
                  queue"
            .to_owned()),
    }
}

/// Locks of all databases that are waited for.
fn waiting_locks(session: &mut Session) -> Result<u64, String> {
    let sql = "select count(*) from pg_locks where not granted";
    let rows = in_transaction(session, |session| session.query_catalogs(sql))?;
    let number = rows.first().and_then(|row| row.get(0)?.parse().ok());
    number.ok_or_else(|| "the server did not answer with a number".to_owned())
}

impl Watching {
    /// Connects, checks the conditions, and starts the thread. The load may begin paused.
    ///
    /// # Errors
    /// There is no connection, or a condition cannot be read.
    pub(crate) fn start(watch: Watch, target: &Target) -> Result<Self, RunError> {
        let mut target = target.clone();
        target.application_name = Some(APPLICATION_NAME.to_owned());
        target.connect_timeout =
            Some(target.connect_timeout.map_or(CONNECT_LIMIT, |limit| limit.min(CONNECT_LIMIT)));
        let mut session = Session::connect(&target)?;
        let standbys = watch.check(&mut session)?;
        let gate = Arc::new(LoadGate::default());
        let origin = Arc::new(OnceLock::new());
        let (over, is_over) = channel();
        let mut work = Work {
            watch,
            target,
            standbys,
            session: Some(session),
            gate: Arc::clone(&gate),
            paused: None,
            replies: StandbyReplies::default(),
        };
        let mut log = Log::default();
        // Before the first transaction.
        work.check(&mut log);
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || work.run(&is_over, log));
        let thread = thread.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
        Ok(Self { gate, origin, over: Some(over), thread: Some(thread) })
    }

    /// What pauses and ends the load.
    pub(crate) fn gate(&self) -> &LoadGate {
        &self.gate
    }

    /// Times are recorded since `origin`; called once.
    pub(crate) fn measure_from(&self, origin: Instant) {
        let _ = self.origin.set(origin);
    }

    /// Ends the watch because the load has ended; returns the pauses in the measured time, and why it ended the load.
    pub(crate) fn finish(mut self) -> (Option<LoadPauses>, Option<LoadStop>) {
        self.over = None;
        let Some(thread) = self.thread.take() else { return (None, None) };
        let log = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        match self.origin.get() {
            Some(origin) => log.recorded(*origin),
            None => (None, None),
        }
    }
}

/// Ends the thread also if the run fails.
impl Drop for Watching {
    fn drop(&mut self) {
        self.over = None;
        // The results of a failed run are lost.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Log {
    fn recorded(self, origin: Instant) -> (Option<LoadPauses>, Option<LoadStop>) {
        let seconds = |at: Instant| at.saturating_duration_since(origin).as_secs_f64();
        let measured = self.pauses.into_iter().filter(|(_, until, _)| *until > origin);
        let mut pauses = LoadPauses::default();
        for (from, until, reason) in measured {
            let (from_s, until_s) = (seconds(from), seconds(until));
            pauses.count += 1;
            pauses.total_s += until_s - from_s;
            if pauses.first.len() < LoadPauses::LISTED_MAX {
                pauses.first.push(LoadPause { from_s, until_s, reason });
            }
        }
        let stop = self.stop.map(|(at, paused, reason)| LoadStop {
            at_s: seconds(at),
            paused_s: paused.map(|paused| paused.as_secs_f64()),
            reason,
        });
        ((pauses.count > 0).then_some(pauses), stop)
    }
}

/// The work of the thread.
struct Work {
    watch: Watch,
    target: Target,
    standbys: u64,
    session: Option<Session>,
    gate: Arc<LoadGate>,
    /// Begin and reason of the current pause.
    paused: Option<(Instant, WatchReason)>,
    replies: StandbyReplies,
}

impl Work {
    fn run(mut self, is_over: &Receiver<()>, mut log: Log) -> Log {
        while log.stop.is_none() && is_over.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            self.check(&mut log);
        }
        // The load ends soon after its gate.
        let _ = is_over.recv();
        self.end_pause(Observer::now(), &mut log);
        log
    }

    /// One check and its consequence.
    fn check(&mut self, log: &mut Log) {
        let finding = self.find();
        self.decide(finding, Observer::now(), log);
    }

    /// A condition that cannot be checked pauses the load, because it may hold.
    fn find(&mut self) -> Finding {
        let session = self.session.take().filter(|session| !session.is_lost());
        let session = session.map_or_else(|| Session::connect(&self.target), Ok);
        let found = session.map_err(|error| error.to_string()).and_then(|mut session| {
            let found = self.watch.find(&mut session, self.standbys, &mut self.replies);
            self.session = Some(session);
            found
        });
        found.unwrap_or_else(|error| Finding::Pause(WatchReason::Unreadable { error: error.into() }))
    }

    fn decide(&mut self, finding: Finding, now: Instant, log: &mut Log) {
        match finding {
            Finding::Fine => {
                self.end_pause(now, log);
                self.gate.set(GateState::Open);
            }
            Finding::Stop(reason) => {
                log.stop = Some((now, None, reason));
                self.gate.set(GateState::Ended);
            }
            Finding::Pause(reason) => {
                let (since, _) = self.paused.get_or_insert_with(|| (now, reason.clone()));
                let paused = now.saturating_duration_since(*since);
                if paused > self.watch.max_pause {
                    log.stop = Some((now, Some(paused), reason));
                    self.gate.set(GateState::Ended);
                } else {
                    self.gate.set(GateState::Paused);
                }
            }
        }
    }

    fn end_pause(&mut self, now: Instant, log: &mut Log) {
        if let Some((since, reason)) = self.paused.take() {
            log.pauses.push((since, now, reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(max_pause_s: u64) -> Work {
        let spec = RunSpec {
            pause_when: Some("select true".to_owned()),
            max_pause: Duration::from_secs(max_pause_s),
            ..RunSpec::default()
        };
        let environment = connect::Environment::default();
        let overrides = connect::Overrides::default();
        let target = connect::resolve(Some("host=/nowhere user=u"), &overrides, &environment).unwrap();
        Work {
            watch: Watch::new(&spec, Surface::Flags).unwrap(),
            target,
            standbys: 0,
            session: None,
            gate: Arc::default(),
            paused: None,
            replies: StandbyReplies::default(),
        }
    }

    fn pause() -> Finding {
        Finding::Pause(WatchReason::WaitingLocks { waiting: 12, max: 10 })
    }

    #[test]
    fn a_condition_pauses_the_load_until_it_no_longer_holds() {
        let (mut work, mut log, origin) = (work(60), Log::default(), Observer::now());
        let at = |s: u64| origin + Duration::from_secs(s);
        let findings = [
            (1, Finding::Fine),
            (2, pause()),
            (3, Finding::Pause(WatchReason::PauseWhen)),
            (5, Finding::Fine),
        ];
        let mut states = Vec::new();
        for (second, finding) in findings {
            work.decide(finding, at(second), &mut log);
            states.push(work.gate.state());
        }
        assert_eq!(states, [GateState::Open, GateState::Paused, GateState::Paused, GateState::Open]);
        work.decide(pause(), at(9), &mut log);
        work.end_pause(at(10), &mut log);
        let (pauses, stop) = log.recorded(at(4));
        let pauses = pauses.unwrap();
        assert_eq!((pauses.count, pauses.total_s, stop), (2, 2.0, None));
        let WatchReason::WaitingLocks { waiting: 12, max: 10 } = pauses.first[0].reason else {
            panic!("the first reason counts: {pauses:?}")
        };
        let times: Vec<_> = pauses.first.iter().map(|pause| (pause.from_s, pause.until_s)).collect();
        assert_eq!(times, [(0.0, 1.0), (5.0, 6.0)], "measuring begins in the first pause");
    }

    #[test]
    fn a_pause_that_lasts_too_long_and_a_query_end_the_load() {
        let (mut work, mut log, origin) = (work(5), Log::default(), Observer::now());
        for second in 0..=5 {
            work.decide(pause(), origin + Duration::from_secs(second), &mut log);
            assert_eq!(work.gate.state(), GateState::Paused, "{second}");
        }
        work.decide(pause(), origin + Duration::from_secs(6), &mut log);
        assert_eq!(work.gate.state(), GateState::Ended);
        let stop = log.recorded(origin).1.unwrap();
        assert_eq!((stop.at_s, stop.paused_s), (6.0, Some(6.0)));
        assert_eq!(
            stop.to_string(),
            "the load was ended after 6.0 s, because it had been paused for 6.0 s, longer than --max-pause: 12 locks were \
             waited for, and --max-waiting-locks is 10"
        );
        let mut log = Log::default();
        work.decide(Finding::Stop(WatchReason::StopWhen), origin + Duration::from_secs(2), &mut log);
        let stop = log.recorded(origin).1.unwrap();
        assert_eq!(
            stop.to_string(),
            "the load was ended after 2.0 s: the query of --stop-when returned true"
        );
    }

    #[test]
    fn a_server_that_cannot_be_asked_pauses_the_load() {
        let mut work = work(60);
        let Finding::Pause(WatchReason::Unreadable { error }) = work.find() else { panic!("no pause") };
        assert!(error.as_str().contains("/nowhere"), "{error}");
    }
}
