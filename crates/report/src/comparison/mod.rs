//! A comparison as a document: the answer in a sentence, the forest plot of all metrics with their figures, the pairs, the
//! interval as it became narrower, the noise floor, and the method. Stored runs side by side are in `run`.

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
use crate::ratios;

/// The document of a comparison.
pub fn comparison(record: &ComparisonRecord) -> Document {
    let [a, b] = record.sides.each_ref().map(|side| escaped_line(&side.label));
    let ([answer, terminal @ ..], [verdict, page @ ..]) = (of_terminal(record), of_page(record));
    let first = [answer, verdict, Section::annotation(&record.annotation)];
    let sections = with_contents(first.into_iter().chain(terminal).chain(page));
    let title = format!("{}: {a} (A) against {b} (B)", escaped_line(&record.factor));
    Document { title, banners: goals::banner(record).into_iter().collect(), sections, ..Document::default() }
}

fn of_terminal(record: &ComparisonRecord) -> [Section; 4] {
    let section = |id, blocks| Section::new(id, "", "", Audience::Terminal, blocks);
    let mut method = vec![Block::List(Tone::Plain, lines(record))];
    method.extend(notes::blocks(record));
    [
        section("answer", answer_of(record, Tone::Strong).into_iter().chain(picture(record)).collect()),
        section("figures", figures_of(record)),
        section("goals", goals::blocks(record)),
        section("method", method),
    ]
}

/// The answer in a sentence, and a line of what it means.
fn answer_of(record: &ComparisonRecord, tone: Tone) -> Vec<Block> {
    let answer::Answer { sentence, details } = answer::answer(record);
    let details = (!details.is_empty()).then(|| Block::quiet(details));
    std::iter::once(Block::Answer(tone, sentence)).chain(details).collect()
}

fn of_page(record: &ComparisonRecord) -> [Section; 6] {
    let section = |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let tone = match record.decision {
        ComparisonDecision::Better => Tone::Good,
        ComparisonDecision::WorseThanTolerance => Tone::Bad,
        ComparisonDecision::NoWorse | ComparisonDecision::Equivalent | ComparisonDecision::Undecided => {
            Tone::Strong
        }
    };
    let mut first = answer_of(record, tone);
    first.extend(picture(record));
    first.extend(figures_of(record));
    let warnings = notes::blocks(record);
    let has_warning = warnings.iter().any(|block| matches!(block, Block::List(Tone::Caution, _)));
    let drawn = |charts: Vec<Chart>| charts.into_iter().map(Block::chart).collect();
    let mut pairs: Vec<Block> = drawn(charts::pairs(record));
    pairs.push(Block::List(Tone::Plain, lines(record)));
    let method = vec![Block::Heading("Method".to_owned()), Block::Facts(method(record))];
    [
        section("verdict", "", "", first),
        section("notes", if has_warning { "Warnings" } else { "Notes" }, "", warnings),
        section("goals", "Goals", "Goals", goals::blocks(record)),
        section("pairs", "Pairs and noise floor", "Pairs", pairs),
        section("interval", "Interval over time", "Interval", drawn(charts::interval(record))),
        section("sides", "Sides and method", "Method", vec![Block::Columns(vec![sides(record), method])]),
    ]
}

/// The forest plot; nothing if no metric has a ratio.
fn picture(record: &ComparisonRecord) -> Option<Block> {
    let forest = table::forest(record);
    forest.rows.iter().any(|row| row.ratio.is_some()).then(|| Block::forest(forest))
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

/// *p99 ×6.20 (2.62 … 14.7)*.
pub(crate) fn change(record: &ComparisonRecord, finding: &MetricFinding) -> String {
    let short = names::of_figure(record, finding.figure());
    let interval = finding.low.zip(finding.high);
    let without = if interval.is_none() { ", without an interval" } else { "" };
    format!("{short} {}{without}", ratios::ratio(finding.ratio, interval))
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
mod tests;
