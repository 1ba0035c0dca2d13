//! Rows of a query as a stream: they are handed over as they arrive, and an error after some of them is not lost. The
//! server is a thread.

use super::super::results::to_text;
use super::fake::{Fake, columns, complete, error, ready, row};
use crate::{Column, RowSink, Session};

/// Keeps what it was given.
#[derive(Default)]
struct Seen(Vec<String>);

impl RowSink for Seen {
    fn columns(&mut self, columns: Vec<Column>) {
        self.0.extend(columns.iter().map(|column| format!("{}: {}", column.name, column.type_oid)));
    }

    fn row(&mut self, values: &[Option<&[u8]>]) {
        self.0.push(format!("{:?}", values.iter().map(|value| value.map(to_text)).collect::<Vec<_>>()));
    }
}

#[test]
fn rows_are_handed_over_as_they_arrive_and_an_error_after_them_is_told() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_query("q");
        peer.say(&[columns("a"), row(Some("1")), row(None)].concat());
        peer.say(&[row(Some("")), complete("SELECT 3"), ready()].concat());
        peer.hear_query("r");
        peer.say(&[columns("a"), row(Some("1"))].concat());
        peer.say(&[error("ERROR", "22012", "division by zero"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut seen = Seen::default();
    assert_eq!(session.stream_rows("q", &mut seen).unwrap(), 3);
    assert_eq!(seen.0, ["a: 25", "[Some(\"1\")]", "[None]", "[Some(\"\")]"]);
    let failure = session.stream_rows("r", &mut seen).unwrap_err();
    assert_eq!(failure.sqlstate().map(|state| state.to_string()).as_deref(), Some("22012"));
    assert_eq!(seen.0[4..], ["a: 25", "[Some(\"1\")]"], "the row before the error arrived");
    drop(session);
    fake.finish();
}
