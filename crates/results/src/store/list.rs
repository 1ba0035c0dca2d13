//! The stored runs, comparisons, experiments, query sets and searches, one line each, with identification, main figures and what the answer
//! follows from. The complete figures are in the records.

use std::collections::BTreeMap;

use rusqlite::{Row, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stats::Scale;
use stats::comparison::{ComparisonDecision, MetricFinding};
use stats::goals::{GoalTally, GoalVerdict};

use super::{Store, annotation, failed};
use crate::safe_text::indented;
use crate::{Annotation, EntryId, EntryKind, Plan, ResultsError, SearchAnswer, Summary, UtcTime};

/// Which entries are listed: those that meet all given conditions, the newest ones.
#[derive(Clone, Debug)]
pub struct ListFilter {
    /// Maximum number of entries.
    pub newest: u32,
    /// Part of the name of a script.
    pub script: Option<String>,
    /// Earliest start.
    pub since: Option<UtcTime>,
    /// The label.
    pub label: Option<String>,
    /// The host of pgmeter, or that of the server as it was named.
    pub host: Option<String>,
    /// Whether runs of trials are listed too, beside their experiments. Those with the label always are.
    pub trials: bool,
}

impl Default for ListFilter {
    /// All entries.
    fn default() -> Self {
        ListFilter { newest: u32::MAX, script: None, since: None, label: None, host: None, trials: true }
    }
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A run, also of a trial.
    Run(Box<RunLine>),
    /// A comparison.
    Comparison(Box<ComparisonLine>),
    /// An experiment.
    Experiment(ExperimentLine),
    /// A query set.
    QuerySet(Box<QuerySetLine>),
    /// A search.
    Search(Box<SearchLine>),
}

impl From<RunLine> for Entry {
    fn from(line: RunLine) -> Entry {
        Entry::Run(Box::new(line))
    }
}

impl Entry {
    /// Its number.
    pub fn id(&self) -> EntryId {
        let (kind, number) = match self {
            Entry::Run(line) => (EntryKind::Run, line.run),
            Entry::Comparison(line) => (EntryKind::Comparison, line.comparison),
            Entry::Experiment(line) => (EntryKind::Experiment, line.experiment),
            Entry::QuerySet(line) => (EntryKind::QuerySet, line.query_set),
            Entry::Search(line) => (EntryKind::Search, line.search),
        };
        EntryId { kind, number }
    }

    /// Start time, UTC.
    pub fn started_at(&self) -> &str {
        match self {
            Entry::Run(line) => &line.started_at,
            Entry::Comparison(line) => &line.started_at,
            Entry::Experiment(line) => &line.started_at,
            Entry::QuerySet(line) => &line.started_at,
            Entry::Search(line) => &line.started_at,
        }
    }

    /// Label and note.
    pub fn annotation(&self) -> &Annotation {
        match self {
            Entry::Run(line) => &line.annotation,
            Entry::Comparison(line) => &line.annotation,
            Entry::Experiment(line) => &line.annotation,
            Entry::QuerySet(line) => &line.annotation,
            Entry::Search(line) => &line.annotation,
        }
    }
}

/// A stored comparison in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonLine {
    /// Its number.
    pub comparison: i64,
    /// Label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// `complete` or `interrupted`.
    pub status: String,
    /// Start time, UTC.
    pub started_at: String,
    /// The experiment's name.
    pub name: String,
    /// The factor that differs.
    pub factor: String,
    /// Its level in A.
    pub a: String,
    /// Its level in B.
    pub b: String,
    /// The decision; `null` if this version does not know it.
    pub decision: Option<ComparisonDecision>,
    /// The finding of the metric that decides, if there were enough pairs.
    pub finding: Option<MetricFinding>,
}

/// A stored experiment in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentLine {
    /// Its number.
    pub experiment: i64,
    /// Label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// The name in its file.
    pub name: String,
    /// `full` or `quick`.
    pub profile: String,
    /// Start time, UTC.
    pub started_at: String,
    /// Number of trials.
    pub trials: u32,
    /// Of these, complete ones.
    pub complete: u32,
    /// Of these, failed ones.
    pub failed: u32,
    /// Whether a process may be running a trial.
    pub running: bool,
    /// The complete trials with goals, by the verdict on all goals of a trial.
    pub goals: GoalTally,
}

/// A stored query set in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuerySetLine {
    /// Its number.
    pub query_set: i64,
    /// Label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// `complete`, `interrupted` or `failed`.
    pub status: String,
    /// Start time, UTC.
    pub started_at: String,
    /// Name of the workload.
    pub name: String,
    /// Scale of the data.
    pub scale: Option<Scale>,
    /// Number of streams.
    pub streams: Option<u32>,
    /// Server version.
    pub server_version: Option<String>,
    /// Number of queries.
    pub queries: u32,
    /// Of these, queries that were executed at least once; fewer in an interrupted query set.
    pub executed: u32,
    /// Of these, queries with an execution that failed.
    pub failed: u32,
    /// Of these, queries with an execution that was cancelled at its limit.
    pub limited: u32,
    /// Of these, queries with another answer than expected.
    pub different: u32,
    /// Elapsed time of all streams together.
    pub elapsed_us: Option<i64>,
}

/// A stored search in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchLine {
    /// Its number.
    pub search: i64,
    /// Label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// `complete`, `interrupted` or `failed`.
    pub status: String,
    /// Start time, UTC.
    pub started_at: String,
    /// Names of its scripts, joined by `+`.
    pub name: String,
    /// The kind of answer; `null` if this version does not know it.
    pub answer: Option<SearchAnswer>,
    /// The rate that the answer is about.
    pub rate_tps: Option<f64>,
    /// Lower end of its 95 % interval.
    pub rate_low: Option<f64>,
    /// Upper end.
    pub rate_high: Option<f64>,
    /// The lowest rate that broke the goals.
    pub broken_tps: Option<f64>,
    /// The goals, joined by commas.
    pub goals: String,
    /// Of two searches in turns: the rate of B ÷ that of A; `null` otherwise, and if it is unknown.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// What it says about B; `null` if it is no comparison.
    pub decision: Option<ComparisonDecision>,
    /// Server version.
    pub server_version: Option<String>,
}

/// A stored run in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its number.
    pub run: i64,
    /// Label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// Its status.
    pub status: RunStatus,
    /// Why it failed.
    pub reason: Option<String>,
    /// Start time, UTC.
    pub started_at: String,
    /// Its last sign of life, UTC; `None` if none was stored.
    pub alive_at: Option<String>,
    /// Names of its scripts, joined by `+`.
    pub scripts: String,
    /// The host of pgmeter.
    pub hostname: String,
    /// Server version.
    pub server_version: Option<String>,
    /// Number of clients.
    pub clients: u32,
    /// Measured seconds.
    pub duration_s: Option<f64>,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Lower bound of its 95 % interval.
    pub tps_low: Option<f64>,
    /// Upper bound of its 95 % interval.
    pub tps_high: Option<f64>,
    /// Median of the response times.
    pub p50_us: Option<f64>,
    /// Their 90th percentile.
    pub p90_us: Option<f64>,
    /// Their 99th percentile.
    pub p99_us: Option<f64>,
    /// Their 99.9th percentile.
    pub p999_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
    /// Failed transactions.
    pub failed: Option<i64>,
    /// The limit, with the name in the views.
    #[serde(rename = "limited_by")]
    pub limit: Option<String>,
    /// Whether it kept its rate and latency limit, if it had one.
    pub kept: Option<bool>,
    /// Verdicts of its goals.
    pub goals: GoalTally,
    /// Number of warnings in its record.
    pub warnings: Option<i64>,
    /// Path of its record; relative to the store's directory unless it is absolute.
    pub record_path: Option<String>,
    /// Its trial, if it belongs to an experiment.
    pub trial: Option<TrialOfRun>,
    /// Throughput of each tenth of its seconds, or of each second if there are fewer.
    #[serde(skip)]
    pub tps_curve: Vec<f64>,
    /// What was asked, if this version can read it.
    #[serde(skip)]
    pub plan: Option<Plan>,
    /// What was measured, if it has a record that this version can read.
    #[serde(skip)]
    pub summary: Option<Box<Summary>>,
}

/// The trial of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrialOfRun {
    /// The experiment's number.
    #[serde(skip)]
    pub experiment_number: i64,
    /// The experiment's name.
    pub experiment: String,
    /// Factors and levels.
    pub factors: BTreeMap<String, String>,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

/// Status of a run in the store.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its process has not stored its end yet.
    Running,
    /// It ran to its planned end.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// It failed.
    Failed,
    /// Its process ended without storing the run's end.
    Killed,
}

impl RunStatus {
    /// The name in the store and in output.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Complete => "complete",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
            RunStatus::Killed => "killed",
        }
    }

    fn of(name: &str) -> RunStatus {
        let all = [RunStatus::Running, RunStatus::Complete, RunStatus::Interrupted, RunStatus::Failed];
        all.into_iter().find(|status| status.name() == name).unwrap_or(RunStatus::Killed)
    }
}

/// The list as JSON, for programs.
pub fn entries_json(entries: &[Entry]) -> String {
    indented(&entries)
}

/// Of runs: all, or those that are of no trial.
const ALL_RUNS: &str = "TRUE";
const WITHOUT_TRIALS: &str = "run NOT IN (SELECT run FROM trials WHERE run IS NOT NULL)";

/// Conditions on the rows of a table or view that has `started_at` and `label`. Missing values are `NULL`.
const CONDITIONS: &str = "(:since IS NULL OR started_at >= :since) AND (:label IS NULL OR label = :label)";

const RUNS: &str = "
SELECT run, runs.status, runs.reason, runs.started_at, scripts, runs.hostname, server_version, clients, duration_s, tps, tps_low,
       tps_high, p99_us, failed, limited_by, kept, warnings, record_path, experiments.name, factors, repeat,
       runs.label, runs.note, plan, summary, goals_met, goals_missed, goals_undecided, last_sign,
       experiment,
       (SELECT json_group_array(tps)
        FROM (SELECT sum(succeeded) / sum(end_s - start_s) AS tps
              FROM (SELECT succeeded, start_s, end_s, ntile(10) OVER (ORDER BY position) AS part
                    FROM intervals WHERE intervals.run = runs.run AND end_s - start_s >= 0.5)
              GROUP BY part ORDER BY part)),
       p50_us, p90_us, p999_us, max_us
FROM (SELECT run_summary.*, plan, summary, runs.alive_at AS last_sign FROM run_summary JOIN runs USING (run)
      WHERE run IN (SELECT run FROM runs
                    WHERE CONDITIONS AND LISTED
                      AND (:host IS NULL OR hostname = :host OR json_extract(plan, '$.connection.host') = :host)
                      AND (:script IS NULL OR EXISTS
                           (SELECT 1 FROM json_each(plan, '$.scripts')
                            WHERE instr(json_extract(value, '$.name'), :script) > 0))
                    ORDER BY started_at DESC, run DESC LIMIT :newest)) AS runs
     LEFT JOIN trials USING (run) LEFT JOIN experiments USING (experiment)";

const COMPARISONS: &str = "
SELECT comparison, json_extract(record, '$.status'), started_at, name, json_extract(record, '$.factor'),
       json_extract(record, '$.sides[0].label'),
       json_extract(record, '$.sides[1].label'), decision,
       (SELECT value FROM json_each(record, '$.findings')
        WHERE json_extract(value, '$.metric') = json_extract(record, '$.method.decisive')
              AND json_extract(value, '$.script') IS NULL), label, note
FROM comparisons
WHERE CONDITIONS
  AND (:host IS NULL OR hostname = :host)
  AND (:script IS NULL OR instr(json_extract(record, '$.sides[0].load'), :script) > 0
                       OR instr(json_extract(record, '$.sides[1].load'), :script) > 0)
ORDER BY started_at DESC, comparison DESC LIMIT :newest";

const EXPERIMENTS: &str = "
SELECT experiment, name, profile, started_at, label, note,
       (SELECT count(*) FROM trials WHERE trials.experiment = experiments.experiment),
       (SELECT count(*) FROM trials WHERE trials.experiment = experiments.experiment AND status = 'complete'),
       (SELECT count(*) FROM trials WHERE trials.experiment = experiments.experiment AND status = 'failed'),
       (SELECT count(*) > 0 FROM trials WHERE trials.experiment = experiments.experiment AND status = 'running')
FROM experiments
WHERE CONDITIONS
  AND (:host IS NULL OR hostname = :host)
  AND (:script IS NULL
       OR EXISTS (SELECT 1 FROM json_each(files) WHERE instr(key, :script) > 0)
       OR EXISTS (SELECT 1 FROM trials JOIN runs USING (run), json_each(runs.plan, '$.scripts')
                  WHERE trials.experiment = experiments.experiment
                    AND instr(json_extract(value, '$.name'), :script) > 0))
ORDER BY started_at DESC, experiment DESC LIMIT :newest";

const QUERY_SETS: &str = "
SELECT query_set, status, started_at, name, scale, streams, server_version, queries,
       (SELECT count(DISTINCT position) FROM query_summary AS q
        WHERE q.query_set = query_set_summary.query_set AND error IS NOT NULL),
       (SELECT count(DISTINCT position) FROM query_summary AS q
        WHERE q.query_set = query_set_summary.query_set AND limited),
       (SELECT count(DISTINCT position) FROM query_summary AS q
        WHERE q.query_set = query_set_summary.query_set AND answer = 'different'),
       (SELECT count(DISTINCT position) FROM query_summary AS q
        WHERE q.query_set = query_set_summary.query_set),
       elapsed_us, label, note
FROM query_set_summary
WHERE CONDITIONS
  AND (:host IS NULL OR hostname = :host)
  AND (:script IS NULL OR instr(name, :script) > 0)
ORDER BY started_at DESC, query_set DESC LIMIT :newest";

const SEARCHES: &str = "
SELECT search, status, started_at, name, answer, rate_tps, rate_low, rate_high, broken_tps, goals, server_version, label, note,
    ratio, ratio_low, ratio_high, decision
FROM search_summary
WHERE CONDITIONS
  AND (:host IS NULL OR hostname = :host)
  AND (:script IS NULL OR instr(name, :script) > 0)
ORDER BY started_at DESC, search DESC LIMIT :newest";

/// The goals of each complete trial of an experiment, as JSON.
const GOALS: &str = "SELECT json_extract(summary, '$.goals') FROM trials JOIN runs USING (run) \
                     WHERE experiment = ?1 AND trials.status = 'complete'";

/// Unreadable values are `None`: other versions and other programs may have written them.
fn json<T: DeserializeOwned>(text: Option<String>) -> Option<T> {
    serde_json::from_str(&text?).ok()
}

/// The trial, from three columns of [`RUNS`].
fn trial(row: &Row<'_>) -> rusqlite::Result<Option<TrialOfRun>> {
    let Some(experiment) = row.get::<_, Option<String>>(18)? else { return Ok(None) };
    Ok(Some(TrialOfRun {
        experiment_number: row.get(29)?,
        experiment,
        factors: json(row.get(19)?).unwrap_or_default(),
        repeat: row.get(20)?,
    }))
}

fn run_line(row: &Row<'_>, gone: &[i64]) -> rusqlite::Result<RunLine> {
    let run = row.get(0)?;
    let status = RunStatus::of(&row.get::<_, String>(1)?);
    Ok(RunLine {
        run,
        annotation: annotation(row, 21)?,
        status: if gone.contains(&run) { RunStatus::Killed } else { status },
        reason: row.get(2)?,
        started_at: row.get(3)?,
        scripts: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        hostname: row.get(5)?,
        server_version: row.get(6)?,
        clients: row.get(7)?,
        duration_s: row.get(8)?,
        tps: row.get(9)?,
        tps_low: row.get(10)?,
        tps_high: row.get(11)?,
        p50_us: row.get(31)?,
        p90_us: row.get(32)?,
        p99_us: row.get(12)?,
        p999_us: row.get(33)?,
        max_us: row.get(34)?,
        failed: row.get(13)?,
        limit: row.get(14)?,
        kept: row.get(15)?,
        goals: GoalTally { met: row.get(25)?, missed: row.get(26)?, undecided: row.get(27)? },
        warnings: row.get(16)?,
        record_path: row.get(17)?,
        trial: trial(row)?,
        tps_curve: json(row.get(30)?).unwrap_or_default(),
        alive_at: row.get(28)?,
        plan: json(row.get(23)?),
        summary: json(row.get(24)?),
    })
}

fn query_set_line(row: &Row<'_>) -> rusqlite::Result<QuerySetLine> {
    Ok(QuerySetLine {
        query_set: row.get(0)?,
        annotation: annotation(row, 13)?,
        status: row.get(1)?,
        started_at: row.get(2)?,
        name: row.get(3)?,
        scale: row.get::<_, Option<f64>>(4)?.and_then(Scale::new),
        streams: row.get(5)?,
        server_version: row.get(6)?,
        queries: row.get::<_, Option<u32>>(7)?.unwrap_or(0),
        failed: row.get(8)?,
        limited: row.get(9)?,
        different: row.get(10)?,
        executed: row.get(11)?,
        elapsed_us: row.get(12)?,
    })
}

fn search_line(row: &Row<'_>) -> rusqlite::Result<SearchLine> {
    Ok(SearchLine {
        search: row.get(0)?,
        annotation: annotation(row, 11)?,
        status: row.get(1)?,
        started_at: row.get(2)?,
        name: row.get(3)?,
        answer: serde_json::from_value(row.get::<_, String>(4)?.into()).ok(),
        rate_tps: row.get(5)?,
        rate_low: row.get(6)?,
        rate_high: row.get(7)?,
        broken_tps: row.get(8)?,
        goals: row.get::<_, Option<String>>(9)?.unwrap_or_default(),
        server_version: row.get(10)?,
        ratio: row.get(13)?,
        ratio_low: row.get(14)?,
        ratio_high: row.get(15)?,
        decision: row.get::<_, Option<String>>(16)?.and_then(|name| serde_json::from_value(name.into()).ok()),
    })
}

fn comparison_line(row: &Row<'_>) -> rusqlite::Result<ComparisonLine> {
    let text = |column| row.get::<_, Option<String>>(column).map(Option::unwrap_or_default);
    Ok(ComparisonLine {
        comparison: row.get(0)?,
        annotation: annotation(row, 9)?,
        status: row.get(1)?,
        started_at: row.get(2)?,
        name: row.get(3)?,
        factor: text(4)?,
        a: text(5)?,
        b: text(6)?,
        decision: serde_json::from_value(row.get::<_, String>(7)?.into()).ok(),
        finding: json(row.get(8)?),
    })
}

fn experiment_line(row: &Row<'_>) -> rusqlite::Result<ExperimentLine> {
    Ok(ExperimentLine {
        experiment: row.get(0)?,
        annotation: annotation(row, 4)?,
        name: row.get(1)?,
        profile: row.get(2)?,
        started_at: row.get(3)?,
        trials: row.get(6)?,
        complete: row.get(7)?,
        failed: row.get(8)?,
        running: row.get(9)?,
        goals: GoalTally::default(),
    })
}

impl Store {
    /// The newest entries that meet the filter, in the order of their start. A run whose process has gone is returned as
    /// killed, even if the store is read-only.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn entries(&self, filter: &ListFilter) -> Result<Vec<Entry>, ResultsError> {
        let entries = || -> rusqlite::Result<Vec<Entry>> {
            let gone = self.gone()?;
            let mut entries = self.rows(RUNS, filter, |row| run_line(row, &gone).map(Entry::from))?;
            entries.extend(
                self.rows(QUERY_SETS, filter, |row| Ok(Entry::QuerySet(Box::new(query_set_line(row)?))))?,
            );
            entries.extend(
                self.rows(COMPARISONS, filter, |row| Ok(Entry::Comparison(Box::new(comparison_line(row)?))))?,
            );
            entries
                .extend(self.rows(SEARCHES, filter, |row| Ok(Entry::Search(Box::new(search_line(row)?))))?);
            for mut line in self.rows(EXPERIMENTS, filter, experiment_line)? {
                line.goals = self.goals_of_trials(line.experiment)?;
                entries.push(Entry::Experiment(line));
            }
            Ok(entries)
        };
        let mut entries = entries().map_err(failed(&self.path))?;
        let order = |entry: &Entry| (entry.started_at().to_owned(), entry.id());
        entries.sort_by_cached_key(order);
        let too_many = entries.len().saturating_sub(filter.newest as usize);
        Ok(entries.split_off(too_many))
    }

    /// The newest `count_max` runs in the order of their start.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&self, count_max: u32) -> Result<Vec<RunLine>, ResultsError> {
        let runs = || -> rusqlite::Result<Vec<RunLine>> {
            let gone = self.gone()?;
            let filter = ListFilter { newest: count_max, ..ListFilter::default() };
            self.rows(RUNS, &filter, |row| run_line(row, &gone))
        };
        let mut runs = runs().map_err(failed(&self.path))?;
        runs.sort_by_cached_key(|run| (run.started_at.clone(), run.run));
        Ok(runs)
    }

    fn rows<T>(
        &self,
        sql: &str,
        filter: &ListFilter,
        line: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let ListFilter { newest, script, since, label, host, trials } = filter;
        let listed = if *trials || label.is_some() { ALL_RUNS } else { WITHOUT_TRIALS };
        let mut statement =
            self.connection.prepare(&sql.replace("CONDITIONS", CONDITIONS).replace("LISTED", listed))?;
        let since = since.map(|since| since.to_string());
        let parameters = named_params! {
            ":newest": newest, ":script": script, ":since": since, ":label": label, ":host": host,
        };
        statement.query_map(parameters, line)?.collect()
    }

    fn goals_of_trials(&self, experiment: i64) -> rusqlite::Result<GoalTally> {
        let mut statement = self.connection.prepare(GOALS)?;
        let trials = statement.query_map([experiment], |row| row.get::<_, Option<String>>(0))?;
        let mut goals = GoalTally::default();
        for of_trial in trials {
            match json(of_trial?).and_then(|results: Vec<_>| GoalVerdict::of_all(&results)) {
                Some(GoalVerdict::Met) => goals.met += 1,
                Some(GoalVerdict::Missed) => goals.missed += 1,
                Some(GoalVerdict::Undecided) => goals.undecided += 1,
                None => {}
            }
        }
        Ok(goals)
    }
}
