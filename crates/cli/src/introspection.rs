//! What is known of the generator itself, in the words of `results`: the loop that ran, what the scripts' commands took,
//! whether there was a network, and a calibration that was kept. Nothing is judged here; called by `job` after the run.

use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;

use connect::Address;
use engine::{EventLoop, Outcome, Plan, ScriptPlan};
use results::{EventLoopName, Introspection, SafeText, Work};
use script::{Command, CommandKind};
use server::Locations;
use stats::{CommandStats, CommandTable};

/// Where calibrations are kept, in the cache directory.
const DIRECTORY: &str = "calibrations";

/// What a run says of the generator.
pub(crate) fn of<'a>(
    outcome: &'a Outcome,
    plan: &Plan,
    calibration: Option<&'a results::Calibration>,
) -> Introspection<'a> {
    Introspection {
        event_loop: event_loop(&outcome.event_loop),
        health: &outcome.health,
        work: work(plan, &outcome.commands),
        over_network: over_network(plan),
        calibration,
    }
}

/// The loop that ran.
pub(crate) fn event_loop(ran: &EventLoop) -> results::EventLoop {
    let (name, because) = match ran {
        EventLoop::IoUring => (EventLoopName::IoUring, None),
        EventLoop::Epoll { because } => (EventLoopName::Epoll, because.clone().map(SafeText::from)),
        EventLoop::Other => (EventLoopName::Other, None),
    };
    results::EventLoop { name, because }
}

/// The directory for calibrations; none where there is no cache directory.
pub(crate) fn calibrations() -> Option<PathBuf> {
    let locations = Locations::from_environment(&server::Environment::of_process()).ok()?;
    Some(calibrations_in(&locations))
}

/// The directory for calibrations among these.
pub(crate) fn calibrations_in(locations: &Locations) -> PathBuf {
    locations.cache_dir.join(DIRECTORY)
}

/// What the commands of all scripts took, by what they waited for.
pub(crate) fn work(plan: &Plan, table: &CommandTable) -> Work {
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
    let CommandStats { completed, failures, retries } = stats;
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

/// Whether the address is one of this machine: then a socket that is to send there has it too. Nothing is sent.
fn is_ours(address: IpAddr) -> bool {
    let unspecified: IpAddr = match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    /// Any will do; "discard" (RFC 863).
    const PORT: u16 = 9;
    let local = UdpSocket::bind((unspecified, 0)).and_then(|socket| {
        socket.connect((address, PORT))?;
        socket.local_addr()
    });
    address.is_loopback() || local.is_ok_and(|local| local.ip() == address)
}
