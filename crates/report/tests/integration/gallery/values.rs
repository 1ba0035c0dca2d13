//! Every chart of every page of the gallery is read by the keyboard, and the values are those of the records: of the JSON
//! for programs, or computed here from the records themselves. One browser reads each page in one request.

use std::collections::BTreeMap;

use results::{ComparisonRecord, Interval, Record};
use serde_json::Value;
use stats::{CONFIDENCE, Distribution, SampleMean};

use super::{Exhibit, exhibits};
use crate::pages::browser::browser;
use crate::pages::keyboard::{self, Read};

/// Charts whose values are estimates that no record and no JSON holds. They are read too; what they show is compared
/// where it is computed.
const ESTIMATES: [&str; 3] = [
    // Of runs side by side: tests of `compare`.
    "Difference",
    // Of a comparison that had ended earlier: tests of `comparison::charts`.
    "The throughput with its interval",
    // Of runs and experiments over clients: tests of `stats::scalability` and `models`.
    "Models of the throughput",
];

/// Pages whose charts are read after each change. What the keys read of a long run is compared with its record in
/// `pages::keyboard`.
const READ_AFTER_CHANGE: [&str; 5] =
    ["run-short", "runs-two", "comparison-clear", "experiment-6", "queries-22"];

/// Five digits are on the page.
const TOLERANCE: f64 = 2e-4;

/// Numbers that are looked up by their size.
struct Known(Vec<f64>);

impl Known {
    fn new(mut numbers: Vec<f64>) -> Known {
        numbers.retain(|number| number.is_finite());
        numbers.sort_by(f64::total_cmp);
        Known(numbers)
    }

    fn has(&self, value: f64) -> bool {
        let width = (value.abs() * TOLERANCE).max(1e-9);
        let at = self.0.partition_point(|number| *number < value - width);
        self.0.get(at).is_some_and(|number| *number <= value + width)
    }
}

fn numbers(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
        Value::Object(values) => values.values().for_each(|value| numbers(value, found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// What the charts of runs show of their records.
pub(super) fn of_runs(runs: &[(String, Record)]) -> Vec<f64> {
    let mut found = Vec::new();
    for (_, record) in runs {
        numbers(&serde_json::to_value(record).expect("it is JSON"), &mut found);
        of_times(&record.intervals, &mut found);
        // Figures are in µs, limits in ns; shares have no unit.
        let shares = record.summary.goals.iter().flat_map(|result| {
            let figures = [result.value, result.low, result.high].into_iter().flatten();
            figures.flat_map(|figure| [figure * 1e3 / result.goal.limit, figure / result.goal.limit])
        });
        found.extend(shares);
    }
    of_repeats(runs, &mut found);
    found
}

/// Means over the runs of one number of clients, with their intervals.
fn of_repeats(runs: &[(String, Record)], found: &mut Vec<f64>) {
    let mut by_clients: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for (_, record) in runs {
        let [tps, latencies] = by_clients.entry(record.plan.clients).or_default();
        tps.push(record.summary.tps);
        latencies.extend(record.summary.response_of_all_us().map(|us| us.mean));
    }
    for mean in by_clients.values().flatten().filter_map(|values| SampleMean::of(values)) {
        let (low, high) = mean.interval(CONFIDENCE).unwrap_or((mean.mean, mean.mean));
        found.extend([mean.mean, low, high]);
    }
}

/// Points of a chart over time, at most.
const POINTS_MAX: usize = 300;
/// Of the curve of percentiles, for each tenth of the transactions that is left.
const POINTS_PER_DECADE: f64 = 24.0;

/// Throughput, quantiles and numbers of transactions in each second, or in as many as a point has.
fn of_times(intervals: &[Interval], found: &mut Vec<f64>) {
    let merged = |intervals: &[Interval]| {
        let mut merged = Distribution::new();
        let scripts = intervals.iter().flat_map(|interval| &interval.scripts);
        scripts.for_each(|script| merged.merge(&script.response.decode().expect("it is whole")));
        merged
    };
    let us = |times: &Distribution, quantile| times.quantile_ns(quantile).map(|ns| ns as f64 / 1e3);
    for part in intervals.chunks(intervals.len().div_ceil(POINTS_MAX).max(1)) {
        let times = merged(part);
        found.extend([0.5, 0.95, 0.99, 0.999, 1.0].into_iter().filter_map(|quantile| us(&times, quantile)));
        let length_s: f64 = part.iter().map(|interval| interval.end_s - interval.start_s).sum();
        let sum = |of: fn(&Interval) -> u64| part.iter().map(of).sum::<u64>() as f64 / length_s;
        found.extend([
            sum(|it| it.counts.succeeded),
            sum(|it| it.counts.failed),
            sum(|it| it.counts.skipped),
        ]);
    }
    let all = merged(intervals);
    found.push(all.count() as f64);
    let tails = (0..=400).map(|step| 10f64.powf(f64::from(step) / POINTS_PER_DECADE)).chain([2.0]);
    found.extend(tails.filter_map(|tail| us(&all, 1.0 - 1.0 / tail)));
}

/// The numbers of a JSON in another unit.
pub(super) fn of_json(json: &str, factor: f64) -> Vec<f64> {
    let mut found = Vec::new();
    numbers(&serde_json::from_str(json).expect("it is JSON"), &mut found);
    found.into_iter().map(|number| number * factor).collect()
}

/// The accepted suites of each version, with and without a weakness.
pub(super) fn of_scan(scan: &tls_scan::Scan) -> Vec<f64> {
    let way = &scan.ways[0];
    let is_weak = |name: &String| scan.weaknesses.iter().any(|weakness| weakness.subjects.contains(name));
    let number = |version, weak: bool| {
        let suites = way.accepted_suites();
        suites.filter(|(suite, it)| it.version == version && is_weak(&suite.name) == weak).count() as f64
    };
    let versions = way.accepted_versions().collect::<Vec<_>>().into_iter();
    versions.flat_map(|version| [number(version, false), number(version, true)]).collect()
}

/// B ÷ A of each pair.
pub(super) fn of_comparison(record: &ComparisonRecord) -> Vec<f64> {
    let ratio = |pair: &results::ComparedPair| Some(pair.pair().ln_ratio(record.method.decisive)?.exp());
    record.pairs.iter().filter_map(ratio).collect()
}

/// The values of a chart as its page has them.
fn values(read: &Read) -> Vec<f64> {
    let mut found = Vec::new();
    for series in read.values["series"].as_array().into_iter().flatten() {
        // The sum of those that have no layer of their own.
        if series["label"].as_str().is_some_and(|label| label.ends_with("other kinds")) {
            continue;
        }
        numbers(&series["values"], &mut found);
        numbers(&series["intervals"], &mut found);
    }
    if let Some(columns) = read.values["heat"]["cells"].as_array() {
        // Rows and counts in turns.
        let counts =
            columns.iter().flat_map(|column| column.as_array().into_iter().flatten().skip(1).step_by(2));
        found.push(counts.filter_map(Value::as_f64).sum());
    }
    for bar in read.values["bars"].as_array().into_iter().flatten() {
        numbers(&bar["parts"], &mut found);
        numbers(&bar["interval"], &mut found);
    }
    found
}

fn read_all(is_chosen: impl Fn(&Exhibit) -> bool) {
    let Some(mut browser) = browser() else { return };
    browser.window(1280, 900, false);
    let mut problems: Vec<String> = Vec::new();
    for exhibit in exhibits().into_iter().filter(is_chosen) {
        let page = (exhibit.page)();
        let charts = keyboard::read(&mut browser, &format!("values-{}.html", exhibit.name), &page);
        let mut all = (exhibit.derived)();
        let json = serde_json::from_str(&(exhibit.json)()).expect("it is JSON");
        numbers(&json, &mut all);
        let known = Known::new(all);
        for chart in &charts {
            keyboard::assert_all_is_read(exhibit.name, chart);
            let is_estimate = ESTIMATES.iter().any(|start| chart.title.starts_with(start));
            let unknown = values(chart).into_iter().filter(|value| !known.has(*value) && !is_estimate);
            let unknown: Vec<f64> = unknown.collect();
            if !unknown.is_empty() {
                let few = &unknown[..unknown.len().min(3)];
                problems.push(format!(
                    "{}, {}: {} values, {few:?}",
                    exhibit.name,
                    chart.title,
                    unknown.len()
                ));
            }
        }
    }
    assert!(problems.is_empty(), "no record has these:\n{}", problems.join("\n"));
}

#[test]
fn the_keys_read_the_values_of_the_records_from_the_charts_of_a_page_of_each_kind() {
    read_all(|exhibit| READ_AFTER_CHANGE.contains(&exhibit.name));
}

mod nightly {
    use super::*;

    #[test]
    fn the_keys_read_the_values_of_the_records_from_every_chart_of_the_gallery() {
        read_all(|_| true);
    }
}
