//! `cargo xtask queue-proof`: searches of null servers whose capacity is known. A null server with service times is a queue,
//! and a simulation of the same queue says which rate keeps the goal. Shown are how many intervals contain it, the cost, and
//! the widths. Each search is a line of the results file as soon as it ends, and the next call goes on from there.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::managed_server::program;
use crate::proofs::{self, KnownOption, Proof, of_case};

/// The goal: 95 % of the transactions within this time.
const LIMIT_S: f64 = 0.06;
const SHARE: f64 = 0.95;
const GOAL: &str = "p95 < 60ms";
const BUDGET: &str = "180s";

/// A server.
struct Case {
    name: &'static str,
    what: &'static str,
    law: &'static str,
    is_exponential: bool,
    mean_s: f64,
    processors: usize,
    /// Seconds with answers, and without.
    pauses: Option<(f64, f64)>,
}

const CASES: [Case; 4] = [
    Case {
        name: "mm1",
        what: "M/M/1, 5 ms",
        law: "exp(5ms)",
        is_exponential: true,
        mean_s: 0.005,
        processors: 1,
        pauses: None,
    },
    Case {
        name: "mm4",
        what: "M/M/4, 10 ms each",
        law: "exp(10ms)",
        is_exponential: true,
        mean_s: 0.01,
        processors: 4,
        pauses: None,
    },
    Case {
        name: "md1",
        what: "M/D/1, 5 ms",
        law: "5ms",
        is_exponential: false,
        mean_s: 0.005,
        processors: 1,
        pauses: None,
    },
    Case {
        name: "mm1_pauses",
        what: "M/M/1, 5 ms, no answer for 100 ms after every 5 s",
        law: "exp(5ms)",
        is_exponential: true,
        mean_s: 0.005,
        processors: 1,
        pauses: Some((5.0, 0.1)),
    },
];

/// Searches of each server, and searches that run at the same time. Each uses about 2 % of a processor.
const KNOWN: [KnownOption; 2] = [("number", "10"), ("at-once", "4")];

pub(crate) fn run(arguments: &[&str]) -> bool {
    proofs::run("queue-proof", &KNOWN, arguments, prove)
}

fn prove(proof: &Proof) -> Result<(), String> {
    let lines = Mutex::new(proof.lines()?);
    let left = Mutex::new(left(proof.number("number"), &locked(&lines)));
    thread::scope(|scope| {
        let work = || -> Result<(), String> {
            while let Some(case) = next(&left) {
                let line = search(case, &proof.pgmeter)?;
                println!("{line}");
                let mut lines = locked(&lines);
                proof.append(&line)?;
                lines.push(line);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..proof.number("at-once")).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
    })?;
    let lines = locked(&lines);
    CASES.iter().for_each(|case| println!("{}", conclusion(case, &lines)));
    Ok(())
}

/// The searches that are not done, in turns, so that a drift of the machine hits all cases.
fn left(number: usize, lines: &[Value]) -> VecDeque<&'static Case> {
    let is_left = |round, case: &Case| of_case(lines, case.name).count() <= round;
    let of_round = |round| CASES.iter().filter(move |case| is_left(round, case));
    (0..number).flat_map(of_round).collect()
}

fn search(case: &Case, pgmeter: &Path) -> Result<Value, String> {
    let directory = proofs::directory()?;
    let directory = directory.path();
    std::fs::write(directory.join("one.sql"), "SELECT 1;\n").map_err(|error| error.to_string())?;
    let server = Null::start(pgmeter, directory, case)?;
    let mut command = program(pgmeter, directory);
    command.args(["search", "-n", "-f", "one.sql", "--goal", GOAL, "-c", "64", "--width", "3%"]);
    command.args(["--budget", BUDGET, "--format", "json", &server.conninfo]);
    let output = command.stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("a search printed no result: {}", String::from_utf8_lossy(&output.stderr)))?;
    let search = &answer["search"];
    Ok(json!({
        "case": case.name,
        "answer": search["answer"],
        "rate_tps": search["rate_tps"],
        "interval": search["interval"],
        "seconds": search["elapsed_s"],
    }))
}

/// A null server as a process of its own, which ends when its standard input is closed.
struct Null {
    process: Child,
    conninfo: String,
}

impl Null {
    fn start(pgmeter: &Path, directory: &Path, case: &Case) -> Result<Self, String> {
        let mut command = program(pgmeter, directory);
        let listen = format!("{}/", directory.display());
        command.args(["null-server", "--listen", &listen, "--service-time", case.law]);
        command.args(["--processors", &case.processors.to_string()]);
        if let Some((every_s, length_s)) = case.pauses {
            command.args(["--stall-every", &every_s.to_string(), "--stall-for", &length_s.to_string()]);
        }
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the null server: {error}"))?;
        let mut conninfo = String::new();
        let stdout = process.stdout.take().ok_or("the null server has no output")?;
        BufReader::new(stdout).read_line(&mut conninfo).map_err(|error| error.to_string())?;
        Ok(Self { process, conninfo: conninfo.trim().to_owned() })
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next(left: &Mutex<VecDeque<&'static Case>>) -> Option<&'static Case> {
    locked(left).pop_front()
}

fn conclusion(case: &Case, lines: &[Value]) -> String {
    let truth = case.rate_that_keeps();
    let all: Vec<&Value> = of_case(lines, case.name).collect();
    let intervals: Vec<[f64; 2]> = (all.iter())
        .filter_map(|line| Some([line["interval"]["low"].as_f64()?, line["interval"]["high"].as_f64()?]))
        .collect();
    let hits = intervals.iter().filter(|[low, high]| (*low..=*high).contains(&truth)).count();
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let width = median(intervals.iter().map(|[low, high]| 50.0 * (high / low).ln()).collect());
    let seconds = median(all.iter().filter_map(|line| line["seconds"].as_f64()).collect());
    format!(
        "{}: keeps the goal up to {truth:.1} tps; {hits} of {} intervals contain it, of {} searches; half width {width:.1} % and \
         {seconds:.0} s (medians)",
        case.what,
        intervals.len(),
        all.len()
    )
}

/// Transactions of a simulation, and rates that are tried.
const SIMULATED: usize = 2_000_000;
const STEPS: usize = 30;

impl Case {
    /// The highest rate at which the share of the goal is within its limit.
    fn rate_that_keeps(&self) -> f64 {
        let (mut kept, mut broken) = (0.0, self.processors as f64 / self.mean_s);
        for _ in 0..STEPS {
            let rate = f64::midpoint(kept, broken);
            if self.share_within(rate) >= SHARE { kept = rate } else { broken = rate }
        }
        kept
    }

    /// The share of transactions within the limit at a rate with random arrivals. The same random numbers serve all rates.
    fn share_within(&self, rate: f64) -> f64 {
        let mut random = Uniform(1);
        let mut free = vec![0.0_f64; self.processors];
        let (mut arrival, mut within) = (0.0, 0);
        for _ in 0..SIMULATED {
            arrival -= random.next().ln() / rate;
            let service = if self.is_exponential { -random.next().ln() * self.mean_s } else { self.mean_s };
            let first = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let done = self.after_pause(arrival).max(free[first]) + service;
            free[first] = done;
            within += usize::from(self.after_pause(done) - arrival <= LIMIT_S);
        }
        within as f64 / SIMULATED as f64
    }

    /// The time at which the server notices what happens at `at`.
    fn after_pause(&self, at: f64) -> f64 {
        let Some((every, length)) = self.pauses else { return at };
        let into = at % (every + length);
        if into < every { at } else { at - into + every + length }
    }
}

/// Uniform random numbers above 0, at most 1 (SplitMix64).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulation_agrees_with_the_formula_of_the_simplest_queue() {
        // The response time of M/M/1 is exponential with the rate of service minus that of arrivals.
        let exact = 1.0 / CASES[0].mean_s - (1.0 / (1.0 - SHARE)).ln() / LIMIT_S;
        assert!((CASES[0].share_within(exact) - SHARE).abs() < 0.004);
    }
}
