//! CPU time of a short load on this host: of its clients' backends and of their parallel workers. Workers usually exit
//! before anyone reads them; the kernel then adds their time to that of the postmaster's exited children.
//! [`workers_s`] has the rule, which `account` uses for whole runs.

use std::collections::BTreeMap;
use std::fs;

use results::ProcessStat;

use crate::processes::{self, Process};

/// Readings until no process exits between the first and the last one of them.
const TRIES: usize = 3;

/// Measures the CPU time of a load between two moments.
#[derive(Debug)]
pub struct LoadCpu {
    postmaster: u32,
    clients: Vec<u32>,
    begun: BTreeMap<u32, Running>,
    /// The last reading of each client after the beginning.
    ended: BTreeMap<u32, Running>,
    last: Option<Look>,
    workers_s: f64,
}

/// A process of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Running {
    started_ticks: u64,
    cpu_s: f64,
    /// Whether it is a parallel worker of one of the clients.
    is_worker: bool,
}

/// The server's processes at a moment, without the postmaster.
#[derive(Clone, Debug, Default, PartialEq)]
struct Look {
    /// CPU time of those that have exited.
    exited_s: f64,
    clients: BTreeMap<u32, Running>,
    others: BTreeMap<u32, Running>,
}

/// CPU time of parallel workers between two readings: the growth of the time of exited processes, without the time that
/// such a process had used before the first reading (`gone`); and the time of the running workers, without their time at
/// the first reading (`running`).
pub(crate) fn workers_s(growth_of_exited: f64, gone: f64, running: f64) -> f64 {
    growth_of_exited - gone + running
}

impl LoadCpu {
    /// For the backends with these PIDs. `None` without one, or if the server is on another host or in another PID
    /// namespace.
    pub fn of(clients: &[u32]) -> Option<LoadCpu> {
        let first = ProcessStat::read(*clients.first()?)?;
        let postmaster = ProcessStat::read(first.parent)?;
        let is_server = [&first, &postmaster].iter().all(|process| process.name.starts_with("postgres"));
        is_server.then(|| LoadCpu::new(first.parent, clients))
    }

    fn new(postmaster: u32, clients: &[u32]) -> LoadCpu {
        LoadCpu {
            postmaster,
            clients: clients.to_vec(),
            begun: BTreeMap::new(),
            ended: BTreeMap::new(),
            last: None,
            workers_s: 0.0,
        }
    }

    /// The measured time begins.
    pub fn begin(&mut self) {
        if let Some(look) = Look::now(self.postmaster, &self.clients) {
            self.begin_with(look);
        }
    }

    /// Reads the processes when some clients, or all of them, have finished and are still connected. The last reading is
    /// the end.
    pub fn end(&mut self) {
        if let Some(look) = Look::now(self.postmaster, &self.clients) {
            self.end_with(look);
        }
    }

    /// CPU time from the beginning to the end; `None` unless each client was read at both.
    pub fn seconds(&self) -> Option<f64> {
        let used = |pid| {
            let (ended, begun) = (self.ended.get(pid)?, self.begun.get(pid)?);
            (ended.started_ticks == begun.started_ticks).then_some(ended.cpu_s - begun.cpu_s)
        };
        let of_clients: f64 = self.clients.iter().map(used).sum::<Option<f64>>()?;
        Some(of_clients + self.workers_s.max(0.0)).filter(|seconds| *seconds > 0.0)
    }

    fn begin_with(&mut self, look: Look) {
        self.begun = look.clients.clone();
        self.ended.clear();
        self.workers_s = 0.0;
        self.last = Some(look);
    }

    fn end_with(&mut self, look: Look) {
        let Some(last) = &self.last else { return };
        let growth = look.workers_since(last);
        // The time of a client that has exited is known only in ticks, so the rest would be mostly noise.
        let is_exact = last.clients.keys().all(|pid| look.clients.contains_key(pid));
        if is_exact || self.workers_s > 0.0 {
            self.workers_s += growth;
        }
        self.ended.extend(look.clients.iter().map(|(pid, running)| (*pid, *running)));
        self.last = Some(look);
    }
}

impl Look {
    fn now(postmaster: u32, clients: &[u32]) -> Option<Look> {
        let mut look = Look::at(postmaster, clients)?;
        for _ in 1..TRIES {
            if exited_s(postmaster) == Some(look.exited_s) {
                break;
            }
            look = Look::at(postmaster, clients)?;
        }
        Some(look)
    }

    fn at(postmaster: u32, clients: &[u32]) -> Option<Look> {
        let mut look = Look { exited_s: exited_s(postmaster)?, ..Look::default() };
        let running = |pid: u32, is_worker: bool| {
            let Process { started_ticks, usage, .. } = processes::look_without_io(pid)?;
            Some((pid, Running { started_ticks, cpu_s: usage.cpu_s(), is_worker }))
        };
        look.clients = clients.iter().filter_map(|pid| running(*pid, false)).collect();
        let others = children(postmaster).into_iter().filter(|pid| !clients.contains(pid));
        look.others = others.filter_map(|pid| running(pid, is_worker_of(pid, clients))).collect();
        Some(look)
    }

    fn workers_since(&self, earlier: &Look) -> f64 {
        let is_here = |(pid, then): &(&u32, &Running)| {
            let now = self.clients.get(pid).or_else(|| self.others.get(pid));
            now.is_some_and(|now| now.started_ticks == then.started_ticks)
        };
        let gone = earlier.clients.iter().chain(&earlier.others).filter(|it| !is_here(it));
        let used = |(pid, now): (&u32, &Running)| {
            let then = earlier.others.get(pid).filter(|then| then.started_ticks == now.started_ticks);
            now.cpu_s - then.map_or(0.0, |then| then.cpu_s)
        };
        let running = self.others.iter().filter(|(_, now)| now.is_worker).map(used);
        workers_s(self.exited_s - earlier.exited_s, gone.map(|(_, then)| then.cpu_s).sum(), running.sum())
    }
}

/// CPU time of the exited children of the postmaster.
fn exited_s(postmaster: u32) -> Option<f64> {
    let usage = processes::look_without_io(postmaster)?.usage;
    Some(usage.children_user_s + usage.children_system_s)
}

/// PIDs of a process's children. Manual: proc_tid_children(5); kernels without this file have only the list of all
/// processes.
fn children(parent: u32) -> Vec<u32> {
    if let Ok(text) = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        return text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| ProcessStat::read(*pid).is_some_and(|process| process.parent == parent)).collect()
}

/// Title of parallel workers, followed by the PID of their leader (`LaunchParallelWorkers` of PostgreSQL).
const WORKER: &str = "parallel worker for PID ";

fn is_worker_of(pid: u32, clients: &[u32]) -> bool {
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    leader(&String::from_utf8_lossy(&title)).is_some_and(|leader| clients.contains(&leader))
}

fn leader(title: &str) -> Option<u32> {
    let (_, rest) = title.split_once(WORKER)?;
    rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PID and CPU time of clients, and of others; those from 100 on are workers.
    fn look(exited_s: f64, clients: &[(u32, f64)], others: &[(u32, f64)]) -> Look {
        let running = |(pid, cpu_s): &(u32, f64)| {
            (*pid, Running { started_ticks: 1, cpu_s: *cpu_s, is_worker: *pid >= 100 })
        };
        let [clients, others] = [clients, others].map(|it| it.iter().map(running).collect());
        Look { exited_s, clients, others }
    }

    fn seconds(clients: &[u32], looks: &[Look]) -> Option<f64> {
        let mut load = LoadCpu::new(7, clients);
        load.begin_with(looks[0].clone());
        looks[1..].iter().for_each(|look| load.end_with(look.clone()));
        load.seconds().map(|seconds| (seconds * 1e6).round() / 1e6)
    }

    #[test]
    fn workers_that_ended_and_those_that_run_count_from_the_beginning() {
        // A worker that ran before, one that came and ended, and one that still runs.
        let begun = look(5.0, &[(1, 1.0)], &[(100, 0.25)]);
        let ended = look(5.0 + 0.75 + 0.125, &[(1, 2.0)], &[(102, 0.5)]);
        assert_eq!(seconds(&[1], &[begun.clone(), ended]), Some(1.0 + 0.5 + 0.125 + 0.5));
        let runs_on = look(5.0, &[(1, 2.0)], &[(100, 0.5)]);
        assert_eq!(seconds(&[1], &[begun, runs_on]), Some(1.0 + 0.25));
    }

    #[test]
    fn a_session_of_others_that_ends_brings_only_its_growth() {
        let begun = look(5.0, &[(1, 1.0)], &[(3, 1000.0), (4, 20.0)]);
        let ended = look(1005.0, &[(1, 2.0)], &[(4, 30.0)]);
        assert_eq!(seconds(&[1], &[begun, ended]), Some(1.0));
    }

    #[test]
    fn backends_of_a_worker_thread_that_was_done_first_count_with_their_time_then() {
        let begun = look(5.0, &[(1, 1.0), (2, 2.0)], &[]);
        let first = look(5.0, &[(1, 1.5), (2, 2.5)], &[]);
        let last = look(6.51, &[(2, 3.0)], &[]);
        assert_eq!(
            seconds(&[1, 2], &[begun.clone(), first, last.clone()]),
            Some(0.5 + 1.0),
            "no tick of client 1"
        );
        let first = look(5.25, &[(1, 1.5), (2, 2.5)], &[]);
        let last = Look { exited_s: 7.25, ..last };
        assert_eq!(seconds(&[1, 2], &[begun, first, last]), Some(0.5 + 1.0 + 0.75), "workers of client 2");
    }

    #[test]
    fn a_backend_that_was_not_read_at_both_ends_leaves_the_time_unknown() {
        let both = |cpu_s| look(5.0, &[(1, cpu_s), (2, cpu_s)], &[]);
        let one = |cpu_s| look(5.0, &[(1, cpu_s)], &[]);
        assert_eq!(seconds(&[1, 2], &[both(1.0), both(2.0)]), Some(2.0));
        assert_eq!(seconds(&[1, 2], &[both(1.0), one(2.0)]), None);
        assert_eq!(seconds(&[1, 2], &[one(1.0), both(2.0)]), None);
        assert_eq!(seconds(&[], &[both(1.0), both(2.0)]), None, "of nobody");
    }

    #[test]
    fn the_leader_is_in_the_title_of_a_worker() {
        let titles = [
            ("postgres: parallel worker for PID 4711 \0", Some(4711)),
            ("postgres: main: bgworker: parallel worker for PID 12   \0", Some(12)),
            ("postgres: autovacuum worker \0", None),
            ("postgres: parallel worker for PID x\0", None),
        ];
        for (title, expected) in titles {
            assert_eq!(leader(title), expected, "{title}");
        }
    }

    #[test]
    fn children_are_found() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        // The file lists the children of one thread, and a test is not the main thread.
        let parent = std::process::id();
        let of_all = fs::read_dir("/proc/self/task").unwrap().flatten().flat_map(|thread| {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        });
        let is_found = of_all
            .chain(children(parent).iter().map(u32::to_string))
            .any(|pid| pid == child.id().to_string());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_found);
    }
}
