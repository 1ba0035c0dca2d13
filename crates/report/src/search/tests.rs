//! A search in all formats, and the sentences of all kinds of answers.
//! The search is that of `testkit`.

use results::{
    ComparisonDecision, ExpectedRate, GoalVerdict, RateInterval, RatioInterval, SearchAnswer,
    SearchComparison, SearchRecord, SearchResult, Status,
};
use testkit::search_record::{search_record, trial};

use super::*;
use crate::{Format, Subject, TextStyle, formatted};

fn shown(record: &SearchRecord, format: Format) -> String {
    let style = TextStyle { colour: false, width: 100 };
    String::from_utf8(formatted(Subject::Search(record), format, &style).unwrap()).unwrap()
}

/// The first line for a search with these changes.
fn first_line(change: impl FnOnce(&mut SearchResult)) -> String {
    let mut record = search_record();
    (record.search.nearest, record.search.confirmations) = (None, Vec::new());
    change(&mut record.search);
    words::answer(&record).replace(TIE, " ")
}

#[test]
fn the_terminal_begins_with_the_answer_and_the_confirmation() {
    let text = shown(&search_record(), Format::Text);
    insta::assert_snapshot!(text, @"
    SUSTAINS 4,150 tps with p99 < 20 ms (95 %: 4,000 … 4,280). Limit: server CPU (96 %).
    Confirmed for 60 s at 4,000 tps, a checkpoint included.

    ser.sql: highest rate
      goals           p99 < 20 ms
      clients         16 (found)
      closed loop     5,900 tps at most, with 8 clients
      interval        ± 3.4 % (asked for: 3.0 %)
      trials          3 at 3 rates
      time            342 s of 600 s
      seed            18446744073709551615

      rate, tps  verdict  achieved    over  p50, ms  p99, ms  p99.9, ms  trials  nearest limit
      2,950      kept        2,949     0 %     2.95    11.80      29.50       1  server CPU 69 %
      4,130      kept        4,129  0.60 %     4.13    16.52      41.30       1  server CPU 96 %
      4,280      broken      4,279   6.0 %     4.28    17.12      42.80       1  server CPU 99.5 %
    ");
}

#[test]
fn each_kind_of_answer_has_a_sentence() {
    let of = |answer, kept: Option<f64>, broken: Option<f64>| {
        first_line(|search| {
            (search.answer, search.interval, search.rate_tps, search.broken_tps) =
                (answer, None, kept, broken);
        })
    };
    let (kept, broken) = (Some(150.04), Some(4_281.0));
    let sentences = [
        of(SearchAnswer::Corrected, kept, broken),
        of(SearchAnswer::KeptAtHighest, kept, None),
        of(SearchAnswer::Between, kept, broken),
        of(SearchAnswer::Between, kept, None),
        of(SearchAnswer::Between, None, broken),
        of(SearchAnswer::GeneratorLimited, kept, None),
        of(SearchAnswer::GeneratorLimited, None, None),
        of(SearchAnswer::BrokenAtLowest, None, broken),
        of(SearchAnswer::Unconfirmed, None, broken),
        of(SearchAnswer::Nothing, None, None),
    ];
    insta::assert_snapshot!(sentences.join("\n"), @"
    SUSTAINS 150 tps with p99 < 20 ms; 4,280 tps broke it in a longer load.
    SUSTAINS 150 tps with p99 < 20 ms, the highest rate that --max-rate allows.
    BETWEEN 150 tps and 4,280 tps with p99 < 20 ms: too few trials for an interval. Increase --budget.
    AT LEAST 150 tps with p99 < 20 ms: no higher rate broke it yet. Increase --budget.
    LESS THAN 4,280 tps with p99 < 20 ms: no lower rate kept it yet. Increase --budget.
    AT LEAST 150 tps with p99 < 20 ms: above it, pgmeter or its machine was the limit, so the server may sustain more.
    NO ANSWER with p99 < 20 ms: pgmeter or its machine was the limit at each rate, so nothing is known about the server.
    NOT KEPT: p99 < 20 ms is broken even at 4,280 tps, the lowest rate.
    NOT CONFIRMED: a longer load at 4,280 tps broke p99 < 20 ms. Increase --budget.
    NO ANSWER with p99 < 20 ms: there were too few trials. Increase --budget.
    ");
}

#[test]
fn an_answer_that_ended_early_says_so_and_gives_no_advice_about_the_budget() {
    let mut record = search_record();
    record.status = Status::Interrupted;
    (record.search.answer, record.search.interval) = (SearchAnswer::Between, None);
    record.search.confirmations.clear();
    let text = shown(&record, Format::Text);
    assert!(text.starts_with("BETWEEN 4,150 tps and 4,280 tps with p99 < 20 ms"), "{text}");
    assert!(text.contains("\nInterrupted: the answer is what is known so far.\n"), "{text}");
    assert!(!text.contains("Increase"), "{text}");
}

#[test]
fn an_expected_rate_is_judged_on_the_page_and_in_junit() {
    let mut record = search_record();
    record.search.expected = Some(ExpectedRate { rate_tps: 4_500.0, verdict: GoalVerdict::Missed });
    record.search.repeated = 2;
    let text = shown(&record, Format::Text);
    assert!(text.contains("\nExpected: more than 4,500 tps; missed.\n"), "{text}");
    assert!(
        text.contains("  repeated        2 loads, because other programs had delayed pgmeter\n"),
        "{text}"
    );
    let junit = shown(&record, Format::Junit);
    assert!(
        junit.contains("name=\"search.rate_tps &gt; 4500\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    record.search.expected = Some(ExpectedRate { rate_tps: 3_000.0, verdict: GoalVerdict::Met });
    assert!(shown(&record, Format::Junit).contains("failures=\"0\" errors=\"0\""));
}

#[test]
fn confirmations_say_what_was_inside() {
    let of = |checkpoints, autovacuums| {
        let mut record = search_record();
        let trial = trial(4_000.0, 1.0, 60.2);
        record.search.confirmations = vec![SearchConfirmation { trial, checkpoints, autovacuums }];
        words::confirmation(&record).unwrap().replace(TIE, " ")
    };
    assert_eq!(
        of(Some(1), Some(2)),
        "Confirmed for 60 s at 4,000 tps, a checkpoint and 2 autovacuums included."
    );
    assert_eq!(
        of(Some(0), Some(0)),
        "Confirmed for 60 s at 4,000 tps, without a checkpoint or an autovacuum."
    );
    assert_eq!(of(None, None), "Confirmed for 60 s at 4,000 tps.");
}

#[test]
fn programs_get_the_search_with_its_loads_and_trials() {
    let record = search_record();
    let json: serde_json::Value = serde_json::from_str(&shown(&record, Format::Json)).unwrap();
    let search = &json["search"];
    assert_eq!(
        (search["rate_tps"].as_f64(), search["interval"]["low"].as_f64()),
        (Some(4_148.2), Some(3_998.0))
    );
    assert_eq!(search["loads"][2]["verdict"], "broken");
    assert_eq!(search["loads"][2]["trials"][0]["rate_tps"].as_f64(), Some(4_280.0));
    let csv = shown(&record, Format::Csv);
    assert!(csv.starts_with("rate_tps,verdict,achieved_tps,over_share,allowed_share,"), "{csv}");
    assert!(csv.contains("\n4280,broken,4279,0.06,0.01,4280,17120,42800,server CPU,"), "{csv}");
    let junit = shown(&record, Format::Junit);
    assert!(junit.contains("<testcase classname=\"ser.sql\" name=\"p99 &lt; 20ms\""), "{junit}");
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
}

#[test]
fn the_page_begins_with_the_answer_and_has_the_curve_and_the_loads() {
    let page = shown(&search_record(), Format::Html);
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
    let order = [
        "SUSTAINS 4,150",
        "Confirmed for",
        "Throughput against latency",
        "Transactions over the limit",
        "most of the time",
    ];
    assert!(order.map(place).is_sorted(), "{:?}", order.map(place));
}

/// Side B with a rate of 3,320 tps, beside side A with 4,148 tps.
fn versus(decision: ComparisonDecision) -> SearchRecord {
    let (a, mut b) = (search_record(), search_record());
    b.search.rate_tps = Some(3_320.0);
    b.search.interval = Some(RateInterval { low: 3_200.0, high: 3_440.0 });
    let is_known = decision != ComparisonDecision::Undecided;
    let comparison = SearchComparison {
        factor: "settings.jit".to_owned(),
        labels: ["on".to_owned(), "off".to_owned()],
        a,
        ratio: is_known.then_some(0.8),
        interval: is_known.then_some(RatioInterval { low: 0.76, high: 0.84 }),
        tolerance: 0.02,
        decision,
    };
    SearchRecord { comparison: Some(Box::new(comparison)), ..b }
}

#[test]
fn two_searches_in_turns_begin_with_the_side_that_sustains_less() {
    let record = versus(ComparisonDecision::WorseThanTolerance);
    insta::assert_snapshot!(shown(&record, Format::Text), @"
    settings.jit: on (A) against off (B) with p99 < 20 ms
      off sustains 20.0 % less than on: ×0.800 (0.760 … 0.840).
      That is worse than the tolerance of 2.0 %.
      Highest rate that keeps the goals: B ÷ A, logarithmic, with the 95 % interval
      highest rate       ────■────           ··┊··                       ×0.800 (0.760 … 0.840)  −20.0 %
                            0.8                1                1.25
      ■ worse  ··· tolerance ± 2 %
      side     highest rate, tps   95 % interval   limit             clients   trials
      A: on    4,150               4,000 … 4,280   server CPU 96 %        16        3
      B: off   3,320               3,200 … 3,440   server CPU 96 %        16        3
    ");
    let page = shown(&record, Format::Html);
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
    let order =
        ["off sustains 20", "Highest rate that keeps the goals", "A: on", "Transactions over the limit"];
    assert!(order.map(place).is_sorted(), "{:?}", order.map(place));
    let junit = shown(&record, Format::Junit);
    assert!(
        junit.contains("name=\"highest rate of B beside A\"") && junit.contains("failures=\"1\""),
        "{junit}"
    );
    let csv = shown(&record, Format::Csv);
    assert!(
        csv.starts_with("side,rate_tps,") && csv.contains("\nA,4280,broken,") && csv.contains("\nB,4280,"),
        "{csv}"
    );
    let json: serde_json::Value = serde_json::from_str(&shown(&record, Format::Json)).unwrap();
    assert_eq!(json["comparison"]["decision"], "worse_than_tolerance");
}

#[test]
fn a_side_without_an_interval_leaves_the_comparison_open() {
    let mut record = versus(ComparisonDecision::Undecided);
    (record.search.interval, record.search.answer) = (None, SearchAnswer::Between);
    let text = shown(&record, Format::Text);
    assert!(text.contains("Inconclusive: the search on B found no rate with an interval."), "{text}");
    assert!(text.contains("at least 3,320"), "{text}");
    assert!(shown(&record, Format::Junit).contains("errors=\"1\""));
}
