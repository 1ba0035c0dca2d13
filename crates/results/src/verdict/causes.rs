//! True causes, each simulated as a closed queueing network (mean value analysis, as in [`residence`]), and the verdict
//! that follows from what would be measured of it: by the workers, by the samples of backends, and by the host.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small counts, never negative

use super::*;
use crate::server_limit::{BackendTime, OwnPart, ServerSeen};
use crate::{ServerResource, WaitMethod, WaitShare, Waits};

const DURATION_S: f64 = 10.0;
const CPUS: f64 = 2.0;

/// Time that a round trip takes at each station, in microseconds.
#[derive(Clone, Copy)]
struct Cause {
    clients: u32,
    /// CPU time of the worker; its clients queue for it.
    own: f64,
    /// CPU time of the backend; backends queue for the CPUs.
    cpu: f64,
    /// Time for which a row is locked, one transaction after the other.
    lock: f64,
    /// Time of a flush, one transaction after the other.
    flush: f64,
    /// Waits for reads, and for a timer.
    read: f64,
    sleep: f64,
    /// The network's delay, and whether the shortest connect shows it.
    network: f64,
    is_network_known: bool,
    /// CPU time of a proxy with one thread.
    proxy: f64,
    /// Share of the CPUs that other programs take.
    others: f64,
    /// The requested rate, of which a fifth is missed.
    rate_tps: Option<f64>,
    samples: u64,
}

const SELECT: Cause = Cause {
    clients: 8,
    own: 8.0,
    cpu: 40.0,
    lock: 0.0,
    flush: 0.0,
    read: 0.0,
    sleep: 0.0,
    network: 0.0,
    is_network_known: false,
    proxy: 0.0,
    others: 0.0,
    rate_tps: None,
    samples: 1_600,
};

/// Mean residence times of a round trip at the stations with queues, and the number of round trips per microsecond.
fn solved(queues: &[f64], delay: f64, clients: u32) -> (Vec<f64>, f64) {
    let mut lengths = vec![0.0; queues.len()];
    let (mut residences, mut rate) = (Vec::new(), 0.0);
    for present in 1..=clients {
        residences = queues.iter().zip(&lengths).map(|(demand, length)| demand * (1.0 + length)).collect();
        rate = f64::from(present) / (residences.iter().sum::<f64>() + delay);
        lengths = residences.iter().map(|residence| rate * residence).collect();
    }
    (residences, rate)
}

impl Cause {
    fn verdict(self) -> Verdict {
        let Cause { clients, own, cpu, lock, flush, read, sleep, network, proxy, others, .. } = self;
        // Where others have the CPUs, each use of a CPU takes longer.
        let slower = 1.0 / (1.0 - others);
        // A queue for several CPUs as a queue for one and a delay (Seidmann).
        let (queued, alone) = (cpu * slower / CPUS, cpu * slower * (1.0 - 1.0 / CPUS));
        let queues = [own * slower, queued, lock, flush, proxy];
        let (residences, rate) = solved(&queues, alone + read + sleep + network, clients);
        let round_trip_us = f64::from(clients) / rate;
        let [_, at_cpu, at_lock, at_flush, _] = residences[..] else { unreachable!("five stations") };
        // The row is locked while its transaction is flushed and runs.
        let waits = [
            ("CPU", "running", cpu + lock),
            ("CPU", "runnable", (at_cpu + alone - cpu).max(0.0)),
            ("Lock", "transactionid", at_lock - lock),
            ("IO", "WalSync", flush),
            ("LWLock", "WALWrite", at_flush - flush),
            ("IO", "DataFileRead", read),
            ("Timeout", "PgSleep", sleep),
        ];
        let first = verdict(&self.run(rate, round_trip_us));
        let RoundTrip { own_us, core_wait_us: cpu_wait_us, .. } = self.round_trip(rate, round_trip_us);
        self.seen(&waits, rate, round_trip_us).complete(first, OwnPart { own_us, cpu_wait_us })
    }

    fn worker(&self, rate: f64) -> WorkerCondition {
        WorkerCondition {
            worker: 0,
            clients: self.clients,
            span_s: DURATION_S,
            cpu_share: rate * self.own,
            run_queue_share: Some(rate * self.own * (1.0 / (1.0 - self.others) - 1.0)),
            wakeups: 1,
            wakeup_lateness_us: None,
            held_back: HeldBack::default(),
            shortest_connect_us: None,
        }
    }

    fn round_trip(&self, rate: f64, took_us: f64) -> RoundTrip {
        let served_us = residence(self.own, took_us, self.clients);
        let core_wait_us = self.own * (1.0 / (1.0 - self.others) - 1.0);
        let network_us = self.is_network_known.then_some(self.network);
        assert!(rate * self.own <= 1.0);
        RoundTrip { took_us, own_us: served_us + core_wait_us, core_wait_us, network_us }
    }

    fn run(&self, rate: f64, round_trip_us: f64) -> Run<'static> {
        let round_trips = (rate * DURATION_S * 1e6) as u64;
        let opening = self.rate_tps.map_or(Opening::Closed, |rate_tps| Opening::Scheduled {
            rate_tps,
            missed_share: 0.2,
            lateness: None,
            response: None,
        });
        Run {
            duration_s: DURATION_S,
            finished: round_trips,
            clients: self.clients,
            workers: 1,
            cpus: Some(CPUS as u32),
            over_network: self.is_network_known,
            is_relayed: false,
            busiest: Box::leak(Box::new(self.worker(rate))),
            opening,
            commands: CommandTimes {
                round_trips,
                round_trip_us: Some(round_trip_us),
                sleep_share: 0.0,
                shell_share: 0.0,
            },
            shell_occupancy: 0.0,
            sends_sql: true,
            round_trip: Some(self.round_trip(rate, round_trip_us)),
            connecting_share: 0.0,
            held_back: HeldBack::default(),
            calibration: None,
        }
    }

    fn seen(&self, waits: &[(&str, &str, f64)], rate: f64, round_trip_us: f64) -> ServerSeen {
        let work_us: f64 = waits.iter().map(|(.., us)| us).sum();
        let share = |&(event_type, event, us): &(&str, &str, f64)| WaitShare {
            event_type: event_type.to_owned(),
            event: event.to_owned(),
            seen: (us / round_trip_us * self.samples as f64) as u64,
            share: us / work_us,
            interval: None,
        };
        let waits = Waits {
            source: "pg_stat_activity".to_owned(),
            rate_hz: 20.0,
            looks: self.samples / u64::from(self.clients),
            backends_seen: self.samples,
            method: WaitMethod::PostStratified,
            running_backends: None,
            runnable_backends: None,
            idle_share: 1.0 - work_us / round_trip_us,
            idle_interval: None,
            top: waits.iter().map(share).collect(),
            scripts: Vec::new(),
        };
        let busy_share = (rate * (self.own + self.cpu + self.proxy) / CPUS + self.others).min(1.0);
        let is_full = self.others > 0.15 && busy_share >= 0.9;
        let tps_max = f64::from(self.clients) * 1e6 / round_trip_us;
        let shortage = self.rate_tps.filter(|rate_tps| tps_max < *rate_tps && !is_full);
        ServerSeen {
            backends: BackendTime::new(&waits, (rate * DURATION_S * 1e6) as u64, DURATION_S, None),
            others: is_full.then_some(BusyCpus { busy_share, others_share: self.others }),
            shortage: shortage.map(|rate_tps| Evidence::TooFewClients {
                clients: self.clients,
                tps_max,
                service_us: round_trip_us,
                rate_tps,
                clients_needed: (rate_tps * round_trip_us / 1e6).ceil(),
            }),
            is_direct: !self.is_network_known,
            stolen_share: 0.0,
        }
    }
}

/// That the verdict on this cause has this name and resource.
#[track_caller]
fn check(cause: Cause, limit: &str, resource: Option<ServerResource>) {
    let verdict = cause.verdict();
    assert_eq!((verdict.name(), verdict.resource), (limit, resource), "{verdict:?}");
}

/// That this is also the verdict beside programs that take most of both CPUs.
#[track_caller]
fn check_beside_others(cause: Cause, limit: &str, resource: Option<ServerResource>) {
    check(cause, limit, resource);
    check(Cause { others: 0.9, ..cause }, limit, resource);
}

#[test]
fn the_load_generator() {
    check_beside_others(Cause { own: 200.0, cpu: 20.0, clients: 16, ..SELECT }, "generator", None);
}

#[test]
fn too_few_clients() {
    let waits = Cause { clients: 2, sleep: 20_000.0, rate_tps: Some(300.0), ..SELECT };
    check(waits, "number of clients", None);
}

#[test]
fn a_network() {
    let far = Cause { network: 3_000.0, clients: 4, ..SELECT };
    check_beside_others(Cause { is_network_known: true, ..far }, "network", None);
    check_beside_others(Cause { network: 10_000.0, ..far }, "network or proxy", None);
    // A relay on this host, as near as the shortest that is told apart from waking up processes.
    check(Cause { network: 600.0, ..far }, "network or proxy", None);
}

#[test]
fn a_proxy() {
    let proxy = Cause { proxy: 35.0, clients: 32, ..SELECT };
    check(proxy, "network or proxy", None);
    // Its wait for a CPU is a part of its time.
    check(Cause { proxy: 350.0, others: 0.9, ..proxy }, "network or proxy", None);
}

#[test]
fn a_proxy_beside_others_if_the_cpu_time_of_the_backends_is_unknown() {
    let proxy = Cause { proxy: 350.0, others: 0.9, clients: 32, ..SELECT };
    let (rate, round_trip_us) = (1e6 / 3_500.0 / 1e6, 32.0 * 3_500.0);
    let first = verdict(&proxy.run(rate, round_trip_us));
    assert_eq!(first.limit, LimitedBy::Server, "{first:?}");
    let waits = [("CPU", "running", 40.0), ("Timeout", "SpinDelay", 100.0)];
    let mut seen = proxy.seen(&waits, rate, round_trip_us);
    let backends = seen.backends.take().expect("there are samples");
    seen.backends = Some(backends.biased());
    let RoundTrip { own_us, core_wait_us: cpu_wait_us, .. } = proxy.round_trip(rate, round_trip_us);
    let verdict = seen.complete(first, OwnPart { own_us, cpu_wait_us });
    assert_eq!((verdict.limit, verdict.resource, verdict.others), (LimitedBy::Undecided, None, None));
    assert!(
        matches!(verdict.evidence, Evidence::IdleInDoubt { idle_share, .. } if idle_share > 0.9),
        "{verdict:?}"
    );
}

#[test]
fn waits_of_the_backends() {
    let row_locks = Cause { lock: 2_000.0, ..SELECT };
    check_beside_others(row_locks, "server", Some(ServerResource::RowLocks));
    let flush = Cause { flush: 1_000.0, ..SELECT };
    check_beside_others(flush, "server", Some(ServerResource::WalFlush));
    let reads = Cause { read: 10_000.0, ..SELECT };
    check_beside_others(reads, "server", Some(ServerResource::Io));
    check_beside_others(Cause { sleep: 50_000.0, ..SELECT }, "server", None);
}

#[test]
fn the_cpus() {
    let scan = Cause { cpu: 3_000.0, ..SELECT };
    check(scan, "server", Some(ServerResource::Processors));
    check(SELECT, "server", Some(ServerResource::Processors));
    let beside = Cause { others: 0.9, ..scan }.verdict();
    assert_eq!((beside.limit, beside.resource), (LimitedBy::Undecided, None), "{beside:?}");
    assert_eq!(beside.others.map(|others| others.others_share), Some(0.9));
}

#[test]
fn nothing_in_particular() {
    // One client: pgmeter, the backend, and waking each of them up take a third each.
    let alone = Cause { clients: 1, own: 30.0, cpu: 35.0, network: 40.0, ..SELECT };
    check(alone, "undecided", None);
    assert!(matches!(alone.verdict().evidence, Evidence::NoLargestPart { server_us: Some(_), .. }));
}

#[test]
fn a_few_samples_decide_nothing() {
    let reads = Cause { read: 10_000.0, samples: 16, ..SELECT };
    check(reads, "server", None);
    check(Cause { network: 10_000.0, samples: 16, ..SELECT }, "server", None);
}
