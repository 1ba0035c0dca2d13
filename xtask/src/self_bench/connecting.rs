//! How long it takes until all clients are connected, as both programs report it: without starting the
//! program, without the transactions and without closing. Beside it what bare sockets take, which is the server's part.

use super::bare::Bare;
use super::lab::Lab;
use super::line::{Goal, Line};
use super::programs::{EventLoop, Load, Program, Until};
use super::rounds::{Better, Spread, alternate};

const ROUNDS: usize = 2;
const CLIENTS: u32 = 900;
/// Bare sockets on their way in at the same time: as many as pgmeter's clients.
const AT_ONCE: u32 = 32;
const SIDES: [Program; 2] = [Program::Pgmeter(EventLoop::Auto), Program::Pgbench];
const GOAL: Goal = Goal::RatioAtMost(0.2);

/// To a real server, which makes a process for each, trusting or not, and to the null server, which makes none.
pub(super) fn connecting(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    lab.provide_for(u64::from(CLIENTS))?;
    let (real, scram, bare) = (lab.server()?, lab.scram_server()?, lab.bare()?);
    let null = lab.null_server()?;
    let what = |server: &str| format!("time until {CLIENTS} clients are connected to {server}, one thread");
    let [trusted, floor, bare_beside_pgbench] = beside_all(lab, &bare, &real)?;
    let note = format!("bare sockets beside pgbench: {bare_beside_pgbench}");
    let floor_name = format!("the same, beside bare sockets that say hello, {AT_ONCE} at once");
    Ok(vec![
        Line::pair("connect-900", &what("a real server that trusts"), "s", "pgbench", trusted).goal(GOAL),
        Line::pair("connect-floor", &floor_name, "s", "bare sockets", floor).note(&note),
        Line::pair(
            "connect-900-scram",
            &what("a real server with a SCRAM password"),
            "s",
            "pgbench",
            beside_pgbench(lab, &scram)?,
        )
        .goal(GOAL),
        Line::pair(
            "connect-900-null",
            &what("the null server"),
            "s",
            "pgbench",
            beside_pgbench(lab, null.conninfo())?,
        ),
    ])
}

fn beside_pgbench(lab: &Lab, conninfo: &str) -> Result<Spread, String> {
    let load = Load::select_only(conninfo, CLIENTS, Until::Transactions(1));
    let rounds = alternate::<2, f64>(lab.rounds(ROUNDS), |side| {
        Ok(lab.programs.run(SIDES[side], &load)?.connecting_s)
    })?;
    Ok(super::client_cpu::spread(&rounds, Better::Lower))
}

/// Ours beside pgbench, ours beside bare sockets, bare sockets beside pgbench.
fn beside_all(lab: &Lab, bare: &Bare, conninfo: &str) -> Result<[Spread; 3], String> {
    let load = Load::select_only(conninfo, CLIENTS, Until::Transactions(1));
    let rounds = alternate::<3, f64>(lab.rounds(ROUNDS), |side| match SIDES.get(side) {
        Some(program) => Ok(lab.programs.run(*program, &load)?.connecting_s),
        None => bare.connecting_s(CLIENTS, AT_ONCE, conninfo),
    })?;
    Ok([(0, 1), (0, 2), (2, 1)].map(|(ours, theirs)| {
        let pairs: Vec<_> = rounds.iter().map(|round| (round[ours], round[theirs])).collect();
        Spread::of(&pairs, Better::Lower)
    }))
}
