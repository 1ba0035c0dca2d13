//! Processes below a program: to find the servers that it has started, and to stop them. Used by the tests of endings and
//! of faults.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Bench, Finished, Running};

/// Far beyond any limit of these tests, so that only what would never end exceeds it.
const DEADLINE: Duration = Duration::from_secs(120);

/// The processes below one, with their names.
pub(crate) fn descendants(of: u32) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { continue };
        let parent = stat[close + 1..].split_whitespace().nth(1).and_then(|parent| parent.parse().ok());
        all.push((pid, parent.unwrap_or(0), stat[open + 1..close].to_owned()));
    }
    let mut found: Vec<(u32, String)> = Vec::new();
    let mut next = vec![of];
    while let Some(parent) = next.pop() {
        for (pid, _, name) in all.iter().filter(|(_, of, _)| *of == parent) {
            found.push((*pid, name.clone()));
            next.push(*pid);
        }
    }
    found
}

pub(crate) fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    // Backends come and go.
    let _ = kill_process(pid, signal);
}

/// Stops, continues or kills a server: its postmaster is stopped first, so that no more processes come. The processes of
/// a dead one would have another parent.
pub(crate) fn signal_server(postmaster: u32, signal: Signal) {
    let first = if signal == Signal::KILL { Signal::STOP } else { signal };
    send(postmaster, first);
    descendants(postmaster).into_iter().for_each(|(pid, _)| send(pid, signal));
    if first != signal {
        send(postmaster, signal);
    }
}

/// Processes that programs of this test have started, and that still run.
pub(crate) fn processes_of(bench: &Bench) -> Vec<String> {
    let state = format!("PGMETER_STATE_DIR={}", bench.path().join("state").display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == state.as_bytes()) {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push(format!("process {} {}", entry.file_name().display(), name.trim()));
        }
    }
    found
}

/// Waits for the end, which must come.
#[track_caller]
pub(crate) fn ends(mut run: Running) -> Finished {
    let since = Instant::now();
    while !run.has_ended() {
        if since.elapsed() > DEADLINE {
            run.signal(Signal::KILL);
            panic!("it did not end:\n{}", run.finish().stderr);
        }
        testkit::condition::pause();
    }
    run.finish()
}
