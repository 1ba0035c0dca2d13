//! Completes a verdict by observations of the server: whether its backends worked while the clients waited, the resource
//! that limited it, other programs on its CPUs, and too few clients for a rate. Pure functions of the complete record.
//! docs/generator.md has the rules.

use crate::processor_use::{backends_running, full_beside_others};
use crate::server_resource::{is_no_wait_for_cpus, is_timer};
use crate::verdict::{DOMINANT, MISSED_MAX};
use crate::{
    BusyCpus, Ceiling, CeilingBasis, Evidence, Generator, LimitedBy, Missing, Rank, Record, ServerResource,
    Verdict, WaitMethod, WaitShare, Waits,
};

/// Minimum share of the backends' working time for naming a resource.
const NAMED_SHARE: f64 = 0.4;
/// Minimum share of row locks in working time at which they delay other clients.
const LOCKED_SHARE: f64 = 0.5;
/// Minimum number of samples for a share: with fewer, a single sample would change it by more than a twentieth.
const SAMPLES_MIN: f64 = 20.0;
/// On one host without a known proxy, a shorter way is waking up processes on idle CPUs rather than a proxy.
const WAY_MIN_US: f64 = 500.0;

/// How the benchmark's backends spent their time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BackendTime {
    /// Working time of all backends per round trip of a client; `None` if it cannot be compared with round trips.
    pub(crate) work_us: Option<f64>,
    /// Share of time in which a backend waited for its client.
    pub(crate) idle_share: f64,
    /// Number of samples of backends, and of working ones.
    pub(crate) samples: f64,
    pub(crate) working_samples: f64,
    /// The resource with the largest share of the working time, and this share.
    pub(crate) resource: Option<(ServerResource, f64)>,
    /// Share of the working time in waits that have nothing to do with CPUs, by resource, and all together.
    pub(crate) waits_share: f64,
    /// Share of the working time in waits for a time to come.
    timers_share: f64,
    /// The samples may show too few running backends: the CPUs were full, and there is no CPU time to correct them.
    is_biased: bool,
    waits: [(ServerResource, f64); 3],
}

impl BackendTime {
    /// From the shares of waits. `round_trips` are those of all clients in `duration_s`; `running` is the number of
    /// running backends by their CPU time, if known.
    pub(crate) fn new(
        waits: &Waits,
        round_trips: u64,
        duration_s: f64,
        running: Option<f64>,
    ) -> Option<BackendTime> {
        let share = |of: &dyn Fn(&WaitShare) -> bool| -> f64 {
            waits.top.iter().filter(|wait| of(wait)).map(|wait| wait.share).sum()
        };
        // Waiting for the client within a transaction is not work.
        let at_work = share(&|wait| wait.event_type != "Client");
        let of_work = |share: f64| if at_work > 0.0 { (share / at_work).min(1.0) } else { 0.0 };
        let working_share = (1.0 - waits.idle_share) * at_work;
        let samples = waits.backends_seen as f64;
        let backends = samples / waits.looks as f64;
        let working = (backends * working_share).max(running.unwrap_or(0.0));
        let shares = ServerResource::ALL
            .map(|resource| (resource, of_work(share(&|wait| ServerResource::of(wait) == Some(resource)))));
        let [(_, locks), (_, flush), _, (_, io)] = shares;
        let named = shares.into_iter().filter(|(_, share)| *share >= NAMED_SHARE);
        (waits.looks > 0 && waits.backends_seen > 0).then(|| BackendTime {
            work_us: (round_trips > 0).then(|| working * duration_s * 1e6 / round_trips as f64),
            idle_share: 1.0 - working_share,
            samples,
            working_samples: samples * working_share,
            resource: named.max_by(|a, b| a.1.total_cmp(&b.1)),
            waits_share: of_work(share(&is_no_wait_for_cpus)),
            timers_share: of_work(share(&is_timer)),
            is_biased: false,
            waits: [
                (ServerResource::RowLocks, locks),
                (ServerResource::WalFlush, flush),
                (ServerResource::Io, io),
            ],
        })
    }

    fn of(record: &Record) -> Option<BackendTime> {
        let observation = record.observation.as_ref()?;
        let waits = observation.waits.as_ref()?;
        let round_trips = record.summary.generator.as_ref().map_or(0, |it| it.commands.round_trips);
        let time = BackendTime::new(waits, round_trips, record.summary.duration_s, backends_running(record))?;
        let is_all = record.plan.targets.is_empty()
            && !observation.missing.iter().any(|missing| missing.what == Missing::OTHER_HOSTS);
        // Samples alone see running too seldom if the sampling process competes for the CPUs.
        let is_biased = waits.method == WaitMethod::Samples && record.environment.has_full_processors();
        let work_us = time.work_us.filter(|_| is_all);
        let time = BackendTime { work_us, ..time };
        Some(if is_biased { time.biased() } else { time })
    }

    /// The same from samples that may show too few running backends.
    pub(crate) fn biased(self) -> BackendTime {
        BackendTime { work_us: None, is_biased: true, ..self }
    }

    /// The resource, unless a few samples would decide.
    fn named_resource(&self) -> Option<(ServerResource, f64)> {
        self.resource.filter(|_| self.working_samples >= SAMPLES_MIN)
    }
}

/// Observations of the server and its host.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSeen {
    pub(crate) backends: Option<BackendTime>,
    /// CPU use, if the CPUs of the server's host were full and other programs had a part of them.
    pub(crate) others: Option<BusyCpus>,
    /// Evidence that there were too few clients for the rate.
    pub(crate) shortage: Option<Evidence>,
    /// Whether client and server share a host, and no proxy between them is known.
    pub(crate) is_direct: bool,
    /// Share of the host's CPU time stolen by the hypervisor.
    pub(crate) stolen_share: f64,
}

/// pgmeter's part of a round trip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPart {
    pub(crate) own_us: f64,
    /// The busiest worker's wait for a CPU at a wake-up, which `own_us` includes.
    pub(crate) cpu_wait_us: f64,
}

impl OwnPart {
    fn of(generator: &Generator) -> OwnPart {
        let busiest = generator.workers.iter().max_by(|a, b| a.busy_share().total_cmp(&b.busy_share()));
        let cpu_wait_us = busiest.map_or(0.0, |worker| {
            worker.run_queue_share.unwrap_or(0.0) * worker.span_s * 1e6 / worker.wakeups.max(1) as f64
        });
        OwnPart { own_us: generator.own_us_per_round_trip.unwrap_or(0.0), cpu_wait_us }
    }
}

impl ServerSeen {
    fn of(record: &Record) -> ServerSeen {
        let backends = BackendTime::of(record);
        let environment = &record.environment;
        let same_host = environment.connection.as_ref().is_some_and(|connection| connection.same_host);
        ServerSeen {
            others: full_beside_others(record),
            shortage: too_few_clients(record, backends.as_ref()),
            is_direct: same_host && record.summary.pooler.is_none(),
            stolen_share: environment.conditions.processors.map_or(0.0, |shares| shares.stolen),
            backends,
        }
    }

    /// Corrects or completes a verdict that names the server; others remain.
    pub(crate) fn complete(&self, mut verdict: Verdict, own: OwnPart) -> Verdict {
        if verdict.limit != LimitedBy::Server {
            return verdict;
        }
        if let Some(evidence) = self.shortage {
            (verdict.limit, verdict.evidence) = (LimitedBy::ClientCount, evidence);
            return verdict;
        }
        if let Some((limit, evidence)) = self.idle_server(&verdict.evidence, own) {
            (verdict.limit, verdict.evidence) = (limit, evidence);
            return verdict;
        }
        if let Some(evidence) = self.idle_in_doubt(&verdict.evidence) {
            (verdict.limit, verdict.evidence) = (LimitedBy::Undecided, evidence);
            return verdict;
        }
        // Waits that have nothing to do with CPUs decide, whatever others do with the CPUs.
        let waits_decide = self
            .backends
            .as_ref()
            .is_some_and(|it| it.working_samples >= SAMPLES_MIN && it.waits_share >= DOMINANT);
        if let Some(others) = self.others.filter(|_| !waits_decide) {
            (verdict.limit, verdict.others) = (LimitedBy::Undecided, Some(others));
            return verdict;
        }
        let resource = self.backends.as_ref().and_then(BackendTime::named_resource);
        (verdict.resource, verdict.resource_share) = resource.unzip();
        verdict
    }

    /// The backends seem to have mostly waited for their clients, but the samples that say so may be biased.
    fn idle_in_doubt(&self, evidence: &Evidence) -> Option<Evidence> {
        let Evidence::ServerTime { server_us, round_trip_us, .. } = *evidence else { return None };
        let BackendTime { is_biased, idle_share, samples, .. } = *self.backends.as_ref()?;
        let is_in_doubt = is_biased && samples >= SAMPLES_MIN && idle_share >= DOMINANT;
        is_in_doubt.then_some(Evidence::IdleInDoubt { server_us, round_trip_us, idle_share })
    }

    /// The clients waited for the server, but its backends mostly waited for the clients: by Little's law, working
    /// backends ÷ round trips per second is the server's part of a round trip. The rest was on the way, unless it may be
    /// the worker's wait for a CPU: an answer meets long waits more often than short ones.
    fn idle_server(&self, evidence: &Evidence, own: OwnPart) -> Option<(LimitedBy, Evidence)> {
        let Evidence::ServerTime { server_us: rest_us, round_trip_us, busiest } = *evidence else {
            return None;
        };
        let BackendTime { work_us, idle_share, samples, .. } = self.backends.as_ref()?;
        let server_us = (*work_us)?.min(rest_us);
        if *samples < SAMPLES_MIN || *idle_share < DOMINANT || server_us >= DOMINANT * round_trip_us {
            return None;
        }
        let OwnPart { own_us, cpu_wait_us } = own;
        let cpu_wait_us = cpu_wait_us.min(busiest.run_queue_share.unwrap_or(0.0) * round_trip_us);
        let way_us = (round_trip_us - own_us - server_us).max(0.0);
        let least_us = way_us - cpu_wait_us - self.stolen_share * round_trip_us;
        let is_long = !self.is_direct || least_us >= WAY_MIN_US;
        if is_long && least_us >= DOMINANT * round_trip_us {
            let idle_share = *idle_share;
            let evidence = Evidence::OnTheWay { way_us, server_us, own_us, round_trip_us, idle_share };
            return Some((LimitedBy::Network, evidence));
        }
        // Of the network, only a measured part is told.
        let network_us = (round_trip_us - rest_us - own_us).max(0.0);
        let server_us = Some(server_us);
        let evidence = Evidence::NoLargestPart { own_us, network_us, server_us, round_trip_us };
        Some((LimitedBy::Undecided, evidence))
    }
}

impl CeilingBasis {
    /// The waits that this bound accounts for.
    fn resource(&self) -> Option<ServerResource> {
        match self {
            CeilingBasis::HottestRow { .. } => Some(ServerResource::RowLocks),
            CeilingBasis::Flush { .. } | CeilingBasis::FlushWaits { .. } => Some(ServerResource::WalFlush),
            CeilingBasis::Reads { .. } => Some(ServerResource::Io),
            CeilingBasis::Cpu { .. } => Some(ServerResource::Processors),
            CeilingBasis::RoundTrips { .. } | CeilingBasis::OnTheWay { .. } => None,
        }
    }
}

impl Record {
    /// The lowest bound of the throughput. `None` also if the run is far below it, and its backends mostly waited for
    /// something that no bound accounts for: then another limit was nearer.
    pub fn nearest_limit(&self) -> Option<&Ceiling> {
        let ceilings = &self.observation.as_ref()?.ceilings;
        let nearest = ceilings.first()?;
        let unexplained = BackendTime::of(self).map_or(0.0, |time| {
            let is_known = |of: ServerResource| ceilings.iter().any(|it| it.basis.resource() == Some(of));
            let known = time.waits.iter().filter(|(of, _)| is_known(*of)).map(|(_, share)| share);
            time.waits_share - known.sum::<f64>()
        });
        (nearest.reached_share >= DOMINANT || unexplained < DOMINANT).then_some(nearest)
    }

    /// Completes the verdicts on the run and on its ranks by the observations of the server. The verdict on a
    /// distributed run remains the worst one of its ranks.
    pub(crate) fn complete_verdicts(&mut self) {
        let seen = ServerSeen::of(self);
        let complete = |generator: &mut Generator| {
            generator.verdict = seen.complete(generator.verdict.clone(), OwnPart::of(generator));
        };
        self.summary.ranks.iter_mut().filter_map(|rank| rank.generator.as_mut()).for_each(complete);
        let worst = self.summary.worst_rank().and_then(Rank::verdict).cloned();
        match (&mut self.summary.generator, worst) {
            (Some(generator), Some(worst)) => generator.verdict = worst,
            (Some(generator), None) => complete(generator),
            (None, _) => {}
        }
    }
}

/// Evidence that there were too few clients for the rate: all were busy, although neither the server's CPUs nor row
/// locks took most of the time. Backends that wait for a time to come need no CPUs.
fn too_few_clients(record: &Record, backends: Option<&BackendTime>) -> Option<Evidence> {
    let (plan, summary) = (&record.plan, &record.summary);
    let rate_tps = plan.rate_tps?;
    if summary.counts.missed_share(plan.clients) <= MISSED_MAX {
        return None;
    }
    let resource = backends.and_then(BackendTime::named_resource);
    let waits_for_timers =
        backends.is_some_and(|it| it.working_samples >= SAMPLES_MIN && it.timers_share >= DOMINANT);
    let is_full = record.environment.has_full_processors() && !waits_for_timers;
    let is_locked = matches!(resource, Some((ServerResource::RowLocks, share)) if share >= LOCKED_SHARE);
    // The CPU count of another host is unknown: if its backends mostly run, its CPUs may be fully used.
    let is_elsewhere = !record.environment.connection.as_ref().is_some_and(|connection| connection.same_host);
    let may_be_full = is_elsewhere && matches!(resource, Some((ServerResource::Processors, _)));
    // Without observation, free capacity of the server cannot be established.
    if is_full || may_be_full || is_locked || record.observation.as_ref()?.waits.is_none() {
        return None;
    }
    let service_us = summary.service_us?.mean;
    let tps_max = f64::from(plan.clients) * 1e6 / service_us;
    let clients_needed = (rate_tps * service_us / 1e6).ceil();
    (tps_max < rate_tps).then_some(Evidence::TooFewClients {
        clients: plan.clients,
        tps_max,
        service_us,
        rate_tps,
        clients_needed,
    })
}
