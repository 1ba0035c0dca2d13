//! Runs one program on one case to its end, and takes what it left: status, streams, log files. Knows nothing of what
//! is compared; a program that does not end is killed and said to have hung.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::conformance::cases::{Case, Side};
use crate::conformance::programs::NAME;

/// How long a case may take; none needs more than a few seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// What log files begin with unless a case says otherwise.
const LOG_PREFIXES: [&str; 2] = ["pgbench_log.", "own_log."];

/// What a program left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    pub(crate) status: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Names without the number of the process, and contents, in order.
    pub(crate) logs: Vec<(String, String)>,
}

impl Ended {
    /// All of it as one text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n--- stdout\n{}--- stderr\n{}", self.status, self.stdout, self.stderr);
        for (name, contents) in &self.logs {
            text += &format!("--- {name}\n{contents}");
        }
        text
    }
}

/// Runs a case and takes what is left, with names of folders and databases replaced.
pub(crate) fn run(side: &Side, case: &Case) -> Ended {
    let folder = side.prepare(case);
    let mut command = Command::new(&side.program.path);
    command.arg0(NAME);
    command.args(case.arguments.iter().map(|word| side.fill(word))).current_dir(&folder);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").env("TZ", "UTC");
    command.envs(case.environment.iter().map(|(name, value)| (name, side.fill(value))));
    let output = finish(&mut command, &case.input);
    let replace = |bytes: &[u8]| {
        // Bytes that are no UTF-8 come from scripts that have them; they are compared as what they are.
        let text: String = bytes.utf8_chunks().fold(String::new(), |text, chunk| {
            text + chunk.valid()
                + &chunk.invalid().iter().map(|byte| format!("<{byte:02x}>")).collect::<String>()
        });
        let text = text.replace(&*folder.to_string_lossy(), "{folder}");
        text.replace(side.database(), "{database name}")
    };
    let (stdout, stderr) = (replace(&output.stdout), replace(&output.stderr));
    let logs = logs(&folder, &replace);
    // A number or a signal, in words.
    Ended { status: output.status.to_string(), stdout, stderr, logs }
}

fn finish(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let pid = Pid::from_child(&child);
    // A program that does not read its input is no reason to fail.
    let _ = child.stdin.take().expect("it is a pipe").write_all(input);
    let (done, wait) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || done.send(child.wait_with_output()));
        let output = wait.recv_timeout(LIMIT).unwrap_or_else(|_| {
            kill_process(pid, Signal::KILL).expect("the child is still ours");
            wait.recv().expect("it is dead now")
        });
        output.expect("the child is ours")
    })
}

/// Takes the log files away; the number of the process in their names becomes a word.
fn logs(folder: &std::path::Path, replace: &dyn Fn(&[u8]) -> String) -> Vec<(String, String)> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is ours").filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = LOG_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) else { continue };
        let thread = rest.split_once('.').map_or(String::new(), |(_, thread)| format!(".{thread}"));
        let prefix = &name[..name.len() - rest.len()];
        let contents = fs::read(entry.path()).expect("the log can be read");
        fs::remove_file(entry.path()).expect("the log can be removed");
        logs.push((format!("{prefix}PID{thread}"), replace(&contents)));
    }
    logs.sort();
    logs
}
