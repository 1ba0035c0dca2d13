//! Writes runs to the store: a row at the start, completed at the end, in one durable commit each. If a process is
//! killed, the next process that opens the store marks its row.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, TransactionBehavior, params, params_from_iter};
use serde::Serialize;

use super::process::Process;
use super::{Store, failed};
use crate::{
    Annotation, Environment, Interval, Label, Note, Plan, Record, ResultsError, ServerSample, Status, UtcTime,
};

/// Time between two signs of life of a run.
pub const RENEWAL: Duration = Duration::from_secs(10);
/// Age of the last sign of life from which on a run counts as broken off: two of them may be missing.
const SILENCE_MAX_MS: i64 = 30_000;

impl Store {
    /// Adds a row for a starting run, and returns its number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(
        &mut self,
        started_at: UtcTime,
        plan: &Plan,
        environment: &Environment,
    ) -> Result<i64, ResultsError> {
        let annotation = &Annotation::default();
        let run =
            NewRun { started_at, pgmeter_version: env!("CARGO_PKG_VERSION"), plan, environment, annotation };
        run.insert(&self.connection, Some(&Process::own())).map_err(failed(&self.path))
    }

    /// Completes the row of a finished run, whose record is the file at `path`. Returns its number, which is new if the
    /// store was replaced meanwhile.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn finish(&mut self, run: i64, record: &Record, path: &Path) -> Result<i64, ResultsError> {
        let rows = Rows::of(record);
        let place = self.place_of(path);
        let bytes = std::fs::metadata(path).ok().and_then(|found| i64::try_from(found.len()).ok());
        let ended_at = UtcTime::now().to_string();
        self.in_transaction(|transaction| {
            let is_ours = is_open(transaction, run, record)?;
            let run = if is_ours { run } else { NewRun::of(record).insert(transaction, None)? };
            complete_row(transaction, run, record, &rows, (&place, bytes), Some(&ended_at))?;
            Ok(run)
        })
    }

    /// Marks a run as failed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn break_off(&mut self, run: i64, reason: &str) -> Result<(), ResultsError> {
        let reason = crate::SafeText::from(reason);
        let updated = self.connection.execute(
            "UPDATE runs SET status = 'failed', reason = ?2, ended_at = ?3 WHERE run = ?1 AND status = 'running'",
            params![run, reason.as_str(), UtcTime::now().to_string()],
        );
        updated.map(drop).map_err(failed(&self.path))
    }

    /// Stores a sign of life of a run: its process calls this every [`RENEWAL`] while the run goes on. A run that was
    /// taken for killed meanwhile is running again.
    ///
    /// # Errors
    /// The store cannot be written, or others write to it.
    pub fn renew(&self, run: i64) -> Result<(), ResultsError> {
        let updated = self.connection.execute(
            "UPDATE runs SET status = 'running', alive_at = ?2 WHERE run = ?1 AND status IN ('running', 'killed')",
            params![run, UtcTime::now().to_string()],
        );
        updated.map(drop).map_err(failed(&self.path))
    }

    /// Marks runs whose process has gone as killed.
    pub(super) fn mark_killed(&mut self) -> Result<(), ResultsError> {
        let gone = self.gone().map_err(failed(&self.path))?;
        for run in gone {
            let sql = "UPDATE runs SET status = 'killed' WHERE run = ?1 AND status = 'running'";
            self.connection.execute(sql, [run]).map_err(failed(&self.path))?;
        }
        Ok(())
    }

    /// Runs with the status running whose process has gone. Of a process that cannot be seen from here, such as one of
    /// another host, the age of its last sign of life decides.
    pub(super) fn gone(&self) -> rusqlite::Result<Vec<i64>> {
        let sql = "SELECT run, alive_at, hostname, boot_id, pid_namespace, pid, pid_started_ticks FROM runs \
                   WHERE status = 'running'";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, Process::read(row, 2)?)))?;
        let found = rows.collect::<Result<Vec<(i64, Option<String>, Process)>, _>>()?;
        let own = Process::own();
        let oldest = UtcTime::from_unix_millis(UtcTime::now().unix_millis() - SILENCE_MAX_MS).to_string();
        let is_gone = |alive_at: Option<String>, process: &Process| {
            let is_silent = alive_at.is_some_and(|alive_at| alive_at < oldest);
            process.is_gone(&own) || (is_silent && !process.runs(&own))
        };
        Ok(found.into_iter().filter_map(|(run, at, process)| is_gone(at, &process).then_some(run)).collect())
    }

    /// The path of a record for the store: relative if it is in the store's directory, so that the directory can be
    /// moved.
    pub(super) fn place_of(&self, path: &Path) -> String {
        let absolute = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let beside = absolute(parent.unwrap_or(Path::new("."))) == absolute(self.directory());
        let place = match path.file_name() {
            Some(name) if beside => PathBuf::from(name),
            _ => absolute(path),
        };
        place.to_string_lossy().into_owned()
    }

    /// Runs `work` in one transaction.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, ResultsError> {
        let path = self.path.clone();
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let done = begun.and_then(|transaction| {
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        done.map_err(failed(&path))
    }
}

/// Whether the row belongs to this run and is not completed yet.
fn is_open(connection: &Connection, run: i64, record: &Record) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) = 1 FROM runs WHERE run = ?1 AND status IN ('running', 'killed') AND started_at = ?2",
        params![run, record.started_at.to_string()],
        |row| row.get(0),
    )
}

/// The columns that are known at the start of a run.
pub(super) struct NewRun<'a> {
    started_at: UtcTime,
    pgmeter_version: &'a str,
    plan: &'a Plan,
    environment: &'a Environment,
    annotation: &'a Annotation,
}

impl NewRun<'_> {
    pub(super) fn of(record: &Record) -> NewRun<'_> {
        let Record { started_at, pgmeter_version, plan, environment, annotation, .. } = record;
        NewRun { started_at: *started_at, pgmeter_version, plan, environment, annotation }
    }

    /// Inserts the row, and returns its number; `process` will complete it.
    pub(super) fn insert(&self, connection: &Connection, process: Option<&Process>) -> rusqlite::Result<i64> {
        let NewRun { started_at, pgmeter_version, plan, environment, annotation } = self;
        connection.execute(
            "INSERT INTO runs (status, started_at, pgmeter_version, hostname, boot_id, pid_namespace, pid, \
             pid_started_ticks, seed, plan, environment, label, note) \
             VALUES ('running', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                started_at.to_string(),
                pgmeter_version,
                environment.host.hostname,
                process.and_then(|process| process.boot_id.as_deref()),
                process.and_then(|process| process.pid_namespace.as_deref()),
                process.and_then(|process| process.pid),
                process.and_then(|process| process.pid_started_ticks),
                plan.seed.to_string(),
                json(plan),
                json(environment),
                annotation.label.as_ref().map(Label::as_str),
                annotation.note.as_ref().map(Note::as_str),
            ],
        )?;
        Ok(connection.last_insert_rowid())
    }
}

/// Sets the columns that are known at the end of a run.
pub(super) fn complete_row(
    connection: &Connection,
    run: i64,
    record: &Record,
    rows: &Rows,
    (place, bytes): (&str, Option<i64>),
    ended_at: Option<&str>,
) -> rusqlite::Result<()> {
    let (status, reason) = match &record.status {
        Status::Complete => ("complete", None),
        Status::Interrupted => ("interrupted", None),
        Status::Failed { reason } => ("failed", Some(reason.as_str())),
    };
    connection.execute(
        "UPDATE runs SET status = ?2, reason = ?3, ended_at = ?4, schema_version = ?5, record_path = ?6, \
         record_bytes = ?7, plan = ?8, environment = ?9, tables = ?10, summary = ?11, observation = ?12, \
         warnings = ?13, notes = ?14 WHERE run = ?1",
        params![
            run,
            status,
            reason,
            ended_at,
            record.schema_version,
            place,
            bytes,
            json(&record.plan),
            json(&record.environment),
            json(&record.tables),
            json(&record.summary),
            rows.observation,
            json(&record.cautions().collect::<Vec<_>>()),
            json(&record.notes().collect::<Vec<_>>()),
        ],
    )?;
    let mut insert = connection.prepare(
        "INSERT INTO intervals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    for (position, figures) in (0_i64..).zip(&rows.intervals) {
        let place = [Value::from(run), Value::from(position)];
        insert.execute(params_from_iter(place.iter().chain(figures)))?;
    }
    let mut insert = connection.prepare("INSERT INTO samples VALUES (?1, ?2, ?3)")?;
    for (position, sample) in (0_i64..).zip(&rows.samples) {
        insert.execute(params![run, position, sample])?;
    }
    Ok(())
}

/// Rows of a record in other tables; made before the store is locked.
pub(super) struct Rows {
    /// The observation without samples, which have rows of their own.
    observation: Option<String>,
    samples: Vec<String>,
    /// Per interval: start, end, counts, and figures computed from its histograms.
    intervals: Vec<Vec<Value>>,
}

impl Rows {
    pub(super) fn of(record: &Record) -> Rows {
        let samples = record.observation.as_ref().map(|observation| observation.samples.as_slice());
        let bare = record.observation.clone().map(|mut observation| {
            observation.samples = Vec::<ServerSample>::new();
            json(&observation)
        });
        Rows {
            observation: bare,
            samples: samples.unwrap_or_default().iter().map(json).collect(),
            intervals: record.intervals.iter().map(interval_figures).collect(),
        }
    }
}

/// In the order of the table's columns. A damaged histogram has no figures, but its counts are valid.
fn interval_figures(interval: &Interval) -> Vec<Value> {
    let counts = &interval.counts;
    let counts = [
        counts.scheduled,
        counts.succeeded,
        counts.failed,
        counts.skipped,
        counts.unfinished,
        counts.late,
        counts.retried,
        counts.retries,
    ];
    let latency = interval.to_stats().ok().and_then(|stats| crate::Latency::of(&stats.total().response));
    let latencies =
        latency.map_or([None; 6], |us| [us.mean, us.p50, us.p90, us.p99, us.p999, us.max].map(Some));
    let bounds = [interval.start_s, interval.end_s].map(Value::from);
    let counts = counts.map(|count| Value::from(i64::try_from(count).unwrap_or(i64::MAX)));
    bounds.into_iter().chain(counts).chain(latencies.map(Value::from)).collect()
}

/// As it stands in the record.
pub(super) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("a record has string keys only");
    encoding::shown(&json).into_owned()
}
