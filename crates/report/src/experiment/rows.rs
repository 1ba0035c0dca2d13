//! An experiment as a table for other programs: a row for each trial, factors and figures as columns with their units; of
//! trials of steps a row for each execution of a step. docs/reports.md has the columns.

use results::{StepResult, StepTime};

use super::cells::Standing;
use super::overview::Overview;
use super::{Metric, Trial, searches};
use crate::queries::answer_name;
use crate::run::wait_item;
use crate::values::{Value, ValueTable};

/// Columns before the factors, and between them and the figures.
const BEFORE: [&str; 3] = ["experiment", "profile", "trial"];
const BETWEEN: [&str; 4] = ["repeat", "status", "reason", "run"];
const AFTER: [&str; 3] = ["limited_by", "top_wait", "top_wait_share"];

/// A column of the executions of steps: its name, and its value from the number of the execution.
type StepColumn = (&'static str, for<'a> fn(usize, &'a StepResult, &'a StepTime) -> Value<'a>);

/// Columns of an execution of a step, behind those of its trial; named as in its record.
const OF_STEP: [StepColumn; 23] = [
    ("step", |_, step, _| (&step.name).into()),
    ("time", |number, _, _| number.into()),
    ("duration_us", |_, _, time| time.duration_us.into()),
    ("measured_us", |_, _, time| time.measured_us.into()),
    ("limited", |_, _, time| time.limited.into()),
    ("error", |_, _, time| time.error.as_ref().map(|error| error.as_str()).into()),
    ("wal_bytes", |_, _, time| time.wal_bytes.into()),
    ("backend_user_us", |_, _, time| time.backend_user_us.into()),
    ("backend_system_us", |_, _, time| time.backend_system_us.into()),
    ("blocks_hit", |_, _, time| time.buffers.hit.into()),
    ("blocks_read", |_, _, time| time.buffers.read.into()),
    ("blocks_dirtied", |_, _, time| time.buffers.dirtied.into()),
    ("blocks_written", |_, _, time| time.buffers.written.into()),
    ("table_bytes", |_, _, time| time.table_bytes.into()),
    ("index_bytes", |_, _, time| time.index_bytes.into()),
    ("stream", |_, _, time| time.stream.into()),
    ("stream_repeat", |_, _, time| time.repeat.into()),
    ("rows", |_, _, time| time.rows.into()),
    ("checksum", |_, _, time| time.checksum.as_deref().into()),
    ("answer", |_, step, _| step.answer.as_ref().map(answer_name).into()),
    ("temp_bytes", |_, _, time| time.temp_bytes.into()),
    ("workers_cpu_us", |_, _, time| time.workers_cpu_us.into()),
    ("disk_blocks", |_, _, time| time.buffers.disk.into()),
];

/// The trials; of trials of steps their executions.
pub(crate) fn rows(overview: &Overview) -> ValueTable<'_> {
    let has_steps = overview.has_steps();
    let of_step = OF_STEP.iter().map(|(name, _)| *name);
    let is_of_searches = searches::is_of_searches(overview);
    let figures: Vec<&'static str> = match (has_steps, is_of_searches) {
        (true, _) => of_step.collect(),
        (false, true) => searches::COLUMNS.to_vec(),
        (false, false) => metrics().map(Metric::column).chain(AFTER).collect(),
    };
    let own: Vec<&str> = BEFORE.iter().chain(&BETWEEN).chain(&figures).copied().collect();
    // A factor with the name of one of these columns gets a prefix.
    let factor_column =
        |name: &str| if own.contains(&name) { format!("factor {name}") } else { name.to_owned() };
    let factors = overview.factors.iter().map(|factor| Value::from(factor_column(&factor.name)));
    let columns = BEFORE.into_iter().map(Value::from).chain(factors);
    let columns = columns.chain(BETWEEN.into_iter().chain(figures).map(Value::from)).collect();
    let of_trial = |(number, trial)| match (has_steps, is_of_searches) {
        (true, _) => of_steps(overview, number, trial),
        (false, true) => {
            let values = searches::values(trial.complete_search());
            vec![head(overview, number, trial).into_iter().chain(values).collect()]
        }
        (false, false) => vec![of_load(overview, number, trial)],
    };
    ValueTable { columns, rows: (1..).zip(&overview.trials).flat_map(of_trial).collect() }
}

/// The figures of a trial of load.
fn metrics() -> impl Iterator<Item = Metric> {
    Metric::of_experiments().filter(|metric| *metric != Metric::Duration)
}

fn of_load<'a>(overview: &'a Overview, number: usize, trial: &'a Trial) -> Vec<Value<'a>> {
    let complete = trial.complete_run();
    let wait = complete.and_then(|run| run.waits.as_ref()?.top.first());
    let mut cells = head(overview, number, trial);
    cells.extend(metrics().map(|metric| trial.figure(metric).into()));
    cells.extend([
        complete.and_then(results::StoredRun::limited_by).map(results::LimitedBy::name).into(),
        wait.map(|wait| wait_item(&wait.event_type, &wait.event)).into(),
        wait.map(|wait| wait.share).into(),
    ]);
    cells
}

/// A row without values of a trial without executions.
fn of_steps<'a>(overview: &'a Overview, number: usize, trial: &'a Trial) -> Vec<Vec<Value<'a>>> {
    let head = head(overview, number, trial);
    let steps = trial.steps.iter().flat_map(|record| &record.steps);
    let times = steps.flat_map(|step| (1..).zip(&step.times).map(move |(number, time)| (step, number, time)));
    let row = |(step, number, time)| {
        let values = OF_STEP.iter().map(|(_, of)| of(number, step, time));
        head.iter().cloned().chain(values).collect()
    };
    let mut rows: Vec<Vec<Value<'a>>> = times.map(row).collect();
    if rows.is_empty() {
        rows.push(head.into_iter().chain(OF_STEP.map(|_| Value::Unknown)).collect());
    }
    rows
}

/// The cells before the figures.
fn head<'a>(overview: &'a Overview, number: usize, trial: &'a Trial) -> Vec<Value<'a>> {
    let reason = match &trial.standing {
        Standing::Failed(reason) => Some(reason),
        Standing::Complete | Standing::Running | Standing::Planned => None,
    };
    let mut cells = vec![(&overview.name).into(), (&overview.profile).into(), number.into()];
    cells.extend(overview.factors.iter().map(|factor| trial.factors.get(&factor.name).into()));
    let run = trial.run.as_ref().map(|run| run.run);
    cells.extend([trial.repeat.into(), trial.standing.name().into(), reason.into(), run.into()]);
    cells
}
