//! An experiment as JSON: each trial with its factors and figures, then the cells with their intervals and ratios.
//! docs/reports.md documents the names; unknown values are `null` or absent.

use std::collections::BTreeMap;

use results::{Annotation, StepResult, WaitShare};
use serde::Serialize;
use stats::goals::GoalResult;

use super::cells::Standing;
use super::overview::Overview;
use super::steps::StepFigures;
use super::{Effects, LevelEffect, MARKS, Metric, Ratio, Repeated, Trial};

#[derive(Serialize)]
struct Document<'a> {
    trials: Vec<TrialJson<'a>>,
    cells: Vec<CellJson<'a>>,
    /// Of each level instead of its base.
    effects: Vec<EffectJson<'a>>,
    /// Of each two levels that interact.
    interactions: Vec<InteractionJson<'a>>,
    /// Named differences of the file.
    differences: Vec<DifferenceJson<'a>>,
    /// Named ratios of the file.
    ratios: Vec<NamedRatioJson<'a>>,
    experiment: About<'a>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    #[serde(flatten)]
    annotation: &'a Annotation,
    title: &'a str,
    source: Option<&'a str>,
    profile: &'a str,
    number: i64,
    started_at: &'a str,
    factors: Vec<FactorJson<'a>>,
    repeats_are_blocks: bool,
}

#[derive(Serialize)]
struct FactorJson<'a> {
    name: &'a str,
    levels: &'a [String],
}

#[derive(Serialize)]
struct TrialJson<'a> {
    status: &'static str,
    factors: &'a BTreeMap<String, String>,
    repeat: u32,
    trial: usize,
    reason: Option<&'a str>,
    run: Option<i64>,
    /// Of complete trials.
    figures: Option<BTreeMap<&'static str, f64>>,
    limited_by: Option<&'static str>,
    /// With their verdicts, as in the record of the run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    goals: &'a [GoalResult],
    waits: &'a [WaitShare],
    /// Of a trial of steps, as in its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<&'a [StepResult]>,
}

#[derive(Serialize)]
struct CellJson<'a> {
    factors: BTreeMap<&'a str, &'a str>,
    trials: usize,
    complete: usize,
    figures: BTreeMap<&'static str, FigureJson>,
    /// The levels of the cell that ratios are to; `null` for the base itself.
    base: Option<BTreeMap<&'a str, &'a str>>,
    ratios: BTreeMap<&'static str, RatioJson>,
    /// The levels of the cell with the nearest earlier level of the first chart's axis.
    previous: Option<BTreeMap<&'a str, &'a str>>,
    ratios_to_previous: BTreeMap<&'static str, RatioJson>,
    /// To the same combination on the first host; only with several stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratios_to_first_host: Option<BTreeMap<&'static str, RatioJson>>,
    marks: Vec<&'static str>,
    waits: &'a [WaitShare],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepJson<'a>>,
}

#[derive(Serialize)]
struct StepJson<'a> {
    name: &'a str,
    duration_us: Option<FigureJson>,
    wal_bytes: Option<FigureJson>,
    server_cpu_us: Option<FigureJson>,
    table_bytes: Option<FigureJson>,
    index_bytes: Option<FigureJson>,
    /// To the same step of the base.
    ratios: BTreeMap<&'static str, RatioJson>,
    times: usize,
    limited: usize,
}

#[derive(Serialize)]
struct FigureJson {
    mean: f64,
    median: f64,
    low: Option<f64>,
    high: Option<f64>,
    repeats: usize,
}

#[derive(Serialize)]
struct RatioJson {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    within_repeats: bool,
}

#[derive(Serialize)]
struct EffectJson<'a> {
    metric: &'static str,
    factor: &'a str,
    level: &'a str,
    base: &'a str,
    /// `null` if the trials do not determine it.
    #[serde(flatten)]
    ratio: Option<RatioJson>,
    /// Combinations of the other factors that it is averaged over, and those that lack a figure.
    combinations: usize,
    missing: usize,
}

#[derive(Serialize)]
struct InteractionJson<'a> {
    metric: &'static str,
    factors: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    ratio: RatioJson,
}

#[derive(Serialize)]
struct DifferenceJson<'a> {
    name: &'a str,
    metric: &'static str,
    /// The cell from which is subtracted.
    factors: BTreeMap<&'a str, &'a str>,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct NamedRatioJson<'a> {
    name: &'a str,
    metric: &'static str,
    /// The cell whose figure is divided.
    factors: BTreeMap<&'a str, &'a str>,
    /// The cell by whose figure it is divided.
    to: Option<BTreeMap<&'a str, &'a str>>,
    #[serde(flatten)]
    ratio: RatioJson,
}

/// The JSON document, indented.
pub fn json(overview: &Overview) -> String {
    let document = Document {
        trials: (1..).zip(&overview.trials).map(|(at, trial)| of_trial(overview, at, trial)).collect(),
        cells: (0..overview.cells.len()).map(|cell| of_cell(overview, cell)).collect(),
        effects: effects(overview),
        interactions: interactions(overview),
        differences: differences(overview),
        ratios: ratios(overview),
        experiment: About {
            name: &overview.name,
            annotation: &overview.annotation,
            title: &overview.title,
            source: overview.source.as_deref(),
            profile: &overview.profile,
            number: overview.number,
            started_at: &overview.started_at,
            factors: overview
                .factors
                .iter()
                .map(|factor| FactorJson { name: &factor.name, levels: &factor.levels })
                .collect(),
            repeats_are_blocks: overview.repeats_are_blocks,
        },
        warnings: &overview.concerns,
    };
    let mut json = serde_json::to_string_pretty(&document).expect("the document has string keys only");
    json.push('\n');
    results::escaped_json(json)
}

/// The name of a figure; of timed steps it is of a trial, not of a transaction.
fn column(overview: &Overview, metric: Metric) -> &'static str {
    if overview.has_steps() { metric.column_of_steps() } else { metric.column() }
}

fn of_trial<'a>(overview: &Overview, number: usize, trial: &'a Trial) -> TrialJson<'a> {
    let run = trial.complete_run();
    TrialJson {
        status: trial.standing.name(),
        factors: &trial.factors,
        repeat: trial.repeat,
        trial: number,
        reason: match &trial.standing {
            Standing::Failed(reason) => Some(reason),
            _ => None,
        },
        run: trial.run.as_ref().map(|run| run.run),
        figures: (trial.standing == Standing::Complete).then(|| {
            let figure = |metric: Metric| Some((column(overview, metric), trial.figure(metric)?));
            Metric::of_experiments().filter_map(figure).collect()
        }),
        limited_by: run.and_then(results::StoredRun::limited_by).map(results::LimitedBy::name),
        goals: trial.goals(),
        steps: trial.steps.as_ref().map(|record| record.steps.as_slice()),
        waits: run.and_then(|run| run.waits.as_ref()).map_or(&[], |waits| &waits.top),
    }
}

fn effects(overview: &Overview) -> Vec<EffectJson<'_>> {
    let of_levels = overview.effects.iter().flat_map(|of| of.levels.iter().map(move |level| (of, level)));
    let effect = |(of, effect): (&Effects, &'_ LevelEffect)| {
        let factor = &overview.factors[effect.change.factor];
        EffectJson {
            metric: column(overview, of.metric),
            factor: &factor.name,
            level: &factor.levels[effect.change.level],
            base: &factor.levels[of.base[effect.change.factor]],
            ratio: effect.ratio.map(of_ratio),
            combinations: effect.combinations,
            missing: effect.missing,
        }
    };
    of_levels.map(effect).collect()
}

fn interactions(overview: &Overview) -> Vec<InteractionJson<'_>> {
    let all = overview.effects.iter().flat_map(|of| of.interactions.iter().map(move |it| (of, it)));
    all.map(|(of, interaction)| InteractionJson {
        metric: column(overview, of.metric),
        factors: interaction
            .changes
            .iter()
            .map(|change| (&overview.factors[change.factor], change.level))
            .map(|(factor, level)| (factor.name.as_str(), factor.levels[level].as_str()))
            .collect(),
        ratio: of_ratio(interaction.ratio),
    })
    .collect()
}

fn differences(overview: &Overview) -> Vec<DifferenceJson<'_>> {
    let all = overview.differences.iter().flat_map(|it| it.cells.iter().map(move |of| (it, of)));
    all.map(|(contrast, of)| {
        let (low, high) = of.value.interval.unzip();
        DifferenceJson {
            name: &contrast.name,
            metric: column(overview, contrast.metric),
            factors: levels_of(overview, of.cell),
            value: of.value.value,
            low,
            high,
        }
    })
    .collect()
}

fn ratios(overview: &Overview) -> Vec<NamedRatioJson<'_>> {
    let all = overview.ratios.iter().flat_map(|it| it.cells.iter().map(move |of| (it, of)));
    all.map(|(contrast, of)| NamedRatioJson {
        name: &contrast.name,
        metric: column(overview, contrast.metric),
        factors: levels_of(overview, of.cell),
        to: of.reference.map(|reference| levels_of(overview, reference)),
        ratio: of_ratio(of.value),
    })
    .collect()
}

fn levels_of(overview: &Overview, cell: usize) -> BTreeMap<&str, &str> {
    overview.levels(cell).map(|(factor, level)| (factor.name.as_str(), level)).collect()
}

fn of_figure(figure: &Repeated) -> FigureJson {
    let Repeated { values, mean, median, interval } = figure;
    let (low, high) = interval.unzip();
    FigureJson { mean: *mean, median: *median, low, high, repeats: values.len() }
}

fn of_ratio(ratio: Ratio) -> RatioJson {
    let Ratio { value, interval, paired } = ratio;
    let (low, high) = interval.unzip();
    RatioJson { ratio: value, low, high, within_repeats: paired }
}

fn of_step<'a>(overview: &Overview, cell: usize, step: &'a StepFigures) -> StepJson<'a> {
    let figure = |figure: &Option<Repeated>| figure.as_ref().map(of_figure);
    let ratio =
        |metric: Metric| Some((metric.column_of_steps(), of_ratio(overview.step_ratio(cell, step, metric)?)));
    StepJson {
        name: &step.name,
        duration_us: figure(&step.duration_us),
        wal_bytes: figure(&step.wal_bytes),
        server_cpu_us: figure(&step.cpu_us),
        table_bytes: figure(&step.table_bytes),
        index_bytes: figure(&step.index_bytes),
        ratios: Metric::of_experiments().filter_map(ratio).collect(),
        times: step.times,
        limited: step.limited,
    }
}

fn of_cell(overview: &Overview, number: usize) -> CellJson<'_> {
    let cell = &overview.cells[number];
    let figure = |metric: Metric| Some((column(overview, metric), of_figure(cell.figure(metric)?)));
    let ratio = |metric: Metric| Some((column(overview, metric), of_ratio(overview.ratio(number, metric)?)));
    let ratio_to_previous = |metric: Metric| {
        Some((column(overview, metric), of_ratio(overview.ratio_to_previous(number, metric)?)))
    };
    let ratio_to_first_host = |metric: Metric| {
        Some((column(overview, metric), of_ratio(overview.ratio_to_first_host(number, metric)?)))
    };
    let marks = overview.marks(number);
    CellJson {
        factors: levels_of(overview, number),
        trials: cell.trials.len(),
        complete: overview.complete_trials(number),
        figures: Metric::of_experiments().filter_map(figure).collect(),
        base: cell.base.map(|base| levels_of(overview, base)),
        ratios: Metric::of_experiments().filter_map(ratio).collect(),
        previous: cell.previous.map(|previous| levels_of(overview, previous)),
        ratios_to_previous: Metric::of_experiments().filter_map(ratio_to_previous).collect(),
        ratios_to_first_host: cell
            .on_first_host
            .map(|_| Metric::of_experiments().filter_map(ratio_to_first_host).collect()),
        marks: MARKS.iter().filter(|(.., is)| is(marks)).map(|(_, name, _)| *name).collect(),
        waits: &cell.waits,
        steps: cell.steps.iter().map(|step| of_step(overview, number, step)).collect(),
    }
}
