//! The verdict: whether the load generator limited a run, with the evidence as a kind and its numbers.
//! Pure functions: `generator` prepares the observations of the run and the calibration. `docs/generator.md` explains
//! the rules and thresholds.

mod evidence;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::evidence::{BusiestWorker, Evidence, GeneratorRemedy, NetworkSource};
use crate::workers::{CommandTimes, HeldBack, Lateness, WorkerCondition};
use crate::{CalibrationUsed, Latency, ServerResource};

/// What limited a run, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The limit.
    pub limit: LimitedBy,
    /// Evidence for the limit.
    pub evidence: Evidence,
    /// The resource that limited the server; absent if it was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ServerResource>,
    /// Share of the backends' active time that they spent on this resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_share: Option<f64>,
    /// CPU use of other programs, if it is the reason why the server is not named as the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<BusyCpus>,
}

impl Verdict {
    /// The name of the limit in output. The network and a proxy cannot be told apart by the backends' idle time.
    pub fn name(&self) -> &'static str {
        match self.evidence {
            Evidence::OnTheWay { .. } => "network or proxy",
            _ => self.limit.name(),
        }
    }
}

/// CPU use of other programs.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCpus {
    /// Share of this host's CPU time in use.
    pub busy_share: f64,
    /// Share of this host's CPU time used by neither pgmeter nor this load's backends.
    pub others_share: f64,
}

/// What limited a run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The server, as intended.
    Server,
    /// The load generator: pgmeter itself, or the machine under it.
    #[serde(alias = "client")]
    Generator,
    /// Too few clients for the requested rate, although the server responded fast.
    ClientCount,
    /// The network between client and server, or a proxy in it.
    Network,
    /// No limit was found.
    Undecided,
}

impl LimitedBy {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::Server => "server",
            LimitedBy::Generator => "generator",
            LimitedBy::ClientCount => "number of clients",
            LimitedBy::Network => "network",
            LimitedBy::Undecided => "undecided",
        }
    }
}

/// Utilization from which a resource counts as the limit: throughput can rise by a ninth at most before the resource is
/// fully used (the bottleneck law: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984,
/// chapter 5).
const SATURATED: f64 = 0.9;
/// Utilization from which a worker cannot be excluded as the limit.
const DOUBTFUL: f64 = 0.75;
/// A component with more than this share of a round trip is the limit: in a closed loop, throughput is clients ÷ cycle
/// time (Little's law), so no other component can reduce the cycle time as much.
pub(crate) const DOMINANT: f64 = 0.5;
/// Share of the calibrated maximum from which it counts as reached: two runs of one load differ by less than the
/// remainder.
const REACHED: f64 = 0.8;
/// Share of a response time from which the time added by pgmeter is significant.
const DISTORTING: f64 = 0.25;
/// Share of time waiting for a core from which a worker lacks cores, and not threads.
const CROWDED: f64 = 0.25;
/// A rate is reached if at most this share was skipped or unfinished.
pub(crate) const MISSED_MAX: f64 = 0.01;
/// Minimum duration for shares of time: in shorter windows the scheduler's time slices distort them.
const DURATION_MIN_S: f64 = 0.5;
/// Minimum number of transactions for a 99th percentile.
const FINISHED_FOR_P99_MIN: u64 = 1_000;
/// A delay of the generator affects the 99th percentile if it met this share of the transactions, and more than a few.
const STALLED_SHARE_MIN: f64 = 0.01;
const STALLED_MIN: f64 = 3.0;
/// Minimum number of transactions for a typical value.
const FINISHED_MIN: u64 = 20;

/// Observations of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) duration_s: f64,
    /// Completed transactions, failed ones included.
    pub(crate) finished: u64,
    pub(crate) clients: u32,
    pub(crate) workers: usize,
    /// CPUs available to this process.
    pub(crate) cpus: Option<u32>,
    pub(crate) over_network: bool,
    /// Whether pgmeter's relay simulates the network.
    pub(crate) is_relayed: bool,
    pub(crate) busiest: &'a WorkerCondition,
    pub(crate) opening: Opening,
    pub(crate) commands: CommandTimes,
    /// Share of the workers' time in which a shell command blocked them.
    pub(crate) shell_occupancy: f64,
    /// Whether statements were sent to a server.
    pub(crate) sends_sql: bool,
    /// `None` if no round trip succeeded.
    pub(crate) round_trip: Option<RoundTrip>,
    /// Share of the clients' time spent on connecting, with a connection per transaction.
    pub(crate) connecting_share: f64,
    pub(crate) held_back: HeldBack,
    pub(crate) calibration: Option<CalibrationUsed>,
}

/// Start of transactions.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Opening {
    /// Closed loop: as soon as a client is free.
    Closed,
    /// Open loop: at scheduled times.
    Scheduled {
        rate_tps: f64,
        /// Share of the scheduled transactions that were skipped or unfinished.
        missed_share: f64,
        /// Lateness of the workers' wake-ups for scheduled times.
        lateness: Option<Lateness>,
        response: Option<Latency>,
    },
}

/// A mean round trip of the busiest worker's clients.
#[derive(Copy, Clone, Debug)]
pub(crate) struct RoundTrip {
    /// From sending to the end of the response.
    pub(crate) took_us: f64,
    /// The worker's part, including queueing for it.
    pub(crate) own_us: f64,
    /// Share of `own_us` that the worker waited for a core.
    pub(crate) core_wait_us: f64,
    /// The network's part.
    pub(crate) network_us: Option<f64>,
}

/// The limit and its evidence.
type Finding = (LimitedBy, Evidence);

/// Judges a run. The first rule that applies decides: first whether the run can be judged, then which component was
/// saturated, then which has most of a round trip.
pub(crate) fn verdict(run: &Run<'_>) -> Verdict {
    let rules: [fn(&Run<'_>) -> Option<Finding>; 12] = [
        too_little,
        nothing_sent,
        saturated_worker,
        kept_rate,
        skipped_rate,
        calibrated_maximum,
        waiting_of_its_own,
        connecting,
        back_pressure,
        crowded_worker,
        halves,
        may_be_at_fault,
    ];
    let (limit, evidence) = rules.iter().find_map(|rule| rule(run)).unwrap_or_else(|| remainder(run));
    Verdict { limit, evidence, resource: None, resource_share: None, others: None }
}

fn too_little(run: &Run<'_>) -> Option<Finding> {
    let little = run.duration_s < DURATION_MIN_S || run.finished < FINISHED_MIN;
    let evidence = Evidence::TooShort { transactions: run.finished, duration_s: run.duration_s };
    little.then_some((LimitedBy::Undecided, evidence))
}

fn nothing_sent(run: &Run<'_>) -> Option<Finding> {
    (!run.sends_sql).then_some((LimitedBy::Generator, Evidence::NothingSent))
}

fn saturated_worker(run: &Run<'_>) -> Option<Finding> {
    let evidence = Evidence::WorkerSaturated { busiest: BusiestWorker::of(run), remedy: remedy(run) };
    (run.busiest.busy_share() >= SATURATED).then_some((LimitedBy::Generator, evidence))
}

impl BusiestWorker {
    fn of(run: &Run<'_>) -> BusiestWorker {
        BusiestWorker {
            worker: run.busiest.worker,
            workers: u32::try_from(run.workers).unwrap_or(u32::MAX),
            idle_share: 1.0 - run.busiest.busy_share(),
            cpu_share: run.busiest.cpu_share,
            run_queue_share: run.busiest.run_queue_share,
        }
    }
}

/// Chooses the remedy for a load generator that was the limit.
fn remedy(run: &Run<'_>) -> GeneratorRemedy {
    let crowded = run.busiest.run_queue_share.is_some_and(|waited| waited >= CROWDED);
    let free_cores = run.cpus.is_none_or(|cpus| run.workers < cpus as usize);
    let shareable = (run.workers as u64) < u64::from(run.clients);
    match (crowded, free_cores && shareable) {
        (true, _) => GeneratorRemedy::OwnCpus,
        (false, true) => GeneratorRemedy::MoreWorkers,
        (false, false) => GeneratorRemedy::MoreCpus,
    }
}

/// The rate was reached, so nothing was at its limit; but late wake-ups may distort the latencies.
fn kept_rate(run: &Run<'_>) -> Option<Finding> {
    let Opening::Scheduled { rate_tps, missed_share, lateness, response } = run.opening else { return None };
    let late = lateness.zip(response);
    if let Some(found) = late.and_then(|(late, response)| stall(run, rate_tps, late, response)) {
        return Some(found);
    }
    if missed_share > MISSED_MAX {
        return None;
    }
    if let Some(found) = late.and_then(|(late, response)| distortion(run, late, response)) {
        return Some(found);
    }
    Some((LimitedBy::Undecided, Evidence::RateKept { rate_tps, busiest: BusiestWorker::of(run) }))
}

/// Late wake-ups that are a significant part of the response times.
fn distortion(run: &Run<'_>, late: Lateness, response: Latency) -> Option<Finding> {
    let pairs =
        [(0.5, late.p50, response.p50, FINISHED_MIN), (0.99, late.p99, response.p99, FINISHED_FOR_P99_MIN)];
    let (quantile, late_us, response_us, _) = pairs
        .into_iter()
        .filter(|(.., enough)| run.finished >= *enough)
        .find(|(_, late, response, _)| *late > DISTORTING * response)?;
    Some((LimitedBy::Generator, Evidence::LateWakeups { quantile, late_us, response_us }))
}

/// A rate that was not reached although most clients were idle for some of the time. Transactions were skipped while
/// all clients were delayed; the mean round trip does not show the cause.
fn skipped_rate(run: &Run<'_>) -> Option<Finding> {
    let Opening::Scheduled { rate_tps, missed_share, .. } = run.opening else { return None };
    let CommandTimes { round_trips, round_trip_us, .. } = run.commands;
    let occupied = round_trips as f64 * round_trip_us? / (f64::from(run.clients) * run.duration_s * 1e6);
    let evidence = Evidence::RateMissed { rate_tps, missed_share, clients_idle_share: 1.0 - occupied };
    (missed_share > MISSED_MAX && occupied < DOUBTFUL).then_some((LimitedBy::Undecided, evidence))
}

/// One long delay of a worker: one late wake-up, but all transactions scheduled meanwhile start late.
fn stall(run: &Run<'_>, rate_tps: f64, late: Lateness, response: Latency) -> Option<Finding> {
    let due = rate_tps / run.workers.max(1) as f64 * late.max / 1e6;
    let share = due / run.finished.max(1) as f64;
    if due < STALLED_MIN || share < STALLED_SHARE_MIN || late.max <= DISTORTING * response.p99 {
        return None;
    }
    let evidence = Evidence::LateOnce { late_us: late.max, transactions_share: share.min(1.0) };
    Some((LimitedBy::Generator, evidence))
}

/// The calibrated maximum or floor was reached. A worker that was mostly idle was not at its maximum; the calibration
/// may have been disturbed.
fn calibrated_maximum(run: &Run<'_>) -> Option<Finding> {
    let CalibrationUsed { round_trips_per_s_max, reached_share, floor_us_per_round_trip: floor_us, .. } =
        run.calibration?;
    if reached_share >= REACHED && run.busiest.busy_share() >= DOMINANT {
        let round_trips_per_s = round_trips_per_s_max * reached_share;
        let evidence =
            Evidence::CalibratedMaximum { round_trips_per_s, reached_share, round_trips_per_s_max };
        return Some((LimitedBy::Generator, evidence));
    }
    let round_trip_us = run.round_trip?.took_us;
    let evidence = Evidence::CalibratedFloor { floor_us: floor_us.min(round_trip_us), round_trip_us };
    (floor_us >= DOMINANT * round_trip_us).then_some((LimitedBy::Generator, evidence))
}

/// The scripts' own waits took the time.
fn waiting_of_its_own(run: &Run<'_>) -> Option<Finding> {
    let (shell_share, sleep_share) = (run.shell_occupancy, run.commands.sleep_share);
    if shell_share >= DOMINANT {
        return Some((LimitedBy::Generator, Evidence::Shell { shell_share }));
    }
    (sleep_share >= DOMINANT).then_some((LimitedBy::Undecided, Evidence::Sleep { sleep_share }))
}

/// A connection per transaction, and most of the time was spent on connecting.
fn connecting(run: &Run<'_>) -> Option<Finding> {
    let connecting_share = run.connecting_share;
    if connecting_share < DOMINANT || run.busiest.busy_share() >= DOUBTFUL {
        return None;
    }
    if run.over_network {
        return Some((LimitedBy::Undecided, Evidence::ConnectingOverNetwork { connecting_share }));
    }
    let busiest = BusiestWorker::of(run);
    Some((LimitedBy::Server, Evidence::Connecting { connecting_share, busiest }))
}

/// Back-pressure. For one client it is the client's own time; for many, a path that is always congested.
fn back_pressure(run: &Run<'_>) -> Option<Finding> {
    let threshold = if run.busiest.clients == 1 { DOMINANT } else { SATURATED };
    let HeldBack { sends, share: held_back_share } = run.held_back;
    let limit = if run.over_network { LimitedBy::Network } else { LimitedBy::Server };
    let evidence = Evidence::HeldBack { held_back_share, sends };
    (held_back_share >= threshold).then_some((limit, evidence))
}

/// Responses had arrived, but the worker had no core to process them.
fn crowded_worker(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us: round_trip_us, core_wait_us: cpu_wait_us, .. } = run.round_trip?;
    let evidence = Evidence::CpuWait { busiest: BusiestWorker::of(run), cpu_wait_us, round_trip_us };
    (cpu_wait_us >= DISTORTING * round_trip_us).then_some((LimitedBy::Generator, evidence))
}

/// One component has more than half of a round trip.
fn halves(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us: round_trip_us, own_us, core_wait_us: _, network_us } = run.round_trip?;
    if own_us >= DOMINANT * round_trip_us {
        return Some((LimitedBy::Generator, Evidence::OwnTime { own_us, round_trip_us }));
    }
    let network_us = network_us.filter(|network_us| *network_us >= DOMINANT * round_trip_us)?;
    let source = if run.is_relayed { NetworkSource::Relay } else { NetworkSource::ShortestConnect };
    Some((LimitedBy::Network, Evidence::NetworkTime { network_us, round_trip_us, source }))
}

/// The worker was too busy, or too much about it is unknown, to exclude it as the limit.
fn may_be_at_fault(run: &Run<'_>) -> Option<Finding> {
    let WorkerCondition { cpu_share, run_queue_share, .. } = run.busiest;
    let busiest = BusiestWorker::of(run);
    if run_queue_share.is_none() && *cpu_share >= DOMINANT {
        return Some((LimitedBy::Undecided, Evidence::CpuWaitUnknown { busiest }));
    }
    let is_doubtful = run.busiest.busy_share() >= DOUBTFUL;
    is_doubtful.then_some((LimitedBy::Undecided, Evidence::WorkerBusy { busiest }))
}

/// The remainder of a round trip, without pgmeter and the network, is the server's; it is the limit if it is the
/// largest part.
fn remainder(run: &Run<'_>) -> Finding {
    let Some(RoundTrip { took_us: round_trip_us, own_us, core_wait_us: _, network_us }) = run.round_trip
    else {
        return (LimitedBy::Undecided, Evidence::NoRoundTrip);
    };
    let network_us = network_us.unwrap_or(0.0);
    let server_us = (round_trip_us - own_us - network_us).max(0.0);
    if server_us < DOMINANT * round_trip_us {
        return (
            LimitedBy::Undecided,
            Evidence::NoLargestPart { own_us, network_us, server_us: None, round_trip_us },
        );
    }
    let busiest = BusiestWorker::of(run);
    (LimitedBy::Server, Evidence::ServerTime { server_us, round_trip_us, busiest })
}

/// Time that a client spends at its worker in each cycle, including queueing, in the unit of the arguments. `held`:
/// service time of the worker per cycle; `cycle`: duration of a cycle for each of `clients`.
///
/// By mean value analysis of a closed network of one queue and one delay (Reiser and Lavenberg, Mean-Value Analysis of
/// Closed Multichain Queuing Networks, Journal of the ACM 27, 1980): an arriving client finds the mean queue of the
/// network with one client less. The delay, which covers everything else, is unknown; bisection finds the delay that
/// gives the measured cycle.
pub(crate) fn residence(held: f64, cycle: f64, clients: u32) -> f64 {
    let at_worker = |delay: f64| {
        let (mut queue, mut residence) = (0.0, held);
        for present in 1..=clients {
            residence = held * (1.0 + queue);
            queue = f64::from(present) * residence / (residence + delay);
        }
        residence
    };
    if cycle <= held || !cycle.is_finite() {
        return cycle.clamp(0.0, held);
    }
    let (mut low, mut high) = (0.0, cycle);
    for _ in 0..BISECTIONS {
        let delay = f64::midpoint(low, high);
        if at_worker(delay) + delay > cycle { high = delay } else { low = delay }
    }
    at_worker(low).clamp(held, cycle)
}

/// Halvings of the range of the delay: the error is about a millionth of a cycle.
const BISECTIONS: u32 = 20;

#[cfg(test)]
mod causes;
#[cfg(test)]
mod tests;
