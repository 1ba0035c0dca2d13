//! The verdict: whether the load generator was what a run measured, and the evidence, a kind with its numbers.
//! Pure: from what was observed of the run, and of the machine by `pgmeter calibrate`, to a [`Verdict`]. The ways
//! and thresholds are explained for users in `docs/generator.md`; the observations are made ready by `generator`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generator::{CalibrationUsed, CommandTimes, HeldBack, Lateness, WorkerCondition};
use crate::{Latency, ServerResource};

/// What limited a run, and the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The limit.
    pub limit: LimitedBy,
    /// What the verdict rests on.
    pub evidence: Evidence,
    /// Of a server that was the limit: what it had too little of, if that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ServerResource>,
    /// Of the time in which its backends worked, the share that they spent on this resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_share: Option<f64>,
    /// CPU use of other programs, if that is why the server is not called the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<BusyCpus>,
}

/// CPUs that other programs kept busy.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusyCpus {
    /// Of this host's CPU time, the share in use.
    pub busy_share: f64,
    /// Of this host's CPU time, the share that neither pgmeter nor this load's backends used.
    pub others_share: f64,
}

/// What a verdict rests on.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// Too few transactions, or too short.
    TooShort {
        /// Transactions that ended.
        transactions: u64,
        /// The measured time.
        duration_s: f64,
    },
    /// The scripts sent nothing to a server.
    NothingSent,
    /// No command ended well.
    NoRoundTrip,
    /// A worker was never or hardly ever idle.
    WorkerSaturated {
        /// That worker.
        busiest: BusiestWorker,
        /// What would help.
        remedy: GeneratorRemedy,
    },
    /// A worker was so busy that it cannot be ruled out.
    WorkerBusy {
        /// That worker.
        busiest: BusiestWorker,
    },
    /// A worker ran for most of the time, and how long it waited for a CPU is not known.
    CpuWaitUnknown {
        /// That worker.
        busiest: BusiestWorker,
    },
    /// Answers waited while the worker waited for a CPU.
    CpuWait {
        /// That worker.
        busiest: BusiestWorker,
        /// Of a round trip, the wait for a CPU.
        cpu_wait_us: f64,
        /// A round trip.
        round_trip_us: f64,
    },
    /// The requested rate was kept.
    RateKept {
        /// The rate.
        rate_tps: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// The rate was not kept although most clients were idle for some of the time.
    RateMissed {
        /// The rate.
        rate_tps: f64,
        /// Transactions that were skipped or not finished in time.
        missed_share: f64,
        /// Of the clients' time, the share in which they were idle.
        clients_idle_share: f64,
    },
    /// Workers woke too late to start transactions.
    LateWakeups {
        /// The quantile: 0.5 or 0.99.
        quantile: f64,
        /// The lateness there.
        late_us: f64,
        /// The response time there.
        response_us: f64,
    },
    /// A worker woke very late once.
    LateOnce {
        /// How late.
        late_us: f64,
        /// Of all transactions, the share that was scheduled meanwhile.
        transactions_share: f64,
    },
    /// The maximum of the calibration was reached.
    CalibratedMaximum {
        /// Round trips per second of a worker.
        round_trips_per_s: f64,
        /// The same as a share of the maximum.
        reached_share: f64,
        /// The maximum.
        round_trips_per_s_max: f64,
    },
    /// A round trip took hardly longer than in the calibration.
    CalibratedFloor {
        /// A round trip in the calibration.
        floor_us: f64,
        /// A round trip in the run.
        round_trip_us: f64,
    },
    /// `\shell` and `\setshell` blocked the workers.
    Shell {
        /// Of the workers' time.
        shell_share: f64,
    },
    /// Most time went into `\sleep`.
    Sleep {
        /// Of the time in commands.
        sleep_share: f64,
    },
    /// Most time went into connecting, within this host.
    Connecting {
        /// Of the clients' time.
        connecting_share: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// Most time went into connecting, over a network.
    ConnectingOverNetwork {
        /// Of the clients' time.
        connecting_share: f64,
    },
    /// Sends were held back, since the other side did not take them.
    HeldBack {
        /// Of the time.
        held_back_share: f64,
        /// Those sends.
        sends: u64,
    },
    /// pgmeter took most of a round trip.
    OwnTime {
        /// pgmeter's part.
        own_us: f64,
        /// A round trip.
        round_trip_us: f64,
    },
    /// The network took most of a round trip.
    NetworkTime {
        /// The network's part.
        network_us: f64,
        /// A round trip.
        round_trip_us: f64,
        /// How that is known.
        source: NetworkSource,
    },
    /// The server took most of a round trip.
    ServerTime {
        /// The server's part.
        server_us: f64,
        /// A round trip.
        round_trip_us: f64,
        /// The busiest worker.
        busiest: BusiestWorker,
    },
    /// None of them took most of a round trip.
    NoLargestPart {
        /// pgmeter's part.
        own_us: f64,
        /// The network's part.
        network_us: f64,
        /// A round trip.
        round_trip_us: f64,
    },
    /// The clients were too few for the rate.
    TooFewClients {
        /// Clients.
        clients: u32,
        /// The highest rate that they can reach.
        tps_max: f64,
        /// The service time of a transaction.
        service_us: f64,
        /// The requested rate.
        rate_tps: f64,
        /// Clients that the rate needs.
        clients_needed: f64,
    },
}

/// The worker that was idle least.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BusiestWorker {
    /// Its number, from 0.
    pub worker: u32,
    /// Workers in all.
    pub workers: u32,
    /// Of the time, the share in which it was idle.
    pub idle_share: f64,
    /// The share in which it ran.
    pub cpu_share: f64,
    /// The share in which it waited for a CPU; `null` if the system does not tell.
    pub run_queue_share: Option<f64>,
}

/// What would make the load generator faster.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorRemedy {
    /// CPUs that it does not share.
    OwnCpus,
    /// More workers.
    MoreWorkers,
    /// More CPUs.
    MoreCpus,
}

/// How the network's part of a round trip is known.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkSource {
    /// The relay was asked for this delay.
    Relay,
    /// The shortest connect took this long.
    ShortestConnect,
}

/// What kept a run from being faster.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The server, as it should be.
    Server,
    /// The load generator: pgmeter itself, or the machine under it.
    #[serde(alias = "client")]
    Generator,
    /// The number of clients: too few for the rate that was asked for, while the server answered fast.
    ClientCount,
    /// What lies between.
    Network,
    /// Nothing, or nobody can tell.
    Undecided,
}

impl LimitedBy {
    /// As it is shown.
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

/// A resource that is busy for so much of the time is the limit: if it were infinitely fast, throughput could
/// rise by a ninth at most before it meets it again (the bottleneck law: Lazowska, Zahorjan, Graham and Sevcik,
/// Quantitative System Performance, 1984, chapter 5).
const SATURATED: f64 = 0.9;
/// A worker as busy as that was not clearly the limit, but no clear alibi is left to it either.
const DOUBTFUL: f64 = 0.75;
/// Whoever has more than half of a round trip is its limit: in a closed loop throughput is clients ÷ time of a
/// cycle (Little's law), so that nobody else can shorten it as much.
const DOMINANT: f64 = 0.5;
/// A run that does so much of what the machine can do at best is at the machine's end: two runs of one load differ
/// by less than the rest.
const REACHED: f64 = 0.8;
/// What pgmeter adds to a time shows in it if it is so much of it.
const DISTORTING: f64 = 0.25;
/// A worker that waits for a core as long as this is short of cores, and not of threads.
const CROWDED: f64 = 0.25;
/// A rate is kept if no more than this was skipped or left over at the end.
pub(crate) const MISSED_MAX: f64 = 0.01;
/// Shorter windows, with the scheduler's time slices in them, say nothing of shares.
const DURATION_MIN_S: f64 = 0.5;
/// Fewer transactions say nothing of the worst of a hundred.
const FINISHED_FOR_P99_MIN: u64 = 1_000;
/// A delay of the generator shows in the 99th percentile if it met one transaction of a hundred, and more than a few.
const STALLED_SHARE_MIN: f64 = 0.01;
const STALLED_MIN: f64 = 3.0;
/// Fewer transactions say nothing of the typical one.
const FINISHED_MIN: u64 = 20;

/// What was observed of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) duration_s: f64,
    /// Transactions that came to an end.
    pub(crate) finished: u64,
    pub(crate) clients: u32,
    pub(crate) workers: usize,
    /// Processors that this process may use.
    pub(crate) cpus: Option<u32>,
    pub(crate) over_network: bool,
    /// Whether a relay of ours makes it.
    pub(crate) is_relayed: bool,
    pub(crate) busiest: &'a WorkerCondition,
    pub(crate) opening: Opening,
    pub(crate) commands: CommandTimes,
    /// Of the workers' time, that in which a command of the shell kept them waiting.
    pub(crate) shell_occupancy: f64,
    /// Whether anything was sent to a server but to connect.
    pub(crate) sends_sql: bool,
    /// `None` if none ended well.
    pub(crate) round_trip: Option<RoundTrip>,
    /// Of the clients' time, with a connection for each transaction.
    pub(crate) connecting_share: f64,
    pub(crate) held_back: HeldBack,
    pub(crate) calibration: Option<CalibrationUsed>,
}

/// When transactions began.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Opening {
    /// As soon as a client was free.
    Closed,
    /// When they were due.
    Scheduled {
        rate_tps: f64,
        /// Of what was scheduled, what was skipped or left over at the end.
        missed_share: f64,
        /// How late workers woke for it.
        lateness: Option<Lateness>,
        response: Option<Latency>,
    },
}

/// A round trip of the busiest worker's clients, on average.
#[derive(Copy, Clone, Debug)]
pub(crate) struct RoundTrip {
    /// From sending to the end of the answer.
    pub(crate) took_us: f64,
    /// The part that the worker took, queueing for it included.
    pub(crate) own_us: f64,
    /// Of that, what the worker waited for a core.
    pub(crate) core_wait_us: f64,
    /// The part of the network.
    pub(crate) network_us: Option<f64>,
}

/// Who was the limit, and the evidence.
type Finding = (LimitedBy, Evidence);

/// Judges a run. The first rule that has something to say says it: whether there is anything to judge, then who
/// was saturated, then who has most of a round trip.
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

/// What would make the generator faster.
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

/// A rate that was kept: nothing was at its limit, whatever it was busy with; but the latencies may be pgmeter's.
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

/// Late wake-ups that are a good part of the response times.
fn distortion(run: &Run<'_>, late: Lateness, response: Latency) -> Option<Finding> {
    let pairs =
        [(0.5, late.p50, response.p50, FINISHED_MIN), (0.99, late.p99, response.p99, FINISHED_FOR_P99_MIN)];
    let (quantile, late_us, response_us, _) = pairs
        .into_iter()
        .filter(|(.., enough)| run.finished >= *enough)
        .find(|(_, late, response, _)| *late > DISTORTING * response)?;
    Some((LimitedBy::Generator, Evidence::LateWakeups { quantile, late_us, response_us }))
}

/// A rate that was not kept although most clients had nothing to do for some of the time: what was skipped came due
/// while all of them were held up, and who held them up the round trips on average do not tell.
fn skipped_rate(run: &Run<'_>) -> Option<Finding> {
    let Opening::Scheduled { rate_tps, missed_share, .. } = run.opening else { return None };
    let CommandTimes { round_trips, round_trip_us, .. } = run.commands;
    let occupied = round_trips as f64 * round_trip_us? / (f64::from(run.clients) * run.duration_s * 1e6);
    let evidence = Evidence::RateMissed { rate_tps, missed_share, clients_idle_share: 1.0 - occupied };
    (missed_share > MISSED_MAX && occupied < DOUBTFUL).then_some((LimitedBy::Undecided, evidence))
}

/// One long delay of a worker is one late wake-up, and late for all that was due meanwhile.
fn stall(run: &Run<'_>, rate_tps: f64, late: Lateness, response: Latency) -> Option<Finding> {
    let due = rate_tps / run.workers.max(1) as f64 * late.max / 1e6;
    let share = due / run.finished.max(1) as f64;
    if due < STALLED_MIN || share < STALLED_SHARE_MIN || late.max <= DISTORTING * response.p99 {
        return None;
    }
    let evidence = Evidence::LateOnce { late_us: late.max, transactions_share: share.min(1.0) };
    Some((LimitedBy::Generator, evidence))
}

/// The machine's own maximum was reached, or its floor. A worker that was idle most of the time was not at its maximum,
/// whatever a calibration says that was made on a busy day.
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

/// The scripts themselves took the time.
fn waiting_of_its_own(run: &Run<'_>) -> Option<Finding> {
    let (shell_share, sleep_share) = (run.shell_occupancy, run.commands.sleep_share);
    if shell_share >= DOMINANT {
        return Some((LimitedBy::Generator, Evidence::Shell { shell_share }));
    }
    (sleep_share >= DOMINANT).then_some((LimitedBy::Undecided, Evidence::Sleep { sleep_share }))
}

/// A connection for each transaction, and most of the time in that.
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

/// Bytes that the other side does not take: of one client it is its own time, of many it is a path that is never free.
fn back_pressure(run: &Run<'_>) -> Option<Finding> {
    let threshold = if run.busiest.clients == 1 { DOMINANT } else { SATURATED };
    let HeldBack { sends, share: held_back_share } = run.held_back;
    let limit = if run.over_network { LimitedBy::Network } else { LimitedBy::Server };
    let evidence = Evidence::HeldBack { held_back_share, sends };
    (held_back_share >= threshold).then_some((limit, evidence))
}

/// Answers that had come lay there, because the worker had no core to fetch them with.
fn crowded_worker(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us: round_trip_us, core_wait_us: cpu_wait_us, .. } = run.round_trip?;
    let evidence = Evidence::CpuWait { busiest: BusiestWorker::of(run), cpu_wait_us, round_trip_us };
    (cpu_wait_us >= DISTORTING * round_trip_us).then_some((LimitedBy::Generator, evidence))
}

/// One side has more than half of a round trip.
fn halves(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us: round_trip_us, own_us, core_wait_us: _, network_us } = run.round_trip?;
    if own_us >= DOMINANT * round_trip_us {
        return Some((LimitedBy::Generator, Evidence::OwnTime { own_us, round_trip_us }));
    }
    let network_us = network_us.filter(|network_us| *network_us >= DOMINANT * round_trip_us)?;
    let source = if run.is_relayed { NetworkSource::Relay } else { NetworkSource::ShortestConnect };
    Some((LimitedBy::Network, Evidence::NetworkTime { network_us, round_trip_us, source }))
}

/// The worker was so busy, or so much is unknown of it, that it cannot be ruled out.
fn may_be_at_fault(run: &Run<'_>) -> Option<Finding> {
    let WorkerCondition { cpu_share, run_queue_share, .. } = run.busiest;
    let busiest = BusiestWorker::of(run);
    if run_queue_share.is_none() && *cpu_share >= DOMINANT {
        return Some((LimitedBy::Undecided, Evidence::CpuWaitUnknown { busiest }));
    }
    let is_doubtful = run.busiest.busy_share() >= DOUBTFUL;
    is_doubtful.then_some((LimitedBy::Undecided, Evidence::WorkerBusy { busiest }))
}

/// What is neither pgmeter's nor the network's is the server's, if it is the bigger part.
fn remainder(run: &Run<'_>) -> Finding {
    let Some(RoundTrip { took_us: round_trip_us, own_us, core_wait_us: _, network_us }) = run.round_trip
    else {
        return (LimitedBy::Undecided, Evidence::NoRoundTrip);
    };
    let network_us = network_us.unwrap_or(0.0);
    let server_us = (round_trip_us - own_us - network_us).max(0.0);
    if server_us < DOMINANT * round_trip_us {
        return (LimitedBy::Undecided, Evidence::NoLargestPart { own_us, network_us, round_trip_us });
    }
    let busiest = BusiestWorker::of(run);
    (LimitedBy::Server, Evidence::ServerTime { server_us, round_trip_us, busiest })
}

/// How long a client is at its worker in each of its cycles, waiting for it included, in the unit of the
/// arguments: `held` is what the worker needs for one cycle, `cycle` how long a cycle takes, of each of `clients`.
///
/// By mean value analysis of a closed network of one queue and one delay (Reiser and Lavenberg, Mean-Value Analysis of
/// Closed Multichain Queuing Networks, Journal of the ACM 27, 1980): an arriving client finds the queue as it is on
/// average with one client less. The delay, which is all the rest, is not known; it is the one that makes the cycle as
/// long as it was measured, found by bisection.
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

/// Halvings of the range of the delay: a millionth of a cycle is nothing.
const BISECTIONS: u32 = 20;

#[cfg(test)]
mod tests;
