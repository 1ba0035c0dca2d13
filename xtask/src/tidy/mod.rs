//! The project's rules that the compiler does not know, each as a function from the repository's files to problems.
//! The lists of permitted exceptions stand here, each with its reason; long files and functions give theirs themselves.

mod arrows;
mod circles;
mod commands;
mod index;
pub mod lines;
mod links;
mod map;
mod module_docs;
mod one_runner;
mod record;
mod session_settings;
mod sizes;
mod source;
mod tree;
mod type_names;
mod words;
mod workload_tables;
mod writers;

use std::path::Path;
use std::process::Command;

use tree::{Problem, Tree};
use words::{Ban, Scope};

/// Words that may stand only in the files named with them.
const BANS: &[Ban<'_>] = &[
    Ban {
        words: &["todo!", "unimplemented!"],
        scope: Scope::Everywhere,
        allowed: &[],
        why: "finish it, or leave it out and refuse it by name",
    },
    Ban {
        words: &["#[ignore"],
        scope: Scope::Everywhere,
        allowed: &[],
        why: "a test runs or does not exist",
    },
    Ban {
        words: &["Instant::now", "clock_gettime", ".elapsed()"],
        scope: Scope::Production,
        allowed: &[
            ("crates/sockets/src/clock.rs", "the clock of a run, and of the relay"),
            ("crates/connect/src/session/stream.rs", "when to give up waiting for an answer"),
            ("crates/connect/src/stopwatch.rs", "how long a wait or a step takes; never a transaction"),
            ("crates/observe/src/clock.rs", "when the server is looked at"),
            ("crates/dropin/src/seed.rs", "a seed of the time"),
            ("crates/results/src/disk.rs", "how long a flush takes, before a run"),
            ("crates/run/src/distributed/timing.rs", "the common start of several machines"),
            ("crates/ranks/src/clocks/reading.rs", "when barriers are entered and left, and when to give up"),
            ("crates/fuzz/src/watch.rs", "when an input takes too long"),
        ],
        why: "one module reads the clock for all event loops; take `now` as an argument",
    },
    Ban {
        words: &["SystemTime::now"],
        scope: Scope::Production,
        allowed: &[
            ("crates/calendar/src/lib.rs", "when a run started"),
            ("crates/ranks/src/clocks/reading.rs", "the offsets between the calendars of several machines"),
        ],
        why: "the crate calendar reads it; take the time as an argument",
    },
    Ban {
        words: &["std::net", "std::fs", "std::thread", "std::env", "std::process", "std::os"],
        scope: Scope::Crates(&["sql", "script", "datagen", "wire", "search", "stats", "experiment"]),
        allowed: &[],
        why: "this crate is pure: the caller opens, and hands over bytes and values",
    },
    Ban {
        words: &["Mutex", "RwLock", "Condvar"],
        scope: Scope::Crates(&["engine"]),
        allowed: &[],
        why: "workers share nothing mutable while a run goes on; hand data over instead",
    },
    Ban {
        words: &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"],
        scope: Scope::Everywhere,
        allowed: &[
            ("crates/ring/src/ring.rs", "requests with addresses are handed to the kernel"),
            ("crates/ring/src/arena.rs", "the kernel reads from here"),
            ("crates/ring/src/pool.rs", "the kernel writes to here"),
            ("crates/ring/src/scheduling.rs", "a system call that no safe crate has alone"),
            ("crates/ring/src/inherited.rs", "a number becomes the owner of a descriptor"),
        ],
        why: "only crates/ring may, behind a safe face",
    },
    Ban {
        words: &["println!", "print!", "eprintln!", "eprint!", "dbg!", "stdout()", "stderr()"],
        scope: Scope::Libraries,
        allowed: &[("crates/workload/build.rs", "cargo reads what a build script prints")],
        why: "libraries return data; cli owns the terminal",
    },
    Ban {
        words: &["clap::", "indicatif::", "termios", "is_terminal("],
        scope: Scope::Libraries,
        allowed: &[],
        why: "cli owns the terminal: return data or report events, and let it show them",
    },
    Ban {
        words: &["process::exit", "process::abort"],
        scope: Scope::Libraries,
        allowed: &[],
        why: "libraries return errors; cli owns the exit status",
    },
];

/// A rule's name and what it checks.
type Rule = (&'static str, fn(&Tree) -> Vec<Problem>);

const RULES: [Rule; 16] = [
    ("dependency arrows", arrows::check),
    ("sizes", sizes::check),
    ("circles of imports", circles::check),
    ("names of types", type_names::check),
    ("one constructor of runs", one_runner::check),
    ("caps of crates", lines::check),
    ("module documentation", module_docs::check),
    ("code map", map::code_map),
    ("names", map::names),
    ("words", |tree| words::check(tree, BANS)),
    ("tables of workloads", workload_tables::check),
    ("links", links::check),
    ("index of the manual", index::check),
    ("names in records", record::check),
    ("settings of sessions", session_settings::check),
    ("writers of formats", writers::check),
];

/// The rule that needs the program itself.
const COMMANDS: &str = "commands in documents";

/// Checks every rule against the repository at `root`. Returns one line for each problem. `program` is a build of
/// pgmeter; without it, cargo builds one.
pub fn check(root: &Path, program: Option<&Path>) -> Result<Vec<String>, String> {
    let tree = Tree::read(root).map_err(|error| format!("could not read {}: {error}", root.display()))?;
    let mut problems: Vec<(&str, Problem)> = Vec::new();
    for (rule, check) in RULES {
        problems.extend(check(&tree).into_iter().map(|problem| (rule, problem)));
    }
    let mut help = |words: &[&str]| help_of_program(program, words);
    let of_commands = commands::check(&tree, &crate::CHORES, &mut help);
    problems.extend(of_commands.into_iter().map(|problem| (COMMANDS, problem)));
    let line = |(rule, Problem { path, line, text })| {
        let place = if line == 0 { path } else { format!("{path}:{line}") };
        format!("{place}: {text} ({rule})")
    };
    Ok(problems.into_iter().map(line).collect())
}

/// How many rules there are.
pub fn rules() -> usize {
    RULES.len() + 1
}

/// What the program says when asked for help about a command; nothing if it has no such command.
fn help_of_program(program: Option<&Path>, words: &[&str]) -> Option<String> {
    let mut command = Command::new(program.map_or_else(crate::cargo, |path| path.into()));
    if program.is_none() {
        command.args(["run", "--quiet", "--package", "pgmeter", "--"]);
    }
    let output = command.args(words).arg("--help").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod testing {
    //! Shorthand for the rules' tests.
    use super::tree::Problem;

    /// What the problems say.
    pub fn texts(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(|problem| problem.text.clone()).collect()
    }
}
