//! How long it takes to make and fill the tables, from the start of the program to its end: all steps of
//! `-i`, the tables before dropped.

use std::process::Command;

use super::client_cpu::spread;
use super::lab::Lab;
use super::line::{Goal, Line};
use super::processes::run;
use super::rounds::{Better, alternate};

const ROUNDS: usize = 2;
const SCALE: u32 = 50;
const QUICK_SCALE: u32 = 5;
/// Name, partitions, goal.
const LAYOUTS: [(&str, u32, Goal); 2] =
    [("init", 0, Goal::RatioAtMost(0.8)), ("init-partitions", 4, Goal::RatioAtMost(0.6))];

/// Each layout with both programs, each time from the beginning: the tables before are dropped.
pub(super) fn loading(lab: &mut Lab) -> Result<Vec<Line>, String> {
    let pgbench = lab.programs.pgbench()?.to_owned();
    let conninfo = lab.server()?;
    let scale = if lab.quick { QUICK_SCALE } else { SCALE };
    let mut lines = Vec::new();
    for (name, partitions, goal) in LAYOUTS {
        let options =
            ["--scale".to_owned(), scale.to_string(), "--partitions".to_owned(), partitions.to_string()];
        let rounds = alternate::<2, f64>(lab.rounds(ROUNDS), |side| {
            let mut command = match side {
                0 => Command::new(&lab.programs.pgmeter),
                _ => Command::new(&pgbench),
            };
            command.arg(["init", "-i"][side]).arg("-q").args(&options).arg(&conninfo);
            run(&mut command).map(|ended| ended.wall_s)
        })?;
        let layout = if partitions == 0 { String::new() } else { format!(", {partitions} partitions") };
        let what = format!("time of -i at scale {scale}{layout}, from the start of the program to its end");
        lines.push(Line::pair(name, &what, "s", "pgbench", spread(&rounds, Better::Lower)).goal(goal));
    }
    Ok(lines)
}
