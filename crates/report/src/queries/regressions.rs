//! Queries that are slower on side B of two query sets that were executed in turns: the answer in a sentence, a row for each
//! query, fields for JSON. The verdicts are those of `results::Regressions`.

use results::{QueryRegression, Regressions};
use stats::{FALSE_DISCOVERY_RATE, RegressionVerdict};

use super::comparison::{Compared, QueryRatio};
use super::{said, tables};
use crate::document::{Banner, Block, Cell, Column, Table, Tone};
use crate::figures::{TIE, as_asked, counted};
use crate::values::{Fields, fields};

/// Slower queries that the short sentence names.
const NAMED_IN_SHORT: usize = 3;

/// `3 %`.
fn limit(regressions: &Regressions) -> String {
    format!("{}{TIE}%", as_asked((regressions.limit * 1e6).round() / 1e4))
}

/// In reports and JUnit.
pub(crate) fn verdict_name(verdict: RegressionVerdict) -> &'static str {
    match verdict {
        RegressionVerdict::Slower => "slower",
        RegressionVerdict::NotSlower => "not slower",
        RegressionVerdict::Undecided => "undecided",
    }
}

/// `3 queries of 22 are slower on B by more than 3 %: q3, q5 and q9. 1 is undecided.`
pub(super) fn answer(regressions: &Regressions) -> Banner {
    let undecided = regressions.names(RegressionVerdict::Undecided);
    let mut text = slower_queries(regressions, usize::MAX) + ".";
    match undecided.as_slice() {
        [] => {}
        undecided => text += &format!(" Undecided: {}.", said::named(undecided)),
    }
    Banner::new(tone(regressions), text)
}

/// The same in one short sentence.
pub(super) fn in_short(regressions: &Regressions) -> String {
    let slower = slower_queries(regressions, NAMED_IN_SHORT);
    match regressions.names(RegressionVerdict::Undecided).len() {
        0 => format!("{slower}."),
        undecided => format!("{slower}; {undecided} undecided."),
    }
}

/// With so many names at most.
fn slower_queries(regressions: &Regressions, named_max: usize) -> String {
    let slower = regressions.names(RegressionVerdict::Slower);
    let limit = limit(regressions);
    let of = counted(regressions.queries.len() as u64, "query", "queries");
    let named = if slower.len() > named_max { String::new() } else { format!(": {}", said::named(&slower)) };
    match slower.len() {
        0 => format!("No query is found slower on B by more than {limit}"),
        1 => format!("1 of {of} is slower on B by more than {limit}{named}"),
        several => format!("{several} of {of} are slower on B by more than {limit}{named}"),
    }
}

pub(super) fn tone(regressions: &Regressions) -> Tone {
    let has = |verdict| !regressions.names(verdict).is_empty();
    match (has(RegressionVerdict::Slower), has(RegressionVerdict::Undecided)) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Caution,
        (false, false) => Tone::Good,
    }
}

/// The sentence of one query.
pub(crate) fn sentence(regressions: &Regressions, query: &QueryRegression) -> String {
    let verdict = verdict_name(query.result.verdict);
    let ratio = QueryRatio::in_turns(query).map_or(String::new(), |ratio| {
        format!(": {} {}", said::ratio(&ratio), said::bounds(&ratio)).trim_end().to_owned()
    });
    format!("{verdict} on B by more than {}{ratio}", limit(regressions))
}

/// The ratio of a query if it is slower.
pub(super) fn slower_on_b(regressions: &Regressions, query: &str) -> Option<QueryRatio> {
    let found = regressions.queries.iter().find(|found| found.query == query)?;
    (found.result.verdict == RegressionVerdict::Slower).then(|| QueryRatio::in_turns(found)).flatten()
}

pub(super) fn section(compared: &Compared<'_>) -> Vec<Block> {
    let (Some(regressions), [a, b]) = (&compared.regressions, compared.sets.as_slice()) else {
        return Vec::new();
    };
    let duration = |set: &super::comparison::ComparedSet<'_>, query: &QueryRegression| {
        let figures = set.figures.query(&query.query);
        tables::duration_cell(figures.and_then(|figures| compared.durations(figures)))
    };
    let ratio = |query| {
        let ratio = QueryRatio::in_turns(query);
        ratio.map_or_else(Cell::default, |ratio| {
            Cell::text(said::ratio(&ratio)).with_note(said::bounds(&ratio))
        })
    };
    let verdict = |query: &QueryRegression| {
        let tone = match query.result.verdict {
            RegressionVerdict::Slower => Tone::Bad,
            RegressionVerdict::NotSlower => Tone::Plain,
            RegressionVerdict::Undecided => Tone::Caution,
        };
        Cell::text(verdict_name(query.result.verdict)).with_tone(tone)
    };
    let table = Table::of(
        &regressions.queries,
        &[
            (Column::text("query"), &|it| Cell::text(&it.query)),
            (Column::figures("A"), &|it| duration(a, it)),
            (Column::figures("B"), &|it| duration(b, it)),
            (Column::figures("B ÷ A"), &|it| ratio(it)),
            (Column::figures("sequences"), &|it| Cell::text(it.sequences.to_string())),
            (Column::text("B is"), &|it| verdict(it)),
        ],
    );
    let words = format!(
        "Both sides executed each query in turns. B ÷ A is estimated from sequences of four executions by ranks, with its \
         95{TIE}% confidence interval for each query alone. A and B follow from it and from the geometric mean of all \
         executions but the first. The verdicts allow for the number of queries: on average, at most {:.0}{TIE}% of \
         the queries that are called slower are not slower by more than {}, and conversely.",
        100.0 * FALSE_DISCOVERY_RATE,
        limit(regressions)
    );
    vec![Block::Table(table), Block::quiet(words)]
}

/// For JSON; the limit is in per cent.
pub(super) fn fields(regressions: &Regressions) -> Fields<'_> {
    fields! {
        "limit" => 100.0 * regressions.limit,
        "false_discovery_rate" => FALSE_DISCOVERY_RATE,
        "slower" => regressions.names(RegressionVerdict::Slower),
        "undecided" => regressions.names(RegressionVerdict::Undecided),
        "queries" => regressions.queries.iter().map(of_query).collect::<Vec<_>>(),
    }
}

fn of_query(query: &QueryRegression) -> Fields<'_> {
    let ratio = QueryRatio::in_turns(query);
    let (low, high) = ratio.and_then(|ratio| ratio.interval).unzip();
    fields! {
        "query" => &query.query,
        "verdict" => verdict_name(query.result.verdict).replace(' ', "_"),
        "ratio" => ratio.map(|ratio| ratio.value),
        "low" => low,
        "high" => high,
        "bound" => ratio.and_then(|ratio| ratio.certainty.bound_name()),
        "sequences" => query.sequences,
        "p_slower" => query.result.p_slower,
        "p_not_slower" => query.result.p_not_slower,
    }
}

/// `query sets s1 and s2; show them again with: pgmeter report s1 s2`
pub fn stored_query_sets<T>(sets: &[(String, T)]) -> String {
    let numbers: Vec<&str> = sets.iter().filter_map(|(name, _)| name.rsplit(' ').next()).collect();
    let (what, them) = if numbers.len() == 1 { ("query set", "it") } else { ("query sets", "them") };
    format!("{what} {}; show {them} again with: pgmeter report {}", numbers.join(" and "), numbers.join(" "))
}
