//! A workload defined by a directory: its SQL files load and check the data, its scripts run. Built in or
//! user-defined. `manifest` parses the directory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use connect::quote::{identifier, literal};
use connect::{Session, SqlState, Target};

use crate::WorkloadError;
use crate::load::{InitOptions, InitProgress, InitReport, Logging, Progress, StepTime};
use crate::load::{execute, execute_all, missing_table, query};
use crate::manifest::{BeforeRun, FILE_LENGTH_MAX, Files, LoadStep, MANIFEST, Manifest, TableEntry};
use crate::stopwatch::Stopwatch;
use crate::tpcb::Step;
use crate::workload::{Check, Script, Tables, Workload};

/// SQLSTATE of a statement that cannot run in a transaction: `active_sql_transaction`.
const IN_TRANSACTION: &[u8; 5] = b"25001";

/// A workload defined by a directory.
#[derive(Clone, Debug)]
pub struct Folder {
    manifest: Manifest,
    /// Its name in `--workload`.
    place: String,
}

impl Folder {
    /// Reads a directory with all its files.
    ///
    /// # Errors
    /// A file cannot be read or is invalid; the error contains the position.
    pub fn read(folder: &Path) -> Result<Folder, WorkloadError> {
        let file = folder.join(MANIFEST);
        let unreadable = |source| WorkloadError::Read { file: file.display().to_string(), source };
        let text = config::text_of(&file, FILE_LENGTH_MAX).map_err(unreadable)?;
        let mut manifest = Manifest::parse(&text, &file.display().to_string(), Files::Folder(folder))?;
        manifest.files.insert(0, (file, text));
        Ok(Folder { manifest, place: folder.display().to_string() })
    }

    /// A built-in directory: names and texts of its files.
    ///
    /// # Errors
    /// As [`Folder::read`].
    pub fn embedded(files: &[(&str, &str)]) -> Result<Folder, WorkloadError> {
        let text = files.iter().find(|(name, _)| *name == MANIFEST).map_or("", |(_, text)| *text);
        let mut manifest = Manifest::parse(text, MANIFEST, Files::Embedded(files))?;
        manifest.files.clear();
        let place = manifest.name.clone();
        Ok(Folder { manifest, place })
    }

    /// Executes a load step.
    fn run(
        &self,
        session: &mut Session,
        step: &LoadStep,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        if step.is_transaction {
            execute(session, "begin")?;
        }
        let statements = script::statements(&step.file, &step.sql, variables)?;
        for statement in statements {
            if let Err(source) = session.execute(&statement.sql) {
                let is_misplaced = source.sqlstate() == SqlState::from_bytes(IN_TRANSACTION);
                if step.is_transaction && !session.is_lost() {
                    // The first error is reported. The server rolls back a lost session.
                    let _ = session.execute("rollback");
                }
                return Err(WorkloadError::LoadStep {
                    file: step.file.clone(),
                    line: statement.line,
                    source,
                    is_misplaced: is_misplaced && step.is_transaction,
                });
            }
        }
        if step.is_transaction { execute(session, "commit") } else { Ok(()) }
    }
}

impl TableEntry {
    /// The name quoted for SQL.
    fn quoted(&self) -> String {
        self.name.split('.').map(identifier).collect::<Vec<_>>().join(".")
    }
}

impl Workload for Folder {
    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn title(&self) -> &str {
        &self.manifest.title
    }

    fn source(&self) -> Option<&str> {
        self.manifest.source.as_deref()
    }

    fn licence(&self) -> Option<&str> {
        self.manifest.licence.as_deref()
    }

    fn parameters(&self) -> &BTreeMap<String, String> {
        &self.manifest.parameters
    }

    fn bytes_per_scale(&self) -> Option<u64> {
        self.manifest.bytes_per_scale
    }

    fn scripts(&self) -> &[Script] {
        &self.manifest.scripts
    }

    fn init_command(&self) -> String {
        format!("pgmeter init --workload {}", self.place)
    }

    /// Its SQL files define the tables, so options for pgbench's tables are rejected.
    fn check_options(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        let InitOptions {
            scale: _,
            steps,
            fillfactor,
            partitioning,
            logging,
            tablespace,
            index_tablespace,
            jobs: _,
            resumes,
            parameters,
        } = options;
        let workload = || self.name().to_owned();
        let refused = [
            (*steps != Step::DEFAULT, "a choice of steps"),
            (*fillfactor != InitOptions::default().fillfactor, "a fillfactor"),
            (partitioning.is_some(), "partitions"),
            (*logging != Logging::All, "unlogged tables"),
            (tablespace.is_some(), "a tablespace"),
            (index_tablespace.is_some(), "an index tablespace"),
            (*resumes, "resuming"),
        ];
        if let Some((_, option)) = refused.iter().find(|(is_asked, _)| *is_asked) {
            return Err(WorkloadError::OnlyTpcb { option, workload: workload() });
        }
        let known = self.parameters();
        match parameters.keys().find(|name| !known.contains_key(*name)) {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = known.keys().map(String::as_str).collect();
                let known = match config::nearest(name, &known) {
                    _ if known.is_empty() => "it has no parameters except scale".to_owned(),
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("it has {}", known.join(", ")),
                };
                Err(WorkloadError::UnknownParameter { workload: workload(), name: name.clone(), known })
            }
        }
    }

    /// Runs all steps on one session. A lost connection ends the loading, because the SQL may not be safe to repeat.
    fn load(
        &self,
        _target: &Target,
        session: &mut Session,
        options: &InitOptions,
        progress: &mut Progress<'_>,
    ) -> Result<InitReport, WorkloadError> {
        self.check_options(options)?;
        let variables = (self as &dyn Workload).variables(&options.parameters, options.scale);
        let mut report = InitReport::default();
        let mut tell = |what: InitProgress<'_>| match progress(what) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self.interrupted()),
        };
        // Earlier notices do not belong to the loading.
        session.take_notices();
        for step in &self.manifest.load {
            tell(InitProgress::Started { doing: &format!("running {}", step.file) })?;
            let stopwatch = Stopwatch::start();
            let done = session.patiently(|session| self.run(session, step, &variables));
            for notice in session.take_notices() {
                tell(InitProgress::Notice(&notice))?;
            }
            done?;
            let time = StepTime { name: step.name.clone(), took: stopwatch.read() };
            tell(InitProgress::Finished(&time))?;
            report.steps.push(time);
        }
        Ok(report)
    }

    fn interrupted(&self) -> WorkloadError {
        WorkloadError::InterruptedForGood { init: self.init_command() }
    }

    fn find_tables(&self, session: &mut Session) -> Result<Tables, WorkloadError> {
        let mut scale = None;
        for table in &self.manifest.tables {
            let (name, quoted) = (&table.name, table.quoted());
            let is_there = format!("select pg_catalog.to_regclass({}) is not null", literal(&quoted));
            let found = query(session, &is_there)?;
            if found.first().and_then(|row| row.get(0)) != Some("t") {
                return Err(missing_table(session, name, self, None));
            }
            let Some(rows_per_scale) = table.rows_per_scale else { continue };
            let counted = query(session, &format!("select pg_catalog.count(*) from {quoted}"))?;
            let rows = counted.first().and_then(|row| row.get(0)).unwrap_or("no").to_owned();
            let units = rows.parse::<u64>().ok().map(|rows| rows / rows_per_scale);
            let units = units.and_then(|units| u32::try_from(units).ok()).filter(|units| *units > 0);
            let (table, init) = (name.clone(), self.init_command());
            scale = Some(units.ok_or(WorkloadError::ScaleUnusable { table, rows, init })?);
        }
        Ok(Tables { scale, partitioning: None })
    }

    fn scale_table(&self) -> Option<&str> {
        let table = self.manifest.tables.iter().find(|table| table.rows_per_scale.is_some())?;
        Some(&table.name)
    }

    fn prepare_run(&self, session: &mut Session) -> Vec<WorkloadError> {
        let statement = |table: &TableEntry| {
            let verb = match table.before_run {
                BeforeRun::Nothing => return None,
                BeforeRun::Vacuum => "vacuum",
                BeforeRun::VacuumAnalyze => "vacuum analyze",
                BeforeRun::Truncate => "truncate",
            };
            Some(format!("{verb} {}", table.quoted()))
        };
        let statements: Vec<_> = self.manifest.tables.iter().filter_map(statement).collect();
        execute_all(session, &statements)
    }

    fn vacuum_all(&self, session: &mut Session) -> Vec<WorkloadError> {
        let tables = self.manifest.tables.iter();
        let statements: Vec<_> = tables.map(|table| format!("vacuum analyze {}", table.quoted())).collect();
        execute_all(session, &statements)
    }

    fn checks(&self) -> &[Check] {
        &self.manifest.checks
    }

    fn files(&self) -> &[(PathBuf, String)] {
        &self.manifest.files
    }
}
