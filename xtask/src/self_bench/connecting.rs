//! How long it takes until all clients are connected, as both programs report it: without starting the
//! program, without the transactions and without closing.

use super::client_cpu::spread;
use super::lab::Lab;
use super::line::{Goal, Line};
use super::programs::{EventLoop, Load, Program, Until};
use super::rounds::{Better, alternate};

const ROUNDS: usize = 2;
const CLIENTS: u32 = 900;
const SIDES: [Program; 2] = [Program::Pgmeter(EventLoop::Auto), Program::Pgbench];

/// To a real server, which makes a process for each, and to the null server, which makes none.
pub(super) fn connecting(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    lab.provide_for(u64::from(CLIENTS))?;
    let real = lab.server()?;
    let null = lab.null_server()?;
    let mut lines = Vec::new();
    for (name, server, conninfo, goal) in [
        ("connect-900", "a real server", real.as_str(), Some(Goal::RatioAtMost(0.2))),
        ("connect-900-null", "the null server", null.conninfo(), None),
    ] {
        let load = Load::select_only(conninfo, CLIENTS, Until::Transactions(1));
        let rounds = alternate::<2, f64>(lab.rounds(ROUNDS), |side| {
            Ok(lab.programs.run(SIDES[side], &load)?.connecting_s)
        })?;
        let what = format!("time until {CLIENTS} clients are connected to {server}, one thread");
        let line = Line::pair(name, &what, "s", "pgbench", spread(&rounds, Better::Lower));
        lines.push(goal.map_or(line.clone(), |goal| line.goal(goal)));
    }
    Ok(lines)
}
