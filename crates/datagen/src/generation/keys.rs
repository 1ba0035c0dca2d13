//! Foreign keys and unique constraints of a table: which foreign key gives a column its values, and how rows are kept
//! different without memory of earlier rows.
//!
//! The values of a unique constraint are the digits of a mixed-radix number, one digit for each column with as many
//! values as its generator has. A permutation of these numbers gives each row its own.

use std::sync::Arc;

use crate::error::{Checked, Fault};
use crate::generator::{Node, Rank, RankOrder, Sub, Weighted, key_of};
use crate::schema::{ForeignKey, Schema, Table, Unique};

/// Constraints by column.
pub(crate) struct Keys {
    /// The foreign key that gives the column its values, and the position in it.
    pub governing: Vec<Option<(usize, usize)>>,
    /// Unique by itself.
    pub unique: Vec<bool>,
    /// A foreign key references the column, so that it has no NULL.
    pub referenced: Vec<bool>,
}

impl Keys {
    pub fn new(schema: &Schema, index: usize) -> Checked<Self> {
        let table = &schema.tables[index];
        let mut governing: Vec<Option<(usize, usize)>> = vec![None; table.columns.len()];
        let mut order: Vec<usize> = (0..table.foreign_keys.len()).collect();
        order.sort_by_key(|key| std::cmp::Reverse(table.foreign_keys[*key].columns.len()));
        for number in order {
            let key = &table.foreign_keys[number];
            let taken: Vec<bool> = key.columns.iter().map(|column| governing[*column].is_some()).collect();
            // A reference of a column to itself says nothing.
            let itself = key.table == index && key.columns == key.referenced;
            if itself || (taken.iter().all(|taken| *taken) && is_implied(schema, table, &governing, key)) {
                continue;
            }
            if taken.iter().any(|taken| *taken) {
                let names: Vec<&str> =
                    key.columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
                let message = format!(
                    "a column of the foreign key ({}) takes its values from another foreign key, which does not imply this one; give the columns generators of their own",
                    names.join(", ")
                );
                let own = |column: &usize| {
                    schema.directives.columns[index][*column].generator().is_ok_and(|own| own.is_some())
                };
                if key.columns.iter().any(own) {
                    continue;
                }
                return Err(Fault::new(key.place, message));
            }
            for (position, column) in key.columns.iter().enumerate() {
                governing[*column] = Some((number, position));
            }
        }
        let mut unique = vec![false; table.columns.len()];
        for own in table.uniques.iter().filter(|own| own.distinct().len() == 1) {
            unique[own.distinct()[0]] = true;
        }
        let mut referenced = vec![false; table.columns.len()];
        for (from, own) in schema.tables.iter().enumerate() {
            let here = own.foreign_keys.iter().filter(|key| key.table == index);
            for key in here.filter(|key| from != index || key.columns != key.referenced) {
                key.referenced.iter().for_each(|column| referenced[*column] = true);
            }
        }
        Ok(Self { governing, unique, referenced })
    }

    /// Combinations of the other columns of a compound unique constraint, if foreign keys give them.
    pub fn others_in_compound(&self, table: &Table, column: usize, rows: &[u64]) -> Option<u64> {
        let unique =
            table.uniques.iter().find(|own| own.distinct().len() > 1 && own.distinct().contains(&column))?;
        let mut keys: Vec<usize> =
            unique.distinct().iter().filter_map(|column| Some(self.governing[*column]?.0)).collect();
        keys.sort_unstable();
        keys.dedup();
        let counts = keys.iter().map(|key| rows[table.foreign_keys[*key].table]);
        (!keys.is_empty()).then(|| counts.fold(1, u64::saturating_mul))
    }
}

/// Whether the values that the columns take meet this foreign key, too: the referenced columns reference its table
/// themselves, as `partsupp(partkey)` does for `lineitem(partkey)`.
fn is_implied(
    schema: &Schema,
    table: &Table,
    governing: &[Option<(usize, usize)>],
    key: &ForeignKey,
) -> bool {
    let through: Option<Vec<(usize, usize)>> = key.columns.iter().map(|column| governing[*column]).collect();
    let Some(through) = through else { return false };
    let Some((first, _)) = through.first() else { return false };
    if through.iter().any(|(other, _)| other != first) {
        return false;
    }
    let middle_key = &table.foreign_keys[*first];
    let middle: Vec<usize> = through.iter().map(|(_, position)| middle_key.referenced[*position]).collect();
    if middle_key.table == key.table && middle == key.referenced {
        return true;
    }
    let references = |own: &ForeignKey| {
        let pairs = middle.iter().zip(&key.referenced);
        own.table == key.table
            && pairs.clone().all(|(from, to)| {
                own.columns
                    .iter()
                    .zip(&own.referenced)
                    .any(|(column, referenced)| column == from && referenced == to)
            })
    };
    schema.tables[middle_key.table].foreign_keys.iter().any(references)
}

/// A column, or the columns of a compound foreign key, that take one digit.
struct Unit {
    columns: Vec<usize>,
    count: u64,
}

/// The digits of the columns that a unique constraint needs.
pub(crate) fn unique_ranks(
    table: &Table,
    keys: &Keys,
    nodes: &[Option<Node>],
    rows: u64,
    table_key: u64,
) -> Checked<Vec<Option<Rank>>> {
    let mut ranks: Vec<Option<Rank>> = vec![None; table.columns.len()];
    // Sets of columns that differ in every row.
    let mut distinct: Vec<Vec<usize>> = Vec::new();
    for (column, node) in nodes.iter().enumerate() {
        if node.as_ref().is_some_and(|node| node.is_serial(rows)) {
            distinct.push(vec![column]);
        }
    }
    let mut uniques: Vec<&Unique> = table.uniques.iter().collect();
    uniques.sort_by_key(|unique| unique.columns.len());
    for unique in uniques {
        let computed = unique.distinct().iter().any(|column| table.columns[*column].computed);
        let met = distinct.iter().any(|set| set.iter().all(|column| unique.distinct().contains(column)));
        if met || computed || rows <= 1 {
            continue;
        }
        let mut units = units(table, keys, nodes, unique, &ranks);
        let names: Vec<&str> =
            unique.distinct().iter().map(|column| table.columns[*column].name.as_str()).collect();
        let possible = units.iter().map(|unit| unit.count).fold(1, u64::saturating_mul);
        if possible < rows {
            return Err(too_few(table, unique, &names, rows, possible));
        }
        for unit in &units {
            let skewed =
                unit.columns.iter().find(|column| nodes[**column].as_ref().is_some_and(Node::is_skewed));
            if let Some(column) = skewed.filter(|_| unit.count > 1) {
                let own = &table.columns[*column];
                let message = format!(
                    "the column {} is part of the unique constraint ({}). Its values are enumerated, so that none repeats, and cannot follow this distribution; use sub=uniform",
                    own.name,
                    names.join(", ")
                );
                return Err(Fault::new(own.place, message));
            }
        }
        let size = possible.min(i64::MAX.cast_unsigned());
        let seed = key_of(table_key, &names.join(",")).cast_signed();
        if possible == size {
            // The column whose order counts most changes most slowly.
            units.sort_by_key(|unit| weighted(unit, nodes).map(Weighted::in_place));
        }
        let order = weighted_order(&units, nodes, size).unwrap_or(RankOrder::Permutation { size, seed });
        let used = assign(&mut ranks, units, size, &order);
        distinct.push(used);
    }
    Ok(ranks)
}

fn units(
    table: &Table,
    keys: &Keys,
    nodes: &[Option<Node>],
    unique: &Unique,
    ranks: &[Option<Rank>],
) -> Vec<Unit> {
    let mut units: Vec<(Option<usize>, Unit)> = Vec::new();
    for &column in unique.distinct() {
        let Some(node) = nodes[column].as_ref() else { continue };
        if ranks[column].is_some() {
            continue;
        }
        let foreign_key = keys.governing[column].map(|(key, _)| key).filter(|_| node.is_reference());
        if let Some(foreign_key) = foreign_key {
            if units.iter().any(|(own, _)| *own == Some(foreign_key)) {
                continue;
            }
            let whole = &table.foreign_keys[foreign_key].columns;
            // Part of a compound key: rows that differ may have the same value in this column.
            let complete = whole.iter().all(|column| unique.distinct().contains(column));
            let count = if complete { node.count() } else { 1 };
            units.push((Some(foreign_key), Unit { columns: whole.clone(), count }));
        } else {
            units.push((None, Unit { columns: vec![column], count: node.count() }));
        }
    }
    let mut units: Vec<Unit> =
        units.into_iter().map(|(_, unit)| unit).filter(|unit| unit.count > 1).collect();
    // The largest comes last: its values are the ones that may be left out if there are too many combinations.
    units.sort_by_key(|unit| unit.count);
    units
}

/// The order that `sub=weighted` of a column asks for.
fn weighted_order(units: &[Unit], nodes: &[Option<Node>], size: u64) -> Option<RankOrder> {
    let own = units.iter().rev().find_map(|unit| weighted(unit, nodes))?;
    Some(RankOrder::Weighted(Arc::new(own.resized(size))))
}

fn weighted<'a>(unit: &Unit, nodes: &'a [Option<Node>]) -> Option<&'a Weighted> {
    unit.columns.iter().find_map(|column| match &nodes[*column].as_ref()?.draw()?.sub {
        Sub::Weighted(weighted) => Some(&**weighted),
        _ => None,
    })
}

/// Gives each unit its digit; returns the columns.
fn assign(ranks: &mut [Option<Rank>], units: Vec<Unit>, size: u64, order: &RankOrder) -> Vec<usize> {
    let mut divisor = 1_u64;
    let mut used = Vec::new();
    for unit in units {
        let radix = unit.count.min(size / divisor).max(1);
        for &column in &unit.columns {
            ranks[column] = Some(Rank { order: order.clone(), divisor, radix });
        }
        used.extend(unit.columns);
        divisor = divisor.saturating_mul(radix);
    }
    used
}

fn too_few(table: &Table, unique: &Unique, names: &[&str], rows: u64, possible: u64) -> Fault {
    let what = if unique.primary { "primary key" } else { "unique constraint" };
    let name = table.name.plain();
    let names = names.join(", ");
    let message = if possible <= 1 {
        format!(
            "the {what} ({names}) of {name} needs {rows} different values, and the generators of its columns cannot enumerate theirs; use int, string, word, pattern or uuid"
        )
    } else {
        format!(
            "the {what} ({names}) of {name} needs {rows} different values, and only {possible} are possible; give the columns more values, or the table fewer rows"
        )
    };
    Fault::new(unique.place, message)
}
