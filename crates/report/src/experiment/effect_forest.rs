//! The effects of an experiment's factors as a forest plot: a row for each level instead of its base, then the
//! interactions. The sentences are in `wording`.

use super::effects::{Effects, InteractionEffect, LevelEffect};
use super::metric::Metric;
use super::overview::Overview;
use super::repeats::Ratio;
use crate::figures::TIE;
use crate::forest::{BETTER_OR_WORSE, EffectVerdict, Forest, ForestRow};
use crate::prose::{cut, escaped_line};
use crate::ratios;
use crate::wording;

/// Interactions as rows.
const INTERACTIONS_MAX: usize = 6;
/// Levels as rows; the tables have all.
const LEVELS_MAX: usize = 60;
/// The longest name of a level.
const LEVEL_LEN_MAX: usize = 24;

/// Whether more of a figure is better.
pub(super) fn is_more_better(metric: Metric) -> bool {
    matches!(metric, Metric::Tps | Metric::Operations)
}

/// `None` without an interval: no effect is told from one repeat.
pub(super) fn forest(overview: &Overview, effects: &Effects) -> Option<Forest> {
    if effects.is_of_one_repeat() || effects.levels.is_empty() {
        return None;
    }
    let levels = effects.levels.iter().take(LEVELS_MAX).map(|effect| of_level(overview, effects, effect));
    let interactions = effects.interactions.iter().take(INTERACTIONS_MAX);
    let interactions = interactions.map(|it| of_interaction(overview, effects, it));
    let together = if effects.screening.is_some() { ", which hold together" } else { "" };
    Some(Forest {
        title: format!("Effects on {}", overview.title_of(effects.metric)),
        caption: format!("level ÷ base, logarithmic, with 95{TIE}% intervals{together}"),
        rows: levels.chain(interactions).collect(),
        tolerance: overview.screening_tolerance,
        words: BETTER_OR_WORSE,
    })
}

fn level(overview: &Overview, factor: usize, level: usize) -> String {
    cut(&escaped_line(&overview.factors[factor].levels[level]), LEVEL_LEN_MAX)
}

fn of_level(overview: &Overview, effects: &Effects, effect: &LevelEffect) -> ForestRow {
    let factor = effect.change.factor;
    let [own, base] = [effect.change.level, effects.base[factor]].map(|it| level(overview, factor, it));
    let name = format!("{} {own} ÷ {base}", wording::factor_name(&overview.factors[factor].name));
    row(overview, effects, name, effect.ratio.as_ref())
}

fn of_interaction(overview: &Overview, effects: &Effects, it: &InteractionEffect) -> ForestRow {
    let [a, b] = it.changes.map(|change| level(overview, change.factor, change.level));
    row(overview, effects, format!("{a} with {b} (interaction)"), Some(&it.ratio))
}

fn row(overview: &Overview, effects: &Effects, name: String, ratio: Option<&Ratio>) -> ForestRow {
    match ratio {
        None => ForestRow::unknown(name, "not estimable"),
        Some(ratio) if ratio.interval.is_none() => ForestRow::unknown(name, "no interval from one repeat"),
        Some(ratio) if ratios::says_nothing(ratio.interval) => {
            ForestRow::unknown(name, wording::not_measurable(overview))
        }
        Some(ratio) => {
            let verdict = EffectVerdict::of(ratio.interval, is_more_better(effects.metric));
            ForestRow::new(name, ratio.value, ratio.interval, verdict)
                .judged_within(overview.screening_tolerance)
        }
    }
}
