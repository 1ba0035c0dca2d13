//! The first line of reports of runs with a rate or a latency limit, and the column of the list of runs.
//! Whether they were kept is tested in `results`.

use pgmeter_report::{Run, TextStyle, document, html, markdown, summary, text};
use results::{Counts, Record, ServiceLevel, Status};

use crate::texts::fixture;

fn record(rate_tps: Option<f64>, limit_ms: Option<f64>, tps: f64, kept: bool, counts: Counts) -> Record {
    let mut record = fixture::record();
    record.plan.rate_tps = rate_tps;
    record.plan.latency_limit_us = limit_ms.map(|ms| ms * 1e3);
    record.summary.tps = tps;
    record.summary.counts = counts;
    record.summary.service_level = Some(ServiceLevel { kept, missed_share: 0.5 });
    record
}

fn overloaded() -> Record {
    let counts =
        Counts { scheduled: 3_000, succeeded: 1_590, skipped: 1_410, late: 1_590, ..Counts::default() };
    record(Some(300.0), Some(20.0), 159.0, false, counts)
}

fn first_line(record: &Record) -> String {
    let text = text(&summary(record, false), &TextStyle { colour: false, width: 100 });
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_first_line_says_whether_rate_and_limit_were_kept_and_why_not() {
    let of = |counts: Counts| Counts { scheduled: 1_000, ..counts };
    let all = of(Counts { succeeded: 1_000, ..Counts::default() });
    let (rate, limit) = (Some(300.0), Some(20.0));
    let late = |late| Counts { late, ..all };
    let failed = of(Counts { succeeded: 900, failed: 60, unfinished: 40, ..Counts::default() });
    let check = |record: Record, expected: &str| assert_eq!(first_line(&record), expected);
    check(overloaded(), "NOT KEPT: 159 of 300 per second; 47 % skipped, the rest later than 20 ms.");
    check(record(rate, limit, 300.2, true, all), "KEPT: 300 per second within 20 ms.");
    check(
        record(rate, limit, 300.2, true, late(5)),
        "KEPT: 300 per second within 20 ms; 0.50 % later than 20 ms.",
    );
    check(record(rate, None, 300.2, true, all), "KEPT: 300 per second.");
    check(record(None, limit, 300.2, true, all), "KEPT: transactions within 20 ms.");
    check(record(None, limit, 300.2, false, late(120)), "NOT KEPT: 12 % later than 20 ms.");
    check(record(None, limit, 300.2, false, late(1_000)), "NOT KEPT: all later than 20 ms.");
    check(
        record(rate, None, 270.0, false, failed),
        "NOT KEPT: 270 of 300 per second; 6.0 % failed, 4.0 % unfinished at the end.",
    );
}

#[test]
fn a_failed_run_says_first_how_far_it_came() {
    let failed = Record { status: Status::Failed { reason: "the server stopped.".into() }, ..overloaded() };
    let text = text(&summary(&failed, false), &TextStyle { colour: false, width: 200 });
    let mut lines = text.lines().filter(|line| !line.is_empty());
    assert!(lines.next().is_some_and(|line| line.starts_with("FAILED after")), "{text}");
    assert!(lines.next().is_some_and(|line| line.ends_with("; the run failed before its end.")), "{text}");
}

#[test]
fn a_run_in_which_everything_failed_says_so_before_everything_else() {
    let mut record = fixture::record();
    record.summary.counts = Counts { scheduled: 3, failed: 3, ..Counts::default() };
    assert_eq!(first_line(&record), "EVERYTHING FAILED: all 3 transactions that ended failed.");
}

#[test]
fn the_page_has_it_below_its_answer_and_markdown_begins_with_it() {
    let record = overloaded();
    let document = document(&[Run { name: "1", record: &record }]);
    let answer = "NOT KEPT: 159 of 300 per second; 47 % skipped, the rest later than 20 ms.";
    let page = html(&document).replace('\u{a0}', " ");
    let body = page.split("</h1>").nth(1).unwrap_or_default();
    let first = format!("</p><p class=\"verdict bad\">{answer}</p>");
    assert!(
        body.starts_with("<p class=\"answer bad\">0 of 3,000 scheduled transactions within 20 ms"),
        "{body:.300}"
    );
    assert!(body.contains(&first), "{body:.400}");
    let markdown = markdown(&document);
    assert_eq!(markdown.lines().nth(2), Some(&*format!("> **{answer}**")));
}

#[test]
fn runs_side_by_side_begin_with_the_answer_of_each() {
    let kept = record(Some(100.0), None, 100.0, true, fixture::succeeded(963));
    let (first, without) = (overloaded(), fixture::record());
    let runs = [&kept, &without, &first].map(|record| Run { name: "1", record });
    let text = text(&document(&runs), &TextStyle { colour: false, width: 100 });
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).take(3).collect();
    assert_eq!(
        lines,
        [
            "A: KEPT: 100 per second.",
            "C: NOT KEPT: 159 of 300 per second; 47 % skipped, the rest later than 20 ms.",
            "3 runs side by side",
        ]
    );
}
