//! One line per trial of an experiment, of load of timed steps or of searches.
//! `cli` prints it when the trial ends.

use results::{Record, SearchRecord, StepResult, StepsRecord};

use crate::figures::{
    TIE, UNKNOWN_SIZE, count, half_width, latency, plus_minus, rate_known_to, with_ordinary_spaces,
};
use crate::metrics::Metric;
use crate::search;

/// `1,234 tps ± 1.2 %, p50 6.12 ms, p99 13.4 ms, 3 failed`.
pub fn trial_line(record: &Record) -> String {
    let summary = &record.summary;
    let half = summary.confidence.tps.map(|sure| half_width(summary.tps, sure.low, sure.high) / summary.tps);
    let half = half.filter(|half| half.is_finite()).unwrap_or(0.0);
    let mut line = format!("{}{TIE}tps", rate_known_to(summary.tps, half));
    if let Some(sure) = summary.confidence.tps {
        let how_sure = plus_minus(summary.tps, sure.low, sure.high);
        line += &how_sure.map_or_else(|| format!(" ({UNKNOWN_SIZE})"), |how_sure| format!(" {how_sure}"));
    }
    if let Some(us) = summary.response_of_all_us() {
        line += &format!(", p50 {}, p99 {}", latency(us.p50), latency(us.p99));
    }
    if summary.counts.failed > 0 {
        line += &format!(", {} failed", count(summary.counts.failed));
    }
    if let Some(share) = Metric::LateOrSkipped.shown(record) {
        line += &format!(", {share} late or skipped");
    }
    if let Some(stalls) = record.grave_stalls() {
        line += &format!(", stalled for {}", latency(stalls.total_s * 1e6));
    }
    with_ordinary_spaces(&line)
}

/// `sustains 4,150 tps with p99 < 20 ms (95 %: 4,000 … 4,280)`.
pub fn search_line(record: &SearchRecord) -> String {
    let sentence = with_ordinary_spaces(&search::search_sentence(record));
    let sentence = sentence.trim_end_matches('.');
    match sentence.strip_prefix("SUSTAINS") {
        Some(rest) => format!("sustains{rest}"),
        None => sentence.to_owned(),
    }
}

/// Steps shown individually.
const STEPS_SHOWN_MAX: usize = 8;

/// `update 1.23 s (3 times), vacuum 310 ms, at its limit; 1.54 s in all`.
pub fn steps_line(record: &StepsRecord) -> String {
    let mut parts: Vec<String> = record.steps.iter().take(STEPS_SHOWN_MAX).map(step).collect();
    if record.steps.len() > STEPS_SHOWN_MAX {
        parts.push(format!("and {} more", record.steps.len() - STEPS_SHOWN_MAX));
    }
    let mut line = parts.join(", ");
    if record.steps.len() > 1 {
        let all: f64 = record.steps.iter().filter_map(StepResult::mean_us).sum();
        line += &format!("; {} in all", latency(all));
    }
    with_ordinary_spaces(&line)
}

fn step(step: &StepResult) -> String {
    let Some(mean) = step.mean_us() else { return step.name.clone() };
    let mut words = format!("{} {}", step.name, latency(mean));
    let times = step.times.len();
    match (times, step.limited()) {
        (1, 0) => {}
        (1, _) => words += " (at its limit)",
        (_, 0) => words += &format!(" ({} times)", count(times as u64)),
        (_, limited) => {
            words += &format!(" ({} times, {} at the limit)", count(times as u64), count(limited as u64))
        }
    }
    words
}
