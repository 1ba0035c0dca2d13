//! The sentences about the effects of an experiment's factors: the answer, what the forest plot does not show, and how
//! they were estimated. The figures are those of `experiment::effects`.

use stats::ErrorSource;

use crate::experiment::{Effects, LevelEffect, OtherInteractions, Overview, Ratio, is_within};
use crate::figures::{TIE, as_asked, counted};
use crate::prose::{cut, enumerate, escaped_line};
use crate::ratios;

/// Levels of another factor in one sentence.
const LEVELS_MAX: usize = 4;
/// The longest name of a level.
const LEVEL_LEN_MAX: usize = 40;

/// An effect of whose size the interval says nothing.
pub(crate) fn not_measurable(overview: &Overview) -> String {
    let repeats = overview.trials.iter().map(|trial| trial.repeat).max().unwrap_or(0);
    format!("not measurable with {}", counted(repeats.into(), "repeat", "repeats"))
}

/// `×1.32 (1.28 … 1.36)`
fn shown(ratio: &Ratio) -> String {
    ratios::ratio(ratio.value, ratio.interval)
}

/// The name of a factor; a server's setting has the name that the server gives it.
pub(crate) fn factor_name(name: &str) -> String {
    escaped_line(name.strip_prefix("settings.").unwrap_or(name))
}

fn level(overview: &Overview, factor: usize, level: usize) -> String {
    cut(&escaped_line(&overview.factors[factor].levels[level]), LEVEL_LEN_MAX)
}

/// The answer of an experiment in one short sentence: its largest effect, or that none was found.
pub(crate) fn effects_answer(overview: &Overview, effects: &Effects) -> String {
    let subject = overview.title_of(effects.metric);
    if effects.is_of_one_repeat() {
        return format!(
            "No effect on {subject} is stated: each combination was run once, and effects need two repeats or more."
        );
    }
    let known = || effects.levels.iter().filter_map(|effect| Some((effect, effect.ratio?)));
    let matters = |(effect, ratio): &(&LevelEffect, Ratio)| {
        let is_small = overview.screening_tolerance.is_some_and(|tolerance| is_within(ratio, tolerance));
        effect.is_found() && !is_small && !ratios::says_nothing(ratio.interval)
    };
    let found = known().find(matters);
    // An average over the levels of another factor is of no combination.
    let first = found.map(|(effect, _)| effect);
    let first = first.or_else(|| effects.levels.iter().find(|effect| effect.depends.is_some()));
    if let Some(joint) = first.and_then(|effect| joint_answer(overview, effects, effect)) {
        return joint;
    }
    let Some((effect, ratio)) = found else {
        return match effects.levels.as_slice() {
            [only] if only.ratio.is_some_and(|ratio| !is_within(&ratio, tolerance(overview))) => {
                let base = level(overview, only.change.factor, effects.base[only.change.factor]);
                let ratio = only.ratio.as_ref().map(shown).unwrap_or_default();
                format!("Undecided: {} instead of {base}, {subject} {ratio}.", named(overview, only))
            }
            _ => format!("No effect on {subject} was found{}.", undecided_count(overview, effects)),
        };
    };
    let factor = effect.change.factor;
    let own = named(overview, effect);
    let base = level(overview, factor, effects.base[factor]);
    let first = if overview.screening_tolerance.is_some() { "Look first at" } else { "Largest effect:" };
    let bounds = if overview.has_bounds() { "; a bound, as queries reached limits" } else { "" };
    format!("{first} {own} instead of {base}, {subject} {}{bounds}.", shown(&ratio))
}

/// An effect that depends on another factor: with the level where it is largest, and with the one where it is smallest.
fn joint_answer(overview: &Overview, effects: &Effects, effect: &LevelEffect) -> Option<String> {
    let dependence = effect.depends.as_ref()?;
    let size = |(_, ratio): &&(usize, Ratio)| ratio.value.ln().abs();
    let by_size = |a: &&(usize, Ratio), b: &&(usize, Ratio)| size(a).total_cmp(&size(b));
    let known = || dependence.at_levels.iter().filter(|(_, ratio)| !ratios::says_nothing(ratio.interval));
    let (largest, smallest) = known().max_by(by_size).zip(known().min_by(by_size))?;
    let factor = effect.change.factor;
    let on = factor_name(&overview.factors[dependence.on].name);
    let at = |number: usize| level(overview, dependence.on, number);
    let bounds = if overview.has_bounds() { "; bounds, as queries reached limits" } else { "" };
    Some(format!(
        "{} instead of {}: {} {} with {on} {}, {} with {}{bounds}.",
        named(overview, effect),
        level(overview, factor, effects.base[factor]),
        overview.title_of(effects.metric),
        shown(&largest.1),
        at(largest.0),
        ratios::value(smallest.1.value, smallest.1.interval),
        at(smallest.0),
    ))
}

/// `; 2 of 3 are undecided`: those whose interval is wider than what does not matter.
fn undecided_count(overview: &Overview, effects: &Effects) -> String {
    let tolerance = tolerance(overview);
    let all = effects.levels.len();
    let open = effects
        .levels
        .iter()
        .filter(|it| !it.ratio.is_some_and(|ratio| is_within(&ratio, tolerance)))
        .count();
    match open {
        0 => String::new(),
        open if open == all && all > 1 => format!("; all {all} are undecided"),
        open if open == all => "; it is undecided".to_owned(),
        open => format!("; {open} of {all} are undecided"),
    }
}

fn tolerance(overview: &Overview) -> f64 {
    overview.screening_tolerance.unwrap_or(UNDECIDED_BEYOND)
}

/// An effect that was not found is undecided unless its interval is within this share.
const UNDECIDED_BEYOND: f64 = 0.05;

/// What the forest plot does not show: effects that depend on another factor, and the settings of a screening by verdict.
pub(crate) fn effects_details(overview: &Overview, effects: &Effects) -> Vec<String> {
    let mut sentences: Vec<String> =
        effects.levels.iter().filter_map(|effect| dependence(overview, effects, effect)).collect();
    sentences
        .extend(overview.screening_tolerance.into_iter().flat_map(|it| of_screening(overview, effects, it)));
    sentences
}

/// The settings that do not matter, and those that are open.
fn of_screening(overview: &Overview, effects: &Effects, tolerance: f64) -> Vec<String> {
    let is_small = |ratio: &Ratio| is_within(ratio, tolerance);
    let known = || effects.levels.iter().filter_map(|effect| Some((effect, effect.ratio?)));
    let name = |effect: &LevelEffect| factor_name(&overview.factors[effect.change.factor].name);
    let small: Vec<String> =
        known().filter(|(_, ratio)| is_small(ratio)).map(|(effect, _)| name(effect)).collect();
    let open: Vec<String> = known()
        .filter(|(effect, ratio)| !effect.is_found() && !is_small(ratio))
        .map(|(effect, _)| name(effect))
        .collect();
    let small = (!small.is_empty())
        .then(|| format!("No effect beyond ±{TIE}{}: {}.", percent_of(tolerance), small.join(", ")));
    let open = (!open.is_empty()).then(|| format!("Undecided: {}.", open.join(", ")));
    small.into_iter().chain(open).collect()
}

/// As it was given, without the last digits of binary fractions.
fn percent_of(share: f64) -> String {
    format!("{}{TIE}%", as_asked((share * 1e6).round() / 1e4))
}

/// How the effects of a screening were estimated, and what they do not show.
fn screening_notes(overview: &Overview, screening: &stats::Screening) -> Vec<String> {
    let error = match screening.error {
        ErrorSource::Model => {
            " Too few repeats: the intervals come from the deviations from a sum of effects, and tend to be too wide."
        }
        ErrorSource::Repeats => "",
    };
    let mut notes = vec![format!(
        "Effects are averages over the other settings, with intervals that hold together at 95{TIE}% (Šidák). They are free \
         of each other and of interactions of two settings (Plackett–Burman with its mirror image, resolution IV).{error}"
    )];
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

/// `The effect of synchronous_commit off depends on work_mem: ×1.01 with 4MB, ×2.02 with 64MB.`
fn dependence(overview: &Overview, effects: &Effects, effect: &LevelEffect) -> Option<String> {
    let dependence = effect.depends.as_ref()?;
    let at = |(at, ratio): &(usize, Ratio)| {
        let ratio = ratios::value(ratio.value, ratio.interval);
        format!("{ratio} with {}", level(overview, dependence.on, *at))
    };
    let shown: Vec<String> = dependence.at_levels.iter().take(LEVELS_MAX).map(at).collect();
    let on = factor_name(&overview.factors[dependence.on].name);
    let subject = overview.title_of(effects.metric);
    let effect = named(overview, effect);
    Some(format!("The effect of {effect} on {subject} depends on {on}: {}.", shown.join(", ")))
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
        shown(&it.ratio),
    )
}

/// The interactions that were not found, in one sentence.
pub(crate) fn other_interactions(effects: &Effects) -> Option<String> {
    let OtherInteractions { count, undecided, range } = effects.others?;
    let range = range.filter(|range| !ratios::says_nothing(Some(*range)));
    let range = range.and_then(|range| ratios::range(1.0, Some(range)));
    let range = range.map(|range| if range.starts_with('±') { range } else { format!("×{range}") });
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
        (None, _, _) => "The interactions are not measurable with so few repeats.".to_owned(),
    })
}

/// How the effects were estimated, and what limits them.
pub(crate) fn effects_notes(overview: &Overview, effects: &Effects) -> Vec<String> {
    if let Some(screening) = &effects.screening {
        return screening_notes(overview, screening);
    }
    let within = if overview.repeats_are_blocks { " within repeats" } else { "" };
    let holm = effects.interactions.len() + effects.others.map_or(0, |others| others.count) > 1;
    let holm = if holm { format!("; interactions by Holm's test at 5{TIE}%") } else { String::new() };
    let mut notes = vec![format!(
        "Ratios of geometric means over the other factors, with 95{TIE}% intervals from the variation{within}{holm}."
    )];
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
