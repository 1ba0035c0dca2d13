//! What is fed, as a table: each row is something that reads what a user, a file or a server wrote. Adding a target is
//! adding a row and its folder of seeds.

mod certificates;
mod connections;
mod digest;
mod experiments;
mod expressions;
mod files;
mod frames;
mod lexer;
mod names;
mod records;
mod schemas;
mod scripts;
mod server;
mod startup;
mod store;
mod tls_answers;
mod workloads;

use std::io;
use std::path::{Path, PathBuf};

use script::Random;

/// Tries one input. `Ok` is a number that stands for the kind of outcome, `Err` says which property does not hold.
pub type Attempt = Box<dyn FnMut(&[u8]) -> Result<u64, String>>;

/// A change within the grammar of a target: the input, another one, and what decides.
pub type Reshape = fn(&[u8], &[u8], &mut Random) -> Option<Vec<u8>>;

/// The longest input of targets whose seeds are short.
const SHORT: usize = 4 * 1024;

/// Something that is fed.
pub struct Target {
    /// What it is called, and the folder of its seeds.
    pub name: &'static str,
    /// Words of its language, to be put anywhere.
    pub words: &'static [&'static [u8]],
    /// Writes an input that may well be right, where mutation alone would get nowhere.
    pub generate: Option<fn(&mut Random, &mut Vec<u8>)>,
    /// Changes an input within its grammar, with pieces of another one; `None` if the input has no such form.
    pub reshape: Option<Reshape>,
    /// The longest input, but for the few that are blown up.
    pub length_max: usize,
    /// One of so many inputs is tried in a short round: more than 1 where an input takes long.
    pub short_round_divisor: u64,
    /// The most memory that an input may take, the attempt's own included.
    pub memory: fn(&[u8]) -> u64,
    /// Makes ready once for a whole round, whose folder is the current one.
    pub prepare: fn() -> io::Result<Attempt>,
}

impl Target {
    /// The folder of its seeds.
    pub fn seeds(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(self.name)
    }
}

/// Every target.
pub const TARGETS: [Target; 15] = [
    scripts::TARGET,
    expressions::TARGET,
    connections::TARGET,
    files::TARGET,
    server::TARGET,
    startup::TARGET,
    certificates::TARGET,
    tls_answers::TARGET,
    names::TARGET,
    lexer::TARGET,
    experiments::TARGET,
    records::TARGET,
    store::TARGET,
    workloads::TARGET,
    schemas::TARGET,
];

const KIB: u64 = 1024;

/// So many KiB, and so many bytes for each byte of the input.
const fn allowance(kib: u64, per_byte: u64, input: &[u8]) -> u64 {
    kib * KIB + per_byte * input.len() as u64
}

/// Where an input is cut in two: at its first newline. Without one, the second part is empty.
fn first_line(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|&byte| byte == b'\n') {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (input, b""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_name_of_its_own_and_seeds() {
        for (index, target) in TARGETS.iter().enumerate() {
            assert!(TARGETS[..index].iter().all(|other| other.name != target.name));
            let seeds = std::fs::read_dir(target.seeds()).expect(target.name);
            assert!(seeds.count() > 0, "{}", target.name);
        }
    }
}
