//! The stage lent to `compare`: servers and data for a few combinations, ready for load. No trials are made or kept
//! here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ::lab::{Cell, Experiment, Memory, Origin, Plan, Profile};
use connect::Target;

use super::network::RunningRelay;
use super::stage::{Ready, Stage};
use super::stopwatch::Stopwatch;
use super::{Subject, campaign, hidden, leftovers, trial};
use crate::describing;
use crate::failure::Failure;
use crate::job::Job;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// What is compared, before anything is started.
#[derive(Clone)]
pub(crate) struct Comparable {
    pub(crate) experiment: Experiment,
    pub(crate) folder: PathBuf,
    /// The experiment's file; what was typed has none.
    pub(crate) file: Option<PathBuf>,
    pub(crate) profile: Profile,
    pub(crate) server_user: Option<String>,
}

impl Comparable {
    fn subject(&self, cells: Vec<Cell>) -> Subject {
        Subject {
            experiment: self.experiment.clone(),
            plan: Plan::of_cells(&self.experiment, cells, &Memory::PLENTY),
            profile: self.profile,
            folder: self.folder.clone(),
            file: self.file.clone().unwrap_or_default(),
        }
    }

    /// The combinations of the experiment.
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Failure> {
        let file = self.file.as_deref().unwrap_or(Path::new("--factor")).display().to_string();
        let mut cells = Plan::of(&self.experiment, &file, &self.folder)?.cells;
        hidden::hide_levels(&self.experiment, &mut cells);
        Ok(cells)
    }

    /// Removes what comparisons that were killed left on the servers of these combinations, where these run already.
    pub(crate) fn remove_leftovers(&self, cells: &[Cell], terminal: &Terminal) -> Result<(), Failure> {
        let servers: BTreeSet<&str> = cells
            .iter()
            .filter_map(|cell| match &cell.configuration.server.origin {
                Origin::Running(dsn) => Some(dsn.as_str()),
                Origin::Version(_) | Origin::Programs(_) => None,
            })
            .collect();
        servers.into_iter().try_for_each(|dsn| leftovers::remove_abandoned(dsn, terminal))
    }

    /// Texts of all that the comparison is made from.
    pub(crate) fn files(&self, cells: &[Cell]) -> Result<BTreeMap<String, String>, Failure> {
        campaign::files(&self.subject(cells.to_vec()))
    }
}

/// Servers and data that stand as long as this lives.
pub(crate) struct Scene<'a> {
    stage: Stage<'a>,
    /// They stay between clients and servers although another combination is made ready.
    relays: Vec<Rc<RunningRelay>>,
}

impl<'a> Scene<'a> {
    /// Nothing is started yet.
    pub(crate) fn new(
        what: &Comparable,
        cells: Vec<Cell>,
        terminal: &'a Terminal,
        signals: &'a Signals,
    ) -> Result<Self, Failure> {
        let subject = Rc::new(what.subject(cells));
        let prefix = leftovers::prefix_of_comparison(describing::fresh_seed());
        let stage = Stage::new(subject, what.server_user.clone(), prefix, terminal, signals)?;
        Ok(Self { stage, relays: Vec::new() })
    }

    /// Has a combination's server started and its data loaded; where clients connect.
    pub(crate) fn ready(&mut self, cell: usize) -> Result<Target, Failure> {
        let Ready { target, relay } = self.stage.ready(cell)?;
        self.relays.extend(relay);
        Ok(target)
    }
}

/// The load of a combination.
pub(crate) fn job(cell: &Cell, seed: u64, target: Target) -> Result<Job, Failure> {
    trial::job(cell, &cell.configuration.load, seed, target)
}

/// How long something has been going on.
pub(crate) struct Passed(Stopwatch);

impl Passed {
    pub(crate) fn since_now() -> Self {
        Self(Stopwatch::start())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.0.passed().as_secs_f64()
    }
}
