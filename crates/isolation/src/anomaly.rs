//! Anomalies, the levels that forbid them, and witnesses. The names G0 to G2 are those of Adya, Weak Consistency (PhD
//! thesis, MIT, 1999); G-nonadjacent is Elle's name for cycles that snapshot isolation forbids although they have several
//! anti-dependencies (Fekete et al., Making Snapshot Isolation Serializable, TODS 30(2), 2005).

use serde::Serialize;

use crate::history::Key;
use crate::level::Level;

/// A kind of anomaly, the worst first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Anomaly {
    /// The final read lacks an element that was acknowledged.
    LostAppend,
    /// A list contains an element that no transaction appended.
    UnknownElement,
    /// A list contains an element twice.
    DuplicateElement,
    /// Two reads of a list contradict each other: none is the beginning of the other.
    IncompatibleOrder,
    /// A transaction does not see its own append, or a later read lost elements of an earlier one.
    InternalInconsistency,
    /// G1a: a list contains an element of a transaction that was rolled back.
    AbortedRead,
    /// G1b: a list ends within the appends of another transaction.
    IntermediateRead,
    /// G0: a cycle of ww.
    WriteCycle,
    /// G1c: a cycle of ww and wr.
    CircularInformationFlow,
    /// A cycle of ww and one rw, all on one key.
    LostUpdate,
    /// G-single: a cycle with one rw.
    ReadSkew,
    /// G-nonadjacent: a cycle with several rw, none directly after another; a long fork is one.
    LongFork,
    /// G2: a cycle with two rw in succession.
    WriteSkew,
}

/// A row of the table of anomalies.
#[derive(Debug)]
pub struct AnomalyRow {
    /// The kind.
    pub anomaly: Anomaly,
    /// Adya's or Elle's name, or "".
    pub code: &'static str,
    /// In words.
    pub name: &'static str,
    /// The weakest level of PostgreSQL that forbids it.
    pub forbidden_from: Level,
    /// One sentence.
    pub meaning: &'static str,
}

const fn row(
    anomaly: Anomaly,
    code: &'static str,
    name: &'static str,
    forbidden_from: Level,
    meaning: &'static str,
) -> AnomalyRow {
    AnomalyRow { anomaly, code, name, forbidden_from, meaning }
}

/// All kinds, in the order of [`Anomaly`].
#[rustfmt::skip]
pub const ANOMALIES: [AnomalyRow; 13] = [
    row(Anomaly::LostAppend, "", "lost append", Level::ReadCommitted,
        "an acknowledged append is missing in the final read"),
    row(Anomaly::UnknownElement, "", "unknown element", Level::ReadCommitted,
        "a list contains an element that no transaction appended"),
    row(Anomaly::DuplicateElement, "", "duplicate element", Level::ReadCommitted,
        "a list contains an element twice"),
    row(Anomaly::IncompatibleOrder, "", "incompatible order", Level::ReadCommitted,
        "two reads of a list contradict each other"),
    row(Anomaly::InternalInconsistency, "", "internal inconsistency", Level::ReadCommitted,
        "a transaction does not see its own append, or what it has already read"),
    row(Anomaly::AbortedRead, "G1a", "aborted read", Level::ReadCommitted,
        "a list contains an element of a transaction that was rolled back"),
    row(Anomaly::IntermediateRead, "G1b", "intermediate read", Level::ReadCommitted,
        "a transaction read a list between two appends of another transaction"),
    row(Anomaly::WriteCycle, "G0", "write cycle", Level::ReadCommitted,
        "each transaction of a cycle appended directly after the one before"),
    row(Anomaly::CircularInformationFlow, "G1c", "circular information flow", Level::ReadCommitted,
        "each transaction of a cycle read an append of the one before, or appended directly after it"),
    row(Anomaly::LostUpdate, "G-single", "lost update", Level::RepeatableRead,
        "a transaction read a list, and appended to it without the append that another one had made in between"),
    row(Anomaly::ReadSkew, "G-single", "read skew", Level::RepeatableRead,
        "a transaction depends on one append of another transaction and missed another append of it"),
    row(Anomaly::LongFork, "G-nonadjacent", "long fork", Level::RepeatableRead,
        "several transactions of a cycle missed an append, no two in succession: readers disagree on an order"),
    row(Anomaly::WriteSkew, "G2", "write skew", Level::Serializable,
        "two successive transactions of a cycle each missed an append of the next one"),
];

impl Anomaly {
    /// Its row in the table.
    pub fn row(self) -> &'static AnomalyRow {
        &ANOMALIES[self as usize]
    }

    /// Whether transactions of this level must not show it.
    pub fn is_forbidden_at(self, level: Level) -> bool {
        self.row().forbidden_from <= level
    }
}

/// Kind of a dependency between two transactions, the strongest first.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dependency {
    /// The second appended directly after the first.
    Ww,
    /// The second read a list that ends with an append of the first.
    Wr,
    /// The second appended to the version that the first had read: an anti-dependency.
    Rw,
}

impl Dependency {
    /// All, in order.
    pub const ALL: [Dependency; 3] = [Dependency::Ww, Dependency::Wr, Dependency::Rw];

    /// `ww`, `wr` or `rw`.
    pub fn name(self) -> &'static str {
        match self {
            Dependency::Ww => "ww",
            Dependency::Wr => "wr",
            Dependency::Rw => "rw",
        }
    }
}

/// A dependency of a witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WitnessEdge {
    /// Index in [`Witness::transactions`].
    pub from: usize,
    /// Index in [`Witness::transactions`].
    pub to: usize,
    /// Its kind.
    pub dependency: Dependency,
    /// The list.
    pub key: Key,
}

/// Evidence of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Witness {
    /// Indices in the history.
    pub transactions: Vec<usize>,
    /// The cycle, edge by edge; empty for an anomaly that is no cycle.
    pub edges: Vec<WitnessEdge>,
    /// The list of an anomaly that is no cycle.
    pub key: Option<Key>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_its_place_in_the_table() {
        for (index, row) in ANOMALIES.iter().enumerate() {
            assert_eq!(row.anomaly as usize, index);
            assert_eq!(row.anomaly.row().name, row.name);
        }
    }

    #[test]
    fn a_stronger_level_forbids_whatever_a_weaker_one_forbids() {
        for row in &ANOMALIES {
            let forbidden = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable]
                .map(|level| row.anomaly.is_forbidden_at(level));
            assert!(forbidden.is_sorted(), "{row:?}");
        }
    }
}
