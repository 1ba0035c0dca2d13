//! An experiment as fields, for JSON: each trial with its factors and figures, then the cells with their intervals and
//! ratios. docs/reports.md documents the names; unknown values are `null` or absent.

use super::cells::Standing;
use super::overview::{ContrastOfCell, Overview};
use super::steps::StepFigures;
use super::{MARKS, Metric, Ratio, Repeated, Trial, searches};
use crate::values::{Fields, Value, fields};

/// The document.
pub(crate) fn fields(overview: &Overview) -> Fields<'_> {
    let trials = (1..).zip(&overview.trials).map(|(number, trial)| of_trial(overview, number, trial));
    let cells = (0..overview.cells.len()).map(|cell| of_cell(overview, cell));
    fields! {
        "trials" => trials.collect::<Vec<_>>(),
        "cells" => cells.collect::<Vec<_>>(),
        "effects" => effects(overview),
        "interactions" => interactions(overview),
        "differences" => differences(overview),
        "ratios" => ratios(overview),
        "experiment" => about(overview),
        "warnings" => overview.concerns.as_slice(),
    }
}

fn about(overview: &Overview) -> Fields<'_> {
    let factors = overview.factors.iter();
    let factors = factors.map(|it| fields! { "name" => &it.name, "levels" => it.levels.as_slice() });
    fields! { "name" => &overview.name }.annotated(&overview.annotation).then(fields! {
        "title" => &overview.title,
        "source" => overview.source.as_ref(),
        "profile" => &overview.profile,
        "number" => overview.number,
        "started_at" => &overview.started_at,
        "factors" => factors.collect::<Vec<_>>(),
        "repeats_are_blocks" => overview.repeats_are_blocks,
    })
}

/// The name of a figure; of timed steps it is of a trial, not of a transaction.
fn column(overview: &Overview, metric: Metric) -> &'static str {
    if overview.has_steps() { metric.column_of_steps() } else { metric.column() }
}

/// What is known of the metrics of experiments, by their names.
fn of_metrics<'a>(overview: &Overview, of: impl Fn(Metric) -> Option<Value<'a>>) -> Fields<'a> {
    Metric::of_experiments().filter_map(|metric| Some((column(overview, metric), of(metric)?))).collect()
}

fn of_trial<'a>(overview: &'a Overview, number: usize, trial: &'a Trial) -> Fields<'a> {
    let run = trial.complete_run();
    let is_complete = trial.standing == Standing::Complete;
    let reason = match &trial.standing {
        Standing::Failed(reason) => Some(reason),
        Standing::Complete | Standing::Running | Standing::Planned => None,
    };
    let figures = || of_metrics(overview, |metric| trial.figure(metric).map(Value::from));
    fields! {
        "status" => trial.standing.name(),
        "factors" => trial.factors.iter().collect::<Fields<'_>>(),
        "repeat" => trial.repeat,
        "trial" => number,
        "reason" => reason,
        "run" => trial.run.as_ref().map(|run| run.run),
        "figures" => is_complete.then(figures),
        "limited_by" => run.and_then(results::StoredRun::limited_by).map(results::LimitedBy::name),
    }
    .and("goals", Some(trial.goals()).filter(|goals| !goals.is_empty()))
    .and("waits", Some(run.and_then(|run| run.waits.as_ref()).map_or(&[][..], |waits| &waits.top)))
    .and("search", trial.search.as_ref().map(searches::search_fields))
    .and("steps", trial.steps.as_ref().map(|record| record.steps.as_slice()))
}

fn effects(overview: &Overview) -> Vec<Fields<'_>> {
    let all = overview.effects.iter().flat_map(|of| of.levels.iter().map(move |level| (of, level)));
    all.map(|(of, effect)| {
        let factor = &overview.factors[effect.change.factor];
        fields! {
            "metric" => column(overview, of.metric),
            "factor" => &factor.name,
            "level" => &factor.levels[effect.change.level],
            "base" => &factor.levels[of.base[effect.change.factor]],
        }
        // Absent if the trials do not determine it.
        .then(effect.ratio.map(of_ratio).unwrap_or_default())
        .then(fields! { "combinations" => effect.combinations, "missing" => effect.missing })
    })
    .collect()
}

fn interactions(overview: &Overview) -> Vec<Fields<'_>> {
    let all = overview.effects.iter().flat_map(|of| of.interactions.iter().map(move |it| (of, it)));
    all.map(|(of, interaction)| {
        let factors =
            interaction.changes.iter().map(|change| (&overview.factors[change.factor], change.level));
        let factors = factors.map(|(factor, level)| (&factor.name, &factor.levels[level]));
        fields! {
            "metric" => column(overview, of.metric),
            "factors" => factors.collect::<Fields<'_>>(),
        }
        .then(of_ratio(interaction.ratio))
    })
    .collect()
}

fn differences(overview: &Overview) -> Vec<Fields<'_>> {
    let all = overview.differences.iter().flat_map(|it| it.cells.iter().map(move |of| (it, of)));
    all.map(|(contrast, of)| {
        let of_cell = of_contrast(overview, &contrast.name, contrast.metric, of);
        of_cell.then(fields! { "value" => of.value.value }).then(of_interval(of.value.interval))
    })
    .collect()
}

fn ratios(overview: &Overview) -> Vec<Fields<'_>> {
    let all = overview.ratios.iter().flat_map(|it| it.cells.iter().map(move |of| (it, of)));
    all.map(|(contrast, of)| {
        let reference = of.reference.map(|reference| levels_of(overview, reference));
        let of_cell = of_contrast(overview, &contrast.name, contrast.metric, of);
        of_cell.then(fields! { "to" => reference }).then(of_ratio(of.value))
    })
    .collect()
}

/// The cell from which is subtracted, or whose figure is divided.
fn of_contrast<'a, T>(
    overview: &'a Overview,
    name: &'a str,
    metric: Metric,
    of: &ContrastOfCell<T>,
) -> Fields<'a> {
    let factors = levels_of(overview, of.cell);
    fields! { "name" => name, "metric" => column(overview, metric), "factors" => factors }
}

fn levels_of(overview: &Overview, cell: usize) -> Fields<'_> {
    overview.levels(cell).map(|(factor, level)| (factor.name.as_str(), level)).collect()
}

fn of_interval(interval: Option<(f64, f64)>) -> Fields<'static> {
    let (low, high) = interval.unzip();
    fields! { "low" => low, "high" => high }
}

fn of_figure(figure: &Repeated) -> Fields<'static> {
    let Repeated { values, mean, median, interval } = figure;
    let means = fields! { "mean" => *mean, "median" => *median };
    means.then(of_interval(*interval)).then(fields! { "repeats" => values.len() })
}

fn of_ratio(ratio: Ratio) -> Fields<'static> {
    let Ratio { value, interval, paired } = ratio;
    fields! { "ratio" => value }.then(of_interval(interval)).then(fields! { "within_repeats" => paired })
}

fn of_step<'a>(overview: &Overview, cell: usize, step: &'a StepFigures) -> Fields<'a> {
    let ratio =
        |metric: Metric| Some((metric.column_of_steps(), of_ratio(overview.step_ratio(cell, step, metric)?)));
    fields! {
        "name" => &step.name,
        "duration_us" => step.duration_us.as_ref().map(of_figure),
        "wal_bytes" => step.wal_bytes.as_ref().map(of_figure),
        "server_cpu_us" => step.cpu_us.as_ref().map(of_figure),
        "table_bytes" => step.table_bytes.as_ref().map(of_figure),
        "index_bytes" => step.index_bytes.as_ref().map(of_figure),
        "ratios" => Metric::of_experiments().filter_map(ratio).collect::<Fields<'_>>(),
        "times" => step.times,
        "limited" => step.limited,
    }
}

fn of_cell(overview: &Overview, number: usize) -> Fields<'_> {
    let cell = &overview.cells[number];
    let marks = overview.marks(number);
    let ratios = |of: fn(&Overview, usize, Metric) -> Option<Ratio>| {
        of_metrics(overview, |metric| Some(of_ratio(of(overview, number, metric)?).into()))
    };
    let marks = MARKS.iter().filter(|(.., is)| is(marks)).map(|(_, name, _)| *name);
    let steps: Vec<Fields<'_>> = cell.steps.iter().map(|step| of_step(overview, number, step)).collect();
    fields! {
        "factors" => levels_of(overview, number),
        "trials" => cell.trials.len(),
        "complete" => overview.complete_trials(number),
        "figures" => of_metrics(overview, |metric| Some(of_figure(cell.figure(metric)?).into())),
        // The levels of the cell that ratios are to; `null` for the base itself.
        "base" => cell.base.map(|base| levels_of(overview, base)),
        "ratios" => ratios(Overview::ratio),
        // The levels of the cell with the nearest earlier level of the first chart's axis.
        "previous" => cell.previous.map(|previous| levels_of(overview, previous)),
        "ratios_to_previous" => ratios(Overview::ratio_to_previous),
    }
    // To the same combination on the first host; only with several stores.
    .and("ratios_to_first_host", cell.on_first_host.map(|_| ratios(Overview::ratio_to_first_host)))
    .then(fields! { "marks" => marks.collect::<Vec<_>>(), "waits" => cell.waits.as_slice() })
    .and("steps", (!steps.is_empty()).then_some(steps))
    .and("highest_rate", searches::rate_fields(overview, number))
}
