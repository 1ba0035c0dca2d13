//! An experiment as a table for other programs: a line for each trial, factors and figures as columns with their units.
//! RFC 4180 with line feeds. docs/reports.md has the columns.

use results::{StepResult, StepTime};

use super::cells::Standing;
use super::overview::Overview;
use super::{Metric, Trial};
use crate::csv::{inert, quoted, wait_item};
use crate::queries::answer_name;

/// Columns before the factors, and between them and the figures.
const BEFORE: [&str; 3] = ["experiment", "profile", "trial"];
const BETWEEN: [&str; 4] = ["repeat", "status", "reason", "run"];
const AFTER: [&str; 3] = ["limited_by", "top_wait", "top_wait_share"];

/// Columns of an execution of a step, behind those of its trial; named as in its record.
const OF_STEP: [&str; 23] = [
    "step",
    "time",
    "duration_us",
    "measured_us",
    "limited",
    "error",
    "wal_bytes",
    "backend_user_us",
    "backend_system_us",
    "blocks_hit",
    "blocks_read",
    "blocks_dirtied",
    "blocks_written",
    "table_bytes",
    "index_bytes",
    "stream",
    "stream_repeat",
    "rows",
    "checksum",
    "answer",
    "temp_bytes",
    "workers_cpu_us",
    "disk_blocks",
];

/// The table, its head first; of trials of steps a line for each execution of a step.
pub fn csv(overview: &Overview) -> String {
    let has_steps = overview.has_steps();
    let metrics: Vec<&str> = match has_steps {
        true => OF_STEP.to_vec(),
        false => Metric::of_experiments()
            .filter(|metric| *metric != Metric::Duration)
            .map(Metric::column)
            .chain(AFTER)
            .collect(),
    };
    let own: Vec<&str> = BEFORE.iter().chain(&BETWEEN).chain(&metrics).copied().collect();
    // A factor with the name of one of these columns gets a prefix.
    let factor_column =
        |name: &str| if own.contains(&name) { format!("factor {name}") } else { name.to_owned() };
    let factors = overview.factors.iter().map(|factor| factor_column(&factor.name));
    let head = BEFORE.iter().map(|it| (*it).to_owned()).chain(factors);
    let head = head.chain(BETWEEN.iter().chain(&metrics).map(|it| (*it).to_owned()));
    let mut out = line(&head.collect::<Vec<_>>());
    for (number, trial) in (1..).zip(&overview.trials) {
        let mut cells = vec![overview.name.clone(), overview.profile.clone(), number.to_string()];
        let level = |name: &String| trial.factors.get(name).cloned().unwrap_or_default();
        cells.extend(overview.factors.iter().map(|factor| level(&factor.name)));
        cells.extend(between(trial));
        if !has_steps {
            cells.extend(figures(trial));
            out += &line(&cells);
            continue;
        }
        let steps = trial.steps.iter().flat_map(|record| &record.steps);
        let times =
            steps.flat_map(|step| (1..).zip(&step.times).map(move |(number, time)| (step, number, time)));
        let mut lines: Vec<Vec<String>> =
            times.map(|(step, number, time)| step_cells(step, number, time)).collect();
        if lines.is_empty() {
            lines.push(vec![String::new(); OF_STEP.len()]);
        }
        lines.into_iter().for_each(|of_time| out += &line(&[cells.as_slice(), &of_time].concat()));
    }
    out
}

fn step_cells(step: &StepResult, number: usize, time: &StepTime) -> Vec<String> {
    let known = |figure: Option<u64>| figure.map_or(String::new(), |figure| figure.to_string());
    vec![
        step.name.clone(),
        number.to_string(),
        time.duration_us.to_string(),
        time.measured_us.to_string(),
        time.limited.to_string(),
        time.error.as_ref().map_or(String::new(), |error| error.as_str().to_owned()),
        known(time.wal_bytes),
        known(time.backend_user_us),
        known(time.backend_system_us),
        known(time.buffers.hit),
        known(time.buffers.read),
        known(time.buffers.dirtied),
        known(time.buffers.written),
        known(time.table_bytes),
        known(time.index_bytes),
        known(time.stream.map(u64::from)),
        known(time.repeat.map(u64::from)),
        known(time.rows),
        time.checksum.clone().unwrap_or_default(),
        step.answer.as_ref().map_or(String::new(), |answer| answer_name(answer).to_owned()),
        known(time.temp_bytes),
        known(time.workers_cpu_us),
        known(time.buffers.disk),
    ]
}

fn between(trial: &Trial) -> Vec<String> {
    let reason = match &trial.standing {
        Standing::Failed(reason) => reason.clone(),
        _ => String::new(),
    };
    let run = trial.run.as_ref().map_or(String::new(), |run| run.run.to_string());
    vec![trial.repeat.to_string(), trial.standing.name().to_owned(), reason, run]
}

fn figures(trial: &Trial) -> Vec<String> {
    let complete = trial.complete_run();
    let number = |figure: Option<f64>| figure.map_or(String::new(), |figure| figure.to_string());
    let metrics = Metric::of_experiments().filter(|metric| *metric != Metric::Duration);
    let mut cells: Vec<String> = metrics.map(|metric| number(trial.figure(metric))).collect();
    let limit = complete.and_then(results::StoredRun::limited_by);
    cells.push(limit.map_or(String::new(), |limit| limit.name().to_owned()));
    let wait = complete.and_then(|run| run.waits.as_ref()?.top.first());
    cells.push(wait.map_or(String::new(), |wait| wait_item(&wait.event_type, &wait.event)));
    cells.push(number(wait.map(|wait| wait.share)));
    cells
}

fn line(cells: &[String]) -> String {
    // A number such as -1 is no formula.
    let safe = |cell: &String| if cell.parse::<f64>().is_ok() { cell.clone() } else { inert(cell) };
    cells.iter().map(|cell| quoted(&safe(cell))).collect::<Vec<_>>().join(",") + "\n"
}
