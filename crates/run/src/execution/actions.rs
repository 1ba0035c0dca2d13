//! Execution of actions at their times: each has a thread with a connection of its own, and ends with the run.
//! Called by the runner; `fault` performs those that are not SQL, `observe` reads the state of the tables.

mod fault;

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use connect::{
    Address, CancelKey, CancelRequest, Closer, ConnectError, Session, SqlState, StatementLimit, Target,
    Transport,
};
use observe::{Observer, flush_statistics, tables_now};
use results::{Action, ActionOutcome, ActionResult, Missing, SafeText, TablesAt, Warning};

use crate::error::RunError;
use crate::spec::site::FaultSite;
use crate::spec::{ActionKind, ActionSpec};

/// Name of the sessions, which distinguishes them from those of the load.
const APPLICATION_NAME: &str = "pgmeter action";
/// The connection is made and the state of the tables is read so long before the time of an action.
pub(super) const LEAD: Duration = Duration::from_secs(1);
/// Before 15, a server counts the changes of a session half a second later, and shows them half a second after that.
const STATISTICS_DELAY: Duration = Duration::from_millis(600);
/// Time for connecting, unless the target has another limit.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Time for a cancelled action to end before its connection is closed.
const CANCEL_LIMIT: Duration = Duration::from_secs(3);
/// Limit of each statement that reads the state of the tables.
const STATE_LIMIT: Duration = Duration::from_secs(10);

/// The actions of a run. Their threads wait for the run to begin.
pub(crate) struct Actions {
    all: Vec<Acting>,
    /// What faults change, until it is restored.
    site: Option<Arc<dyn FaultSite>>,
    /// The time since which the times of actions count.
    origin: OnceLock<Instant>,
}

/// An action and its thread.
struct Acting {
    /// Takes the time since which the times of actions count; without it, the run is over.
    origin: Option<Sender<Instant>>,
    progress: Arc<Mutex<Progress>>,
    /// Gets a message when the action has ended.
    is_done: Receiver<()>,
    thread: Option<JoinHandle<ActionResult>>,
}

/// What the thread and the runner know of each other.
#[derive(Default)]
struct Progress {
    /// Nothing may begin any more.
    is_run_over: bool,
    /// The session of the running action.
    running: Option<Running>,
}

/// A session that executes an action, and the means to end it.
#[derive(Clone)]
struct Running {
    address: Address,
    transport: Transport,
    key: CancelKey,
    closer: Option<Closer>,
}

impl Actions {
    /// Starts the threads. `tables` are those of the run's scripts, by name.
    pub(crate) fn start(
        specs: &[ActionSpec],
        target: &Target,
        tables: &[String],
        site: Option<Arc<dyn FaultSite>>,
    ) -> Result<Self, RunError> {
        let mut target = target.clone();
        target.application_name = Some(APPLICATION_NAME.to_owned());
        target.connect_timeout = target.connect_timeout.or(Some(CONNECT_LIMIT));
        let site = site.filter(|_| specs.iter().any(|spec| spec.fault().is_some()));
        let mut actions = Self { all: Vec::new(), site, origin: OnceLock::new() };
        for spec in specs {
            let (origin, received) = channel();
            let (done, is_done) = channel();
            let progress = Arc::new(Mutex::new(Progress::default()));
            let work = Work {
                spec: spec.clone(),
                target: target.clone(),
                tables: tables.to_vec(),
                site: actions.site.clone(),
                origin: received,
                progress: Arc::clone(&progress),
                done,
            };
            let thread = thread::Builder::new().name("action".to_owned()).spawn(move || work.perform());
            let thread =
                thread.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
            actions.all.push(Acting { origin: Some(origin), progress, is_done, thread: Some(thread) });
        }
        Ok(actions)
    }

    /// The times of the actions count from `origin`; called once.
    pub(crate) fn measure_from(&self, origin: Instant) {
        let _ = self.origin.set(origin);
        for sender in self.all.iter().filter_map(|acting| acting.origin.as_ref()) {
            // A thread that has ended has a result.
            let _ = sender.send(origin);
        }
    }

    /// None begins any more, because the load has ended, and faults end. SQL goes on until [`Self::finish`].
    pub(crate) fn close(&mut self) {
        for acting in &mut self.all {
            locked(&acting.progress).is_run_over = true;
            acting.origin = None;
        }
    }

    /// Ends the actions because the run has ended, undoes what they changed, and returns all results in order, and
    /// warnings about the servers that they leave behind.
    pub(crate) fn finish(mut self) -> (Vec<ActionResult>, Vec<Warning>) {
        self.end();
        let threads = self.all.iter_mut().filter_map(|acting| acting.thread.take());
        let results =
            threads.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
        let mut warnings = Vec::new();
        if let Some(site) = self.site.take() {
            let second = site.second_primary().zip(self.origin.get());
            warnings.extend(second.map(|((standby, since), origin)| {
                let from_s = since.saturating_duration_since(*origin).as_secs_f64();
                Warning::TwoPrimaries { standby: standby.into(), from_s }
            }));
            let restored = site.restore();
            warnings
                .extend(restored.err().map(|error| Warning::NotRestored { error: error.to_string().into() }));
        }
        (results, warnings)
    }

    /// Cancels the running ones, and closes the connections of those that do not end.
    fn end(&mut self) {
        let mut running = Vec::new();
        for acting in &mut self.all {
            let mut progress = locked(&acting.progress);
            progress.is_run_over = true;
            running.extend(progress.running.clone().map(|running| (running, &acting.is_done)));
            acting.origin = None;
        }
        let requests: Vec<CancelRequest<'_>> = running
            .iter()
            .map(|(Running { address, transport, key, .. }, _)| CancelRequest { address, transport, key })
            .collect();
        // The end of an action shows whether the server accepted the request.
        let _ = connect::cancel_all(&requests, CANCEL_LIMIT);
        for (Running { closer, .. }, is_done) in &running {
            if is_done.recv_timeout(CANCEL_LIMIT) == Err(RecvTimeoutError::Timeout)
                && let Some(closer) = closer
            {
                closer.close("the run has ended, and the server did not cancel the action");
            }
        }
    }
}

/// Ends the threads also if the run fails, and undoes what faults changed.
impl Drop for Actions {
    fn drop(&mut self) {
        self.end();
        for thread in self.all.iter_mut().filter_map(|acting| acting.thread.take()) {
            // The results of a failed run are lost.
            let _ = thread.join();
        }
        // The owner of the server notices if it is down.
        let _ = self.site.take().map(|site| site.restore());
    }
}

fn locked(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The work of a thread.
pub(super) struct Work {
    pub(super) spec: ActionSpec,
    pub(super) target: Target,
    pub(super) tables: Vec<String>,
    site: Option<Arc<dyn FaultSite>>,
    pub(super) origin: Receiver<Instant>,
    progress: Arc<Mutex<Progress>>,
    pub(super) done: Sender<()>,
}

impl Work {
    fn perform(self) -> ActionResult {
        let result = ActionResult {
            action: Action::from(&self.spec),
            begin_s: None,
            end_s: None,
            outcome: ActionOutcome::NotStarted,
            before: None,
            after: None,
        };
        let Ok(origin) = self.origin.recv() else { return result };
        match &self.spec.kind {
            ActionKind::Sql(sql) => self.perform_sql(sql, origin, result),
            ActionKind::Fault(fault) => match &self.site {
                Some(site) => self.perform_fault(&**site, fault, origin, result),
                // The runner refuses them.
                None => result,
            },
        }
    }

    fn perform_sql(&self, sql: &str, origin: Instant, result: ActionResult) -> ActionResult {
        let now_s = || Observer::now().saturating_duration_since(origin).as_secs_f64();
        if !self.wait_until(origin + self.spec.at.saturating_sub(LEAD)) {
            return result;
        }
        let mut session = Session::connect(&self.target);
        let before = tables_at(now_s(), sql, &self.tables, &mut session);
        if !self.wait_until(origin + self.spec.at) {
            return result;
        }
        // A server that refused the connection may accept it now.
        let session = session.ok().filter(|session| !session.is_lost());
        let session = session.map_or_else(|| Session::connect(&self.target), Ok);
        let begin_s = now_s();
        let (outcome, session) = match session {
            Ok(mut session) => match self.execute(&mut session, sql) {
                Some(outcome) => (outcome, Some(session)),
                None => return result,
            },
            Err(error) => (failed(&error), None),
        };
        let end_s = now_s();
        // The runner may have stopped waiting.
        let _ = self.done.send(());
        let mut session = self.settled(session);
        let after = tables_at(now_s(), sql, &self.tables, &mut session);
        ActionResult {
            begin_s: Some(begin_s),
            end_s: Some(end_s),
            outcome,
            before: Some(before),
            after: Some(after),
            ..result
        }
    }

    /// False if the run has ended before.
    pub(super) fn wait_until(&self, at: Instant) -> bool {
        let left = at.saturating_duration_since(Observer::now());
        self.origin.recv_timeout(left) == Err(RecvTimeoutError::Timeout)
    }

    pub(super) fn is_run_over(&self) -> bool {
        locked(&self.progress).is_run_over
    }

    /// `None` if the run has ended.
    fn execute(&self, session: &mut Session, sql: &str) -> Option<ActionOutcome> {
        {
            let mut progress = locked(&self.progress);
            if progress.is_run_over {
                return None;
            }
            progress.running = Some(Running {
                address: session.address().clone(),
                transport: session.transport().clone(),
                key: session.cancel_key(),
                closer: session.closer(),
            });
        }
        session.set_statement_limit(StatementLimit::None);
        if self.site.is_none() {
            // Others use the server, and would wait behind the action.
            session.limit_waits_of_statements();
        }
        let result = session.execute_of_user(sql);
        let is_run_over = {
            let mut progress = locked(&self.progress);
            progress.running = None;
            progress.is_run_over
        };
        Some(match result {
            Ok(_) => ActionOutcome::Succeeded,
            Err(error) => {
                let is_cancelled = error.sqlstate() == Some(SqlState::QUERY_CANCELED) || session.is_lost();
                if is_run_over && is_cancelled { ActionOutcome::CutOff } else { failed(&error) }
            }
        })
    }

    /// A session that sees the statistics of the action.
    pub(super) fn settled(&self, session: Option<Session>) -> Result<Session, ConnectError> {
        let session = session.filter(|session| !session.is_lost());
        let mut session = session.map_or_else(|| Session::connect(&self.target), Ok)?;
        session.set_statement_limit(StatementLimit::Within(STATE_LIMIT));
        if session.is_in_transaction() {
            session.execute("rollback")?;
        }
        thread::sleep(STATISTICS_DELAY);
        flush_statistics(&mut session)?;
        thread::sleep(STATISTICS_DELAY);
        Ok(session)
    }
}

/// The tables that the SQL names, and these.
pub(super) fn tables_at(
    at_s: f64,
    sql: &str,
    names: &[String],
    session: &mut Result<Session, ConnectError>,
) -> TablesAt {
    match session {
        Ok(session) => {
            session.set_statement_limit(StatementLimit::Within(STATE_LIMIT));
            let (tables, missing) = tables_now(session, sql, names);
            TablesAt { at_s, tables, missing }
        }
        Err(error) => TablesAt {
            at_s,
            tables: Vec::new(),
            missing: vec![Missing::new(TablesAt::ALL, error.to_string())],
        },
    }
}

fn failed(error: &ConnectError) -> ActionOutcome {
    let sqlstate = error.sqlstate().map(|state| state.to_string());
    ActionOutcome::Failed { sqlstate, error: SafeText::from(error.to_string()) }
}
