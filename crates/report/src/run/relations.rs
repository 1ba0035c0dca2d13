//! The tables and indexes of a run's statements, and what of them differs between runs: an index that was made between
//! two runs is named there. Used by `document` and `settings`.

use std::collections::{BTreeMap, BTreeSet};

use results::{Index, Record, Relation, Relations, StatementPlace};

use super::Run;
use crate::document::{Block, Cell, Column, Table};
use crate::figures::{count, counted};
use crate::metrics::Quantity;
use crate::prose::{cut, enumerate, escaped_line};

/// Characters of a definition that differs.
const DEFINITION_LENGTH_MAX: usize = 160;
/// Estimates of rows that differ by less are the same: statistics are samples.
const ROWS_RATIO_MIN: f64 = 1.1;
/// Statements that are named.
const PLACES_MAX: usize = 5;

/// Of what runs differ in: what it is, and its value in each run.
pub(super) type SettingDifference = (String, Vec<String>);

/// The tables and their indexes, and the statements of which they are not known.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let Some(Relations { tables, unknown }) = &record.relations else { return Vec::new() };
    let mut blocks = Vec::new();
    if !tables.is_empty() {
        let columns = ["rows", "dead", "size"].map(Column::figures);
        let columns = std::iter::once(Column::text("table or index")).chain(columns);
        let columns = columns.chain(["analyzed, UTC", "definition"].map(Column::text)).collect();
        let rows = tables
            .iter()
            .flat_map(|table| std::iter::once(table_row(table)).chain(table.indexes.iter().map(index_row)));
        blocks.push(Block::Table(Table { columns, rows: rows.collect(), ..Table::default() }));
    }
    if !unknown.is_empty() {
        let place = |StatementPlace { script, line }: &StatementPlace| {
            let script = usize::try_from(*script).ok().and_then(|at| record.plan.scripts.get(at));
            format!("{}:{line}", script.map(|script| escaped_line(&script.description)).unwrap_or_default())
        };
        let mut places: Vec<String> = unknown.iter().take(PLACES_MAX).map(place).collect();
        if unknown.len() > PLACES_MAX {
            places.push(format!("{} more", unknown.len() - PLACES_MAX));
        }
        let text = format!("The tables of these statements are not known: {}.", enumerate(&places));
        blocks.push(Block::quiet(text));
    }
    blocks
}

fn table_row(table: &Relation) -> Vec<Cell> {
    let Relation { name, kind, definition, options, partitions, bytes, rows, dead_rows, analyzed_at, .. } =
        table;
    let number = |number: &Option<u64>| Cell::figure_if(Quantity::Count, number.map(|number| number as f64));
    let partitions = (*partitions > 0).then(|| counted((*partitions).into(), "partition", "partitions"));
    let options = options.as_ref().map(|options| escaped_line(options.as_str()));
    let notes: Vec<String> =
        std::iter::once(kind.name().to_owned()).chain(partitions).chain(options).collect();
    let analyzed = analyzed_at
        .map_or("never".to_owned(), |at| at.to_string().get(..16).unwrap_or_default().replace('T', " "));
    vec![
        Cell::text(escaped_line(name.as_str())).with_note(notes.join(", ")),
        number(rows),
        number(dead_rows),
        Cell::figure_if(Quantity::Bytes, bytes.map(|bytes| bytes as f64)),
        if bytes.is_some() { Cell::text(analyzed) } else { Cell::default() },
        Cell::code(shown(definition.as_str())),
    ]
}

fn index_row(index: &Index) -> Vec<Cell> {
    let Index { name, definition, valid, bytes } = index;
    vec![
        Cell::text(escaped_line(name.as_str())).with_note(if *valid { "index" } else { "invalid index" }),
        Cell::default(),
        Cell::default(),
        Cell::figure_if(Quantity::Bytes, bytes.map(|bytes| bytes as f64)),
        Cell::default(),
        Cell::code(shown(definition.as_str())),
    ]
}

fn shown(definition: &str) -> String {
    cut(&escaped_line(definition), DEFINITION_LENGTH_MAX)
}

/// What differs of the tables that all runs use; empty if a run does not know its tables.
pub(super) fn differences(runs: &[Run<'_>]) -> Vec<SettingDifference> {
    let known = runs.iter().map(|run| run.record.relations.as_ref());
    let Some(known) = known.collect::<Option<Vec<&Relations>>>() else { return Vec::new() };
    let Some((first, others)) = known.split_first() else { return Vec::new() };
    let find = |relations: &'_ &Relations, name: &str| {
        relations.tables.iter().position(|table| table.name.as_str() == name)
    };
    let of_table = |table: &Relation| {
        let others = others.iter().map(|run| Some(&run.tables[find(run, table.name.as_str())?]));
        let tables: Option<Vec<&Relation>> = std::iter::once(Some(table)).chain(others).collect();
        tables.map(|tables| of_one_table(&tables)).unwrap_or_default()
    };
    first.tables.iter().flat_map(of_table).collect()
}

/// What differs of one table in several runs.
fn of_one_table(tables: &[&Relation]) -> Vec<SettingDifference> {
    let name = tables.first().map(|table| escaped_line(table.name.as_str())).unwrap_or_default();
    let facts: Vec<BTreeMap<String, String>> = tables.iter().map(|table| facts(table)).collect();
    let labels: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    let row = |label: &String, values: Vec<String>| {
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        differs.then(|| (label.clone(), values))
    };
    let of_label = |label: &String| {
        let values = facts.iter().map(|of_run| of_run.get(label).map_or("none".to_owned(), Clone::clone));
        row(label, values.collect())
    };
    let mut rows: Vec<SettingDifference> = labels.into_iter().filter_map(of_label).collect();
    let estimates: Option<Vec<u64>> = tables.iter().map(|table| table.rows).collect();
    if let Some(estimates) = estimates {
        let least = estimates.iter().min().copied().unwrap_or(0) as f64;
        let most = estimates.iter().max().copied().unwrap_or(0) as f64;
        if most > least * ROWS_RATIO_MIN {
            let values = estimates.iter().map(|rows| format!("about {}", count(*rows))).collect();
            rows.extend(row(&format!("rows of {name}"), values));
        }
    }
    rows
}

/// The definitions of a table and its indexes, by label.
fn facts(table: &Relation) -> BTreeMap<String, String> {
    let name = escaped_line(table.name.as_str());
    let indexes = table.indexes.iter().map(|Index { name, definition, valid, .. }| {
        let invalid = if *valid { "" } else { " (invalid)" };
        (format!("index {}", escaped_line(name.as_str())), shown(definition.as_str()) + invalid)
    });
    let options = table.options.as_ref().map(|options| escaped_line(options.as_str()));
    let analyzed = if table.analyzed_at.is_some() { "yes" } else { "never" };
    let of_table = [
        (format!("{} {name}", table.kind.name()), shown(table.definition.as_str())),
        (format!("storage parameters of {name}"), options.unwrap_or_else(|| "none".to_owned())),
        (format!("partitions of {name}"), count(table.partitions.into())),
        (format!("{name} analyzed"), analyzed.to_owned()),
    ];
    of_table.into_iter().chain(indexes).collect()
}

#[cfg(test)]
mod tests {
    use results::{RelationKind, SafeText};

    use super::*;

    fn table(rows: Option<u64>, indexes: &[(&str, &str)]) -> Relation {
        let index = |(name, definition): &(&str, &str)| Index {
            name: SafeText::from(*name),
            definition: SafeText::from(*definition),
            valid: true,
            bytes: Some(8_192),
        };
        Relation {
            name: "public.t".into(),
            kind: RelationKind::Table,
            definition: "id integer not null".into(),
            options: None,
            partitions: 0,
            bytes: Some(8_192),
            rows,
            pages: Some(1),
            dead_rows: Some(0),
            changed_rows: Some(0),
            analyzed_at: None,
            indexes: indexes.iter().map(index).collect(),
        }
    }

    #[test]
    fn an_index_that_only_one_run_had_is_named_with_its_definition() {
        let definition = "CREATE INDEX t_id ON public.t USING btree (id)";
        let (before, after) = (table(Some(1_000), &[]), table(Some(1_050), &[("public.t_id", definition)]));
        let expected = ("index public.t_id".to_owned(), vec!["none".to_owned(), definition.to_owned()]);
        assert_eq!(of_one_table(&[&before, &after]), [expected]);
        assert_eq!(of_one_table(&[&before, &before]), []);
    }

    #[test]
    fn tables_of_other_sizes_and_options_differ() {
        let before = table(Some(1_000), &[]);
        let after = Relation { options: Some("fillfactor=90".into()), ..table(Some(2_000), &[]) };
        let names: Vec<String> = of_one_table(&[&before, &after]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["storage parameters of public.t", "rows of public.t"]);
    }
}
