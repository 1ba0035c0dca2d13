//! Facts about the load generator for the record: its event loop, the times of script commands, whether a network was
//! involved, and a stored calibration. Called by the runner after the run.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use connect::Address;
use engine::{EventLoop, Outcome, Plan, RankFigures, ScriptPlan};
use results::{EventLoopName, Introspection, RankMeasured, SafeText, Work};
use script::{Command, CommandKind};
use stats::{CommandStats, CommandTable};

use crate::distributed::RankAbout;
use crate::record::plan_record;

const MICROSECONDS_PER_SECOND: f64 = 1e6;

/// The record's section on the load generator.
pub fn of<'a>(
    outcome: &'a Outcome,
    plan: &Plan,
    relay_delay: Option<Duration>,
    calibration: Option<&'a results::Calibration>,
) -> Introspection<'a> {
    Introspection {
        event_loop: event_loop(&outcome.event_loop),
        health: &outcome.health,
        work: work(plan, &outcome.commands),
        over_network: over_network(plan),
        relay_us: relay_us(relay_delay),
        calibration,
    }
}

/// One load generator of a distributed run. A calibration is of one host, so none is applied.
pub fn rank<'a>(
    figures: &'a RankFigures,
    about: RankAbout,
    plan: &Plan,
    relay_delay: Option<Duration>,
) -> RankMeasured<'a> {
    RankMeasured {
        rank: narrow(figures.rank),
        host: about.host,
        clients: narrow(figures.clients),
        total: &figures.total,
        connecting: plan.reconnect.then(|| plan_record::connecting(&figures.reconnects)),
        client_cpu: Some(figures.client_cpu),
        clock: about.clock,
        introspection: Some(Introspection {
            event_loop: event_loop(&figures.event_loop),
            health: &figures.health,
            work: work(plan, &figures.commands),
            over_network: over_network(plan),
            relay_us: relay_us(relay_delay),
            calibration: None,
        }),
    }
}

/// Time that the relay adds to a round trip.
fn relay_us(each_way: Option<Duration>) -> Option<f64> {
    each_way.map(|each_way| 2.0 * each_way.as_secs_f64() * MICROSECONDS_PER_SECOND)
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The event loop that was used.
pub fn event_loop(ran: &EventLoop) -> results::EventLoop {
    let (name, because) = match ran {
        EventLoop::IoUring => (EventLoopName::IoUring, None),
        EventLoop::Epoll { because } => (EventLoopName::Epoll, because.clone().map(SafeText::from)),
        EventLoop::Other => (EventLoopName::Other, None),
    };
    results::EventLoop { name, because }
}

/// Times of the commands of all scripts, by the kind of wait.
pub fn work(plan: &Plan, table: &CommandTable) -> Work {
    let mut work = Work::default();
    for (index, ScriptPlan { program, .. }) in plan.scripts.iter().enumerate() {
        let mut in_pipeline = false;
        for (command, stats) in program.commands().iter().zip(table.of_script(index)) {
            add(&mut work, command, stats, in_pipeline);
            match command.kind {
                CommandKind::StartPipeline => in_pipeline = true,
                CommandKind::EndPipeline => in_pipeline = false,
                _ => {}
            }
        }
    }
    work
}

/// In a pipeline only its end waits for the server.
fn add(work: &mut Work, command: &Command, stats: &CommandStats, in_pipeline: bool) {
    let CommandStats { completed, failures, retries, .. } = stats;
    match command.kind {
        CommandKind::Sql(_) | CommandKind::EndPipeline => {
            work.sql_ns += completed.sum_ns;
            if !in_pipeline || matches!(command.kind, CommandKind::EndPipeline) {
                work.round_trips += completed.count;
            }
            work.failed_round_trips += failures + retries;
        }
        CommandKind::StartPipeline => work.sql_ns += completed.sum_ns,
        CommandKind::Sleep(_) => work.sleep_ns += completed.sum_ns,
        CommandKind::Shell(_) | CommandKind::SetShell(_) => work.shell_ns += completed.sum_ns,
        _ => {}
    }
}

/// Whether a server is on another machine.
fn over_network(plan: &Plan) -> bool {
    plan.targets.iter().flat_map(|target| &target.hosts).any(|host| match &host.address {
        Address::Unix(_) => false,
        Address::Tcp { address, .. } => !is_ours(address.ip()),
    })
}

/// Whether the address belongs to this machine: then a socket that is connected to it has it as its local address
/// too. No packet is sent.
pub fn is_ours(address: IpAddr) -> bool {
    let unspecified: IpAddr = match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    /// Any port works; this is "discard" (RFC 863).
    const PORT: u16 = 9;
    let local = UdpSocket::bind((unspecified, 0)).and_then(|socket| {
        socket.connect((address, PORT))?;
        socket.local_addr()
    });
    address.is_loopback() || local.is_ok_and(|local| local.ip() == address)
}

#[cfg(test)]
mod tests {
    use script::{Dialect, Symbols};

    use super::*;

    /// Counts a script's commands, each with a duration of one microsecond.
    fn work_of(script: &str) -> Work {
        let mut symbols = Symbols::new();
        let program = script::parse("s", script.as_bytes(), &mut symbols, Dialect::Extended).unwrap();
        let commands = program.commands().len();
        let mut table = CommandTable::new([commands]);
        (0..commands).for_each(|command| table.complete(0, command, 1_000));
        let scripts = vec![ScriptPlan { program, weight: 1, target: 0 }];
        work(&Plan::new(Vec::new(), scripts, symbols), &table)
    }

    #[test]
    fn a_pipeline_waits_for_the_server_once() {
        let work =
            work_of("\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\nSELECT 3;\n");
        assert_eq!((work.round_trips, work.sql_ns), (2, 5_000));
    }

    #[test]
    fn what_does_not_wait_for_the_server_is_no_round_trip() {
        let work = work_of("\\set a 1\n\\sleep 1 us\n\\shell true\n\\setshell b echo 1\nSELECT :a;\n");
        let expected =
            Work { round_trips: 1, failed_round_trips: 0, sql_ns: 1_000, sleep_ns: 1_000, shell_ns: 2_000 };
        assert_eq!(work, expected);
    }

    #[test]
    fn addresses_of_this_machine_are_no_network() {
        assert!(is_ours("127.0.0.1".parse().unwrap()) && is_ours("::1".parse().unwrap()));
        // Reserved for documentation (RFC 5737); no host has it.
        assert!(!is_ours("192.0.2.1".parse().unwrap()));
    }
}
