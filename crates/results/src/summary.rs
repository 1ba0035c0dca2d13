//! The statistics of a run in the record: in microseconds, with names that are part of the format.
//! Made from `stats::Summary`; `intervals` has the histograms.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::goals::{GoalResult, GoalStop};
use stats::rules::RuleResult;
use stats::{Copied, Counts};

use crate::{
    ActionResult, Confidence, Generator, LoadPauses, LoadStop, Measured, OtherEndings, Outages, Plan, Pooler,
    Rank, SafeText, ServiceLevel, Stalls, SteadyState, TimesOfAll, TransactionErrors, stalls,
};

/// The statistics of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Measured seconds, without warm-up and without the tail.
    pub duration_s: f64,
    /// Seconds from the planned end of the measured time until the last transaction ended; in records of older versions,
    /// they are part of `duration_s`.
    #[serde(default)]
    pub tail_s: f64,
    /// Seconds from the start of measuring until the last client had disconnected.
    pub elapsed_s: f64,
    /// Succeeded transactions per second of the measured time; one that began before it or ended after it counts with the
    /// part of its service time within.
    pub tps: f64,
    /// Transactions by ending.
    pub counts: Counts,
    /// Response time, from scheduled to finished; `null` if none succeeded.
    pub response_us: Option<Latency>,
    /// Service time, from started to finished; `null` if none succeeded.
    pub service_us: Option<Latency>,
    /// Lag, from scheduled to started, of the succeeded transactions; `null` if none succeeded.
    pub lag_us: Option<Lag>,
    /// Share of the scheduled transactions that were skipped or exceeded the latency limit; `null` without a limit.
    pub late_or_skipped_share: Option<f64>,
    /// Times of transactions that did not succeed.
    pub other_endings: OtherEndings,
    /// Periods without a completed transaction; `null` if not recorded.
    pub stalls: Option<Stalls>,
    /// Response time in a closed loop, corrected for transactions that stalls kept from starting; `null` with a rate,
    /// because `response_us` includes them, and without stalls.
    pub response_with_stalls_us: Option<Latency>,
    /// Connecting and disconnecting, with a connection per transaction.
    pub connecting: Option<Connecting>,
    /// CPU time of the workers' threads per transaction that succeeded or failed; `null` if unknown or too little to
    /// measure.
    pub client_cpu_us_per_transaction: Option<f64>,
    /// What a transaction exchanged with the server; `null` if not recorded.
    pub traffic_per_transaction: Option<TrafficPerTransaction>,
    /// Measurements of the load generator, and the verdict; `null` if not recorded. In a distributed run, the workers are
    /// those of all ranks, numbered through, and the verdict is the worst one of the ranks.
    pub generator: Option<Generator>,
    /// The load generators of a distributed run, in order; absent if one process made the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<Rank>,
    /// Confidence intervals of throughput and mean latencies.
    pub confidence: Confidence,
    /// Whether the run reached a steady state; `null` if nothing was measured.
    pub steady_state: Option<SteadyState>,
    /// Whether the run ended because its figures reached the precision of `plan.until`; `null` without `plan.until`.
    pub until_reached: Option<bool>,
    /// Whether the run kept its rate and its latency limit; `null` without both, or if nothing was scheduled.
    pub service_level: Option<ServiceLevel>,
    /// The server's errors in transactions; `null` if not recorded.
    pub errors: Option<TransactionErrors>,
    /// The goals of the run with their figures and verdicts, in the plan's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalResult>,
    /// Why the run ended early: a goal could not be met any more; `null` if it did not end for this reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_stop: Option<GoalStop>,
    /// Pauses of the load because of a condition of `plan.watch`; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<LoadPauses>,
    /// The condition of `plan.watch` that ended the load; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_stop: Option<LoadStop>,
    /// The pooler that pgmeter started between the clients and the server; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler: Option<Pooler>,
    /// Lost connections and outages; absent unless clients connect again, or if no connection was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Outages>,
    /// What was done at set times, in the order of the plan's `actions`; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionResult>,
    /// The rules of `plan.standard`, and whether the run kept them; empty without a standard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleResult>,
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
    /// Response time, as for the run.
    pub response_us: Option<Latency>,
    /// Service time, as for the run.
    pub service_us: Option<Latency>,
    /// Times of all its transactions that were due, with any ending; absent if all succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_us: Option<TimesOfAll>,
    /// Confidence intervals of its throughput and mean latencies.
    pub confidence: Confidence,
    /// What one of its transactions exchanged with the server, as for the run.
    pub traffic_per_transaction: Option<TrafficPerTransaction>,
    /// Its commands, in order; empty if they were not measured.
    pub commands: Vec<CommandSummary>,
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSummary {
    /// The first line of an SQL command, or a complete meta command.
    pub text: String,
    /// The line of the script where it begins, from 1.
    pub line: u32,
    /// Completed executions.
    pub executions: u64,
    /// Mean duration of these executions; `null` without any.
    pub mean_us: Option<f64>,
    /// Standard deviation of the population.
    pub stddev_us: Option<f64>,
    /// Minimum.
    pub min_us: Option<f64>,
    /// Maximum.
    pub max_us: Option<f64>,
    /// Distribution of the durations; `null` for commands that do not wait for the server, and for those after the
    /// first 256 that do.
    pub latency_us: Option<Latency>,
    /// Transactions that failed because of it.
    pub failures: u64,
    /// Retries caused by it.
    pub retries: u64,
    /// Rows and bytes of its completed COPYs; absent if it executed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<Copied>,
}

/// Lateness of the start of transactions, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Lag {
    pub mean: f64,
    pub max: f64,
}

/// The mean exchange of a transaction that succeeded or failed. Connecting and the overhead of TLS and the network are
/// not in it.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficPerTransaction {
    /// Number of times that the client waited for replies.
    pub round_trips: f64,
    /// Bytes of PostgreSQL's protocol from the client.
    pub sent_bytes: f64,
    /// Bytes of PostgreSQL's protocol from the server.
    pub received_bytes: f64,
}

/// Time for connections, with a connection per transaction.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connecting {
    /// Connections established.
    pub connects: u64,
    /// Seconds spent connecting and disconnecting, summed over the clients.
    pub total_s: f64,
}

/// A distribution of latencies in microseconds, to the nanosecond; quantiles have three significant digits.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Latency {
    pub mean: f64,
    /// Standard deviation of the population.
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
    /// The summary for the record; [`crate::Record::new`] adds the generator.
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
                all_us: TimesOfAll::of(stats),
                confidence: Confidence::default(),
                traffic_per_transaction: TrafficPerTransaction::of(stats),
                commands: commands.get(index).cloned().unwrap_or_default(),
            })
        };
        let total = &summary.total;
        Summary {
            duration_s: summary.duration.as_secs_f64(),
            tail_s: summary.tail.as_secs_f64(),
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
            client_cpu_us_per_transaction: client_cpu.and_then(|cpu| {
                let workers = measured.introspection.as_ref().map_or(1, |it| it.health.len());
                cpu_us_per_transaction(cpu, summary.duration.as_secs_f64(), workers, &total.counts)
            }),
            traffic_per_transaction: TrafficPerTransaction::of(total),
            generator: None,
            ranks: Vec::new(),
            confidence: Confidence::default(),
            steady_state: None,
            until_reached: None,
            service_level: None,
            errors: None,
            goals: Vec::new(),
            goal_stop: None,
            pauses: None,
            watch_stop: None,
            pooler: None,
            outages: None,
            actions: Vec::new(),
            rules: Vec::new(),
            scripts: plan.scripts.iter().enumerate().filter_map(per_script).collect(),
        }
    }

    /// Adds the pauses of the load. A period without a completed transaction that a pause made is no stall of the server,
    /// and no correction for stalls may assume that transactions should have started in it.
    pub fn add_pauses(&mut self, pauses: LoadPauses) {
        if let Some(stalls) = &mut self.stalls {
            let before = stalls.longest.len();
            stalls.longest.retain(|stall| {
                let is_of_pause = pauses.explains(stall.start_s, stall.end_s);
                stalls.total_s -= if is_of_pause { stall.length_s() } else { 0.0 };
                !is_of_pause
            });
            stalls.total_s = stalls.total_s.max(0.0);
            stalls.count = stalls.count.saturating_sub((before - stalls.longest.len()) as u64);
        }
        self.response_with_stalls_us = None;
        self.pauses = Some(pauses);
    }

    /// Measured seconds with the tail, in which all transactions ended.
    pub fn whole_s(&self) -> f64 {
        self.duration_s + self.tail_s
    }

    /// Rows and bytes of all completed COPYs.
    pub fn copied(&self) -> Copied {
        let mut sum = Copied::default();
        let commands = self.scripts.iter().flat_map(|script| &script.commands);
        commands.filter_map(|command| command.copied).for_each(|copied| sum.add(copied));
        sum
    }
}

/// A worker that has nothing to do wakes ten times a second. This takes a small part of its CPU time if it executed at
/// least this number of transactions per second, or ran for at least this share of the time.
const WORKER_TPS_MIN: f64 = 20.0;
const RAN_SHARE_MIN: f64 = 0.02;

/// Over all finished transactions: a failed transaction costs the client as much as a succeeded one, a skipped one
/// costs nothing. `None` if it is too little to measure.
pub(crate) fn cpu_us_per_transaction(
    cpu: Duration,
    duration_s: f64,
    workers: usize,
    counts: &Counts,
) -> Option<f64> {
    let ran = counts.succeeded + counts.failed;
    let workers_s = duration_s * workers as f64;
    let is_measurable =
        ran as f64 >= WORKER_TPS_MIN * workers_s || cpu.as_secs_f64() >= RAN_SHARE_MIN * workers_s;
    (ran > 0 && is_measurable).then(|| round_to_ns(cpu.as_secs_f64() * MICROSECONDS_PER_SECOND / ran as f64))
}

const MICROSECONDS_PER_SECOND: f64 = 1e6;
pub(crate) const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

/// Microseconds, rounded to the nanosecond: the measurements have no more digits.
pub(crate) fn round_to_ns(us: f64) -> f64 {
    (us * NANOSECONDS_PER_MICROSECOND).round() / NANOSECONDS_PER_MICROSECOND
}

impl CommandSummary {
    /// A command with the statistics of its executions; text and line are from the script.
    pub fn of(text: &str, line: u32, stats: &stats::CommandStats) -> CommandSummary {
        let stats::CommandStats { completed, failures, retries, copied, .. } = stats;
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
            copied: (*copied != Copied::default()).then_some(*copied),
        }
    }
}

impl Lag {
    /// The lag of the succeeded transactions; `None` without any. Lag is response time minus service time, so its sum
    /// is the difference of their sums.
    pub(crate) fn of(stats: &stats::ScriptStats) -> Option<Lag> {
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

impl TrafficPerTransaction {
    /// `None` without transactions that succeeded or failed.
    fn of(stats: &stats::ScriptStats) -> Option<TrafficPerTransaction> {
        let stats::Traffic { round_trips, sent_bytes, received_bytes } = stats.traffic;
        let ended = stats.counts.succeeded.saturating_add(stats.counts.failed);
        // Rounded as other means: more digits say nothing.
        let mean = |sum: u64| round_to_ns(sum as f64 / ended as f64);
        (ended > 0).then(|| TrafficPerTransaction {
            round_trips: mean(round_trips),
            sent_bytes: mean(sent_bytes),
            received_bytes: mean(received_bytes),
        })
    }
}

impl Latency {
    /// The statistics of a distribution; `None` if it is empty.
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
