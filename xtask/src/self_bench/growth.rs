//! What clients cost when there are many: pgmeter beside itself with few, and beside bare sockets, which exchange the
//! same bytes with the same server and do nothing else. How much of the growth the bare ones have is the kernel's.

use super::client_cpu::{UNIT, ran};
use super::lab::Lab;
use super::line::{Goal, Line};
use super::programs::{EventLoop, Load, Program, Until};
use super::rounds::{Better, Spread, alternate};

const ROUNDS: usize = 3;
const SECONDS: u32 = 3;
/// How much more each transaction may cost with many clients than with few.
const GOAL: Goal = Goal::RatioAtMost(1.15);
/// Numbers of clients: few, those of the last row beside pgbench, many.
const CLIENTS: [u32; 3] = [64, 900, 5000];
const FEW: usize = 0;
const MIDDLE: usize = 1;
const MANY: usize = 2;

/// Who is measured.
#[derive(Clone, Copy)]
enum Side {
    Pgmeter(usize),
    Bare(&'static str, usize),
    /// With as many clients as the second number.
    Pgbench,
}

const SIDES: [Side; 8] = [
    Side::Pgmeter(FEW),
    Side::Pgmeter(MIDDLE),
    Side::Pgmeter(MANY),
    Side::Bare("io_uring", FEW),
    Side::Bare("io_uring", MIDDLE),
    Side::Bare("io_uring", MANY),
    Side::Bare("epoll", FEW),
    Side::Pgbench,
];
/// Where the bare ones begin among the sides.
const BARE: usize = 3;
const BARE_EPOLL: usize = 6;
const PGBENCH: usize = 7;

/// All sides in each round, so that they share its weather.
pub(super) fn growth(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    lab.provide_for(u64::from(CLIENTS[MANY]))?;
    let bare = lab.bare()?;
    let server = lab.null_server()?;
    let seconds = lab.seconds(SECONDS);
    let mut event_loop = String::new();
    let rounds = alternate::<{ SIDES.len() }, f64>(lab.rounds(ROUNDS), |side| {
        let load =
            |clients: usize| Load::select_only(server.conninfo(), CLIENTS[clients], Until::Seconds(seconds));
        match SIDES[side] {
            Side::Bare(way, clients) => bare.exchange_us(way, CLIENTS[clients], seconds, server.conninfo()),
            Side::Pgbench => Ok(lab.programs.cpu_us_per_transaction(Program::Pgbench, &load(MIDDLE))?.0),
            Side::Pgmeter(clients) => {
                let program = Program::Pgmeter(EventLoop::Auto);
                let (cpu_us, run) = lab.programs.cpu_us_per_transaction(program, &load(clients))?;
                event_loop = run.event_loop.unwrap_or_default();
                Ok(cpu_us)
            }
        }
    })?;
    Ok(lines(&rounds, &ran(&event_loop)))
}

fn lines(rounds: &[[f64; SIDES.len()]], ran: &str) -> Vec<Line> {
    let beside = |ours: usize, theirs: usize| {
        let pairs: Vec<_> = rounds.iter().map(|round| (round[ours], round[theirs])).collect();
        Spread::of(&pairs, Better::Lower)
    };
    let what = |who: &str, clients: u32| format!("{who}, {clients} clients, null server, Unix socket");
    let mut lines = vec![
        Line::pair(
            "growth",
            "client CPU, 5000 clients beside 64 of ours, null server, Unix socket",
            UNIT,
            "64 clients",
            beside(MANY, FEW),
        )
        .goal(GOAL)
        .note(ran),
        Line::pair(
            "bare-growth",
            "CPU of bare sockets, 5000 beside 64, null server",
            UNIT,
            "64 sockets",
            beside(BARE + MANY, BARE + FEW),
        ),
    ];
    for (index, clients) in CLIENTS.into_iter().enumerate() {
        let spread = beside(index, BARE + index);
        let what = what("client CPU beside bare sockets", clients);
        lines.push(Line::pair(&format!("bare-{clients}"), &what, UNIT, "bare sockets", spread));
    }
    lines.push(Line::pair(
        "bare-900-pgbench",
        &what("CPU of bare sockets beside pgbench", CLIENTS[MIDDLE]),
        UNIT,
        "pgbench",
        beside(BARE + MIDDLE, PGBENCH),
    ));
    lines.push(Line::pair(
        "bare-64-epoll",
        &what("CPU of bare sockets with epoll beside io_uring", CLIENTS[FEW]),
        UNIT,
        "io_uring",
        beside(BARE_EPOLL, BARE + FEW),
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_sets_the_two_sides_beside_each_other_that_it_names() {
        // Few, middle, many of ours; of bare ones; bare with epoll; pgbench.
        let rounds = [[4.0, 6.0, 7.0, 2.0, 3.0, 5.0, 2.5, 12.0]];
        let ratio = |name: &str| {
            let lines = lines(&rounds, "");
            let line = lines.iter().find(|line| line.name == name).expect("a line of this name");
            line.ratio.map(|spread| spread.ratio)
        };
        assert_eq!(ratio("growth"), Some(1.75));
        assert_eq!(ratio("bare-growth"), Some(2.5));
        assert_eq!(
            (ratio("bare-64"), ratio("bare-900"), ratio("bare-5000")),
            (Some(2.0), Some(2.0), Some(1.4))
        );
        assert_eq!((ratio("bare-900-pgbench"), ratio("bare-64-epoll")), (Some(0.25), Some(1.25)));
    }
}
