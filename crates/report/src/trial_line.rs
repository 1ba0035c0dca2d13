//! One trial of an experiment in a line, told when it has ended. The whole of it is in its record.
//! Called by `cli` after each trial.

use results::Record;

use crate::figures::{TIE, UNKNOWN_SIZE, count, latency, plus_minus, rate, with_ordinary_spaces};
use crate::sections;

/// `1,234 tps ± 1.2 %, p50 6.12 ms, p99 13.4 ms, 3 failed`.
pub fn trial_line(record: &Record) -> String {
    let summary = &record.summary;
    let mut line = format!("{}{TIE}tps", rate(summary.tps));
    if let Some(sure) = summary.confidence.tps {
        let how_sure = plus_minus(summary.tps, sure.low, sure.high);
        line += &how_sure.map_or_else(|| format!(" ({UNKNOWN_SIZE})"), |how_sure| format!(" {how_sure}"));
    }
    if let Some(us) = summary.response_us {
        line += &format!(", p50 {}, p99 {}", latency(us.p50), latency(us.p99));
    }
    if summary.counts.failed > 0 {
        line += &format!(", {} failed", count(summary.counts.failed));
    }
    if let Some(share) = sections::late_or_skipped_share(record) {
        line += &format!(", {share} late or skipped");
    }
    if let Some(stalls) = record.grave_stalls() {
        line += &format!(", stalled for {}", latency(stalls.total_s * 1e6));
    }
    with_ordinary_spaces(&line)
}
