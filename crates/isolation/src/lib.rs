//! Transaction isolation: a workload whose history shows the order of its transactions, and a check of the history for
//! anomalies. [`check`](fn@check) needs no server, [`verify`] runs the workload on one.
//!
//! In reading order: [`Level`], [`History`], [`Workload`] and [`Anomaly`] are the words. `lists` finds the versions of
//! lists and the dependencies, `graph`, `components` and `cycles` find cycles, [`check`](fn@check) puts them together,
//! `elle` writes a history. These are pure. `table` and `client` talk to a server, `verification` runs the clients, and
//! [`IsolationReport`] has the result.

mod anomaly;
mod check;
mod client;
mod components;
mod cycles;
mod elle;
mod graph;
mod history;
mod level;
mod lists;
mod outcome;
mod table;
mod verification;
mod workload;

pub use anomaly::{ANOMALIES, Anomaly, AnomalyRow, Dependency, Witness, WitnessEdge};
pub use check::{Endings, Finding, Findings, Sizes, check};
pub use elle::write as write_history;
pub use history::{Element, Ending, History, Key, Operation, Place, Transaction};
pub use level::{LEVELS, Level};
pub use lists::HistoryError;
pub use outcome::{Example, ISOLATION_SCHEMA_VERSION, Interruption, IsolationReport, Run, ShownTransaction};
pub use table::drop_leftovers;
pub use verification::{IsolationError, IsolationOptions, verify};
pub use workload::{READ_METHODS, ReadMethod, Step, Workload};
