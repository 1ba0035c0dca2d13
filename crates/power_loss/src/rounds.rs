//! Power losses of a real server under load. Each round runs sessions, cuts the power at a random moment, kills all
//! processes, brings the power back, starts the server, and looks for acknowledged transactions that are gone.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::mpsc::channel;

use connect::{ConnectError, Session};
use server::{Environment, Instrumentation, Locations, Server, ServerError, ServerOptions, obtain};

use crate::crash::Doomed;
use crate::disk::Disk;
use crate::draws::Draws;
use crate::file_system::{Loss, NewNames, Survival};
use crate::load::{self, Damage, Journal, Transaction};

/// Sessions that write.
const SESSIONS: u64 = 4;
/// A round has at least this many acknowledged transactions before the power is cut, and at most three times as many.
const TRANSACTIONS: u64 = 60;

/// Attempts to start a server that recovers for longer than one is waited for: a busy machine is no damage.
const START_ATTEMPTS: u32 = 10;

/// Settings of all servers: few buffers, so that changed pages are written early, and no processes without need.
const SETTINGS: [(&str, &str); 4] =
    [("shared_buffers", "1MB"), ("max_connections", "20"), ("bgwriter_delay", "10ms"), ("autovacuum", "off")];

/// One test of power loss.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its name on the command line.
    pub name: &'static str,
    /// Settings of the server in addition to [`SETTINGS`].
    pub settings: &'static [(&'static str, &'static str)],
    /// Whether some of what was not flushed survives.
    pub writes: UnflushedWrites,
    /// What makes the name of a new file durable.
    pub new_names: NewNames,
    /// How it has to end.
    pub expected: Expected,
}

/// What becomes of writes that were not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnflushedWrites {
    /// All are gone.
    Gone,
    /// Half of the pages survive, by chance: writes are torn and reordered.
    Torn,
}

/// The expected end of a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No damage in any round.
    NoDamage,
    /// Damage in at least one round.
    Damage,
}

/// All controls.
pub const CONTROLS: [Control; 6] = [
    Control {
        name: "defaults",
        settings: &[],
        writes: UnflushedWrites::Gone,
        new_names: NewNames::WithFile,
        expected: Expected::NoDamage,
    },
    Control {
        name: "defaults-torn",
        settings: &[],
        writes: UnflushedWrites::Torn,
        new_names: NewNames::WithFile,
        expected: Expected::NoDamage,
    },
    Control {
        name: "fsync-off",
        settings: &[("fsync", "off")],
        writes: UnflushedWrites::Gone,
        new_names: NewNames::WithFile,
        expected: Expected::Damage,
    },
    Control {
        name: "synchronous-commit-off",
        settings: &[("synchronous_commit", "off")],
        writes: UnflushedWrites::Gone,
        new_names: NewNames::WithFile,
        expected: Expected::Damage,
    },
    Control {
        name: "full-page-writes-off",
        settings: &[("full_page_writes", "off")],
        writes: UnflushedWrites::Torn,
        new_names: NewNames::WithFile,
        expected: Expected::Damage,
    },
    // A checkpoint flushes the file of a new table, but not the directory with its name: PostgreSQL relies on file systems
    // that keep both.
    Control {
        name: "strict-names",
        settings: &[],
        writes: UnflushedWrites::Torn,
        new_names: NewNames::WithDirectory,
        expected: Expected::Damage,
    },
];

/// How often, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Power losses; fewer if there is damage before.
    pub rounds: u32,
    /// Of the moments of power losses, and of what survives them.
    pub seed: u64,
}

/// The result of a control.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Power losses.
    pub rounds: u32,
    /// Acknowledged transactions of all rounds.
    pub acknowledged: u64,
    /// Transactions of all rounds without damage that were not acknowledged and are present.
    pub unacknowledged: u64,
    /// Sum of the unflushed pages that the power losses removed.
    pub pages_forgotten: u64,
    /// Sum of the unflushed pages that survived.
    pub pages_survived: u64,
    /// Damage of the last round.
    pub damage: Option<Damage>,
}

impl Outcome {
    /// Whether it is the expected one.
    pub fn is(&self, expected: Expected) -> bool {
        self.damage.is_some() == (expected == Expected::Damage)
    }
}

/// Why a control has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    /// The disk cannot be mounted, or its process has ended.
    #[error("the disk that loses power: {0}")]
    Disk(io::Error),
    /// The processes of the server cannot be ended.
    #[error("the end of the server: {0}")]
    Crash(io::Error),
    /// The server cannot be created.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A session failed while the power was on.
    #[error("a session before the power loss: {0}")]
    Session(#[from] ConnectError),
}

/// Runs the rounds of a control. `program` is this crate's. `after_round` gets the state after each.
///
/// # Errors
/// Something fails that should not fail before a power loss.
pub fn run(
    control: &Control,
    plan: Plan,
    program: &Path,
    after_round: &mut dyn FnMut(&Outcome),
) -> Result<Outcome, RoundError> {
    let mut disk = Disk::mount(program, control.new_names).map_err(RoundError::Disk)?;
    let mut server = start(control, disk.directory())?;
    load::create(&mut load::session(&server.conninfo())?)?;
    // As if the machine had run for a while since initdb, which does not flush here.
    disk.flush_all().map_err(RoundError::Disk)?;
    let mut draws = Draws::new(plan.seed);
    let mut journal = Journal::default();
    let mut outcome = Outcome {
        rounds: 0,
        acknowledged: 0,
        unacknowledged: 0,
        pages_forgotten: 0,
        pages_survived: 0,
        damage: None,
    };
    while outcome.rounds < plan.rounds && outcome.damage.is_none() {
        let target = TRANSACTIONS + draws.up_to(2 * TRANSACTIONS);
        load_until_power_loss(&mut server, &mut disk, &mut journal, target)?;
        let survival = match control.writes {
            UnflushedWrites::Gone => Survival::Nothing,
            UnflushedWrites::Torn => Survival::Some(draws.next_number()),
        };
        let loss: Loss = disk.power_on(survival).map_err(RoundError::Disk)?;
        outcome.rounds += 1;
        outcome.acknowledged = journal.acknowledged.len() as u64;
        outcome.pages_forgotten += loss.pages.forgotten;
        outcome.pages_survived += loss.pages.survived;
        outcome.damage = restart_and_check(&mut server, &mut journal)?;
        outcome.unacknowledged = journal.recovered.len() as u64;
        after_round(&outcome);
    }
    Ok(outcome)
}

/// A server all of whose files are on the disk.
fn start(control: &Control, directory: &Path) -> Result<Server, RoundError> {
    let locations = Locations::from_environment(&Environment::of_process())?;
    // Ignores installed programs, so that results are the same on all machines.
    let locations = Locations { search_path: Vec::new(), state_dir: directory.to_owned(), ..locations };
    let installation = obtain("18", None, &locations, &mut |_| {})?;
    let settings = SETTINGS.iter().chain(control.settings);
    let options = ServerOptions {
        settings: settings.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        instrumentation: Instrumentation::Off,
        ..ServerOptions::default()
    };
    Ok(Server::start(&installation, &options, &locations)?)
}

/// Runs the sessions until `target` transactions of this round were acknowledged; then cuts the power and kills the
/// server. Acknowledgements that arrive after that count too: they rely on an earlier flush.
fn load_until_power_loss(
    server: &mut Server,
    disk: &mut Disk,
    journal: &mut Journal,
    target: u64,
) -> Result<(), RoundError> {
    let conninfo = server.conninfo();
    let sessions = (0..SESSIONS).map(|_| load::session(&conninfo)).collect::<Result<Vec<Session>, _>>()?;
    let (sender, receiver) = channel::<Transaction>();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..)
            .zip(sessions)
            .map(|(number, mut session)| {
                let sender = sender.clone();
                let last_tried = journal.last_tried.get(&number).copied().unwrap_or_default();
                scope.spawn(move || load::run(&mut session, number, SESSIONS, last_tried, &sender))
            })
            .collect();
        drop(sender);
        let mut acknowledged: BTreeSet<Transaction> = BTreeSet::new();
        while (acknowledged.len() as u64) < target
            && let Ok(transaction) = receiver.recv()
        {
            acknowledged.insert(transaction);
        }
        let reached = acknowledged.len() as u64 >= target;
        let ended = cut(server, disk);
        if ended.is_err() {
            // The sessions must not wait for it. The first error is reported.
            let _ = server.stop();
        }
        acknowledged.extend(receiver);
        journal.acknowledged.extend(acknowledged);
        for (number, writer) in (0..).zip(writers) {
            let (last_tried, error) = writer.join().expect("it does not panic");
            journal.last_tried.insert(number, last_tried);
            if !reached {
                return Err(RoundError::Session(error));
            }
        }
        ended
    })
}

/// Cuts the power while the server's sessions are at work, and kills it.
fn cut(server: &mut Server, disk: &mut Disk) -> Result<(), RoundError> {
    let postmaster = server.pid().ok_or_else(|| RoundError::Crash(io::Error::other("it is not running")))?;
    let doomed = Doomed::hold(postmaster).map_err(RoundError::Crash)?;
    let off = disk.power_off().map_err(RoundError::Disk);
    doomed.kill().map_err(RoundError::Crash)?;
    off
}

/// Starts the server after the power loss and compares its data with the journal.
fn restart_and_check(server: &mut Server, journal: &mut Journal) -> Result<Option<Damage>, RoundError> {
    for attempt in 1.. {
        match server.restart() {
            Ok(()) => break,
            Err(error @ ServerError::StartFailed { .. }) => {
                return Ok(Some(Damage::Unreadable(error.to_string())));
            }
            Err(ServerError::StartTooSlow { .. }) if attempt < START_ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
    let checked = load::session(&server.conninfo())
        .map_err(|error| Damage::Unreadable(error.to_string()))
        .and_then(|mut session| load::check(&mut session, journal, SESSIONS));
    Ok(checked.err())
}
