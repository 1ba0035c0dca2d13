//! The forest plot, the one picture of effects: a row for each effect with its ratio and interval on a logarithmic axis
//! around 1. Form and colour tell the verdict, and the figure stands at the right. Here are its contents, its axis and the
//! chart of pages; `document` writes it for the terminal and as a table.

use crate::chart::{Axis, Bar, BarGroup, Bound, Chart, Colour, Form, Plot, Threshold};
use crate::figures::{TIE, as_asked};
use crate::metrics::Quantity;
use crate::ratios;

/// Effects on one axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forest {
    pub(crate) title: String,
    /// What is divided by what, such as `B ÷ A`.
    pub(crate) caption: String,
    pub(crate) rows: Vec<ForestRow>,
    /// Ratios within ± this share do not matter.
    pub(crate) tolerance: Option<f64>,
    /// What the verdicts are called here, in the order of [`EffectVerdict::ALL`].
    pub(crate) words: [&'static str; 5],
}

/// One effect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForestRow {
    pub(crate) name: String,
    /// `None` if there is nothing to draw; `shown` says why.
    pub(crate) ratio: Option<f64>,
    /// At 95 %.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) bound: Bound,
    pub(crate) verdict: EffectVerdict,
    /// The ratio as text, or why it is unknown.
    pub(crate) shown: String,
    /// The change in per cent, where that is told too.
    pub(crate) change: String,
}

/// What an effect comes to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum EffectVerdict {
    Better,
    Worse,
    /// The interval contains 1.
    Inconclusive,
    /// The whole interval is within the tolerance: no difference that matters.
    Within,
    /// There is no interval, or neither way is better.
    NotJudged,
}

impl EffectVerdict {
    pub(crate) const ALL: [EffectVerdict; 5] = [
        EffectVerdict::Better,
        EffectVerdict::Worse,
        EffectVerdict::Inconclusive,
        EffectVerdict::Within,
        EffectVerdict::NotJudged,
    ];

    /// By the interval: better if all of it is on the better side of 1.
    pub(crate) fn of(interval: Option<(f64, f64)>, is_more_better: bool) -> EffectVerdict {
        match interval {
            None => EffectVerdict::NotJudged,
            Some((low, _)) if low > 1.0 && is_more_better => EffectVerdict::Better,
            Some((_, high)) if high < 1.0 && !is_more_better => EffectVerdict::Better,
            Some((low, high)) if low > 1.0 || high < 1.0 => EffectVerdict::Worse,
            Some(_) => EffectVerdict::Inconclusive,
        }
    }

    fn colour(self) -> Colour {
        match self {
            EffectVerdict::Better => Colour::Run(0),
            EffectVerdict::Worse => Colour::Bad,
            EffectVerdict::Inconclusive | EffectVerdict::Within => Colour::Quiet,
            EffectVerdict::NotJudged => Colour::Run(7),
        }
    }

    fn form(self) -> Form {
        match self {
            EffectVerdict::Better => Form::Dot,
            EffectVerdict::Worse => Form::Square,
            EffectVerdict::Inconclusive => Form::Ring,
            EffectVerdict::Within => Form::Triangle,
            EffectVerdict::NotJudged => Form::Diamond,
        }
    }

    /// In rows of characters.
    pub(crate) fn character(self) -> char {
        match self {
            EffectVerdict::Better => '●',
            EffectVerdict::Worse => '■',
            EffectVerdict::Inconclusive => '○',
            EffectVerdict::Within => '▲',
            EffectVerdict::NotJudged => '◇',
        }
    }
}

/// Words of verdicts where more or less of a figure is better.
pub(crate) const BETTER_OR_WORSE: [&str; 5] = [
    "better",
    "worse",
    "inconclusive: the interval contains 1",
    "no difference beyond the tolerance",
    "without an interval",
];

/// The ends of an axis, at least.
const LEAST: f64 = 1.25;
/// An interval may make the axis so many times longer than the points do; beyond that it ends in an arrow.
const BEYOND_POINTS: f64 = 3.0;
const BESIDE: f64 = 1.06;

impl ForestRow {
    /// A ratio with its verdict.
    pub(crate) fn new(
        name: impl Into<String>,
        ratio: f64,
        interval: Option<(f64, f64)>,
        verdict: EffectVerdict,
    ) -> ForestRow {
        ForestRow {
            name: name.into(),
            ratio: (ratio > 0.0 && ratio.is_finite()).then_some(ratio),
            interval,
            bound: Bound::Exact,
            verdict,
            shown: ratios::ratio(ratio, interval),
            change: ratios::change(ratio, interval).unwrap_or_default(),
        }
    }

    /// The same row; an interval that contains 1 and is wholly within the tolerance is no doubt.
    #[must_use]
    pub(crate) fn judged_within(self, tolerance: Option<f64>) -> ForestRow {
        let is_within = self.interval.zip(tolerance).is_some_and(|((low, high), tolerance)| {
            low >= 1.0 / (1.0 + tolerance) && high <= 1.0 + tolerance
        });
        let verdict = match self.verdict {
            EffectVerdict::Inconclusive if is_within => EffectVerdict::Within,
            verdict => verdict,
        };
        ForestRow { verdict, ..self }
    }

    /// An effect of which nothing is known, and why.
    pub(crate) fn unknown(name: impl Into<String>, why: impl Into<String>) -> ForestRow {
        ForestRow {
            name: name.into(),
            ratio: None,
            interval: None,
            bound: Bound::Exact,
            verdict: EffectVerdict::NotJudged,
            shown: why.into(),
            change: String::new(),
        }
    }

    /// The figure behind the row: the ratio, and the change where it is below a factor of two.
    fn figure(&self) -> String {
        let Self { shown, change, .. } = self;
        if change.is_empty() { shown.clone() } else { format!("{shown}, {change}") }
    }
}

impl Forest {
    /// The ends of the axis: around 1, the tolerance and all points. Bounds, which may be far away, stand at the end.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let hull = |values: &mut dyn Iterator<Item = f64>| {
            let shown = values.filter(|value| *value > 0.0 && value.is_finite());
            shown.fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(value), high.max(value)))
        };
        let tolerance = 1.0 + self.tolerance.unwrap_or(0.0);
        let exact = || self.rows.iter().filter(|row| row.bound == Bound::Exact);
        let (low, high) = hull(&mut exact().filter_map(|row| row.ratio));
        let (low, high) = (low.min(1.0 / tolerance), high.max(tolerance));
        let drawn = || exact().filter(|row| row.ratio.is_some()).filter_map(|row| row.interval);
        let (widest_low, widest_high) = hull(&mut drawn().flat_map(|(low, high)| [low, high]));
        // Precise effects have an axis of their own size.
        let least = if widest_high / widest_low < 1.1 { 1.0 + (LEAST - 1.0) / 2.0 } else { LEAST };
        let low = widest_low.clamp(low / BEYOND_POINTS, low).min(1.0 / least);
        let high = widest_high.clamp(high, high * BEYOND_POINTS).max(least);
        (low / BESIDE, high * BESIDE)
    }

    /// Round ratios between the ends, 1 among them: halves and doubles, or steps between them on a short axis.
    pub(crate) fn ticks((low, high): (f64, f64)) -> Vec<(f64, String)> {
        const SHORT: [(f64, &str); 7] = [
            (0.8, "0.8"),
            (0.9, "0.9"),
            (0.95, "0.95"),
            (1.0, "1"),
            (1.05, "1.05"),
            (1.1, "1.1"),
            (1.25, "1.25"),
        ];
        const MIDDLE: [(f64, &str); 7] =
            [(0.5, "½"), (0.6, "0.6"), (0.8, "0.8"), (1.0, "1"), (1.25, "1.25"), (1.5, "1.5"), (2.0, "2")];
        let is_inside = |value: f64| (low..=high).contains(&value);
        let named = |(value, name): &(f64, &str)| is_inside(*value).then(|| (*value, (*name).to_owned()));
        let length = high / low;
        if length < 1.7 {
            return SHORT.iter().filter_map(named).collect();
        }
        if length < 4.5 {
            return MIDDLE.iter().filter_map(named).collect();
        }
        // Doubles up to ten, then powers of ten on a long axis.
        let base = match length {
            ..200.0 => 2.0_f64,
            ..5_000.0 => 4.0,
            ..1e6 => 10.0,
            _ => 100.0,
        };
        let powers = (-40..=40).map(|power| base.powi(power)).filter(|value| is_inside(*value));
        powers.map(|value| (value, tick(value))).collect()
    }

    pub(crate) fn word(&self, verdict: EffectVerdict) -> &'static str {
        let mut named = EffectVerdict::ALL.into_iter().zip(self.words);
        named.find(|(it, _)| *it == verdict).map_or("", |(_, word)| word)
    }

    /// The legend: each verdict that a row has, with its word.
    pub(crate) fn legend(&self) -> Vec<(EffectVerdict, &'static str)> {
        let is_there = |verdict: EffectVerdict| {
            self.rows.iter().any(|row| row.ratio.is_some() && row.verdict == verdict)
        };
        let named = EffectVerdict::ALL.into_iter().zip(self.words);
        named.filter(|(verdict, _)| is_there(*verdict)).collect()
    }

    /// The ends of the tolerance.
    pub(crate) fn band(&self) -> Option<(f64, f64)> {
        self.tolerance.map(|tolerance| (1.0 / (1.0 + tolerance), 1.0 + tolerance))
    }

    /// As pages and pictures have it.
    pub(crate) fn chart(&self) -> Chart {
        let group = |row: &ForestRow| {
            let parts = row.ratio.map(|ratio| (ratio, row.verdict.colour())).into_iter().collect();
            let bar = Bar {
                parts,
                interval: row.interval.filter(|_| row.ratio.is_some()),
                shown: row.figure(),
                bound: row.bound,
                form: row.verdict.form(),
                meaning: row.ratio.map_or("", |_| self.word(row.verdict)),
                ..Bar::default()
            };
            BarGroup { name: row.name.clone(), bars: vec![bar] }
        };
        let ends = self.ends();
        let axis = Axis::new("ratio", Quantity::Number).logarithmic(true).with_ends(ends.0, ends.1);
        let one = Threshold { value: 1.0, label: String::new() };
        let axis =
            Axis { band: self.band(), ..axis.with_thresholds(vec![one]).with_marks(Forest::ticks(ends)) };
        let legend = self.legend().into_iter();
        let plot = Plot::Bars {
            axis,
            groups: self.rows.iter().map(group).collect(),
            legend: legend.map(|(verdict, word)| (word.to_owned(), verdict.colour())).collect(),
        };
        let tolerance = self.tolerance.map_or(String::new(), |share| {
            format!(
                "; the grey area is the tolerance of ±{TIE}{}{TIE}%",
                as_asked((share * 1e6).round() / 1e4)
            )
        });
        Chart::new(&self.title, format!("{}{tolerance}", self.caption), plot)
    }
}

/// `¼`, `16`, `1/64`.
fn tick(value: f64) -> String {
    match value {
        0.5 => "½".to_owned(),
        0.25 => "¼".to_owned(),
        ..1.0 => format!("1/{}", tick(1.0 / value)),
        1e6.. => format!("{value:.0e}"),
        _ => crate::figures::fixed(value, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(rows: &[(f64, (f64, f64))], tolerance: Option<f64>) -> Forest {
        let row = |(ratio, interval): &(f64, (f64, f64))| {
            let verdict = EffectVerdict::of(Some(*interval), true);
            ForestRow::new("tps", *ratio, Some(*interval), verdict)
        };
        Forest {
            title: "Effects".to_owned(),
            caption: "B ÷ A".to_owned(),
            rows: rows.iter().map(row).collect(),
            tolerance,
            words: BETTER_OR_WORSE,
        }
    }

    fn names(ends: (f64, f64)) -> Vec<String> {
        Forest::ticks(ends).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn an_axis_has_1_and_halves_and_doubles() {
        assert_eq!(names((0.2, 5.0)), ["¼", "½", "1", "2", "4"]);
        assert_eq!(names((0.85, 1.2)), ["0.9", "0.95", "1", "1.05", "1.1"]);
        assert_eq!(names((0.6, 1.8)), ["0.6", "0.8", "1", "1.25", "1.5"]);
        assert_eq!(names((0.01, 30.0)), ["1/64", "1/16", "¼", "1", "4", "16"]);
    }

    #[test]
    fn the_ends_hold_all_points_and_cut_intervals_that_are_far_wider() {
        let (low, high) = forest(&[(1.2, (0.01, 60.0)), (0.9, (0.8, 1.0))], None).ends();
        assert!(low > 0.25 && low < 0.4 && high > 3.0 && high < 4.0, "{low} {high}");
        let (low, high) = forest(&[(1.01, (1.0, 1.02))], Some(0.3)).ends();
        assert!(low < 1.0 / 1.3 && high > 1.3, "the tolerance is on the axis");
    }

    #[test]
    fn a_verdict_has_a_form_and_a_word_of_its_own() {
        let forest = forest(&[(1.2, (1.1, 1.3)), (0.8, (0.7, 0.9)), (1.0, (0.9, 1.1))], None);
        let legend: Vec<char> = forest.legend().iter().map(|(verdict, _)| verdict.character()).collect();
        assert_eq!(legend, ['●', '■', '○']);
        assert_eq!(EffectVerdict::of(Some((0.7, 0.9)), false), EffectVerdict::Better);
        let Plot::Bars { groups, legend, .. } = forest.chart().plot else { panic!("rows are bars") };
        assert_eq!(
            groups.iter().map(|group| group.bars[0].form).collect::<Vec<_>>(),
            [Form::Dot, Form::Square, Form::Ring]
        );
        assert_eq!(legend.len(), 3);
        assert_eq!(groups[0].bars[0].shown.replace('\u{a0}', " "), "×1.20 (1.10 … 1.30), +20 %");
    }
}
