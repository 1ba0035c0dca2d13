//! The first screen of a run's page: the answer, a picture of it and the figures.
//! A browser measures it on a desktop and on a phone.

use pgmeter_report::Run;
use results::Record;

use crate::pages::browser::{artefact, browser};
use crate::pages::example::{self, Example};
use crate::pages::forms;

/// Words of an answer, a number and its unit counted as one.
const WORDS_MAX: usize = 20;

fn answer(record: &Record) -> String {
    let page = forms::html(&[Run { name: "a run", record }]);
    let (_, rest) = page.split_once("<p class=\"answer").expect("the page has an answer");
    let (_, text) = rest.split_once('>').expect("the element begins");
    text.split_once('<').expect("the element ends").0.to_owned()
}

fn assert_answer(record: &Record, words: &[&str]) {
    let answer = answer(record);
    assert!(answer.split(' ').count() <= WORDS_MAX, "too long: {answer}");
    let plain = answer.replace('\u{a0}', " ");
    words.iter().for_each(|word| assert!(plain.contains(word), "no {word:?} in: {plain}"));
}

#[test]
fn an_answer_has_the_throughput_the_tail_the_load_and_the_limit() {
    let record = example::full(&Example { seconds: 30, ..Example::default() });
    assert_answer(
        &record,
        &[" tps with p99 ", " at 8 clients; backends waited for IO WALSync ", " of their active time."],
    );
}

#[test]
fn an_answer_under_a_rate_says_how_many_of_the_scheduled_were_kept() {
    let mut record = example::full(&Example { seconds: 30, ..Example::default() });
    record.plan.rate_tps = Some(200.0);
    let counts = &mut record.summary.counts;
    (counts.scheduled, counts.succeeded, counts.late) = (6_000, 5_900, 30);
    assert_answer(&record, &["5,900 of 6,000 scheduled transactions succeeded, p99 ", " at 200 tps"]);
    record.plan.latency_limit_us = Some(10_000.0);
    assert_answer(&record, &["5,870 of 6,000 scheduled transactions within 10 ms"]);
}

#[test]
fn a_throughput_that_is_hardly_known_is_not_large_and_has_one_digit() {
    let mut record = example::full(&Example { seconds: 30, ..Example::default() });
    record.summary.tps = 1_477.3;
    let interval = record.summary.confidence.tps.as_mut().expect("there is one");
    (interval.low, interval.high) = (0.0, 3_200.0);
    assert_answer(&record, &["About 1,000 tps", "± 100"]);
    let page = forms::html(&[Run { name: "a run", record: &record }]).replace('\u{a0}', " ");
    assert!(!page.contains("class=\"large\"") && page.contains("± 100 % or more"), "the figure is large");
}

#[test]
fn what_contradicts_a_steady_run_is_told_instead() {
    let page = |record: &Record| forms::html(&[Run { name: "a run", record }]).replace('\u{a0}', " ");
    let mut record = example::full(&Example { seconds: 120, ..Example::default() });
    let dip = page(&record);
    assert!(
        dip.contains("Throughput fell to ") && dip.contains(", during a checkpoint ("),
        "a dip of a third"
    );
    assert!(dip.contains("; otherwise the run was steady from the start."), "{dip:.9000}");
    record = example::full(&Example { seconds: 120, has_checkpoints: false, ..Example::default() });
    let steady = page(&record);
    assert!(steady.contains("The run was steady from the start.") && !steady.contains("Throughput fell"));
    // The clients had next to nothing in it.
    let longest = vec![results::Stall { start_s: 10.0, end_s: 15.0 }];
    record.summary.stalls = Some(results::Stalls { threshold_us: 1e6, count: 1, total_s: 5.0, longest });
    let stalled = page(&record);
    assert!(stalled.contains("Percentiles leave out the pause of 5.0 s") && !stalled.contains("was steady"));
    record.plan.rate_tps = Some(300.0);
    assert!(!page(&record).contains("Percentiles leave out"), "with a rate, all that were due count");
}

#[test]
fn runs_with_different_numbers_of_clients_begin_with_the_highest_throughput() {
    let run = |clients: u32, tps: f64| {
        let mut record =
            example::full(&Example { seconds: 30, tps, has_checkpoints: false, ..Example::default() });
        record.plan.clients = clients;
        record.summary.tps = tps;
        let interval = record.summary.confidence.tps.as_mut().expect("there is one");
        (interval.low, interval.high) = (tps * 0.99, tps * 1.01);
        record
    };
    let answer = |records: &[Record]| {
        let names: Vec<String> = (1..=records.len()).map(|number| format!("run {number}")).collect();
        let runs: Vec<Run> = names.iter().zip(records).map(|(name, record)| Run { name, record }).collect();
        let page = forms::html(&runs);
        let (_, rest) = page.split_once("<p class=\"answer").expect("the page has an answer");
        let text = rest.split_once('>').and_then(|(_, rest)| rest.split_once('<')).expect("an element").0;
        text.replace('\u{a0}', " ")
    };
    let mut ladder = vec![run(1, 300.0), run(8, 1_500.0), run(64, 1_800.0)];
    assert_eq!(
        answer(&ladder),
        "Highest throughput: 1,800 tps (1,782 … 1,818) with 64 clients, ×6.00 of 1 client."
    );
    ladder.push(run(128, 1_810.0));
    assert_eq!(
        answer(&ladder),
        "Highest throughput: about 1,810 tps with 64 or 128 clients, whose difference may be chance, ×6.03 of 1 client."
    );
    ladder.iter_mut().for_each(|record| record.summary.confidence.tps = None);
    assert_eq!(answer(&ladder), "Highest throughput: 1,810 tps with 128 clients; too short for an interval.");
    ladder[0].plan.scripts[0].name = "another".to_owned();
    assert!(!answer(&ladder).contains("Highest throughput: 1,810"), "other scripts are not compared");
}

#[test]
fn nothing_measured_and_nothing_succeeded_are_answers() {
    assert_answer(&example::empty(), &["Nothing was measured."]);
    assert_answer(&example::fruitless(), &["No transaction succeeded: "]);
}

#[test]
fn answer_picture_and_figures_are_in_the_first_screen() {
    let Some(mut browser) = browser() else { return };
    let mut record = example::full(&Example { seconds: 60, ..Example::default() });
    record.plan.latency_limit_us = Some(10_000.0);
    let path = artefact("first-screen.html");
    std::fs::write(&path, forms::html(&[Run { name: "a run", record: &record }])).expect("it can be written");
    for (width, height) in [(1400, 900), (390, 844)] {
        browser.window(width, height, false);
        browser.open(&path);
        let ends = browser.value(
            "['.answer', 'figure.chart .area', '.key-figures'].map((it) => \
             Math.round(document.querySelector(it).getBoundingClientRect().bottom + scrollY))",
        );
        let ends: Vec<i64> =
            ends.as_array().expect("a list").iter().filter_map(serde_json::Value::as_i64).collect();
        assert!(ends.len() == 3 && ends.iter().all(|end| *end <= i64::from(height)), "{width}: {ends:?}");
        assert!(ends.is_sorted(), "answer, picture, figures: {ends:?}");
    }
}
