//! CPU time and I/O of the benchmark's backends, added up over many looks at them: those that come and go meanwhile
//! count as far as they were seen. Pure; `processes` looks.

use std::collections::BTreeMap;

use crate::processes::{Process, Usage};

/// What backends used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Used {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
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
        self.read_bytes = more(self.read_bytes, later.read_bytes, earlier.read_bytes);
        self.written_bytes = more(self.written_bytes, later.written_bytes, earlier.written_bytes);
    }

    /// So many times as much.
    pub(crate) fn scaled(&self, factor: f64) -> Used {
        Used {
            user_s: self.user_s * factor,
            system_s: self.system_s * factor,
            read_bytes: self.read_bytes.map(|bytes| bytes * factor),
            written_bytes: self.written_bytes.map(|bytes| bytes * factor),
        }
    }

    /// What was used since `earlier`.
    pub(crate) fn since(&self, earlier: &Used) -> Used {
        let since = |now: Option<f64>, then: Option<f64>| now.map(|now| now - then.unwrap_or(0.0));
        Used {
            user_s: self.user_s - earlier.user_s,
            system_s: self.system_s - earlier.system_s,
            read_bytes: since(self.read_bytes, earlier.read_bytes),
            written_bytes: since(self.written_bytes, earlier.written_bytes),
        }
    }
}

/// Adds up what processes use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backends {
    known: BTreeMap<u32, Process>,
    used: Used,
    /// What of that was told already.
    told: Used,
    /// What the server's ended children have used.
    ended: Option<Used>,
}

impl Backends {
    /// Takes in a look at all backends that are there. One that is new began since the last look, except at the first.
    pub(crate) fn look(&mut self, processes: Vec<(u32, Process)>) {
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
        self.known = known;
    }

    /// Who was there at the last look.
    pub(crate) fn known(&self) -> impl Iterator<Item = u32> + '_ {
        self.known.keys().copied()
    }

    /// What they have used since the first look.
    pub(crate) fn used(&self) -> Used {
        self.used
    }

    /// What they have used since this was last asked; `None` if there are none.
    pub(crate) fn used_since_last_asked(&mut self) -> Option<Used> {
        let told = std::mem::replace(&mut self.told, self.used);
        (!self.known.is_empty()).then(|| self.used.since(&told))
    }

    /// Takes in a look at the server's first process: what its ended children had used up to now.
    pub(crate) fn look_at_ended(&mut self, postmaster: &Process) {
        let Usage { children_user_s: user_s, children_system_s: system_s, .. } = postmaster.usage;
        self.ended = Some(Used { user_s, system_s, ..Used::default() });
    }

    /// What children that have ended had used.
    pub(crate) fn ended(&self) -> Option<Used> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(started_ticks: u64, user_s: f64, read_bytes: Option<f64>) -> Process {
        let usage = Usage { user_s, system_s: user_s / 2.0, read_bytes, ..Usage::default() };
        Process { name: "postgres".to_owned(), parent: 1, started_ticks, usage }
    }

    #[test]
    fn what_was_used_before_the_first_look_does_not_count() {
        let mut backends = Backends::default();
        backends.look(vec![(1, process(5, 10.0, Some(100.0)))]);
        backends.look(vec![(1, process(5, 11.5, Some(150.0)))]);
        let expected = Used { user_s: 1.5, system_s: 0.75, read_bytes: Some(50.0), written_bytes: None };
        assert_eq!(backends.used(), expected);
    }

    #[test]
    fn a_backend_that_vanished_keeps_what_it_had_used_and_its_number_may_come_again() {
        let mut backends = Backends::default();
        backends.look(vec![(1, process(5, 10.0, None)), (2, process(5, 1.0, None))]);
        backends.look(vec![(1, process(5, 12.0, None)), (2, process(5, 2.0, None))]);
        backends.look(vec![(1, process(5, 13.0, None))]);
        backends.look(vec![(1, process(5, 13.0, None)), (2, process(900, 0.5, None))]);
        assert!((backends.used().user_s - 4.5).abs() < 1e-9);
        assert_eq!(backends.used().read_bytes, None);
    }
}
