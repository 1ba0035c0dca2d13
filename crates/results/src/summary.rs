//! What was measured, as it is stored: in microseconds, with the names that others parse.
//! `stats::Summary` is what it is made from; the histograms behind it are in `intervals`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Script;

/// The statistics of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Measured seconds, without warm-up.
    pub duration_s: f64,
    /// Succeeded transactions per second.
    pub tps: f64,
    /// Transactions by ending.
    pub counts: Counts,
    /// Response time, from scheduled to finished; `null` if none succeeded.
    pub response_us: Option<Latency>,
    /// Service time, from started to finished; `null` if none succeeded.
    pub service_us: Option<Latency>,
    /// CPU time of pgmeter itself per transaction that ran; `null` if unknown.
    pub client_cpu_us_per_transaction: Option<f64>,
    /// The same per script, in the plan's order; empty if nothing was measured.
    pub scripts: Vec<ScriptSummary>,
}

/// The statistics of one script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptSummary {
    /// The script's name.
    pub name: String,
    /// Its succeeded transactions per second.
    pub tps: f64,
    /// Its transactions by ending.
    pub counts: Counts,
    /// Response time, as for the whole.
    pub response_us: Option<Latency>,
    /// Service time, as for the whole.
    pub service_us: Option<Latency>,
}

/// Transactions by ending: `scheduled = succeeded + failed + skipped + unfinished`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All whose turn came.
    pub scheduled: u64,
    /// Those that did all their script asked.
    pub succeeded: u64,
    /// Those that an error ended, of all kinds.
    pub failed: u64,
    /// Those not run because they would have been too late.
    pub skipped: u64,
    /// Those under way when the run ended.
    pub unfinished: u64,
    /// Succeeded ones above the latency limit.
    pub late: u64,
    /// Those tried more than once.
    pub retried: u64,
    /// All tries after the first ones.
    pub retries: u64,
    /// The failed ones by kind of error.
    pub failures: Failures,
}

/// Failed transactions by kind of error.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// SQLSTATE 40001.
    pub serialization: u64,
    /// SQLSTATE 40P01.
    pub deadlock: u64,
    /// Everything else.
    pub other: u64,
}

/// A distribution of latencies in microseconds, to the nanosecond; quantiles are true to three digits.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)] // the names say it all
pub struct Latency {
    pub mean: f64,
    /// Of the population.
    pub stddev: f64,
    pub min: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

impl Summary {
    /// The summary as it is stored. `scripts` are the plan's, in the same order.
    pub fn of(summary: &stats::Summary, scripts: &[Script], client_cpu: Option<Duration>) -> Summary {
        let per_script = |(stats, script): (&stats::ScriptStats, &Script)| ScriptSummary {
            name: script.name.clone(),
            tps: summary.tps_of(stats),
            counts: Counts::of(&stats.counts),
            response_us: Latency::of(&stats.response),
            service_us: Latency::of(&stats.service),
        };
        let total = &summary.total;
        Summary {
            duration_s: summary.duration.as_secs_f64(),
            tps: summary.tps(),
            counts: Counts::of(&total.counts),
            response_us: Latency::of(&total.response),
            service_us: Latency::of(&total.service),
            client_cpu_us_per_transaction: client_cpu
                .and_then(|cpu| cpu_us_per_transaction(cpu, &total.counts)),
            scripts: summary.scripts.iter().zip(scripts).map(per_script).collect(),
        }
    }
}

/// Over all that ran, whatever the ending: a failed transaction costs the client as much as another.
fn cpu_us_per_transaction(cpu: Duration, counts: &stats::Counts) -> Option<f64> {
    let ran = counts.scheduled - counts.skipped;
    (ran > 0).then(|| round_to_ns(cpu.as_secs_f64() * MICROSECONDS_PER_SECOND / ran as f64))
}

const MICROSECONDS_PER_SECOND: f64 = 1e6;
const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// Microseconds without digits below the nanosecond, which nothing here can measure.
fn round_to_ns(us: f64) -> f64 {
    (us * NANOSECONDS_PER_MICROSECOND).round() / NANOSECONDS_PER_MICROSECOND
}

impl Counts {
    /// The counts as they are stored.
    pub fn of(counts: &stats::Counts) -> Counts {
        let stats::Counts {
            scheduled,
            succeeded,
            failed,
            skipped,
            unfinished,
            late,
            retried,
            retries,
            business: _,
        } = *counts;
        let stats::FailureCounts { serialization, deadlock, other } = failed;
        Counts {
            scheduled,
            succeeded,
            failed: failed.total(),
            skipped,
            unfinished,
            late,
            retried,
            retries,
            failures: Failures { serialization, deadlock, other },
        }
    }

    /// The counts as `stats` has them; `None` if the kinds of failure are not as many as the failures.
    pub fn to_stats(&self) -> Option<stats::Counts> {
        let Counts { scheduled, succeeded, failed, skipped, unfinished, late, retried, retries, failures } =
            *self;
        let Failures { serialization, deadlock, other } = failures;
        if serialization.checked_add(deadlock)?.checked_add(other)? != failed {
            return None;
        }
        let failed = stats::FailureCounts { serialization, deadlock, other };
        Some(stats::Counts {
            scheduled,
            succeeded,
            failed,
            skipped,
            unfinished,
            late,
            retried,
            retries,
            business: succeeded,
        })
    }

    /// The sum of both; `None` if it is more than can be counted, which only a damaged file can hold.
    pub(crate) fn checked_add(&self, more: &Counts) -> Option<Counts> {
        let Counts { scheduled, succeeded, failed, skipped, unfinished, late, retried, retries, failures } =
            *more;
        let Failures { serialization, deadlock, other } = failures;
        Some(Counts {
            scheduled: self.scheduled.checked_add(scheduled)?,
            succeeded: self.succeeded.checked_add(succeeded)?,
            failed: self.failed.checked_add(failed)?,
            skipped: self.skipped.checked_add(skipped)?,
            unfinished: self.unfinished.checked_add(unfinished)?,
            late: self.late.checked_add(late)?,
            retried: self.retried.checked_add(retried)?,
            retries: self.retries.checked_add(retries)?,
            failures: Failures {
                serialization: self.failures.serialization.checked_add(serialization)?,
                deadlock: self.failures.deadlock.checked_add(deadlock)?,
                other: self.failures.other.checked_add(other)?,
            },
        })
    }
}

impl Latency {
    /// The figures of a distribution; `None` if it is empty.
    // 2⁵³ ns are 104 days.
    pub fn of(distribution: &stats::Distribution) -> Option<Latency> {
        let exact_us = |ns: u64| ns as f64 / NANOSECONDS_PER_MICROSECOND;
        let quantile_us = |q: f64| distribution.quantile_ns(q).map(exact_us);
        Some(Latency {
            mean: round_to_ns(distribution.mean_ns()? / NANOSECONDS_PER_MICROSECOND),
            stddev: round_to_ns(distribution.stddev_ns()? / NANOSECONDS_PER_MICROSECOND),
            min: exact_us(distribution.min_ns()?),
            p50: quantile_us(0.5)?,
            p90: quantile_us(0.9)?,
            p95: quantile_us(0.95)?,
            p99: quantile_us(0.99)?,
            p999: quantile_us(0.999)?,
            max: exact_us(distribution.max_ns()?),
        })
    }
}
