//! The workers of the load generator in the record: the event loop, CPU time and waits for a core, wake-ups, delayed
//! sends, and the times of the scripts' commands. Made from the engine's measurements; nothing here judges.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Counts, Distribution, WorkerHealth};

use crate::SafeText;
use crate::times::{NANOSECONDS_PER_MICROSECOND, round_to_ns};

/// The system interface that carried the clients' bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventLoop {
    /// Its name.
    pub name: EventLoopName,
    /// Why `io_uring` was not used; `null` if it was, or if `epoll` was requested.
    pub because: Option<SafeText>,
}

/// Interfaces that wait for many sockets.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventLoopName {
    /// Linux's queues of submissions and completions.
    IoUring,
    /// Readiness of sockets.
    Epoll,
    /// None: tests without sockets.
    Other,
}

impl EventLoopName {
    /// The value of `--event-loop`.
    pub fn name(self) -> &'static str {
        match self {
            EventLoopName::IoUring => "io_uring",
            EventLoopName::Epoll => "epoll",
            EventLoopName::Other => "other",
        }
    }
}

/// One worker. Shares are of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCondition {
    /// Its number, from 0.
    pub worker: u32,
    /// Number of its clients.
    pub clients: u32,
    /// Seconds over which it was observed.
    pub span_s: f64,
    /// Share of time in which it ran, in user or kernel mode.
    pub cpu_share: f64,
    /// Share of time in which it was ready to run and waited for a core; `null` if the system does not provide it.
    pub run_queue_share: Option<f64>,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Lateness of its timed wake-ups; `null` without any.
    pub wakeup_lateness_us: Option<Lateness>,
    /// Delayed sends of its sockets.
    pub held_back: HeldBack,
    /// The shortest connect of its clients.
    pub shortest_connect_us: Option<f64>,
}

/// Lateness of wake-ups, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // the names say it all
pub struct Lateness {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// Back-pressure: the other side accepted data more slowly than it was sent.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBack {
    /// Sends that the socket did not accept completely at once.
    pub sends: u64,
    /// Share of time in which at least one connection had data that its socket did not accept; the maximum over the
    /// workers.
    pub share: f64,
}

/// Times of the scripts' commands.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandTimes {
    /// Waits for the server; a pipeline counts as one.
    pub round_trips: u64,
    /// Mean time from sending to the end of the response; `null` without round trips.
    pub round_trip_us: Option<f64>,
    /// Share of `\sleep` in the total time of commands.
    pub sleep_share: f64,
    /// Share of `\shell` and `\setshell`, which block a worker, in the total time of commands.
    pub shell_share: f64,
}

/// Total times of the scripts' commands, over all clients.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Waits for the server that succeeded.
    pub round_trips: u64,
    /// Waits for the server that ended with an error.
    pub failed_round_trips: u64,
    /// Time in successful SQL commands and pipelines.
    pub sql_ns: u128,
    /// Time in `\sleep`.
    pub sleep_ns: u128,
    /// Time in `\shell` and `\setshell`.
    pub shell_ns: u128,
}

impl WorkerCondition {
    pub(crate) fn of(health: &WorkerHealth) -> WorkerCondition {
        let WorkerHealth {
            worker,
            clients,
            span_ns,
            cpu_ns,
            run_queue_ns,
            wakeups,
            wakeup_lateness,
            sends_held_back,
            held_back_ns,
            shortest_connect_ns,
        } = health;
        let share = |ns: u64| if *span_ns == 0 { 0.0 } else { (ns as f64 / *span_ns as f64).min(1.0) };
        let cpu_share = share(*cpu_ns);
        WorkerCondition {
            worker: count(*worker),
            clients: count(*clients),
            span_s: *span_ns as f64 / NANOSECONDS_PER_SECOND,
            cpu_share: per_million(cpu_share),
            // The two clocks may differ slightly.
            run_queue_share: run_queue_ns.map(|ns| per_million(share(ns).min(1.0 - cpu_share))),
            wakeups: *wakeups,
            wakeup_lateness_us: Lateness::of(wakeup_lateness),
            held_back: HeldBack { sends: *sends_held_back, share: per_million(share(*held_back_ns)) },
            shortest_connect_us: shortest_connect_ns.map(|ns| us(ns as f64)),
        }
    }

    /// Share of time in which the worker ran or waited for a core.
    pub fn busy_share(&self) -> f64 {
        (self.cpu_share + self.run_queue_share.unwrap_or(0.0)).min(1.0)
    }
}

impl Lateness {
    pub(crate) fn of(lateness: &Distribution) -> Option<Lateness> {
        let quantile = |q: f64| lateness.quantile_ns(q).map(|ns| us(ns as f64));
        Some(Lateness { p50: quantile(0.5)?, p99: quantile(0.99)?, max: us(lateness.max_ns()? as f64) })
    }
}

impl CommandTimes {
    pub(crate) fn of(work: &Work) -> CommandTimes {
        let Work { round_trips, failed_round_trips: _, sql_ns, sleep_ns, shell_ns } = *work;
        let all_ns = sql_ns + sleep_ns + shell_ns;
        let share = |ns: u128| if all_ns == 0 { 0.0 } else { per_million(ns as f64 / all_ns as f64) };
        CommandTimes {
            round_trips,
            round_trip_us: (round_trips > 0).then(|| us(sql_ns as f64 / round_trips as f64)),
            sleep_share: share(sleep_ns),
            shell_share: share(shell_ns),
        }
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

/// Saturates; larger numbers do not occur.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Nanoseconds as microseconds, rounded to the nanosecond.
fn us(ns: f64) -> f64 {
    round_to_ns(ns / NANOSECONDS_PER_MICROSECOND)
}

/// A share, rounded to the precision of the measurement.
pub(crate) fn per_million(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

const NANOSECONDS_PER_SECOND: f64 = 1e9;
const MICROSECONDS_PER_SECOND: f64 = 1e6;
