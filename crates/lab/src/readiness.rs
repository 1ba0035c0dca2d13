//! What has to be done before each trial of a plan: which servers stand by then, which data are in them, and how trials
//! get theirs back. Here it is only found out, for plans and forecasts; `cli` does it.

use std::collections::{BTreeMap, BTreeSet};

use crate::configuration::{Configuration, DataSpec, Restore};
use crate::memory::Arrangement;
use crate::plan::Plan;

/// What one trial needs that is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// A server is started.
    pub starts: bool,
    /// Its data are loaded.
    pub loads: bool,
    /// It gets a copy of them.
    pub copies: bool,
}

/// What stands after some trials.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    /// By the servers' numbers in the plan.
    standing: BTreeMap<usize, Held>,
}

/// What a server holds; data sets by their numbers in the plan.
#[derive(Clone, Debug, Default)]
struct Held {
    /// Loaded into a database that stays as it is.
    loaded: BTreeSet<usize>,
    /// The trials' database has it as it was loaded.
    fresh: Option<usize>,
    /// The trials' database has it, whatever became of it.
    in_trial: Option<usize>,
}

impl Readiness {
    /// What the next trial, one of this cell, needs; it stands afterwards.
    pub fn next(&mut self, plan: &Plan, cell: usize) -> Preparation {
        let data = plan.data_of[cell];
        let (server, spec) = &plan.data[data];
        let starts = !self.standing.contains_key(server);
        if starts && matches!(plan.arrangement, Arrangement::OneAtATime { .. }) {
            self.standing.clear();
        }
        let held = self.standing.entry(*server).or_default();
        let is_stale = held.fresh != Some(data);
        let (loads, copies) = match spec.way_back() {
            WayBack::Copy | WayBack::Files => (held.loaded.insert(data), is_stale),
            WayBack::Reload => (is_stale, false),
            WayBack::None => (held.in_trial != Some(data), false),
        };
        held.in_trial = Some(data);
        held.fresh = plan.cells[cell].configuration.only_reads().then_some(data);
        Preparation { starts, loads, copies }
    }

    /// The server of this cell may be gone, and all that was on it.
    pub fn lose(&mut self, plan: &Plan, cell: usize) {
        self.standing.remove(&plan.data[plan.data_of[cell]].0);
    }
}

/// How the data of a trial that has written are brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// By a copy of what was loaded once.
    Copy,
    /// By a copy of all files of the server.
    Files,
    /// By loading again.
    Reload,
    /// Not at all.
    None,
}

impl DataSpec {
    /// How the next trial gets these data as they were.
    pub fn way_back(&self) -> WayBack {
        match self.restore {
            Restore::Auto | Restore::Template => WayBack::Copy,
            Restore::Files => WayBack::Files,
            Restore::Reload => WayBack::Reload,
            Restore::Never => WayBack::None,
        }
    }
}

impl Configuration {
    /// Whether trials leave the data as they were: only what is known to.
    pub fn only_reads(&self) -> bool {
        self.steps.is_empty() && self.setup.is_none() && self.scripts_only_read
    }
}
