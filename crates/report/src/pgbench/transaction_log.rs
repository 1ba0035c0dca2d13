//! The log of single transactions: a line for each, when it is over.
//! Which of them are logged (`--sampling-rate`) and where the lines go is the caller's business.

use std::fmt::Write;
use std::time::Duration;

use stats::{Ending, Failure, Sample, Timestamp};

use super::Columns;

/// What the lines of a log depend on besides the transactions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    /// The parts that a line has.
    pub columns: Columns,
    /// The time since 1970 at [`Timestamp::ZERO`].
    pub unix_at_zero: Duration,
}

impl LogFormat {
    /// The time since 1970.
    pub(super) fn unix(&self, at: Timestamp) -> Duration {
        self.unix_at_zero.saturating_add(Duration::from_nanos(at.as_nanos()))
    }
}

/// Appends the line of a transaction that is over, with its line end; nothing for one that the end of the run
/// caught, which pgbench does not count. `client` is counted from 0; `number` is the client's own count with this
/// one in it, so it begins at 1.
pub fn transaction_line(format: &LogFormat, client: usize, number: u64, sample: &Sample, out: &mut String) {
    let Columns { lag, retries, failures_detailed, .. } = format.columns;
    let _ = match sample.ending {
        Ending::Unfinished => return,
        Ending::Succeeded => write!(out, "{client} {number} {}", response_us(sample)),
        Ending::Skipped => write!(out, "{client} {number} skipped"),
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

/// The word in place of the time, with `--failures-detailed`.
fn kind_of(failure: Failure) -> &'static str {
    match failure {
        Failure::Serialization => "serialization",
        Failure::Deadlock => "deadlock",
        Failure::Other => "other",
    }
}

/// As a clock that ticks every microsecond measures it.
pub(super) fn response_us(sample: &Sample) -> u64 {
    us_of(sample.finished) - us_of(sample.scheduled)
}

/// The same for the time from scheduled to started.
pub(super) fn lag_us(sample: &Sample) -> u64 {
    us_of(sample.started) - us_of(sample.scheduled)
}

fn us_of(time: Timestamp) -> u64 {
    const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;
    time.as_nanos() / NANOSECONDS_PER_MICROSECOND
}
