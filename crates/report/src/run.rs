//! A run as the pages and formats of several runs see it: the record, and what its reader calls it.
//! Names come from the command line; where two runs are shown, letters stand for them.

use results::{Limit, Record, Status, escaped_json};
use serde::Serialize;

use crate::figures::{asked_seconds, counted, measured_seconds};
use crate::prose::{enumerate, escaped_line};

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

    /// Nothing for a complete run; otherwise why it is not, as a sentence.
    pub(crate) fn trouble(&self) -> Option<String> {
        let Record { status, plan, summary, .. } = self.record;
        let when = match plan.limit {
            _ if summary.duration_s <= 0.0 => "before anything was measured".to_owned(),
            Limit::Duration(asked) => {
                format!(
                    "after {} of {}",
                    measured_seconds(summary.duration_s),
                    asked_seconds(asked.as_secs_f64())
                )
            }
            Limit::TransactionsPerClient(_) => format!("after {}", measured_seconds(summary.duration_s)),
        };
        match status {
            Status::Complete => None,
            Status::Interrupted => Some(format!("The run was interrupted {when}.")),
            Status::Failed { reason } => {
                Some(format!("The run failed {when}: {}", escaped_line(reason.as_str())))
            }
        }
    }

    /// `8 clients, 2 workers`, in which runs most often differ.
    pub(crate) fn load_in_short(&self) -> String {
        let plan = &self.record.plan;
        let clients = counted(u64::from(plan.clients), "client", "clients");
        let rate = plan.rate_tps.map(|rate| format!(" at {} tps", crate::figures::as_asked(rate)));
        format!("{clients}, {}{}", plan.protocol.name(), rate.unwrap_or_default())
    }
}

/// The letter of a run beside others: `A` … `Z`, then `A2` … `Z2`.
pub(crate) fn letter(index: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{}", round + 1),
    }
}

/// Several records, in the order in which they were asked for.
#[derive(Serialize)]
struct Several<'a> {
    runs: Vec<&'a Record>,
}

/// The record, or `{"runs": […]}` of several; ends with a line end.
pub fn json(runs: &[Run<'_>]) -> String {
    if let [only] = runs {
        return escaped_json(only.record.to_json());
    }
    let several = Several { runs: runs.iter().map(|run| run.record).collect() };
    let mut json = serde_json::to_string_pretty(&several).expect("a record has string keys only");
    json.push('\n');
    escaped_json(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_behind_the_last_one() {
        assert_eq!([0, 1, 25, 26, 52].map(letter), ["A", "B", "Z", "A2", "A3"]);
    }
}
