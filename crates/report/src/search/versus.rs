//! Two searches in turns as a document: which side sustains more under the same goals, both rates, and the curves of both
//! in one picture. As rows, a line for each load of each side.

use results::{ComparisonDecision, SearchAnswer, SearchComparison, SearchLoad, SearchRecord, SearchResult};

use super::{facts, load_values, loads, words};
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series, Threshold};
use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Section, Table, TableOf, Tone, with_contents,
};
use crate::figures::{TIE, percent};
use crate::forest::{EffectVerdict, Forest, ForestRow};
use crate::metrics::Quantity;
use crate::prose::escaped_line;
use crate::ratios;
use crate::values::ValueTable;

/// The document of both sides; `b` is the record that has the comparison.
pub(super) fn document(b: &SearchRecord, comparison: &SearchComparison) -> Document {
    let sides = [&comparison.a, b];
    let names = names(comparison);
    let (tone, sentence) = answer(b, comparison);
    let goals = words::goals(&b.search.goals);
    let on_page = |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let forest = Block::forest(forest(comparison));
    let of_sides = || Block::Table(rates(&sides, &names));
    let meaning = meaning(comparison).map(Block::quiet);
    let first = || meaning.clone().into_iter();
    let mut beginning: Vec<Block> =
        std::iter::once(Block::Answer(tone, sentence.clone())).chain(first()).collect();
    beginning.extend([forest.clone(), of_sides()]);
    beginning.extend(shares(&sides, &names).map(Block::chart));
    let early = words::early_end(b).map(|text| Banner::new(Tone::Caution, text));
    let terminal: Vec<Block> =
        std::iter::once(Block::Answer(tone, sentence)).chain(first()).chain([forest, of_sides()]).collect();
    let details = sides.iter().zip(["A", "B"].into_iter().zip(&names)).flat_map(|(side, (letter, name))| {
        let all: Vec<&SearchLoad> = side.search.loads.iter().collect();
        let heading = Block::Heading(format!("{letter}: {name}"));
        let table = loads(side, &all).if_any();
        [heading, Block::Facts(facts(side))].into_iter().chain(table)
    });
    let sections = [
        Section::new("answer-brief", "", "", Audience::Terminal, terminal),
        on_page("answer", "", "", beginning),
        on_page("loads", "Loads", "Loads", details.collect()),
        on_page("method", "Method", "Method", vec![Block::quiet(METHOD)]),
        Section::annotation(&b.annotation),
    ];
    let server = b.environment.server.as_ref();
    let server = server.map(|server| format!("on PostgreSQL {}", escaped_line(&server.version)));
    let factor = escaped_line(&comparison.factor);
    Document {
        banners: early.into_iter().collect(),
        title: format!("{factor}: {} (A) against {} (B) with {goals}", names[0], names[1]),
        subtitle: server.unwrap_or_default(),
        sections: with_contents(sections),
    }
}

const METHOD: &str = "The steps of both searches alternate (A B B A), so that a drift of the machine hits both. The interval of \
    the ratio follows from those of both rates. There is no confirmation by a longer load.";

/// The levels of both sides.
fn names(comparison: &SearchComparison) -> [String; 2] {
    comparison.labels.each_ref().map(|label| escaped_line(label))
}

/// `off sustains 19 % less than on: ×0.81 (0.77 … 0.85).`
pub(super) fn answer(b: &SearchRecord, comparison: &SearchComparison) -> (Tone, String) {
    let [of_a, of_b] = names(comparison);
    let tone = match comparison.decision {
        ComparisonDecision::Better => Tone::Good,
        ComparisonDecision::WorseThanTolerance => Tone::Bad,
        ComparisonDecision::NoWorse | ComparisonDecision::Equivalent => Tone::Strong,
        ComparisonDecision::Undecided => Tone::Caution,
    };
    let Some((ratio, interval)) = ratio(comparison) else {
        let lacking: Vec<&str> = [(&comparison.a.search, "A"), (&b.search, "B")]
            .iter()
            .filter(|(search, _)| search.interval.is_none())
            .map(|(_, side)| *side)
            .collect();
        let lacking = lacking.join(" and ");
        return (tone, format!("Inconclusive: the search on {lacking} found no rate with an interval."));
    };
    let shown = ratios::ratio(ratio, Some(interval));
    let size = ratios::size(ratio, Some(interval)).unwrap_or_else(|| ratios::value(ratio, Some(interval)));
    let sentence = match interval {
        (low, _) if low > 1.0 => format!("{of_b} sustains {size} more than {of_a}: {shown}."),
        (_, high) if high < 1.0 => format!("{of_b} sustains {size} less than {of_a}: {shown}."),
        _ => format!("Inconclusive: the rate of {of_b} is {shown} that of {of_a}."),
    };
    (tone, sentence)
}

fn ratio(comparison: &SearchComparison) -> Option<(f64, (f64, f64))> {
    let interval = comparison.interval?;
    Some((comparison.ratio?, (interval.low, interval.high)))
}

/// What the interval means for the tolerance.
fn meaning(comparison: &SearchComparison) -> Option<String> {
    let tolerance = percent(comparison.tolerance, 1.0);
    Some(match comparison.decision {
        ComparisonDecision::WorseThanTolerance => format!("That is worse than the tolerance of {tolerance}."),
        ComparisonDecision::Equivalent => format!("The difference is within the tolerance of {tolerance}."),
        ComparisonDecision::NoWorse => format!("It is no worse than the tolerance of {tolerance} allows."),
        ComparisonDecision::Undecided if comparison.interval.is_some() => {
            format!("Whether that is beyond the tolerance of {tolerance} is inconclusive. Increase --budget.")
        }
        ComparisonDecision::Undecided => "Increase --budget.".to_owned(),
        ComparisonDecision::Better => return None,
    })
}

fn forest(comparison: &SearchComparison) -> Forest {
    let row = match ratio(comparison) {
        None => ForestRow::unknown("highest rate", "unknown"),
        Some((ratio, interval)) => {
            let verdict = EffectVerdict::of(Some(interval), true);
            ForestRow::new("highest rate", ratio, Some(interval), verdict)
        }
    };
    Forest {
        title: "Highest rate that keeps the goals".to_owned(),
        caption: "B ÷ A, logarithmic, with the 95 % interval".to_owned(),
        rows: vec![row],
        tolerance: Some(comparison.tolerance),
        words: ["better", "worse", "inconclusive", "", "not judged"],
    }
}

/// A row for each side: its rate and what was nearest to its limit.
fn rates(sides: &[&SearchRecord; 2], names: &[String; 2]) -> Table {
    let rows = ["A", "B"]
        .into_iter()
        .zip(names)
        .zip(sides)
        .map(|((side, name), record)| (side, name.clone(), &record.search));
    let mut table = TableOf::new(rows);
    table.text("side", |(side, name, _)| format!("{side}: {name}"));
    table.column(Column::text("highest rate, tps"), |(_, _, search)| Cell::text(rate(search)));
    table.text("95 % interval", |(_, _, search)| {
        let interval =
            search.interval.map(|it| format!("{} … {}", words::rounded(it.low), words::rounded(it.high)));
        interval.unwrap_or_default()
    });
    table.text("limit", |(_, _, search)| {
        let nearest = search.nearest.map(|it| format!("{} {}", it.resource.name(), percent(it.share, 1.0)));
        nearest.unwrap_or_default()
    });
    table.figures("clients", |(_, _, search)| Cell::figure(Quantity::Count, f64::from(search.clients)));
    table.figures("trials", |(_, _, search)| {
        Cell::figure(Quantity::Count, search.loads.iter().map(|load| load.trials.len()).sum::<usize>() as f64)
    });
    Table { optional_columns: 2, ..table.table }
}

fn rate(search: &SearchResult) -> String {
    match (search.answer, search.rate_tps, search.broken_tps) {
        (SearchAnswer::Sustains, Some(rate), _) => words::rounded(rate),
        (SearchAnswer::BrokenAtLowest, _, Some(broken)) => format!("below {}", words::rounded(broken)),
        (_, Some(rate), _) => format!("at least {}", words::rounded(rate)),
        (_, None, Some(broken)) => format!("less than {}", words::rounded(broken)),
        (_, None, None) => "unknown".to_owned(),
    }
}

/// The share over the limit of each goal against the rate, for both sides.
fn shares(sides: &[&SearchRecord; 2], names: &[String; 2]) -> impl Iterator<Item = Chart> {
    let goals = &sides[1].search.goals;
    let chart = |(number, goal): (usize, &results::SearchGoal)| {
        let series = sides.iter().enumerate().map(|(side, record)| {
            let point = |load: &SearchLoad| {
                let share =
                    load.figures.goals.get(number).map(|count| count.share()).filter(|share| *share > 0.0);
                Point::new(load.figures.rate_tps, share.unwrap_or(f64::NAN))
            };
            let points = record.search.loads.iter().map(point).collect();
            let name = format!("{}: {}", if side == 0 { "A" } else { "B" }, names[side]);
            Series { has_dots: true, ..Series::new(name, Colour::Run(side), points) }
        });
        let x = Axis::new("rate, tps", Quantity::PerSecond);
        let allowed =
            Threshold { value: goal.allowed_share, label: format!("allowed by {}", words::goal(goal)) };
        let y = Axis::new("share over the limit", Quantity::Share)
            .logarithmic(true)
            .with_thresholds(vec![allowed]);
        let title = format!("Transactions over the limit of {}", words::goal(goal).replace(TIE, " "));
        let caption = "their share, logarithmic, against the rate; a load without any has no dot";
        Chart::new(title, caption, Plot::lines(x, y, series.collect()))
    };
    goals.iter().enumerate().map(chart).collect::<Vec<_>>().into_iter()
}

/// A row for each load of each side.
pub(super) fn rows<'a>(b: &'a SearchRecord, comparison: &'a SearchComparison) -> ValueTable<'a> {
    let of_side = |side: &'static str, record: &'a SearchRecord| {
        record
            .search
            .loads
            .iter()
            .map(move |load| std::iter::once(side.into()).chain(load_values(record, load)).collect())
    };
    let rows = of_side("A", &comparison.a).chain(of_side("B", b)).collect();
    ValueTable::new(COLUMNS, rows)
}

const COLUMNS: &str = "side,rate_tps,verdict,achieved_tps,over_share,allowed_share,p50_us,p99_us,p999_us,nearest_limit,nearest_share,trials";
