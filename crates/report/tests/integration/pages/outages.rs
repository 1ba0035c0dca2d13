//! Outages in the reports of runs and of experiments, in all formats. How an outage is found is tested in `stats`, and
//! its figures in `results`.

use pgmeter_report::{Run, summary};
use results::{
    AttemptCount, ClientOutage, ConnectAttempt, LossCause, LossCount, Outage, OutageWindow, Outages, Record,
};
use stats::AttemptOutcome;

use crate::pages::example::{self, Example};
use crate::pages::experiment::{WIDE, overview, stored};
use crate::pages::forms::{self, experiment};

/// Two clients lose their connections at 2.0 s, and write again `length_s` after their last write at 1.875 s.
pub fn outages(length_s: f64, recovered_s: Option<f64>) -> Outages {
    let count = |outcome, count| AttemptCount { outcome, count };
    let end_s = 1.875 + length_s;
    let client = |client| ClientOutage {
        client,
        last_success_s: Some(1.875),
        lost_s: 2.0,
        cause: LossCause::Sqlstate("57P01".to_owned()),
        attempts: vec![count(AttemptOutcome::Refused, 3), count(AttemptOutcome::Connected, 1)],
        first_attempt: Some(ConnectAttempt { at_s: 2.125, outcome: AttemptOutcome::Refused }),
        last_attempt: Some(ConnectAttempt { at_s: end_s, outcome: AttemptOutcome::Connected }),
        connected_s: Some(end_s),
        first_read_s: None,
        first_write_s: Some(end_s),
    };
    Outages {
        losses: 2,
        causes: vec![LossCount { cause: LossCause::Sqlstate("57P01".to_owned()), count: 2 }],
        attempts: vec![count(AttemptOutcome::Refused, 6), count(AttemptOutcome::Connected, 2)],
        of_writes: true,
        count: 1,
        more_losses: 0,
        more_arrivals: 0,
        outages: vec![Outage {
            first_error_s: 2.0,
            first_connect_s: Some(end_s),
            last_connect_s: Some(end_s),
            first_read_s: None,
            first_write_s: Some(end_s),
            window: Some(OutageWindow {
                start_s: 1.875,
                end_s,
                is_over: true,
                arrivals: 40,
                succeeded: 30,
                failed: 4,
                skipped: 0,
                unfinished: 0,
                unknown: 6,
                response_us: None,
            }),
            clients: 2,
            hung: 1,
            never: 0,
            without_success_us: None,
            attempts: vec![count(AttemptOutcome::Refused, 6), count(AttemptOutcome::Connected, 2)],
            former_tps: Some(400.0),
            recovered_s,
            connections: vec![client(0), client(1)],
        }],
    }
}

fn with_outage() -> Record {
    let mut record = example::full(&Example { seconds: 10, ..Example::default() });
    record.summary.outages = Some(outages(2.5, Some(5.0)));
    record
}

/// The facts that all formats show, as label and value.
const FACTS: [(&str, &str); 9] = [
    ("lost connections", "2: 2 57P01"),
    ("attempts", "6 refused, 2 connected"),
    ("no write", "2.5 s from 1.875 s on"),
    ("first error", "2.000 s"),
    ("first connect", "4.375 s"),
    ("first write", "4.375 s"),
    ("back at 90 %", "after 3.1 s, 400.0 tps before"),
    ("due meanwhile", "40 transactions (75 % succeeded, 4 failed, 6 unknown)"),
    ("hung", "1 of 2 clients, until their time limit"),
];

#[test]
fn text_page_and_markdown_show_the_same_figures_of_an_outage() {
    let record = with_outage();
    let run = [Run { name: "a run", record: &record }];
    let plain = |text: String| text.replace('\u{a0}', " ");
    let text = plain(pgmeter_report::text(&summary(&record, false), &WIDE));
    let (page, markdown) = (plain(forms::html(&run)), plain(forms::markdown(&run)));
    assert!(text.contains("\noutages\n"), "{text}");
    assert!(page.contains(">Outages</h2>") && markdown.contains("## Outages"), "{markdown}");
    for (label, value) in FACTS {
        let line = text.lines().map(str::trim).find(|line| line.starts_with(&format!("{label}  ")));
        assert!(line.is_some_and(|line| line.ends_with(&format!(" {value}"))), "{label}: {text}");
        assert!(page.contains(&format!("<dt>{label}</dt><dd>{value}</dd>")), "{label} on the page");
        assert!(markdown.contains(&format!("- {label}: {value}\n")), "{label}: {markdown}");
    }
    // Single connections are in documents only.
    let row = "| 0 | 1.875 s | 2.000 s | 57P01 | 3 refused, 1 connected | refused at 2.125 s | 4.375 s | — | 4.375 s |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(page.contains("refused at 2.125 s") && !text.contains("2.125 s"), "{text}");
}

#[test]
fn csv_has_a_line_for_each_figure_of_an_outage() {
    let record = with_outage();
    let csv = forms::csv(&[Run { name: "7", record: &record }]);
    for (metric, value) in [
        ("first_error_s", "2"),
        ("first_connect_s", "4.375"),
        ("former_tps", "400"),
        ("recovered_s", "5"),
        ("recovery_s", "3.125"),
        ("clients", "2"),
        ("hung", "1"),
        ("never", "0"),
        ("attempts_refused", "6"),
        ("window_length_s", "2.5"),
        ("window_arrivals", "40"),
        ("window_unknown", "6"),
    ] {
        let line = format!("7,outage,,1,2,4.375,{metric},{value}\n");
        assert!(csv.contains(&line), "no {line} in {csv}");
    }
    assert!(!csv.contains(",first_read_s,"), "an unknown value has no line");
    for (metric, value) in [("lost_connections", "2"), ("write_outage_s", "2.5"), ("recovery_s", "3.125")] {
        assert!(csv.contains(&format!("7,summary,,,,,{metric},{value}\n")), "{metric}");
    }
}

#[test]
fn an_experiment_compares_outages_over_its_repeats_with_intervals() {
    let mut with_outages = stored();
    let plain = experiment::markdown(&overview(stored()));
    assert!(!plain.contains("## Outages"), "without lost connections there is no section");
    for trial in &mut with_outages.trials {
        let (clients, repeat) = (trial.factors["clients"].as_str(), trial.repeat);
        let found = match (trial.factors["protocol"].as_str(), clients, repeat) {
            ("simple", "1", _) => Some(outages(1.0 + f64::from(repeat), Some(10.0))),
            // It did not recover in one repeat, and lost no connection in another.
            ("simple", "8", 1) => Some(outages(2.0, None)),
            ("simple", "8", 2) => Some(outages(2.0, Some(10.0))),
            _ => None,
        };
        if let Some(summary) = trial.run.as_mut().and_then(|run| run.summary.as_mut()) {
            summary.outages = found;
        }
    }
    let overview = overview(with_outages);
    let spaces = |text: String| text.replace('\u{a0}', " ");
    let (markdown, page) = (spaces(experiment::markdown(&overview)), spaces(experiment::html(&overview)));
    let text = spaces(experiment::text(&overview, &WIDE));
    // Means of 2, 3 and 4 s and Student's interval, ± 2.48 s.
    let line = |start: &str, text: &str| {
        let (_, section) = text.split_once("Outages\n").unwrap_or_else(|| panic!("{text}"));
        let line = section.lines().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{section}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for shown in [&markdown, &text] {
        let (whole, partly) = (line("simple, 1", shown), line("simple, 8", shown));
        assert!(whole.contains("3.0 s ± 83 %") || whole.contains("3.000 ± 83 %"), "{whole}");
        assert!(
            partly.contains("in 2 of 3 trials") && partly.contains("recovered in 1 of 2 outages"),
            "{partly}"
        );
        // One without a loss has its row.
        assert!(shown.contains("no connection lost"), "{shown}");
    }
    // What it asks comes first, with the range over the repeats.
    assert!(text.contains("Without a write: simple, 1 3.0 s (2.0 s to 4.0 s in 3 repeats)"), "{text}");
    let sentence = "The longest time without a write: 3.0 s with simple, 1 (2.0 s to 4.0 s in 3 repeats).";
    assert!(markdown.contains(sentence), "{markdown}");
    assert!(page.contains(">Outages</h2>") && page.contains("in 2 of 3 trials"), "on the page");
    let csv = experiment::csv(&overview);
    assert!(csv.lines().next().is_some_and(|head| head.contains(",write_outage_s,recovery_s,")), "{csv}");
}
