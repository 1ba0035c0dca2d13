//! Tables whose rows the server judges, because generated rows may violate a constraint: the conditions of the catalogs,
//! and rows that are drawn again for those that the server refuses.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use datagen::{Generation, Judgement, Options, Reference, Schema, TableRows};

use super::{copied_columns, table_name};
use crate::SchemaFiles;
use crate::loader::execution::{Judge, JudgedReference, LoadTable, RowSource, RowWriter};

/// The generations of a schema by the number of the attempt. Most tables need the first one only.
pub(super) struct Attempts {
    pub(super) schema: Schema,
    pub(super) options: Options,
    pub(super) files: SchemaFiles,
    pub(super) made: Mutex<BTreeMap<u32, Arc<Generation>>>,
}

impl Attempts {
    /// The rows of a table for an attempt; `None` if they cannot be made.
    fn rows(&self, attempt: u32, table: &str) -> Option<TableRows> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = match made.entry(attempt) {
            Entry::Occupied(made) => made.into_mut(),
            Entry::Vacant(place) => {
                let options = Options { attempt, ..self.options.clone() };
                place.insert(Arc::new(Generation::new(&self.schema, &options, &self.files).ok()?))
            }
        };
        generation.tables().iter().find(|rows| rows.sql_name() == table).cloned()
    }
}

/// The names of tables with their schemas, by their names in the schema's text, all as SQL.
pub(crate) type Relations = BTreeMap<String, String>;

/// A table that gets rows.
pub(super) fn load_table(rows: &TableRows, attempts: &Arc<Attempts>, relations: &Relations) -> LoadTable {
    let of_keys = |keys: &[Reference]| keys.iter().map(|key| reference(key.clone(), relations)).collect();
    let judge = |judgement: &Judgement| {
        let names = rows.columns().map(connect::quote::identifier);
        Arc::new(Judge {
            columns: names.zip(rows.column_types().map(str::to_owned)).collect(),
            conditions: judgement.conditions.clone(),
            references: of_keys(rows.references()),
            constraints: judgement.constraints.clone(),
            refusal: None,
            has_open_keys: !rows.open_references().is_empty(),
            primary_is_met: rows.primary_is_met(),
            is_directed: rows.is_directed(),
        })
    };
    // Rows that are left out have no number.
    let falls_back = rows.judgement().is_none() && !rows.skips();
    let fallback = falls_back.then(|| judge(&Judgement::default()));
    let source = Arc::new(JudgedRows { rows: rows.clone(), attempts: Arc::clone(attempts) });
    let mut references: Vec<JudgedReference> = of_keys(rows.references());
    references.extend::<Vec<_>>(of_keys(rows.open_references()));
    references.extend::<Vec<_>>(of_keys(rows.met_references()));
    LoadTable {
        table: table_name(&rows.sql_name()),
        columns: copied_columns(rows),
        source,
        judge: rows.judgement().map(judge),
        fallback,
        references,
    }
}

fn reference(key: Reference, relations: &Relations) -> JudgedReference {
    let Reference { table, columns, referenced, referenced_rows, referenced_columns, full, nullable, .. } =
        key;
    let only = if referenced_rows.starts_with("only ") { "only " } else { "" };
    let relation = relations.get(&referenced).unwrap_or(&referenced);
    JudgedReference {
        columns,
        referenced: format!("{only}{relation}"),
        referenced_columns,
        is_full: full,
        is_nullable: nullable,
        is_to_itself: table == referenced,
    }
}

/// Rows that can be drawn again.
struct JudgedRows {
    rows: TableRows,
    attempts: Arc<Attempts>,
}

impl fmt::Debug for JudgedRows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} rows of {}, judged", self.rows.rows(), self.rows.name())
    }
}

impl RowSource for JudgedRows {
    fn rows(&self) -> u64 {
        self.rows.rows()
    }

    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        super::writer(&self.rows, number, chunks)
    }

    fn write_again(&self, attempt: u32, rows: Range<u64>, out: &mut Vec<u8>) -> u64 {
        let end = rows.end.min(self.rows.rows());
        let written = if attempt == 0 {
            Some(self.rows.clone())
        } else {
            self.attempts.rows(attempt, &self.rows.sql_name())
        };
        let Some(table) = written else { return 0 };
        table.write_copy(rows.start..end, out);
        end.saturating_sub(rows.start)
    }
}
