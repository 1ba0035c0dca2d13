//! Runs the test programs of the workspace. Most tests wait for servers, so several programs run at a time, each with more
//! threads than the machine has processors. Tests that measure are in modules named `measuring`: they run afterwards,
//! three at a time. Those in modules named `nightly` run only if all are asked for. Cargo would run one program after the
//! other.

use std::collections::VecDeque;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::leftovers::Scratch;
use crate::programs::TestProgram;
use crate::test_output::{self, TestCounts};

/// Programs that run at the same time.
const PROGRAMS_AT_ONCE: usize = 2;
/// Tests of a program that run at the same time.
const TEST_THREADS: usize = 6;
/// Tests that measure and run at the same time. Most of them wait for sleeping backends.
const MEASURING_THREADS: usize = 3;
/// A part of the path of a test that measures.
const MEASURING: &str = "measuring::";
/// A part of the path of a test that repeats others on more servers or with more inputs.
const NIGHTLY: &str = "nightly::";

/// Has the tests look at all versions of PostgreSQL and all cases (`testkit::extent`).
const EXTENT: &str = "PGMETER_TEST_EXTENT";

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What each change needs.
    Change,
    /// The nightly tests, the packages and the libraries too, and more inputs for the fuzzer: each night, and before a
    /// release.
    All,
}

/// How the tests of one program ended.
pub struct Ended {
    /// Package and target.
    pub program: String,
    /// Its tests.
    pub counts: TestCounts,
    /// The output of the tests that failed; the names of those that did not end.
    pub failures: String,
    /// Wall-clock time.
    pub time: Duration,
}

/// How the tests ended.
pub struct EndedTests {
    /// Those that ran, by program.
    pub programs: Vec<Ended>,
    /// Nightly tests that did not run.
    pub left_out: usize,
}

/// A part of a program's tests.
struct Job<'a> {
    program: &'a TestProgram,
    tests: usize,
    measures: bool,
}

/// Runs the tests of these programs. After `limit`, programs that still run are killed, and the others do not start: these
/// count as failed.
pub fn run(
    programs: &[TestProgram],
    extent: Extent,
    scratch: &Scratch,
    limit: Duration,
) -> io::Result<EndedTests> {
    let mut together = Vec::new();
    let mut afterwards = Vec::new();
    let mut left_out = 0;
    for program in programs {
        let all = list(program)?;
        let tests: Vec<&String> =
            all.iter().filter(|test| extent == Extent::All || !is_in(NIGHTLY, test)).collect();
        left_out += all.len() - tests.len();
        let measuring = tests.iter().filter(|test| is_in(MEASURING, test)).count();
        let job = |tests, measures| Job { program, tests, measures };
        together.extend(Some(job(tests.len() - measuring, false)).filter(|job| job.tests > 0));
        afterwards.extend(Some(job(measuring, true)).filter(|job| job.tests > 0));
    }
    // The one with the most tests takes longest, so that it begins first.
    together.sort_by_key(|job| std::cmp::Reverse(job.tests));
    let _stand_ins = scratch.replace_initdb()?;
    let runner = Runner { extent, scratch, start: Instant::now(), limit };
    let mut ended = runner.run_all(together, PROGRAMS_AT_ONCE)?;
    ended.extend(runner.run_all(afterwards, 1)?);
    Ok(EndedTests { programs: ended, left_out })
}

/// The names of a program's tests.
fn list(program: &TestProgram) -> io::Result<Vec<String>> {
    let output = command(program).args(["--list", "--format=terse"]).output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    Ok(stdout.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Whether a test is in a module of this name.
fn is_in(module: &str, test: &str) -> bool {
    format!("::{test}").contains(&format!("::{module}"))
}

/// A program in the surroundings that cargo gives it.
fn command(program: &TestProgram) -> Command {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).stdin(Stdio::null());
    command.env("CARGO", crate::cargo()).env("CARGO_MANIFEST_DIR", &program.folder);
    command
}

struct Runner<'a> {
    extent: Extent,
    scratch: &'a Scratch,
    start: Instant,
    limit: Duration,
}

impl Runner<'_> {
    /// Runs jobs, some at a time, in their order.
    fn run_all(&self, jobs: Vec<Job<'_>>, at_once: usize) -> io::Result<Vec<Ended>> {
        let left = Mutex::new(VecDeque::from(jobs));
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        thread::scope(|scope| {
            let work = || {
                let mut ended = Vec::new();
                while let Some(job) = next() {
                    ended.push(self.run_one(&job)?);
                }
                Ok(ended)
            };
            let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            let mut ended = Vec::new();
            for worker in workers {
                let of_worker: io::Result<Vec<Ended>> = worker.join().expect("it does not panic");
                ended.extend(of_worker?);
            }
            Ok(ended)
        })
    }

    fn run_one(&self, job: &Job<'_>) -> io::Result<Ended> {
        let start = Instant::now();
        let mut command = command(job.program);
        self.scratch.set_environment(&mut command);
        let threads = if job.measures { MEASURING_THREADS } else { TEST_THREADS };
        command.arg(format!("--test-threads={threads}"));
        command.args(if job.measures { [MEASURING].as_slice() } else { &["--skip", MEASURING] });
        match self.extent {
            Extent::Change => command.args(["--skip", NIGHTLY]),
            Extent::All => command.env(EXTENT, "all"),
        };
        let left = self.limit.saturating_sub(self.start.elapsed());
        let (status, stdout, stderr) = self.scratch.run(&mut command, left)?;
        Ok(judge(job, &Output { status, stdout, stderr }, start.elapsed()))
    }
}

/// How a program ended, and what it wrote.
struct Output {
    /// `None` if it was killed.
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

/// A test that did not run counts as failed, and so does a program that ended without a result.
fn judge(job: &Job<'_>, output: &Output, time: Duration) -> Ended {
    let mut counts = TestCounts::parse(&output.stdout);
    let mut failures = test_output::failures(&output.stdout);
    let counted = counts.passed + counts.failed + counts.ignored;
    let ended_well = output.status.is_some_and(|status| status.success());
    if counted < job.tests || !ended_well && counts.failed == 0 {
        let end = output.status.map_or("was killed after the time limit".to_owned(), |status| {
            format!("ended with {status} after {counted} of {} tests", job.tests)
        });
        failures += &format!("{} {end}\n", job.program.name);
        failures += &test_output::unfinished(&output.stdout);
        failures += &output.stderr;
        counts.failed += job.tests.saturating_sub(counted).max(1);
    }
    Ended { program: job.program.name.clone(), counts, failures, time }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn program() -> TestProgram {
        TestProgram { name: "a/b".to_owned(), path: "/nothing".into(), folder: "/".into() }
    }

    fn judged(tests: usize, stdout: &str, status: Option<i32>) -> Ended {
        let program = program();
        let job = Job { program: &program, tests, measures: false };
        let status = status.map(|code| ExitStatus::from_raw(code << 8));
        let output = Output { status, stdout: stdout.to_owned(), stderr: "talk\n".to_owned() };
        judge(&job, &output, Duration::ZERO)
    }

    #[test]
    fn a_program_passes_only_if_all_its_tests_ran_and_passed() {
        let failed = |tests, stdout, status| judged(tests, stdout, status).counts.failed;
        assert_eq!(failed(2, "test result: ok. 2 passed; 0 failed; 0 ignored;", Some(0)), 0);
        assert_eq!(failed(3, "test result: FAILED. 2 passed; 1 failed; 0 ignored;", Some(101)), 1);
        // It crashed, lost tests, or was killed.
        assert_eq!(failed(2, "", Some(134)), 2);
        assert_eq!(failed(2, "test result: ok. 2 passed; 0 failed; 0 ignored;", Some(1)), 1);
        assert_eq!(failed(3, "test result: ok. 2 passed; 0 failed; 0 ignored;", Some(0)), 1);
        assert_eq!(failed(9, "", None), 9);
    }

    #[test]
    fn a_program_that_did_not_end_by_itself_is_named_with_what_it_said() {
        let stdout = "test c has been running for over 60 seconds\n";
        let killed = "a/b was killed after the time limit\ntest c did not end\ntalk\n";
        assert_eq!(judged(1, stdout, None).failures, killed);
        let crashed = judged(1, stdout, Some(1)).failures;
        assert!(crashed.starts_with("a/b ended with exit status: 1 after 0 of 1 tests\n"), "{crashed}");
    }

    #[test]
    fn a_test_is_in_the_modules_of_its_path() {
        assert!(is_in(MEASURING, "measuring::a") && is_in(MEASURING, "x::measuring::a"));
        assert!(!is_in(MEASURING, "x::unmeasuring::a") && !is_in(MEASURING, "x::measuring"));
        assert!(is_in(NIGHTLY, "measuring::nightly::a") && !is_in(NIGHTLY, "measuring::a"));
    }
}
