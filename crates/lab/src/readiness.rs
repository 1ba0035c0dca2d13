//! What has to be done before each trial of a plan: which servers run by then, which data are in them, and how trials
//! get theirs. Decided here once: forecasts go through the decisions, `provision` carries them out.

use std::collections::{BTreeMap, BTreeSet};

use crate::configuration::{Configuration, Restore};
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

/// The servers that run after some trials, by their numbers in the plan.
#[derive(Clone, Debug, Default)]
pub struct Readiness(BTreeMap<usize, LoadedData>);

/// The data on a server; data sets by their numbers in the plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedData {
    /// Loaded into a database, or into files, of which copies are made.
    pub(crate) loaded: BTreeSet<usize>,
    /// The trials' database has it as it was loaded.
    fresh: Option<usize>,
    /// The trials' database has it, whatever became of it.
    in_trial: Option<usize>,
}

impl Readiness {
    /// What the next trial, one of this cell, needs; it is there afterwards.
    pub fn next(&mut self, plan: &Plan, cell: usize) -> Preparation {
        let data = plan.data_of[cell];
        let server = plan.data[data].0;
        let starts = !self.0.contains_key(&server);
        if starts && matches!(plan.arrangement, Arrangement::OneAtATime { .. }) {
            self.0.clear();
        }
        let prepared = self.0.entry(server).or_default().next(data, &plan.cells[cell].configuration);
        Preparation { starts, ..prepared }
    }

    /// The server of this cell may be gone, and all that was on it.
    pub fn lose(&mut self, plan: &Plan, cell: usize) {
        self.0.remove(&plan.data[plan.data_of[cell]].0);
    }
}

impl LoadedData {
    /// What the next trial needs, which has this data set; it is there afterwards.
    pub(crate) fn next(&mut self, data: usize, wanted: &Configuration) -> Preparation {
        let is_stale = self.fresh != Some(data);
        let (loads, copies) = match wanted.data.restore {
            Restore::Template | Restore::Files => (self.loaded.insert(data), is_stale),
            Restore::Reload => (is_stale, false),
            Restore::Never => (self.in_trial != Some(data), false),
        };
        self.in_trial = Some(data);
        self.fresh = wanted.only_reads().then_some(data);
        Preparation { starts: false, loads, copies }
    }
}

impl Configuration {
    /// Whether trials leave the data as they were: only what is known to.
    pub fn only_reads(&self) -> bool {
        self.steps.is_empty() && self.setup.is_none() && self.scripts_only_read
    }
}
