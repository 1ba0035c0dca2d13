//! The inputs that others are made of: the seeds of a target's folder, and those that led to an outcome that none had
//! led to before. Filled by a round, drawn from by `mutation`.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

use script::Random;

/// Inputs kept for their outcome; enough for variety, few enough that each is drawn again.
const KEPT_MAX: usize = 4_000;
/// Bytes kept for their outcome.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Inputs to draw from; never empty.
pub struct Corpus {
    inputs: Vec<Vec<u8>>,
    seeds: usize,
    bytes: usize,
    outcomes: HashSet<u64>,
}

impl Corpus {
    /// The seeds of a folder, in the order of their names; the empty input is one of them.
    pub fn read(folder: &Path) -> io::Result<Corpus> {
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        let seeds = paths.into_iter().map(fs::read).collect::<io::Result<Vec<_>>>()?;
        Ok(Corpus::of(seeds))
    }

    /// These seeds, and the empty one.
    pub fn of(seeds: Vec<Vec<u8>>) -> Corpus {
        let mut inputs = vec![Vec::new()];
        inputs.extend(seeds);
        Corpus { seeds: inputs.len(), inputs, bytes: 0, outcomes: HashSet::new() }
    }

    /// All seeds, to be tried as they are.
    pub fn seeds(&self) -> &[Vec<u8>] {
        &self.inputs[..self.seeds]
    }

    /// One of the inputs; as often a seed as one that was kept.
    pub fn draw(&self, random: &mut Random) -> &[u8] {
        let kept = self.inputs.len() - self.seeds;
        let (from, count) = match random.range(1) {
            1 if kept > 0 => (self.seeds, kept),
            _ => (0, self.seeds),
        };
        &self.inputs[from + below(random, count)]
    }

    /// Keeps an input if its outcome is new.
    pub fn consider(&mut self, input: &[u8], outcome: u64, length_max: usize) {
        let is_full = self.kept() >= KEPT_MAX || self.bytes >= KEPT_BYTES_MAX;
        if !is_full && input.len() <= length_max && self.outcomes.insert(outcome) {
            self.bytes += input.len();
            self.inputs.push(input.to_vec());
        }
    }

    /// How many were kept for their outcome.
    pub fn kept(&self) -> usize {
        self.inputs.len() - self.seeds
    }
}

/// A number from 0, less than `count`; 0 if there is nothing to choose from.
pub fn below(random: &mut Random, count: usize) -> usize {
    let last = u64::try_from(count.saturating_sub(1)).unwrap_or(0);
    usize::try_from(random.range(last)).unwrap_or(0)
}
