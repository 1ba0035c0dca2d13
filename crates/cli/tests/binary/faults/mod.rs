//! Faults of the server, the network and the disk, and how every command ends then: [`matrix`] is the table. A few of
//! its cells are a test; `cargo xtask prove faults` runs all of it, through the same test and a variable.

mod cell;
mod ground;
mod matrix;

use std::sync::Mutex;

use cell::Verdict;
use matrix::{MATRIX, Row};

/// Chooses cells: parts of `fault/command/loop`, separated by commas; `all` is all.
const CHOICE: &str = "PGMETER_TEST_FAULTS";
/// How many cells are tried at once.
const JOBS: &str = "PGMETER_TEST_FAULT_JOBS";
/// The cells that are tried after each change: each fault.
const OF_EACH_FAULT: &str = "server-killed/bench/io_uring,server-paused/bench/epoll,server-stopped/init/no-loop,\
    backend-killed/bench/epoll,lock-held/bench/io_uring,disk-full/bench/io_uring,slow-reader/bench/epoll,\
    reset/pgbench,wrong-bytes/bench/epoll";
/// The cells of a night: each fault, each command, both loops.
const CUT: &str = "server-killed/bench/io_uring,server-killed/quickstart/epoll,server-killed/pgbench/epoll,\
    server-paused/bench/epoll,server-stopped/bench/io_uring,server-stopped/bench/epoll,server-stopped/init/no-loop,\
    backend-killed/bench/epoll,backend-killed/compare/io_uring,lock-held/bench/io_uring,lock-held/init/no-loop,\
    disk-full/bench/io_uring,slow-reader/bench/io_uring,slow-reader/bench/epoll,reset/bench/io_uring,\
    reset/compare/epoll,reset/pgbench,wrong-bytes/bench/epoll,wrong-bytes/pgbench/io_uring";
/// Other tests run beside these.
const JOBS_OF_CUT: usize = 2;

/// Whether words like `server-killed/bench` choose a cell.
fn is_chosen(choice: &str, name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    choice == "all" || choice.split(',').any(|chosen| chosen.split('/').all(|word| parts.contains(&word)))
}

/// Tries the cells that the variable chooses, or these.
fn try_cells(usual: &str) {
    let choice = std::env::var(CHOICE).unwrap_or_else(|_| usual.to_owned());
    let jobs = std::env::var(JOBS).map_or(JOBS_OF_CUT, |jobs| jobs.parse().expect("a number of jobs"));
    let cells: Vec<(&Row, &'static str, String)> = MATRIX
        .iter()
        .flat_map(|row| row.tried.event_loops().iter().map(move |&event_loop| (row, event_loop)))
        .map(|(row, event_loop)| {
            (row, event_loop, format!("{}/{}/{event_loop}", row.fault.name(), row.tried.name()))
        })
        .filter(|(_, _, name)| is_chosen(&choice, name))
        .collect();
    assert!(!cells.is_empty(), "no cell is chosen by \"{choice}\"");
    let left = Mutex::new(cells.iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((row, event_loop, name)) = { left.lock().expect("no panic").next() } {
                    let verdict = std::panic::catch_unwind(|| cell::run(row, event_loop));
                    if !tell(name, row, verdict) {
                        wrong.lock().expect("no panic").push(name.clone());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(
        wrong.is_empty(),
        "{} of {} cells ended otherwise: {}",
        wrong.len(),
        cells.len(),
        wrong.join(", ")
    );
}

#[test]
fn commands_end_as_the_fault_matrix_says() {
    try_cells(OF_EACH_FAULT);
}

mod nightly {
    #[test]
    fn commands_end_as_a_cut_of_the_fault_matrix_says() {
        super::try_cells(super::CUT);
    }
}

/// Prints a line for a cell; whether it ended as it must.
#[allow(clippy::print_stdout, reason = "the table of the matrix")]
fn tell(name: &str, row: &Row, verdict: std::thread::Result<Verdict>) -> bool {
    let (word, more) = match &verdict {
        Ok(Verdict::NotApplicable(reason)) => ("n/a", (*reason).to_owned()),
        Ok(Verdict::NotTried(reason)) => ("NOT TRIED", reason.clone()),
        Ok(Verdict::Tried { took, ended, complaints }) => {
            let word = if complaints.is_empty() { "ok" } else { "FAILED" };
            let times = format!("{:5.1} s of {:3} s  {ended}", took.as_secs_f64(), row.limit_s);
            (word, complaints.iter().fold(times, |text, complaint| format!("{text}\n    {complaint}")))
        }
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            ("FAILED", format!("the test itself: {said}"))
        }
    };
    println!("{name:<36} {word:<6} {more}");
    !matches!(word, "FAILED")
}

#[test]
fn the_matrix_has_each_pair_once() {
    for row in &MATRIX {
        let same = MATRIX.iter().filter(|other| (other.fault, other.tried) == (row.fault, row.tried));
        assert_eq!(same.count(), 1, "{}/{}", row.fault.name(), row.tried.name());
    }
}
