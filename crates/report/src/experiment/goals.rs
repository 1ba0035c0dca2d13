//! The goals of an experiment's trials: the first line of the report says which combinations met them. A table has each
//! goal of each combination, with the figure of the trial that is farthest from meeting it.

use stats::goals::{GoalFigure, GoalResult, GoalSide, GoalVerdict};

use super::Overview;
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Threshold};
use crate::document::{Banner, Block, Tone};
use crate::figures::as_asked;
use crate::goals::{table, tone};
use crate::metrics::Quantity;
use crate::prose::escaped_line;
use crate::wording::{self, Measurement};

/// Combinations that the first line names for each verdict.
const NAMED_MAX: usize = 4;

/// Which combinations met their goals. `None` without goals.
pub(super) fn banner(overview: &Overview) -> Option<Banner> {
    let of_cells: Vec<(GoalVerdict, String)> =
        (0..overview.cells.len()).filter_map(|cell| of_cell(overview, cell)).collect();
    let all = of_cells.len();
    let order = [GoalVerdict::Missed, GoalVerdict::Undecided, GoalVerdict::Met];
    let worst = order.into_iter().find(|verdict| of_cells.iter().any(|(it, _)| it == verdict))?;
    let clause = |verdict: GoalVerdict| {
        let named: Vec<&str> =
            of_cells.iter().filter(|(it, _)| *it == verdict).map(|(_, name)| name.as_str()).collect();
        let more = named.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let listed = named.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
        let verdict = wording::verdict_name(verdict).to_uppercase();
        (!named.is_empty())
            .then(|| format!("{verdict} BY {} OF {all} COMBINATIONS: {listed}{more}.", named.len()))
    };
    let clauses: Vec<String> = order.into_iter().filter_map(clause).collect();
    Some(Banner::new(tone(worst), format!("GOALS {}", clauses.join(" "))))
}

/// The factor of rates, if the experiment varies it and its levels are numbers.
fn rate_factor(overview: &Overview) -> Option<(usize, Vec<f64>)> {
    let is_rate = |name: &str| name == "rate" || name.ends_with(".rate");
    let factor =
        overview.factors.iter().position(|factor| is_rate(&factor.name) && factor.levels.len() > 1)?;
    let rate = |level: &String| level.parse::<f64>().ok().filter(|rate| *rate > 0.0);
    let rates = overview.factors[factor].levels.iter().map(rate).collect::<Option<Vec<f64>>>()?;
    Some((factor, rates))
}

/// A combination with goals, and its rate.
struct AtRate {
    cell: usize,
    rate: f64,
    verdict: GoalVerdict,
}

/// The combinations by the levels of the other factors; empty unless rates vary and have goals.
fn by_rate(overview: &Overview) -> Vec<(String, Vec<AtRate>)> {
    let Some((factor, rates)) = rate_factor(overview) else { return Vec::new() };
    let mut groups: Vec<(String, Vec<AtRate>)> = Vec::new();
    for (cell, of) in overview.cells.iter().enumerate() {
        let (Some(level), Some((verdict, _))) = (of.levels[factor], of_cell(overview, cell)) else {
            continue;
        };
        let others = overview.levels(cell).enumerate().filter(|(at, _)| *at != factor);
        let others: Vec<&str> = others.map(|(_, (_, level))| level).collect();
        let name = escaped_line(&others.join(", "));
        let at_rate = AtRate { cell, rate: rates[level], verdict };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_rates)) => of_rates.push(at_rate),
            None => groups.push((name, vec![at_rate])),
        }
    }
    groups
}

/// The figure of a goal against the rate, with its limit: the first goal that a rate missed, or else the first.
pub(super) fn chart(overview: &Overview) -> Option<Chart> {
    let groups = by_rate(overview);
    let cells = || groups.iter().flat_map(|(_, of_rates)| of_rates.iter().map(|it| it.cell));
    let results = || cells().flat_map(|cell| worst(overview, cell));
    let missed = results().find(|result| result.verdict == GoalVerdict::Missed);
    let goal = &missed.or_else(|| results().next())?.goal;
    let quantity = match goal.figure {
        GoalFigure::Latency(..) => Quantity::Microseconds,
        GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => Quantity::Share,
        GoalFigure::Tps => Quantity::PerSecond,
    };
    let unit = if quantity == Quantity::Microseconds { NANOS_PER_MICRO } else { 1.0 };
    let point = |it: &AtRate| {
        let result = worst(overview, it.cell).into_iter().find(|result| result.goal == *goal)?;
        let value = result.value?;
        let interval = result.low.zip(result.high);
        Some(Point { interval, ..Point::new(it.rate, value) })
    };
    let series = |(number, (name, of_rates)): (usize, &(String, Vec<AtRate>))| {
        let mut points: Vec<Point> = of_rates.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { has_dots: true, ..Series::new(name, Colour::Run(number), points) }
    };
    let series: Vec<Series> = groups.iter().take(CURVES_MAX).enumerate().map(series).collect();
    if !series.iter().any(|series| series.points.len() > 1) {
        return None;
    }
    let label = escaped_line(&goal.to_string());
    let figure = escaped_line(&goal.figure.to_string());
    let threshold = Threshold { value: goal.limit / unit, label };
    let x = Axis::new("rate, tps", Quantity::PerSecond);
    let y = Axis::new(&*figure, quantity)
        .logarithmic(quantity != Quantity::Share)
        .with_thresholds(vec![threshold]);
    let caption = "of the trial that is farthest from the goal, with 95 % intervals";
    Some(Chart::new(format!("{figure} against the rate"), caption, Plot::lines(x, y, series)))
}

/// More curves cannot be told apart.
const CURVES_MAX: usize = 12;
const NANOS_PER_MICRO: f64 = 1e3;

/// Combinations of the other factors that the sentence about the highest rate names.
const RATES_NAMED_MAX: usize = 3;

/// `The highest rate that met the goals is 800 per second; 1,600 missed p99 < 20ms (31.2 ms).` `None` unless rates vary and have goals.
pub(super) fn highest_rate(overview: &Overview) -> Option<Banner> {
    let groups = by_rate(overview);
    let highest = |of_rates: &[AtRate]| {
        let met = of_rates.iter().filter(|it| it.verdict == GoalVerdict::Met);
        met.map(|it| it.rate).fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |it| it.max(rate))))
    };
    let tone = if groups.iter().all(|(_, it)| highest(it).is_some()) { Tone::Good } else { Tone::Bad };
    let sentence = match groups.as_slice() {
        [] => return None,
        [(_, only)] => match highest(only) {
            None => "No rate met the goals.".to_owned(),
            Some(rate) => {
                let above = only.iter().filter(|it| it.rate > rate);
                let next = above.min_by(|a, b| a.rate.total_cmp(&b.rate)).map(|next| {
                    let result = worst(overview, next.cell).into_iter().find(|it| it.verdict == next.verdict);
                    let goal = result.map_or("them".to_owned(), |result| {
                        format!(
                            "{} ({})",
                            escaped_line(&result.goal.to_string()),
                            wording::goal_value(result)
                        )
                    });
                    match next.verdict {
                        GoalVerdict::Met | GoalVerdict::Missed => {
                            format!("; {} missed {goal}", as_asked(next.rate))
                        }
                        GoalVerdict::Undecided => format!("; {} is undecided: {goal}", as_asked(next.rate)),
                    }
                });
                let next = next.unwrap_or_else(|| "; no higher one was tried".to_owned());
                format!("The highest rate that met the goals is {} per second{next}.", as_asked(rate))
            }
        },
        several => {
            let rate = |of_rates| highest(of_rates).map_or("none".to_owned(), as_asked);
            let named =
                several.iter().take(RATES_NAMED_MAX).map(|(name, it)| format!("{} with {name}", rate(it)));
            let more = several.len().saturating_sub(RATES_NAMED_MAX);
            let more = (more > 0).then(|| format!("{more} more below"));
            let named: Vec<String> = named.chain(more).collect();
            format!("The highest rates per second that met the goals: {}.", named.join(", "))
        }
    };
    Some(Banner::new(tone, sentence))
}

/// The goals of each combination.
pub(super) fn blocks(overview: &Overview) -> Vec<Block> {
    let rows = (0..overview.cells.len()).flat_map(|cell| {
        let name = escaped_line(&overview.label(cell));
        worst(overview, cell).into_iter().map(move |result| (name.clone(), result))
    });
    table(Some("combination"), rows, Measurement::Run)
}

/// The verdict on a combination, and its name with the goals that have this verdict.
fn of_cell(overview: &Overview, cell: usize) -> Option<(GoalVerdict, String)> {
    let results = worst(overview, cell);
    let verdicts = results.iter().map(|result| result.verdict);
    let verdict = verdicts.collect::<stats::goals::GoalTally>().verdict()?;
    let name = escaped_line(&overview.description_of(cell));
    if verdict == GoalVerdict::Met {
        return Some((verdict, name));
    }
    let goals = results.iter().filter(|result| result.verdict == verdict);
    let goals: Vec<String> = goals.map(|result| escaped_line(&result.goal.to_string())).collect();
    Some((verdict, format!("{name} ({})", goals.join(", "))))
}

/// Each goal of a combination in the trial that is farthest from meeting it.
fn worst(overview: &Overview, cell: usize) -> Vec<&GoalResult> {
    let mut worst: Vec<&GoalResult> = Vec::new();
    let trials = overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]);
    for result in trials.flat_map(|trial| trial.goals()) {
        match worst.iter_mut().find(|known| known.goal == result.goal) {
            Some(known) if is_worse(result, known) => *known = result,
            Some(_) => {}
            None => worst.push(result),
        }
    }
    worst
}

/// Whether a trial's result is farther from meeting the goal than another's. A figure without a value is the farthest.
fn is_worse(result: &GoalResult, than: &GoalResult) -> bool {
    let rank = |verdict| match verdict {
        GoalVerdict::Met => 0,
        GoalVerdict::Undecided => 1,
        GoalVerdict::Missed => 2,
    };
    let distance = |result: &GoalResult| match (result.value, result.goal.side) {
        (Some(value), GoalSide::Below) => value,
        (Some(value), GoalSide::Above) => -value,
        (None, _) => f64::INFINITY,
    };
    let ranks = rank(result.verdict).cmp(&rank(than.verdict));
    ranks.then(distance(result).total_cmp(&distance(than))).is_gt()
}
