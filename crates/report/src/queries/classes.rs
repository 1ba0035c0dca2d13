//! Query sets of many queries: reports show a row for each class, which is the name without the number at its end, and only
//! the slowest queries or those whose durations differ most. JSON and CSV have all queries.

use std::collections::HashSet;

use results::AnswerCheck;

use super::comparison::{Compared, ComparedSet, QueryRatio};
use super::figures::QueryFigures;
use super::tables::titles;
use crate::document::{Block, Cell, Column, Table, Tone};
use crate::figures::{TIE, count, factor};
use crate::metrics::Quantity;

/// Most queries that have a row each.
pub(crate) const ROWS_MAX: usize = 200;
/// Queries of a large set that have a row: the slowest ones of one set, or the ends of the sorted ratios of several.
const SLOWEST: usize = 15;
const ENDS: usize = 8;

/// The name of a query without the number at its end, such as `phrase` of `phrase_00017`.
pub(crate) fn class_of(name: &str) -> &str {
    let class = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let class = class.trim_end_matches(['_', '-', '.']);
    if class.is_empty() { name } else { class }
}

/// The queries that have a row each; `None` if all of them have.
pub(super) fn with_few_queries<'a>(compared: &Compared<'a>) -> Option<Compared<'a>> {
    if compared.names.len() <= ROWS_MAX {
        return None;
    }
    let names: Vec<&str> = match compared.sets.as_slice() {
        [only] => {
            let mean =
                |query: &QueryFigures| compared.durations(query).map_or(0.0, |durations| durations.us.mean);
            let mut all: Vec<&QueryFigures> = only.figures.queries.iter().collect();
            all.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
            all.iter().take(SLOWEST).map(|query| query.name.as_str()).collect()
        }
        sets => {
            let ends = |set| {
                let names: Vec<&str> =
                    sorted_ratios(compared, set, None).iter().map(|(name, _)| *name).collect();
                let last = names.len().saturating_sub(ENDS).max(ENDS.min(names.len()));
                names[..ENDS.min(names.len())].iter().chain(&names[last..]).copied().collect::<Vec<&str>>()
            };
            let mut known = HashSet::new();
            sets.iter().skip(1).flat_map(ends).filter(|name| known.insert(*name)).collect()
        }
    };
    Some(compared.only(&names))
}

/// The ratios of a class or of all queries, the greatest first.
fn sorted_ratios<'c>(
    compared: &'c Compared<'_>,
    set: &ComparedSet<'_>,
    class: Option<&str>,
) -> Vec<(&'c str, QueryRatio)> {
    let pairs = compared.names.iter().zip(&set.ratios);
    let pairs = pairs.filter(|(name, _)| class.is_none_or(|class| class_of(name) == class));
    let mut ratios: Vec<_> = pairs.filter_map(|(name, ratio)| Some((name.as_str(), (*ratio)?))).collect();
    ratios.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    ratios
}

/// The tables of the classes, and a sentence about the queries below them; nothing if all queries have a row.
pub(super) fn tables(all: &Compared<'_>, rows: &Compared<'_>, title_len_max: usize) -> Vec<Block> {
    if all.names.len() <= ROWS_MAX {
        return Vec::new();
    }
    let mut classes: Vec<&str> = all.names.iter().map(|name| class_of(name)).collect();
    classes.sort_unstable();
    classes.dedup();
    let table = match all.sets.as_slice() {
        [only] => of_one(all, only, &classes),
        _ => of_several(all, &classes, title_len_max),
    };
    let shown = count(rows.names.len() as u64);
    let which = match all.sets.len() {
        1 => format!("The {shown} slowest of {} queries:", count(all.names.len() as u64)),
        _ => format!(
            "The {shown} of {} queries with the greatest and the smallest ratios:",
            count(all.names.len() as u64)
        ),
    };
    let files = "The formats csv and json have all queries.";
    vec![Block::Table(table), Block::quiet(files), Block::Paragraph(Tone::Plain, which)]
}

/// A value of sorted ones below which this share of them is; `None` of none.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below the length")]
    let at = (share * last as f64).round() as usize;
    sorted.get(at).copied()
}

fn of_one(compared: &Compared<'_>, set: &ComparedSet<'_>, classes: &[&str]) -> Table {
    let has_answers = set.figures.queries.iter().any(|query| query.answer.is_some());
    let titles = ["queries", "total", "median", "p95", "max", "rows"];
    let columns = std::iter::once(Column::text("class")).chain(titles.map(Column::figures));
    let columns = columns.chain(has_answers.then(|| Column::text("answers"))).collect();
    let row = |class: Option<&str>| {
        let is_own = |query: &&QueryFigures| class.is_none_or(|class| class_of(&query.name) == class);
        let queries: Vec<&QueryFigures> = set.figures.queries.iter().filter(is_own).collect();
        let mean = |query: &&QueryFigures| Some(compared.durations(query)?.us.mean);
        let mut means: Vec<f64> = queries.iter().filter_map(mean).collect();
        means.sort_by(f64::total_cmp);
        let total: f64 = means.iter().sum();
        let mut row = vec![
            Cell::text(class.unwrap_or("all")),
            Cell::figure(Quantity::Count, queries.len() as f64),
            Cell::figure(Quantity::Microseconds, total),
        ];
        row.extend(
            [0.5, 0.95, 1.0].map(|share| Cell::figure_if(Quantity::Microseconds, quantile(&means, share))),
        );
        let rows: f64 = queries.iter().filter_map(|query| query.rows()).map(|rows| rows as f64).sum();
        row.push(Cell::figure(Quantity::Count, rows));
        row.extend(has_answers.then(|| answers(&queries)));
        row
    };
    let rows = classes.iter().map(|class| Some(*class)).chain([None]).map(row).collect();
    Table { columns, rows, ..Table::default() }
}

/// `1,200 equal, 3 different`
fn answers(queries: &[&QueryFigures]) -> Cell {
    let number = |is: fn(&AnswerCheck) -> bool| {
        queries.iter().filter(|query| query.answer.as_ref().is_some_and(is)).count() as u64
    };
    let different = number(|answer| matches!(answer, AnswerCheck::Different { .. }));
    let numbers = [
        (number(|answer| matches!(answer, AnswerCheck::Equal)), "equal"),
        (different, "different"),
        (number(|answer| matches!(answer, AnswerCheck::Unknown)), "unknown"),
    ];
    let told: Vec<String> = (numbers.iter().filter(|(number, _)| *number > 0))
        .map(|(number, what)| format!("{}{TIE}{what}", count(*number)))
        .collect();
    Cell::text(told.join(", ")).with_tone(if different > 0 { Tone::Bad } else { Tone::Plain })
}

/// The total of each set, and for each but the first the median of the ratios with the range of most of them.
fn of_several(compared: &Compared<'_>, classes: &[&str], title_len_max: usize) -> Table {
    let titles = titles(compared, title_len_max);
    let mut columns = vec![Column::text("class"), Column::figures("queries")];
    columns.extend(titles.iter().map(Column::figures));
    let ratio_title = |title: &String| match compared.sets.len() {
        2 => "median ratio (5 % … 95 %)".to_owned(),
        _ => format!("× {title}"),
    };
    columns.extend(titles.iter().skip(1).map(|title| Column::figures(ratio_title(title))));
    let row = |class: Option<&str>| {
        let is_own = |name: &&String| class.is_none_or(|class| class_of(name) == class);
        let names: Vec<&String> = compared.names.iter().filter(is_own).collect();
        let total = |set: &ComparedSet<'_>| {
            let mean = |name: &&String| Some(compared.durations(set.figures.query(name)?)?.us.mean);
            Cell::figure(Quantity::Microseconds, names.iter().filter_map(mean).sum())
        };
        let ratio = |set: &ComparedSet<'_>| {
            let ratios = sorted_ratios(compared, set, class);
            let ascending: Vec<f64> = ratios.iter().rev().map(|(_, ratio)| ratio.value).collect();
            let [low, median, high] = [0.05, 0.5, 0.95].map(|share| quantile(&ascending, share));
            let Some(median) = median else { return Cell::text("-") };
            let range = low.zip(high).map(|(low, high)| format!("({} … {})", factor(low), factor(high)));
            Cell::text(format!("×{TIE}{}", factor(median))).with_note(range.unwrap_or_default())
        };
        let mut row =
            vec![Cell::text(class.unwrap_or("all")), Cell::figure(Quantity::Count, names.len() as f64)];
        row.extend(compared.sets.iter().map(total));
        row.extend(compared.sets.iter().skip(1).map(ratio));
        row
    };
    let rows = classes.iter().map(|class| Some(*class)).chain([None]).map(row).collect();
    Table { columns, rows, ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_a_name_without_its_number() {
        let classes = ["phrase_00017", "and02_00001", "q7", "12", "common_rare_3", "a.b-1"].map(class_of);
        assert_eq!(classes, ["phrase", "and02", "q", "12", "common_rare", "a.b"]);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            [0.0, 0.5, 0.95, 1.0].map(|share| quantile(&sorted, share)),
            [1.0, 51.0, 95.0, 100.0].map(Some)
        );
        assert_eq!(quantile(&[], 0.5), None);
    }
}
