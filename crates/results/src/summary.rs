//! What was measured, as it is stored: in microseconds, with the names that others parse.
//! `stats::Summary` is what it is made from; the histograms behind it are in `intervals`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Counts;

use crate::{Confidence, Generator, Measured, OtherEndings, Plan, SafeText, Stalls, SteadyState, stalls};

/// The statistics of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Measured seconds, without warm-up.
    pub duration_s: f64,
    /// Seconds from where measuring began until the last client was done, disconnecting included.
    pub elapsed_s: f64,
    /// Succeeded transactions per second.
    pub tps: f64,
    /// Transactions by ending.
    pub counts: Counts,
    /// Response time, from scheduled to finished; `null` if none succeeded.
    pub response_us: Option<Latency>,
    /// Service time, from started to finished; `null` if none succeeded.
    pub service_us: Option<Latency>,
    /// Lag, from scheduled to started, of the succeeded transactions; `null` if none succeeded.
    pub lag_us: Option<Lag>,
    /// Of all transactions that were due, the share of those that were skipped or above the latency limit; `null`
    /// without such a limit.
    pub late_or_skipped_share: Option<f64>,
    /// How long the transactions took that did not succeed.
    pub other_endings: OtherEndings,
    /// Where no transaction was completed for long; `null` if that was not recorded.
    pub stalls: Option<Stalls>,
    /// Response time in a closed loop with the transactions that the stalls kept from being begun; `null` under a rate,
    /// where `response_us` has them, and without stalls.
    pub response_with_stalls_us: Option<Latency>,
    /// Connecting and disconnecting, if each transaction had a connection of its own.
    pub connecting: Option<Connecting>,
    /// CPU time of pgmeter itself per transaction that succeeded or failed; `null` if unknown.
    pub client_cpu_us_per_transaction: Option<f64>,
    /// How the load generator fared, and whether it was the limit; `null` if that was not recorded.
    pub generator: Option<Generator>,
    /// How sure throughput and mean latencies are.
    pub confidence: Confidence,
    /// Whether the run had settled; `null` if nothing was measured.
    pub steady_state: Option<SteadyState>,
    /// Whether the run ended because its figures were known as well as `plan.until` asked; `null` if it did not ask.
    pub until_reached: Option<bool>,
    /// The same per script, in the plan's order; empty if nothing was measured.
    pub scripts: Vec<ScriptSummary>,
}

/// The statistics of one script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How sure its throughput and mean latencies are.
    pub confidence: Confidence,
    /// Its single commands, in order; empty if they were not looked at.
    pub commands: Vec<CommandSummary>,
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSummary {
    /// What it is: the first line of an SQL command, the whole of a meta command.
    pub text: String,
    /// The line of the script on which it begins, from 1.
    pub line: u32,
    /// How often it came to its end.
    pub executions: u64,
    /// Of those executions, how long they took; `null` if there were none.
    pub mean_us: Option<f64>,
    /// Of the population.
    pub stddev_us: Option<f64>,
    /// The shortest.
    pub min_us: Option<f64>,
    /// The longest.
    pub max_us: Option<f64>,
    /// How they are distributed; `null` for commands that do not wait for the server, and for those after the first
    /// 256 that do.
    pub latency_us: Option<Latency>,
    /// Transactions that failed because of it.
    pub failures: u64,
    /// Tries that were made anew because of it.
    pub retries: u64,
}

/// How late transactions were started, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Lag {
    pub mean: f64,
    pub max: f64,
}

/// What connecting for each transaction took.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connecting {
    /// Connections that were made.
    pub connects: u64,
    /// Seconds spent connecting and disconnecting, all clients together.
    pub total_s: f64,
}

/// A distribution of latencies in microseconds, to the nanosecond; quantiles are true to three digits.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The summary as it is stored, without the generator, which [`crate::Record::new`] adds.
    pub fn of(measured: &Measured<'_>, plan: &Plan) -> Summary {
        let Measured { summary, elapsed, commands, connecting, client_cpu, .. } = measured;
        let (stalls, response_with_stalls_us) = stalls::of(measured, plan);
        let per_script = |(index, script): (usize, &crate::Script)| {
            let stats = summary.scripts.get(index)?;
            Some(ScriptSummary {
                name: script.name.clone(),
                tps: summary.tps_of(stats),
                counts: stats.counts,
                response_us: Latency::of(&stats.response),
                service_us: Latency::of(&stats.service),
                confidence: Confidence::default(),
                commands: commands.get(index).cloned().unwrap_or_default(),
            })
        };
        let total = &summary.total;
        Summary {
            duration_s: summary.duration.as_secs_f64(),
            elapsed_s: elapsed.as_secs_f64(),
            tps: summary.tps(),
            counts: total.counts,
            response_us: Latency::of(&total.response),
            service_us: Latency::of(&total.service),
            lag_us: Lag::of(total),
            late_or_skipped_share: plan.latency_limit_us.map(|_| total.counts.late_or_skipped_share()),
            other_endings: OtherEndings::of(total),
            stalls,
            response_with_stalls_us,
            connecting: *connecting,
            client_cpu_us_per_transaction: client_cpu
                .and_then(|cpu| cpu_us_per_transaction(cpu, &total.counts)),
            generator: None,
            confidence: Confidence::default(),
            steady_state: None,
            until_reached: None,
            scripts: plan.scripts.iter().enumerate().filter_map(per_script).collect(),
        }
    }
}

/// Over all that came to an end: a failed transaction costs the client as much as another, one that was scheduled and
/// never begun costs nothing.
fn cpu_us_per_transaction(cpu: Duration, counts: &Counts) -> Option<f64> {
    let ran = counts.succeeded + counts.failed;
    (ran > 0).then(|| round_to_ns(cpu.as_secs_f64() * MICROSECONDS_PER_SECOND / ran as f64))
}

const MICROSECONDS_PER_SECOND: f64 = 1e6;
pub(crate) const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// Microseconds without digits below the nanosecond, which nothing here can measure.
pub(crate) fn round_to_ns(us: f64) -> f64 {
    (us * NANOSECONDS_PER_MICROSECOND).round() / NANOSECONDS_PER_MICROSECOND
}

impl CommandSummary {
    /// A command with the figures of its executions; its text and line are the script's.
    pub fn of(text: &str, line: u32, stats: &stats::CommandStats) -> CommandSummary {
        let stats::CommandStats { completed, failures, retries, .. } = stats;
        let us = |ns: f64| round_to_ns(ns / NANOSECONDS_PER_MICROSECOND);
        let extreme = |ns: u64| (completed.count > 0).then_some(ns as f64 / NANOSECONDS_PER_MICROSECOND);
        CommandSummary {
            text: SafeText::sql(text).into(),
            line,
            executions: completed.count,
            mean_us: completed.mean_ns().map(us),
            stddev_us: completed.stddev_ns().map(us),
            min_us: extreme(completed.min_ns),
            max_us: extreme(completed.max_ns),
            latency_us: stats.latencies().as_ref().and_then(Latency::of),
            failures: *failures,
            retries: *retries,
        }
    }
}

impl Lag {
    /// The lag of the succeeded transactions; `None` if there are none. What lies between response and service
    /// time is lag, so its sum is the difference of theirs.
    fn of(stats: &stats::ScriptStats) -> Option<Lag> {
        let (response_ns, service_ns) = (stats.response.moments().sum_ns, stats.service.moments().sum_ns);
        let count = stats.counts.succeeded;
        (count > 0).then(|| Lag {
            mean: round_to_ns(
                response_ns.saturating_sub(service_ns) as f64 / count as f64 / NANOSECONDS_PER_MICROSECOND,
            ),
            max: stats.lag_max_ns as f64 / NANOSECONDS_PER_MICROSECOND,
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
