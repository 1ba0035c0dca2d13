//! Runs side by side: each against the first, in throughput and latency, and whether the difference can be told from
//! chance.

use results::{Estimate, Latency, Record};

use crate::compare::{Comparison, Difference, Mean, compare};
use crate::figures::{TIE, decimals_for, fixed, latency, percent, rate};
use crate::run::{Run, letter};

/// One run beside the others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComparedRun {
    pub(crate) letter: String,
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) tps: String,
    /// `± 1.2 %`, if there is an interval.
    pub(crate) tps_interval: String,
    /// Against the first run; `None` for the first itself.
    pub(crate) tps_difference: Option<Told>,
    pub(crate) mean_difference: Option<Told>,
    /// `median`, `p95`, `p99` and `p99.9`, each with its change against the first run.
    pub(crate) quantiles: Vec<(String, Option<String>)>,
    pub(crate) failed: String,
}

/// What a difference comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) verdict: Verdict,
    /// `+3.2 %`.
    pub(crate) change: String,
    /// `between +2.1 % and +4.3 %`, or why that cannot be said.
    pub(crate) interval: String,
    /// As a sentence.
    pub(crate) sentence: String,
}

/// Whether the second is better.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Better,
    Worse,
    /// The interval holds 0.
    CannotTell,
    /// There is no interval.
    Unknown,
}

/// All runs against the first.
pub(crate) fn comparison(runs: &[Run<'_>]) -> Vec<ComparedRun> {
    let Some(first) = runs.first() else { return Vec::new() };
    let row = |(at, run): (usize, &Run<'_>)| {
        let base = (at > 0).then_some(first.record);
        ComparedRun {
            letter: letter(at),
            name: crate::prose::harmless(run.name),
            what: format!("{} on {}, {}", run.scripts(), run.server(), run.load_in_short()),
            tps: rate(run.record.summary.tps),
            tps_interval: half_width(run.record),
            tps_difference: base.map(|base| {
                tell(&tps(base), &tps(run.record), Direction::HigherIsBetter, [&letter(0), &letter(at)])
            }),
            mean_difference: base.and_then(|base| {
                let (base, this) = (mean(base)?, mean(run.record)?);
                Some(tell(&base, &this, Direction::LowerIsBetter, [&letter(0), &letter(at)]))
            }),
            quantiles: quantiles(run.record, base),
            failed: percent(
                run.record.summary.counts.failed as f64,
                run.record.summary.counts.scheduled as f64,
            ),
        }
    };
    runs.iter().enumerate().map(row).collect()
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

fn tps(record: &Record) -> Mean {
    Mean { value: record.summary.tps, estimate: record.summary.confidence.tps }
}

fn mean(record: &Record) -> Option<Mean> {
    let value = record.summary.response_us?.mean;
    Some(Mean { value, estimate: record.summary.confidence.response_mean_us })
}

fn half_width(record: &Record) -> String {
    match record.summary.confidence.tps {
        Some(Estimate { low, high, .. }) if record.summary.tps > 0.0 => {
            format!("±{TIE}{}", percent((high - low) / 2.0, record.summary.tps))
        }
        _ => String::new(),
    }
}

fn quantiles(record: &Record, base: Option<&Record>) -> Vec<(String, Option<String>)> {
    const QUANTILES: [fn(&Latency) -> f64; 4] = [|it| it.p50, |it| it.p95, |it| it.p99, |it| it.p999];
    let of =
        |record: &Record, quantile: fn(&Latency) -> f64| record.summary.response_us.as_ref().map(quantile);
    let cell = |quantile: fn(&Latency) -> f64| {
        let us = of(record, quantile);
        let base_us = base.and_then(|base| of(base, quantile));
        let change = us.zip(base_us).filter(|(_, base)| *base > 0.0);
        (us.map_or("—".to_owned(), latency), change.map(|(us, base)| signed_percent((us - base) / base)))
    };
    QUANTILES.into_iter().map(cell).collect()
}

/// Percentages are of the first run's mean.
fn tell(first: &Mean, second: &Mean, direction: Direction, [a, b]: [&str; 2]) -> Told {
    let relative = |difference: f64| if first.value > 0.0 { difference / first.value } else { f64::NAN };
    let shown = |difference: f64| signed_percent(relative(difference));
    let higher_is_better = direction == Direction::HigherIsBetter;
    let (more, less) = if higher_is_better { ("faster", "slower") } else { ("longer", "shorter") };
    let what =
        if higher_is_better { format!("{b} is") } else { format!("On average a transaction of {b} takes") };
    let (verdict, interval, sentence) = match compare(first, second) {
        _ if first.value <= 0.0 => {
            (Verdict::Unknown, String::new(), format!("{a} has nothing to compare {b} with."))
        }
        Comparison::Apart(Difference { mean, low, high }) => {
            let verdict = if (mean > 0.0) == higher_is_better { Verdict::Better } else { Verdict::Worse };
            let word = if mean > 0.0 { more } else { less };
            let size = shown(mean).replace(['+', '−'], "");
            let bounds = format!("between {} and {}", shown(low), shown(high));
            (verdict, bounds.clone(), format!("{what} {size} {word} than {a} ({bounds}, 95{TIE}%)."))
        }
        Comparison::Alike(Difference { low, high, .. }) => {
            let bounds = format!("between {} and {}", shown(low), shown(high));
            let what = if higher_is_better { "faster or slower" } else { "quicker or slower on average" };
            let sentence =
                format!("Whether {b} is {what} than {a} cannot be told: the difference lies {bounds}.");
            (Verdict::CannotTell, bounds, sentence)
        }
        Comparison::Unknown { .. } => {
            let why = "too short for a confidence interval".to_owned();
            let change = shown(second.value - first.value);
            let sentence =
                format!("{b} differs from {a} by {change}, and whether by chance cannot be told: {why}.");
            (Verdict::Unknown, why, sentence)
        }
    };
    Told { verdict, change: shown(second.value - first.value), interval, sentence }
}

/// `+3.2 %`, with a true minus.
pub(crate) fn signed_percent(share: f64) -> String {
    if !share.is_finite() {
        return "—".to_owned();
    }
    let percent = share.abs() * 100.0;
    let decimals = decimals_for(percent, 2).min(2);
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}{TIE}%", fixed(percent, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::untied;

    fn mean_of(value: f64, half: f64) -> Mean {
        let estimate =
            Estimate { low: value - half, high: value + half, degrees_of_freedom: 19, autocorrelation: 0.0 };
        Mean { value, estimate: Some(estimate) }
    }

    fn told(first: &Mean, second: &Mean, direction: Direction) -> (Verdict, String) {
        let Told { verdict, sentence, .. } = tell(first, second, direction, ["A", "B"]);
        (verdict, untied(&sentence))
    }

    #[test]
    fn more_throughput_is_better_and_more_latency_worse() {
        let (low, high) = (mean_of(100.0, 1.0), mean_of(150.0, 1.0));
        let (verdict, sentence) = told(&low, &high, Direction::HigherIsBetter);
        assert_eq!(verdict, Verdict::Better);
        assert_eq!(sentence, "B is 50 % faster than A (between +49 % and +51 %, 95 %).");
        let (verdict, sentence) = told(&low, &high, Direction::LowerIsBetter);
        assert_eq!(verdict, Verdict::Worse);
        assert_eq!(
            sentence,
            "On average a transaction of B takes 50 % longer than A (between +49 % and +51 %, 95 %)."
        );
        assert_eq!(told(&high, &low, Direction::HigherIsBetter).0, Verdict::Worse);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let (verdict, sentence) = told(&mean_of(100.0, 9.0), &mean_of(101.0, 9.0), Direction::HigherIsBetter);
        assert_eq!(verdict, Verdict::CannotTell);
        assert!(sentence.starts_with("Whether B is faster or slower than A cannot be told"), "{sentence}");
        let nothing = Mean { value: 100.0, estimate: None };
        let (verdict, sentence) = told(&nothing, &mean_of(101.0, 1.0), Direction::HigherIsBetter);
        assert_eq!(verdict, Verdict::Unknown);
        assert!(sentence.contains("too short"), "{sentence}");
        let zero = Mean { value: 0.0, estimate: None };
        assert_eq!(told(&zero, &nothing, Direction::HigherIsBetter).0, Verdict::Unknown);
    }

    #[test]
    fn a_change_has_a_sign() {
        for (share, shown) in [(0.0321, "+3.2 %"), (-0.5, "−50 %"), (f64::NAN, "—"), (12.3, "+1,230 %")] {
            assert_eq!(untied(&signed_percent(share)), shown);
        }
    }
}
