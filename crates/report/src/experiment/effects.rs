//! The effects of an experiment's factors: of each level instead of the base, and the interactions of two factors, with
//! their intervals. `effect_estimates` makes them of an experiment's figures; `wording` has the sentences, `document` the
//! tables.

use stats::{CONFIDENCE, Change, Factorial, SampleMean, Screening, found};

use super::metric::Metric;
use super::repeats::Ratio;

/// The effects on one figure.
#[derive(Clone, Debug)]
pub(crate) struct Effects {
    pub(crate) metric: Metric,
    /// The base level of each factor.
    pub(crate) base: Vec<usize>,
    /// Of each level, in order of size: first those whose interval excludes 1.
    pub(crate) levels: Vec<LevelEffect>,
    /// Those that matter, in order of size.
    pub(crate) interactions: Vec<InteractionEffect>,
    /// Of a screening: how its effects were estimated.
    pub(crate) screening: Option<Screening>,
    /// The others, as far as they can be estimated; `None` if there are none.
    pub(crate) others: Option<OtherInteractions>,
}

/// The interactions that were not found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherInteractions {
    pub(crate) count: usize,
    /// Those whose interval exceeds the tolerance, so that an interaction that matters is possible.
    pub(crate) undecided: usize,
    /// From the lowest to the highest bound of their intervals; `None` without intervals.
    pub(crate) range: Option<(f64, f64)>,
}

/// The effect of a level instead of the base of its factor.
#[derive(Clone, Debug)]
pub(crate) struct LevelEffect {
    pub(crate) change: Change,
    /// `None` if the trials do not determine it.
    pub(crate) ratio: Option<Ratio>,
    /// Combinations of the other factors that it is averaged over, and those that lack a figure.
    pub(crate) combinations: usize,
    pub(crate) missing: usize,
    pub(crate) depends: Option<Dependence>,
}

/// The effect of a level by the levels of another factor.
#[derive(Clone, Debug)]
pub(crate) struct Dependence {
    /// The other factor.
    pub(crate) on: usize,
    pub(crate) at_levels: Vec<(usize, Ratio)>,
}

/// The ratio of two ratios: the difference that one change makes to the effect of the other.
#[derive(Clone, Debug)]
pub(crate) struct InteractionEffect {
    pub(crate) changes: [Change; 2],
    pub(crate) ratio: Ratio,
}

/// A smaller interaction does not matter, however certain it is.
const INTERACTION_MIN: f64 = 0.02;
/// An interaction that was not found is undecided unless its interval is within this share: a screening's default.
const TOLERANCE: f64 = 0.05;
/// Share of a main effect from which on an interaction means that the effect depends on the other factor.
const DEPENDENCE_SHARE: f64 = 0.5;
/// Maximum number of pairs of levels of which interactions are estimated; more would be no answer.
const INTERACTIONS_MAX: usize = 2000;

impl LevelEffect {
    /// Whether the interval excludes 1.
    pub(crate) fn is_found(&self) -> bool {
        self.ratio.is_some_and(|ratio| excludes_one(&ratio))
    }
}

fn excludes_one(ratio: &Ratio) -> bool {
    ratio.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
}

/// Whether the whole interval is within this share of 1, up and down.
pub(crate) fn is_within(ratio: &Ratio, tolerance: f64) -> bool {
    ratio.interval.is_some_and(|(low, high)| low > 1.0 / (1.0 + tolerance) && high < 1.0 + tolerance)
}

/// The size of a ratio, by which effects are ordered.
fn size(ratio: Option<&Ratio>) -> f64 {
    ratio.map_or(-1.0, |ratio| ratio.value.ln().abs())
}

impl Effects {
    /// By size, those found first.
    pub(super) fn sort(&mut self) {
        let order = |effect: &LevelEffect| (effect.is_found(), size(effect.ratio.as_ref()));
        self.levels.sort_by(|a, b| {
            let (a, b) = (order(a), order(b));
            b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
        });
    }

    /// The effects that depend on another factor; `simple` is the effect of a change at a level of another factor.
    pub(super) fn find_dependences(
        &mut self,
        levels: &[usize],
        simple: impl Fn(Change, Change) -> Option<Ratio>,
    ) {
        for effect in &mut self.levels {
            let strongest = self.interactions.iter().find(|it| it.changes.contains(&effect.change));
            let is_strong = |it: &&InteractionEffect| {
                size(Some(&it.ratio)) >= DEPENDENCE_SHARE * size(effect.ratio.as_ref())
            };
            effect.depends = strongest.filter(is_strong).map(|it| {
                let [a, b] = it.changes;
                let on = if a == effect.change { b.factor } else { a.factor };
                let at = |level| Some((level, simple(effect.change, Change { factor: on, level })?));
                Dependence { on, at_levels: (0..levels[on]).filter_map(at).collect() }
            });
        }
    }

    pub(super) fn find_interactions(&mut self, factorial: &Factorial, ratio: impl Fn(SampleMean) -> Ratio) {
        let pairs = self.levels.len() * self.levels.len() / 2;
        if pairs > INTERACTIONS_MAX {
            return;
        }
        let mut all = factorial.interactions();
        all.retain(|it| it.averaged.effect.is_some());
        let effects: Vec<Option<SampleMean>> = all.iter().map(|it| it.averaged.effect).collect();
        let mut others = Vec::new();
        for (interaction, is_found) in all.into_iter().zip(found(&effects, CONFIDENCE)) {
            let Some(effect) = interaction.averaged.effect else { continue };
            let it = InteractionEffect { changes: interaction.changes, ratio: ratio(effect) };
            if is_found && effect.mean.abs() >= INTERACTION_MIN.ln_1p() {
                self.interactions.push(it);
            } else {
                others.push(it);
            }
        }
        self.interactions.sort_by(|a, b| size(Some(&b.ratio)).total_cmp(&size(Some(&a.ratio))));
        let hull = |(low, high): (f64, f64), other: (f64, f64)| (low.min(other.0), high.max(other.1));
        let range = others.iter().filter_map(|it| it.ratio.interval).reduce(hull);
        let undecided = others.iter().filter(|it| !is_within(&it.ratio, TOLERANCE)).count();
        self.others =
            (!others.is_empty()).then_some(OtherInteractions { count: others.len(), undecided, range });
    }

    /// Whether effects have no interval, because there is a single repeat. No effect is told then.
    pub(crate) fn is_of_one_repeat(&self) -> bool {
        let ratios = || self.levels.iter().filter_map(|effect| effect.ratio);
        ratios().next().is_some() && ratios().all(|ratio| ratio.interval.is_none())
    }
}
