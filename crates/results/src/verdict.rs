//! The verdict: whether the load generator was what a run measured, and the evidence in one sentence with its numbers.
//! Pure: from what was observed of the run, and of the machine by `pgmeter calibrate`, to a [`Verdict`]. The ways
//! and thresholds are explained for users in `docs/generator.md`; the observations are made ready by `generator`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generator::{CalibrationUsed, CommandTimes, HeldBack, Lateness, WorkerCondition};
use crate::wording::{number, percent, rate, time};
use crate::{Latency, ServerResource};

/// Who was the limit of a run, and how one can know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Who.
    pub limit: LimitedBy,
    /// One sentence with the numbers that it rests on, without a full stop.
    pub evidence: String,
    /// Of a server that was the limit: what it had too little of, if that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ServerResource>,
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
type Finding = (LimitedBy, String);

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
    Verdict { limit, evidence, resource: None }
}

fn too_little(run: &Run<'_>) -> Option<Finding> {
    let transactions = if run.finished == 1 { "transaction" } else { "transactions" };
    let (finished, duration) = (number(run.finished), time(run.duration_s * 1e6));
    let evidence = format!("{finished} {transactions} in {duration} are too few to tell: run for longer");
    let little = run.duration_s < DURATION_MIN_S || run.finished < FINISHED_MIN;
    little.then_some((LimitedBy::Undecided, evidence))
}

fn nothing_sent(run: &Run<'_>) -> Option<Finding> {
    let evidence = "the scripts sent no command to a server, so it was pgmeter that was measured";
    (!run.sends_sql).then(|| (LimitedBy::Generator, evidence.to_owned()))
}

fn saturated_worker(run: &Run<'_>) -> Option<Finding> {
    let who =
        if run.workers == 1 { "its worker".to_owned() } else { format!("worker {}", run.busiest.worker) };
    let idle = 1.0 - run.busiest.busy_share();
    let idle = if idle < 0.01 {
        "never idle".to_owned()
    } else {
        format!("idle only {} of the time", percent(idle))
    };
    let evidence = format!("{who} was {idle}: {}; {}", shares(run), advice(run));
    (run.busiest.busy_share() >= SATURATED).then_some((LimitedBy::Generator, evidence))
}

/// What the busiest worker did with its time.
fn shares(run: &Run<'_>) -> String {
    let ran = percent(run.busiest.cpu_share);
    match run.busiest.run_queue_share {
        Some(waited) => format!("it ran {ran} of the time and waited for a core {}", percent(waited)),
        None => format!("it ran {ran} of the time"),
    }
}

/// What would make the generator faster.
fn advice(run: &Run<'_>) -> &'static str {
    let crowded = run.busiest.run_queue_share.is_some_and(|waited| waited >= CROWDED);
    let free_cores = run.cpus.is_none_or(|cpus| run.workers < cpus as usize);
    let shareable = (run.workers as u64) < u64::from(run.clients);
    match (crowded, free_cores && shareable) {
        (true, _) => CROWD_ADVICE,
        (false, true) => "give it more threads (-j) or fewer clients",
        (false, false) => "it needs a machine with more cores, or fewer clients",
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
    let evidence = format!(
        "the rate of {} tps was kept, so nothing was at its limit; {} was idle {} of the time",
        rate(rate_tps),
        busiest(run),
        percent(1.0 - run.busiest.busy_share())
    );
    Some((LimitedBy::Undecided, evidence))
}

/// Late wake-ups that are a good part of the response times.
fn distortion(run: &Run<'_>, late: Lateness, response: Latency) -> Option<Finding> {
    let pairs = [
        ("half of the time", late.p50, response.p50, FINISHED_MIN),
        ("in one of a hundred cases", late.p99, response.p99, FINISHED_FOR_P99_MIN),
    ];
    let (how_often, late_us, response_us, _) = pairs
        .into_iter()
        .filter(|(.., enough)| run.finished >= *enough)
        .find(|(_, late, response, _)| *late > DISTORTING * response)?;
    let evidence = format!(
        "{how_often} a worker woke {} or more too late to begin a transaction, and that is {} of the response time there, \
         {}; service times are free of it",
        time(late_us),
        percent((late_us / response_us).min(1.0)),
        time(response_us)
    );
    Some((LimitedBy::Generator, evidence))
}

/// A rate that was not kept although most clients had nothing to do for some of the time: what was skipped came due
/// while all of them were held up, and who held them up the round trips on average do not tell.
fn skipped_rate(run: &Run<'_>) -> Option<Finding> {
    let Opening::Scheduled { rate_tps, missed_share, .. } = run.opening else { return None };
    let CommandTimes { round_trips, round_trip_us, .. } = run.commands;
    let occupied = round_trips as f64 * round_trip_us? / (f64::from(run.clients) * run.duration_s * 1e6);
    let evidence = format!(
        "{} of the transactions at {} tps were skipped or not done in time, though the clients had nothing to do for {} of \
         theirs: something held all of them up now and then, see the response times over time",
        percent(missed_share),
        rate(rate_tps),
        percent(1.0 - occupied)
    );
    (missed_share > MISSED_MAX && occupied < DOUBTFUL).then_some((LimitedBy::Undecided, evidence))
}

/// One long delay of a worker is one late wake-up, and late for all that was due meanwhile.
fn stall(run: &Run<'_>, rate_tps: f64, late: Lateness, response: Latency) -> Option<Finding> {
    let due = rate_tps / run.workers.max(1) as f64 * late.max / 1e6;
    let share = due / run.finished.max(1) as f64;
    if due < STALLED_MIN || share < STALLED_SHARE_MIN || late.max <= DISTORTING * response.p99 {
        return None;
    }
    let evidence = format!(
        "once a worker woke {} too late, and {} of all transactions were due meanwhile; service times are free of it",
        time(late.max),
        percent(share.min(1.0))
    );
    Some((LimitedBy::Generator, evidence))
}

/// The machine's own maximum was reached, or its floor. A worker that was idle most of the time was not at its maximum,
/// whatever a calibration says that was made on a busy day.
fn calibrated_maximum(run: &Run<'_>) -> Option<Finding> {
    let CalibrationUsed { round_trips_per_s_max, reached_share, floor_us_per_round_trip: floor_us, .. } =
        run.calibration?;
    if reached_share >= REACHED && run.busiest.busy_share() >= DOMINANT {
        let evidence = format!(
            "{} round trips per second and worker are {} of the {} that this machine makes with a server that takes no time",
            rate(round_trips_per_s_max * reached_share),
            percent(reached_share),
            rate(round_trips_per_s_max)
        );
        return Some((LimitedBy::Generator, evidence));
    }
    let took_us = run.round_trip?.took_us;
    let evidence = format!(
        "{} of the {} that a round trip took are what this machine needs with a server that takes no time",
        time(floor_us.min(took_us)),
        time(took_us)
    );
    (floor_us >= DOMINANT * took_us).then_some((LimitedBy::Generator, evidence))
}

/// The scripts themselves took the time.
fn waiting_of_its_own(run: &Run<'_>) -> Option<Finding> {
    let (shell, sleep) = (run.shell_occupancy, run.commands.sleep_share);
    if shell >= DOMINANT {
        let evidence = format!(
            "\\shell and \\setshell, which keep a worker's other clients waiting, took {} of the workers' time",
            percent(shell)
        );
        return Some((LimitedBy::Generator, evidence));
    }
    let share = percent(sleep);
    let evidence = format!("{share} of the time in commands went into \\sleep, so nothing was at its limit");
    (sleep >= DOMINANT).then_some((LimitedBy::Undecided, evidence))
}

/// A connection for each transaction, and most of the time in that.
fn connecting(run: &Run<'_>) -> Option<Finding> {
    if run.connecting_share < DOMINANT || run.busiest.busy_share() >= DOUBTFUL {
        return None;
    }
    let share = percent(run.connecting_share);
    if run.over_network {
        let evidence = format!(
            "the clients spent {share} of their time connecting, and how much of that the network took was not measured"
        );
        return Some((LimitedBy::Undecided, evidence));
    }
    let (busiest, idle) = (busiest(run), percent(1.0 - run.busiest.busy_share()));
    let evidence = format!(
        "{busiest} was idle {idle} of the time while its clients waited, {share} of their time for connections"
    );
    Some((LimitedBy::Server, evidence))
}

/// Bytes that the other side does not take: of one client it is its own time, of many it is a path that is never free.
fn back_pressure(run: &Run<'_>) -> Option<Finding> {
    let threshold = if run.busiest.clients == 1 { DOMINANT } else { SATURATED };
    let HeldBack { sends, share } = run.held_back;
    let (limit, who) = match run.over_network {
        true => (LimitedBy::Network, "the network, or the server behind it,"),
        false => (LimitedBy::Server, "the server"),
    };
    let (share_of_time, sends) = (percent(share), number(sends));
    let evidence =
        format!("{share_of_time} of the time {who} did not take what was sent: {sends} sends were held back");
    (share >= threshold).then_some((limit, evidence))
}

/// Answers that had come lay there, because the worker had no core to fetch them with.
fn crowded_worker(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us, core_wait_us, .. } = run.round_trip?;
    let waited = percent(run.busiest.run_queue_share.unwrap_or(0.0));
    let (busiest, core_wait, took) = (busiest(run), time(core_wait_us), time(took_us));
    let evidence = format!(
        "{busiest} waited for a core {waited} of the time, {core_wait} of the {took} that a round trip took; {CROWD_ADVICE}"
    );
    (core_wait_us >= DISTORTING * took_us).then_some((LimitedBy::Generator, evidence))
}

const CROWD_ADVICE: &str =
    "it shares its cores with others: run it on a machine of its own, or with fewer clients";

/// One side has more than half of a round trip.
fn halves(run: &Run<'_>) -> Option<Finding> {
    let RoundTrip { took_us, own_us, core_wait_us: _, network_us } = run.round_trip?;
    let took = time(took_us);
    if own_us >= DOMINANT * took_us {
        let evidence = format!("{} of the {took} that a round trip took are pgmeter's own", time(own_us));
        return Some((LimitedBy::Generator, evidence));
    }
    let network = time(network_us.filter(|network_us| *network_us >= DOMINANT * took_us)?);
    let source =
        if run.is_relayed { "as the relay was asked to delay" } else { "as the shortest connect shows" };
    let evidence = format!("{network} of the {took} that a round trip took are the network's, {source}");
    Some((LimitedBy::Network, evidence))
}

/// The worker was so busy, or so much is unknown of it, that it cannot be ruled out.
fn may_be_at_fault(run: &Run<'_>) -> Option<Finding> {
    let WorkerCondition { cpu_share, run_queue_share, .. } = run.busiest;
    if run_queue_share.is_none() && *cpu_share >= DOMINANT {
        let (busiest, ran) = (busiest(run), percent(*cpu_share));
        let evidence = format!(
            "{busiest} ran {ran} of the time, and this system does not tell how long it waited for a core"
        );
        return Some((LimitedBy::Undecided, evidence));
    }
    let busy = run.busiest.busy_share();
    let evidence = format!(
        "{} was idle {} of the time: too little to rule it out, enough not to accuse it; {}",
        busiest(run),
        percent(1.0 - busy),
        shares(run)
    );
    (busy >= DOUBTFUL).then_some((LimitedBy::Undecided, evidence))
}

/// What is neither pgmeter's nor the network's is the server's, if it is the bigger part.
fn remainder(run: &Run<'_>) -> Finding {
    let Some(RoundTrip { took_us, own_us, core_wait_us: _, network_us }) = run.round_trip else {
        return (LimitedBy::Undecided, "no command of the scripts came to a good end".to_owned());
    };
    let network_us = network_us.unwrap_or(0.0);
    let server_us = (took_us - own_us - network_us).max(0.0);
    let (took, own, network) = (time(took_us), time(own_us), time(network_us));
    if server_us < DOMINANT * took_us {
        let evidence = format!(
            "of the {took} that a round trip took {own} are pgmeter's own and {network} the network's: nobody has the bigger \
             part"
        );
        return (LimitedBy::Undecided, evidence);
    }
    let evidence = format!(
        "{} was idle {} of the time while its clients waited for the server, {} of the {took} of a round trip",
        busiest(run),
        percent(1.0 - run.busiest.busy_share()),
        time(server_us)
    );
    (LimitedBy::Server, evidence)
}

/// The worker that was idle least, among one or many.
fn busiest(run: &Run<'_>) -> &'static str {
    if run.workers == 1 { "the worker" } else { "the busiest worker" }
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
