//! Verification of a run (`--verify`): prepares the tokens and the journal, asks the server afterwards, and repeats that
//! later for `pgmeter verify`. `verify` does the work.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use connect::{ConnectError, Password, Session, SessionAttributes, Target};
use engine::{TokenPlan, Tracer, WorkerIntro};
use results::{EntryKind, Record, Store, Verification, Warning};
use verify::journal::{Description, Journal, Journals};
use verify::{CommitTracer, MissingTable, NAME_PREFIX, Roles, Server, TokenTable, VerifyError};

use crate::control::Control;
use crate::error::RunError;
use crate::event::Event;
use crate::plan::places::ATTEMPT_TIMEOUT;
use crate::plan::runner::{self, Runner};
use crate::spec::circumstances::Tracers;
use crate::spec::fresh_seed;
use crate::store_places::StorePlaces;

/// The last run that has a journal.
const LAST: &str = "last";

/// A verification before its run.
pub(crate) struct Planned {
    roles: Roles,
    names: Vec<String>,
    schema: String,
    records: PathBuf,
    target: Target,
    limit: Duration,
}

/// A verification during its run: the table and the journal are there.
pub(crate) struct Verifying {
    journal: Journal,
    target: Target,
    limit: Duration,
    /// Closed with the verification.
    _occupied: Option<File>,
}

impl Planned {
    /// `None` if the run is not verified. Finds out where the scripts' tokens belong.
    ///
    /// # Errors
    /// The scripts cannot be verified, or the server is unreachable.
    pub(crate) fn new(
        runner: &Runner,
        control: &Control,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Self>, RunError> {
        if !runner.spec.verify {
            return Ok(None);
        }
        let option = runner.surface.name("verify");
        let Some(records) = runner.circumstances.records.clone() else {
            let reason = format!("{option} needs a directory for its journal, and this run is not stored");
            return Err(RunError::Usage(reason));
        };
        let mut session = control.connect(&runner.target)?;
        let (functions, schema) = control.guard(&mut session, |session| {
            left_here(session, &records)?.iter().for_each(|sentence| events(Event::Warning(sentence)));
            let schema = schema(session, &option)?;
            connect::refuse_published_table(session, &schema)?;
            Ok::<_, RunError>((functions_that_write(session, &runner.scripts.programs)?, schema))
        })?;
        let is_used = |script: usize| runner.scripts.texts[script].weight > 0;
        let writes = |word: &str| functions.contains(word);
        let roles = Roles::new(&runner.scripts.programs, is_used, &writes, runner.spec.protocol)
            .map_err(VerifyError::from)?;
        Ok(Some(Self {
            roles,
            names: runner.scripts.texts.iter().map(|text| text.name.clone()).collect(),
            schema,
            records,
            target: runner.target.clone(),
            limit: runner.spec.verify_timeout,
        }))
    }

    /// Creates the table and the journal.
    pub(crate) fn begin(
        self,
        started_at: &str,
        control: &Control,
    ) -> Result<(Verifying, TokenPlan), RunError> {
        let Self { roles, names, schema, records, target, limit } = self;
        let table = TokenTable::new(&schema, fresh_seed());
        let tokens = TokenPlan {
            insert: table.insert(),
            roles: roles.scripts.iter().map(|script| script.commands.clone()).collect(),
        };
        let scripts = names.into_iter().zip(roles.scripts.iter().map(|script| script.place)).collect();
        let create = table.create();
        let description =
            Description { version: Description::VERSION, table, started_at: started_at.to_owned(), scripts };
        let journal = Journal::create(&records, description)?;
        let created = control.connect(&target).and_then(|mut session| {
            Ok(control.guard(&mut session, |session| session.execute(&create)).map(drop)?)
        });
        match created {
            Ok(()) => Ok((Verifying { _occupied: journal.occupied(), journal, target, limit }, tokens)),
            Err(error) => {
                journal.remove()?;
                Err(error)
            }
        }
    }
}

impl Verifying {
    /// The run has not begun: removes the table and the journal, as far as possible.
    pub(crate) fn discard(self, control: &Control) {
        let name = self.journal.description().table.name().to_owned();
        // The reason that the run did not begin matters more.
        if let Ok(mut session) = control.connect(&self.target) {
            let _ = control.guard(&mut session, |session| verify::clean(session, &|other| other == name));
        }
        let _ = self.journal.remove();
    }

    /// The tracer of a worker: the caller's, and the journal around it.
    pub(crate) fn tracer<'w>(
        &self,
        intro: WorkerIntro,
        tracers: Tracers<'_, 'w>,
    ) -> Result<Box<dyn Tracer + 'w>, VerifyError> {
        let (file, start) = (self.journal.worker(intro.number)?, intro.start);
        Ok(Box::new(CommitTracer::new(tracers(intro), file, start)))
    }

    /// Asks the server what became of the commits.
    pub(crate) fn settle(&self, control: &Control) -> Result<Verification, RunError> {
        self.journal.free_reserve();
        settle(&self.journal, self.target.clone(), self.limit, MissingTable::IsLost, None, control)
    }
}

/// Adds the verification to a record. The error is that of the verification, or that work was lost.
pub(crate) fn verify_record(
    record: &mut Record,
    verifying: &Verifying,
    control: &Control,
    events: &mut dyn FnMut(Event<'_>),
) -> Result<(), RunError> {
    events(Event::Verifying("waiting for the server, to look for the acknowledged transactions"));
    match verifying.settle(control) {
        Ok(found) => {
            let lost = lost_work(&found);
            let Verification { lost: commits, acknowledged, .. } = found;
            if lost.is_some() {
                record.warnings.push(Warning::WorkLost { lost: commits, acknowledged });
            }
            record.verification = Some(found);
            lost.map_or(Ok(()), Err)
        }
        Err(error) => {
            record.warnings.push(Warning::NotVerified { error: error.to_string().into() });
            Err(error)
        }
    }
}

/// The error of a verification that found a loss.
#[must_use]
pub fn lost_work(verification: &Verification) -> Option<RunError> {
    let Verification { acknowledged, lost, .. } = *verification;
    (lost > 0).then_some(RunError::WorkLost { lost, acknowledged })
}

fn settle(
    journal: &Journal,
    target: Target,
    limit: Duration,
    missing: MissingTable,
    mut ask: Option<fn() -> io::Result<Password>>,
    control: &Control,
) -> Result<Verification, RunError> {
    let mut target = of_verification(target, limit);
    let mut connect = || {
        let found = connect_to_primary(&target, control);
        match (found, ask.take()) {
            (Err(error), Some(ask)) if error.is_password_needed() => {
                let Ok(Ok(password)) = control.leave_at_once(ask) else { return Err(error) };
                target = target.clone().with_password(password);
                connect_to_primary(&target, control)
            }
            (found, unused) => {
                ask = unused;
                found
            }
        }
    };
    let is_stopped = || control.check().is_err();
    let guard = |session: &mut Session, work: &mut dyn FnMut(&mut Session)| control.guard(session, work);
    let server = Server { connect: &mut connect, guard: &guard, is_stopped: &is_stopped, limit };
    Ok(verify::settle(journal, server, missing)?)
}

/// The target with a time limit for each host, so that all hosts are tried within the limit of the verification. Only a
/// server that accepts writes has the answer, so a preference for standbys does not count.
fn of_verification(target: Target, limit: Duration) -> Target {
    let hosts = u32::try_from(target.hosts.len()).unwrap_or(u32::MAX).max(1);
    let session_attributes = match target.session_attributes {
        wanted @ (SessionAttributes::ReadWrite | SessionAttributes::Primary) => wanted,
        SessionAttributes::Any
        | SessionAttributes::ReadOnly
        | SessionAttributes::Standby
        | SessionAttributes::PreferStandby => SessionAttributes::Any,
    };
    let connect_timeout = target.connect_timeout.or(Some(ATTEMPT_TIMEOUT.min(limit / hosts)));
    Target { connect_timeout, session_attributes, ..target }
}

fn connect_to_primary(target: &Target, control: &Control) -> Result<Session, ConnectError> {
    match control.abandonable(target, first_primary) {
        Ok(found) => found.map_err(|error| *error),
        Err(RunError::Connect(error)) => Err(error),
        // Interrupted, which is checked after each attempt.
        Err(_) => Err(ConnectError::WrongStatement("interrupted")),
    }
}

/// Connects to the first address whose server is out of recovery. Of a single address, the caller finds out. Unlike in
/// libpq, a refusal does not end the search: another server may have been promoted meanwhile.
fn first_primary(target: &Target) -> Result<Session, ConnectError> {
    let addresses = target.addresses()?;
    let [_, _, ..] = &addresses[..] else { return Session::connect(target) };
    let mut refusals = Vec::new();
    let mut passing = Vec::new();
    for address in &addresses {
        let error = match Session::connect(&target.single(address)) {
            Ok(mut session) => match is_in_recovery(&mut session) {
                Ok(false) => return Ok(session),
                Ok(true) => {
                    passing.push(format!("{address}: it is in recovery"));
                    continue;
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        match error.is_password_needed() || verify::is_refused_role(&error) {
            true => refusals.push(error),
            false => passing.push(error.to_string()),
        }
    }
    if let Some(refusal) = refusals.pop().filter(|error| passing.is_empty() || error.is_password_needed()) {
        return Err(refusal);
    }
    let sentence = passing.join("; ");
    Err(ConnectError::Failed { libpq: sentence.clone(), sentence, cause: None })
}

fn is_in_recovery(session: &mut Session) -> Result<bool, ConnectError> {
    let rows = session.query_catalogs("SELECT pg_is_in_recovery()")?;
    Ok(rows.first().and_then(|row| row.get(0)) != Some("f"))
}

/// Verifies a stored run once more. `ask` asks for a password if the server requires one. `warn` receives a warning about
/// journals of other runs that cannot be read.
///
/// # Errors
/// There is no such run, it has no journal, or the server does not answer in time.
pub fn verify_again(
    places: &StorePlaces,
    which: &str,
    target: Target,
    limit: Duration,
    ask: Option<fn() -> io::Result<Password>>,
    control: &Control,
    warn: &mut dyn FnMut(String),
) -> Result<Verification, RunError> {
    let journal = journal_of(places, which, warn)?;
    let others =
        Journal::all(places.records())?.valid.into_iter().filter(|it| it.is_left() && *it != journal);
    others.for_each(|left| warn(left_sentence(&left)));
    settle(&journal, target, limit, MissingTable::IsAnError, ask, control)
}

/// Removes tables of tokens and their journals: those of one run, or of all runs of the store. Returns the tables' names.
/// `ask` and `warn` are those of [`verify_again`].
///
/// # Errors
/// A table or a journal cannot be removed.
pub fn clean_verified(
    places: &StorePlaces,
    which: Option<&str>,
    mut target: Target,
    ask: Option<fn() -> io::Result<Password>>,
    control: &Control,
    warn: &mut dyn FnMut(String),
) -> Result<Vec<String>, RunError> {
    let journals = match which {
        Some(which) => vec![journal_of(places, which, warn)?],
        None => valid(Journal::all(places.records())?, warn),
    };
    let (running, journals): (Vec<_>, Vec<_>) = journals.into_iter().partition(Journal::is_occupied);
    for journal in running {
        let table = journal.description().table.name();
        let sentence = format!("the run of {table} has not ended, so its table and its journal are kept");
        match which {
            Some(_) => return Err(RunError::Usage(sentence)),
            None => warn(sentence),
        }
    }
    let name = |journal: &Journal| journal.description().table.name().to_owned();
    let names: BTreeSet<String> = journals.iter().map(name).collect();
    let mut session = runner::connect(&mut target, ask, control)?;
    let mut removed =
        control.guard(&mut session, |session| verify::clean(session, &|found| names.contains(found)))?;
    for journal in journals {
        // The journal of a table in another database is still needed.
        let table = name(&journal);
        if removed.contains(&table) {
            journal.remove()?;
        } else if which.is_some() {
            return Err(RunError::Usage(format!(
                "the table {table} is not in this database: give the database of the run with -d; if the table was dropped, \
                 delete {}",
                journal.directory().display()
            )));
        }
    }
    if which.is_none() {
        removed.extend(control.guard(&mut session, isolation::drop_leftovers)?);
    }
    Ok(removed)
}

/// Names what killed runs with `--verify` left, each in a sentence, by their journals beside the records.
///
/// # Errors
/// The directory of the journals cannot be read.
pub(crate) fn left_verifications(records: &Path) -> Result<Vec<String>, RunError> {
    Ok(Journal::all(records)?.valid.iter().filter(|it| it.is_left()).map(left_sentence).collect())
}

/// Those of the session's database.
fn left_here(session: &mut Session, records: &Path) -> Result<Vec<String>, RunError> {
    let mut left = Journal::all(records)?.valid;
    left.retain(Journal::is_left);
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let tables = session.query_catalogs(&TokenTable::all())?;
    left.retain(|journal| tables.iter().any(|row| row.get(1) == Some(journal.description().table.name())));
    Ok(left.iter().map(left_sentence).collect())
}

fn left_sentence(journal: &Journal) -> String {
    let Description { table, started_at, .. } = journal.description();
    let name = table.name();
    format!(
        "the run with --verify of {started_at} was killed, so its table {} and its journal were left; pgmeter verify {name} \
         asks what became of its commits, and pgmeter verify --clean {name} removes both; give -d and the connection of the run",
        table.quoted()
    )
}

/// The journal of a run, by its record or, if it was killed, by its time in the store.
fn journal_of(places: &StorePlaces, which: &str, warn: &mut dyn FnMut(String)) -> Result<Journal, RunError> {
    let records = places.records();
    let without = || {
        RunError::Usage(format!(
            "run {which} has no journal in {}: it ran without --verify, or `pgmeter verify --clean` removed it",
            records.display()
        ))
    };
    if which == LAST {
        let newest = valid(Journal::all(records)?, warn).into_iter().max_by_key(started);
        return newest.ok_or_else(|| {
            let records = records.display();
            RunError::Usage(format!(
                "no run has a journal in {records}: bench --verify writes one, verify --clean removes it"
            ))
        });
    }
    let started_at = if which.starts_with(NAME_PREFIX) {
        return Journal::open(records, which)?.ok_or_else(without);
    } else if Path::new(which).is_file() {
        let record = Record::read(Path::new(which))?;
        if let Some(verification) = &record.verification {
            return Journal::open(records, verification.table.as_str())?.ok_or_else(without);
        }
        record.started_at.to_string()
    } else {
        let store = Store::open(places.store())?;
        let run = store.entry(which, &[EntryKind::Run])?;
        store.started_at(run.number)?
    };
    let Journals { valid, invalid } = Journal::all(records)?;
    match valid.into_iter().find(|journal| journal.description().started_at == started_at) {
        Some(journal) => {
            warn_about(&invalid, warn);
            Ok(journal)
        }
        None if invalid.is_empty() => Err(without()),
        // One of them may be that of the run.
        None => Err(RunError::Usage(format!(
            "run {which} has no journal in {} that can be read: {}",
            records.display(),
            sentence(&invalid)
        ))),
    }
}

fn started(journal: &Journal) -> String {
    journal.description().started_at.clone()
}

/// The journals that can be read, with a warning about the others.
fn valid(journals: Journals, warn: &mut dyn FnMut(String)) -> Vec<Journal> {
    warn_about(&journals.invalid, warn);
    journals.valid
}

fn warn_about(invalid: &[VerifyError], warn: &mut dyn FnMut(String)) {
    if !invalid.is_empty() {
        warn(format!(
            "skipped: {}; to remove such a journal, delete its folder and drop the table with the folder's name",
            sentence(invalid)
        ));
    }
}

fn sentence(errors: &[VerifyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The names among the scripts' words of functions that may write, except the server's own.
fn functions_that_write(
    session: &mut Session,
    programs: &[script::Program],
) -> Result<BTreeSet<String>, RunError> {
    let words = Roles::words(programs);
    let quoted: Vec<String> = words.iter().map(|word| connect::quote::literal(word)).collect();
    if quoted.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows = session.query_catalogs(&format!(
        "SELECT DISTINCT p.proname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE p.provolatile = \
         'v' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.proname::text IN ({})",
        quoted.join(", ")
    ))?;
    Ok(rows.iter().filter_map(|row| row.get(0)).map(str::to_owned).collect())
}

/// The schema of new tables.
fn schema(session: &mut Session, option: &str) -> Result<String, RunError> {
    let rows = session.query(
        "SELECT s.name, pg_catalog.has_schema_privilege(s.name, 'CREATE'), current_user \
         FROM (SELECT pg_catalog.current_schema() AS name OFFSET 0) AS s",
    )?;
    let text = |at| rows.first().and_then(|row| row.get(at)).map(str::to_owned);
    if let (Some(schema), Some("f"), Some(role)) = (text(0), text(1).as_deref(), text(2)) {
        return Err(RunError::Usage(format!(
            "{option} creates a table in the schema {schema}, and the role {role} may not create tables there: GRANT CREATE ON \
             SCHEMA, or set search_path to a schema of its own (CREATE SCHEMA … AUTHORIZATION)"
        )));
    }
    text(0).ok_or_else(|| {
        RunError::Usage(format!(
            "{option} creates a table, and the search_path names no schema that exists; set search_path for this role or database"
        ))
    })
}
