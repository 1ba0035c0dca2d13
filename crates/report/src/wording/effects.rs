//! The sentences about the effects of an experiment's factors: the answer, interactions, and how they were estimated.
//! The figures are those of `experiment::effects`.

use stats::ErrorSource;

use crate::experiment::{Effects, LevelEffect, OtherInteractions, Overview, Ratio, is_within};
use crate::figures::{TIE, as_asked, counted, decimals_for, fixed};
use crate::prose::{cut, enumerate, escaped_line};

/// Factors in the answer; the table has all.
const FACTORS_MAX: usize = 8;
/// Levels of another factor in one sentence.
const LEVELS_MAX: usize = 4;
/// The longest name of a level.
const LEVEL_LEN_MAX: usize = 40;

/// `+32 %`, `× 3.4`: a change of a factor of two or more is not a percentage.
pub(crate) fn effect(ratio: &Ratio) -> String {
    let scale = Scale::of(ratio);
    scale.write(ratio.value, true)
}

/// `28 to 36`, `−1 % to +2 %`, `3.1 to 3.8`.
pub(crate) fn effect_range(ratio: &Ratio) -> Option<String> {
    let (low, high) = ratio.interval?;
    let scale = Scale::of(ratio);
    let is_short = matches!(scale, Scale::Factor(_)) || low >= 1.0;
    let [low, high] = [low, high].map(|bound| scale.write(bound, !is_short));
    Some(format!("{low} to {high}"))
}

/// `+32 % (28 to 36)`
pub(crate) fn effect_with_range(ratio: &Ratio) -> String {
    let range = effect_range(ratio).map_or(String::new(), |range| format!(" ({range})"));
    effect(ratio) + &range
}

/// Maximum number of decimals.
const PERCENT_DECIMALS_MAX: usize = 1;

/// How ratios of one effect are written.
enum Scale {
    /// With so many decimals.
    Percent(usize),
    /// With so many significant digits.
    Factor(usize),
}

impl Scale {
    fn of(ratio: &Ratio) -> Scale {
        let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
        let half = (high - low) / 2.0;
        if ratio.value >= 2.0 || ratio.value <= 0.5 || high > 4.0 || low < 0.25 {
            // A tight interval shows one more digit.
            return Scale::Factor(if half > 0.01 * ratio.value || ratio.interval.is_none() { 2 } else { 3 });
        }
        let decimals = decimals(half * 100.0).min(PERCENT_DECIMALS_MAX);
        Scale::Percent(if ratio.interval.is_some() { decimals } else { 0 })
    }

    fn write(&self, ratio: f64, is_whole: bool) -> String {
        match *self {
            Scale::Factor(digits) => {
                let number = fixed(ratio, decimals_for(ratio, digits));
                if is_whole { format!("×{TIE}{number}") } else { number }
            }
            Scale::Percent(decimals) => {
                let percent = (ratio - 1.0) * 100.0;
                let number = fixed(percent.abs(), decimals);
                let is_zero = number.chars().all(|c| "0.".contains(c));
                let sign = if is_zero {
                    ""
                } else if percent < 0.0 {
                    "−"
                } else {
                    "+"
                };
                if is_whole { format!("{sign}{number}{TIE}%") } else { number }
            }
        }
    }
}

/// Decimals with which this uncertainty has one digit, at most four.
fn decimals(uncertainty: f64) -> usize {
    [1.0, 10.0, 100.0, 1000.0].iter().take_while(|power| uncertainty * *power < 1.0).count()
}

/// The name of a factor; a server's setting has the name that the server gives it.
pub(crate) fn factor_name(name: &str) -> String {
    escaped_line(name.strip_prefix("settings.").unwrap_or(name))
}

fn level(overview: &Overview, factor: usize, level: usize) -> String {
    cut(&escaped_line(&overview.factors[factor].levels[level]), LEVEL_LEN_MAX)
}

/// The answer of an experiment: its factors in order of the size of their effects, with intervals.
pub(crate) fn effects_answer(overview: &Overview, effects: &Effects) -> String {
    if let Some(tolerance) = overview.screening_tolerance {
        return screening_answer(overview, effects, tolerance);
    }
    let subject = overview.title_of(effects.metric);
    if effects.is_of_one_repeat() {
        return format!(
            "No effect on {subject} is stated: each combination has one repeat, which gives no confidence interval. Effects \
             need two or more."
        );
    }
    let factors = effects.factors();
    let mut clauses: Vec<String> =
        factors.iter().take(FACTORS_MAX).map(|factor| clause(overview, effects, *factor)).collect();
    let more = factors.len().saturating_sub(FACTORS_MAX);
    clauses
        .extend((more > 0).then(|| format!("{} below", counted(more as u64, "more factor", "more factors"))));
    format!("Effects on {subject}: {}.", clauses.join("; "))
}

/// The answer of a screening: the settings that matter, those that do not, and the others.
fn screening_answer(overview: &Overview, effects: &Effects, tolerance: f64) -> String {
    let is_small = |ratio: &Ratio| is_within(ratio, tolerance);
    let known = || effects.levels.iter().filter_map(|effect| Some((effect, effect.ratio?)));
    let name = |effect: &LevelEffect| factor_name(&overview.factors[effect.change.factor].name);
    let matter: Vec<String> = known()
        .filter(|(effect, ratio)| effect.is_found() && !is_small(ratio))
        .map(|(effect, _)| clause(overview, effects, effect.change.factor))
        .collect();
    let small: Vec<String> =
        known().filter(|(_, ratio)| is_small(ratio)).map(|(effect, _)| name(effect)).collect();
    let open: Vec<String> = known()
        .filter(|(effect, ratio)| !effect.is_found() && !is_small(ratio))
        .map(|(effect, ratio)| {
            let range = effect_range(&ratio).map_or(String::new(), |range| format!(" ({range})"));
            name(effect) + &range
        })
        .collect();
    let subject = overview.title_of(effects.metric);
    let mut sentences = vec![match matter.split_first() {
        None => format!("No setting with an effect on {subject} was found"),
        Some((first, [])) => format!("Look first at {first}"),
        Some((first, rest)) => format!("Look first at {first}. Then at {}", rest.join("; ")),
    }];
    let within = percent_of(tolerance);
    sentences.extend(
        (!small.is_empty()).then(|| format!("No effect beyond ±{TIE}{within}: {}", small.join(", "))),
    );
    sentences.extend((!open.is_empty()).then(|| format!("Undecided: {}", open.join(", "))));
    format!("Effects on {subject}: {}.", sentences.join(". "))
}

/// As it was given, without the last digits of binary fractions.
fn percent_of(share: f64) -> String {
    format!("{}{TIE}%", as_asked((share * 1e6).round() / 1e4))
}

/// How the effects of a screening were estimated, and what they do not show.
fn screening_notes(overview: &Overview, screening: &stats::Screening) -> Vec<String> {
    let mut notes = vec![format!(
        "An effect is the change of the figure by the second level instead of the first, on average over the levels of \
         the other settings. All intervals hold together with 95{TIE}% confidence (Šidák)."
    )];
    notes.extend((screening.error == ErrorSource::Model).then(|| {
        "Each combination has too few trials to estimate the error from repeats: the intervals come from the \
         deviations from a sum of effects, and tend to be too wide."
            .to_owned()
    }));
    notes.push(
        "Effects are not confounded with each other, nor with interactions of two settings (Plackett–Burman design \
         with its mirror image, resolution IV). They are confounded with interactions of three settings, and \
         interactions of two settings are confounded with each other."
            .to_owned(),
    );
    notes.extend(screening.p_of_interactions.filter(|p| *p < INTERACTIONS_P_MAX).map(|_| {
        "Some settings interact: an effect depends on the other settings. Vary the first two or three in an experiment \
         with all their combinations."
            .to_owned()
    }));
    notes.extend((screening.missing > 0).then(|| {
        format!(
            "{} no figure; the effects are estimated from the others.",
            counted(screening.missing as u64, "combination has", "combinations have")
        )
    }));
    if !overview.trials_are_complete() {
        notes.push("Trials remain; running them makes the intervals narrower.".to_owned());
    }
    notes
}

/// The p value below which interactions are reported.
const INTERACTIONS_P_MAX: f64 = 0.01;

/// `work_mem 64MB instead of 4MB: +32 % (28 to 36)`
fn clause(overview: &Overview, effects: &Effects, factor: usize) -> String {
    let name = factor_name(&overview.factors[factor].name);
    let base = level(overview, factor, effects.base[factor]);
    let of_factor: Vec<&LevelEffect> = effects.of_factor(factor).collect();
    let (known, unknown): (Vec<_>, Vec<_>) =
        of_factor.into_iter().partition(|it| it.ratio.is_some_and(|it| it.interval.is_some()));
    let mut told: Vec<String> = Vec::new();
    let (found, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(|it| it.is_found());
    for effect in found.iter().take(LEVELS_MAX) {
        let Some(ratio) = &effect.ratio else { continue };
        let instead = if told.is_empty() { format!(" instead of {base}") } else { String::new() };
        let own = level(overview, factor, effect.change.level);
        told.push(format!("{own}{instead}: {}{}", effect_with_range(ratio), dependence(overview, effect)));
    }
    let more = found.len().saturating_sub(LEVELS_MAX);
    told.extend((more > 0).then(|| counted(more as u64, "more level", "more levels")));
    if !rest.is_empty() {
        let hull = |(low, high): (f64, f64), other: (f64, f64)| (low.min(other.0), high.max(other.1));
        let range = rest.iter().filter_map(|it| it.ratio?.interval).reduce(hull);
        let ratio = range.map(|(low, high)| Ratio { value: 1.0, interval: Some((low, high)), paired: false });
        let range =
            ratio.and_then(|it| effect_range(&it)).map_or(String::new(), |range| format!(" ({range})"));
        let which = if told.is_empty() { ": " } else { "the other levels: " };
        let depends = rest.iter().find(|it| it.depends.is_some());
        told.push(format!(
            "{which}no effect found{}{}",
            range,
            depends.map_or(String::new(), |it| {
                let which = level(overview, factor, it.change.level);
                format!(" on average, but {which}{}", dependence(overview, it))
            })
        ));
    }
    if !unknown.is_empty() {
        let which = if told.is_empty() { ": " } else { "others: " };
        let has_ratio = unknown.iter().all(|it| it.ratio.is_some());
        told.push(format!(
            "{which}{}",
            if has_ratio { "no interval from one repeat" } else { "not estimable" }
        ));
    }
    let told = told.join(", ");
    if told.starts_with(": ") { format!("{name}{told}") } else { format!("{name} {told}") }
}

/// `, depends on synchronous_commit: +60 % with off, +4 % with on`
fn dependence(overview: &Overview, effect: &LevelEffect) -> String {
    let Some(dependence) = &effect.depends else { return String::new() };
    let at = |(at, ratio): &(usize, Ratio)| {
        format!("{} with {}", self::effect(ratio), level(overview, dependence.on, *at))
    };
    let shown: Vec<String> = dependence.at_levels.iter().take(LEVELS_MAX).map(at).collect();
    let name = factor_name(&overview.factors[dependence.on].name);
    format!(", depends on {name}: {}", shown.join(", "))
}

/// What an interaction means: the effect of one level at both levels of the other factor.
pub(crate) fn interaction(overview: &Overview, effects: &Effects, number: usize) -> String {
    let it = &effects.interactions[number];
    let [a, b] = it.changes;
    let name = |factor: usize| factor_name(&overview.factors[factor].name);
    format!(
        "{} {} and {} {} together: {} of the product of their single effects",
        name(a.factor),
        level(overview, a.factor, a.level),
        name(b.factor),
        level(overview, b.factor, b.level),
        factor_with_range(&it.ratio),
    )
}

/// `× 0.81 (0.79 to 0.83)`
fn factor_with_range(ratio: &Ratio) -> String {
    let (low, high) = ratio.interval.unwrap_or((ratio.value, ratio.value));
    let scale = Scale::Factor(2);
    format!(
        "{} ({} to {})",
        scale.write(ratio.value, true),
        scale.write(low, false),
        scale.write(high, false)
    )
}

/// The interactions that were not found, in one sentence.
pub(crate) fn other_interactions(effects: &Effects) -> Option<String> {
    let OtherInteractions { count, undecided, range } = effects.others?;
    let range = range.map(|(low, high)| Ratio { value: 1.0, interval: Some((low, high)), paired: false });
    let range = range.and_then(|it| effect_range(&it));
    let other = if effects.interactions.is_empty() { "" } else { "other " };
    Some(match (range, count, undecided) {
        (Some(range), 1, 0) => format!("The {other}interaction was not found ({range})."),
        (Some(range), 1, _) => format!("The {other}interaction is undecided ({range})."),
        (Some(range), _, 0) => format!("None of the {count} {other}interactions was found ({range})."),
        (Some(range), _, _) if undecided == count => {
            format!("The {count} {other}interactions are undecided ({range}).")
        }
        (Some(range), _, _) => format!(
            "None of the {count} {other}interactions was found, and {undecided} of them {} undecided ({range}).",
            if undecided == 1 { "is" } else { "are" }
        ),
        (None, _, _) => "Interactions have no intervals, since there is a single repeat.".to_owned(),
    })
}

/// How the effects were estimated, and what limits them.
pub(crate) fn effects_notes(overview: &Overview, effects: &Effects) -> Vec<String> {
    if let Some(screening) = &effects.screening {
        return screening_notes(overview, screening);
    }
    let mut notes = vec![
        "An effect is the change of the figure by a level instead of the base, averaged over the combinations of the \
         other factors (ratios of geometric means)."
            .to_owned(),
    ];
    let within = if overview.repeats_are_blocks { " within repeats" } else { "" };
    notes.push(format!(
        "Ranges are 95{TIE}% confidence intervals of each effect, from the variation{within}."
    ));
    if effects.interactions.len() + effects.others.map_or(0, |others| others.count) > 1 {
        notes.push(format!("Interactions are found if Holm's test rejects at 5{TIE}% for all together."));
    }
    let partial = |it: &&LevelEffect| it.missing > 0 && it.combinations > 0;
    let partly: Vec<String> = effects.levels.iter().filter(partial).map(|it| named(overview, it)).collect();
    if !partly.is_empty() {
        notes.push(format!(
            "Combinations without a figure are left out of the effects of {}; an effect is averaged over the rest.",
            enumerate(&partly)
        ));
    }
    let none = |it: &&LevelEffect| it.ratio.is_none();
    let unknown: Vec<String> = effects.levels.iter().filter(none).map(|it| named(overview, it)).collect();
    if !unknown.is_empty() {
        notes.push(format!(
            "Not estimable: {}; no combination was measured with this level and with the base in the same repeat.",
            enumerate(&unknown)
        ));
    }
    notes
}

fn named(overview: &Overview, effect: &LevelEffect) -> String {
    let factor = effect.change.factor;
    format!(
        "{} {}",
        factor_name(&overview.factors[factor].name),
        level(overview, factor, effect.change.level)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: f64, interval: Option<(f64, f64)>, expected: &str) {
        let ratio = Ratio { value, interval, paired: true };
        assert_eq!(crate::figures::with_ordinary_spaces(&effect_with_range(&ratio)), expected);
    }

    #[test]
    fn an_effect_is_a_percentage_until_it_is_a_factor() {
        check(1.32, Some((1.28, 1.36)), "+32 % (28 to 36)");
        check(1.004, Some((0.99, 1.02)), "0 % (−1 % to +2 %)");
        check(0.8, Some((0.79, 0.81)), "−20 % (−21 % to −19 %)");
        check(1.0321, Some((1.0310, 1.0332)), "+3.2 % (3.1 to 3.3)");
        check(3.42, Some((3.1, 3.8)), "× 3.4 (3.1 to 3.8)");
        check(0.1, Some((0.09, 0.11)), "× 0.10 (0.090 to 0.11)");
        check(1.32, None, "+32 %");
        check(1.2, Some((0.2, 7.1)), "× 1.2 (0.20 to 7.1)");
        check(6.4, Some((6.4, 6.4)), "× 6.40 (6.40 to 6.40)");
    }
}
