//! Checks a history: counts, and anomalies with witnesses. The work is linear in the history; `steps` counts it.
//! `graph` and `components` find the cycles; called by `verification` and by tests.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::anomaly::{Anomaly, Dependency, Witness};
use crate::cycles::Finder;
use crate::graph::Graph;
use crate::history::{Element, Ending, History, Key, Operation, Place, Transaction};
use crate::level::Level;
use crate::lists::{HistoryError, Lists};

/// Witnesses that are kept for each kind of anomaly.
const WITNESSES_MAX: usize = 3;

/// Transactions by their ending.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Endings {
    /// All of them.
    pub total: u64,
    /// Acknowledged.
    pub committed: u64,
    /// Rolled back.
    pub aborted: u64,
    /// Unknown, and another transaction read an append.
    pub unknown_applied: u64,
    /// Unknown, and nobody read an append.
    pub unknown_unseen: u64,
}

/// Sizes of a history and of its graph.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Appends of all transactions.
    pub appends: u64,
    /// Answered reads of all transactions.
    pub reads: u64,
    /// Dependencies ww.
    pub ww: u64,
    /// Dependencies wr.
    pub wr: u64,
    /// Anti-dependencies rw.
    pub rw: u64,
}

/// A kind of anomaly that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The kind.
    pub anomaly: Anomaly,
    /// Whether the level forbids it.
    pub is_forbidden: bool,
    /// Whether a transaction on a replica takes part in all of them: replicas have no SERIALIZABLE.
    pub needs_replica: bool,
    /// How many: events of an anomaly that is no cycle; otherwise pairs of transactions, and one for each group of
    /// transactions that has longer cycles only.
    pub cases: u64,
    /// The shortest ones, the shortest first.
    pub witnesses: Vec<Witness>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// The level of the transactions.
    pub level: Level,
    /// Transactions by their ending.
    pub endings: Endings,
    /// Sizes.
    pub sizes: Sizes,
    /// The worst first.
    pub anomalies: Vec<Finding>,
    /// Visited operations, elements, nodes and edges: the work of the check.
    pub steps: u64,
}

impl Findings {
    /// Whether the level was kept.
    pub fn is_kept(&self) -> bool {
        !self.anomalies.iter().any(|finding| finding.is_forbidden)
    }

    /// How often an anomaly was found.
    pub fn cases(&self, anomaly: Anomaly) -> u64 {
        let all = self.anomalies.iter().filter(|finding| finding.anomaly == anomaly);
        all.map(|finding| finding.cases).sum()
    }
}

/// Findings by kind, and by whether a replica is needed.
struct Collector<'a> {
    history: &'a History,
    level: Level,
    found: BTreeMap<(Anomaly, bool), Finding>,
}

impl Collector<'_> {
    fn add(&mut self, anomaly: Anomaly, needs_replica: bool, witness: Witness) {
        let level = if needs_replica { self.level.min(Level::RepeatableRead) } else { self.level };
        let finding = self.found.entry((anomaly, needs_replica)).or_insert_with(|| Finding {
            anomaly,
            is_forbidden: anomaly.is_forbidden_at(level),
            needs_replica,
            cases: 0,
            witnesses: Vec::new(),
        });
        finding.cases += 1;
        let length = |witness: &Witness| {
            let operations = witness.transactions.iter();
            let operations = operations.map(|index| self.history.transactions[*index].operations.len());
            (witness.transactions.len(), operations.sum::<usize>())
        };
        let place = finding.witnesses.partition_point(|known| length(known) <= length(&witness));
        if place < WITNESSES_MAX {
            finding.witnesses.insert(place, witness);
            finding.witnesses.truncate(WITNESSES_MAX);
        }
    }
}

/// Checks a history of transactions of one level.
///
/// # Errors
/// An element is appended to its list more than once.
pub fn check(history: &History, level: Level) -> Result<Findings, HistoryError> {
    let mut lists = Lists::new(history)?;
    let mut collector = Collector { history, level, found: BTreeMap::new() };
    let shown = lists.show(&mut |anomaly, witness| {
        let on_replica = |index: &usize| history.transactions[*index].place != Place::Primary;
        let needs_replica = witness.transactions.iter().any(on_replica);
        collector.add(anomaly, needs_replica, witness);
    });
    for (index, transaction) in history.transactions.iter().enumerate() {
        let inconsistent =
            (transaction.ending == Ending::Committed).then(|| inconsistent_key(transaction)).flatten();
        if let Some(key) = inconsistent {
            let witness = Witness { transactions: vec![index], edges: Vec::new(), key: Some(key) };
            collector.add(Anomaly::InternalInconsistency, transaction.place != Place::Primary, witness);
        }
    }
    let graph = Graph::new(history.transactions.len(), shown.edges);
    let on_primary: Vec<bool> =
        history.transactions.iter().map(|transaction| transaction.place == Place::Primary).collect();
    let mut finder = Finder::new(&graph, &on_primary);
    finder.find(&mut |cycle| collector.add(cycle.anomaly, !cycle.on_primary, cycle.witness()));
    Ok(Findings {
        level,
        endings: endings(history, &shown.is_applied),
        sizes: sizes(history, &graph),
        steps: lists.steps + finder.steps + graph.edges.len() as u64,
        anomalies: collector.found.into_values().collect(),
    })
}

fn endings(history: &History, is_applied: &[bool]) -> Endings {
    let mut endings = Endings { total: history.transactions.len() as u64, ..Endings::default() };
    for (transaction, is_applied) in history.transactions.iter().zip(is_applied) {
        *match (transaction.ending, is_applied) {
            (Ending::Committed, _) => &mut endings.committed,
            (Ending::Aborted, _) => &mut endings.aborted,
            (Ending::Unknown, true) => &mut endings.unknown_applied,
            (Ending::Unknown, false) => &mut endings.unknown_unseen,
        } += 1;
    }
    let Endings { total, committed, aborted, unknown_applied, unknown_unseen } = endings;
    assert_eq!(
        total,
        committed + aborted + unknown_applied + unknown_unseen,
        "each transaction has one ending"
    );
    endings
}

fn sizes(history: &History, graph: &Graph) -> Sizes {
    let mut sizes = Sizes::default();
    for operation in history.transactions.iter().flat_map(|transaction| &transaction.operations) {
        match operation {
            Operation::Append { .. } => sizes.appends += 1,
            Operation::Read { elements, .. } => sizes.reads += u64::from(elements.is_some()),
        }
    }
    for edge in &graph.edges {
        *match edge.dependency {
            Dependency::Ww => &mut sizes.ww,
            Dependency::Wr => &mut sizes.wr,
            Dependency::Rw => &mut sizes.rw,
        } += 1;
    }
    sizes
}

/// A list of which a read lacks an append of its own transaction, or elements of an earlier read. After its first
/// append, a transaction locks the list until its end, so a read must end with its appends.
fn inconsistent_key(transaction: &Transaction) -> Option<Key> {
    /// What a transaction knows of a list.
    #[derive(Default)]
    struct Known<'a> {
        read: &'a [Element],
        appended: Vec<Element>,
    }
    let mut known: BTreeMap<Key, Known<'_>> = BTreeMap::new();
    for operation in &transaction.operations {
        let known = known.entry(operation.key()).or_default();
        match operation {
            Operation::Append { element, .. } => known.appended.push(*element),
            Operation::Read { elements: Some(elements), key } => {
                if !elements.ends_with(&known.appended) || !elements.starts_with(known.read) {
                    return Some(*key);
                }
                known.read = elements;
            }
            Operation::Read { elements: None, .. } => {}
        }
    }
    None
}
