//! A comparison as a document: the answer in a sentence, a table of all metrics, the pairs, the interval as it became
//! narrower, the noise floor, and the method. Stored runs side by side are in `run`.

mod answer;
mod charts;
mod goals;
pub(crate) mod names;
mod notes;
mod rows;
mod table;

use results::{
    ComparisonDecision, ComparisonMethod, ComparisonRecord, ComparisonStatus, CrossoverEffect, DrawnAnew,
    MetricFinding, MetricNoise,
};

pub(crate) use rows::comparison_rows;

use crate::chart::Chart;
use crate::document::{Audience, Block, Document, Fact, Section, Tone, with_contents};
use crate::figures::{TIE, counted, decimals_for, fixed, percent};
use crate::metrics::Quantity;
use crate::prose::escaped_line;

/// The document of a comparison.
pub fn comparison(record: &ComparisonRecord) -> Document {
    let [a, b] = record.sides.each_ref().map(|side| escaped_line(&side.label));
    let mut sections: Vec<Section> = of_terminal(record).into_iter().chain(of_page(record)).collect();
    sections.insert(1, Section::annotation(&record.annotation));
    let sections = with_contents(sections);
    let title = format!("{}: A is {a}, B is {b}", escaped_line(&record.factor));
    Document { title, banners: goals::banner(record).into_iter().collect(), sections, ..Document::default() }
}

fn of_terminal(record: &ComparisonRecord) -> [Section; 4] {
    let section = |id, blocks| Section::new(id, "", "", Audience::Terminal, blocks);
    let mut method = vec![Block::List(Tone::Plain, lines(record))];
    method.extend(notes::blocks(record));
    [
        section("answer", vec![Block::Paragraph(Tone::Strong, answer::answer(record))]),
        section("figures", figures_of(record)),
        section("goals", goals::blocks(record)),
        section("method", method),
    ]
}

fn of_page(record: &ComparisonRecord) -> [Section; 7] {
    let section = |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let tone = match record.decision {
        ComparisonDecision::Better => Tone::Good,
        ComparisonDecision::WorseThanTolerance => Tone::Bad,
        ComparisonDecision::NoWorse | ComparisonDecision::Equivalent | ComparisonDecision::Undecided => {
            Tone::Plain
        }
    };
    let warnings = notes::blocks(record);
    let has_warning = warnings.iter().any(|block| matches!(block, Block::List(Tone::Caution, _)));
    let drawn = |charts: Vec<Chart>| charts.into_iter().map(Block::chart).collect();
    let mut pairs: Vec<Block> = drawn(charts::pairs(record));
    pairs.push(Block::List(Tone::Plain, lines(record)));
    let method = vec![Block::Heading("Method".to_owned()), Block::Facts(method(record))];
    [
        section("verdict", "", "", vec![Block::Banner(tone, answer::answer(record), String::new())]),
        section("warnings", if has_warning { "Warnings" } else { "Notes" }, "", warnings),
        section("results", "Results", "Results", figures_of(record)),
        section("goals", "Goals", "Goals", goals::blocks(record)),
        section("pairs", "Pairs and noise floor", "Pairs", pairs),
        section("interval", "Interval over time", "Interval", drawn(charts::interval(record))),
        section("sides", "Sides and method", "Method", vec![Block::Columns(vec![sides(record), method])]),
    ]
}

/// Nothing if no block ended.
fn figures_of(record: &ComparisonRecord) -> Vec<Block> {
    let table = table::table(record);
    if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

fn sides(record: &ComparisonRecord) -> Vec<Block> {
    let side = |(name, side): (&str, &results::ComparedSide)| {
        let facts = vec![
            Fact::new("level", escaped_line(&side.label)),
            Fact::new("server", format!("PostgreSQL {}", escaped_line(&side.server_version))),
            Fact::new("load", escaped_line(&side.load)),
        ];
        [Block::Heading(name.to_owned()), Block::Facts(facts)]
    };
    ["A", "B"].into_iter().zip(&record.sides).flat_map(side).collect()
}

fn method(record: &ComparisonRecord) -> Vec<Fact> {
    let method = &record.method;
    let number = |purpose| record.pairs.iter().filter(|pair| pair.is_noise_floor == purpose).count();
    let mut facts = vec![
        Fact::new("pairs", format!("{} of at most {}", number(false), method.pairs_planned)),
        Fact::new("pairs of the noise floor", number(true).to_string()),
        Fact::new(
            "blocks",
            format!("{} a side and pair, {}{TIE}s each", method.blocks, fixed(method.block_s, 2)),
        ),
        Fact::new("tolerance", percent(method.tolerance, 1.0)),
        Fact::new("error rate of the decisive metric", percent(method.error_rate, 1.0)),
        Fact::new("error rate of the other metrics", error_rate_of_others(method)),
        Fact::new("decisive metric", names::title(method.decisive)),
        Fact::new("duration", Quantity::Seconds.shown(record.elapsed_s)),
        Fact::new("seed", method.seed.to_string()),
        Fact::new("started", record.started_at.to_string()),
        Fact::new("measured by", format!("pgmeter {}", escaped_line(&record.pgmeter_version))),
    ];
    if let Some(status) = ended(record.status) {
        facts.insert(0, Fact::new("status", status));
    }
    facts
}

/// How a comparison ended, unless it is complete.
fn ended(status: ComparisonStatus) -> Option<&'static str> {
    match status {
        ComparisonStatus::Complete => None,
        ComparisonStatus::Interrupted => Some("interrupted"),
        ComparisonStatus::EndedEarly => Some("ended early"),
    }
}

fn error_rate_of_others(method: &ComparisonMethod) -> String {
    let words = |rate: f64, of: &str| format!("{} {of}", percent(rate, 1.0));
    method.error_rate_of_others.map_or(words(method.error_rate, "each"), |rate| words(rate, "together"))
}

/// Shares beyond this are told as this.
const MOST: f64 = 99.0;

/// The change and the ends of its interval in per cent, with signs: in the sentence and in the table.
pub(crate) fn figures(finding: &MetricFinding) -> [Option<String>; 3] {
    let error = finding.low.zip(finding.high).map_or(finding.ratio - 1.0, |(low, high)| (high - low) / 2.0);
    let change = signed(finding.ratio - 1.0, error.abs());
    let end = |end: Option<f64>| {
        let share = end? - 1.0;
        let text = signed(share, error.abs());
        // An end that is not 0 is not shown as 0: whether the interval holds 0 is the answer.
        let percent = (share * 100.0).abs();
        Some(match share {
            _ if !is_zero(&text) || share == 0.0 => text,
            ..0.0 => format!("−{}", fixed(percent, decimals_for(percent, 1))),
            _ => format!("+{}", fixed(percent, decimals_for(percent, 1))),
        })
    };
    [Some(change), end(finding.low), end(finding.high)]
}

/// *p99 +520 % (+162 … +1,367)*.
pub(crate) fn change(record: &ComparisonRecord, finding: &MetricFinding) -> String {
    let short = names::of_figure(record, finding.figure());
    let [change, low, high] = figures(finding);
    let change = change.unwrap_or_default();
    match low.zip(high) {
        Some((low, high)) => format!("{short} {change}{TIE}% ({low}{TIE}…{TIE}{high})"),
        None => format!("{short} {change}{TIE}%, without an interval"),
    }
}

/// A share in per cent; an error says how many decimals make sense.
fn signed(share: f64, error: f64) -> String {
    let text = figure(share * 100.0, error * 100.0);
    if share > 0.0 && !is_zero(&text) { format!("+{text}") } else { text }
}

fn is_zero(text: &str) -> bool {
    text.chars().all(|character| matches!(character, '0' | '.'))
}

/// A percentage with as many decimals as its error makes sense of.
fn figure(percent: f64, error: f64) -> String {
    let decimals = decimals_for(error.max(0.01), 2).min(2);
    let text = fixed(percent.abs(), decimals);
    // Zero has no sign.
    if percent < 0.0 && !is_zero(&text) { format!("−{text}") } else { text }
}

/// Noise floor, order, method, and what else a reader should know.
fn lines(record: &ComparisonRecord) -> Vec<String> {
    let mut lines = Vec::new();
    let method = &record.method;
    let noise = record.noise_floor.iter().find(|noise| noise.metric == method.decisive);
    lines.extend(notes::together(record));
    lines.extend(noise.map(|noise| noise_floor(record, noise)));
    lines.extend(record.finding(method.decisive).and_then(notes::order));
    lines.push(method_line(record));
    lines.extend(outlying(record));
    lines
}

/// `In 1 sequence of two pairs, tps of B ÷ A was far higher than in the others. Such exceptions hardly affect the change.`
fn outlying(record: &ComparisonRecord) -> Option<String> {
    let method = &record.method;
    let (above, below) = record.finding(method.decisive)?.outlying;
    let (one, several) = match method.draws {
        DrawnAnew::Connections => ("sequence of two pairs", "sequences of two pairs"),
        DrawnAnew::Servers => ("pair", "pairs"),
    };
    let number = |number: usize| counted(number as u64, one, several);
    let metric = names::short(method.decisive);
    let told = match (above, below) {
        (0, 0) => return None,
        (above, 0) => format!("In {}, {metric} of B ÷ A was far higher than in the others", number(above)),
        (0, below) => format!("In {}, {metric} of B ÷ A was far lower than in the others", number(below)),
        (above, below) => format!(
            "{metric} of B ÷ A was far higher than usual in {}, and far lower in {}",
            number(above),
            number(below)
        ),
    };
    Some(format!("{told}. Such exceptions hardly affect the change."))
}

fn noise_floor(record: &ComparisonRecord, noise: &MetricNoise) -> String {
    let error = (noise.high - noise.low) / 2.0;
    let [ratio, low, high] = [noise.ratio, noise.low, noise.high].map(|end| signed(end - 1.0, error));
    let of_sides = record.finding(noise.metric).map(|finding| percent(finding.pair_deviation, 1.0));
    let of_sides =
        of_sides.map_or(String::new(), |deviation| format!("; that of a pair of A and B is {deviation}"));
    format!(
        "Noise floor: {} of identical sides differs by {ratio} % (95 %: {low} … {high}, {} pairs). The standard deviation of \
         a pair is {}{of_sides}.",
        names::short(noise.metric),
        noise.pairs,
        percent(noise.pair_deviation, 1.0),
    )
}

/// `+0.3 % (95 %: −0.9 … +1.6)`
fn effect(effect: &CrossoverEffect) -> String {
    let error = (effect.high - effect.low) / 2.0;
    let [ratio, low, high] = [effect.ratio, effect.low, effect.high].map(|end| signed(end - 1.0, error));
    format!("{ratio} % (95 %: {low} … {high})")
}

fn method_line(record: &ComparisonRecord) -> String {
    let method = &record.method;
    let made = record.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
    let drawn = match method.draws {
        DrawnAnew::Connections => "new connections for each block",
        DrawnAnew::Servers => "servers started for each pair",
    };
    let interrupted = match record.status {
        ComparisonStatus::Complete => "",
        ComparisonStatus::Interrupted => ", then interrupted",
        ComparisonStatus::EndedEarly => ", then ended early",
    };
    let block_s = fixed(method.block_s, 2);
    let blocks = match (method.draws, method.blocks) {
        (DrawnAnew::Servers, _) | (_, 0 | 1) => format!("blocks of {block_s}{TIE}s"),
        (DrawnAnew::Connections, several) => format!("each of {several} blocks of {block_s}{TIE}s per side"),
    };
    format!(
        "Measured: {made} of at most {} pairs, {blocks}, {drawn}, in {}{TIE}s{interrupted}; seed {}.",
        method.pairs_planned,
        fixed(record.elapsed_s, 0),
        method.seed,
    )
}

#[cfg(test)]
mod tests {
    use results::{
        Annotation, Checkpoints, ComparedBlock, ComparedMetric, ComparedPair, ComparedSide, Percentile,
        UnjudgedMetric, UtcTime,
    };
    use stats::comparison::{Block, MergedPercentile, ScriptLatencies};

    use super::*;
    use crate::{Subject, TextStyle, text};

    fn comparison_csv(record: &ComparisonRecord) -> String {
        crate::values::csv(&comparison_rows(record))
    }

    /// A comparison whose pairs had blocks with these figures, tps and p99, on both sides; better, by tps.
    // Long because: a comparison has many fields.
    fn record(blocks: &[(Option<f64>, Option<f64>)]) -> ComparisonRecord {
        let side = |label: &str| ComparedSide {
            label: label.to_owned(),
            server_version: "18.0".to_owned(),
            goals: Vec::new(),
            load: "select-only, 8 clients".to_owned(),
        };
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
            metric,
            script: None,
            a: 1000.0,
            b: 1042.0,
            pairs,
            decision: ComparisonDecision::Better,
            different: Some(true),
            ratio: 1.042,
            low: Some(1.029),
            high: Some(1.056),
            no_difference_above: Some(0.06),
            smallest_difference: Some(0.011),
            smallest_difference_so_far: None,
            pair_deviation: 0.03,
            outlying: (0, 0),
            order_effect: None,
            carry_over: None,
        };
        let with = |has: fn(&(Option<f64>, Option<f64>)) -> bool| blocks.iter().filter(|it| has(it)).count();
        ComparisonRecord {
            annotation: Annotation::default(),
            schema_version: results::COMPARISON_SCHEMA,
            pgmeter_version: "0.0.0".to_owned(),
            started_at: UtcTime::from_unix_millis(0),
            hostname: "bench".to_owned(),
            name: "compare".to_owned(),
            factor: "protocol".to_owned(),
            sides: [side("simple"), side("prepared")],
            method: ComparisonMethod {
                draws: DrawnAnew::Connections,
                session_settings: Vec::new(),
                block_s: 0.25,
                warmup_s: 0.05,
                blocks: 1,
                pairs_planned: 100,
                budget_s: 60.0,
                tolerance: 0.02,
                error_rate: 0.05,
                error_rate_of_others: Some(0.05),
                decisive: ComparedMetric::Tps,
                scripts: Vec::new(),
                seed: 1,
                checkpoints: Checkpoints::NotNeeded,
                setup_s: Some(0.05),
            },
            status: ComparisonStatus::Complete,
            elapsed_s: 31.5,
            difference_found_after_s: None,
            decision: ComparisonDecision::Better,
            findings: vec![
                finding(ComparedMetric::Tps, with(|(tps, _)| tps.is_some())),
                finding(ComparedMetric::P99, with(|(_, p99)| p99.is_some())),
            ],
            unjudged: Vec::new(),
            noise_floor: Vec::new(),
            notes: Vec::new(),
            pairs: blocks.iter().map(pair).collect(),
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
        // Whoever reads that of tps knows it of all.
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
        let unjudged =
            |metric, a, b| UnjudgedMetric { metric, script: None, a: Some(a), b: Some(b), pairs: 0 };
        record.unjudged = vec![
            unjudged(ComparedMetric::Tps, 1_000.0, 1_042.0),
            UnjudgedMetric { b: None, ..unjudged(ComparedMetric::P50, 2e6, 0.0) },
        ];
        record.findings.clear();
        record.decision = ComparisonDecision::Undecided;
        let text = told(&record);
        assert!(text.contains("Inconclusive: there were too few pairs for an answer"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = "tps 1,000 1,042 — — — no verdict: 0 of the 6 pairs needed p50 2.00 ms — — — — no verdict";
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
        record.unjudged =
            vec![UnjudgedMetric { metric: ComparedMetric::P50, script: Some(1), a, b, pairs: 3 }];
        record
    }

    #[test]
    fn each_script_of_a_mix_has_its_latencies_in_all_formats_and_the_percentile_of_all_decides() {
        let record = of_mix();
        let text = told(&record);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for row in [
            "p95 of B is 4.2 % longer",
            "p95 7.00 ms 8.00 ms +4.2 % +2.9 … +5.6 1.1 % better",
            "p50 of read.sql 7.00 ms 8.00 ms +4.2 % +2.9 … +5.6 1.1 % p95 of read.sql",
            "p50 of write.sql 1.00 ms 2.00 ms — — — no verdict: 3 of the 6 pairs needed",
        ] {
            assert!(words.contains(row), "{row}: {text}");
        }
        assert_eq!(words.matches("better").count(), 1, "{text}");
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
            junit.contains("p95 of write.sql +4.2") && junit.contains("p95 determines the exit status"),
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
        assert!(words.contains("p99 2.00 ms 3.00 ms — — — no verdict: too few transactions"), "{words}");
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
        let sentence = "B is faster in all 6 pairs: × 15.2 … 20.1 in single pairs. By a sign test, the confidence in \
                        this direction is 96.9 %. An interval needs more pairs";
        assert!(text.contains(sentence), "{text}");
        let text = of_ratios(&[0.7, 0.9, 0.8, 0.75, 0.85]);
        let sentence = "B is slower in all 5 pairs: −30.0 … −10.0 % in single pairs. By a sign test, the confidence in \
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
        assert!(text.contains("  Inconclusive: tps of B −0.4 % (95 %: −2.1 … +1.3), smallest"), "{text}");
        assert!(text.contains("−0.4 %   −2.1 … +1.3        1.1 %   inconclusive\n"), "{text}");
        for word in ["better", "worse", "faster", "slower"] {
            assert!(!text.contains(word), "{text}");
        }
        let text = told(&changed(-4.2, -5.6, -2.9, Some(false)));
        let sentence = "  B is 4.2 % slower (95 %: −5.6 … −2.9), smallest detectable difference 1.1 %: worse";
        assert!(
            text.contains(sentence) && text.contains("−4.2 %   −5.6 … −2.9        1.1 %   worse\n"),
            "{text}"
        );
        let text = told(&changed(1.0, 0.004, 2.0, Some(true)));
        assert!(text.contains("(95 %: +0.004 … +2.0)") && text.contains("+0.004 … +2.0"), "{text}");
    }

    #[test]
    fn what_is_within_the_tolerance_is_inconclusive_too() {
        let mut record = changed(0.1, -0.4, 0.6, None);
        record.decision = ComparisonDecision::Equivalent;
        record.findings.iter_mut().for_each(|finding| finding.decision = ComparisonDecision::Equivalent);
        let text = told(&record);
        assert!(
            text.contains("Inconclusive: tps of B +0.10 %") && text.contains(": no difference above"),
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
        assert!(told(&record).contains("detectable difference 1.1 %.\n"), "{}", told(&record));
        record.decision = ComparisonDecision::Undecided;
        assert!(
            told(&record).contains("detectable difference 1.1 %: inconclusive, since B stalled, and blocks")
        );
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
            let blocks: Vec<_> =
                (0..number).map(|_| (Some(figures[next(7)]), Some(figures[next(7)]))).collect();
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
}
