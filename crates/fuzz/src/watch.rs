//! Watches over the process that works: one for each target. However that ends, by a panic, a stack overflow, too much
//! memory or not at all, the input that did it is named, shown and kept.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::arguments::Plan;
use crate::notebook::Notebook;
use crate::targets::Target;

/// The longest that one input may take, also in an unoptimised build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the process that works.
const PAUSE: Duration = Duration::from_millis(10);
/// What is shown of an input; all of it is in the file.
const SHOWN_MAX: usize = 2 * 1024;

/// Runs a round for each target of the plan, as many at a time as there are processors; the error is what all of them
/// found.
pub fn fuzz(plan: &Plan) -> Result<(), String> {
    let directory = tempfile::tempdir_in(fast_folder());
    let directory = directory.map_err(|error| format!("no folder for the notebooks: {error}"))?;
    let waiting = Mutex::new(plan.targets.iter().copied());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(target) = next() {
            if let Err(failure) = round(plan, target, directory.path()) {
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(plan.targets.len());
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n")) }
}

/// Runs a round of one target in a folder of its own and prints its line; the error is what it found.
fn round(plan: &Plan, target: &'static Target, directory: &Path) -> Result<(), String> {
    let start = Instant::now();
    let folder = directory.join(target.name);
    fs::create_dir(&folder).map_err(|error| format!("no folder for {}: {error}", target.name))?;
    let notebook = folder.join("notebook");
    let round = Round { target, plan, notebook: &notebook };
    let mut command = round.command().map_err(|error| format!("no round can begin: {error}"))?;
    command.current_dir(&folder);
    match watch(&mut command, &notebook, PATIENCE) {
        Ok(said) => {
            println!("{:<13}ok {:>7.1} s  {}", target.name, start.elapsed().as_secs_f64(), said.trim());
            Ok(())
        }
        Err(what) => {
            println!("{:<13}FAILED", target.name);
            Err(round.describe(&what))
        }
    }
}

/// Where files are kept in memory, if there is such a place: notes and attempts write one with each input.
fn fast_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// One target's part of a plan.
struct Round<'a> {
    target: &'a Target,
    plan: &'a Plan,
    notebook: &'a Path,
}

impl Round<'_> {
    fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let inputs = self.plan.inputs_for(self.target);
        command.args(["--inputs", &inputs.to_string(), "--seed", &self.plan.seed.to_string()]);
        for file in &self.plan.files {
            command.arg("--file").arg(file.canonicalize()?);
        }
        command.arg("--notebook").arg(self.notebook).arg(self.target.name);
        Ok(command)
    }

    /// What a failure prints: enough to run it again.
    fn describe(&self, what: &str) -> String {
        let (name, seed) = (self.target.name, self.plan.seed);
        let noted =
            Notebook::open(self.notebook).and_then(|notebook| Ok((notebook.number(), notebook.input()?)));
        let Ok((number, input)) = noted else {
            return format!("{name}: {what}\nbefore the first input, with seed {seed}");
        };
        let shown = &input[..input.len().min(SHOWN_MAX)];
        let rest = if shown.len() < input.len() { " …" } else { "" };
        let kept = match self.keep(&input, number) {
            Ok(path) => {
                format!("kept in {path}; again: cargo xtask fuzz --file {path} {name}", path = path.display())
            }
            Err(error) => format!("it could not be kept: {error}"),
        };
        format!(
            "{name}: {what}\ninput {number} with seed {seed}, {} bytes: \"{}\"{rest}\n{kept}",
            input.len(),
            shown.escape_ascii()
        )
    }

    fn keep(&self, input: &[u8], number: u64) -> std::io::Result<PathBuf> {
        let name = format!("pgmeter-fuzz-{}-{}-{number}", self.target.name, self.plan.seed);
        let path = std::env::temp_dir().join(name);
        fs::write(&path, input)?;
        Ok(path)
    }
}

/// Starts a process and waits for its end, or until the notebook has shown the same input for too long.
/// Returns what it said, or what went wrong.
fn watch(command: &mut Command, notebook: &Path, patience: Duration) -> Result<String, String> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut process = started.map_err(|error| format!("the working process did not start: {error}"))?;
    let notebook = Notebook::open(notebook).map_err(|error| format!("no notebook: {error}"))?;
    let mut last = (notebook.number(), Instant::now());
    loop {
        match process.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(heard(process.stdout.take())),
            Ok(Some(status)) => {
                let said = heard(process.stderr.take());
                return Err(if status.code() == Some(1) {
                    said.trim().to_owned()
                } else {
                    format!("{status}\n{said}")
                });
            }
            Ok(None) => {}
            Err(error) => return Err(format!("the working process is lost: {error}")),
        }
        let number = notebook.number();
        if number != last.0 {
            last = (number, Instant::now());
        } else if last.1.elapsed() > patience {
            end(&mut process);
            return Err(format!("did not end within {} s", patience.as_secs_f64()));
        }
        thread::sleep(PAUSE);
    }
}

/// Ends a process that we started, whatever it is doing.
fn end(process: &mut Child) {
    // One that has ended by itself meanwhile is as good.
    let _ = process.kill();
    let _ = process.wait();
}

fn heard(pipe: Option<impl Read>) -> String {
    let mut said = Vec::new();
    if let Some(mut pipe) = pipe {
        // What can be read is enough.
        let _ = pipe.read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells a copy of this test program how to end, and where its notebook is.
    const ENDING: &str = "PGMETER_FUZZ_TEST_ENDING";
    const NOTEBOOK: &str = "PGMETER_FUZZ_TEST_NOTEBOOK";

    /// What is found about a process that ends like this, and the input in its notebook.
    fn check(ending: &str, patience: Duration) -> (Result<String, String>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notebook");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "watch::tests::a_process_that_works", "--nocapture"]);
        command.env(ENDING, ending).env(NOTEBOOK, &path);
        let found = watch(&mut command, &path, patience);
        (found, Notebook::open(&path).and_then(|notebook| notebook.input()).expect("an input"))
    }

    /// Not a test of its own: the other end of the tests below.
    #[test]
    #[allow(clippy::exit, reason = "what it is for")]
    fn a_process_that_works() {
        let (Ok(ending), Ok(path)) = (std::env::var(ENDING), std::env::var(NOTEBOOK)) else { return };
        let mut notebook = Notebook::open(Path::new(&path)).expect("a notebook");
        notebook.note(1, b"a longer one before").expect("a note");
        notebook.note(2, ending.as_bytes()).expect("a note");
        match ending.as_str() {
            "hang" => thread::sleep(Duration::from_secs(600)),
            "abort" => std::process::abort(),
            "overflow" => drop(deeper(0)),
            "defect" => {
                eprintln!("what was found");
                std::process::exit(1);
            }
            _ => {}
        }
    }

    /// Calls itself for ever.
    #[allow(unconditional_recursion, reason = "what it is for")]
    fn deeper(depth: u64) -> String {
        format!("{}{depth}", deeper(std::hint::black_box(depth + 1)))
    }

    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn a_process_that_ends_well_is_heard() {
        assert!(check("well", LONG).0.is_ok());
    }

    #[test]
    fn a_defect_is_passed_on_with_its_input() {
        let (found, input) = check("defect", LONG);
        assert!(found.expect_err("a defect").contains("what was found"));
        assert_eq!(input, b"defect");
    }

    #[test]
    fn an_abort_and_a_stack_overflow_are_found_with_their_input() {
        for ending in ["abort", "overflow"] {
            let (found, input) = check(ending, LONG);
            assert!(found.expect_err("a signal").contains("signal: 6"), "{ending}");
            assert_eq!(input, ending.as_bytes());
        }
    }

    #[test]
    fn a_process_that_hangs_is_ended_and_its_input_named() {
        let (found, input) = check("hang", Duration::from_millis(500));
        assert_eq!(found.expect_err("a hang"), "did not end within 0.5 s");
        assert_eq!(input, b"hang");
    }

    #[test]
    fn a_failure_says_how_to_try_it_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notebook");
        Notebook::open(&path).and_then(|mut notebook| notebook.note(7, b"a\0b\n")).expect("a note");
        let plan = Plan { targets: Vec::new(), inputs: 1, is_short: false, seed: 9, files: Vec::new() };
        let round = Round { target: &crate::targets::TARGETS[0], plan: &plan, notebook: &path };
        let text = round.describe("panicked");
        assert!(
            text.starts_with("scripts: panicked\ninput 7 with seed 9, 4 bytes: \"a\\x00b\\n\"\nkept in "),
            "{text}"
        );
        let file = text.split("--file ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a file");
        assert_eq!(fs::read(file).expect("the input"), b"a\0b\n");
        fs::remove_file(file).expect("the file is ours");
    }
}
