//! A run in a report: its record, and the name that its reader gave it. [`document`] builds the report of one run or of
//! several side by side; the other modules have its parts. Where several runs are shown, each has a short label.

mod actions;
mod answer;
mod brief;
mod costs;
mod difference;
mod document;
mod environment;
mod errors;
mod goals;
mod impact;
mod kcache;
mod labels;
mod latencies;
mod load;
mod load_curve;
mod outages;
mod pooler;
mod population;
mod ranks;
mod relations;
mod rows;
mod rules;
mod seconds;
mod server;
mod settings;
mod stages;
mod verification;
mod warnings;

use results::Record;

use crate::figures::{TIE, counted};
use crate::prose::{enumerate, escaped_line};

pub(crate) use actions::{Effect as ActionEffect, detail as action_detail, outcome as action_outcome};
pub use document::{document, summary};
pub(crate) use labels::labels;
pub(crate) use outages::phases as outage_phases;
pub(crate) use population::storm_phases;
pub(crate) use rows::{rows, wait_item};
pub(crate) use server::{ceilings, event_name, waits_table};
pub(crate) use settings::{Setting, of_servers};
pub use verification::verification;

/// A record to be shown.
#[derive(Copy, Clone, Debug)]
pub struct Run<'a> {
    /// What the reader called it: a path, a number.
    pub name: &'a str,
    /// What is known of it.
    pub record: &'a Record,
}

impl Run<'_> {
    /// The scripts, such as `tpcb-like and select-only`.
    pub(crate) fn scripts(&self) -> String {
        let names: Vec<String> =
            self.record.plan.scripts.iter().map(|script| escaped_line(&script.name)).collect();
        enumerate(&names)
    }

    /// `PostgreSQL 18.1`, or that the server could not be asked.
    pub(crate) fn server(&self) -> String {
        match &self.record.environment.server {
            Some(server) => format!("PostgreSQL {}", escaped_line(&server.version)),
            None => "a server that did not say what it is".to_owned(),
        }
    }

    /// `8 clients, 2 workers`, in which runs most often differ.
    pub(crate) fn load_in_short(&self) -> String {
        let plan = &self.record.plan;
        let clients = counted(u64::from(plan.clients), "client", "clients");
        let rate = crate::wording::scheduled(plan).map(|rate| format!(" at {rate}{TIE}tps"));
        format!("{clients}, {}{}", plan.protocol.name(), rate.unwrap_or_default())
    }
}
