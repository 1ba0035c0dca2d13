//! A history as JSON for elle-cli, the command of the checker Elle: an array of events, an invocation and a completion for
//! each transaction. `elle-cli --model list-append FILE` reads it.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::history::{Ending, History, Operation, Transaction};

/// Writes the events in the order in which they happened. Processes are numbered so that a client whose transaction
/// has an unknown ending goes on as a new process, as Elle requires.
///
/// # Errors
/// Writing fails.
pub fn write(history: &History, out: &mut dyn Write) -> io::Result<()> {
    let mut events: Vec<(u64, &Transaction, bool)> = Vec::with_capacity(history.transactions.len() * 2);
    for transaction in &history.transactions {
        events.push((transaction.begun, transaction, true));
        events.push((transaction.ended, transaction, false));
    }
    events.sort_by_key(|(position, ..)| *position);
    let mut processes: Vec<u32> = Vec::new();
    let mut next = 0;
    for (_, transaction, _) in &events {
        next = next.max(transaction.client + 1);
    }
    processes.extend(0..next);
    write!(out, "[")?;
    for (index, (_, transaction, is_begin)) in events.iter().enumerate() {
        let process = &mut processes[transaction.client as usize];
        let kind = match (is_begin, transaction.ending) {
            (true, _) => "invoke",
            (false, Ending::Committed) => "ok",
            (false, Ending::Aborted) => "fail",
            (false, Ending::Unknown) => "info",
        };
        let separator = if index == 0 { "\n" } else { ",\n" };
        let value = value(transaction, kind == "ok");
        write!(
            out,
            "{separator}{{\"index\":{index},\"type\":\"{kind}\",\"f\":\"txn\",\"process\":{process},\
             \"time\":{index},\"value\":{value}}}"
        )?;
        if kind == "info" {
            *process = next;
            next += 1;
        }
    }
    writeln!(out, "\n]")
}

/// `[["r",1,[2,3]],["append",4,5]]`.
fn value(transaction: &Transaction, has_answers: bool) -> String {
    let mut text = "[".to_owned();
    for (index, operation) in transaction.operations.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = match operation {
            Operation::Append { key, element } => write!(text, "{separator}[\"append\",{key},{element}]"),
            Operation::Read { key, elements: Some(elements) } if has_answers => {
                let elements: Vec<String> = elements.iter().map(u32::to_string).collect();
                write!(text, "{separator}[\"r\",{key},[{}]]", elements.join(","))
            }
            Operation::Read { key, .. } => write!(text, "{separator}[\"r\",{key},null]"),
        };
    }
    text + "]"
}
