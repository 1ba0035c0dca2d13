//! All checks in order, one line each: what `.ci/run` and a contributor run before a change goes in.
//! A failed step does not keep the later ones from running, so that one run shows everything; only without a build there
//! is nothing to test. `stress` runs the tests alone, on a machine that is busy.

mod stress;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::fuzz;
use crate::leftovers::Scratch;
use crate::memory;
use crate::programs::{self, Programs};
use crate::test_output::TestCounts;
use crate::test_programs::{self, Ended, EndedTests, Extent};
use crate::tidy;
use crate::{dependencies, dist, libraries};

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

/// Runs the checks; true if nothing failed.
pub fn run(arguments: &[&str]) -> bool {
    memory::enter_namespace(arguments);
    match *arguments {
        [] => check(Extent::Change),
        ["--all"] => check(Extent::All),
        ["--stress", ref arguments @ ..] => stress::run(arguments),
        _ => {
            eprintln!("usage: cargo xtask ci [--all | --stress [ROUNDS [PROGRAM …]]]");
            false
        }
    }
}

fn check(extent: Extent) -> bool {
    let scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => {
            eprintln!("could not make a folder for the tests in {}: {error}", std::env::temp_dir().display());
            return false;
        }
    };
    let start = Instant::now();
    let mut verdicts = vec![step("format", format), step("dependencies", dependencies)];
    let mut programs = None;
    verdicts.push(step("build", || build(&mut programs)));
    let built = |work: fn(&Programs, Extent, &Scratch) -> Verdict| match &programs {
        Some(programs) => work(programs, extent, &scratch),
        None => Verdict::of_step(false, "NOT RUN", "there is nothing to run without a build"),
    };
    verdicts.extend([
        step("test", || built(test)),
        step("fuzz", || built(|programs, extent, _| fuzz(programs, extent))),
        step("tidy", || tidy(programs.as_ref())),
        step("leftovers", || leftovers(&scratch)),
    ]);
    if extent == Extent::All {
        verdicts.push(step("packages", packages));
        verdicts.push(step("libraries", check_libraries));
    }
    if let Err(error) = scratch.remove() {
        eprintln!("could not remove the tests' folder: {error}");
    }
    let passed: usize = verdicts.iter().map(|verdict| verdict.passed).sum();
    let failed: usize = verdicts.iter().map(|verdict| verdict.failed).sum();
    println!("{passed} passed, {failed} failed, in {:.1} min", start.elapsed().as_secs_f64() / 60.0);
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

fn dependencies() -> Verdict {
    let findings = dependencies::check();
    Verdict::of_step(findings.problems.is_empty(), findings.note, findings.problems.join("\n"))
}

/// The target of a static binary.
const MUSL: &str = "x86_64-unknown-linux-musl";

/// That the static binary and the Debian package can be built, and work in systems that contain nothing else.
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
    match crate::own_program().and_then(|program| Command::new(program).args(["dist", "--check"]).output()) {
        Ok(output) => judge_packages(&output),
        Err(error) => Verdict::of_step(false, "", format!("xtask dist did not start: {error}")),
    }
}

/// That the crates for others can be packed, and their examples run.
fn check_libraries() -> Verdict {
    match libraries::check(cargo) {
        Ok(note) => Verdict::of_step(true, note, ""),
        Err(problem) => Verdict::of_step(false, "", problem),
    }
}

fn judge_packages(output: &Output) -> Verdict {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let note: Vec<&str> = stdout.lines().collect();
    Verdict::of_step(output.status.success(), note.join("; "), stderr(output))
}

/// Whether there is a standard library for a target.
fn is_installed(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Builds the tests and the programs of later steps, and shows clippy's warnings, which are errors.
fn build(programs: &mut Option<Programs>) -> Verdict {
    if !clippy_driver().is_file() {
        return Verdict::of_step(false, "", "clippy is not installed; run: rustup component add clippy");
    }
    let output = cargo(&programs::BUILD).output();
    let is_built = output.as_ref().is_ok_and(|output| output.status.success());
    let messages = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let messages = messages.unwrap_or_default();
    let diagnostics = programs::diagnostics(&messages);
    *programs = if is_built { Programs::parse(&messages) } else { None };
    let note = "all targets, with clippy; warnings are errors";
    let mut verdict = judge(output, note, |_| diagnostics.clone());
    if is_built && !diagnostics.is_empty() {
        (verdict.failed, verdict.details) = (1, diagnostics);
    }
    if verdict.failed == 0 && programs.is_none() {
        return Verdict::of_step(false, verdict.note, "cargo did not name the programs that it built");
    }
    verdict
}

/// Clippy as a compiler: it compiles and warns in one pass. `cargo clippy` would read each crate, and all libraries, twice.
fn clippy_driver() -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    Path::new(&sysroot.unwrap_or_default()).join("bin/clippy-driver")
}

/// How many of the programs are named that took longest.
const SLOWEST: usize = 3;
/// Longer than all tests take beside other work. With the build and the other steps it is less than the 90 minutes that
/// continuous integration waits for a run.
const TEST_LIMIT: Duration = Duration::from_secs(60 * 60);

fn test(programs: &Programs, extent: Extent, scratch: &Scratch) -> Verdict {
    match test_programs::run(&programs.tests, extent, scratch, TEST_LIMIT) {
        Ok(EndedTests { programs, left_out }) => {
            let mut verdict = judge_tests(&programs);
            if left_out > 0 {
                verdict.note.push_str(&format!("; {left_out} nightly tests run with --all"));
            }
            if !scratch.is_in_memory() {
                verdict.note.push_str("; their files were on a disk, which takes longer");
            }
            verdict
        }
        Err(error) => Verdict::of_step(false, "", format!("the tests did not run: {error}")),
    }
}

/// A test that did not run counts as failed.
fn judge_tests(ended: &[Ended]) -> Verdict {
    let sum = |count: fn(&TestCounts) -> usize| ended.iter().map(|ended| count(&ended.counts)).sum::<usize>();
    let [passed, failed, ignored] =
        [sum(|counts| counts.passed), sum(|counts| counts.failed), sum(|counts| counts.ignored)];
    let mut note = format!("{passed} tests in {} programs", sum(|counts| counts.programs));
    if ignored > 0 {
        note.push_str(&format!(", {ignored} did not run, which is not allowed"));
    }
    let mut slowest: Vec<&Ended> = ended.iter().collect();
    slowest.sort_by_key(|ended| std::cmp::Reverse(ended.time));
    let slowest =
        slowest.iter().take(SLOWEST).map(|it| format!("{} {:.0} s", it.program, it.time.as_secs_f64()));
    note.push_str(&format!("; longest: {}", slowest.collect::<Vec<_>>().join(", ")));
    let details = ended.iter().map(|ended| ended.failures.as_str()).collect();
    Verdict { passed, failed: failed + ignored + usize::from(passed == 0), note, details }
}

/// Each target counts as a test.
fn fuzz(programs: &Programs, extent: Extent) -> Verdict {
    let inputs = if extent == Extent::All { fuzz::SHORT_ROUND } else { fuzz::SHORTEST_ROUND };
    match fuzz::short_round(&programs.fuzzer, inputs) {
        Ok(output) => {
            let stdout = String::from_utf8_lossy(&output.stdout);
            judge_fuzzing(&stdout, &stderr(&output), output.status.success(), inputs)
        }
        Err(error) => Verdict::of_step(false, "", format!("the fuzzer did not start: {error}")),
    }
}

/// A fuzzer that ended badly without a verdict, or gave none at all, counts as failed.
fn judge_fuzzing(stdout: &str, stderr: &str, ended_well: bool, inputs: u64) -> Verdict {
    let (passed, failed) = fuzz::count(stdout);
    let lost = usize::from(!ended_well && failed == 0 || passed + failed == 0);
    let note = format!("{} targets, up to {inputs} inputs each", passed + failed);
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
            let text = details(&output);
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
    command.env("CARGO_INCREMENTAL", "0").env("RUSTC_WORKSPACE_WRAPPER", clippy_driver());
    // A failed assertion names its place without debug information, which takes time to write and to link.
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_passes_only_if_every_test_ran_and_passed() {
        let failed = |of_programs: &[[usize; 3]]| {
            let ended = of_programs.iter().map(|&[passed, failed, ignored]| Ended {
                program: "a/b".to_owned(),
                counts: TestCounts { programs: 1, passed, failed, ignored },
                failures: String::new(),
                time: Duration::ZERO,
            });
            judge_tests(&ended.collect::<Vec<_>>()).failed
        };
        assert_eq!(failed(&[[2, 0, 0], [1, 0, 0]]), 0);
        assert_eq!(failed(&[[2, 3, 0], [1, 1, 0]]), 4);
        assert_eq!(failed(&[[2, 0, 1]]), 1);
        assert_eq!(failed(&[]), 1);
    }

    #[test]
    fn clippy_is_a_compiler() {
        assert!(clippy_driver().is_file());
    }

    #[test]
    fn a_target_is_installed_if_its_standard_library_is_there() {
        assert!(is_installed(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH)));
        assert!(!is_installed("pdp11-unknown-none"));
    }

    #[test]
    fn this_program_starts_although_the_build_replaced_its_file() {
        let copy = std::env::temp_dir().join(format!("pgmeter-xtask-{}", std::process::id()));
        std::fs::copy("/bin/sleep", &copy).unwrap();
        let mut replaced = Command::new(&copy).arg("60").spawn().unwrap();
        std::fs::remove_file(&copy).unwrap();
        let by_process = PathBuf::from(format!("/proc/{}/exe", replaced.id()));
        let started = Command::new(&by_process).arg("0").status();
        replaced.kill().unwrap();
        replaced.wait().unwrap();
        assert!(started.is_ok_and(|status| status.success()) || !by_process.exists());
        assert!(Command::new(crate::own_program().unwrap()).arg("--list").output().unwrap().status.success());
    }

    #[test]
    fn packages_pass_if_their_program_succeeds_and_show_its_error_if_not() {
        let judged = |script: &str| {
            let output = Command::new("sh").args(["-c", script]).output().unwrap();
            let Verdict { failed, note, details, .. } = judge_packages(&output);
            (failed, note, details)
        };
        let words = |failed, note: &str, details: &str| (failed, note.to_owned(), details.to_owned());
        assert_eq!(judged("echo a; echo b"), words(0, "a; b", ""));
        assert_eq!(judged("echo why >&2; exit 1"), words(1, "", "why\n"));
    }

    #[test]
    fn every_fuzzed_target_counts_and_a_fuzzer_without_a_verdict_failed() {
        let count = |stdout: &str, ended_well| {
            let verdict = judge_fuzzing(stdout, "", ended_well, 1);
            (verdict.passed, verdict.failed)
        };
        assert_eq!(count("a ok 1 s\nb ok 1 s\n", true), (2, 0));
        assert_eq!(count("a ok 1 s\nb FAILED\n", false), (1, 1));
        assert_eq!(count("a ok 1 s\n", false), (1, 1));
        assert_eq!(count("", true), (0, 1));
    }
}
