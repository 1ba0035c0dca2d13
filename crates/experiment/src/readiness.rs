//! Determines the preparation that each trial needs: starting its server, loading its data, restoring a copy. Forecasts
//! use these decisions, and `lab::provision` carries them out.

use std::collections::{BTreeMap, BTreeSet};

use crate::applied_settings;
use crate::configuration::{Configuration, Restore};
use crate::memory::Arrangement;
use crate::plan::Plan;

/// Missing preparation of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preparation {
    /// Start a server.
    pub starts: bool,
    /// Load its data.
    pub loads: bool,
    /// Create a copy of the data.
    pub copies: bool,
    /// Restart the server, because it takes a setting of the cell only at its start.
    pub restarts: bool,
}

/// The servers running after some trials, by their indexes in the plan.
#[derive(Clone, Debug, Default)]
pub struct Readiness(BTreeMap<usize, LoadedData>);

/// The data on a server; data sets by their indexes in the plan.
#[derive(Clone, Debug, Default)]
pub struct LoadedData {
    /// Data sets loaded into a database or into files from which copies are made.
    pub loaded: BTreeSet<usize>,
    /// The data set in the trials' database, unchanged since loading.
    fresh: Option<usize>,
    /// The data set in the trials' database, possibly changed.
    in_trial: Option<usize>,
    /// Settings that the server took at its start.
    taken_at_start: BTreeMap<String, String>,
}

impl Readiness {
    /// Preparation of the next trial, one of this cell; marks it as done.
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

    /// Forgets the server of this cell, which may have failed, and all its data.
    pub fn lose(&mut self, plan: &Plan, cell: usize) {
        self.0.remove(&plan.data[plan.data_of[cell]].0);
    }
}

impl LoadedData {
    /// Preparation of the next trial, which uses this data set; marks it as done.
    pub fn next(&mut self, data: usize, wanted: &Configuration) -> Preparation {
        if wanted.server.in_place {
            return Preparation::default();
        }
        let is_stale = self.fresh != Some(data);
        let (loads, copies) = match wanted.data.restore {
            Restore::Template | Restore::Files => (self.loaded.insert(data), is_stale),
            Restore::Reload => (is_stale, false),
            Restore::Never => (self.in_trial != Some(data), false),
        };
        self.in_trial = Some(data);
        self.fresh = wanted.only_reads().then_some(data);
        let taken_at_start = applied_settings::taken_at_start(wanted);
        let restarts = self.taken_at_start != taken_at_start;
        self.taken_at_start = taken_at_start;
        Preparation { starts: false, loads, copies, restarts }
    }
}

impl Configuration {
    /// Whether a trial leaves the data unchanged; false if unknown.
    pub fn only_reads(&self) -> bool {
        let work_only_reads = match &self.queries {
            Some(queries) => !queries.refresh,
            None => self.steps.is_empty() && self.scripts_only_read,
        };
        work_only_reads && self.setup.is_none() && self.load.actions.is_empty()
    }
}
