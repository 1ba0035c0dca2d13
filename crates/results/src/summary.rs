//! The statistics of a run in the record: in microseconds, with names that are part of the format.
//! `measured` makes it from `stats::Summary`; `intervals` has the histograms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::goals::{GoalResult, GoalStop};
use stats::rules::RuleResult;
use stats::{Copied, Counts};

use crate::confidence::Series;
use crate::generator::Load;
use crate::times::{NANOSECONDS_PER_MICROSECOND, round_to_ns};
use crate::{
    ActionResult, Confidence, Connecting, Generator, Host, Interval, Introspection, Lag, Latency, LoadPauses,
    LoadStop, OtherEndings, Outages, Plan, Pooler, PopulationSummary, Rank, SafeText, ServiceLevel,
    StageSummary, Stalls, SteadyState, TimesOfAll, TransactionErrors, endings, rank,
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
    /// Confidence intervals of throughput and mean latencies; none of a load that changes.
    pub confidence: Confidence,
    /// Whether the run reached a steady state; `null` if nothing was measured, and of a load that changes.
    pub steady_state: Option<SteadyState>,
    /// Whether the run ended because its figures reached the precision of `plan.until`; `null` without `plan.until`.
    pub until_reached: Option<bool>,
    /// Whether the run kept its rate and its latency limit; `null` without both, or if nothing was scheduled.
    pub service_level: Option<ServiceLevel>,
    /// The server's errors in transactions; `null` if not recorded.
    pub errors: Option<TransactionErrors>,
    /// The goals of the run with their figures and verdicts, in the plan's order; with stages, all goals of each stage that
    /// has begun.
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
    /// What clients did beside transactions; absent unless the plan has a population.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<PopulationSummary>,
    /// Lost connections and outages; absent unless clients connect again, or if no connection was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Outages>,
    /// What was done at set times, in the order of the plan's `actions`; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionResult>,
    /// The rules of `plan.standard`, and whether the run kept them; empty without a standard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleResult>,
    /// The stages of the load that have begun, in order; absent if the load has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
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

impl Summary {
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

    /// Adds the parts that require the intervals: confidence intervals, and whether the run was steady.
    pub(crate) fn add_confidence(&mut self, intervals: &[Interval], rate_tps: Option<f64>) {
        let end_s = self.duration_s;
        let whole = Series::of(intervals, None, end_s);
        self.confidence = whole.confidence(self.tps, self.response_us, self.service_us);
        if let (Some(rate_tps), Some(tps)) = (rate_tps, &mut self.confidence.tps) {
            // No more transactions can succeed than are scheduled.
            tps.high = tps.high.min(rate_tps.max(self.tps));
        }
        self.steady_state = Some(whole.steady_state());
        for (index, script) in self.scripts.iter_mut().enumerate() {
            let series = Series::of(intervals, Some(index), end_s);
            script.confidence = series.confidence(script.tps, script.response_us, script.service_us);
        }
    }

    /// The load generator of the run; `None` without measurements of workers. Of a distributed run, the introspection is
    /// that of all ranks together, and the verdict is the worst one of the ranks.
    pub(crate) fn generator_of_run(
        &self,
        introspection: &Introspection<'_>,
        plan: &Plan,
        host: &Host,
    ) -> Option<Generator> {
        let load = Load {
            clients: plan.working_clients(),
            rate_tps: plan.rate_tps,
            duration_s: self.whole_s(),
            counts: self.counts,
            response_us: self.response_us,
            connecting: self.connecting,
            cpu_available: host.cpu_available,
        };
        if self.ranks.is_empty() {
            return Generator::new(introspection, &load);
        }
        // A calibration is of one host.
        let introspection = Introspection { calibration: None, ..introspection.clone() };
        let mut generator = Generator::new(&introspection, &load)?;
        (0_u32..).zip(&mut generator.workers).for_each(|(number, worker)| worker.worker = number);
        if let Some(verdict) = self.worst_rank().and_then(Rank::verdict) {
            generator.verdict = verdict.clone();
        }
        Some(generator)
    }

    /// The rank with the worst verdict, the first of several; `None` unless the run was distributed.
    pub fn worst_rank(&self) -> Option<&Rank> {
        rank::worst(&self.ranks)
    }

    /// The number of threads of all load generators.
    pub fn workers(&self, plan: &Plan) -> u64 {
        match self.ranks.is_empty() {
            true => u64::from(plan.workers),
            false => self.ranks.iter().map(|rank| u64::from(rank.workers)).sum(),
        }
    }

    /// The response times that reports show: of all transactions that were due, however they ended. `None` if none
    /// succeeded.
    pub fn response_of_all_us(&self) -> Option<Latency> {
        endings::of_all(self.response_us, self.other_endings.all_us)
    }

    /// The response times of the succeeded transactions, if those that did not succeed change a figure by more than 10 %.
    pub fn response_of_succeeded_us(&self) -> Option<Latency> {
        endings::changed(self.response_us, self.other_endings.all_us)
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

impl ScriptSummary {
    /// The same for one script.
    pub fn response_of_all_us(&self) -> Option<Latency> {
        endings::of_all(self.response_us, self.all_us)
    }

    /// The same for one script.
    pub fn response_of_succeeded_us(&self) -> Option<Latency> {
        endings::changed(self.response_us, self.all_us)
    }
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

impl TrafficPerTransaction {
    /// `None` without transactions that succeeded or failed.
    pub(crate) fn of(stats: &stats::ScriptStats) -> Option<TrafficPerTransaction> {
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
