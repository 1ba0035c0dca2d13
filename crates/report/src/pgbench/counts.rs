//! The lines that a report has both of the whole run and of each script: how transactions ended, and their latency.
//! `final_report` and `script_report` put them into the report.

use results::{Counts, Latency};

use super::Columns;
use super::c_numbers::{milliseconds, thousandths};

/// Number of transactions that pgbench counts: excludes those unfinished at the end of the run.
pub(super) fn ended(counts: &Counts) -> u64 {
    counts.succeeded + counts.failed + counts.skipped
}

/// A percentage, without the percent sign.
pub(super) fn percent(part: u64, whole: u64) -> String {
    thousandths(100.0 * part as f64 / whole as f64)
}

/// Numbers of failed, retried and skipped transactions, one prefixed line each.
pub(super) fn endings(prefix: &str, counts: &Counts, columns: &Columns) -> String {
    let share = |what: &str, number: u64| {
        format!("{prefix}number of {what}: {number} ({}%)\n", percent(number, ended(counts)))
    };
    let mut out = share("failed transactions", counts.failed);
    if columns.failures_detailed {
        out += &share("serialization failures", counts.failures.serialization);
        out += &share("deadlock failures", counts.failures.deadlock);
        out += &share("other failures", counts.failures.other);
    }
    if columns.retries {
        out += &share("transactions retried", counts.retried);
        out += &format!("{prefix}total number of retries: {}\n", counts.retries);
    }
    if columns.skipped() {
        out += &share("transactions skipped", counts.skipped);
    }
    out
}

/// The mean latency and its deviation, one prefixed line each.
pub(super) fn average_and_deviation(prefix: &str, latency_us: &Latency) -> String {
    let (average, deviation) = (milliseconds(latency_us.mean), milliseconds(latency_us.stddev));
    format!("{prefix}latency average = {average} ms\n{prefix}latency stddev = {deviation} ms\n")
}
