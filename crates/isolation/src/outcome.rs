//! The report of a check: options, counts, findings, and examples with the operations of their transactions. It
//! can be written as JSON.

use std::collections::BTreeMap;

use connect::Session;
use serde::Serialize;

use crate::anomaly::{Anomaly, Witness, WitnessEdge};
use crate::check::Findings;
use crate::client::Done;
use crate::history::{Ending, History, Key, Operation, Place};
use crate::workload::{ReadMethod, Workload};

/// Version of the report's JSON.
pub const ISOLATION_SCHEMA_VERSION: u32 = 1;

/// The server and the options of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its address.
    pub server: String,
    /// Its version, as it reports it.
    pub server_version: String,
    /// How lists were read.
    pub reads: ReadMethod,
    /// Clients on the primary.
    pub clients: u32,
    /// Number of replicas.
    pub replicas: u64,
    /// Planned transactions.
    pub planned: u32,
    /// Of the workload.
    pub seed: u64,
}

impl Run {
    pub(crate) fn new(session: &Session, workload: &Workload, clients: u32, replicas: usize) -> Run {
        Run {
            server: session.address().to_string(),
            server_version: session.parameter("server_version").unwrap_or_default().to_owned(),
            reads: workload.reads,
            clients,
            replicas: replicas as u64,
            planned: workload.transactions,
            seed: workload.seed,
        }
    }
}

/// Why a check is incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "reason")]
pub enum Interruption {
    /// The user stopped it.
    Stopped,
    /// The lists could not be read at the end, so lost appends cannot be found.
    NoFinalRead(String),
}

/// The parts of a check that are missing.
pub(crate) struct Incompleteness {
    pub(crate) interruption: Option<Interruption>,
    pub(crate) left_table: Option<String>,
    pub(crate) earlier_tables: Vec<String>,
}

/// A transaction of an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShownTransaction {
    /// Index in the history.
    pub number: usize,
    /// Its client.
    pub client: u32,
    /// Its server.
    pub place: Place,
    /// Its ending.
    pub ending: Ending,
    /// Whether it is the final read.
    pub is_final: bool,
    /// Its operations; of the final read, those of the example's lists.
    pub operations: Vec<Operation>,
}

/// An anomaly with the transactions that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Its kind.
    pub anomaly: Anomaly,
    /// Whether the level forbids it.
    pub is_forbidden: bool,
    /// In the order of the cycle.
    pub transactions: Vec<ShownTransaction>,
    /// The cycle.
    pub edges: Vec<WitnessEdge>,
    /// The list of an anomaly that is no cycle.
    pub key: Option<Key>,
}

/// The report of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IsolationReport {
    /// [`ISOLATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The server and the options.
    pub run: Run,
    /// The result.
    pub findings: Findings,
    /// For each kind of anomaly, one example.
    pub examples: Vec<Example>,
    /// Errors of the server by SQLSTATE.
    pub errors: BTreeMap<String, u64>,
    /// Transactions that were rolled back because a list had changed since it had been read: only if lists are read by
    /// INSERT.
    pub outdated: u64,
    /// Connections that were lost.
    pub lost_connections: u64,
    /// Why a client gave up.
    pub gave_up: Option<String>,
    /// Why the check is incomplete.
    pub interruption: Option<Interruption>,
    /// Why the table of the check could not be dropped.
    pub left_table: Option<String>,
    /// Tables of earlier checks that were killed, found before the check.
    pub earlier_tables: Vec<String>,
}

impl IsolationReport {
    pub(crate) fn new(
        run: Run,
        findings: Findings,
        history: &History,
        missing: Incompleteness,
        done: Done,
    ) -> IsolationReport {
        let examples = findings.anomalies.iter().filter_map(|finding| {
            let witness = finding.witnesses.first()?;
            Some(Example {
                anomaly: finding.anomaly,
                is_forbidden: finding.is_forbidden,
                transactions: witness
                    .transactions
                    .iter()
                    .map(|index| shown(history, *index, witness))
                    .collect(),
                edges: witness.edges.clone(),
                key: witness.key,
            })
        });
        IsolationReport {
            schema_version: ISOLATION_SCHEMA_VERSION,
            run,
            examples: examples.collect(),
            findings,
            errors: done.errors,
            outdated: done.outdated,
            lost_connections: done.lost_connections,
            gave_up: done.gave_up,
            interruption: missing.interruption,
            left_table: missing.left_table,
            earlier_tables: missing.earlier_tables,
        }
    }

    /// Whether every planned transaction was tried, all lists were read at the end, and the table was dropped.
    pub fn is_complete(&self) -> bool {
        self.interruption.is_none() && self.gave_up.is_none() && self.left_table.is_none()
    }
}

fn shown(history: &History, index: usize, witness: &Witness) -> ShownTransaction {
    let transaction = &history.transactions[index];
    let keys: Vec<Key> = witness.edges.iter().map(|edge| edge.key).chain(witness.key).collect();
    let is_shown = |operation: &&Operation| !transaction.is_final || keys.contains(&operation.key());
    ShownTransaction {
        number: index,
        client: transaction.client,
        place: transaction.place,
        ending: transaction.ending,
        is_final: transaction.is_final,
        operations: transaction.operations.iter().filter(is_shown).cloned().collect(),
    }
}

impl Done {
    /// Adds what another client did.
    pub(crate) fn add(&mut self, other: Done) {
        let Done { transactions, errors, outdated, lost_connections, gave_up } = other;
        self.transactions.extend(transactions);
        for (state, count) in errors {
            *self.errors.entry(state).or_default() += count;
        }
        self.outdated += outdated;
        self.lost_connections += lost_connections;
        self.gave_up = self.gave_up.take().or(gave_up);
    }
}
