//! A rank for tests and measurements: `mpiexec -n 4 rank FOLDER ROUNDS BYTES PATIENCE_MS PAUSE_MS [FAULT RANK]` exchanges
//! messages with a pause after each round, and writes what it saw into the file FOLDER/RANK. FAULT is kill or stop: that rank does it to itself in the middle.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pgmeter_ranks::{Evidence, Job, RanksError};
use rustix::process::{Signal, getpid, kill_process};

/// Exit status of a job that a rank aborts.
const ABORTED: u8 = 7;
/// Time for the ranks before this one to abort, and for the process manager to end this process.
const TURN: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rounds, bytes, patience_ms, pause_ms, fault @ ..] = arguments.as_slice() else {
        return Err("rank FOLDER ROUNDS BYTES PATIENCE_MS PAUSE_MS [kill|stop RANK]".into());
    };
    let (rounds, bytes) = (rounds.parse()?, bytes.parse()?);
    let pause = Duration::from_millis(pause_ms.parse()?);
    let fault = match fault {
        [] => None,
        [kind, rank] => {
            let signal = if kind == "kill" { Signal::KILL } else { Signal::STOP };
            Some((rank.parse::<usize>()?, signal))
        }
        _ => return Err("a fault is kill or stop, and a rank".into()),
    };
    let Some(mut job) = Job::from_environment(Duration::from_millis(patience_ms.parse()?))? else {
        return Err("no process manager started this process".into());
    };
    let path = PathBuf::from(folder).join(job.rank().to_string());
    let begun = Instant::now();
    match exchange(&mut job, rounds, bytes, pause, fault) {
        Ok(text) => {
            std::fs::write(path, text)?;
            Ok(job.finalize()?)
        }
        Err(error) => {
            let elapsed = begun.elapsed().as_secs_f64();
            std::fs::write(path, format!("{}\nafter {elapsed:.2} s: {error}\n", summary(&error)))?;
            // Rank 0 aborts; if it is the one that is silent, the next one does.
            std::thread::sleep(TURN * u32::try_from(job.rank())?);
            job.abort(ABORTED)?;
            std::thread::sleep(TURN * 4);
            Err(error.into())
        }
    }
}

/// What a test compares.
fn summary(error: &RanksError) -> String {
    match error {
        RanksError::Silent { ranks, evidence: Evidence::Ended, .. } => format!("ended {ranks:?}"),
        RanksError::Silent { ranks, evidence: Evidence::Absent, .. } => format!("absent {ranks:?}"),
        RanksError::Silent { ranks, evidence: Evidence::Unknown, .. } => format!("unknown {ranks:?}"),
        RanksError::Gone => "gone".to_owned(),
        other => format!("error {other}"),
    }
}

fn exchange(
    job: &mut Job,
    rounds: usize,
    bytes: usize,
    pause: Duration,
    fault: Option<(usize, Signal)>,
) -> Result<String, RanksError> {
    let mut text = String::new();
    let offsets = job.measure_offsets(20)?;
    let own = offsets[job.rank()].monotonic;
    let _ = writeln!(text, "offset {} error {} ns", own.nanos, own.error_nanos);
    let mut quarter = Instant::now();
    for round in 0..rounds {
        if let Some((rank, signal)) = fault
            && rank == job.rank()
            && round == rounds / 2
        {
            let _ = kill_process(getpid(), signal);
        }
        let message = |rank: usize| vec![u8::try_from((rank + round) % 256).unwrap_or_default(); bytes];
        let done = job.round(&message(job.rank()))?;
        let mut ranks = 0..if job.rank() == 0 { job.size() } else { 1 };
        assert_eq!(done.messages.len(), ranks.len());
        assert!(
            ranks.all(|rank| done.messages[rank] == message(rank)),
            "a message of round {round} is damaged"
        );
        std::thread::sleep(pause);
        if (round + 1) % rounds.div_ceil(4) == 0 {
            let per_round = quarter.elapsed().as_secs_f64() * 1e3 / rounds.div_ceil(4) as f64;
            let _ = writeln!(text, "round {} {per_round:.2} ms per round", round + 1);
            quarter = Instant::now();
        }
    }
    Ok(text)
}
