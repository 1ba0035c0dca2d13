//! A loading session: runs tasks one after the other, and reconnects if the connection is lost; the current task is
//! then repeated. Runs on one thread of `executor`.

mod rows;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use connect::{
    Address, CancelKey, Closer, ConnectError, LockHolder, LockTry, LockWaits, LockingStatements, Patience,
    ServerError, Session, SqlState, Stopwatch, Target, Transport,
};

use super::journal::{self, Note};
use super::plan::{Mode, Part, Task};
use super::repairs::{self, Repair};
use super::statement::LoadStatement;
use crate::WorkloadError;
use crate::contract::load::{begin_own, commit, connect_beside, failed};
use crate::contract::marks;
use crate::loader::protection::acting_on_all;
use crate::loader::protection::dependents;
use crate::loader::protection::foreign_objects::{
    ForeignObjects, begin_counting, changed_rows, run_deferred,
};
use crate::loader::protection::init_lock;
use crate::loader::protection::step_guard::{rolled_back, runs_alone};
use crate::loader::protection::user_functions;

/// Pauses between reconnection attempts in milliseconds: a restarting server is usually available within them, even
/// if it has to recover.
const PAUSES_MS: [u64; 9] = [100, 300, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
/// Total time limit of reconnecting.
const RECONNECTING_MAX: Duration = Duration::from_secs(90);
/// Interval of checks for a stop during a pause.
const LOOK_MS: u64 = 50;
/// Maximum losses within one task: a server that fails at the same place again and again is given up.
const LOSSES_MAX: usize = 3;

/// A message from a connection to the executor.
pub(super) enum Event {
    /// This number of partitions will be created.
    Partitions(u32),
    /// A notice of the server.
    Notice(ServerError),
    /// Something that the user should know, as a sentence.
    Found(String),
    /// The server has judged the rows of a table. The sentences of low ranks matter most.
    Judged { relation: String, rank: u8, sentence: String },
    /// What was sent of a part of the rows of a table; nothing at the start and after a reconnection.
    Rows { table: Arc<str>, total: u64, part: String, sent: Sent },
    /// The connection was lost and is made again.
    Lost { doing: String, reason: String },
    /// A task of the step with this index is done.
    Done { step: usize },
    /// A task has failed permanently.
    Failed(WorkloadError),
}

/// What was sent of some rows.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Sent {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The key to cancel the current statement; `None` without a connection.
pub(super) type Cancel = Mutex<Option<Running>>;

/// An active connection, and the means to cancel it.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) address: Address,
    pub(super) transport: Transport,
    pub(super) key: CancelKey,
    pub(super) closer: Option<Closer>,
    /// The relation whose rows are loaded, and the time since the last one was accepted.
    pub(super) loading: Option<(Arc<str>, Stopwatch)>,
}

/// One of the loading connections.
pub(super) struct Connection<'a> {
    pub(super) session: &'a mut Session,
    pub(super) shared: Shared<'a>,
    pub(super) cancel: &'a Cancel,
    pub(super) events: Sender<Event>,
    /// The workload whose [`init_lock`] the connection has.
    pub(super) locked: Option<&'a str>,
    /// Limits the waits of the current work for locks.
    pub(super) lock_try: Option<&'a LockTry>,
}

/// State shared by all loading connections.
#[derive(Copy, Clone)]
pub(super) struct Shared<'a> {
    pub(super) target: &'a Target,
    /// Settings at the start of transactions that build indexes.
    pub(super) settings: &'a str,
    /// The search path of statements with a note, as a statement; empty for that of the session.
    pub(super) search_path: &'a str,
    /// The workload whose [`init_lock`] the first connection has.
    pub(super) locked: Option<&'a str>,
    /// The objects of others, which statements may not change; `None` if they may.
    pub(super) guarded: Option<&'a ForeignObjects>,
    /// Whether statements wait for locks in short tries, so that others do not wait behind them for long.
    pub(super) limits_lock_waits: bool,
    /// Longest time without an accepted row while rows are loaded.
    pub(super) rows_limit: Option<Duration>,
    /// All loading connections.
    pub(super) connections: &'a [Cancel],
    /// Set when the work has to stop.
    pub(super) halt: &'a AtomicBool,
    /// Set when rows of a table are missing, because the server has refused them.
    pub(super) lacks_rows: &'a AtomicBool,
    /// Relations whose rows the server judges, because it has refused one.
    pub(super) judged: &'a Mutex<BTreeSet<String>>,
}

impl Shared<'_> {
    /// Notes that all rows of a relation are loaded again; `false` if another connection does so already.
    fn judged_again(&self, relation: &str) -> bool {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner).insert(relation.to_owned())
    }

    /// Whether a session is one of the loading connections.
    fn is_own(&self, holder: &LockHolder) -> bool {
        let is_it = |running: Running| running.key.process_id.to_string() == holder.pid;
        self.connections
            .iter()
            .any(|cancel| cancel.lock().unwrap_or_else(PoisonError::into_inner).clone().is_some_and(is_it))
    }
}

impl Connection<'_> {
    /// Runs a task, and repeats it from its beginning if the connection is lost.
    pub(super) fn take(&mut self, task: &Task) -> Result<(), WorkloadError> {
        match task {
            Task::Each(statements) => statements.iter().try_for_each(|sql| self.statement("", sql)),
            Task::BuildKeys(statements) => {
                let settings = self.shared.settings;
                statements.iter().try_for_each(|sql| self.statement(settings, sql))
            }
            Task::CreatePartitions { partitions, statement } => {
                self.tell(Event::Partitions(*partitions))?;
                (1..=*partitions).try_for_each(|number| self.statement("", &(statement.0)(number)))
            }
            Task::Together(statements) => {
                self.in_tries(&statements[statements.len() - 1], |connection, _| {
                    connection.in_transaction(|connection| {
                        statements.iter().try_for_each(|sql| connection.execute(sql))
                    })
                })
            }
            Task::Load { truncate, parts } => {
                let doing = parts.last().map_or(String::new(), |part| format!("loading {}", part.relation));
                self.in_tries(&doing, |connection, _| {
                    connection.in_transaction(|connection| {
                        connection.execute(truncate)?;
                        parts.iter().try_for_each(|part| connection.copy(part))
                    })
                })
            }
            Task::Chunks { note, parts } => self.chunks(note, parts),
            Task::Repair { note, repairs, is_needed } => {
                let lacks_rows = self.shared.lacks_rows;
                if *is_needed || lacks_rows.load(Ordering::Relaxed) {
                    self.repair(note, repairs)
                } else {
                    Ok(())
                }
            }
            Task::Noted { note, statements, mode, refills } => {
                self.noted_statements(note, statements, *mode, refills)
            }
        }
    }

    /// Whether work that was done together with other work may succeed alone, or has a better message then. A sequence of others
    /// that was changed stays changed.
    fn is_of_one(&self, error: &WorkloadError) -> bool {
        let is_refused =
            error.server_failure().is_some() || matches!(error, WorkloadError::ForeignObjectChanged { .. });
        is_refused && !self.session.is_lost() && self.check().is_ok()
    }

    fn noted_statements(
        &mut self,
        note: &Note,
        statements: &[LoadStatement],
        mode: Mode,
        refills: &[Option<Arc<Part>>],
    ) -> Result<(), WorkloadError> {
        let refused = match self.together(note, statements, mode) {
            Err(error) if self.is_of_one(&error) => error,
            Err(error) => return Err(statements[0].error(error)),
            done => return done,
        };
        if let [statement] = statements {
            let done = match refills.first() {
                Some(Some(part)) => self.judge_again(note, part, Some(statement), refused),
                _ => Err(refused),
            };
            return done.map_err(|error| statement.error(error));
        }
        for (number, note) in note.singly().enumerate() {
            let refills = refills.get(number..=number).unwrap_or_default();
            self.noted_statements(&note, &statements[number..=number], mode, refills)?;
        }
        Ok(())
    }

    fn repair(&mut self, note: &Note, repairs: &[Repair]) -> Result<(), WorkloadError> {
        let sentences = Cell::new(Vec::new());
        self.watched(note, "removing references to missing rows", |connection| {
            connection.end_lock_limit()?;
            sentences.set(repairs::repair(connection.session, repairs)?);
            Ok(())
        })?;
        sentences.take().into_iter().try_for_each(|sentence| self.tell(Event::Found(sentence)))
    }

    /// Work in one transaction with its note, and a look before it is committed. If it is repeated after a lost connection, the
    /// note says whether the transaction was committed before.
    fn noted<T>(
        &mut self,
        note: &Note,
        doing: &str,
        work: impl Fn(&mut Connection<'_>) -> Result<T, WorkloadError>,
        look: impl Fn(&mut Connection<'_>, T) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        self.in_tries(doing, |connection, attempt| {
            if attempt > 0 && note.is_there(connection.session)? {
                return Ok(());
            }
            connection.in_transaction(|connection| {
                note.journal.hold(connection.session)?;
                let worked = work(connection)?;
                connection.execute(&note.insert())?;
                look(connection, worked)
            })
        })
    }

    /// The same for work whose triggers, defaults, constraints and indexes may call functions that change others' rows.
    fn watched(
        &mut self,
        note: &Note,
        doing: &str,
        work: impl Fn(&mut Connection<'_>) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let guarded = self.shared.guarded;
        let definitions = self.definitions(doing, guarded)?;
        let work = |connection: &mut Connection<'_>| {
            let before = guarded.map(|foreign| {
                begin_counting(connection.session)?;
                Ok::<_, WorkloadError>((foreign, changed_rows(connection.session)?))
            });
            let before = before.transpose()?;
            work(connection)?;
            Ok(before)
        };
        self.noted(note, doing, work, |connection, before| {
            let Some((foreign, rows)) = before else { return Ok(()) };
            run_deferred(connection.session)?;
            foreign.check_rows(connection.session, &rows)?;
            definitions.as_ref().map_or(Ok(()), |foreign| foreign.check(connection.session))
        })
    }

    /// The objects of others before a transaction of generated rows, or of a statement that pgmeter makes. Only functions of users
    /// can change their definitions there. Read before the transaction, whose search path reading would change.
    fn definitions(
        &mut self,
        doing: &str,
        guarded: Option<&ForeignObjects>,
    ) -> Result<Option<ForeignObjects>, WorkloadError> {
        let Some(foreign) = guarded else { return Ok(None) };
        let mut found = None;
        self.with_reconnect(doing, |connection, _| {
            let calls = user_functions::exist(connection.session)?;
            found = calls.then(|| foreign.definitions_again(connection.session)).transpose()?;
            Ok(())
        })?;
        Ok(found)
    }

    fn together(
        &mut self,
        note: &Note,
        statements: &[LoadStatement],
        mode: Mode,
    ) -> Result<(), WorkloadError> {
        let doing = &statements[0].sql;
        let memory = if mode == Mode::Index { self.shared.settings } else { "" };
        let settings = format!("{}{memory}", self.shared.search_path);
        let is_of_user = statements.iter().any(|statement| statement.place.is_some());
        match mode {
            Mode::Alone => {
                statements.iter().try_for_each(|statement| self.statement("", &statement.sql))?;
                let look = |connection: &mut Connection<'_>, ()| {
                    if is_of_user { connection.record_unknown(note) } else { Ok(()) }
                };
                self.noted(note, doing, |_| Ok(()), look)
            }
            Mode::Watched => self.watched(note, doing, |connection| {
                connection.end_lock_limit()?;
                statements.iter().try_for_each(|statement| connection.execute(&statement.sql))
            }),
            Mode::Transaction | Mode::Index => {
                let guarded = self.shared.guarded;
                let mut foreign = if is_of_user { None } else { self.definitions(doing, guarded)? };
                // Before the transaction, whose search path reading would change.
                let guarded = guarded.filter(|_| is_of_user);
                self.with_reconnect(doing, |connection, _| {
                    if let Some(before) = guarded {
                        foreign = Some(before.read_again(connection.session)?);
                    }
                    Ok(())
                })?;
                let work = |connection: &mut Connection<'_>| {
                    statements.iter().try_for_each(|LoadStatement { sql, .. }| {
                        if is_of_user || foreign.is_some() {
                            connection.look_at(&settings, sql, foreign.is_some())?;
                        }
                        connection.execute_with(&settings, sql)
                    })
                };
                self.noted(note, doing, work, |connection, ()| {
                    if foreign.is_some() {
                        run_deferred(connection.session)?;
                    }
                    let made = dependents::made(connection.session)?;
                    note.journal.record(connection.session, &made)?;
                    foreign.as_ref().map_or(Ok(()), |foreign| foreign.check(connection.session))?;
                    if is_of_user { connection.tell_acting() } else { Ok(()) }
                })
            }
        }
    }

    /// Tells what acts on all tables, before the commit.
    fn tell_acting(&mut self) -> Result<(), WorkloadError> {
        let sentences = acting_on_all::sentences(self.session)?;
        sentences.into_iter().try_for_each(|sentence| self.tell(Event::Found(sentence)))
    }

    /// Notes what belongs to the tables and is not yet known, after a statement that cannot run in a transaction.
    fn record_unknown(&mut self, note: &Note) -> Result<(), WorkloadError> {
        let own = marks::find(self.session, self.shared.locked.unwrap_or_default())?;
        let unknown = journal::unrecorded(self.session, &note.journal.table, &own)?;
        let unknown: Vec<_> = unknown.into_iter().map(|dependent| dependent.key).collect();
        note.journal.record(self.session, &unknown)
    }

    /// Before a statement that a user wrote: the server must find one statement, and count the rows that it changes.
    fn look_at(&mut self, settings: &str, sql: &str, is_guarded: bool) -> Result<(), WorkloadError> {
        if is_guarded {
            begin_counting(self.session)?;
        }
        self.execute(settings)?;
        self.session.analyze(sql).map_err(failed(sql))
    }

    /// One statement in its own transaction with `settings`. If it is repeated after a lost connection, it may have
    /// succeeded before: its object then exists.
    fn statement(&mut self, settings: &str, sql: &str) -> Result<(), WorkloadError> {
        let unless_there = |attempt, done| match done {
            Err(WorkloadError::Query { source, .. }) if attempt > 0 && is_there_already(&source) => Ok(()),
            other => other,
        };
        if !self.shared.limits_lock_waits || runs_alone(sql) {
            return self.with_reconnect(sql, |connection, attempt| {
                unless_there(attempt, connection.execute_with(settings, sql))
            });
        }
        self.in_tries(sql, |connection, attempt| {
            let done = connection.in_transaction(|connection| connection.execute_with(settings, sql));
            unless_there(attempt, done)
        })
    }

    /// Does repeatable work in transactions, again and again until it has all locks, and from its beginning if the connection is
    /// lost. Waits for the other loading connections do not count: they end by themselves.
    fn in_tries(
        &mut self,
        doing: &str,
        mut work: impl FnMut(&mut Connection<'_>, usize) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        self.with_reconnect(doing, |connection, attempt| {
            let Connection { shared, cancel, locked, .. } = *connection;
            if !shared.limits_lock_waits {
                return work(connection, attempt);
            }
            let events = &connection.events;
            let continues = || !shared.halt.load(Ordering::Relaxed);
            let is_own = |holder: &LockHolder| shared.is_own(holder);
            let (patience, mut waits) = (Patience::for_session(connection.session), LockWaits::default());
            LockingStatements::new(patience, &continues, &mut waits).beside(&is_own).repeat(
                connection.session,
                |session, lock_try| {
                    let (events, lock_try) = (events.clone(), Some(lock_try));
                    let mut this = Connection { session, shared, cancel, events, locked, lock_try };
                    work(&mut this, attempt)
                },
            )
        })
    }

    /// From here on, the transaction waits for locks without a limit: nobody waits behind these waits.
    fn end_lock_limit(&mut self) -> Result<(), WorkloadError> {
        let ended = self.lock_try.map_or(Ok(()), |lock_try| lock_try.end_limit(self.session));
        ended.map_err(failed("set local lock_timeout"))
    }

    /// Does repeatable work, and repeats it if the connection is lost.
    fn with_reconnect(
        &mut self,
        doing: &str,
        mut work: impl FnMut(&mut Self, usize) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        let mut attempt = 0;
        loop {
            self.check()?;
            let error = match work(self, attempt) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            attempt += 1;
            let Some(source) = error.server_failure() else { return Err(error) };
            // The end of the connection follows the last message of a server process that ends.
            if source.server_error().is_some_and(|error| error.severity == "FATAL") {
                let _ = self.session.execute("rollback");
            }
            // An unresponsive server or a held lock would lead to the same error again.
            let is_hopeless = !self.session.is_lost() || self.session.is_given_up();
            if is_hopeless || attempt > LOSSES_MAX || self.check().is_err() {
                return Err(error);
            }
            let (doing, reason) = (doing.to_owned(), source.to_string());
            self.tell(Event::Lost { doing, reason })?;
            self.connect_again(error)?;
        }
    }

    /// Reconnects with growing pauses; returns `lost` if this fails.
    fn connect_again(&mut self, lost: WorkloadError) -> Result<(), WorkloadError> {
        let before = self.session.cancel_key().process_id;
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let stopwatch = Stopwatch::start();
        for pause_ms in PAUSES_MS {
            if stopwatch.passed() > RECONNECTING_MAX {
                break;
            }
            for _ in 0..pause_ms.div_ceil(LOOK_MS) {
                self.check()?;
                thread::sleep(Duration::from_millis(LOOK_MS));
            }
            match connect_beside(self.session, self.shared.target) {
                Ok(session) => {
                    *self.session = session;
                    self.begin();
                    self.end_predecessor(before);
                    if let Some(workload) = self.locked {
                        self.lock_again(workload, before)?;
                    }
                    return Ok(());
                }
                Err(error) if may_pass(&error) => {}
                Err(_) => return Err(lost),
            }
        }
        Err(lost)
    }

    /// Allows others to cancel the session's statements.
    pub(super) fn begin(&mut self) {
        let running = Running {
            address: self.session.address().clone(),
            transport: self.session.transport().clone(),
            key: self.session.cancel_key(),
            closer: self.session.closer(),
            loading: None,
        };
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        let limit = self.session.patient_limit();
        self.session.set_statement_limit(limit);
        self.session.lift_statement_timeout();
    }

    /// After a network failure the old server process may still hold locks. If the new session may not terminate it,
    /// it waits for those locks.
    fn end_predecessor(&mut self, process_id: u32) {
        let end = format!(
            "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where pid = {process_id} \
             and usename = current_user and datname = pg_catalog.current_database() and application_name = \
             pg_catalog.current_setting('application_name') and pid <> pg_catalog.pg_backend_pid()"
        );
        let _ = self.session.query_catalogs(&end);
    }

    /// Takes the lock of the lost connection.
    fn lock_again(&mut self, workload: &str, process_id: u32) -> Result<(), WorkloadError> {
        if init_lock::take(self.session, workload)? {
            return Ok(());
        }
        let process = init_lock::holder(self.session, workload)?;
        // The lost connection may still have it.
        let is_lost_one = process == process_id.to_string();
        if is_lost_one {
            Ok(())
        } else {
            Err(WorkloadError::InitRunning { workload: workload.to_owned(), process })
        }
    }

    /// Commits the result of `work`; after an error everything is rolled back and the session stays usable.
    fn in_transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        begin_own(self.session)?;
        let limited = self.lock_try.map_or(Ok(()), |lock_try| lock_try.limit_transaction(self.session));
        let limited = limited.map_err(failed("set local lock_timeout"));
        if let Err(error) = limited.and_then(|()| work(self)) {
            return Err(rolled_back(self.session, error, "a statement of the workload"));
        }
        commit(self.session)
    }

    /// Runs one statement, and passes the server's notices on.
    fn execute(&mut self, sql: &str) -> Result<(), WorkloadError> {
        self.execute_with("", sql)
    }

    /// Runs one statement with `settings` in one message, which the server executes as one transaction, so that the
    /// settings end with it. A pooler gets its connection back unchanged.
    fn execute_with(&mut self, settings: &str, sql: &str) -> Result<(), WorkloadError> {
        let done = self.session.execute(&format!("{settings}{sql}"));
        self.pass_on_notices()?;
        done.map(drop).map_err(failed(sql))
    }

    fn pass_on_notices(&mut self) -> Result<(), WorkloadError> {
        let notices = self.session.take_notices();
        notices.into_iter().try_for_each(|notice| self.tell(Event::Notice(notice)))
    }

    /// An error if the work has to stop.
    fn check(&self) -> Result<(), WorkloadError> {
        if self.shared.halt.load(Ordering::Relaxed) {
            Err(WorkloadError::Interrupted { cancelled: None })
        } else {
            Ok(())
        }
    }

    /// The receiver is gone when the work has to stop.
    pub(super) fn tell(&self, event: Event) -> Result<(), WorkloadError> {
        self.events.send(event).map_err(|_| WorkloadError::Interrupted { cancelled: None })
    }
}

/// Whether a statement failed because its object already exists.
fn is_there_already(error: &ConnectError) -> bool {
    // A table; a foreign key; a second primary key.
    let there = [&b"42P07"[..], b"42710", b"42P16"];
    error.sqlstate().is_some_and(|state| there.iter().any(|&code| SqlState::from_bytes(code) == Some(state)))
}

/// Whether a later connection attempt may succeed: the server is unreachable, starting, stopping or full.
fn may_pass(error: &ConnectError) -> bool {
    match error.sqlstate() {
        None => true,
        Some(state) => ["57", "53", "08"].contains(&state.class()),
    }
}
