//! What the engine measured, and the summary that is made from it.
//! The caller fills it from the engine's outcome; `record` takes it.

use std::time::Duration;

use crate::workers::cpu_us_per_transaction;
use crate::{
    CommandSummary, Confidence, Connecting, Interval, Introspection, Lag, Latency, OtherEndings, Plan,
    RankMeasured, Script, ScriptSummary, Summary, TimesOfAll, TrafficPerTransaction, stalls,
};

/// What the engine measured, as it comes out of it.
#[derive(Clone, Debug)]
pub struct Measured<'a> {
    /// The statistics of the run.
    pub summary: &'a stats::Summary,
    /// Where nothing was completed in the measured time; `None` if nobody looked.
    pub gaps: Option<&'a stats::Gaps>,
    /// The same over time, in order; stored as they came, since a long run's would not fit in memory.
    pub intervals: Vec<Interval>,
    /// From where measuring began until the last client was done.
    pub elapsed: Duration,
    /// The single commands of each script, in the plan's order; empty if they were not looked at.
    pub commands: Vec<Vec<CommandSummary>>,
    /// The connecting, if each transaction had a connection of its own.
    pub connecting: Option<Connecting>,
    /// User and system CPU time of the workers during the measured time.
    pub client_cpu: Option<Duration>,
    /// Time until all clients were connected.
    pub connection_time: Option<Duration>,
    /// What is known of the generator itself.
    pub introspection: Option<Introspection<'a>>,
    /// The load generators of a distributed run, in order; empty if one process made the load.
    pub ranks: Vec<RankMeasured<'a>>,
}

impl Summary {
    /// The summary for the record; [`crate::Record::new`] adds the generator.
    pub fn of(measured: &Measured<'_>, plan: &Plan) -> Summary {
        let Measured { summary, elapsed, commands, connecting, client_cpu, .. } = measured;
        let is_closed = plan.rate_tps.is_none();
        let (stalls, response_with_stalls_us) = stalls::of(summary, measured.gaps, *connecting, is_closed);
        let per_script = |(index, script): (usize, &Script)| {
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
            population: None,
            outages: None,
            actions: Vec::new(),
            rules: Vec::new(),
            stages: Vec::new(),
            scripts: plan.scripts.iter().enumerate().filter_map(per_script).collect(),
        }
    }
}
