//! A comparison as text: the answer in a sentence, a table of all metrics, the noise floor, and how it was made.
//! Called by `compare`; what is said of stored runs side by side is `compare.rs`'s affair.

use results::{
    ComparedMetric, ComparisonDecision, ComparisonRecord, ComparisonStatus, DrawnAnew, MetricFinding,
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
    lines.push(format!(
        "Made of {made} pairs (at most {} planned), blocks of {} s, {drawn}, in {} s{interrupted}.",
        method.pairs_planned,
        fixed(method.block_s, 2),
        fixed(record.elapsed_s, 0),
    ));
    let out = record.finding(method.decisive).map_or((0, 0), |finding| finding.outlying);
    if out.0 + out.1 > 0 {
        lines.push(format!(
            "Pairs far from the others: {} where B is much higher, {} where it is much lower; they hardly count.",
            out.0, out.1
        ));
    }
    lines.extend(record.notes.iter().map(|note| format!("Note: {}.", harmless(note))));
    lines
}
