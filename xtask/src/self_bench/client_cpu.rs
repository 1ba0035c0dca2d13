//! CPU time of the client per transaction, beside pgbench. On a Unix socket and over TCP against the null server, which
//! costs the client nothing but the exchange; with TLS against a real one, since the null server has none.

use super::lab::Lab;
use super::line::{Goal, Line};
use super::null_server::NullServer;
use super::programs::{EventLoop, Load, Program, Until};
use super::rounds::{Better, Spread, alternate};

const ROUNDS: usize = 3;
const SECONDS: u32 = 3;
pub(super) const UNIT: &str = "µs/tx";

/// Numbers of clients, and what is promised beside pgbench.
const ON_UNIX_SOCKET: [(u32, Option<Goal>); 4] =
    [(16, None), (64, Some(Goal::RatioAtMost(0.62))), (256, None), (900, Some(Goal::RatioAtMost(0.5)))];
/// How much more than io_uring the fallback may cost.
const EPOLL_BESIDE_IO_URING: Goal = Goal::RatioAtMost(1.2);
/// Over TCP, with and without TLS.
const CLIENTS: u32 = 64;

/// pgbench, ours, and ours with epoll, on a Unix socket.
pub(super) fn unix(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    let mut lines = Vec::new();
    for (clients, goal) in ON_UNIX_SOCKET {
        let server = lab.null_server()?;
        let load = Load::select_only(server.conninfo(), clients, Until::Seconds(lab.seconds(SECONDS)));
        let sides = [Program::Pgbench, Program::Pgmeter(EventLoop::Auto), Program::Pgmeter(EventLoop::Epoll)];
        let mut loops = [String::new(), String::new(), String::new()];
        let rounds = alternate::<3, f64>(lab.rounds(ROUNDS), |side| {
            let (cpu_us, run) = lab.programs.cpu_us_per_transaction(sides[side], &load)?;
            loops[side] = run.event_loop.unwrap_or_default();
            Ok(cpu_us)
        })?;
        let beside = |ours: usize, theirs: usize| {
            let pairs: Vec<_> = rounds.iter().map(|round| (round[ours], round[theirs])).collect();
            Spread::of(&pairs, Better::Lower)
        };
        let what = format!("client CPU, {clients} clients, null server, Unix socket");
        let name = format!("unix-{clients}");
        let line = Line::pair(&name, &what, UNIT, "pgbench", beside(1, 0)).note(&ran(&loops[1]));
        lines.push(goal.map_or(line.clone(), |goal| line.goal(goal)));
        if loops[1] == "io_uring" {
            let name = format!("{name}-epoll");
            let line = Line::pair(&name, &format!("{what}, epoll"), UNIT, "io_uring", beside(2, 1));
            let beside_pgbench = format!("{}; beside pgbench {}", ran(&loops[2]), beside(2, 0));
            lines.push(line.goal(EPOLL_BESIDE_IO_URING).note(&beside_pgbench));
        }
    }
    Ok(lines)
}

/// Over TCP.
pub(super) fn tcp(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let server = NullServer::on_tcp(&lab.programs.pgmeter)?;
    beside_pgbench(lab, "tcp-64", "client CPU, 64 clients, null server, TCP", server.conninfo())
}

/// Over TCP with TLS, and without TLS to the same server, so that what TLS costs can be seen.
pub(super) fn tls(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    let secured = lab.tls_server()?;
    let plain = secured.replace("sslmode=require", "sslmode=disable");
    let mut lines =
        beside_pgbench(lab, "tls-64", "client CPU, 64 clients, real server, TCP with TLS", &secured)?;
    let what = "client CPU, 64 clients, the same server, TCP without TLS";
    lines.extend(beside_pgbench(lab, "tls-64-off", what, &plain)?);
    Ok(lines)
}

fn beside_pgbench(lab: &Lab, name: &str, what: &str, conninfo: &str) -> Result<Vec<Line>, String> {
    let load = Load::select_only(conninfo, CLIENTS, Until::Seconds(lab.seconds(SECONDS)));
    let mut event_loop = String::new();
    let rounds = alternate::<2, f64>(lab.rounds(ROUNDS), |side| {
        let program = [Program::Pgmeter(EventLoop::Auto), Program::Pgbench][side];
        let (cpu_us, run) = lab.programs.cpu_us_per_transaction(program, &load)?;
        event_loop = run.event_loop.unwrap_or(std::mem::take(&mut event_loop));
        Ok(cpu_us)
    })?;
    let spread = spread(&rounds, Better::Lower);
    Ok(vec![Line::pair(name, what, UNIT, "pgbench", spread).note(&ran(&event_loop))])
}

/// Of rounds with our side first.
pub(super) fn spread(rounds: &[[f64; 2]], better: Better) -> Spread {
    let pairs: Vec<_> = rounds.iter().map(|[ours, theirs]| (*ours, *theirs)).collect();
    Spread::of(&pairs, better)
}

/// The note about which event loop ran.
pub(super) fn ran(event_loop: &str) -> String {
    if event_loop.is_empty() { String::new() } else { format!("ran with {event_loop}") }
}
