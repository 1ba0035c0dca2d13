//! A comparison as text: the answer in a sentence, a table of all metrics, the noise floor, and how it was made.
//! Called by `compare`; what is said of stored runs side by side is `compare.rs`'s affair.

use results::{
    ComparedBlock, ComparedMetric, ComparisonDecision, ComparisonRecord, ComparisonStatus, DrawnAnew,
    MetricFinding,
};

use crate::TextStyle;
use crate::figures::{TIE, decimals_for, fixed, latency, percent, rate, untied};
use crate::prose::{Emphasis, emphasise, harmless, wrap};
use crate::table::{Side, fitted, padded};

const INDENT: usize = 2;
const NANOS_PER_MICRO: f64 = 1e3;

/// The whole of it.
pub fn comparison(record: &ComparisonRecord, style: &TextStyle) -> String {
    let [a, b] = &record.sides;
    let (a, b) = (harmless(&a.label), harmless(&b.label));
    let mut out = format!("{}: A is {a}, B is {b}\n\n", harmless(&record.factor));
    let sentence = wrap(&sentence(record), INDENT, INDENT, style.width);
    out += &format!("{}{}\n", " ".repeat(INDENT), emphasise(&untied(&sentence), Emphasis::Strong, style));
    out.push('\n');
    if !record.findings.is_empty() {
        out += &table(record, style);
        out.push('\n');
    }
    for line in beneath(record) {
        out += &format!("{}{}\n", " ".repeat(INDENT), untied(&wrap(&line, INDENT, INDENT + 2, style.width)));
    }
    out
}

/// *B is 4.2 % faster (95 %: 2.9 … 5.6), smallest difference this could have seen 1.1 %.*
fn sentence(record: &ComparisonRecord) -> String {
    let Some(finding) = record.finding(record.method.decisive) else {
        return "Undecided: of so few pairs nothing can be told. Give --budget more time.".to_owned();
    };
    let smallest = format!(
        "smallest difference this could have seen {}",
        percent(finding.smallest_difference.min(MOST), 1.0)
    );
    let tolerance = percent(record.method.tolerance, 1.0);
    let what = in_words(finding);
    let ending = match (record.decision, finding.different) {
        (ComparisonDecision::WorseThanTolerance, _) => format!(": worse than the tolerance of {tolerance}"),
        (ComparisonDecision::Better, _) => String::new(),
        (ComparisonDecision::NoWorse | ComparisonDecision::Equivalent, Some(false)) => {
            format!(": worse, within the tolerance of {tolerance}")
        }
        (ComparisonDecision::Equivalent, _) => {
            let above = finding.no_difference_above.map_or(tolerance, |above| percent(above, 1.0));
            format!(": no difference above {above}")
        }
        (ComparisonDecision::NoWorse, _) => format!(": no worse than the tolerance of {tolerance} allows"),
        // Otherwise the answer is what was found of the metric that decides.
        (ComparisonDecision::Undecided, _) if finding.decision != ComparisonDecision::Undecided => {
            ": undecided, since B stalled, and blocks without a transaction are in no figure".to_owned()
        }
        (ComparisonDecision::Undecided, Some(_)) => {
            format!(": whether that is beyond the tolerance of {tolerance} is undecided")
        }
        (ComparisonDecision::Undecided, None) => ": undecided".to_owned(),
    };
    format!("{what}, {smallest}{ending}.")
}

/// Shares beyond this are told as this.
const MOST: f64 = 99.0;

/// `B is 4.2 % faster (95 %: 2.9 … 5.6)`; between both where nothing was found.
fn in_words(finding: &MetricFinding) -> String {
    let (name, more, less) = words(finding.metric);
    let change = (finding.ratio - 1.0) * 100.0;
    let (size, word) = (change.abs(), if change < 0.0 { less } else { more });
    let Some((low, high)) = finding.low.zip(finding.high) else {
        return format!("{name} {}{TIE}% {word}, which says nothing yet of so few pairs", figure(size, size));
    };
    let sign = if change < 0.0 { -1.0 } else { 1.0 };
    let mut ends = [(low - 1.0) * 100.0 * sign, (high - 1.0) * 100.0 * sign];
    ends.sort_unstable_by(f64::total_cmp);
    let finest = (ends[1] - ends[0]) / 2.0;
    let [low, high] = ends.map(|end| figure(end, finest));
    format!("{name} {}{TIE}% {word} (95{TIE}%: {low}{TIE}…{TIE}{high})", figure(size, finest))
}

/// A percentage with as many decimals as its error makes sense of.
fn figure(percent: f64, error: f64) -> String {
    let decimals = decimals_for(error.max(0.01), 2).min(2);
    let text = fixed(percent.abs(), decimals);
    // Zero has no sign.
    let is_zero = text.chars().all(|character| matches!(character, '0' | '.'));
    if percent < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// What B is, and what more and less of a metric is called.
fn words(metric: ComparedMetric) -> (&'static str, &'static str, &'static str) {
    match metric {
        ComparedMetric::Tps => ("B is", "faster", "slower"),
        ComparedMetric::P50 => ("The median latency of B is", "longer", "shorter"),
        ComparedMetric::P99 => ("p99 of B is", "longer", "shorter"),
        ComparedMetric::ServerCpu => ("The server's CPU time for a transaction of B is", "more", "less"),
        ComparedMetric::ClientCpu => ("The client's CPU time for a transaction of B is", "more", "less"),
        ComparedMetric::Wal => ("WAL for a transaction of B is", "more", "less"),
    }
}

fn name(metric: ComparedMetric) -> &'static str {
    match metric {
        ComparedMetric::Tps => "tps",
        ComparedMetric::P50 => "p50",
        ComparedMetric::P99 => "p99",
        ComparedMetric::ServerCpu => "server CPU/tx",
        ComparedMetric::ClientCpu => "client CPU/tx",
        ComparedMetric::Wal => "WAL/tx",
    }
}

fn shown(metric: ComparedMetric, value: f64) -> String {
    match metric {
        ComparedMetric::Tps => rate(value),
        ComparedMetric::Wal => format!("{}{TIE}B", fixed(value, decimals_for(value, 3))),
        _ => latency(value / NANOS_PER_MICRO),
    }
}

fn table(record: &ComparisonRecord, style: &TextStyle) -> String {
    let findings = &record.findings;
    let column = |title: &str, cell: &dyn Fn(&MetricFinding) -> String| {
        let cells = findings.iter().map(|finding| untied(&cell(finding)));
        std::iter::once(title.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let signed = |share: f64, error: f64| {
        let text = figure(share * 100.0, error * 100.0);
        if share > 0.0 { format!("+{text}") } else { text }
    };
    let error = |finding: &MetricFinding| {
        finding.low.zip(finding.high).map_or(finding.ratio - 1.0, |(low, high)| (high - low) / 2.0).abs()
    };
    let columns = |_| {
        let figures = [
            column("A", &|finding| shown(finding.metric, finding.a)),
            column("B", &|finding| shown(finding.metric, finding.b)),
            column("change", &|finding| format!("{} %", signed(finding.ratio - 1.0, error(finding)))),
            column("95 %", &|finding| match finding.low.zip(finding.high) {
                Some((low, high)) => {
                    let error = error(finding);
                    format!("{} … {}", signed(low - 1.0, error), signed(high - 1.0, error))
                }
                None => "unknown".to_owned(),
            }),
            column("could see", &|finding| percent(finding.smallest_difference.min(MOST), 1.0)),
        ];
        let labels = padded(column("", &|finding| name(finding.metric).to_owned()), Side::Left);
        let found = padded(column("B is", &|finding| found(finding).to_owned()), Side::Left);
        let figures = figures.into_iter().map(|cells| padded(cells, Side::Right));
        std::iter::once(labels).chain(figures).chain([found]).collect()
    };
    fitted(columns, 0, INDENT, style)
}

fn found(finding: &MetricFinding) -> &'static str {
    match (finding.different, finding.decision) {
        (Some(true), _) => "better",
        (Some(false), _) => "worse",
        (None, ComparisonDecision::Equivalent) => "equal",
        (None, ComparisonDecision::NoWorse) => "no worse",
        (None, _) => "undecided",
    }
}

/// Noise floor, method, and what else a reader should know.
fn beneath(record: &ComparisonRecord) -> Vec<String> {
    let mut lines = Vec::new();
    let method = &record.method;
    if let Some(noise) = record.noise_floor.iter().find(|noise| noise.metric == method.decisive) {
        let error = (noise.high - noise.low) * 50.0;
        let [low, high] = [noise.low, noise.high].map(|end| figure((end - 1.0) * 100.0, error));
        lines.push(format!(
            "Noise floor: {} of A beside A differs by {} % (95 %: {low} … {high}, {} pairs); a pair of these \
             scatters by {}, one of A and B by {}.",
            name(noise.metric),
            figure((noise.ratio - 1.0) * 100.0, error),
            noise.pairs,
            percent(noise.pair_deviation, 1.0),
            record
                .finding(noise.metric)
                .map_or("?".to_owned(), |finding| percent(finding.pair_deviation, 1.0)),
        ));
    }
    let made = record.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
    let drawn = match method.draws {
        DrawnAnew::Connections => "each block on connections of its own",
        DrawnAnew::Servers => "servers anew for each pair",
    };
    let interrupted = if record.status == ComparisonStatus::Interrupted { ", then interrupted" } else { "" };
    let block_s = fixed(method.block_s, 2);
    let blocks = match (method.draws, method.blocks) {
        (DrawnAnew::Servers, _) | (_, 0 | 1) => format!("blocks of {block_s} s"),
        (DrawnAnew::Connections, several) => format!("each of {several} blocks of {block_s} s a side"),
    };
    lines.push(format!(
        "Made of {made} pairs (at most {} planned), {blocks}, {drawn}, in {} s{interrupted}.",
        method.pairs_planned,
        fixed(record.elapsed_s, 0),
    ));
    let out = record.finding(method.decisive).map_or((0, 0), |finding| finding.outlying);
    if out.0 + out.1 > 0 {
        lines.push(format!(
            "Pairs far from the others: {} where B is much higher, {} where it is much lower; they hardly count.",
            out.0, out.1
        ));
    }
    lines.extend(record.findings.iter().filter_map(|finding| lacking(record, finding)));
    lines.extend(record.notes.iter().map(|note| format!("Note: {}.", harmless(note))));
    lines
}

/// A metric that some pairs have no figure for: those that have one may not be like the others. Of what all metrics lack
/// only tps tells.
fn lacking(record: &ComparisonRecord, finding: &MetricFinding) -> Option<String> {
    let pairs = || record.pairs.iter().filter(|pair| !pair.is_noise_floor);
    let blocks = || pairs().flat_map(|pair| &pair.blocks);
    let with = |metric: ComparedMetric| {
        blocks().filter(|block| block.figure(metric).is_some_and(|figure| figure > 0.0)).count()
    };
    let (made, all) = (pairs().count(), blocks().count());
    let (pairs_due, blocks_due) = match record.finding(ComparedMetric::Tps) {
        Some(tps) if finding.metric != ComparedMetric::Tps => (tps.pairs, with(ComparedMetric::Tps)),
        _ => (made, all),
    };
    let known = with(finding.metric);
    let (of, others) = if finding.pairs < pairs_due {
        (format!("{} of {made} pairs", finding.pairs), "had a block")
    } else if known < blocks_due {
        (format!("{known} of {all} blocks"), "are blocks")
    } else {
        return None;
    };
    let why = match finding.metric {
        ComparedMetric::P99 => {
            let least = ComparedBlock::TRANSACTIONS_FOR_P99;
            format!("with fewer than {least} transactions; give --block more seconds")
        }
        ComparedMetric::ServerCpu => "in which not all backends' time could be read".to_owned(),
        ComparedMetric::Wal => "in which none was written".to_owned(),
        ComparedMetric::Tps | ComparedMetric::P50 | ComparedMetric::ClientCpu => {
            "without a transaction".to_owned()
        }
    };
    Some(format!("Note: {} is of {of}: the others {others} {why}.", name(finding.metric)))
}

#[cfg(test)]
mod tests {
    use results::{ComparedPair, ComparedSide, ComparisonMethod, UtcTime};
    use stats::comparison::Block;

    use super::*;

    /// A comparison whose pairs had blocks with these figures, tps and p99, on both sides; better, by tps.
    fn record(blocks: &[(Option<f64>, Option<f64>)]) -> ComparisonRecord {
        let side = |label: &str| ComparedSide {
            label: label.to_owned(),
            server_version: "18.0".to_owned(),
            load: "select-only, 8 clients".to_owned(),
        };
        let block = |is_candidate, (tps, p99_ns)| {
            ComparedBlock::new(is_candidate, &Block { tps, p99_ns, ..Block::default() })
        };
        let pair = |figures: &(Option<f64>, Option<f64>)| ComparedPair {
            is_noise_floor: false,
            start_s: 0.0,
            blocks: vec![block(false, *figures), block(true, *figures)],
        };
        let finding = |metric, pairs| MetricFinding {
            metric,
            a: 1000.0,
            b: 1042.0,
            pairs,
            decision: ComparisonDecision::Better,
            different: Some(true),
            ratio: 1.042,
            low: Some(1.029),
            high: Some(1.056),
            no_difference_above: Some(0.06),
            smallest_difference: 0.011,
            pair_deviation: 0.03,
            outlying: (0, 0),
        };
        let with = |has: fn(&(Option<f64>, Option<f64>)) -> bool| blocks.iter().filter(|it| has(it)).count();
        ComparisonRecord {
            schema_version: results::COMPARISON_SCHEMA,
            pgmeter_version: "0.0.0".to_owned(),
            started_at: UtcTime::from_unix_millis(0),
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
                decisive: ComparedMetric::Tps,
                seed: 1,
            },
            status: ComparisonStatus::Complete,
            elapsed_s: 31.5,
            difference_found_after_s: None,
            decision: ComparisonDecision::Better,
            findings: vec![
                finding(ComparedMetric::Tps, with(|(tps, _)| tps.is_some())),
                finding(ComparedMetric::P99, with(|(_, p99)| p99.is_some())),
            ],
            noise_floor: Vec::new(),
            notes: Vec::new(),
            pairs: blocks.iter().map(pair).collect(),
        }
    }

    fn told(record: &ComparisonRecord) -> String {
        comparison(record, &TextStyle { colour: false, width: 1_000 })
    }

    #[test]
    fn a_metric_that_lacks_pairs_says_of_how_many_it_is_and_why() {
        let (whole, few, none) = ((Some(900.0), Some(2e6)), (Some(90.0), None), (None, None));
        assert!(!told(&record(&[whole; 3])).contains("Note: "));
        let text = told(&record(&[whole, few, few]));
        let note = "  Note: p99 is of 1 of 3 pairs: the others had a block with fewer than 100 transactions; give --block \
                    more seconds.\n";
        assert!(text.contains(note) && !text.contains("tps is of"), "{text}");
        // Whoever reads that of tps knows it of all.
        let text = told(&record(&[whole, none]));
        let note = "  Note: tps is of 1 of 2 pairs: the others had a block without a transaction.\n";
        assert!(text.contains(note) && !text.contains("p99 is of"), "{text}");
    }

    #[test]
    fn pairs_of_several_blocks_that_lack_some_say_so_too() {
        let mut record = record(&[(Some(900.0), Some(2e6)); 3]);
        record.method.blocks = 2;
        for pair in &mut record.pairs {
            let few = pair.blocks.iter().map(|block| ComparedBlock { p99_ns: None, ..block.clone() });
            let few: Vec<_> = few.collect();
            pair.blocks.extend(few);
        }
        let text = told(&record);
        assert!(text.contains("p99 is of 6 of 12 blocks: the others are blocks with fewer than"), "{text}");
        assert!(text.contains("planned), each of 2 blocks of 0.25 s a side, each block on"), "{text}");
    }

    #[test]
    fn an_answer_that_a_stalling_side_has_left_undecided_says_that() {
        let mut record = record(&[(Some(900.0), None); 3]);
        assert!(told(&record).contains("could have seen 1.1 %.\n"), "{}", told(&record));
        record.decision = ComparisonDecision::Undecided;
        assert!(told(&record).contains("could have seen 1.1 %: undecided, since B stalled, and blocks"));
    }
}
