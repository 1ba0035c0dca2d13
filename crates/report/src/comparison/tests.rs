//! Tests of the document of a comparison: its answer, its figures and its notes.
//! The records are those of `testkit`, with other figures.

use results::{ComparedBlock, ComparedMetric, ComparedPair, Percentile, UnjudgedMetric};
use stats::comparison::{Block, MergedPercentile, ScriptLatencies};

use super::*;
use crate::{Subject, TextStyle, text};

fn comparison_csv(record: &ComparisonRecord) -> String {
    crate::values::csv(&comparison_rows(record))
}

/// A comparison whose pairs had blocks with these figures, tps and p99, on both sides; better, by tps.
fn record(blocks: &[(Option<f64>, Option<f64>)]) -> ComparisonRecord {
    let block = |is_candidate, (tps, p99_ns)| {
        ComparedBlock::new(is_candidate, &Block { tps, p99_ns, ..Block::default() })
    };
    let pair = |figures: &(Option<f64>, Option<f64>)| ComparedPair {
        is_noise_floor: false,
        start_s: 0.0,
        blocks: vec![block(false, *figures), block(true, *figures)],
        merged: Vec::new(),
    };
    let finding = |metric, pairs| MetricFinding {
        pairs,
        no_difference_above: Some(0.06),
        ..testkit::records::finding(metric)
    };
    let with = |has: fn(&(Option<f64>, Option<f64>)) -> bool| blocks.iter().filter(|it| has(it)).count();
    ComparisonRecord {
        decision: ComparisonDecision::Better,
        findings: vec![
            finding(ComparedMetric::Tps, with(|(tps, _)| tps.is_some())),
            finding(ComparedMetric::P99, with(|(_, p99)| p99.is_some())),
        ],
        pairs: blocks.iter().map(pair).collect(),
        ..testkit::records::comparison("protocol", ["simple", "prepared"])
    }
}

fn told(record: &ComparisonRecord) -> String {
    text(&comparison(record), &TextStyle { colour: false, width: 1_000 })
}

#[test]
fn a_metric_that_lacks_pairs_says_of_how_many_it_is_and_why() {
    let (whole, few, none) = ((Some(900.0), Some(2e6)), (Some(90.0), None), (None, None));
    assert!(!told(&record(&[whole; 3])).contains("note: "));
    let text = told(&record(&[whole, few, few]));
    let note = "  note: p99 is of 1 of 3 pairs: the others had a block with fewer than 100 transactions; give --block \
                more seconds.\n";
    assert!(text.contains(note) && !text.contains("tps is of"), "{text}");
    // The note about tps holds for all metrics.
    let text = told(&record(&[whole, none]));
    let note = "  note: tps is of 1 of 2 pairs: the others had a block without a transaction.\n";
    assert!(text.contains(note) && !text.contains("p99 is of"), "{text}");
}

#[test]
fn pairs_of_several_blocks_that_lack_some_say_so_too() {
    let mut record = record(&[(Some(900.0), Some(2e6)); 3]);
    record.method.blocks = 2;
    for pair in &mut record.pairs {
        let mut few = pair.blocks.clone();
        few.iter_mut().for_each(|block| block.figures.p99_ns = None);
        pair.blocks.extend(few);
    }
    let text = told(&record);
    assert!(text.contains("p99 is of 6 of 12 blocks: the others are blocks with fewer than"), "{text}");
    assert!(text.contains("pairs, each of 2 blocks of 0.25 s per side, new connections"), "{text}");
}

#[test]
fn metrics_without_a_finding_show_both_sides_without_a_verdict_in_all_formats() {
    let mut record = record(&[]);
    let unjudged = |metric, a, b| UnjudgedMetric { metric, script: None, a: Some(a), b: Some(b), pairs: 0 };
    record.unjudged = vec![
        unjudged(ComparedMetric::Tps, 1_000.0, 1_042.0),
        UnjudgedMetric { b: None, ..unjudged(ComparedMetric::P50, 2e6, 0.0) },
    ];
    record.findings.clear();
    record.decision = ComparisonDecision::Undecided;
    let text = told(&record);
    assert!(text.contains("Inconclusive: there were too few pairs for an answer"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = "tps 1,000 1,042 — no verdict: 0 of the 6 pairs needed p50 2.00 ms — — no verdict";
    assert!(words.contains(row), "{text}");
    record.method.draws = DrawnAnew::Servers;
    assert!(told(&record).contains("no verdict: 0 of the 3 pairs needed"), "{text}");
    let csv = comparison_csv(&record);
    assert!(
        csv.ends_with(
            "unjudged,,,,A,tps,1000,\nunjudged,,,,B,tps,1042,\nunjudged,,,,A,response_p50_us,2000,\n"
        ),
        "{csv}"
    );
    let document = comparison(&record);
    for shown in [crate::markdown(&document), crate::html(&document)] {
        assert!(shown.contains("no verdict: 0 of the 3 pairs needed"), "{shown}");
    }
}

/// A comparison of a mix of two scripts that a p95 decides.
fn of_mix() -> ComparisonRecord {
    let mut record = record(&[(Some(900.0), None); 3]);
    let p95 = ComparedMetric::from("p95".parse::<Percentile>().expect("it is one"));
    record.method.decisive = p95;
    record.method.scripts = ["read.sql", "write.sql"].map(str::to_owned).into();
    for pair in &mut record.pairs {
        for block in &mut pair.blocks {
            block.figures.percentile_ns = Some(7e6);
            let tails = [3e6, 8e6].map(|ns| ScriptLatencies { p50_ns: Some(1e6), tail_ns: Some(ns) });
            block.figures.scripts = tails.into();
        }
    }
    let finding = MetricFinding { a: 7e6, b: 8e6, ..record.findings[0] };
    let of = |metric, script| MetricFinding { metric, script, ..finding };
    record.findings = vec![
        record.findings[0],
        of(p95, None),
        of(ComparedMetric::P50, Some(0)),
        of(p95, Some(0)),
        MetricFinding { decision: ComparisonDecision::WorseThanTolerance, ..of(p95, Some(1)) },
    ];
    let [a, b] = [Some(1e6), Some(2e6)];
    record.unjudged = vec![UnjudgedMetric { metric: ComparedMetric::P50, script: Some(1), a, b, pairs: 3 }];
    record
}

#[test]
fn each_script_of_a_mix_has_its_latencies_in_all_formats_and_the_percentile_of_all_decides() {
    let record = of_mix();
    let text = told(&record);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in [
        "p95 of prepared is 4.2 % longer than of simple: ×1.042 (1.029 … 1.056).",
        "p95 7.00 ms 8.00 ms 1.1 % better",
        "p50 of read.sql 7.00 ms 8.00 ms 1.1 % p95 of read.sql",
        "p50 of write.sql 1.00 ms 2.00 ms — no verdict: 3 of the 6 pairs needed",
    ] {
        assert!(words.contains(row), "{row}: {text}");
    }
    assert_eq!(words.matches(" % better").count(), 1, "{text}");
    let csv = comparison_csv(&record);
    for line in [
        "pair,1,0,1,A,response_p95_us,7000,\n",
        "pair,3,0,2,B,response_p95_us,8000,write.sql\n",
        "finding,,,,B,response_p95_us,8000,read.sql\n",
        "unjudged,,,,B,response_p50_us,2000,write.sql\n",
    ] {
        assert!(csv.contains(line), "{line}: {csv}");
    }
    let junit = crate::values::junit(&crate::cases::suites(Subject::Comparison(&record)));
    for case in ["p95", "p50 of read.sql", "p95 of write.sql", "p50 of write.sql"] {
        assert!(junit.contains(&format!("name=\"{case}\"")), "{case}: {junit}");
    }
    assert!(
        junit.contains("p95 of write.sql ×1.042 (1.029") && junit.contains("p95 determines the exit status"),
        "{junit}"
    );
    let document = comparison(&record);
    for shown in [crate::markdown(&document), crate::html(&document)] {
        assert!(shown.contains("p95 of write.sql") && shown.contains("p50 of write.sql"), "{shown}");
    }
    let json: ComparisonRecord = serde_json::from_str(&record.to_json()).expect("it can be read");
    assert_eq!(json, record);
}

#[test]
fn a_percentile_of_several_pairs_tells_of_how_many_groups_it_is() {
    let mut record = record(&[(Some(90.0), None); 6]);
    record.findings[1].pairs = 6;
    for pair in record.pairs.iter_mut().skip(2).step_by(3) {
        let metric = ComparedMetric::P99;
        pair.merged = vec![MergedPercentile { metric, script: None, pairs: 3, a_ns: 2e6, b_ns: 3e6 }];
    }
    let text = told(&record);
    let note = "note: p99 is of 2 groups of pairs (6 pairs in all), each with at least 100 transactions of A and of B: \
                single blocks have too few.\n";
    assert!(text.contains(note), "{text}");
    let csv = comparison_csv(&record);
    assert!(csv.contains("merged,6,0,,B,response_p99_us,3000,\n"), "{csv}");
    // Without a finding, more pairs of as few transactions would not help.
    record.pairs.iter_mut().for_each(|pair| pair.merged.clear());
    let [a, b] = [Some(2e6), Some(3e6)];
    record.unjudged = vec![UnjudgedMetric { metric: ComparedMetric::P99, script: None, a, b, pairs: 0 }];
    record.findings.truncate(1);
    let words = told(&record).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("p99 2.00 ms 3.00 ms — no verdict: too few transactions"), "{words}");
    record.method.decisive = ComparedMetric::P99;
    let text = told(&record);
    assert!(text.contains("Inconclusive: there were too few transactions for an answer."), "{text}");
}

/// A comparison without an interval, whose pairs had these ratios of tps.
fn of_ratios(ratios: &[f64]) -> String {
    let mut record = record(&vec![(Some(900.0), None); ratios.len()]);
    for (pair, ratio) in record.pairs.iter_mut().zip(ratios) {
        pair.blocks[1].figures.tps = Some(900.0 * ratio);
    }
    record.decision = ComparisonDecision::Undecided;
    for finding in &mut record.findings {
        (finding.low, finding.high, finding.different) = (None, None, None);
        finding.decision = ComparisonDecision::Undecided;
    }
    told(&record)
}

#[test]
fn pairs_that_all_agree_give_a_direction_with_its_confidence_before_an_interval() {
    let text = of_ratios(&[15.2, 20.1, 18.0, 16.0, 17.0, 19.0]);
    let sentence = "prepared is faster than simple in all 6 pairs: ×15.2 … 20.1.\n  By a sign test, the confidence in \
                    this direction is 96.9 %. An interval needs more pairs";
    assert!(text.contains(sentence), "{text}");
    let text = of_ratios(&[0.7, 0.9, 0.8, 0.75, 0.85]);
    let sentence = "prepared is slower than simple in all 5 pairs: ×0.700 … 0.900.\n  By a sign test, the confidence in \
                    this direction is 93.8 %, which is inconclusive.";
    assert!(text.contains(sentence), "{text}");
    for unclear in [&[1.2, 1.3, 0.99, 1.1, 1.2, 1.3][..], &[15.0, 20.0, 18.0]] {
        assert!(!of_ratios(unclear).contains("sign test"), "{unclear:?}");
    }
}

/// A comparison with this change and interval, in per cent.
fn changed(change: f64, low: f64, high: f64, different: Option<bool>) -> ComparisonRecord {
    let mut record = record(&[(Some(900.0), Some(2e6)); 3]);
    let share = |percent: f64| 1.0 + percent / 100.0;
    record.decision = match different {
        Some(true) => ComparisonDecision::Better,
        Some(false) => ComparisonDecision::WorseThanTolerance,
        None => ComparisonDecision::Undecided,
    };
    for finding in &mut record.findings {
        finding.ratio = share(change);
        (finding.low, finding.high) = (Some(share(low)), Some(share(high)));
        finding.different = different;
        finding.decision = record.decision;
    }
    record
}

#[test]
fn an_interval_that_holds_no_change_is_inconclusive_and_has_one_sign_in_sentence_and_table() {
    let text = told(&changed(-0.4, -2.1, 1.3, None));
    assert!(
        text.contains("  Inconclusive: tps of prepared is ×0.996 (0.979 … 1.013) that of simple.\n"),
        "{text}"
    );
    assert!(text.contains("─○─") && text.contains("×0.996 (0.979 … 1.013)  −0.4 %\n"), "{text}");
    assert!(text.contains("1.1 %   inconclusive\n"), "{text}");
    for word in ["better", "worse", "faster", "slower"] {
        assert!(!text.contains(word), "{text}");
    }
    let text = told(&changed(-4.2, -5.6, -2.9, Some(false)));
    let sentence = "  prepared is 4.2 % slower than simple: ×0.958 (0.944 … 0.971).\n  That is worse than the \
                    tolerance of 2.0 %. The smallest detectable difference is 1.1 %.\n";
    assert!(text.contains(sentence) && text.contains("─■─") && text.contains("1.1 %   worse\n"), "{text}");
    let text = told(&changed(1.0, 0.004, 2.0, Some(true)));
    assert!(text.contains("1.0 % faster than simple: ×1.010 (1.00004 … 1.020)"), "{text}");
}

#[test]
fn what_is_within_the_tolerance_is_inconclusive_too() {
    let mut record = changed(0.1, -0.4, 0.6, None);
    record.decision = ComparisonDecision::Equivalent;
    record.findings.iter_mut().for_each(|finding| finding.decision = ComparisonDecision::Equivalent);
    let text = told(&record);
    assert!(
        text.contains("Inconclusive: tps of prepared is ×1.001")
            && text.contains("There is no difference above"),
        "{text}"
    );
    assert!(text.contains("inconclusive (within tolerance)\n"), "{text}");
}

#[test]
fn a_comparison_that_claims_no_difference_it_could_have_seen_says_none() {
    let mut record = changed(-0.4, -2.1, 1.3, None);
    record.findings.iter_mut().for_each(|finding| finding.smallest_difference = None);
    let text = told(&record);
    assert!(!text.contains("detectable difference") && text.contains("…"), "{text}");
    assert!(text.contains("   —   inconclusive\n"), "{text}");
}

#[test]
fn order_and_carry_over_that_are_not_negligible_are_told() {
    let mut record = changed(-0.4, -2.1, 1.3, None);
    let effect = |ratio: f64, is_negligible| {
        Some(CrossoverEffect { ratio, low: ratio - 0.01, high: ratio + 0.01, is_negligible })
    };
    record.findings[0].order_effect = effect(1.002, true);
    record.findings[0].carry_over = effect(0.999, true);
    let text = told(&record);
    assert!(
        text.contains("Order: tps of the second block of a pair differs by +0.2 % (95 %: −0.8 … +1.2)"),
        "{text}"
    );
    assert!(!text.contains("not negligible"), "{text}");
    record.findings[0].order_effect = effect(1.04, false);
    record.findings[1].carry_over = effect(0.9, false);
    let text = told(&record);
    assert!(text.contains("The order is not negligible: tps of the second block"), "{text}");
    assert!(text.contains("Carry-over is not negligible: p99 of a block that follows B"), "{text}");
    assert!(text.contains("The change may be off by 2.7 %"), "{text}");
}

#[test]
fn an_answer_that_a_stalling_side_has_left_undecided_says_that() {
    let mut record = record(&[(Some(900.0), None); 3]);
    assert!(told(&record).contains("detectable difference is 1.1 %.\n"), "{}", told(&record));
    record.decision = ComparisonDecision::Undecided;
    assert!(
        told(&record).contains("This is inconclusive, since B stalled, and blocks without a transaction")
    );
}

#[test]
fn each_pair_is_one_point_and_the_estimate_with_its_interval_goes_through_them() {
    use crate::chart::{Form, Plot};
    let mut record = changed(4.2, 2.9, 5.6, Some(true));
    record.pairs[2].is_noise_floor = true;
    for (at, pair) in record.pairs.iter_mut().enumerate() {
        pair.start_s = at as f64;
        pair.blocks[1].figures.tps = Some(940.0);
    }
    let charts = charts::pairs(&record);
    let Plot::Lines { y, series, .. } = &charts[0].plot else { panic!("points are lines") };
    let drawn = |at: usize| series[at].points.iter().filter(|point| point.y.is_finite()).count();
    assert_eq!([drawn(0), drawn(1), drawn(2)], [2, 1, 3]);
    assert_eq!((series[0].form, series[1].form), (Form::Dot, Form::Diamond));
    assert!(series[0].has_no_line && series[1].has_no_line && series[2].has_band);
    assert_eq!(series[2].points[0].interval, Some((1.029, 1.056)));
    assert!(y.marks.iter().any(|(_, name)| name == "1") && y.band.is_some() && y.is_logarithmic);
}

#[test]
fn the_page_begins_with_a_short_answer_and_the_forest_plot() {
    let document = comparison(&changed(4.2, 2.9, 5.6, Some(true)));
    let first = document.sections.iter().find(|it| it.audience == Audience::Documents).expect("one");
    let crate::document::Block::Answer(Tone::Good, answer) = &first.blocks[0] else {
        panic!("{:?}", first.blocks[0])
    };
    assert!(answer.split_whitespace().count() <= 20, "{answer}");
    assert!(first.blocks.iter().any(|block| matches!(block, crate::document::Block::Forest(_))));
    let page = crate::html(&document);
    assert!(
        page.contains("prepared ÷ simple") && page.contains("the grey area is the tolerance of ±"),
        "{page}"
    );
    let large = told(&changed(1_704.0, 1_200.0, 2_400.0, Some(true)));
    assert!(large.contains("prepared is 18 times as fast as simple (13 to 25).\n"), "{large}");
    let large = told(&changed(-94.5, -96.0, -92.0, Some(false)));
    assert!(large.contains("prepared is slower than simple by a factor of 18 (13 to 25).\n"), "{large}");
    let hopeless = told(&changed(20.0, -99.999_999, 6_926_472_800.0, None));
    assert!(hopeless.contains("not measurable with 3 pairs"), "{hopeless}");
}

#[test]
fn charts_of_any_record_are_made_without_a_panic() {
    let figures = [0.0, 1e-300, 0.5, 900.0, 1_000.0, 1e300, f64::MAX];
    let mut random = 7u64;
    let mut next = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % most
    };
    for _ in 0..100 {
        let number = next(40);
        let blocks: Vec<_> = (0..number).map(|_| (Some(figures[next(7)]), Some(figures[next(7)]))).collect();
        let mut record = record(&blocks);
        let rates = [f64::MIN_POSITIVE, 1e-9, 0.05, 0.5, 0.999_999];
        record.method.error_rate = rates[next(5)];
        record.method.tolerance = rates[next(5)];
        record.method.pairs_planned = [0, 1, 2, 3, 20, 200, usize::MAX][next(7)];
        record.method.draws = [DrawnAnew::Connections, DrawnAnew::Servers][next(2)];
        record.method.decisive = [ComparedMetric::Tps, ComparedMetric::P99, ComparedMetric::Wal][next(3)];
        for pair in &mut record.pairs {
            pair.is_noise_floor = next(4) == 0;
            pair.start_s = figures[next(7)];
            let figure = figures[next(7)];
            pair.blocks
                .iter_mut()
                .filter(|block| block.is_candidate)
                .for_each(|block| block.figures.tps = Some(figure));
            pair.blocks.truncate(next(3));
        }
        let document = comparison(&record);
        let (page, svg) = (crate::html(&document), crate::svg(&document));
        for shown in [page.split("<script>").next().unwrap(), &svg] {
            assert!(!shown.contains("NaN") && !shown.contains(">inf"), "{shown}");
        }
    }
}

#[test]
fn the_interval_of_very_many_pairs_is_not_drawn() {
    let blocks: Vec<_> = (0..8_000).map(|_| (Some(900.0), None)).collect();
    let mut record = record(&blocks);
    record.method.pairs_planned = blocks.len();
    assert!(charts::interval(&record).is_empty());
    record.pairs.truncate(40);
    assert_eq!(charts::interval(&record).len(), 1);
}
