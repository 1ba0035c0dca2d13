//! The list-append workload: transactions of a few reads and appends, drawn from a seed. Pure; `client` executes them.
//!
//! A transaction depends on the seed and on its number alone, so clients that take the next number need no other
//! coordination. A few lists are in use at a time, so that transactions meet; then others follow, so that lists stay
//! short.

use serde::Serialize;
use stats::SplitMix64;

use crate::history::{Element, Key};

/// Lists in use at a time.
pub const SLOTS: u32 = 6;
/// Transactions after which other lists are used.
const GENERATION: u32 = 64;
/// Operations of a transaction at most: also the distance between the elements of two transactions.
pub const OPERATIONS_MAX: u32 = 6;
/// Lists of a slot at least. The rows of two slots are then on different pages of the table and of its index, so that
/// transactions of different lists share no page lock of SERIALIZABLE.
const SLOT_LISTS_MIN: u32 = 1_000;
/// Elements are numbered in 31 bits.
pub const TRANSACTIONS_MAX: u32 = 10_000_000;

/// How a transaction reads a list.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadMethod {
    /// SELECT.
    Select,
    /// INSERT … ON CONFLICT DO NOTHING of the row that the last version has: no row is inserted if it is the current one.
    OnConflict,
    /// INSERT of that row in a savepoint: it fails if the version is the current one.
    Savepoint,
}

/// Words of the command line: name, help, method.
pub const READ_METHODS: [(&str, &str, ReadMethod); 3] = [
    ("select", "SELECT", ReadMethod::Select),
    ("on-conflict", "INSERT … ON CONFLICT DO NOTHING, which finds the row", ReadMethod::OnConflict),
    (
        "savepoint",
        "INSERT that fails because the row exists, then ROLLBACK TO SAVEPOINT",
        ReadMethod::Savepoint,
    ),
];

/// A planned operation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads a list.
    Read(Key),
    /// Appends an element to a list.
    Append(Key, Element),
}

/// A workload.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Of all random draws.
    pub seed: u64,
    /// Transactions in all.
    pub transactions: u32,
    /// How they read.
    pub reads: ReadMethod,
    /// Whether some transactions read all lists in use, as those on replicas do.
    pub has_readers: bool,
}

impl Workload {
    /// Lists of a slot. The lists of a slot have successive keys.
    fn slot_lists(&self) -> u32 {
        (self.transactions / GENERATION + 1).max(SLOT_LISTS_MIN)
    }

    /// Number of lists; their keys begin with 0.
    pub fn lists(&self) -> u32 {
        self.slot_lists() * SLOTS
    }

    /// Whether a list is used by any transaction.
    pub fn is_used(&self, key: Key) -> bool {
        key % self.slot_lists() <= self.transactions.saturating_sub(1) / GENERATION
    }

    fn key(&self, number: u32, slot: u32) -> Key {
        slot * self.slot_lists() + number / GENERATION
    }

    fn random(&self, number: u32) -> SplitMix64 {
        // The first draw decorrelates neighbours.
        let mut seeds = SplitMix64::new(self.seed ^ u64::from(number).wrapping_mul(0xd134_2543_de82_ef95));
        SplitMix64::new(seeds.bits())
    }

    /// A transaction with reads and appends, or with reads alone.
    pub fn transaction(&self, number: u32) -> Vec<Step> {
        let mut random = self.random(number);
        if self.has_readers && random.chance(0.25) {
            return self.reader(number);
        }
        match self.reads {
            ReadMethod::Select => self.mixed(number, &mut random),
            ReadMethod::OnConflict | ReadMethod::Savepoint => self.reads_first(number, &mut random),
        }
    }

    /// Reads of all lists in use, in random order: for replicas, and for readers beside them.
    pub fn reader(&self, number: u32) -> Vec<Step> {
        let slots = self.slots(&mut self.random(number));
        slots.into_iter().map(|slot| Step::Read(self.key(number, slot))).collect()
    }

    /// Reads and appends in any order. The appends of a transaction go to lists in ascending order, so that transactions
    /// do not wait for each other in a circle.
    fn mixed(&self, number: u32, random: &mut SplitMix64) -> Vec<Step> {
        let length = 2 + below(random, OPERATIONS_MAX - 2);
        let kinds: Vec<bool> = (0..length).map(|_| random.chance(0.5)).collect();
        let appends = kinds.iter().filter(|is_append| **is_append).count();
        let mut appended: Vec<u32> = (0..appends).map(|_| below(random, SLOTS)).collect();
        appended.sort_unstable();
        let mut appended = appended.into_iter();
        let steps = kinds.into_iter().zip(0..).map(|(is_append, index)| {
            match is_append.then(|| appended.next()).flatten() {
                Some(slot) => Step::Append(self.key(number, slot), element(number, index)),
                None => Step::Read(self.key(number, below(random, SLOTS))),
            }
        });
        steps.collect()
    }

    /// One or two reads, then one or two appends to other lists: an INSERT that meets the row of an open transaction waits
    /// for it, so reads after appends would wait in a circle.
    fn reads_first(&self, number: u32, random: &mut SplitMix64) -> Vec<Step> {
        let slots = self.slots(random);
        let (reads, appends) = (1 + below(random, 2) as usize, 1 + below(random, 2) as usize);
        let mut appended = slots[reads..reads + appends].to_vec();
        appended.sort_unstable();
        let reads = slots[..reads].iter().map(|slot| Step::Read(self.key(number, *slot)));
        let appends = appended.into_iter().zip(0..);
        reads
            .chain(appends.map(|(slot, index)| Step::Append(self.key(number, slot), element(number, index))))
            .collect()
    }

    fn slots(&self, random: &mut SplitMix64) -> Vec<u32> {
        let mut slots: Vec<u32> = (0..SLOTS).collect();
        random.shuffle(&mut slots);
        slots
    }
}

fn element(number: u32, index: u32) -> Element {
    number * OPERATIONS_MAX + index + 1
}

/// Uniform from 0, below `limit`.
fn below(random: &mut SplitMix64, limit: u32) -> u32 {
    u32::try_from(random.bits() % u64::from(limit)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn workload(reads: ReadMethod, has_readers: bool) -> Workload {
        Workload { seed: 7, transactions: 3_000, reads, has_readers }
    }

    #[test]
    fn a_transaction_depends_on_the_seed_and_its_number_alone() {
        let one = workload(ReadMethod::Select, false);
        let other = Workload { seed: 8, ..one };
        assert_eq!(one.transaction(17), one.transaction(17));
        assert_ne!(one.transaction(17), other.transaction(17));
        assert_ne!(one.transaction(17), one.transaction(18));
    }

    #[test]
    fn elements_are_unique_and_lists_are_used_and_short() {
        for reads in [ReadMethod::Select, ReadMethod::OnConflict, ReadMethod::Savepoint] {
            let workload = workload(reads, false);
            let mut elements = HashSet::new();
            let mut lengths = vec![0_u32; workload.lists() as usize];
            for step in (0..workload.transactions).flat_map(|number| workload.transaction(number)) {
                match step {
                    Step::Read(key) => assert!(workload.is_used(key)),
                    Step::Append(key, element) => {
                        assert!(workload.is_used(key) && elements.insert(element));
                        lengths[key as usize] += 1;
                    }
                }
            }
            assert!(lengths.iter().all(|length| *length < 80), "{:?}", lengths.iter().max());
            assert!(elements.len() > 3_000, "{}", elements.len());
        }
    }

    #[test]
    fn appends_of_a_transaction_go_to_lists_in_ascending_order() {
        for reads in [ReadMethod::Select, ReadMethod::OnConflict] {
            for number in 0..2_000 {
                let steps = workload(reads, true).transaction(number);
                let keys = steps.iter().filter_map(|step| match step {
                    Step::Append(key, _) => Some(*key),
                    Step::Read(_) => None,
                });
                assert!(keys.is_sorted());
                assert!(steps.len() <= OPERATIONS_MAX as usize);
            }
        }
    }
}
