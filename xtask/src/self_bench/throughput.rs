//! Transactions per second: of a real server that shares the machine with its client, and of scripts that send
//! nothing.

use std::fs;

use super::client_cpu::spread;
use super::lab::Lab;
use super::line::{Goal, Line};
use super::programs::{EventLoop, Load, Program, Script, Until};
use super::rounds::{Better, alternate};

const ROUNDS: usize = 3;
const SECONDS: u32 = 3;
const SIDES: [Program; 2] = [Program::Pgmeter(EventLoop::Auto), Program::Pgbench];

const SHARED_CLIENTS: u32 = 64;
const SHARED: Goal = Goal::RatioAtLeast(1.2);
const META: Goal = Goal::RatioAtLeast(5.0);
/// Scripts without SQL: name, what it is, text.
const META_SCRIPTS: [(&str, &str, &str); 2] = [
    (
        "meta-tpcb",
        "the four \\set of the TPC-B-like script",
        "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
         \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n",
    ),
    ("meta-set", "\\set i 1 + 2 * :client_id", "\\set i 1 + 2 * :client_id\n"),
];

/// Select-only on the cores that the server needs too.
pub(super) fn shared(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    let load = Load::select_only(&lab.server()?, SHARED_CLIENTS, Until::Seconds(lab.seconds(SECONDS)));
    let rounds = tps(lab, &load)?;
    let what = "throughput, -S -M prepared, 64 clients, real server beside the client";
    Ok(vec![Line::pair("tps-64", what, "tx/s", "pgbench", spread(&rounds, Better::Higher)).goal(SHARED)])
}

/// Scripts of meta commands only.
pub(super) fn meta(lab: &mut Lab) -> Result<Vec<Line>, String> {
    lab.programs.pgbench()?;
    let server = lab.null_server()?;
    let mut lines = Vec::new();
    for (name, about, text) in META_SCRIPTS {
        let path = lab.folder.path().join(format!("{name}.sql"));
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        let script = Script::File(path);
        let until = Until::Seconds(lab.seconds(SECONDS));
        let load = Load { script, ..Load::select_only(server.conninfo(), 1, until) };
        let spread = spread(&tps(lab, &load)?, Better::Higher);
        lines.push(Line::pair(name, &format!("rate of {about}"), "/s", "pgbench", spread).goal(META));
    }
    Ok(lines)
}

fn tps(lab: &Lab, load: &Load) -> Result<Vec<[f64; 2]>, String> {
    alternate::<2, f64>(lab.rounds(ROUNDS), |side| Ok(lab.programs.run(SIDES[side], load)?.tps))
}
