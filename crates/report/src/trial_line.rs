//! One trial of an experiment in a line, told when it has ended. The whole of it is in its record.
//! Called by `cli` after each trial.

use results::Record;

use crate::figures::{TIE, count, latency, percent, rate, untied};

/// `1,234 tps ± 1.2 %, p50 6.12 ms, p99 13.4 ms, 3 failed`.
pub fn trial_line(record: &Record) -> String {
    let summary = &record.summary;
    let mut line = format!("{}{TIE}tps", rate(summary.tps));
    if let Some(sure) = summary.confidence.tps {
        line += &format!(" ±{TIE}{}", percent((sure.high - sure.low) / 2.0, summary.tps));
    }
    if let Some(us) = summary.response_us {
        line += &format!(", p50 {}, p99 {}", latency(us.p50), latency(us.p99));
    }
    if summary.counts.failed > 0 {
        line += &format!(", {} failed", count(summary.counts.failed));
    }
    untied(&line)
}
