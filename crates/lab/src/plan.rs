//! Which trials there are, in which order they run, which servers and data they need, and how long that will take.
//! Nothing is started; `cli` shows the plan, `campaign` goes through its trials.

use config::{Complaint, Folder};
use stats::SplitMix64;

use crate::LabError;
use crate::configuration::{DataSpec, ServerSpec};
use crate::experiment::{Experiment, Order};
use crate::forecast::{Expected, Forecast};
use crate::matrix::{Cell, START, cells};
use crate::memory::{Arrangement, Memory};
use crate::readiness::Readiness;
use crate::relative::FindHost;

/// An experiment, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The combinations, in the file's order.
    pub cells: Vec<Cell>,
    /// The trials, in the order in which they run.
    pub trials: Vec<Trial>,
    /// Servers that are needed.
    pub servers: Vec<ServerSpec>,
    /// Data sets that are needed: number of the server in `servers`, and what is loaded there.
    pub data: Vec<(usize, DataSpec)>,
    /// The number of each cell's data set in `data`.
    pub data_of: Vec<usize>,
    /// How the servers stand.
    pub arrangement: Arrangement,
}

/// One combination, run once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The number of its cell in the plan.
    pub cell: usize,
    /// From 1.
    pub repeat: u32,
    /// Where its random draws come from; the same for all cells of one repeat, so that they draw the same.
    pub seed: u64,
}

/// Most trials of one experiment: beyond that a file is a mistake.
const TRIALS_MAX: usize = 1_000_000;
/// Most combinations: each is kept with its configuration and compared with the others, so that a million, which a file
/// of a few kilobytes can ask for, would take gigabytes and days to plan.
const COMBINATIONS_MAX: usize = 10_000;

impl Plan {
    /// Multiplies the levels out and puts the trials in order, for a machine with room for all servers; relative values
    /// get no numbers. `folder` is the experiment's.
    ///
    /// # Errors
    /// If nothing is left to run, or far too much.
    pub fn of<'a>(
        experiment: &Experiment,
        file: &str,
        folder: impl Into<Folder<'a>>,
    ) -> Result<Plan, LabError> {
        Plan::within(experiment, file, folder, &Memory::PLENTY, None)
    }

    /// The same for a machine with so much memory. `find_host` is asked for the host of a server where a value is relative
    /// to it; without it such a value gets no number.
    ///
    /// # Errors
    /// If nothing is left to run, or far too much, or a relative value has no number.
    pub fn within<'a>(
        experiment: &Experiment,
        file: &str,
        folder: impl Into<Folder<'a>>,
        memory: &Memory,
        find_host: Option<FindHost<'_>>,
    ) -> Result<Plan, LabError> {
        let complain = |what: String| LabError::File(Complaint::at(START, what).in_file(file));
        let levels = experiment.factors.iter().map(|factor| factor.levels.len());
        let combinations = levels.fold(1, usize::saturating_mul);
        if combinations > COMBINATIONS_MAX {
            return Err(complain(format!(
                "these are {combinations} combinations, more than {COMBINATIONS_MAX}; \
                 leave out levels, or make several experiments of it"
            )));
        }
        let number = combinations.saturating_mul(experiment.design.repeats as usize);
        if number > TRIALS_MAX {
            return Err(complain(format!("these are {number} trials, more than {TRIALS_MAX}")));
        }
        let cells =
            cells(experiment, folder.into(), find_host).map_err(|complaint| complaint.in_file(file))?;
        if cells.is_empty() {
            return Err(complain("all combinations are left out by exclude".to_owned()));
        }
        cells.iter().try_for_each(|cell| cell.configuration.check()).map_err(complain)?;
        Ok(Plan::of_cells(experiment, cells, memory))
    }

    /// The plan of these combinations, however they came about, for a machine with so much memory.
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
            Order::Sequential => plan.sequential(experiment),
            Order::Interleaved => plan.interleaved(experiment),
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

    /// Randomised blocks: each repeat goes through all kinds of data, and through all cells of each, in an order of its
    /// own. So what drifts over hours meets all cells alike. Servers that stand side by side are mixed within a block;
    /// where they cannot, all repeats of one come before those of the next.
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
                    random.shuffle(&mut cells);
                    trials.extend(cells.into_iter().map(|cell| trial(design.seed, cell, repeat)));
                }
            }
        }
        trials
    }

    /// Cells on certain servers, those with the same data together.
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

    /// How long it will take, roughly: starting, loading and restoring with it.
    pub fn estimate(&self) -> Expected {
        let cells = self.trials.iter().map(|trial| trial.cell);
        Forecast::default().expected_of(self, cells, &Readiness::default())
    }
}

/// The number of an item in a list, to which it is added if it is not there.
fn number_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn trial(seed: u64, cell: usize, repeat: u32) -> Trial {
    let mut random = SplitMix64::new(seed ^ u64::from(repeat).rotate_left(32));
    // Seeds are numbers that `--random-seed` takes and JSON keeps.
    Trial { cell, repeat, seed: random.bits() >> 11 }
}
