//! The log of single transactions: one line at the end of each. The caller samples them (`--sampling-rate`) and writes
//! the lines.

use std::fmt::Write;
use std::time::Duration;

use stats::{Ending, Failure, Sample, Timestamp};

use super::Columns;

/// Format of the lines.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// Optional parts of a line.
    pub columns: Columns,
    /// Wall-clock time since 1970 at [`Timestamp::ZERO`].
    pub unix_at_zero: Duration,
}

impl LogFormat {
    /// Wall-clock time since 1970.
    pub(super) fn unix(&self, at: Timestamp) -> Duration {
        self.unix_at_zero.saturating_add(Duration::from_nanos(at.as_nanos()))
    }
}

/// Appends the line of a completed transaction, with its line end. Transactions unfinished at the end of the run have
/// no line, as in pgbench. `client` counts from 0; `number` is the sequence number within the client, from 1.
pub fn transaction_line(format: &LogFormat, client: usize, number: u64, sample: &Sample, out: &mut String) {
    let Columns { lag, retries, failures_detailed, .. } = format.columns;
    let _ = match sample.ending {
        Ending::Unfinished => return,
        Ending::Succeeded => write!(out, "{client} {number} {}", response_us(sample)),
        Ending::Skipped => write!(out, "{client} {number} skipped"),
        Ending::Unknown => write!(out, "{client} {number} unknown"),
        Ending::Failed(failure) => {
            let kind = if failures_detailed { kind_of(failure) } else { "failed" };
            write!(out, "{client} {number} {kind}")
        }
    };
    let written = format.unix(sample.finished);
    let _ = write!(out, " {} {} {}", sample.script, written.as_secs(), written.subsec_micros());
    if lag {
        let lag_us = if sample.ending == Ending::Succeeded { lag_us(sample) } else { 0 };
        let _ = write!(out, " {lag_us}");
    }
    if retries {
        let _ = write!(out, " {}", sample.tries.saturating_sub(1));
    }
    out.push('\n');
}

/// The failure's kind, which replaces the time with `--failures-detailed`.
fn kind_of(failure: Failure) -> &'static str {
    match failure {
        Failure::Serialization => "serialization",
        Failure::Deadlock => "deadlock",
        Failure::Connection => "connection",
        Failure::Other => "other",
    }
}

/// Response time in whole microseconds: both ends are truncated, as by a clock with this resolution.
pub(super) fn response_us(sample: &Sample) -> u64 {
    us_of(sample.finished) - us_of(sample.scheduled)
}

/// Schedule lag, truncated in the same way.
pub(super) fn lag_us(sample: &Sample) -> u64 {
    us_of(sample.started) - us_of(sample.scheduled)
}

fn us_of(time: Timestamp) -> u64 {
    const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;
    time.as_nanos() / NANOSECONDS_PER_MICROSECOND
}
