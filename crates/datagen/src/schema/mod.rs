//! The schema of a database as the generators see it: tables, columns, keys, and the directives that belong to them.
//! `split` cuts the text, `ddl` reads statements by an SQL parser, and `described` takes what the catalogs of a server say;
//! `bounds`, `checks` and `partitions` read conditions.

mod bounds;
mod cases;
mod changes;
mod checks;
mod column_type;
mod ddl;
mod described;
mod kinds;
mod names;
mod order;
mod partitions;
mod parts;
mod scopes;
mod source;
mod split;
mod tokens;

use std::collections::BTreeMap;

use crate::description::Special;
use crate::directive::{self, Directives};
use crate::error::{Checked, Error, Fault, Place};

pub(crate) use bounds::{Bounds, Limit};
pub(crate) use cases::{Case, Cases, Demand};
pub(crate) use column_type::{NAMES as TYPE_NAMES, Type, TypeName};
pub use kinds::statements;
pub(crate) use names::{Name, find_text, quoted, split_column};
pub(crate) use order::{Cut, Order, loading_order};
pub(crate) use scopes::table_of;
pub(crate) use source::Origins;
pub use source::{Included, OwnDirective, ReadIncluded, Source, Unreadable};
pub(crate) use split::{Comment, Piece, Pieces};
pub(crate) use tokens::Tokens;

/// A parsed schema.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) origins: Origins,
    pub(crate) tables: Vec<Table>,
    pub(crate) types: Vec<NamedType>,
    pub(crate) directives: Directives,
    /// From the catalogs of a server, which judges what is not understood here.
    pub(crate) is_described: bool,
    /// Whether a constraint requires more than the bounds of its columns say.
    has_other_conditions: bool,
    statements: Vec<Statement>,
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

/// A table that gets rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Parts of the name: the schema, if it is given, and the table.
    pub name: Name,
    pub place: Place,
    pub columns: Vec<Column>,
    /// Columns of primary keys and unique constraints.
    pub uniques: Vec<Unique>,
    pub foreign_keys: Vec<ForeignKey>,
    /// Column of a range or list partitioning.
    pub partition_column: Option<usize>,
    /// Another table gets its rows.
    pub is_partition: bool,
    pub is_partitioned: bool,
    /// It is partitioned, and no partition takes rows.
    pub lacks_partitions: bool,
    /// Rows that are there already: none is generated.
    pub kept: Option<Kept>,
    /// Constraints that only the server understands completely.
    pub judgement: Option<Judgement>,
    /// Constraints that are met by a case for each row.
    pub cases: Cases,
}

/// Rows that a table has before any row is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Columns whose values are known.
    pub columns: Vec<usize>,
    pub rows: Vec<Vec<String>>,
}

/// Why the server must judge the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// SQL conditions (check expressions) that a row must meet.
    pub conditions: Vec<String>,
    /// Names of the constraints, for messages.
    pub constraints: Vec<String>,
}

impl Judgement {
    /// Adds the name of a constraint, once.
    pub(crate) fn add(&mut self, constraint: &str) {
        if !self.constraints.iter().any(|own| own == constraint) {
            self.constraints.push(constraint.to_owned());
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unique {
    /// Empty in schemas that are not described.
    pub name: String,
    pub columns: Vec<usize>,
    pub primary: bool,
    /// WITHOUT OVERLAPS: the last column is a range.
    pub temporal: bool,
    /// Different values of the columns are not exactly what it requires.
    pub special: Option<Special>,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    /// Empty in schemas that are not described.
    pub name: String,
    pub columns: Vec<usize>,
    pub table: usize,
    pub referenced: Vec<usize>,
    /// MATCH FULL: all columns of a row are NULL, or none is.
    pub full: bool,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub place: Place,
    pub kind: Type,
    /// Name of the type in SQL, for messages and for macros of composite types.
    pub type_name: String,
    pub not_null: bool,
    /// Filled by a sequence: serial or identity.
    pub sequence: bool,
    /// GENERATED ALWAYS AS (expression): PostgreSQL fills it.
    pub computed: bool,
    pub bounds: Bounds,
    pub described: Described,
}

/// What only a described schema says about a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    /// PostgreSQL fills it if COPY does not.
    pub has_default: bool,
    /// Directives that a CHECK constraint suggests.
    pub hint: Option<String>,
    /// Least and greatest length that the hint meets, if it is about lengths.
    pub lengths: Option<(u32, u32)>,
    /// A condition distinguishes NULL from other values, so both occur often.
    pub half_null: bool,
    /// Another condition names it.
    pub is_conditioned: bool,
    /// The type below a domain whose conditions the server judges.
    pub base_type: Option<String>,
}

impl Unique {
    pub fn new(columns: Vec<usize>, primary: bool, place: Place) -> Self {
        Self { columns, primary, place, ..Self::default() }
    }

    /// Columns whose values differ in every row. If the others of a temporal key differ, no ranges overlap.
    pub fn distinct(&self) -> &[usize] {
        &self.columns[..self.columns.len() - usize::from(self.temporal)]
    }
}

impl Table {
    /// Its own rows, for FROM: without those of tables that inherit from it, but with those of partitions.
    pub fn rows_sql(&self) -> String {
        let only = if self.is_partitioned { "" } else { "only " };
        format!("{only}{}", self.name.sql())
    }
}

/// CREATE TYPE and CREATE DOMAIN.
#[derive(Clone, Debug)]
pub(crate) struct NamedType {
    pub name: Name,
    pub kind: Type,
    pub not_null: bool,
    pub bounds: Bounds,
}

impl Schema {
    /// Reads a schema of one file. `file` is the name for messages.
    ///
    /// # Errors
    /// As [`Schema::of_source`].
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        Self::of_source(&Source::new(text, file))
    }

    /// Reads a schema.
    ///
    /// # Errors
    /// Text that is not closed; a CREATE TABLE, TYPE or DOMAIN, a key or a directive that cannot be read.
    pub fn of_source(source: &Source) -> Result<Self, Error> {
        source.placed(Self::read(source))
    }

    fn read(source: &Source) -> Checked<Self> {
        let pieces = split::split(source.text())?;
        let mut reader = ddl::Reader::default();
        let mut statements = Vec::with_capacity(pieces.statements.len());
        for piece in &pieces.statements {
            let kind = reader.statement(piece)?;
            statements.push(Statement { text: piece.text.to_owned(), line: piece.place.line, kind });
        }
        let ddl::Objects { tables, types, scopes, written, has_other_conditions } = reader.finish()?;
        let directives = directive::attach(&pieces, source, &scopes, &tables);
        directives.faults.clone().all()?;
        changes::check_written(&written, &tables, &directives)?;
        let origins = source.origins().clone();
        Ok(Self { origins, tables, types, directives, is_described: false, has_other_conditions, statements })
    }

    /// All statements in their order, to be executed before the rows are loaded.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Whether a constraint of the text requires more than its generators guarantee.
    pub fn has_other_conditions(&self) -> bool {
        self.has_other_conditions
    }

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
            columns.iter().map(|column| quoted(&table.columns[*column].name)).collect()
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

    /// A type by its name in SQL.
    pub(crate) fn resolve(&self, sql: &str) -> NamedType {
        ddl::resolve(&self.types, sql)
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

/// Where directives in comments apply, from this place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Schema,
    Table(usize),
    Column(usize, usize),
    /// Of a statement that is left out: its directives are ignored.
    LeftOut,
}
