//! Which trials there are, in which order they run, which servers and data they need, and how long that will take.
//! Nothing is started; `cli` shows the plan, whoever runs it goes through `trials`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::LabError;
use crate::configuration::{Configuration, DataSpec, Length, ServerSpec, Workload};
use crate::experiment::{Experiment, Order};
use crate::matrix::{Cell, cells};
use crate::steps::Step;

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

/// Rough times, for the estimate alone: between two trials; starting a server; loading one unit of scale.
const BETWEEN_TRIALS: Duration = Duration::from_secs(3);
const STARTING: Duration = Duration::from_secs(5);
const LOADING_PER_SCALE: Duration = Duration::from_millis(250);

impl Plan {
    /// Multiplies the levels out and puts the trials in order. `folder` is the experiment's.
    ///
    /// # Errors
    /// If nothing is left to run, or far too much.
    pub fn of(experiment: &Experiment, file: &str, folder: &Path) -> Result<Plan, LabError> {
        let complain = |what: String| LabError::File { file: file.to_owned(), line: 1, column: 1, what };
        let levels = experiment.factors.iter().map(|factor| factor.levels.len());
        let number = levels.fold(experiment.design.repeats as usize, usize::saturating_mul);
        if number > TRIALS_MAX {
            return Err(complain(format!("these are {number} trials, more than {TRIALS_MAX}")));
        }
        let cells = cells(experiment, folder);
        if cells.is_empty() {
            return Err(complain("all combinations are left out by exclude".to_owned()));
        }
        let mut plan = Plan { cells, trials: Vec::new(), servers: Vec::new(), data: Vec::new() };
        let blocks = plan.find_blocks();
        plan.trials = match experiment.design.order {
            Order::Sequential => plan.sequential(experiment),
            Order::Interleaved => interleaved(experiment, &blocks),
        };
        Ok(plan)
    }

    /// Names servers and data, and says for each data set which cells use it.
    fn find_blocks(&mut self) -> Vec<Vec<usize>> {
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for (number, cell) in self.cells.iter().enumerate() {
            let wanted = &cell.configuration.server;
            let server = self.servers.iter().position(|server| server == wanted).unwrap_or_else(|| {
                self.servers.push(wanted.clone());
                self.servers.len() - 1
            });
            let wanted = (server, cell.configuration.data.clone());
            let data = self.data.iter().position(|data| *data == wanted).unwrap_or_else(|| {
                self.data.push(wanted);
                blocks.push(Vec::new());
                self.data.len() - 1
            });
            blocks[data].push(number);
        }
        blocks
    }

    fn sequential(&self, experiment: &Experiment) -> Vec<Trial> {
        let design = &experiment.design;
        let of_cell = |cell| (1..=design.repeats).map(move |repeat| trial(design.seed, cell, repeat));
        (0..self.cells.len()).flat_map(of_cell).collect()
    }

    /// How long it will take, roughly.
    pub fn estimate(&self) -> Duration {
        let of_trial = |trial: &Trial| {
            let Configuration { load, steps, .. } = &self.cells[trial.cell].configuration;
            if !steps.is_empty() {
                return steps.iter().map(Step::estimate).sum::<Duration>() + BETWEEN_TRIALS;
            }
            let length = match load.length {
                Length::Time(time) => time,
                Length::Transactions(_) => Duration::from_secs(10),
            };
            length + load.warmup + BETWEEN_TRIALS
        };
        let trials: Duration = self.trials.iter().map(of_trial).sum();
        let loaded: BTreeSet<_> =
            self.data.iter().filter(|(_, data)| data.workload == Workload::Tpcb).collect();
        let loading: Duration = loaded.iter().map(|(_, data)| LOADING_PER_SCALE * data.scale).sum();
        trials + STARTING * u32::try_from(self.servers.len()).unwrap_or(u32::MAX) + loading
    }
}

/// Randomised blocks: each repeat goes through all data sets, and through all cells of each, in an order of its own.
/// So what drifts over hours meets all cells alike, and a server or a data set is changed no more often than need be.
fn interleaved(experiment: &Experiment, blocks: &[Vec<usize>]) -> Vec<Trial> {
    let design = &experiment.design;
    let mut random = SplitMix(design.seed);
    let mut trials = Vec::new();
    for repeat in 1..=design.repeats {
        let mut blocks = blocks.to_vec();
        random.shuffle(&mut blocks);
        for mut cells in blocks {
            random.shuffle(&mut cells);
            trials.extend(cells.into_iter().map(|cell| trial(design.seed, cell, repeat)));
        }
    }
    trials
}

fn trial(seed: u64, cell: usize, repeat: u32) -> Trial {
    let mut random = SplitMix(seed ^ u64::from(repeat).rotate_left(32));
    // Seeds are numbers that `--random-seed` takes and JSON keeps.
    Trial { cell, repeat, seed: random.next() >> 11 }
}

/// SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014): for orders, nothing else.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher and Yates, as in Durstenfeld's algorithm 235 (1964).
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The modulus favours small numbers by less than 10⁻¹².
            let chosen = usize::try_from(self.next() % (last as u64 + 1)).unwrap_or(0);
            items.swap(last, chosen);
        }
    }
}
