//! A session that loads: does one task after the other, and is made again when it is lost; the task that it was at
//! then begins anew. Worked by one thread of `executor`, told apart from it so that all that is sent stands here.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use connect::{Address, CancelKey, Closer, ConnectError, ServerError, Session, SqlState, Target, Transport};

use super::phase::{Part, Task};
use super::schema;
use crate::WorkloadError;
use crate::load::{InitOptions, ROWS_PER_PROGRESS, failed, query};
use crate::stopwatch::Stopwatch;

/// Pauses before the attempts to connect again, in milliseconds: a server that restarts is back within them, as a
/// rule, also when it has to recover first.
const PAUSES_MS: [u64; 9] = [100, 300, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
/// Connecting again is given up after this time, also where each attempt takes long.
const RECONNECTING_MAX: Duration = Duration::from_secs(90);
/// How often a pause looks whether it is to end.
const LOOK_MS: u64 = 50;
/// Losses within one task after which it is given up: a server that ends at the same place again and again.
const LOSSES_MAX: usize = 3;
/// Rows written before they are sent: few enough to stay in the processor's cache.
const ROWS_PER_BUFFER: u64 = 1000;
/// Room for them, so that their buffer never grows.
const BUFFER_LENGTH: usize = 64 * 1000;
/// From this version on, a table filled by COPY in the transaction that emptied it is loaded frozen,
/// with its visibility map set.
const FREEZES_FROM: u32 = 140_000;

/// What a connection tells whoever watches.
pub(crate) enum Event {
    /// So many partitions are about to be created.
    Partitions(u32),
    /// The server had something to say.
    Notice(ServerError),
    /// Rows of a relation were made; 0 when it begins, be it again.
    Rows { table: &'static str, relation: String, done: u64, total: u64 },
    /// The connection was lost and is made again.
    Lost { doing: String, reason: String },
    /// A job of the step in this place is done.
    Done { step: usize },
    /// A task failed for good.
    Failed(WorkloadError),
}

/// What must be shown to cancel what a connection is doing; nothing while there is no connection.
pub(crate) type Cancel = Mutex<Option<Running>>;

/// A connection that may be at work, and how to end that.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) address: Address,
    pub(crate) transport: Transport,
    pub(crate) key: CancelKey,
    pub(crate) closer: Option<Closer>,
}

/// One of the connections of a loading.
pub(crate) struct Connection<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) shared: Shared<'a>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) events: Sender<Event>,
}

/// What all connections of a loading have in common.
#[derive(Copy, Clone)]
pub(crate) struct Shared<'a> {
    pub(crate) target: &'a Target,
    pub(crate) options: &'a InitOptions,
    /// What transactions that build indexes begin with.
    pub(crate) settings: &'a str,
    /// Set when the work is to end.
    pub(crate) halt: &'a AtomicBool,
}

impl Connection<'_> {
    /// Does the task; where the connection is lost, again from its beginning.
    pub(crate) fn take(&mut self, task: &Task) -> Result<(), WorkloadError> {
        match task {
            Task::Each(statements) => statements.iter().try_for_each(|sql| self.statement("", sql)),
            Task::BuildKeys(statements) => {
                let settings = self.shared.settings;
                statements.iter().try_for_each(|sql| self.statement(settings, sql))
            }
            Task::CreatePartitions(partitioning) => {
                self.tell(Event::Partitions(partitioning.partitions))?;
                let mut statements = schema::create_partitions(self.shared.options, *partitioning);
                statements.try_for_each(|sql| self.statement("", &sql))
            }
            Task::Together(statements) => {
                self.with_reconnect(&statements[statements.len() - 1], |connection, _| {
                    connection.in_transaction(|connection| {
                        statements.iter().try_for_each(|sql| connection.execute(sql))
                    })
                })
            }
            Task::Load { truncate, parts } => {
                let doing = parts.last().map_or(String::new(), |part| format!("loading {}", part.relation));
                self.with_reconnect(&doing, |connection, _| {
                    connection.in_transaction(|connection| {
                        connection.execute(truncate)?;
                        parts.iter().try_for_each(|part| connection.copy(part))
                    })
                })
            }
        }
    }

    /// One statement in a transaction of its own that begins with `settings`. If it is sent again because the
    /// connection was lost, it may have been done before: what it makes is then there.
    fn statement(&mut self, settings: &str, sql: &str) -> Result<(), WorkloadError> {
        self.with_reconnect(sql, |connection, attempt| match connection.execute_with(settings, sql) {
            Err(WorkloadError::Query { source, .. }) if attempt > 0 && is_there_already(&source) => Ok(()),
            other => other,
        })
    }

    /// Does something that can be done again, again if the connection is lost.
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
            let WorkloadError::Query { source, .. } = &error else { return Err(error) };
            // A server that does not answer, or a lock that is held, would be the same again.
            let is_hopeless = !self.session.is_lost() || self.session.is_given_up();
            if is_hopeless || attempt > LOSSES_MAX || self.check().is_err() {
                return Err(error);
            }
            let (doing, reason) = (doing.to_owned(), source.to_string());
            self.tell(Event::Lost { doing, reason })?;
            self.connect_again(error)?;
        }
    }

    /// Makes the connection again, with growing pauses; `lost` is the error if that does not succeed.
    fn connect_again(&mut self, lost: WorkloadError) -> Result<(), WorkloadError> {
        let before = self.session.cancel_key().process_id;
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let stopwatch = Stopwatch::start();
        for pause_ms in PAUSES_MS {
            if stopwatch.read() > RECONNECTING_MAX {
                break;
            }
            for _ in 0..pause_ms.div_ceil(LOOK_MS) {
                self.check()?;
                thread::sleep(Duration::from_millis(LOOK_MS));
            }
            match Session::connect(self.shared.target) {
                Ok(session) => {
                    *self.session = session;
                    self.begin();
                    self.end_predecessor(before);
                    return Ok(());
                }
                Err(error) if may_pass(&error) => {}
                Err(_) => return Err(lost),
            }
        }
        Err(lost)
    }

    /// Lets others cancel what the session does.
    pub(crate) fn begin(&mut self) {
        let running = Running {
            address: self.session.address().clone(),
            transport: self.session.transport().clone(),
            key: self.session.cancel_key(),
            closer: self.session.closer(),
        };
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        let limit = self.session.patient_limit();
        self.session.set_statement_limit(limit);
    }

    /// A network that is gone leaves the server's process waiting with its locks. Where the new session may not end
    /// it, it waits for those locks.
    fn end_predecessor(&mut self, process_id: u32) {
        let end = format!(
            "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where pid = {process_id} \
             and usename = current_user and datname = pg_catalog.current_database() and application_name = \
             pg_catalog.current_setting('application_name') and pid <> pg_catalog.pg_backend_pid()"
        );
        let _ = self.session.query_catalogs(&end);
    }

    /// Commits what `work` did; if it fails, nothing of it is kept and the session can go on.
    fn in_transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        self.execute("begin")?;
        if let Err(error) = work(self) {
            // The first error is the one that tells. If the session is lost, the server rolls back by itself.
            let _ = self.session.execute("rollback");
            return Err(error);
        }
        self.execute("commit")
    }

    /// Sends rows. Making them takes a fraction of what the server needs for them, and is done while it works at
    /// those before.
    fn copy(&mut self, part: &Part) -> Result<(), WorkloadError> {
        let sql = copy_statement(self.session, &part.relation)?;
        let failed = |source| WorkloadError::Query { sql: sql.clone(), source };
        let told = |done| Event::Rows {
            table: part.rows.table.name,
            relation: part.relation.clone(),
            done,
            total: part.total,
        };
        let gone = |_| WorkloadError::Interrupted;
        let mut copy = self.session.copy_in(&sql).map_err(failed)?;
        self.events.send(told(0)).map_err(gone)?;
        let mut numbers = itoa::Buffer::new();
        let mut buffer = Vec::with_capacity(BUFFER_LENGTH);
        let mut next = part.numbers.start;
        while next < part.numbers.end {
            let end = part.numbers.end.min(next + ROWS_PER_BUFFER);
            buffer.clear();
            for k in next..end {
                (part.rows.write)(k, &mut numbers, &mut buffer);
            }
            copy.write_all(&buffer).map_err(|error| failed(server_error(error)))?;
            next = end;
            let done = next - part.numbers.start;
            if done.is_multiple_of(ROWS_PER_PROGRESS) || next == part.numbers.end {
                self.events.send(told(done)).map_err(gone)?;
            }
            if self.shared.halt.load(Ordering::Relaxed) {
                return Err(WorkloadError::Interrupted);
            }
        }
        copy.finish().map_err(failed)?;
        self.pass_on_notices()
    }

    /// Runs one statement, and tells what the server said about it beside its answer.
    fn execute(&mut self, sql: &str) -> Result<(), WorkloadError> {
        self.execute_with("", sql)
    }

    /// Runs one statement after `settings`, in one message: the server makes that one transaction, whose settings end
    /// with it. A pooler hands the connection on as it was.
    fn execute_with(&mut self, settings: &str, sql: &str) -> Result<(), WorkloadError> {
        let done = self.session.execute(&format!("{settings}{sql}"));
        self.pass_on_notices()?;
        done.map(drop).map_err(failed(sql))
    }

    fn pass_on_notices(&mut self) -> Result<(), WorkloadError> {
        let notices = self.session.take_notices();
        notices.into_iter().try_for_each(|notice| self.tell(Event::Notice(notice)))
    }

    /// An error once the work is to end.
    fn check(&self) -> Result<(), WorkloadError> {
        if self.shared.halt.load(Ordering::Relaxed) { Err(WorkloadError::Interrupted) } else { Ok(()) }
    }

    /// Whoever watches has gone when the work is to end.
    pub(crate) fn tell(&self, event: Event) -> Result<(), WorkloadError> {
        self.events.send(event).map_err(|_| WorkloadError::Interrupted)
    }
}

/// Whether a statement failed because what it makes is there.
fn is_there_already(error: &ConnectError) -> bool {
    // A table; a foreign key; a second primary key.
    let there = [&b"42P07"[..], b"42710", b"42P16"];
    error.sqlstate().is_some_and(|state| there.iter().any(|&code| SqlState::from_bytes(code) == Some(state)))
}

/// Whether connecting may succeed a little later: nobody answers, the server is starting, stopping or full.
fn may_pass(error: &ConnectError) -> bool {
    match error.sqlstate() {
        None => true,
        Some(state) => ["57", "53", "08"].contains(&state.class()),
    }
}

/// The session's own error inside that of a writer.
fn server_error(error: io::Error) -> ConnectError {
    error.downcast().unwrap_or_else(|error| ConnectError::Lost(error.to_string()))
}

/// `copy … from stdin`, frozen where the server can: version 14 or newer, and an ordinary table.
fn copy_statement(session: &mut Session, relation: &str) -> Result<String, WorkloadError> {
    let plain = format!("copy {relation} from stdin");
    if session.server_version_num() < FREEZES_FROM {
        return Ok(plain);
    }
    // Within the transaction that loads, whose `search_path` has to stay: the operator is named with its schema.
    let kind = format!(
        "select relkind from pg_catalog.pg_class \
         where oid operator(pg_catalog.=) '{relation}'::pg_catalog.regclass"
    );
    let rows = query(session, &kind)?;
    let ordinary = rows.first().and_then(|row| row.get(0)) == Some("r");
    Ok(if ordinary { format!("{plain} with (freeze on)") } else { plain })
}
