//! All checks in order, one line each: what `.ci/run` and a contributor run before a change goes in.
//! A failed step does not keep the later ones from running, so that one run shows everything; only without a build there
//! is nothing to test. The packages are built while the tests run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::fuzz::{self, SHORT_ROUND};
use crate::leftovers::Scratch;
use crate::programs::{self, Programs};
use crate::test_output::{self, TestCounts};
use crate::tidy;
use crate::{dependencies, dist};

/// What a step found.
struct Verdict {
    passed: usize,
    failed: usize,
    /// For the step's line.
    note: String,
    /// For below the line, when something failed.
    details: String,
}

impl Verdict {
    /// A step that is no test: it counts only when it fails.
    fn of_step(ok: bool, note: impl Into<String>, details: impl Into<String>) -> Verdict {
        Verdict { passed: 0, failed: usize::from(!ok), note: note.into(), details: details.into() }
    }
}

/// Runs everything; true if nothing failed.
pub fn run() -> bool {
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => {
            eprintln!("could not make a folder for the tests in {}: {error}", std::env::temp_dir().display());
            return false;
        }
    };
    let mut verdicts =
        vec![step("format", format), step("clippy", clippy), step("dependencies", dependencies)];
    let mut programs = None;
    verdicts.push(step("build", || build(&mut programs)));
    // The tests mostly wait, so that the packages are nearly free now.
    let packages = thread::spawn(packages);
    verdicts.extend([
        step("test", || programs.as_ref().map_or_else(not_built, |_| test(&scratch))),
        step("packages", || result_of(packages)),
        step("fuzz", || programs.as_ref().map_or_else(not_built, fuzz)),
        step("tidy", || tidy(programs.as_ref())),
        step("leftovers", || leftovers(&scratch)),
    ]);
    if let Err(error) = scratch.remove() {
        eprintln!("could not remove the tests' folder: {error}");
    }
    let passed: usize = verdicts.iter().map(|verdict| verdict.passed).sum();
    let failed: usize = verdicts.iter().map(|verdict| verdict.failed).sum();
    println!("{passed} passed, {failed} failed");
    failed == 0
}

fn step(name: &str, work: impl FnOnce() -> Verdict) -> Verdict {
    print!("{name:<13}");
    // Only so that the name stands there while the step runs.
    let _ = std::io::stdout().flush();
    let start = Instant::now();
    let verdict = work();
    let word = if verdict.failed == 0 { "ok" } else { "FAILED" };
    println!("{word:<7}{:>7.1} s  {}", start.elapsed().as_secs_f64(), verdict.note);
    if verdict.failed > 0 {
        println!("{}", verdict.details.trim_end());
    }
    verdict
}

fn format() -> Verdict {
    let output = cargo(&["fmt", "--all", "--check", "--", "--color=never"]).output();
    judge(output, "cargo fmt makes it right", |output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn clippy() -> Verdict {
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"];
    judge(cargo(&arguments).output(), "warnings are errors", stderr)
}

fn dependencies() -> Verdict {
    let findings = dependencies::check();
    Verdict::of_step(findings.problems.is_empty(), findings.note, findings.problems.join("\n"))
}

/// The target of a static binary.
const MUSL: &str = "x86_64-unknown-linux-musl";

/// That the static binary and the Debian package can be built, and work in systems that contain nothing else. A program
/// of its own, so that it and its compilers only get the time of processors that the tests leave idle.
fn packages() -> Verdict {
    let required = std::env::var_os("PGMETER_TEST_MUSL").is_some();
    let not_checked = |why: &str| {
        Verdict::of_step(!required, format!("NOT CHECKED: {why}"), "PGMETER_TEST_MUSL requires the packages")
    };
    if cfg!(not(target_arch = "x86_64")) {
        return not_checked("this machine has another processor than x86-64");
    }
    if !is_installed(MUSL) {
        return not_checked(&format!("{MUSL} is not installed; run: rustup target add {MUSL}"));
    }
    if let Some(obstacle) = dist::obstacle() {
        return not_checked(&obstacle);
    }
    let start = Instant::now();
    let program = own_program();
    let output = program.and_then(|program| at_idle_priority(&program).args(["dist", "--check"]).output());
    judge_packages(output, start.elapsed())
}

fn judge_packages(output: std::io::Result<Output>, time: Duration) -> Verdict {
    match output {
        Ok(output) => {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let time = format!("{:.1} s beside the tests", time.as_secs_f64());
            let note: Vec<&str> = stdout.lines().chain([time.as_str()]).collect();
            Verdict::of_step(output.status.success(), note.join("; "), stderr(&output))
        }
        Err(error) => Verdict::of_step(false, "", format!("xtask dist did not start: {error}")),
    }
}

/// This program. The build replaces its file, and Linux still finds it by its process.
fn own_program() -> std::io::Result<PathBuf> {
    let of_process = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    if of_process.exists() { Ok(of_process) } else { std::env::current_exe() }
}

/// Prefixes of a command that runs only while no other one needs the processor, the best one first. Not every system has
/// chrt (util-linux).
const IDLE_PRIORITY: [&[&str]; 2] = [&["chrt", "--idle", "0"], &["nice", "-n", "19"]];

/// A program with the lowest priority that this system offers.
fn at_idle_priority(program: &Path) -> Command {
    let works = |prefix: &&&[&str]| {
        Command::new(prefix[0]).args(&prefix[1..]).arg("true").output().is_ok_and(|it| it.status.success())
    };
    let Some(prefix) = IDLE_PRIORITY.iter().find(works) else { return Command::new(program) };
    let mut command = Command::new(prefix[0]);
    command.args(&prefix[1..]).arg(program).stdin(Stdio::null());
    command
}

/// Waits for a step that runs beside others.
fn result_of(step: JoinHandle<Verdict>) -> Verdict {
    step.join().unwrap_or_else(|_| Verdict::of_step(false, "", "the step panicked"))
}

/// Whether there is a standard library for a target.
fn is_installed(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Builds the tests and the programs of later steps.
fn build(programs: &mut Option<Programs>) -> Verdict {
    let output = cargo(&programs::BUILD).output();
    let is_built = |output: &&Output| output.status.success();
    let messages = output.as_ref().ok().filter(is_built).map(|output| output.stdout.clone());
    *programs = messages.and_then(|messages| Programs::parse(&String::from_utf8_lossy(&messages)));
    let verdict = judge(output, "tests, examples and programs", stderr);
    if verdict.failed == 0 && programs.is_none() {
        return Verdict::of_step(false, verdict.note, "cargo did not name the programs that it built");
    }
    verdict
}

fn not_built() -> Verdict {
    Verdict::of_step(false, "NOT RUN", "there is nothing to run without a build")
}

/// Several times as long as all tests take, and half of what continuous integration waits for a run.
const TEST_LIMIT: Duration = Duration::from_secs(45 * 60);

fn test(scratch: &Scratch) -> Verdict {
    let mut command = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    scratch.set_environment(&mut command);
    match scratch.run(&mut command, TEST_LIMIT) {
        Ok((Some(status), stdout, stderr)) => judge_tests(&stdout, &stderr, status.success()),
        Ok((None, stdout, stderr)) => {
            let verdict = judge_tests(&stdout, &stderr, false);
            let note = format!("{}; killed after {} min", verdict.note, TEST_LIMIT.as_secs() / 60);
            let unfinished = test_output::unfinished(&stdout);
            Verdict { failed: verdict.failed.max(1), note, details: unfinished + &verdict.details, ..verdict }
        }
        Err(error) => Verdict::of_step(false, "", format!("cargo did not run: {error}")),
    }
}

/// A test that did not run counts as failed, and so does a program that ended without a result.
fn judge_tests(stdout: &str, stderr: &str, ended_well: bool) -> Verdict {
    let TestCounts { programs, passed, failed, ignored } = TestCounts::parse(stdout);
    let lost = usize::from(!ended_well && failed == 0 || passed + failed == 0);
    let mut note = format!("{passed} tests in {programs} programs");
    if ignored > 0 {
        note.push_str(&format!(", {ignored} did not run, which is not allowed"));
    }
    let details = format!("{}{}", test_output::failures(stdout), test_output::cargo_messages(stderr));
    Verdict { passed, failed: failed + ignored + lost, note, details }
}

/// Each target counts as a test.
fn fuzz(programs: &Programs) -> Verdict {
    match fuzz::short_round(&programs.fuzzer) {
        Ok(output) => {
            judge_fuzzing(&String::from_utf8_lossy(&output.stdout), &stderr(&output), output.status.success())
        }
        Err(error) => Verdict::of_step(false, "", format!("the fuzzer did not start: {error}")),
    }
}

/// A fuzzer that ended badly without a verdict, or gave none at all, counts as failed.
fn judge_fuzzing(stdout: &str, stderr: &str, ended_well: bool) -> Verdict {
    let (passed, failed) = fuzz::count(stdout);
    let lost = usize::from(!ended_well && failed == 0 || passed + failed == 0);
    let note = format!("{} targets, up to {SHORT_ROUND} inputs each", passed + failed);
    Verdict { passed, failed: failed + lost, note, details: stderr.to_owned() }
}

fn tidy(programs: Option<&Programs>) -> Verdict {
    let program = programs.map(|programs| programs.pgmeter.as_path());
    let problems = tidy::check(crate::root(), program).unwrap_or_else(|error| vec![error]);
    Verdict::of_step(problems.is_empty(), format!("{} rules", tidy::rules()), problems.join("\n"))
}

fn leftovers(scratch: &Scratch) -> Verdict {
    let found = scratch.leftovers().unwrap_or_else(|error| vec![format!("could not look: {error}")]);
    Verdict::of_step(found.is_empty(), "no process and no file of the tests", found.join("\n"))
}

fn judge(output: std::io::Result<Output>, note: &str, details: impl Fn(&Output) -> String) -> Verdict {
    match output {
        Ok(output) => {
            let text = if output.status.success() { String::new() } else { details(&output) };
            let text = if text.is_empty() { stderr(&output) } else { text };
            Verdict::of_step(output.status.success(), note, text)
        }
        Err(error) => Verdict::of_step(false, note, format!("cargo did not start: {error}")),
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::cargo());
    command.current_dir(crate::root()).args(arguments).stdin(Stdio::null());
    // Nothing is built twice here, and the files for it take more space than the programs.
    command.env("CARGO_INCREMENTAL", "0");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stdout: &str, ended_well: bool, failed: usize) {
        assert_eq!(judge_tests(stdout, "", ended_well).failed, failed, "{stdout}");
    }

    #[test]
    fn a_run_passes_only_if_every_test_ran_and_passed() {
        check("test result: ok. 2 passed; 0 failed; 0 ignored;", true, 0);
        check("test result: FAILED. 2 passed; 3 failed; 0 ignored;", false, 3);
        check("test result: ok. 2 passed; 0 failed; 1 ignored;", true, 1);
    }

    #[test]
    fn a_target_is_installed_if_its_standard_library_is_there() {
        assert!(is_installed(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH)));
        assert!(!is_installed("pdp11-unknown-none"));
    }

    #[test]
    fn a_command_at_idle_priority_runs_with_its_arguments() {
        let output = at_idle_priority(Path::new("echo")).args(["a", "b"]).output().expect("it starts");
        assert_eq!((output.status.success(), &output.stdout[..]), (true, &b"a b\n"[..]));
    }

    #[test]
    fn this_program_starts_at_idle_priority_although_the_build_replaced_its_file() {
        let copy = std::env::temp_dir().join(format!("pgmeter-xtask-{}", std::process::id()));
        std::fs::copy("/bin/sleep", &copy).unwrap();
        let mut replaced = Command::new(&copy).arg("60").spawn().unwrap();
        std::fs::remove_file(&copy).unwrap();
        let by_process = PathBuf::from(format!("/proc/{}/exe", replaced.id()));
        let started = at_idle_priority(&by_process).arg("0").status();
        replaced.kill().unwrap();
        replaced.wait().unwrap();
        assert!(started.unwrap().success() || !by_process.exists());
        assert!(at_idle_priority(&own_program().unwrap()).arg("--list").output().unwrap().status.success());
    }

    #[test]
    fn packages_pass_if_their_program_succeeds_and_show_its_error_if_not() {
        let judged = |script: &str| {
            let output = Command::new("sh").args(["-c", script]).output();
            let Verdict { failed, note, details, .. } = judge_packages(output, Duration::from_secs(2));
            (failed, note, details)
        };
        let words = |failed, note: &str, details: &str| (failed, note.to_owned(), details.to_owned());
        assert_eq!(judged("echo a; echo b"), words(0, "a; b; 2.0 s beside the tests", ""));
        assert_eq!(judged("echo why >&2; exit 1"), words(1, "2.0 s beside the tests", "why\n"));
    }

    #[test]
    fn every_fuzzed_target_counts_and_a_fuzzer_without_a_verdict_failed() {
        let count = |stdout: &str, ended_well| {
            let verdict = judge_fuzzing(stdout, "", ended_well);
            (verdict.passed, verdict.failed)
        };
        assert_eq!(count("a ok 1 s\nb ok 1 s\n", true), (2, 0));
        assert_eq!(count("a ok 1 s\nb FAILED\n", false), (1, 1));
        assert_eq!(count("a ok 1 s\n", false), (1, 1));
        assert_eq!(count("", true), (0, 1));
    }

    #[test]
    fn a_program_that_crashed_and_a_run_without_tests_count_as_failed() {
        check("test result: ok. 2 passed; 0 failed; 0 ignored;", false, 1);
        check("", true, 1);
        check("", false, 1);
    }
}
