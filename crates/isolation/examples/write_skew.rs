//! Checks a history by hand, without a server: `cargo run -p pgmeter-isolation --example write_skew`. Two transactions read
//! both lists while they are empty, and each appends to one of them. SERIALIZABLE forbids that, REPEATABLE READ permits it.
#![allow(clippy::print_stdout, reason = "its output")]

use pgmeter_isolation::{Ending, History, HistoryError, Level, Operation, Place, Transaction, check};

fn main() -> Result<(), HistoryError> {
    let read = |key, elements: &[u32]| Operation::Read { key, elements: Some(elements.to_vec()) };
    let append = |key, element| Operation::Append { key, element };
    let operations = [
        vec![read(1, &[]), read(2, &[]), append(1, 10)],
        vec![read(1, &[]), read(2, &[]), append(2, 20)],
        vec![read(1, &[10]), read(2, &[20])],
    ];
    // The first two overlap; the last one begins after both have ended.
    let times = [(0, 2), (1, 3), (4, 5)];
    let transactions =
        (0..).zip(operations).zip(times).map(|((client, operations), (begun, ended))| Transaction {
            client,
            place: Place::Primary,
            operations,
            ending: Ending::Committed,
            begun,
            ended,
            is_final: client == 2,
        });
    let history = History { transactions: transactions.collect() };
    for level in [Level::Serializable, Level::RepeatableRead] {
        let findings = check(&history, level)?;
        println!("{}: {}", level.sql(), if findings.is_kept() { "kept" } else { "violated" });
    }
    Ok(())
}
