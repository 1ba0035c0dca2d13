//! Runs side by side: each compared with the first, in throughput and latency, and whether the difference may be chance.
//! The statistics are in `compare`; `document` shows the result.

use results::{Interval, Record};
use stats::CONFIDENCE;

use super::{Run, letter};
use crate::compare::{Comparison, Difference, Mean, compare};
use crate::figures::{TIE, UNKNOWN_SIZE, as_asked, decimals_for, fixed, half_width, number, percent};
use crate::metrics::Metric;

const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// One run beside the others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ComparedRun {
    pub(super) letter: String,
    pub(super) name: String,
    /// Scripts, server and load.
    pub(super) description: String,
    pub(super) tps: f64,
    /// Half of the 95 % interval, as a share of the throughput.
    pub(super) plus_minus: Option<f64>,
    pub(super) tps_difference: Option<Told>,
    pub(super) mean_us: Option<f64>,
    pub(super) mean_difference: Option<Told>,
    /// p50, p95, p99 and p99.9, each with its change from the first run.
    pub(super) quantiles: Vec<(Option<f64>, String)>,
    pub(super) failed: String,
    pub(super) skipped: String,
    pub(super) late_or_skipped: String,
}

/// The percentiles of [`ComparedRun::quantiles`].
pub(super) const QUANTILES: [Metric; 4] = [Metric::P50, Metric::P95, Metric::P99, Metric::P999];

/// What a difference comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) verdict: DifferenceVerdict,
    /// `+3.2 %`.
    pub(super) change: String,
    /// `between +2.1 % and +4.3 %`, or why that cannot be said.
    pub(super) interval: String,
    /// As a sentence; `None` where there is nothing to say.
    pub(super) sentence: Option<String>,
}

/// Whether the second is better.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum DifferenceVerdict {
    Better,
    Worse,
    /// The interval holds 0.
    CannotTell,
    /// There is no interval.
    Unknown,
}

/// All runs, each compared with the first.
pub(super) fn comparison(runs: &[Run<'_>]) -> Vec<ComparedRun> {
    let Some(first) = runs.first() else { return Vec::new() };
    let row = |(at, run): (usize, &Run<'_>)| {
        let record = run.record;
        let base = (at > 0).then_some(first.record);
        let names = [&*letter(0), &*letter(at)];
        let counts = &record.summary.counts;
        let of_scheduled = |number: u64| percent(number as f64, counts.scheduled as f64);
        let interval = record.summary.confidence.tps.filter(|_| record.summary.tps > 0.0);
        ComparedRun {
            letter: letter(at),
            name: run.name_with_label(),
            description: format!("{} on {}, {}", run.scripts(), run.server(), run.load_in_short()),
            tps: record.summary.tps,
            plus_minus: interval
                .map(|it| half_width(record.summary.tps, it.low, it.high) / record.summary.tps),
            tps_difference: base.map(|base| throughput_against(base, record, names)),
            mean_us: Metric::Mean.of(record),
            mean_difference: base.and_then(|base| latency_against(base, record, names)),
            quantiles: QUANTILES.iter().map(|metric| quantile(*metric, record, base)).collect(),
            failed: of_scheduled(counts.failed),
            skipped: of_scheduled(counts.skipped),
            late_or_skipped: Metric::LateOrSkipped.shown(record).unwrap_or_else(|| "—".to_owned()),
        }
    };
    runs.iter().enumerate().map(row).collect()
}

fn quantile(metric: Metric, record: &Record, base: Option<&Record>) -> (Option<f64>, String) {
    let us = metric.of(record);
    let base_us = base.and_then(|base| metric.of(base)).filter(|base| *base > 0.0);
    let change = us.zip(base_us).map(|(us, base)| signed_percent((us - base) / base));
    (us, change.unwrap_or_default())
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Direction {
    HigherIsBetter,
    LowerIsBetter,
}

/// Under a rate throughput is what was asked for: then it says nothing of who is faster.
fn throughput_against(first: &Record, second: &Record, names: [&str; 2]) -> Told {
    let [a, b] = names;
    if !same_scripts(first, second) {
        let why = format!("{a} and {b} ran different scripts, so neither can be called faster.");
        return Told { sentence: Some(why), ..unjudged(&tps(first), &tps(second), "different scripts") };
    }
    let asked = |(name, record): (&str, &Record)| {
        Some(format!("{name} was asked for {}{TIE}tps", as_asked(record.plan.rate_tps?)))
    };
    let asked: Vec<String> = [(a, first), (b, second)].into_iter().filter_map(asked).collect();
    if asked.is_empty() {
        return tell(&tps(first), &tps(second), Direction::HigherIsBetter, names);
    }
    let sentence = format!(
        "The throughput of {b} is not compared with that of {a}: {}.",
        crate::prose::enumerate(&asked)
    );
    let told = unjudged(&tps(first), &tps(second), "a rate was asked for");
    Told { change: "—".to_owned(), sentence: Some(sentence), ..told }
}

fn latency_against(first: &Record, second: &Record, names: [&str; 2]) -> Option<Told> {
    let (first_mean, second_mean) = (mean(first)?, mean(second)?);
    // The variation within a run is known of its succeeded transactions only.
    let all_succeeded = |record: &Record| record.summary.response_of_succeeded_us().is_none();
    Some(if !same_scripts(first, second) {
        unjudged(&first_mean, &second_mean, "different scripts")
    } else if !all_succeeded(first) || !all_succeeded(second) {
        unjudged(&first_mean, &second_mean, "not all transactions succeeded")
    } else {
        tell(&first_mean, &second_mean, Direction::LowerIsBetter, names)
    })
}

/// A change without a verdict.
fn unjudged(first: &Mean, second: &Mean, why: &str) -> Told {
    let share = if first.value > 0.0 { (second.value - first.value) / first.value } else { f64::NAN };
    Told {
        verdict: DifferenceVerdict::Unknown,
        change: signed_percent(share),
        interval: why.to_owned(),
        sentence: None,
    }
}

/// Whether two runs did the same: the same texts in the same shares, in any order.
fn same_scripts(first: &Record, second: &Record) -> bool {
    let mix = |record: &Record| {
        let scripts = &record.plan.scripts;
        let weight = |weight: u32| if scripts.len() == 1 { 1 } else { weight };
        let name =
            |script: &results::Script| if script.builtin { script.name.clone() } else { String::new() };
        let text =
            |script: &results::Script| if script.builtin { String::new() } else { script.text.clone() };
        let mut mix: Vec<_> = scripts.iter().map(|it| (name(it), text(it), weight(it.weight))).collect();
        mix.sort_unstable();
        mix
    };
    mix(first) == mix(second)
}

fn tps(record: &Record) -> Mean {
    let seconds = whole_seconds(record)
        .map(|interval| interval.counts.succeeded as f64 / (interval.end_s - interval.start_s));
    Mean { value: record.summary.tps, estimate: record.summary.confidence.tps, seconds: seconds.collect() }
}

fn mean(record: &Record) -> Option<Mean> {
    let value = record.summary.response_of_all_us()?.mean;
    let seconds = whole_seconds(record).filter_map(|interval| {
        let responses = interval.scripts.iter().map(|script| &script.response);
        let (count, sum_ns) =
            responses.fold((0, 0), |(count, sum), response| (count + response.count, sum + response.sum_ns));
        (count > 0).then(|| sum_ns as f64 / count as f64 / NANOSECONDS_PER_MICROSECOND)
    });
    let estimate = record.summary.confidence.response_mean_us;
    Some(Mean { value, estimate, seconds: seconds.collect() })
}

/// An interval below this is a rest.
const SECOND_MIN_S: f64 = 0.9;

/// The intervals of a run without the rest at its end, whose few transactions say little.
fn whole_seconds(record: &Record) -> impl Iterator<Item = &Interval> {
    record.intervals.iter().filter(|interval| interval.end_s - interval.start_s >= SECOND_MIN_S)
}

/// Percentages are of the first run's mean. No figure can fall by more than all of it: bounds end at −100 %.
fn tell(first: &Mean, second: &Mean, direction: Direction, [a, b]: [&str; 2]) -> Told {
    let relative = |difference: f64| if first.value > 0.0 { difference / first.value } else { f64::NAN };
    let shown = |difference: f64| signed_percent(relative(difference).max(-1.0));
    let bounds = |low: f64, high: f64| format!("between {} and {}", shown(low), shown(high));
    let higher_is_better = direction == Direction::HigherIsBetter;
    let metric = match direction {
        Direction::HigherIsBetter => "throughput",
        Direction::LowerIsBetter => "mean latency",
    };
    let (verdict, interval, sentence) = match compare(first, second) {
        _ if first.value <= 0.0 => {
            let sentence = format!("{a} has no {metric} to compare that of {b} with.");
            (DifferenceVerdict::Unknown, String::new(), sentence)
        }
        Comparison::Apart(Difference { mean, low, high }) => {
            let verdict = if (mean > 0.0) == higher_is_better {
                DifferenceVerdict::Better
            } else {
                DifferenceVerdict::Worse
            };
            let bounds = bounds(low, high);
            (
                verdict,
                bounds.clone(),
                format!("{} ({bounds}, 95{TIE}%).", apart(relative(mean), direction, [a, b])),
            )
        }
        Comparison::Alike(Difference { low, high, .. }) => {
            let sure =
                if relative(high - low) / 2.0 < 1.0 { bounds(low, high) } else { UNKNOWN_SIZE.to_owned() };
            let lies = if sure == UNKNOWN_SIZE { "is" } else { "lies" };
            let sentence =
                format!("The difference between {a} and {b} in {metric} is inconclusive: it {lies} {sure}.");
            (DifferenceVerdict::CannotTell, sure, sentence)
        }
        Comparison::Unknown { difference, p: Some(p) } if p <= 1.0 - CONFIDENCE => {
            let verdict = if (difference > 0.0) == higher_is_better {
                DifferenceVerdict::Better
            } else {
                DifferenceVerdict::Worse
            };
            let test = format!("permutation test over one-second blocks, {}", p_value(p));
            let sentence = format!(
                "{} ({test}; it assumes that seconds are independent of each other).",
                apart(relative(difference), direction, [a, b])
            );
            (verdict, p_value(p), sentence)
        }
        Comparison::Unknown { p, .. } => {
            let is_long = |mean: &Mean| mean.estimate.is_none() && !mean.is_short();
            let why = match p {
                Some(p) => format!("{} in a permutation test over one-second blocks", p_value(p)),
                None if is_long(first) || is_long(second) => {
                    "too unsteady for a confidence interval".to_owned()
                }
                None => "too short for a confidence interval".to_owned(),
            };
            let change = shown(second.value - first.value);
            let sentence = format!(
                "The {metric} of {b} differs from that of {a} by {change}, which may be chance: {why}."
            );
            (DifferenceVerdict::Unknown, why, sentence)
        }
    };
    Told { verdict, change: shown(second.value - first.value), interval, sentence: Some(sentence) }
}

/// A change by this factor or more is told as a factor: `× 148` says more than `+14,742 %`, and `÷ 79` than `−99 %`.
const FACTOR_MIN: f64 = 10.0;

/// How much more or less the second figure is, as half a sentence.
fn apart(share: f64, direction: Direction, [a, b]: [&str; 2]) -> String {
    let is_more = share > 0.0;
    match (direction, factor(share)) {
        (Direction::HigherIsBetter, Some(factor)) => {
            let word = if is_more { "higher" } else { "lower" };
            format!("The throughput of {b} is {factor} times {word} than that of {a}")
        }
        (Direction::LowerIsBetter, Some(factor)) => {
            let word = if is_more { "longer" } else { "shorter" };
            format!("On average a transaction of {b} takes {factor} times {word} than one of {a}")
        }
        (Direction::HigherIsBetter, None) => {
            let word = if is_more { "faster" } else { "slower" };
            format!("{b} is {} {word} than {a} in throughput", unsigned_percent(share))
        }
        (Direction::LowerIsBetter, None) => {
            let word = if is_more { "longer" } else { "shorter" };
            format!("On average a transaction of {b} takes {} {word} than {a}", unsigned_percent(share))
        }
    }
}

/// The factor of a large change, as text.
fn factor(share: f64) -> Option<String> {
    let ratio = 1.0 + share;
    let factor = if share > 0.0 { ratio } else { 1.0 / ratio };
    (factor.is_finite() && factor >= FACTOR_MIN).then(|| fixed(factor, decimals_for(factor, 2)))
}

/// `p = 0.012` or `p < 0.001`.
fn p_value(p: f64) -> String {
    let text = number(p);
    if text.starts_with('<') { format!("p{TIE}{text}") } else { format!("p{TIE}={TIE}{text}") }
}

fn unsigned_percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    format!("{}{TIE}%", fixed(percent, decimals_for(percent, 2).min(2)))
}

/// `+3.2 %`, with a true minus; a factor where the change is large.
pub(super) fn signed_percent(share: f64) -> String {
    if !share.is_finite() {
        return "—".to_owned();
    }
    if let Some(factor) = factor(share) {
        return format!("{}{TIE}{factor}", if share < 0.0 { '÷' } else { '×' });
    }
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, unsigned_percent(share))
}

#[cfg(test)]
mod tests {
    use results::Estimate;

    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn mean_of(value: f64, half: f64) -> Mean {
        let estimate =
            Estimate { low: value - half, high: value + half, degrees_of_freedom: 19, autocorrelation: 0.0 };
        Mean { value, estimate: Some(estimate), seconds: Vec::new() }
    }

    fn told(first: &Mean, second: &Mean, direction: Direction) -> (DifferenceVerdict, String) {
        let Told { verdict, sentence, .. } = tell(first, second, direction, ["A", "B"]);
        (verdict, with_ordinary_spaces(&sentence.unwrap_or_default()))
    }

    #[test]
    fn more_throughput_is_better_and_more_latency_worse() {
        let (low, high) = (mean_of(100.0, 1.0), mean_of(150.0, 1.0));
        let (verdict, sentence) = told(&low, &high, Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Better);
        assert_eq!(sentence, "B is 50 % faster than A in throughput (between +49 % and +51 %, 95 %).");
        let (verdict, sentence) = told(&low, &high, Direction::LowerIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Worse);
        assert_eq!(
            sentence,
            "On average a transaction of B takes 50 % longer than A (between +49 % and +51 %, 95 %)."
        );
        assert_eq!(told(&high, &low, Direction::HigherIsBetter).0, DifferenceVerdict::Worse);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let (verdict, sentence) = told(&mean_of(100.0, 9.0), &mean_of(101.0, 9.0), Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::CannotTell);
        assert!(
            sentence.starts_with("The difference between A and B in throughput is inconclusive"),
            "{sentence}"
        );
        let nothing = Mean { value: 100.0, estimate: None, seconds: Vec::new() };
        let (verdict, sentence) = told(&nothing, &mean_of(101.0, 1.0), Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Unknown);
        assert!(sentence.contains("too short"), "{sentence}");
        let zero = Mean { value: 0.0, estimate: None, seconds: Vec::new() };
        assert_eq!(told(&zero, &nothing, Direction::HigherIsBetter).0, DifferenceVerdict::Unknown);
    }

    #[test]
    fn each_sentence_names_its_metric_and_no_bound_is_impossible() {
        let nothing = Mean { value: 100.0, estimate: None, seconds: Vec::new() };
        for (direction, metric) in
            [(Direction::HigherIsBetter, "throughput"), (Direction::LowerIsBetter, "mean latency")]
        {
            let (_, sentence) = told(&nothing, &mean_of(101.0, 1.0), direction);
            assert!(sentence.starts_with(&format!("The {metric} of B differs from that of A by +1.0 %")));
            let (_, sentence) = told(&mean_of(100.0, 90.0), &mean_of(50.0, 40.0), direction);
            assert!(sentence.contains(metric) && sentence.contains("between −100 % and"), "{sentence}");
            let (verdict, sentence) = told(&mean_of(100.0, 900.0), &mean_of(101.0, 9.0), direction);
            assert_eq!(verdict, DifferenceVerdict::CannotTell);
            assert!(sentence.contains("it is known to no better than ± 100 %"), "{sentence}");
        }
        assert!(
            told(&mean_of(100.0, 1.0), &mean_of(5.0, 9.0), Direction::LowerIsBetter).1.contains("−100 % and")
        );
    }

    #[test]
    fn short_runs_that_are_far_apart_differ() {
        let short = |value: f64| Mean { value, estimate: None, seconds: vec![value; 6] };
        let (verdict, sentence) = told(&short(1.0), &short(100.0), Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Better);
        assert_eq!(
            sentence,
            "The throughput of B is 100 times higher than that of A (permutation test over one-second blocks, p = 0.002; it assumes \
             that seconds are independent of each other)."
        );
        assert_eq!(told(&short(1.0), &short(1.0), Direction::LowerIsBetter).0, DifferenceVerdict::Unknown);
    }

    #[test]
    fn a_change_has_a_sign() {
        for (share, shown) in [
            (0.0321, "+3.2 %"),
            (-0.5, "−50 %"),
            (f64::NAN, "—"),
            (12.3, "× 13"),
            (-0.95, "÷ 20"),
            (-1.0, "−100 %"),
        ] {
            assert_eq!(with_ordinary_spaces(&signed_percent(share)), shown);
        }
    }
}
