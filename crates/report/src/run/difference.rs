//! Runs side by side: each compared with the first, in throughput and latency, and whether the difference may be chance.
//! The statistics are in `compare`; `document` shows the result.

use results::{Interval, Record};
use stats::CONFIDENCE;

use super::Run;
use super::labels::labels;
use crate::compare::{Comparison, Difference, Mean, compare};
use crate::figures::{TIE, UNKNOWN_SIZE, half_width, number, percent};
use crate::forest::{BETTER_OR_WORSE, EffectVerdict, Forest, ForestRow};
use crate::metrics::Metric;
use crate::prose::escaped_line;
use crate::ratios;

const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// Rows of the forest plot; the table has all runs.
const ROWS_MAX: usize = 40;

/// Each run beside the first: throughput, the mean and percentiles.
pub(super) fn forest(compared: &[ComparedRun]) -> Option<Forest> {
    let (first, others) = compared.split_first()?;
    let is_pair = others.len() == 1;
    let name = |metric: &str, run: &ComparedRun| match is_pair {
        true => metric.to_owned(),
        false => format!("{metric} of {}", run.label),
    };
    let of_told = |metric: &str, run: &ComparedRun, told: &Told| {
        let name = name(metric, run);
        match told.ratio {
            None => ForestRow::unknown(name, told.interval.clone()),
            Some(ratio) => {
                let verdict = match (told.verdict, told.bounds) {
                    (DifferenceVerdict::Better, Some(_)) => EffectVerdict::Better,
                    (DifferenceVerdict::Worse, Some(_)) => EffectVerdict::Worse,
                    (DifferenceVerdict::CannotTell, Some(_)) => EffectVerdict::Inconclusive,
                    _ => EffectVerdict::NotJudged,
                };
                ForestRow::new(name, ratio, told.bounds, verdict)
            }
        }
    };
    let quantile = |at: usize, run: &ComparedRun| {
        let (of_first, us) = (first.quantiles[at].0?, run.quantiles[at].0?);
        let ratio = us / of_first;
        let row = || {
            ForestRow::new(
                name(Metric::FIRST_LATENCIES[at].row().label, run),
                ratio,
                None,
                EffectVerdict::NotJudged,
            )
        };
        (ratio.is_finite() && ratio > 0.0).then(row)
    };
    let mut rows: Vec<ForestRow> = Vec::new();
    rows.extend(others.iter().filter_map(|run| Some(of_told("tps", run, run.tps_difference.as_ref()?))));
    rows.extend(others.iter().filter_map(|run| Some(of_told("mean", run, run.mean_difference.as_ref()?))));
    let quantiles = if is_pair { 0..Metric::FIRST_LATENCIES.len() } else { 0..0 };
    rows.extend(quantiles.flat_map(|at| others.iter().filter_map(move |run| quantile(at, run))));
    rows.truncate(ROWS_MAX);
    let of = if is_pair { others[0].label.as_str() } else { "each run" };
    (!rows.is_empty()).then(|| Forest {
        title: "Difference".to_owned(),
        caption: format!(
            "{of} ÷ {}, logarithmic, with 95{TIE}% intervals of the variation within the runs",
            first.label
        ),
        rows,
        tolerance: None,
        words: BETTER_OR_WORSE,
    })
}

/// One run beside the others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ComparedRun {
    /// Short, and unlike those of the others.
    pub(super) label: String,
    pub(super) name: String,
    /// Scripts, server and load.
    pub(super) description: String,
    pub(super) tps: f64,
    /// Half of the 95 % interval, as a share of the throughput.
    pub(super) plus_minus: Option<f64>,
    pub(super) tps_difference: Option<Told>,
    pub(super) mean_us: Option<f64>,
    pub(super) mean_difference: Option<Told>,
    /// p50, p90, p99, p99.9 and the maximum, each with its change from the first run.
    pub(super) quantiles: Vec<(Option<f64>, String)>,
    pub(super) failed: String,
    pub(super) skipped: String,
    pub(super) late_or_skipped: String,
}

/// What a difference comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// The second figure ÷ the first; `None` if the first has none.
    pub(super) ratio: Option<f64>,
    /// At 95 %, if there is an interval.
    pub(super) bounds: Option<(f64, f64)>,
    pub(super) verdict: DifferenceVerdict,
    /// `×1.032`.
    pub(super) change: String,
    /// `1.021 … 1.043`, or why that cannot be said.
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
    let labels = labels(runs);
    let row = |(at, run): (usize, &Run<'_>)| {
        let record = run.record;
        let base = (at > 0).then_some(first.record);
        let names = [&*labels[0], &*labels[at]];
        let counts = &record.summary.counts;
        let of_scheduled = |number: u64| percent(number as f64, counts.scheduled as f64);
        let interval = record.summary.confidence.tps.filter(|_| record.summary.tps > 0.0);
        ComparedRun {
            label: labels[at].clone(),
            name: escaped_line(run.name),
            description: format!("{} on {}, {}", run.scripts(), run.server(), run.load_in_short()),
            tps: record.summary.tps,
            plus_minus: interval
                .map(|it| half_width(record.summary.tps, it.low, it.high) / record.summary.tps),
            tps_difference: base.map(|base| throughput_against(base, record, names)),
            mean_us: Metric::Mean.of(record),
            mean_difference: base.and_then(|base| latency_against(base, record, names)),
            quantiles: Metric::FIRST_LATENCIES.iter().map(|metric| quantile(*metric, record, base)).collect(),
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
    let change = us.zip(base_us).map(|(us, base)| ratios::value(us / base, None));
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
        Some(format!("{name} was asked for {}{TIE}tps", crate::wording::scheduled(&record.plan)?))
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
    Told { ratio: None, change: "—".to_owned(), sentence: Some(sentence), ..told }
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
    let ratio = ratio_of(first, second);
    Told {
        ratio,
        bounds: None,
        verdict: DifferenceVerdict::Unknown,
        change: ratio.map_or("—".to_owned(), |ratio| ratios::value(ratio, None)),
        interval: why.to_owned(),
        sentence: None,
    }
}

fn ratio_of(first: &Mean, second: &Mean) -> Option<f64> {
    (first.value > 0.0 && second.value > 0.0).then_some(second.value / first.value)
}

/// Whether two runs did the same: the same texts in the same shares, in any order.
pub(super) fn same_scripts(first: &Record, second: &Record) -> bool {
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

/// Ratios to the first run's mean. No figure can fall by more than all of it: bounds end at 0.
fn tell(first: &Mean, second: &Mean, direction: Direction, [a, b]: [&str; 2]) -> Told {
    let relative =
        |difference: f64| 1.0 + if first.value > 0.0 { difference / first.value } else { f64::NAN };
    let higher_is_better = direction == Direction::HigherIsBetter;
    let metric = match direction {
        Direction::HigherIsBetter => "throughput",
        Direction::LowerIsBetter => "mean latency",
    };
    let better = |difference: f64| match (difference > 0.0) == higher_is_better {
        true => DifferenceVerdict::Better,
        false => DifferenceVerdict::Worse,
    };
    let ratio = ratio_of(first, second);
    let range = |bounds| ratio.and_then(|ratio| ratios::range(ratio, Some(bounds))).unwrap_or_default();
    let unknown = |sentence: String, interval: String| (DifferenceVerdict::Unknown, None, interval, sentence);
    let (verdict, bounds, interval, sentence) = match compare(first, second) {
        _ if first.value <= 0.0 => {
            unknown(format!("{a} has no {metric} to compare that of {b} with."), String::new())
        }
        Comparison::Apart(Difference { mean, low, high }) => {
            let bounds = (relative(low).max(0.0), relative(high));
            let sentence = format!("{}.", apart(relative(mean), Some(bounds), direction, [a, b]));
            (better(mean), Some(bounds), range(bounds), sentence)
        }
        Comparison::Alike(Difference { low, high, .. }) => {
            let bounds = (relative(low).max(0.0), relative(high));
            let is_known = high - low < 2.0 * first.value;
            let shown = ratio.filter(|_| is_known).map(|ratio| ratios::ratio(ratio, Some(bounds)));
            let sure = if is_known { range(bounds) } else { UNKNOWN_SIZE.to_owned() };
            let is = shown.unwrap_or_else(|| UNKNOWN_SIZE.to_owned());
            let sentence = format!("Whether {a} and {b} differ in {metric} is inconclusive: {is}.");
            (DifferenceVerdict::CannotTell, is_known.then_some(bounds), sure, sentence)
        }
        Comparison::Unknown { difference, p: Some(p) } if p <= 1.0 - CONFIDENCE => {
            let what = apart(relative(difference), None, direction, [a, b]);
            let sentence = format!("{what} ({} in a permutation test over its seconds).", p_value(p));
            (better(difference), None, p_value(p), sentence)
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
            let change = ratio.map_or("—".to_owned(), |ratio| ratios::value(ratio, None));
            let sentence =
                format!("The {metric} of {b} is {change} that of {a}, which may be chance: {why}.");
            unknown(sentence, why)
        }
    };
    let change = ratio.map_or("—".to_owned(), |ratio| ratios::value(ratio, bounds));
    Told { ratio, bounds, verdict, change, interval, sentence: Some(sentence) }
}

/// The direction and its size, as a sentence without its end.
fn apart(ratio: f64, bounds: Option<(f64, f64)>, direction: Direction, [a, b]: [&str; 2]) -> String {
    let is_more = ratio > 1.0;
    let factor = ratios::factor_in_words(ratio, bounds);
    let shown = || ratios::ratio(ratio, bounds);
    match (direction, ratios::size(ratio, bounds)) {
        (Direction::HigherIsBetter, Some(size)) => {
            let word = if is_more { "faster" } else { "slower" };
            format!("{b} is {size} {word} than {a}: throughput {}", shown())
        }
        (Direction::HigherIsBetter, None) if is_more => {
            let (factor, range) = factor.split_once(' ').unwrap_or((&factor, ""));
            format!("{b} is {factor} times as fast as {a} {range}").trim_end().to_owned()
        }
        (Direction::HigherIsBetter, None) => format!("{b} is slower than {a} by a factor of {factor}"),
        (Direction::LowerIsBetter, Some(size)) => {
            let word = if is_more { "longer" } else { "shorter" };
            format!("Transactions of {b} take {size} {word} than those of {a}: mean {}", shown())
        }
        (Direction::LowerIsBetter, None) => {
            let word = if is_more { "longer" } else { "shorter" };
            format!("Transactions of {b} take {word} than those of {a} by a factor of {factor}")
        }
    }
}

/// `p = 0.012` or `p < 0.001`.
fn p_value(p: f64) -> String {
    let text = number(p);
    if text.starts_with('<') { format!("p{TIE}{text}") } else { format!("p{TIE}={TIE}{text}") }
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
        assert_eq!(sentence, "B is 50.0 % faster than A: throughput ×1.500 (1.486 … 1.514).");
        let (verdict, sentence) = told(&low, &high, Direction::LowerIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Worse);
        assert_eq!(
            sentence,
            "Transactions of B take 50.0 % longer than those of A: mean ×1.500 (1.486 … 1.514)."
        );
        assert_eq!(told(&high, &low, Direction::HigherIsBetter).0, DifferenceVerdict::Worse);
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        let (verdict, sentence) = told(&mean_of(100.0, 9.0), &mean_of(101.0, 9.0), Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::CannotTell);
        assert!(sentence.starts_with("Whether A and B differ in throughput is inconclusive"), "{sentence}");
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
            assert!(
                sentence.starts_with(&format!("The {metric} of B is ×1.01 that of A, which may be chance"))
            );
            let (_, sentence) = told(&mean_of(100.0, 90.0), &mean_of(50.0, 40.0), direction);
            assert!(sentence.contains(metric) && sentence.contains("(0.00 … "), "{sentence}");
            let (verdict, sentence) = told(&mean_of(100.0, 900.0), &mean_of(101.0, 9.0), direction);
            assert_eq!(verdict, DifferenceVerdict::CannotTell);
            assert!(sentence.contains("known to no better than ± 100 %"), "{sentence}");
        }
        assert!(
            told(&mean_of(100.0, 1.0), &mean_of(5.0, 9.0), Direction::LowerIsBetter)
                .1
                .contains("by a factor of 20")
        );
    }

    #[test]
    fn short_runs_that_are_far_apart_differ() {
        let short = |value: f64| Mean { value, estimate: None, seconds: vec![value; 6] };
        let (verdict, sentence) = told(&short(1.0), &short(100.0), Direction::HigherIsBetter);
        assert_eq!(verdict, DifferenceVerdict::Better);
        assert_eq!(
            sentence,
            "B is 100 times as fast as A (p = 0.002 in a permutation test over its seconds)."
        );
        assert_eq!(told(&short(1.0), &short(1.0), Direction::LowerIsBetter).0, DifferenceVerdict::Unknown);
    }
}
