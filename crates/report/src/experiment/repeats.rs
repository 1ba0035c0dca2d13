//! Statistics over the repeats of a combination: means, medians, intervals, ratios and differences of two combinations,
//! and a figure with its interval in a table. The functions are pure; `overview` chooses the figures.

use stats::{CONFIDENCE, SampleMean};

use crate::document::Cell;
use crate::figures::half_width;
use crate::metrics::Quantity;

/// A figure over the repeats of a combination.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeated {
    /// Repeat, from 1, and value, in the order of the repeats.
    pub(crate) values: Vec<(u32, f64)>,
    pub(crate) mean: f64,
    pub(crate) median: f64,
    /// The 95 % confidence interval of the mean; `None` for a single repeat.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Repeated {
    /// `None` without values. The interval is Student's (The probable error of a mean, Biometrika 6, 1908): mean ± t ·
    /// s ÷ √n, for independent repeats. The figures are never negative, so the lower bound is at least 0.
    pub(crate) fn of(mut values: Vec<(u32, f64)>) -> Option<Repeated> {
        values.sort_by_key(|(repeat, _)| *repeat);
        let mut sorted: Vec<f64> = values.iter().map(|(_, figure)| *figure).collect();
        sorted.sort_by(f64::total_cmp);
        let mean = SampleMean::of(&sorted)?;
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        let interval = mean.interval(CONFIDENCE).map(|(low, high)| (low.max(0.0), high));
        Some(Repeated { values, mean: mean.mean, median, interval })
    }
}

/// The cell of a table with a figure, and with its interval if that is shown.
pub(super) fn figure(figure: Option<&Repeated>, quantity: Quantity, with_interval: bool) -> Cell {
    let Some(figure) = figure else { return Cell::default() };
    let interval = figure.interval.filter(|_| with_interval && figure.mean > 0.0);
    let share = interval.map(|(low, high)| half_width(figure.mean, low, high) / figure.mean);
    Cell::figure_with_interval(quantity, figure.mean, share)
}

/// A figure of a combination, by its presence in the complete trials.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// All complete trials have it.
    Whole(Repeated),
    /// Some trials have it. They may differ systematically from the others, so a mean over them would be biased.
    Partly,
    /// No trial has it.
    Nothing,
}

impl Known {
    /// From repeat and figure of each complete trial.
    pub(crate) fn of(trials: impl Iterator<Item = (u32, Option<f64>)>) -> Known {
        let mut known = Vec::new();
        let mut number = 0;
        for (repeat, figure) in trials {
            number += 1;
            known.extend(figure.map(|figure| (repeat, figure)));
        }
        match known.len() {
            0 => Known::Nothing,
            some if some < number => Known::Partly,
            _ => Repeated::of(known).map_or(Known::Nothing, Known::Whole),
        }
    }

    pub(crate) fn figure(&self) -> Option<&Repeated> {
        match self {
            Known::Whole(figure) => Some(figure),
            Known::Partly | Known::Nothing => None,
        }
    }

    pub(crate) fn into_figure(self) -> Option<Repeated> {
        match self {
            Known::Whole(figure) => Some(figure),
            Known::Partly | Known::Nothing => None,
        }
    }
}

/// The figure of one combination ÷ that of another.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// At 95 %; `None` if there are too few repeats.
    pub(crate) interval: Option<(f64, f64)>,
    /// Whether the ratio was computed within each repeat.
    pub(crate) paired: bool,
}

/// The ratio of two combinations; `None` if a repeat of one of them is not positive and therefore has no logarithm.
/// Excluding only that repeat would favour the combination that stalled.
///
/// Ratios are averaged by their logarithms (Fleming and Wallace, How not to lie with statistics, CACM 29, 1986). If
/// repeats are blocks, the repeats of both are paired, and Student's interval is that of the differences of the
/// logarithms: an effect of a repeat on both combinations cancels. Otherwise the interval is Welch's (The
/// generalization of Student's problem, Biometrika 34, 1947).
pub(crate) fn ratio(base: &Repeated, other: &Repeated, repeats_are_blocks: bool) -> Option<Ratio> {
    if base.values.iter().chain(&other.values).any(|(_, figure)| *figure <= 0.0) {
        return None;
    }
    if repeats_are_blocks {
        let of_base = |repeat: u32| base.values.iter().find(|(number, _)| *number == repeat);
        let pair = |(repeat, figure): &(u32, f64)| {
            let (_, base) = of_base(*repeat)?;
            Some(figure.ln() - base.ln())
        };
        let differences: Vec<f64> = other.values.iter().filter_map(pair).collect();
        if let Some(mean) = SampleMean::of(&differences) {
            return Some(Ratio::of_logarithm(&mean, CONFIDENCE, true));
        }
    }
    let logarithms =
        |it: &Repeated| SampleMean::of(&it.values.iter().map(|(_, figure)| figure.ln()).collect::<Vec<_>>());
    let difference = logarithms(other)?.minus(&logarithms(base)?);
    Some(Ratio::of_logarithm(&difference, CONFIDENCE, false))
}

/// The mean of one combination ÷ that of another, so that the ratio is the quotient of the durations shown beside it.
/// `None` if a repeat of one of them is not positive.
///
/// The interval is that of the logarithm of the quotient by the delta method: the variance of ln m is that of m ÷ m²
/// (Oehlert, A note on the delta method, The American Statistician 46, 1992). If repeats are blocks, the variance is
/// that of the differences within repeats, each ÷ its mean; otherwise the degrees of freedom are Welch's.
pub(crate) fn quotient(base: &Repeated, other: &Repeated, repeats_are_blocks: bool) -> Option<Ratio> {
    let difference = ln_mean(other)?.minus(&ln_mean(base)?);
    let is_paired = |(one, two): (&(u32, f64), &(u32, f64))| one.0 == two.0;
    let are_paired = base.values.len() == other.values.len()
        && base.values.iter().zip(&other.values).all(is_paired)
        && repeats_are_blocks;
    if !are_paired {
        return Some(Ratio::of_logarithm(&difference, CONFIDENCE, false));
    }
    let relative = |((_, of_base), (_, of_other)): (&(u32, f64), &(u32, f64))| {
        of_other / other.mean - of_base / base.mean
    };
    let within = SampleMean::of(&base.values.iter().zip(&other.values).map(relative).collect::<Vec<_>>())?;
    let of_quotient = SampleMean { mean: difference.mean, ..within };
    Some(Ratio::of_logarithm(&of_quotient, CONFIDENCE, true))
}

/// The logarithm of the mean, with its variance by the delta method. `None` if a value is not positive.
pub(crate) fn ln_mean(figure: &Repeated) -> Option<SampleMean> {
    if figure.values.iter().any(|(_, value)| *value <= 0.0) {
        return None;
    }
    let mean = SampleMean::of(&figure.values.iter().map(|(_, value)| *value).collect::<Vec<_>>())?;
    Some(SampleMean { mean: figure.mean.ln(), variance: mean.variance / figure.mean.powi(2), ..mean })
}

/// The figure of one combination minus that of another.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Subtraction {
    pub(crate) value: f64,
    /// At 95 %; `None` if there are too few repeats.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Subtraction {
    /// Intervals as for ratios, but of the figures themselves; `None` if paired combinations have no repeat in common.
    pub(crate) fn of(figure: &Repeated, minus: &Repeated, repeats_are_blocks: bool) -> Option<Subtraction> {
        let of_minus = |repeat: u32| minus.values.iter().find(|(number, _)| *number == repeat);
        let pair = |(repeat, figure): &(u32, f64)| Some(figure - of_minus(*repeat)?.1);
        let all =
            |it: &Repeated| SampleMean::of(&it.values.iter().map(|(_, figure)| *figure).collect::<Vec<_>>());
        let difference = if repeats_are_blocks {
            SampleMean::of(&figure.values.iter().filter_map(pair).collect::<Vec<_>>())?
        } else {
            all(figure)?.minus(&all(minus)?)
        };
        Some(Subtraction { value: difference.mean, interval: difference.interval(CONFIDENCE) })
    }

    /// The figure itself, as a difference to zero.
    pub(crate) fn of_nothing(figure: &Repeated) -> Subtraction {
        Subtraction { value: figure.mean, interval: figure.interval }
    }
}

impl Ratio {
    /// From the logarithm of the ratio; `paired` is whether it was computed within each repeat.
    pub(crate) fn of_logarithm(ln_ratio: &SampleMean, confidence: f64, paired: bool) -> Ratio {
        let interval = ln_ratio.interval(confidence).map(|(low, high)| (low.exp(), high.exp()));
        Ratio { value: ln_ratio.mean.exp(), interval, paired }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Repeated {
        Repeated::of((1..).zip(values.iter().copied()).collect()).unwrap()
    }

    #[test]
    fn three_repeats_have_the_interval_of_students_table() {
        // t with two degrees of freedom is 4.303; the standard deviation is 10.
        let Repeated { mean, median, interval, .. } = of(&[110.0, 90.0, 100.0]);
        let (low, high) = interval.unwrap();
        assert_eq!((mean, median), (100.0, 100.0));
        assert!(
            (high - 100.0 - 4.3027 * 10.0 / 3f64.sqrt()).abs() < 1e-3 && (low + high - 200.0).abs() < 1e-9
        );
    }

    #[test]
    fn a_quotient_is_that_of_the_means_and_its_interval_contains_it() {
        let (base, other) = (of(&[100.0, 130.0, 100.0]), of(&[210.0, 190.0, 260.0]));
        for blocks in [true, false] {
            let Ratio { value, interval, paired } = quotient(&base, &other, blocks).unwrap();
            let (low, high) = interval.unwrap();
            assert!((value - 660.0 / 330.0).abs() < 1e-12 && low < value && value < high && paired == blocks);
            let back = quotient(&other, &base, blocks).unwrap();
            assert!((back.value * value - 1.0).abs() < 1e-12);
            assert!((low * back.interval.unwrap().1 - 1.0).abs() < 1e-9);
        }
        let (base, other) = (of(&[100.0, 50.0, 200.0]), of(&[110.0, 55.0, 220.0]));
        let (low, high) = quotient(&base, &other, true).unwrap().interval.unwrap();
        assert!(high - low < 1e-9, "an effect of a repeat on both cancels");
        assert_eq!(quotient(&of(&[9.0, 9.0]), &of(&[9.0, 0.0]), false), None);
    }

    #[test]
    fn a_single_repeat_has_no_interval_and_an_interval_ends_at_nothing() {
        assert_eq!(of(&[7.0]).interval, None);
        assert_eq!(of(&[1.0, 9.0]).interval.unwrap().0, 0.0);
        assert_eq!(of(&[1.0, 9.0]).median, 5.0);
        assert_eq!(Repeated::of(Vec::new()), None);
    }

    #[test]
    fn a_figure_that_a_complete_trial_lacks_is_not_that_of_the_others() {
        assert_eq!(Known::of([(1, Some(7.0)), (2, None)].into_iter()), Known::Partly);
        assert_eq!(Known::of([(1, None), (2, None)].into_iter()), Known::Nothing);
        assert_eq!(Known::of(std::iter::empty()), Known::Nothing);
        let whole = Known::of([(1, Some(7.0)), (2, Some(9.0))].into_iter());
        assert_eq!(whole.figure().map(|it| it.mean), Some(8.0));
    }

    #[test]
    fn what_a_block_does_to_both_is_not_in_their_ratio() {
        let (base, other) = (of(&[100.0, 50.0, 200.0]), of(&[110.0, 55.0, 220.0]));
        let within = ratio(&base, &other, true).unwrap();
        let (low, high) = within.interval.unwrap();
        assert!((within.value - 1.1).abs() < 1e-12 && high - low < 1e-9 && within.paired);
        let across = ratio(&base, &other, false).unwrap();
        let (low, high) = across.interval.unwrap();
        assert!((across.value - 1.1).abs() < 1e-12 && low < 0.4 && high > 3.0 && !across.paired);
    }

    #[test]
    fn repeats_that_one_of_them_lacks_are_left_out() {
        let base = Repeated::of(vec![(1, 100.0), (3, 100.0)]).unwrap();
        let other = Repeated::of(vec![(1, 200.0), (2, 999.0), (3, 200.0)]).unwrap();
        assert!((ratio(&base, &other, true).unwrap().value - 2.0).abs() < 1e-12);
        assert_eq!(ratio(&of(&[0.0]), &of(&[1.0]), true), None);
        // A repeat that stalled must not be excluded.
        assert_eq!(ratio(&of(&[9.0, 9.0]), &of(&[9.0, 0.0]), true), None);
        assert_eq!(ratio(&of(&[9.0, 9.0]), &of(&[9.0, 0.0]), false), None);
        let alone = ratio(&of(&[1.0]), &of(&[2.0]), true).unwrap();
        assert!((alone.value - 2.0).abs() < 1e-12 && alone.interval.is_none());
    }

    #[test]
    fn a_ratio_is_the_same_read_backwards_and_in_other_units() {
        // For random values: swapping the combinations inverts the ratio, and a common factor cancels.
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1.0 + ((state >> 11) as f64 / (1u64 << 53) as f64) * 1e4
        };
        for _ in 0..500 {
            let (a, b): (Vec<f64>, Vec<f64>) = (0..4).map(|_| (draw(), draw())).unzip();
            let scale = draw();
            let scaled = |values: &[f64]| of(&values.iter().map(|value| value * scale).collect::<Vec<_>>());
            for blocks in [true, false] {
                let there = ratio(&of(&a), &of(&b), blocks).unwrap();
                let back = ratio(&of(&b), &of(&a), blocks).unwrap();
                let same = ratio(&scaled(&a), &scaled(&b), blocks).unwrap();
                let (low, high) = there.interval.unwrap();
                assert!((there.value * back.value - 1.0).abs() < 1e-9);
                assert!((low * back.interval.unwrap().1 - 1.0).abs() < 1e-6);
                assert!((there.value / same.value - 1.0).abs() < 1e-9);
                assert!(low <= there.value && there.value <= high);
            }
        }
    }
}
