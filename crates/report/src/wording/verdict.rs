//! The sentences of verdicts: what a verdict on the limit of a run rests on, and what to do. `results` judges;
//! docs/generator.md has its rules.

use results::{
    BusiestWorker, BusyCpus, Evidence, GeneratorRemedy, LimitedBy, NetworkSource, Record, ServerResource,
    Verdict,
};

use super::{counted, share};
use crate::figures::{TIE, as_asked, count, latency, rate};
use crate::prose::escaped_line;

/// What limited a run of so many clients, as a clause: `the server's WAL flushes were the limit`.
pub(crate) fn limit(verdict: Option<&Verdict>, clients: u32) -> String {
    let Some(verdict) = verdict else { return "the limit was not determined".to_owned() };
    // One client, which is always waiting for its own transaction, brings no server to its limit.
    let resource = verdict.resource.filter(|_| clients > 1);
    let limit = match (verdict.limit, resource) {
        (LimitedBy::Server, Some(ServerResource::Processors)) => "the server's CPU was the limit",
        (LimitedBy::Server, Some(ServerResource::WalFlush)) => "the server's WAL flushes were the limit",
        (LimitedBy::Server, Some(ServerResource::RowLocks)) => "row locks were the limit",
        (LimitedBy::Server, Some(ServerResource::Io)) => "the server's I/O was the limit",
        (LimitedBy::Server, None) => "not limited by pgmeter",
        (LimitedBy::Generator, _) => "the limit was pgmeter itself, not the server",
        (LimitedBy::ClientCount, _) => "the number of clients was the limit",
        (LimitedBy::Network, _) if matches!(verdict.evidence, Evidence::OnTheWay { .. }) => {
            "the network or a proxy was the limit"
        }
        (LimitedBy::Network, _) => "the network was the limit",
        (LimitedBy::Undecided, _) if matches!(verdict.evidence, Evidence::TooShort { .. }) => {
            "too short to find the limit"
        }
        (LimitedBy::Undecided, _)
            if matches!(verdict.evidence, Evidence::RateKept { .. } | Evidence::Sleep { .. }) =>
        {
            "nothing was at its limit"
        }
        (LimitedBy::Undecided, _) => "the limit could not be determined",
    };
    limit.to_owned()
}

/// The evidence of a verdict, in full sentences.
pub(crate) fn evidence(verdict: &Verdict) -> String {
    let Verdict { limit, evidence, resource, resource_share, others } = verdict;
    let mut out = sentence(*limit, evidence);
    if let Some((resource, part)) = resource.zip(*resource_share) {
        let part = share(part);
        out += &format!(" Its backends spent {part} of their working time on {}.", resource.name());
    }
    if let Some(BusyCpus { busy_share, others_share }) = others {
        out += &format!(
            " But the CPUs were {} busy, and programs other than pgmeter and this load's backends used {} of them.",
            share(*busy_share),
            share(*others_share)
        );
    }
    out
}

/// The evidence of the verdict on a run; that of a distributed run is of one of its load generators, which is named.
pub(crate) fn evidence_of_run(record: &Record, verdict: &Verdict) -> String {
    // Evidence about the number of clients is of the whole run.
    let rank = record.summary.worst_rank().filter(|_| verdict.limit != LimitedBy::ClientCount);
    let rank = rank.map(|rank| format!("Rank {} ({}): ", rank.rank, escaped_line(&rank.host.hostname)));
    rank.unwrap_or_default() + &evidence(verdict)
}

// Long because: one row for each kind of evidence, so that the compiler leads to it.
fn sentence(limit: LimitedBy, evidence: &Evidence) -> String {
    match evidence {
        Evidence::TooShort { transactions, duration_s } => format!(
            "{} in {} are too few to find the limit. Run for longer.",
            counted([*transactions], "transaction", "transactions"),
            latency(duration_s * 1e6)
        ),
        Evidence::NothingSent => {
            "The scripts sent no command to a server, so the run measured pgmeter.".to_owned()
        }
        Evidence::NoRoundTrip => "No command of the scripts succeeded.".to_owned(),
        Evidence::WorkerSaturated { busiest, remedy } => {
            let BusiestWorker { worker, workers, idle_share, .. } = *busiest;
            let subject = if workers == 1 { "The worker".to_owned() } else { format!("Worker {worker}") };
            let idle = if idle_share < 0.01 {
                "never idle".to_owned()
            } else {
                format!("idle only {} of the time", share(idle_share))
            };
            let remedy = match remedy {
                GeneratorRemedy::OwnCpus => SHARED_CPUS,
                GeneratorRemedy::MoreWorkers => "Use more workers (-j) or fewer clients.",
                GeneratorRemedy::MoreCpus => "Use a host with more CPUs, or fewer clients.",
            };
            format!("{subject} was {idle}. {} {remedy}", cpu_use(busiest))
        }
        Evidence::WorkerBusy { busiest } => format!(
            "{} was idle {} of the time, so pgmeter may be the limit, but need not be. {}",
            subject(busiest),
            share(busiest.idle_share),
            cpu_use(busiest)
        ),
        Evidence::CpuWaitUnknown { busiest } => format!(
            "{} ran {} of the time. This system does not report how long it waited for a CPU.",
            subject(busiest),
            share(busiest.cpu_share)
        ),
        Evidence::CpuWait { busiest, cpu_wait_us, round_trip_us } => format!(
            "{} waited for a CPU {} of the time, {} of the {} of a round trip. {SHARED_CPUS}",
            subject(busiest),
            share(busiest.run_queue_share.unwrap_or(0.0)),
            latency(*cpu_wait_us),
            latency(*round_trip_us)
        ),
        Evidence::RateKept { rate_tps, busiest } => format!(
            "The rate of {}{TIE}tps was kept, so nothing was at its limit. {} was idle {} of the time.",
            as_asked(*rate_tps),
            subject(busiest),
            share(busiest.idle_share)
        ),
        Evidence::RateMissed { rate_tps, missed_share, clients_idle_share } => format!(
            "{} of the transactions at {}{TIE}tps were skipped or not finished in time, although the clients were idle {} of \
             the time. Something blocked all of them at times. See the response times over time.",
            share(*missed_share),
            as_asked(*rate_tps),
            share(*clients_idle_share)
        ),
        Evidence::LateWakeups { quantile, late_us, response_us } => {
            let how_often = if *quantile > 0.5 { "in 1 % of the cases" } else { "half of the time" };
            format!(
                "A worker woke {} or more too late to start a transaction {how_often}. That is {} of the response time \
                 there ({}). Service times do not include it.",
                latency(*late_us),
                share((late_us / response_us).min(1.0)),
                latency(*response_us)
            )
        }
        Evidence::LateOnce { late_us, transactions_share } => format!(
            "A worker once woke {} too late, and {} of all transactions were scheduled in that time. Service times do not \
             include it.",
            latency(*late_us),
            share(*transactions_share)
        ),
        Evidence::CalibratedMaximum { round_trips_per_s, reached_share, round_trips_per_s_max } => format!(
            "Each worker made {} round trips per second, {} of the {} that this host reaches with a server that takes no \
             time.",
            rate(*round_trips_per_s),
            share(*reached_share),
            rate(*round_trips_per_s_max)
        ),
        Evidence::CalibratedFloor { floor_us, round_trip_us } => format!(
            "Of the {} of a round trip, this host needs {} even with a server that takes no time.",
            latency(*round_trip_us),
            latency(*floor_us)
        ),
        Evidence::Shell { shell_share } => format!(
            "\\shell and \\setshell took {} of the workers' time, and a worker's other clients wait for them.",
            share(*shell_share)
        ),
        Evidence::Sleep { sleep_share } => {
            format!(
                "\\sleep took {} of the time in commands, so nothing was at its limit.",
                share(*sleep_share)
            )
        }
        Evidence::Connecting { connecting_share, busiest } => format!(
            "{} was idle {} of the time while its clients waited, {} of their time for connections.",
            subject(busiest),
            share(busiest.idle_share),
            share(*connecting_share)
        ),
        Evidence::ConnectingOverNetwork { connecting_share } => format!(
            "The clients spent {} of their time connecting. How much of that is network was not measured.",
            share(*connecting_share)
        ),
        Evidence::HeldBack { held_back_share, sends } => {
            let other_side = if limit == LimitedBy::Network {
                "the network, or the server behind it,"
            } else {
                "the server"
            };
            format!(
                "For {} of the time {other_side} did not accept data, and {} sends were held back.",
                share(*held_back_share),
                count(*sends)
            )
        }
        Evidence::OwnTime { own_us, round_trip_us } => {
            format!(
                "pgmeter itself took {} of the {} of a round trip.",
                latency(*own_us),
                latency(*round_trip_us)
            )
        }
        Evidence::NetworkTime { network_us, round_trip_us, source } => {
            let source = match source {
                NetworkSource::Relay => "which is the delay that the relay was asked for",
                NetworkSource::ShortestConnect => "measured by the shortest connect",
            };
            let (network, round_trip) = (latency(*network_us), latency(*round_trip_us));
            format!("The network took {network} of the {round_trip} of a round trip, {source}.")
        }
        Evidence::ServerTime { server_us, round_trip_us, busiest } => format!(
            "{} was idle {} of the time while its clients waited for the server, {} of the {} of a round trip.",
            subject(busiest),
            share(busiest.idle_share),
            latency(*server_us),
            latency(*round_trip_us)
        ),
        Evidence::OnTheWay { way_us, server_us, own_us, round_trip_us, idle_share } => format!(
            "The time is on the way (network or proxy), {} of the {} of a round trip. The backends worked for {} of it and \
             pgmeter for {}. The backends waited for their clients {} of the time.",
            latency(*way_us),
            latency(*round_trip_us),
            latency(*server_us),
            latency(*own_us),
            share(*idle_share)
        ),
        Evidence::IdleInDoubt { server_us, round_trip_us, idle_share } => format!(
            "The clients waited for {} of the {} of a round trip, and the samples show backends that waited for their \
             clients {} of the time. But the CPUs were full and the CPU time of the backends is unknown, so the samples \
             may miss running backends. Repeat when the host is idle.",
            latency(*server_us),
            latency(*round_trip_us),
            share(*idle_share)
        ),
        Evidence::NoLargestPart { own_us, network_us, server_us, round_trip_us } => {
            let (round_trip, own) = (latency(*round_trip_us), latency(*own_us));
            let network = (*network_us > 0.0 || server_us.is_none()).then(|| latency(*network_us));
            let network = network.map(|network| format!("the network {network}"));
            let server = server_us.map(|us| format!("the backends {}", latency(us)));
            let parts: Vec<String> = [network, server].into_iter().flatten().collect();
            let others = if server_us.is_some() { "None of these" } else { "Neither these nor the server" };
            let parts = parts.join(" and ");
            format!(
                "Of the {round_trip} of a round trip, pgmeter took {own}, {parts}. {others} took most of it."
            )
        }
        Evidence::TooFewClients { clients, tps_max, service_us, rate_tps, clients_needed } => format!(
            "{} can reach at most {}{TIE}tps with a service time of {}, and {}{TIE}tps were requested. Use at least {} clients \
             (-c).",
            counted([u64::from(*clients)], "client", "clients"),
            rate(*tps_max),
            latency(*service_us),
            as_asked(*rate_tps),
            crate::figures::fixed(*clients_needed, 0)
        ),
    }
}

const SHARED_CPUS: &str =
    "It shares its CPUs with others. Run pgmeter on its own host, or use fewer clients.";

fn subject(busiest: &BusiestWorker) -> &'static str {
    if busiest.workers == 1 { "The worker" } else { "The busiest worker" }
}

/// What a worker did with its time.
fn cpu_use(busiest: &BusiestWorker) -> String {
    let ran = share(busiest.cpu_share);
    match busiest.run_queue_share {
        Some(waited) => format!("It ran {ran} of the time and waited for a CPU {}.", share(waited)),
        None => format!("It ran {ran} of the time."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    const BUSIEST: BusiestWorker = BusiestWorker {
        worker: 0,
        workers: 1,
        idle_share: 0.63,
        cpu_share: 0.35,
        run_queue_share: Some(0.02),
    };

    fn check(limit: LimitedBy, evidence: Evidence, expected: &str) {
        let verdict = Verdict { limit, evidence, resource: None, resource_share: None, others: None };
        let text = with_ordinary_spaces(&super::evidence(&verdict));
        assert_eq!(text, expected);
        assert!(text.split(". ").all(|sentence| sentence.split(' ').count() <= 32), "{text}");
    }

    #[test]
    fn a_server_is_named_with_its_resource_and_the_doubt_about_it() {
        let evidence = Evidence::ServerTime { server_us: 3_360.0, round_trip_us: 3_400.0, busiest: BUSIEST };
        let server = "The worker was idle 63 % of the time while its clients waited for the server, 3.36 ms of the 3.40 \
                      ms of a round trip.";
        check(LimitedBy::Server, evidence, server);
        let verdict = Verdict {
            limit: LimitedBy::Server,
            evidence,
            resource: Some(ServerResource::WalFlush),
            resource_share: Some(0.45),
            others: Some(BusyCpus { busy_share: 0.95, others_share: 0.75 }),
        };
        let expected = format!(
            "{server} Its backends spent 45 % of their working time on WAL flush. But the CPUs were 95 % busy, and \
             programs other than pgmeter and this load's backends used 75 % of them."
        );
        assert_eq!(with_ordinary_spaces(&super::evidence(&verdict)), expected);
    }

    #[test]
    fn a_saturated_worker_is_told_with_the_remedy() {
        let busiest =
            BusiestWorker { idle_share: 0.005, cpu_share: 0.97, run_queue_share: Some(0.025), ..BUSIEST };
        check(
            LimitedBy::Generator,
            Evidence::WorkerSaturated { busiest, remedy: GeneratorRemedy::MoreWorkers },
            "The worker was never idle. It ran 97 % of the time and waited for a CPU 2.5 %. Use more workers (-j) or fewer \
             clients.",
        );
        let busiest = BusiestWorker { workers: 4, idle_share: 0.08, run_queue_share: None, ..busiest };
        check(
            LimitedBy::Generator,
            Evidence::WorkerSaturated { busiest, remedy: GeneratorRemedy::MoreCpus },
            "Worker 0 was idle only 8.0 % of the time. It ran 97 % of the time. Use a host with more CPUs, or fewer \
             clients.",
        );
    }

    #[test]
    fn late_workers_are_told_with_their_share_of_the_response_time() {
        check(
            LimitedBy::Generator,
            Evidence::LateWakeups { quantile: 0.99, late_us: 1_000.0, response_us: 2_000.0 },
            "A worker woke 1.00 ms or more too late to start a transaction in 1 % of the cases. That is 50 % of the \
             response time there (2.00 ms). Service times do not include it.",
        );
    }

    #[test]
    fn the_way_is_told_with_what_backends_and_pgmeter_took() {
        let evidence = Evidence::OnTheWay {
            way_us: 9_840.0,
            server_us: 378.0,
            own_us: 147.0,
            round_trip_us: 10_600.0,
            idle_share: 0.96,
        };
        check(
            LimitedBy::Network,
            evidence,
            "The time is on the way (network or proxy), 9.84 ms of the 10.6 ms of a round trip. The backends worked for \
             378 µs of it and pgmeter for 147 µs. The backends waited for their clients 96 % of the time.",
        );
        let (own_us, round_trip_us) = (51.0, 156.0);
        check(
            LimitedBy::Undecided,
            Evidence::NoLargestPart { own_us, network_us: 0.0, server_us: Some(60.0), round_trip_us },
            "Of the 156 µs of a round trip, pgmeter took 51.0 µs, the backends 60.0 µs. None of these took most of it.",
        );
    }

    #[test]
    fn idle_backends_in_doubt_are_told_with_the_reason() {
        check(
            LimitedBy::Undecided,
            Evidence::IdleInDoubt { server_us: 3_370.0, round_trip_us: 3_490.0, idle_share: 0.96 },
            "The clients waited for 3.37 ms of the 3.49 ms of a round trip, and the samples show backends that waited for \
             their clients 96 % of the time. But the CPUs were full and the CPU time of the backends is unknown, so the \
             samples may miss running backends. Repeat when the host is idle.",
        );
    }

    #[test]
    fn too_few_clients_are_told_with_how_many_are_needed() {
        let evidence = Evidence::TooFewClients {
            clients: 2,
            tps_max: 100.0,
            service_us: 20_000.0,
            rate_tps: 300.0,
            clients_needed: 6.0,
        };
        check(
            LimitedBy::ClientCount,
            evidence,
            "2 clients can reach at most 100.0 tps with a service time of 20.0 ms, and 300 tps were requested. Use at \
             least 6 clients (-c).",
        );
    }

    #[test]
    fn held_back_sends_name_the_other_side() {
        check(
            LimitedBy::Network,
            Evidence::HeldBack { held_back_share: 0.95, sends: 1_234 },
            "For 95 % of the time the network, or the server behind it, did not accept data, and 1,234 sends were held \
             back.",
        );
    }
}
