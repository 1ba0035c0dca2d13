//! The load generator in the record: its `workers`, round trips and pgmeter's part of them, and the verdict, which
//! `verdict` decides. Made from the engine's measurements.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Counts, Distribution, WorkerHealth};

use crate::calibration::CalibrationUsed;
use crate::times::{NANOSECONDS_PER_MICROSECOND, round_to_ns};
use crate::verdict::{self, Opening, RoundTrip, Run, Verdict};
use crate::workers::{
    CommandTimes, EventLoop, HeldBack, Lateness, Work, WorkerCondition, cpu_us_per_transaction,
};
use crate::{Calibration, Connecting, Latency};

/// The load generator's measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// The system interface that carried the clients' bytes.
    pub event_loop: EventLoop,
    /// Each worker, in order.
    pub workers: Vec<WorkerCondition>,
    /// CPU time of the workers' threads per transaction that succeeded or failed; `null` if none did, or if it is too
    /// little to measure.
    pub cpu_us_per_transaction: Option<f64>,
    /// Highest share of time in which a worker was not idle: it ran or waited for a core.
    pub busy_share: f64,
    /// The highest share of time that a worker waited for a core; `null` if the system does not provide it.
    pub run_queue_share: Option<f64>,
    /// Lateness of the workers' timed wake-ups; `null` without any.
    pub wakeup_lateness_us: Option<Lateness>,
    /// Delayed sends.
    pub held_back: HeldBack,
    /// The shortest connect over a network, about one round trip; `null` if unknown or within the host.
    pub shortest_connect_us: Option<f64>,
    /// Times of the scripts' commands.
    pub commands: CommandTimes,
    /// The worker's part of a round trip, including queueing for it and its wait for a core; `null` without round
    /// trips.
    pub own_us_per_round_trip: Option<f64>,
    /// The stored result of `pgmeter calibrate` that applies to this run; `null` if there is none.
    pub calibration: Option<CalibrationUsed>,
    /// What limited the run.
    pub verdict: Verdict,
}

/// Input from the engine and its caller.
#[derive(Clone, Debug)]
pub struct Introspection<'a> {
    /// The event loop.
    pub event_loop: EventLoop,
    /// Measurements of each worker.
    pub health: &'a [WorkerHealth],
    /// Times of the scripts' commands.
    pub work: Work,
    /// Whether the connection crosses a network: false for Unix-domain sockets and loopback addresses.
    pub over_network: bool,
    /// Minimum time that pgmeter's relay adds to a round trip, if it is used.
    pub relay_us: Option<f64>,
    /// The calibration for this machine, version and loop.
    pub calibration: Option<&'a Calibration>,
}

/// The load that a generator made, and its processors.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) clients: u32,
    pub(crate) rate_tps: Option<f64>,
    pub(crate) duration_s: f64,
    pub(crate) counts: Counts,
    pub(crate) response_us: Option<Latency>,
    pub(crate) connecting: Option<Connecting>,
    pub(crate) cpu_available: Option<u32>,
}

impl Generator {
    /// The measurements of one load generator, and the verdict; `None` without measurements of workers.
    pub(crate) fn new(introspection: &Introspection<'_>, load: &Load) -> Option<Generator> {
        let Introspection { event_loop, health, work, over_network, relay_us, calibration } = introspection;
        let workers: Vec<_> = health.iter().map(WorkerCondition::of).collect();
        let busiest = workers.iter().max_by(|a, b| a.busy_share().total_cmp(&b.busy_share()))?.clone();
        let ran = load.counts.succeeded + load.counts.failed;
        let cpu_ns: u128 = health.iter().map(|health| u128::from(health.cpu_ns)).sum();
        let shortest_connect_us = workers
            .iter()
            .filter_map(|worker| worker.shortest_connect_us)
            .min_by(f64::total_cmp)
            // A relay accepts connections immediately, so a connect does not show its delay.
            .filter(|_| *over_network && relay_us.is_none());
        let commands = CommandTimes::of(work);
        let round_trip = RoundTrip::of(work, &busiest, load.clients, relay_us.or(shortest_connect_us));
        let calibration = calibration
            .and_then(|calibration| CalibrationUsed::of(calibration, work, &workers, load.clients));
        let lateness = merged_lateness(health);
        let held_back = HeldBack {
            sends: workers.iter().map(|worker| worker.held_back.sends).sum(),
            share: workers.iter().map(|worker| worker.held_back.share).fold(0.0, f64::max),
        };
        let run = Run {
            duration_s: load.duration_s,
            finished: ran,
            clients: load.clients,
            workers: workers.len(),
            cpus: load.cpu_available,
            over_network: *over_network || relay_us.is_some(),
            is_relayed: relay_us.is_some(),
            busiest: &busiest,
            opening: Opening::of(load, lateness),
            commands,
            shell_occupancy: shell_occupancy(work, &workers),
            sends_sql: work.round_trips + work.failed_round_trips > 0,
            round_trip,
            connecting_share: connecting_share(load),
            held_back,
            calibration,
        };
        Some(Generator {
            event_loop: event_loop.clone(),
            cpu_us_per_transaction: cpu_us_per_transaction(
                Duration::from_nanos(u64::try_from(cpu_ns).unwrap_or(u64::MAX)),
                load.duration_s,
                workers.len(),
                &load.counts,
            ),
            busy_share: busiest.busy_share(),
            run_queue_share: workers.iter().filter_map(|worker| worker.run_queue_share).reduce(f64::max),
            wakeup_lateness_us: lateness,
            held_back,
            shortest_connect_us,
            commands,
            own_us_per_round_trip: round_trip.map(|round_trip| round_to_ns(round_trip.own_us)),
            calibration,
            verdict: verdict::verdict(&run),
            workers,
        })
    }
}

/// Lateness over all workers.
fn merged_lateness(health: &[WorkerHealth]) -> Option<Lateness> {
    let mut all = Distribution::new();
    health.iter().for_each(|health| all.merge(&health.wakeup_lateness));
    Lateness::of(&all)
}

impl RoundTrip {
    /// A round trip of the busiest worker. Round trips are not counted per worker: its share of them is assumed to be
    /// its share of the clients.
    fn of(
        work: &Work,
        busiest: &WorkerCondition,
        clients: u32,
        network_us: Option<f64>,
    ) -> Option<RoundTrip> {
        if work.round_trips == 0 || clients == 0 || busiest.clients == 0 {
            return None;
        }
        let share_of_clients = f64::from(busiest.clients) / f64::from(clients);
        let round_trips = work.round_trips as f64 * share_of_clients;
        let took_us = work.sql_ns as f64 / work.round_trips as f64 / NANOSECONDS_PER_MICROSECOND;
        let span_us = busiest.span_s * MICROSECONDS_PER_SECOND;
        let ran_us = busiest.cpu_share * span_us / round_trips;
        let cycle_us = f64::from(busiest.clients) * span_us / round_trips;
        let served_us = verdict::residence(ran_us, cycle_us, busiest.clients);
        // Events that a wake-up delivers have waited for as long as the worker waited for a core.
        let waited_us = busiest.run_queue_share.unwrap_or(0.0) * span_us / busiest.wakeups.max(1) as f64;
        let core_wait_us = waited_us.min(took_us);
        let own_us = (served_us + core_wait_us).min(took_us);
        let network_us = network_us.map(|us| us.min(took_us));
        Some(RoundTrip { took_us, own_us, core_wait_us, network_us })
    }
}

impl Opening {
    /// With a rate: whether it was reached, and the lateness of the workers relative to the response times.
    fn of(load: &Load, lateness: Option<Lateness>) -> Opening {
        let Some(rate_tps) = load.rate_tps else { return Opening::Closed };
        let missed_share = load.counts.missed_share(load.clients);
        Opening::Scheduled { rate_tps, missed_share, lateness, response: load.response_us }
    }
}

/// Share of the workers' time in which a shell command blocked them. A command's time starts when its client's turn
/// comes, so clients of one turn also count their waits for each other: an upper bound.
fn shell_occupancy(work: &Work, workers: &[WorkerCondition]) -> f64 {
    let worker_ns: f64 = workers.iter().map(|worker| worker.span_s * NANOSECONDS_PER_SECOND).sum();
    if worker_ns > 0.0 { (work.shell_ns as f64 / worker_ns).min(1.0) } else { 0.0 }
}

/// Share of the clients' time spent on connecting and disconnecting, with a connection per transaction.
fn connecting_share(load: &Load) -> f64 {
    let all_s = f64::from(load.clients) * load.duration_s;
    let connecting_s = load.connecting.map_or(0.0, |connecting| connecting.total_s);
    if all_s > 0.0 { (connecting_s / all_s).min(1.0) } else { 0.0 }
}

const NANOSECONDS_PER_SECOND: f64 = 1e9;
const MICROSECONDS_PER_SECOND: f64 = 1e6;
