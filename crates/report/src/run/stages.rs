//! The stages of a run's load: a row for each with its load, its figures and the verdict on its goals; and the load that
//! changes, in words.

use results::{Plan, Record, StageSummary};
use stats::goals::{GoalResult, GoalVerdict};
use stats::rate::{LoadStage, StageLoad};

use crate::document::{Block, Cell, Column, TableOf};
use crate::figures::{TIE, as_asked, counted, latency, plus_minus};
use crate::goals::tone;
use crate::metrics::Quantity;
use crate::prose::escaped_line;
use crate::wording;

/// `8 clients`; `up to 64 clients` if stages change their number.
pub(super) fn clients_in_words(plan: &Plan) -> String {
    let clients = counted(u64::from(plan.clients), "client", "clients");
    if plan.has_client_stages() { format!("up to {clients}") } else { clients }
}

/// A row of the table.
struct Row<'a> {
    number: usize,
    planned: &'a LoadStage,
    found: &'a StageSummary,
    goals: Vec<&'a GoalResult>,
}

/// A table of the stages; nothing without stages.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let (plan, summary) = (&record.plan, &record.summary);
    let is_of =
        |stage: usize, goal: &&GoalResult| goal.stage.and_then(|it| usize::try_from(it).ok()) == Some(stage);
    let row = |(number, (planned, found)): (usize, (_, _))| {
        let goals = summary.goals.iter().filter(|goal| is_of(number, goal)).collect();
        Row { number, planned, found, goals }
    };
    let rows: Vec<Row<'_>> = plan.stages.iter().zip(&summary.stages).enumerate().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let has_goals = rows.iter().any(|row| !row.goals.is_empty());
    let has_mixes = rows.iter().any(|row| !row.planned.weights.is_empty());
    let counts = || rows.iter().map(|row| row.found.counts);
    let (skips, fails) = (counts().any(|it| it.skipped > 0), counts().any(|it| it.failed > 0));
    let has_intervals = rows.iter().any(|row| row.found.confidence.tps.is_some());
    let has_load = rows.iter().any(|row| row.planned.load.is_some());
    let is_open = plan.rate_tps.is_some();
    let share =
        |part: u64, of: u64| Cell::figure_if(Quantity::Share, (of > 0).then(|| part as f64 / of as f64));
    let mut table = TableOf::new(rows);
    table.text("stage", |row| format!("{}", row.number + 1));
    table.text("seconds", seconds);
    if has_load {
        table.text("load", |row| row.planned.load.map(load).unwrap_or_default());
    }
    if has_mixes {
        table.text("weights", |row| weights(row.planned));
    }
    if is_open {
        table.figures("scheduled", |row| Cell::figure_if(Quantity::PerSecond, row.found.scheduled_tps));
    }
    table.figures("tps", |row| Cell::figure(Quantity::PerSecond, row.found.tps));
    if has_intervals {
        table.text("95 % interval", |row| interval(row.found));
    }
    let percentile = |of: fn(&results::Latency) -> f64| {
        move |row: &Row<'_>| {
            // Each with its unit: a narrow table would cut the decimals of a column.
            Cell::text(row.found.response_of_all_us().as_ref().map(of).map(latency).unwrap_or_default())
        }
    };
    table.figures("p50", percentile(|it| it.p50));
    table.figures("p99", percentile(|it| it.p99));
    table.figures("p99.9", percentile(|it| it.p999));
    if skips {
        table.figures("skipped", |row| share(row.found.counts.skipped, row.found.counts.scheduled));
    }
    if fails {
        table.figures("failed", |row| share(row.found.counts.failed, row.found.counts.scheduled));
    }
    if has_goals {
        table.column(Column::text("goals"), verdict);
    }
    vec![Block::Table(table.table)]
}

/// `12 to 24`
fn seconds(row: &Row<'_>) -> String {
    let StageSummary { start_s, duration_s, .. } = row.found;
    format!("{} to {}", as_asked(*start_s), as_asked((10.0 * (start_s + duration_s)).round() / 10.0))
}

fn verdict(row: &Row<'_>) -> Cell {
    let verdicts = row.goals.iter().map(|goal| goal.verdict);
    let Some(verdict) = verdicts.collect::<stats::goals::GoalTally>().verdict() else {
        return Cell::default();
    };
    let unmet = row.goals.iter().filter(|goal| goal.verdict == verdict && verdict != GoalVerdict::Met);
    let unmet: Vec<String> = unmet.map(|goal| escaped_line(&goal.goal.to_string())).collect();
    let name = wording::verdict_name(verdict);
    let text = if unmet.is_empty() { name.to_owned() } else { format!("{name}: {}", unmet.join(", ")) };
    Cell::text(text).with_tone(tone(verdict))
}

fn interval(stage: &StageSummary) -> String {
    let interval = stage.confidence.tps.and_then(|it| plus_minus(stage.tps, it.low, it.high));
    interval.unwrap_or_default()
}

/// `500 to 2,000 tps`, `8 clients`
fn load(load: StageLoad) -> String {
    match load {
        StageLoad::Rate { from_tps, to_tps } if from_tps == to_tps => {
            format!("{}{TIE}tps", as_asked(from_tps))
        }
        StageLoad::Rate { from_tps, to_tps } => {
            format!("{} to {}{TIE}tps", as_asked(from_tps), as_asked(to_tps))
        }
        StageLoad::Clients { from, to } if from == to => counted(from.into(), "client", "clients"),
        StageLoad::Clients { from, to } => format!("{from} to {to} clients"),
    }
}

fn weights(stage: &LoadStage) -> String {
    let weights = stage.weights.iter().map(|(name, weight)| format!("{} {weight}", escaped_line(name)));
    weights.collect::<Vec<_>>().join(", ")
}

/// `ramp(100, 2000, 5min), 1,050 tps on average`; `500 tps scheduled`.
pub(super) fn rate_in_words(plan: &Plan) -> Option<String> {
    let scheduled = wording::scheduled(plan)?;
    Some(match (&plan.curve, plan.rate_curve()) {
        (Some(curve), _) => {
            format!("{}, {scheduled}{TIE}tps on average", escaped_line(&curve.to_string()))
        }
        (None, Some(_)) => format!("{scheduled}{TIE}tps on average, by stages"),
        (None, None) => format!("{scheduled}{TIE}tps scheduled"),
    })
}

/// `poisson` is not shown.
pub(super) fn arrivals(plan: &Plan) -> Option<String> {
    (!plan.arrivals.is_poisson()).then(|| plan.arrivals.to_string())
}

/// The stages as on the command line.
pub(super) fn as_written(plan: &Plan) -> Option<String> {
    let stages: Vec<String> = plan.stages.iter().map(LoadStage::to_string).collect();
    (!stages.is_empty()).then(|| stages.join(", "))
}
