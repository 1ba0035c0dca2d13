//! A check of a server: creates the table, runs the clients, reads all lists, drops the table, and checks the history.
//! The caller chooses how files are created.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use connect::{ConnectError, Environment, Overrides, Session, Target, resolve};

use crate::check::check;
use crate::client::{Client, Done, Shared, connect_patiently};
use crate::elle;
use crate::history::{Ending, History, Operation, Place, Transaction};
use crate::level::Level;
use crate::lists::HistoryError;
use crate::outcome::{Incompleteness, Interruption, IsolationReport, Run};
use crate::table::{Table, leftovers};
use crate::workload::{ReadMethod, TRANSACTIONS_MAX, Workload};

/// Clients at most: each has a thread and a connection.
const CLIENTS_MAX: u32 = 1_000;
/// Replicas at most.
const REPLICAS_MAX: usize = 100;
/// Clients on each replica.
const CLIENTS_PER_REPLICA: u32 = 2;
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);
/// A replica must receive the table within this many pauses.
const REPLICA_PAUSES_MAX: u32 = 600;
const REPLICA_PAUSE: Duration = Duration::from_millis(100);

/// Options of a check.
#[derive(Clone, Debug)]
pub struct IsolationOptions {
    /// Of the transactions.
    pub level: Level,
    /// How they read.
    pub reads: ReadMethod,
    /// Clients on the primary.
    pub clients: u32,
    /// Transactions on the primary.
    pub transactions: u32,
    /// Of the workload; drawn if it is not given.
    pub seed: Option<u64>,
    /// Connection strings of replicas.
    pub replicas: Vec<String>,
    /// File for the history.
    pub history: Option<PathBuf>,
    /// Creates that file.
    pub create: fn(&Path) -> io::Result<File>,
}

/// A check failed; it says nothing about the server's isolation.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// An option is out of its range.
    #[error("{0}")]
    Usage(String),
    /// A connection or a statement of the check failed.
    #[error(transparent)]
    Connection(#[from] ConnectError),
    /// The file of the history cannot be written.
    #[error("cannot write the history to \"{}\": {error}", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// Reason.
        error: io::Error,
    },
    /// The history is no history of the workload.
    #[error(transparent)]
    Invalid(#[from] HistoryError),
    /// A replica has not received the table.
    #[error(
        "replica {number} ({address}) has not received the table of the check within {} s; check with \
         pg_stat_replication on the primary that it follows this server",
        (REPLICA_PAUSE * REPLICA_PAUSES_MAX).as_secs()
    )]
    ReplicaBehind {
        /// From 1.
        number: usize,
        /// Its address.
        address: String,
    },
    /// No transaction committed.
    #[error("no transaction was committed, so nothing could be checked{0}")]
    NothingCommitted(String),
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

/// Checks a server. `progress` is shown a few words several times per second. `stop` ends the check early.
///
/// # Errors
/// The check could not be done.
pub fn verify(
    target: &Target,
    options: &IsolationOptions,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(String),
) -> Result<IsolationReport, IsolationError> {
    check_options(options)?;
    let replicas = options
        .replicas
        .iter()
        .map(|text| resolve(Some(text), &Overrides::default(), &Environment::of_process()));
    let replicas: Vec<Target> = replicas.collect::<Result<_, _>>()?;
    let mut file = options.history.as_deref().map(|path| create(options, path)).transpose()?;
    let workload = Workload {
        seed: options.seed.unwrap_or_else(|| random() >> 32),
        transactions: options.transactions,
        reads: options.reads,
        has_readers: !replicas.is_empty(),
    };
    let mut session = Session::connect(target)?;
    let run = Run::new(&session, &workload, options.clients, replicas.len());
    let earlier_tables = leftovers(&mut session)?;
    let table = Table::create(&mut session, &format!("{:08x}", random() >> 32), workload.lists())?;
    let shared = Shared {
        workload,
        level: options.level,
        table: table.clone(),
        next: AtomicU32::new(0),
        events: AtomicU64::new(0),
        stop,
    };
    let done = load(target, &replicas, options.clients, &shared, progress);
    let done = done.map(|mut done| {
        progress("reading all lists".to_owned());
        let interruption = final_read(target, &shared, &mut done);
        (done, interruption)
    });
    let left_table = drop_table(target, session, &table);
    let (done, interruption) = done?;
    progress("looking for cycles".to_owned());
    let history = History { transactions: done.transactions };
    if let Some((path, out)) = &mut file {
        let written = elle::write(&history, out).and_then(|()| out.flush());
        written.map_err(|error| IsolationError::History { path: path.clone(), error })?;
    }
    let findings = check(&history, options.level)?;
    if findings.endings.committed == 0 && !stop.load(Ordering::Relaxed) {
        let errors: Vec<String> =
            done.errors.iter().map(|(state, count)| format!("{state} {count} times")).collect();
        let why = done.gave_up.into_iter().chain(errors).next();
        return Err(IsolationError::NothingCommitted(why.map_or(String::new(), |why| format!(": {why}"))));
    }
    let interruption = if stop.load(Ordering::Relaxed) { Some(Interruption::Stopped) } else { interruption };
    let done = Done { transactions: Vec::new(), ..done };
    Ok(IsolationReport::new(
        run,
        findings,
        &history,
        Incompleteness { interruption, left_table, earlier_tables },
        done,
    ))
}

fn check_options(options: &IsolationOptions) -> Result<(), IsolationError> {
    let ranges = [
        ("--clients", options.clients, CLIENTS_MAX),
        ("--transactions", options.transactions, TRANSACTIONS_MAX),
    ];
    for (name, value, largest) in ranges {
        if !(1..=largest).contains(&value) {
            return Err(IsolationError::Usage(format!(
                "{name} {value}: expected a number from 1 to {largest}"
            )));
        }
    }
    if options.replicas.len() > REPLICAS_MAX {
        return Err(IsolationError::Usage(format!("--replica may be given at most {REPLICAS_MAX} times")));
    }
    Ok(())
}

fn create(options: &IsolationOptions, path: &Path) -> Result<(PathBuf, BufWriter<File>), IsolationError> {
    let file =
        (options.create)(path).map_err(|error| IsolationError::History { path: path.to_owned(), error })?;
    Ok((path.to_owned(), BufWriter::new(file)))
}

/// Random bits of the system; each hasher of the standard library has other keys.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Runs all clients until the transactions are done.
fn load(
    target: &Target,
    replicas: &[Target],
    clients: u32,
    shared: &Shared<'_>,
    progress: &mut dyn FnMut(String),
) -> Result<Done, IsolationError> {
    let mut all = Vec::new();
    let mut number = 0;
    let places = std::iter::once((Place::Primary, target, clients));
    let on_replicas = replicas
        .iter()
        .zip(1..)
        .map(|(replica, number)| (Place::Replica(number), replica, CLIENTS_PER_REPLICA));
    for (place, target, clients) in places.chain(on_replicas) {
        for _ in 0..clients {
            let mut session = Session::connect(target)?;
            if let Place::Replica(replica) = place {
                progress(format!("waiting for replica {replica}"));
                wait_for_table(&mut session, shared, usize::from(replica))?;
            }
            all.push(Client::new(shared, number, place, target, session));
            number += 1;
        }
    }
    thread::scope(|scope| {
        let (ends, ended) = mpsc::channel::<Done>();
        let mut running = 0;
        let mut failed = None;
        for client in all {
            let ends = ends.clone();
            let builder = thread::Builder::new().name(format!("isolation client {}", client.number));
            // The receiver lives until all clients have ended.
            let started = builder.spawn_scoped(scope, move || drop(ends.send(client.run())));
            match started {
                Ok(_) => running += 1,
                Err(error) => {
                    shared.next.store(shared.workload.transactions, Ordering::SeqCst);
                    failed = Some(IsolationError::Thread(error));
                    break;
                }
            }
        }
        drop(ends);
        let mut sum = Done::default();
        while running > 0 {
            match ended.recv_timeout(PROGRESS_PAUSE) {
                Ok(done) => {
                    running -= 1;
                    sum.add(done);
                }
                Err(RecvTimeoutError::Timeout) => progress(format!(
                    "{} of {} transactions started",
                    shared.next.load(Ordering::SeqCst),
                    shared.workload.transactions
                )),
                // A client's panic ends the scope with it.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        failed.map_or(Ok(sum), Err)
    })
}

fn wait_for_table(session: &mut Session, shared: &Shared<'_>, number: usize) -> Result<(), IsolationError> {
    for _ in 0..REPLICA_PAUSES_MAX {
        if shared.table.rows(session)? == u64::from(shared.workload.lists())
            || shared.stop.load(Ordering::Relaxed)
        {
            return Ok(());
        }
        thread::sleep(REPLICA_PAUSE);
    }
    Err(IsolationError::ReplicaBehind { number, address: session.address().to_string() })
}

/// Reads all used lists in a transaction that begins after all others. Returns why it could not.
fn final_read(target: &Target, shared: &Shared<'_>, done: &mut Done) -> Option<Interruption> {
    // Also after an interruption, for which the table has to be dropped too.
    let mut session = match connect_patiently(target, &AtomicBool::new(false)) {
        Ok(Some(session)) => session,
        Ok(None) => return Some(Interruption::Stopped),
        Err(error) => return Some(Interruption::NoFinalRead(error.to_string())),
    };
    let begun = shared.event();
    let begin = Table::begin(shared.level, true);
    let read = session.execute(&begin).and_then(|_| {
        let lists = shared.table.read_all(&mut session, shared.workload.lists())?;
        session.execute("COMMIT").map(|_| lists)
    });
    let lists = match read {
        Ok(Some(lists)) => lists,
        Ok(None) => {
            return Some(Interruption::NoFinalRead("the table has rows of another form".to_owned()));
        }
        Err(error) => return Some(Interruption::NoFinalRead(error.to_string())),
    };
    let used = lists.into_iter().filter(|(key, _)| shared.workload.is_used(*key));
    let operations = used.map(|(key, elements)| Operation::Read { key, elements: Some(elements) }).collect();
    let client = done.transactions.iter().map(|transaction| transaction.client + 1).max().unwrap_or(0);
    done.transactions.push(Transaction {
        client,
        place: Place::Primary,
        operations,
        ending: Ending::Committed,
        begun,
        ended: shared.event(),
        is_final: true,
    });
    None
}

/// Drops the table, with a new session if the first one was lost. Returns why it could not.
fn drop_table(target: &Target, mut session: Session, table: &Table) -> Option<String> {
    let dropped = match table.drop(&mut session) {
        Err(_) if session.is_lost() => {
            Session::connect(target).and_then(|mut session| table.drop(&mut session))
        }
        dropped => dropped,
    };
    let error = dropped.err()?;
    Some(format!("the table {0} could not be dropped: {error}; drop it with: DROP TABLE {0}", table.name))
}
