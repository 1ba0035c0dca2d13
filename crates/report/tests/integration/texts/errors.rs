//! The server's errors in reports: each kind once, with its place and a caret.
//! How they are counted is tested in `engine`, how a place is found in `run` and `script`.

use pgmeter_report::{Run, TextStyle, document, html, markdown, summary, text};
use results::{Counts, ErrorCounts, Failures, Record, TransactionError, TransactionErrors};

use crate::texts::fixture;

fn error(
    sqlstate: &str,
    message: &str,
    place: (u32, &str, Option<u32>),
    counts: ErrorCounts,
) -> TransactionError {
    let (line, text, column) = place;
    TransactionError {
        sqlstate: sqlstate.to_owned(),
        message: message.into(),
        detail: None,
        hint: None,
        script: 0,
        line,
        text: text.into(),
        column,
        counts,
    }
}

fn failed(failed: u64) -> ErrorCounts {
    ErrorCounts { failed, ..ErrorCounts::default() }
}

fn record() -> Record {
    let mut record = fixture::record();
    let failures = Failures { other: 36, serialization: 4, ..Failures::default() };
    record.summary.counts = Counts { scheduled: 1_003, failed: 40, failures, ..fixture::succeeded(963) };
    let hint = "Perhaps you meant to reference the column \"t.name\".";
    let kinds = vec![
        TransactionError {
            hint: Some(hint.into()),
            ..error("42703", "column \"nme\" does not exist", (3, "SELECT nme FROM t;", Some(8)), failed(30))
        },
        error(
            "40001",
            "could not serialize access due to concurrent update",
            (7, "UPDATE t SET a = 1;", None),
            ErrorCounts { failed: 4, retried: 12, aborted: 0 },
        ),
        error("22012", "division by\u{1b}[2J zero", (9, "SELECT 1/0;", None), failed(3)),
        error("23505", "duplicate key", (11, "INSERT", None), failed(2)),
    ];
    record.summary.errors = Some(TransactionErrors { kinds, others: failed(1) });
    record
}

#[test]
fn errors_have_their_count_their_place_and_a_caret() {
    let text = text(&summary(&record(), false), &TextStyle { colour: false, width: 90 });
    let errors =
        text.split("\nerrors\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    insta::assert_snapshot!(errors, @r#"
    42703 column "nme" does not exist: 30 transactions failed. HINT: Perhaps you meant to
    reference the column "t.name".
    ser.sql:3: SELECT nme FROM t;
                      ^
    40001 could not serialize access due to concurrent update: 4 transactions failed,
    12 retries.
    ser.sql:7: UPDATE t SET a = 1;
    22012 division by\x1b[2J zero: 3 transactions failed.
    ser.sql:9: SELECT 1/0;
    Errors of other kinds: 3 transactions failed (report --format html shows more of them).
    "#);
}

#[test]
fn the_page_and_markdown_have_all_kinds() {
    let record = record();
    let document = document(&[Run { name: "1", record: &record }]);
    let (page, markdown) = (html(&document), markdown(&document));
    for shown in [&page, &markdown] {
        for words in ["could not serialize", "duplicate key", "Errors of other kinds: 1"] {
            assert!(shown.contains(words), "{words}");
        }
        assert!(!shown.contains('\u{1b}'));
    }
    assert!(markdown.contains("\n## Errors\n"), "{markdown}");
}

#[test]
fn without_errors_there_is_no_section() {
    let mut record = fixture::record();
    record.summary.errors = Some(TransactionErrors::default());
    let markdown = markdown(&document(&[Run { name: "1", record: &record }]));
    assert!(!markdown.contains("Errors"), "{markdown}");
}

#[test]
fn the_detail_of_one_error_is_not_shown_as_that_of_all_and_does_not_fill_the_screen() {
    let deadlock = |counts| {
        let processes =
            |number| format!("Process {number} waits for ShareLock; blocked by process {number}1.");
        let detail = (1..=20).map(processes).collect::<Vec<_>>().join("\n");
        let mut record = record();
        let kind = error("40P01", "deadlock detected", (3, "UPDATE t SET a = 1;", None), counts);
        let kinds = vec![TransactionError { detail: Some(detail.as_str().into()), ..kind }];
        record.summary.errors = Some(TransactionErrors { kinds, others: failed(0) });
        let text = text(&summary(&record, false), &TextStyle { colour: false, width: 90 });
        let errors = text.split("\nerrors\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        errors.unwrap_or_default().to_owned()
    };
    let many = deadlock(failed(40));
    assert!(many.contains("40 transactions failed. DETAIL of the first: Process 1 waits"), "{many}");
    assert!(many.lines().count() <= 5, "{many}");
    let single = deadlock(failed(1));
    assert!(single.contains("1 transaction failed. DETAIL: Process 1 waits"), "{single}");
}
