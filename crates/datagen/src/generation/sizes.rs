//! Numbers of rows of tables without a directive for it: lookup tables stay small, and join tables grow with the tables
//! that they connect. All others have the common size.

use super::Common;
use crate::error::Faults;
use crate::schema::{Order, Schema, Table, Type, Unique};

/// Most rows of a lookup table.
const LOOK_UP_ROWS_MAX: u64 = 100;
/// Most columns of one.
const LOOK_UP_COLUMNS_MAX: usize = 4;
/// Most characters of its unique name.
const LOOK_UP_NAME_MAX: u32 = 32;
/// Rows of a join table for each row of the largest table that it connects.
const JOIN_FACTOR: u64 = 2;

/// The number of rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TableSize {
    pub rows: u64,
    /// Why it differs from that of other tables.
    pub reason: Option<String>,
}

/// The sizes of all tables.
pub(super) fn sizes(schema: &Schema, common: &Common, order: &Order, faults: &mut Faults) -> Vec<TableSize> {
    let mut sizes: Vec<TableSize> = (0..schema.tables.len())
        .map(|table| {
            let rows = faults.take(common.rows(schema, table)).unwrap_or_default();
            TableSize { rows, reason: None }
        })
        .collect();
    for &index in &order.tables {
        let table = &schema.tables[index];
        let settings = &schema.directives.tables[index];
        if settings.has("size") || settings.has("mult") || table.kept.is_some() || table.is_partition {
            continue;
        }
        if is_look_up(schema, index) {
            if sizes[index].rows > LOOK_UP_ROWS_MAX {
                let reason = format!("a lookup table has at most {LOOK_UP_ROWS_MAX} rows");
                sizes[index] = TableSize { rows: LOOK_UP_ROWS_MAX, reason: Some(reason) };
            }
        } else if let Some(parents) = joined(schema, index) {
            sizes[index] = join_size(schema, &parents, &sizes);
        }
    }
    sizes
}

/// Whether other tables refer to a table that has few columns, a short unique name and no foreign keys.
fn is_look_up(schema: &Schema, index: usize) -> bool {
    let table = &schema.tables[index];
    let is_name = |unique: &Unique| {
        let [column] = unique.columns[..] else { return false };
        let is_short = match &table.columns[column].kind {
            Type::Text { max: Some(max), .. } => *max <= LOOK_UP_NAME_MAX,
            kind => matches!(kind, Type::Enum(_)),
        };
        is_short && unique.special.is_none()
    };
    let refers =
        |(from, own): (usize, &Table)| from != index && own.foreign_keys.iter().any(|key| key.table == index);
    table.columns.len() <= LOOK_UP_COLUMNS_MAX
        && table.foreign_keys.is_empty()
        && table.uniques.iter().any(is_name)
        && schema.tables.iter().enumerate().any(|(from, own)| refers((from, own)))
}

/// The other tables that a table connects: one of its keys has columns of two or more foreign keys, and no others.
fn joined(schema: &Schema, index: usize) -> Option<Vec<usize>> {
    let table = &schema.tables[index];
    let is_free = |column: &usize| schema.directives.columns[index][*column].list.is_empty();
    let parents = |unique: &Unique| {
        let within = |column: &usize| unique.columns.contains(column);
        let keys = table.foreign_keys.iter().filter(|key| key.columns.iter().all(within));
        let keys: Vec<_> = keys.collect();
        let is_covered = |column: &usize| keys.iter().any(|key| key.columns.contains(column));
        let is_join = unique.special.is_none()
            && !unique.temporal
            && keys.len() > 1
            && keys.iter().all(|key| key.table != index)
            // Foreign keys that share columns allow fewer pairs, and so may directives.
            && unique.columns.len() == keys.iter().map(|key| key.columns.len()).sum::<usize>()
            && unique.columns.iter().all(|column| is_covered(column) && is_free(column));
        is_join.then(|| keys.iter().map(|key| key.table).collect())
    };
    table.uniques.iter().find_map(parents)
}

fn join_size(schema: &Schema, parents: &[usize], sizes: &[TableSize]) -> TableSize {
    let rows = |table: &usize| sizes[*table].rows;
    let product = parents.iter().map(rows).fold(1, u64::saturating_mul);
    let Some(&largest) = parents.iter().max_by_key(|table| rows(table)) else { return TableSize::default() };
    let twice = rows(&largest).saturating_mul(JOIN_FACTOR);
    let name = schema.tables[largest].name.plain();
    let reason = if product < twice {
        "a join table has at most all pairs of the rows that it connects".to_owned()
    } else {
        format!("a join table has twice the rows of {name}")
    };
    TableSize { rows: product.min(twice), reason: Some(reason) }
}
