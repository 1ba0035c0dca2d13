//! A client of the workload: a thread with a session that executes transactions and notes their operations and endings.
//! It connects again after a lost connection. Used by `verification`.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use connect::{ConnectError, Session, Target};

use crate::history::{Element, Ending, Key, Operation, Place, Transaction};
use crate::level::Level;
use crate::table::Table;
use crate::workload::{ReadMethod, Step, Workload};

/// Attempts to connect again, so that a client survives a restart or a failover.
const RECONNECTS_MAX: u32 = 100;
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);
/// Lists of which a client remembers the version, to guess it: more than are in use at a time.
const VERSIONS_MAX: usize = 100;
const UNIQUE_VIOLATION: &str = "23505";
/// Reason of a client that gave up.
const NO_TABLE: &str =
    "a row of the check's table is missing or has another form: somebody else has changed it";

/// What all clients share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) workload: Workload,
    pub(crate) level: Level,
    pub(crate) table: Table,
    /// Number of the next transaction.
    pub(crate) next: AtomicU32,
    /// Begins and ends of transactions so far.
    pub(crate) events: AtomicU64,
    pub(crate) stop: &'a AtomicBool,
}

impl Shared<'_> {
    pub(crate) fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether a transaction is left.
    fn has_next(&self) -> bool {
        self.next.load(Ordering::SeqCst) < self.workload.transactions
    }

    /// Takes the number of the next transaction.
    fn take(&self) -> Option<u32> {
        let taken = self.next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |next| {
            (next < self.workload.transactions).then_some(next + 1)
        });
        taken.ok()
    }
}

/// What a client did.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) transactions: Vec<Transaction>,
    /// Errors of the server, by SQLSTATE.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Transactions that were rolled back because a list had another version than the client expected.
    pub(crate) outdated: u64,
    pub(crate) lost_connections: u64,
    /// Why it ended early.
    pub(crate) gave_up: Option<String>,
}

/// A client.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) number: u32,
    pub(crate) place: Place,
    target: &'a Target,
    session: Option<Session>,
    /// Contents of lists as last seen in a committed transaction.
    versions: HashMap<Key, Vec<Element>>,
    done: Done,
}

/// Why a transaction does not commit.
enum Trouble {
    Connection(ConnectError),
    /// The list has another version than the client expected.
    Outdated,
    /// Somebody changed the table.
    NoTable,
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Trouble {
        Trouble::Connection(error)
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        place: Place,
        target: &'a Target,
        session: Session,
    ) -> Client<'a> {
        let (session, versions) = (Some(session), HashMap::new());
        Client { shared, number, place, target, session, versions, done: Done::default() }
    }

    /// Executes transactions until none is left. On a replica: reads as long as the clients of the primary write, at most
    /// as many times as there are transactions.
    pub(crate) fn run(mut self) -> Done {
        let shared = self.shared;
        let mut reads = 0;
        while !shared.is_stopped() && self.done.gave_up.is_none() {
            match self.place {
                Place::Primary => {
                    let Some(number) = shared.take() else { break };
                    self.perform(&shared.workload.transaction(number));
                }
                Place::Replica(_) => {
                    if !shared.has_next() || reads == shared.workload.transactions {
                        break;
                    }
                    reads += 1;
                    let steps = shared.workload.reader(shared.next.load(Ordering::SeqCst));
                    self.transact(&steps, ReadMethod::Select);
                }
            }
        }
        self.done
    }

    /// Executes a planned transaction. Unless it reads with SELECT, another transaction reads its lists first, to know their
    /// versions.
    fn perform(&mut self, steps: &[Step]) {
        let method = self.shared.workload.reads;
        let writes = steps.iter().any(|step| matches!(step, Step::Append(..)));
        if method == ReadMethod::Select || !writes {
            self.transact(steps, ReadMethod::Select);
            return;
        }
        let reads: Vec<Step> = steps.iter().copied().filter(|step| matches!(step, Step::Read(_))).collect();
        if self.transact(&reads, ReadMethod::Select) == Ending::Committed {
            self.transact(steps, method);
        }
    }

    /// Executes a transaction and notes it.
    fn transact(&mut self, steps: &[Step], method: ReadMethod) -> Ending {
        let mut operations: Vec<Operation> = steps.iter().map(Operation::from).collect();
        if self.session.is_none() && !self.reconnect() {
            return Ending::Aborted;
        }
        let Some(mut session) = self.session.take() else { return Ending::Aborted };
        let begun = self.shared.event();
        let executed = self.execute(&mut session, &mut operations, method);
        let ending = match executed {
            Ok(()) => self.commit(&mut session),
            Err(trouble) => {
                match trouble {
                    Trouble::Connection(error) => self.note(&error),
                    Trouble::Outdated => self.done.outdated += 1,
                    Trouble::NoTable => self.done.gave_up = Some(NO_TABLE.to_owned()),
                }
                // If it fails, the connection is lost and the server rolls back.
                let _ = session.execute("ROLLBACK");
                Ending::Aborted
            }
        };
        let ended = self.shared.event();
        if session.is_lost() {
            self.done.lost_connections += 1;
        } else {
            self.session = Some(session);
        }
        if ending == Ending::Committed {
            self.remember(&operations);
        }
        let (client, place) = (self.number, self.place);
        let transaction = Transaction { client, place, operations, ending, begun, ended, is_final: false };
        self.done.transactions.push(transaction);
        ending
    }

    /// Executes the operations, and fills in the answers of reads.
    fn execute(
        &self,
        session: &mut Session,
        operations: &mut [Operation],
        method: ReadMethod,
    ) -> Result<(), Trouble> {
        let table = &self.shared.table;
        let is_on_replica = self.place != Place::Primary;
        let level =
            if is_on_replica { self.shared.level.min(Level::RepeatableRead) } else { self.shared.level };
        session.execute(&Table::begin(level, is_on_replica))?;
        for operation in operations {
            match operation {
                Operation::Append { key, element } => {
                    if !table.append(session, *key, *element)? {
                        return Err(Trouble::NoTable);
                    }
                }
                Operation::Read { key, elements } => {
                    let known = self.versions.get(key);
                    *elements = match (method, known) {
                        (ReadMethod::OnConflict | ReadMethod::Savepoint, None) => {
                            return Err(Trouble::Outdated);
                        }
                        (ReadMethod::Select, _) => table.select(session, *key)?,
                        (ReadMethod::OnConflict, Some(known)) => {
                            let sql = table.insert(*key, known.len()) + " ON CONFLICT (k, n) DO NOTHING";
                            (session.execute(&sql)? == 0).then(|| known.clone())
                        }
                        (ReadMethod::Savepoint, Some(known)) => {
                            row_exists(session, &table.insert(*key, known.len()))?.then(|| known.clone())
                        }
                    };
                    if elements.is_none() {
                        let is_guess = method != ReadMethod::Select;
                        return Err(if is_guess { Trouble::Outdated } else { Trouble::NoTable });
                    }
                }
            }
        }
        Ok(())
    }

    fn commit(&mut self, session: &mut Session) -> Ending {
        let Err(error) = session.execute("COMMIT") else { return Ending::Committed };
        self.note(&error);
        let is_in_doubt = error.sqlstate().is_none_or(|state| state.leaves_commit_in_doubt());
        if session.is_lost() || is_in_doubt { Ending::Unknown } else { Ending::Aborted }
    }

    /// Counts an error of the server.
    fn note(&mut self, error: &ConnectError) {
        if let Some(state) = error.sqlstate() {
            *self.done.errors.entry(state.to_string()).or_default() += 1;
        }
    }

    /// Keeps the contents of lists that a committed transaction read.
    fn remember(&mut self, operations: &[Operation]) {
        if self.versions.len() > VERSIONS_MAX {
            self.versions.clear();
        }
        for operation in operations {
            if let Operation::Read { key, elements: Some(elements) } = operation {
                self.versions.insert(*key, elements.clone());
            }
        }
    }

    /// Connects again; gives up after [`RECONNECTS_MAX`] attempts.
    fn reconnect(&mut self) -> bool {
        match connect_patiently(self.target, self.shared.stop) {
            Ok(session) => self.session = session,
            Err(error) => self.done.gave_up = Some(error.to_string()),
        }
        self.session.is_some()
    }
}

/// Connects to a server that may be restarting; `None` if the user asked to stop.
pub(crate) fn connect_patiently(target: &Target, stop: &AtomicBool) -> Result<Option<Session>, ConnectError> {
    let mut attempts = 0;
    while !stop.load(Ordering::Relaxed) {
        attempts += 1;
        match Session::connect(target) {
            Ok(session) => return Ok(Some(session)),
            Err(error) if attempts == RECONNECTS_MAX => return Err(error),
            Err(_) => thread::sleep(RECONNECT_PAUSE),
        }
    }
    Ok(None)
}

/// Whether an INSERT fails because its row exists; in a savepoint, so that the transaction goes on.
fn row_exists(session: &mut Session, insert: &str) -> Result<bool, ConnectError> {
    session.execute("SAVEPOINT version")?;
    match session.execute(insert) {
        Ok(_) => Ok(false),
        Err(error) if error.sqlstate().is_some_and(|state| state.to_string() == UNIQUE_VIOLATION) => {
            session.execute("ROLLBACK TO SAVEPOINT version").map(|_| true)
        }
        Err(error) => Err(error),
    }
}

impl From<&Step> for Operation {
    fn from(step: &Step) -> Operation {
        match *step {
            Step::Read(key) => Operation::Read { key, elements: None },
            Step::Append(key, element) => Operation::Append { key, element },
        }
    }
}
