//! CPU time and I/O of the benchmark's backends, summed over many readings. Backends that start and exit in between
//! count up to their last reading. Pure; `processes` reads `/proc`.

use std::collections::BTreeMap;

use crate::processes::{Process, Usage};
use crate::strata::Strata;

/// Resource usage of backends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Used {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// User and system time together, in the best available resolution.
    pub(crate) cpu_s: f64,
    /// Time ready to run, without a CPU.
    pub(crate) run_delay_s: Option<f64>,
    pub(crate) read_bytes: Option<f64>,
    pub(crate) written_bytes: Option<f64>,
}

impl Used {
    fn add(&mut self, later: &Usage, earlier: &Usage) {
        let more = |sum: Option<f64>, later: Option<f64>, earlier: Option<f64>| match (later, earlier) {
            (Some(later), earlier) => Some(sum.unwrap_or(0.0) + (later - earlier.unwrap_or(0.0)).max(0.0)),
            (None, _) => sum,
        };
        self.user_s += (later.user_s - earlier.user_s).max(0.0);
        self.system_s += (later.system_s - earlier.system_s).max(0.0);
        self.cpu_s += (later.cpu_s() - earlier.cpu_s()).max(0.0);
        let delay = |usage: &Usage| usage.scheduled.map(|scheduled| scheduled.run_delay_s);
        self.run_delay_s = more(self.run_delay_s, delay(later), delay(earlier));
        self.read_bytes = more(self.read_bytes, later.read_bytes, earlier.read_bytes);
        self.written_bytes = more(self.written_bytes, later.written_bytes, earlier.written_bytes);
    }

    /// Usage multiplied by a factor.
    pub(crate) fn scaled(&self, factor: f64) -> Used {
        Used {
            user_s: self.user_s * factor,
            system_s: self.system_s * factor,
            cpu_s: self.cpu_s * factor,
            run_delay_s: self.run_delay_s.map(|seconds| seconds * factor),
            read_bytes: self.read_bytes.map(|bytes| bytes * factor),
            written_bytes: self.written_bytes.map(|bytes| bytes * factor),
        }
    }

    /// Usage since `earlier`.
    pub(crate) fn since(&self, earlier: &Used) -> Used {
        let since = |now: Option<f64>, then: Option<f64>| now.map(|now| now - then.unwrap_or(0.0));
        Used {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            cpu_s: self.cpu_s - earlier.cpu_s,
            run_delay_s: since(self.run_delay_s, earlier.run_delay_s),
            read_bytes: since(self.read_bytes, earlier.read_bytes),
            written_bytes: since(self.written_bytes, earlier.written_bytes),
        }
    }
}

/// Usage up to a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mark {
    at_s: f64,
    used: Used,
}

/// Usage in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// Length of the stretch.
    pub(crate) seconds: f64,
    pub(crate) used: Used,
}

impl Stretch {
    /// Average number of running and runnable backends.
    pub(crate) fn strata(&self) -> Option<Strata> {
        let mean = |seconds: f64| seconds / self.seconds;
        (self.seconds > 0.0)
            .then(|| Strata { running: mean(self.used.cpu_s), runnable: self.used.run_delay_s.map(mean) })
    }
}

/// Sums the usage of processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backends {
    known: BTreeMap<u32, Process>,
    used: Used,
    /// Readings at the start of measuring, and the last one.
    origin: Option<Mark>,
    last: Option<Mark>,
    /// Usage that has been returned already.
    told: Option<Mark>,
    /// Usage of the server's exited children.
    ended: Option<Used>,
}

impl Backends {
    /// Adds a reading of all existing backends. A new backend started after the last reading, except at the first one.
    pub(crate) fn look(&mut self, processes: impl IntoIterator<Item = (u32, Process)>, at_s: f64) {
        let is_first = self.known.is_empty();
        let mut known = BTreeMap::new();
        for (pid, process) in processes {
            let before = self.known.get(&pid).filter(|known| known.started_ticks == process.started_ticks);
            match before {
                Some(before) => self.used.add(&process.usage, &before.usage),
                None if is_first => {}
                None => self.used.add(&process.usage, &Usage::default()),
            }
            known.insert(pid, process);
        }
        if !known.is_empty() {
            self.known = known;
            self.last = Some(Mark { at_s, used: self.used });
            self.told = self.told.or(self.last);
        }
    }

    /// The measured time starts at the last reading.
    pub(crate) fn begin_measuring(&mut self) {
        self.origin = self.last;
    }

    /// Whether there was a reading at the start of measuring.
    pub(crate) fn is_measured(&self) -> bool {
        self.origin.is_some()
    }

    /// Usage from the start of measuring to the last reading.
    pub(crate) fn measured(&self) -> Option<Stretch> {
        let (origin, last) = self.origin.zip(self.last)?;
        Some(Stretch { seconds: last.at_s - origin.at_s.max(0.0), used: last.used.since(&origin.used) })
    }

    /// PIDs at the last reading.
    pub(crate) fn known(&self) -> impl Iterator<Item = u32> + '_ {
        self.known.keys().copied()
    }

    /// All usage of the processes at the last reading that are not among `clients`: running parallel workers.
    pub(crate) fn workers(&self, clients: &Backends) -> Used {
        let mut used = Used::default();
        for (_, process) in self.known.iter().filter(|(pid, _)| !clients.knows(**pid)) {
            used.add(&process.usage, &Usage::default());
        }
        used
    }

    /// Whether this PID existed at the last reading.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }

    /// Usage since the last call, or since the first reading; `None` without backends.
    pub(crate) fn since_last_asked(&mut self) -> Option<Stretch> {
        let last = self.last?;
        let told = self.told.replace(last)?;
        Some(Stretch { seconds: last.at_s - told.at_s, used: last.used.since(&told.used) })
    }

    /// Adds a reading of the postmaster, with the usage of its exited children.
    pub(crate) fn look_at_ended(&mut self, postmaster: &Process) {
        let Usage { children_user_s: user_s, children_system_s: system_s, read_bytes, written_bytes, .. } =
            postmaster.usage;
        // The kernel adds the I/O of exited children to that of their parent, which itself does next to none.
        let cpu_s = user_s + system_s;
        self.ended = Some(Used { user_s, system_s, cpu_s, read_bytes, written_bytes, ..Used::default() });
    }

    /// Usage of exited children.
    pub(crate) fn ended(&self) -> Option<Used> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::Scheduled;

    fn process(started_ticks: u64, user_s: f64, read_bytes: Option<f64>) -> Process {
        let usage = Usage { user_s, system_s: user_s / 2.0, read_bytes, ..Usage::default() };
        Process { name: "postgres".to_owned(), parent: 1, started_ticks, usage }
    }

    fn user_s(backends: &Backends) -> f64 {
        backends.used.user_s
    }

    #[test]
    fn what_was_used_before_the_first_look_does_not_count() {
        let mut backends = Backends::default();
        backends.look([(1, process(5, 10.0, Some(100.0)))], 0.0);
        backends.look([(1, process(5, 11.5, Some(150.0)))], 1.0);
        let expected =
            Used { user_s: 1.5, system_s: 0.75, cpu_s: 2.25, read_bytes: Some(50.0), ..Used::default() };
        assert_eq!(backends.used, expected);
    }

    #[test]
    fn a_backend_that_vanished_keeps_what_it_had_used_and_its_number_may_come_again() {
        let mut backends = Backends::default();
        backends.look([(1, process(5, 10.0, None)), (2, process(5, 1.0, None))], 0.0);
        backends.look([(1, process(5, 12.0, None)), (2, process(5, 2.0, None))], 1.0);
        backends.look([(1, process(5, 13.0, None))], 2.0);
        backends.look([(1, process(5, 13.0, None)), (2, process(900, 0.5, None))], 3.0);
        assert!((user_s(&backends) - 4.5).abs() < 1e-9);
        assert_eq!(backends.used.read_bytes, None);
    }

    #[test]
    fn the_scheduler_counts_to_the_nanosecond_what_ran_and_what_waited_for_a_processor() {
        let scheduled = |cpu_s, run_delay_s| {
            let mut process = process(5, 0.0, None);
            process.usage.scheduled = Some(Scheduled { cpu_s, run_delay_s });
            process
        };
        let mut backends = Backends::default();
        backends.look([(1, scheduled(3.0, 1.0))], -1.0);
        backends.look([(1, scheduled(4.0, 1.5))], 0.5);
        backends.begin_measuring();
        backends.look([(1, scheduled(5.0, 2.0))], 2.5);
        let strata = backends.measured().unwrap().strata();
        assert_eq!(strata, Some(Strata { running: 0.5, runnable: Some(0.25) }));
    }
}
