//! The schema of a database as the generators see it: tables, columns, keys, and the directives that belong to them.
//! `described` takes what the catalogs of a server say; `split` cuts the text of the schema, whose comments are the
//! directives; `bounds`, `checks` and `partitions` read conditions; `table` is what they make.

mod bounds;
mod cases;
mod checks;
mod column_type;
mod described;
mod kinds;
mod names;
mod order;
mod partitions;
mod scopes;
mod source;
mod split;
mod table;
mod tokens;

use std::collections::BTreeMap;

use crate::directive::{self, Directives};
use crate::error::{Error, Fault, Place};

pub(crate) use bounds::{Bounds, Limit};
pub(crate) use checks::JSON;
pub(crate) use column_type::{NAMES as TYPE_NAMES, Type, TypeName};
pub use kinds::statements;
pub(crate) use names::{Name, find_text, split_column};
pub(crate) use order::{Cut, Order, loading_order};
pub(crate) use scopes::table_of;
pub(crate) use source::Origins;
pub use source::{Included, OwnDirective, ReadIncluded, Source, Unreadable};
pub(crate) use split::{Comment, Piece, Pieces};
pub use table::Judgement;
pub(crate) use table::{
    Case, Cases, Column, Demand, Described, ForeignKey, Kept, NamedType, Scope, Table, Unique,
};
pub(crate) use tokens::Tokens;

/// The tables of a schema with their directives.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) origins: Origins,
    pub(crate) tables: Vec<Table>,
    pub(crate) types: Vec<NamedType>,
    pub(crate) directives: Directives,
}

/// A statement of the schema, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Without its semicolon.
    pub text: String,
    /// Line of its first character, from 1.
    pub line: u32,
    /// Its purpose.
    pub kind: StatementKind,
}

/// Purposes of statements: a loader may execute keys and indexes after the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// CREATE TABLE, partitions too.
    Table,
    /// ALTER TABLE … ADD CONSTRAINT of a primary key or unique constraint.
    Key,
    /// ALTER TABLE … ADD CONSTRAINT … FOREIGN KEY.
    ForeignKey,
    /// CREATE INDEX.
    Index,
    /// All others.
    Other,
}

/// A foreign key, with all names as SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The table that has the key.
    pub table: String,
    /// Its rows, for FROM.
    pub rows: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The table that is referenced.
    pub referenced: String,
    /// Its rows, for FROM.
    pub referenced_rows: String,
    /// Its columns, in the order of `columns`.
    pub referenced_columns: Vec<String>,
    /// MATCH FULL.
    pub full: bool,
    /// All its columns may be NULL.
    pub nullable: bool,
}

impl Schema {
    /// The values that constraints permit in a column of the table at this index of the description; `None` if there is
    /// no such column.
    pub fn permitted(&self, table: usize, column: &str) -> Option<Permitted> {
        let column = self.tables.get(table)?.columns.iter().find(|own| own.name == column)?;
        let Bounds { values, min, max } = &column.bounds;
        let text = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.text.clone());
        let own = &column.described;
        // Lengths without a hint are those of texts that generators make anyway.
        let has_others = own.is_conditioned || own.hint.is_some() || own.base_type.is_some();
        let length = if let Type::Text { max, .. } = column.kind { max } else { None };
        Some(Permitted { values: values.clone(), min: text(min), max: text(max), length, has_others })
    }

    /// The number of rows of a table without `size` or `mult`, if the schema says so.
    pub fn size(&self) -> Option<i64> {
        self.directives.schema.integer("size")
    }

    /// Whether each table has a directive `size`, so that no other size has an effect.
    pub fn has_fixed_sizes(&self) -> bool {
        let pairs = self.tables.iter().zip(&self.directives.tables);
        let mut sized = pairs
            .filter(|(table, _)| !table.is_partition && table.kept.is_none())
            .map(|(_, settings)| settings.has("size"))
            .peekable();
        sized.peek().is_some() && sized.all(|is_sized| is_sized)
    }

    /// Sets the numbers of rows of tables, whatever their directives say.
    ///
    /// # Errors
    /// There is no such table, or it gets no rows of its own.
    pub fn set_rows(&mut self, rows: &BTreeMap<String, u64>) -> Result<(), Error> {
        for (name, count) in rows {
            let fault = |message| self.origins.error(Fault::new(Place::default(), message));
            let found = directive::table(name, &self.tables)
                .map_err(|message| fault(format!("rows of {name}: {message}")))?;
            let (table, settings) = (&self.tables[found], &mut self.directives.tables[found]);
            if table.is_partition || table.kept.is_some() || table.lacks_partitions {
                return Err(fault(format!("rows of {name}: this table gets no generated rows of its own")));
            }
            settings.list.retain(|own| !matches!(own.key, "size" | "mult"));
            let place = settings.place;
            settings.list.push(directive::Setting { key: "size", value: count.to_string(), place });
        }
        Ok(())
    }

    /// All foreign keys.
    pub fn references(&self) -> Vec<Reference> {
        let of_table = |table: &'_ Table| {
            table.foreign_keys.iter().map(|key| self.reference(table, key)).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }

    /// A foreign key of a table with all names as SQL.
    pub(crate) fn reference(&self, table: &Table, key: &ForeignKey) -> Reference {
        let referenced = &self.tables[key.table];
        let names = |columns: &[usize], table: &Table| {
            columns.iter().map(|column| sql::identifier(&table.columns[*column].name)).collect()
        };
        Reference {
            table: table.name.sql(),
            rows: table.rows_sql(),
            columns: names(&key.columns, table),
            referenced: referenced.name.sql(),
            referenced_rows: referenced.rows_sql(),
            referenced_columns: names(&key.referenced, referenced),
            full: key.full,
            nullable: key
                .columns
                .iter()
                .all(|own| !table.columns[*own].not_null && !table.columns[*own].computed),
        }
    }

    /// A type by its name in SQL: the schema's own types come before built-in ones.
    pub(crate) fn resolve(&self, sql: &str) -> NamedType {
        let name = TypeName::read(sql);
        let exact = Name::of_sql(sql.trim()).map(|(name, _)| name);
        let wanted = Name::read(&name.base);
        // The directive type is written without quotes.
        let matches = |own: &&NamedType| {
            let own = Name { schema: own.name.schema.clone(), name: own.name.name.to_lowercase() };
            own.matches(&wanted)
        };
        let is_exact = |own: &&NamedType| exact.as_ref().is_some_and(|name| own.name.matches(name));
        let own = self.types.iter().rev().find(is_exact).or_else(|| self.types.iter().rev().find(matches));
        let mut resolved = own.cloned().unwrap_or_else(|| NamedType {
            name: wanted.clone(),
            kind: Type::built_in(&name),
            bounds: Bounds::default(),
        });
        if name.array {
            resolved.kind = Type::Array(Box::new(resolved.kind));
        }
        resolved
    }
}

/// The table of this name.
pub(crate) fn find(tables: &[Table], wanted: &Name) -> Option<usize> {
    let exact = tables.iter().position(|table| table.name == *wanted);
    exact.or_else(|| tables.iter().position(|table| table.name.matches(wanted)))
}

/// Values that CHECK constraints of the usual forms permit, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permitted {
    /// All of them, if a constraint lists them.
    pub values: Option<Vec<String>>,
    /// The least one, which may itself be excluded.
    pub min: Option<String>,
    /// The greatest one, which may itself be excluded.
    pub max: Option<String>,
    /// Most characters of a text.
    pub length: Option<u32>,
    /// Other conditions depend on the value, too.
    pub has_others: bool,
}
