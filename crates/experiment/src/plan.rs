//! The plan of an experiment: trials in order, required servers and data, and the expected time. Nothing is started;
//! `cli` shows the plan, `lab::campaign` runs its trials.

use std::collections::BTreeMap;

use config::{Complaint, Folder};
use results::TrialOrder;
use stats::{SplitMix64, in_stretches};

use crate::ExperimentError;
use crate::applied_settings;
use crate::configuration::{Cell, DataSpec, START, ServerSpec};
use crate::experiment::{Combinations, Experiment};
use crate::matrix::cells;
use crate::memory::{Arrangement, Memory};
use crate::relative::FindHost;
use crate::session_settings;

/// An experiment, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The combinations, in the file's order.
    pub cells: Vec<Cell>,
    /// The trials, in the order of execution.
    pub trials: Vec<Trial>,
    /// The required servers.
    pub servers: Vec<ServerSpec>,
    /// The required data sets: index of the server in `servers`, and the data.
    pub data: Vec<(usize, DataSpec)>,
    /// Index of each cell's data set in `data`.
    pub data_of: Vec<usize>,
    /// The arrangement of the servers.
    pub arrangement: Arrangement,
}

/// One combination, run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Index of its cell in the plan.
    pub cell: usize,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// Seed; the same for all cells of one repeat, so that they use the same random numbers.
    pub seed: u64,
}

/// Maximum number of trials; more are a mistake.
const TRIALS_MAX: usize = 1_000_000;
/// Maximum number of combinations. Each is stored with its configuration and compared with the others, so a million
/// combinations, which a file of a few kilobytes can define, would take gigabytes and days to plan.
const COMBINATIONS_MAX: usize = 10_000;

impl Plan {
    /// Builds all combinations and orders the trials, assuming memory for all servers; relative values get no
    /// numbers. `folder` is the experiment's directory.
    ///
    /// # Errors
    /// Nothing remains to run, or there are too many trials.
    pub fn of<'a>(
        experiment: &Experiment,
        file: &str,
        folder: impl Into<Folder<'a>>,
    ) -> Result<Plan, ExperimentError> {
        Plan::within(experiment, file, folder, &Memory::PLENTY, None)
    }

    /// The same for a machine with this memory. `find_host` examines the host of a server for relative values;
    /// without it they get no numbers.
    ///
    /// # Errors
    /// Nothing remains to run, there are too many trials, or a relative value cannot be calculated.
    pub fn within<'a>(
        experiment: &Experiment,
        file: &str,
        folder: impl Into<Folder<'a>>,
        memory: &Memory,
        find_host: Option<FindHost<'_>>,
    ) -> Result<Plan, ExperimentError> {
        let complain = |what: String| ExperimentError::File(Complaint::at(START, what).in_file(file));
        let levels = experiment.factors.iter().map(|factor| factor.levels.len());
        let combinations = match experiment.design.combinations {
            Combinations::All => levels.fold(1, usize::saturating_mul),
            Combinations::Screening { .. } => levels.sum(),
        };
        if combinations > COMBINATIONS_MAX {
            return Err(complain(format!(
                "the experiment has {combinations} combinations, more than {COMBINATIONS_MAX}; remove levels, \
                 or split it into several experiments"
            )));
        }
        let number = combinations.saturating_mul(experiment.design.repeats as usize);
        if number > TRIALS_MAX {
            return Err(complain(format!("the experiment has {number} trials, more than {TRIALS_MAX}")));
        }
        let mut cells =
            cells(experiment, folder.into(), find_host).map_err(|complaint| complaint.in_file(file))?;
        if cells.is_empty() {
            return Err(complain("exclude leaves out all combinations".to_owned()));
        }
        cells.iter().try_for_each(|cell| cell.configuration.check()).map_err(complain)?;
        session_settings::separate(&mut cells);
        if experiment.design.combinations != Combinations::All {
            applied_settings::separate(&mut cells).map_err(complain)?;
        }
        Ok(Plan::of_cells(experiment, cells, memory))
    }

    /// The plan of given combinations, for a machine with this memory.
    pub fn of_cells(experiment: &Experiment, cells: Vec<Cell>, memory: &Memory) -> Plan {
        let mut plan = Plan {
            cells,
            trials: Vec::new(),
            servers: Vec::new(),
            data: Vec::new(),
            data_of: Vec::new(),
            arrangement: Arrangement::Single,
        };
        plan.name_servers_and_data();
        plan.arrangement = Arrangement::of(&plan.servers, &plan.data, &plan.cells, memory);
        plan.trials = match experiment.design.order {
            TrialOrder::Sequential => plan.sequential(experiment),
            TrialOrder::Interleaved => plan.interleaved(experiment),
        };
        plan
    }

    fn name_servers_and_data(&mut self) {
        for Cell { configuration, .. } in &self.cells {
            let server = number_in(&mut self.servers, configuration.server.clone());
            self.data_of.push(number_in(&mut self.data, (server, configuration.data.clone())));
        }
    }

    fn sequential(&self, experiment: &Experiment) -> Vec<Trial> {
        let design = &experiment.design;
        let of_cell = |cell| (1..=design.repeats).map(move |repeat| trial(design.seed, cell, repeat));
        (0..self.cells.len()).flat_map(of_cell).collect()
    }

    /// Randomized blocks: each repeat runs all data sets, and all cells of each, in its own order, so that slow drift
    /// affects all cells alike. Servers that run at the same time are mixed within a repeat; otherwise all repeats on
    /// one server run before those on the next.
    fn interleaved(&self, experiment: &Experiment) -> Vec<Trial> {
        let design = &experiment.design;
        let mut random = SplitMix64::new(design.seed);
        let mut stretches = match self.arrangement {
            Arrangement::Single | Arrangement::SideBySide { .. } => vec![self.blocks(|_| true)],
            Arrangement::OneAtATime { .. } => {
                (0..self.servers.len()).map(|server| self.blocks(|of_cell| of_cell == server)).collect()
            }
        };
        random.shuffle(&mut stretches);
        let mut trials = Vec::new();
        for blocks in stretches {
            for repeat in 1..=design.repeats {
                let mut blocks = blocks.clone();
                random.shuffle(&mut blocks);
                for mut cells in blocks {
                    if experiment.design.combinations == Combinations::All {
                        random.shuffle(&mut cells);
                    } else {
                        cells = in_stretches(self.by_start(cells), &mut random);
                    }
                    trials.extend(cells.into_iter().map(|cell| trial(design.seed, cell, repeat)));
                }
            }
        }
        trials
    }

    /// These cells by the settings that their server takes at its start.
    fn by_start(&self, cells: Vec<usize>) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<BTreeMap<String, String>, Vec<usize>> = BTreeMap::new();
        for cell in cells {
            let taken = applied_settings::taken_at_start(&self.cells[cell].configuration);
            groups.entry(taken).or_default().push(cell);
        }
        groups.into_values().collect()
    }

    /// Cells on the given servers, grouped by data set.
    fn blocks(&self, is_meant: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut blocks: Vec<(&DataSpec, Vec<usize>)> = Vec::new();
        for (cell, data) in self.data_of.iter().enumerate() {
            let (server, spec) = &self.data[*data];
            if !is_meant(*server) {
                continue;
            }
            match blocks.iter_mut().find(|(known, _)| *known == spec) {
                Some((_, cells)) => cells.push(cell),
                None => blocks.push((spec, vec![cell])),
            }
        }
        blocks.into_iter().map(|(_, cells)| cells).collect()
    }
}

/// Index of an item in a list; adds it if it is missing.
fn number_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn trial(seed: u64, cell: usize, repeat: u32) -> Trial {
    let mut random = SplitMix64::new(seed ^ u64::from(repeat).rotate_left(32));
    // Seeds that `--random-seed` accepts and JSON preserves.
    Trial { cell, repeat, seed: random.bits() >> 11 }
}
