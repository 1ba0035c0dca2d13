//! The schema of a database as the generators see it: tables, columns, keys, and the directives that belong to them.
//! `split` cuts the text, `ddl` reads statements by an SQL parser, `bounds` reads CHECK constraints and partitions.

mod bounds;
mod column_type;
mod ddl;
mod order;
mod split;
mod tokens;

use crate::directive::{self, Directives};
use crate::error::{Error, Place};

pub(crate) use bounds::{Bounds, Limit};
pub(crate) use column_type::{Type, TypeName};
pub(crate) use order::loading_order;

/// A parsed schema.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) file: String,
    pub(crate) tables: Vec<Table>,
    pub(crate) types: Vec<NamedType>,
    pub(crate) directives: Directives,
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unique {
    pub columns: Vec<usize>,
    pub primary: bool,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    pub columns: Vec<usize>,
    pub table: usize,
    pub referenced: Vec<usize>,
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
}

/// CREATE TYPE and CREATE DOMAIN.
#[derive(Clone, Debug)]
pub(crate) struct NamedType {
    pub name: Name,
    pub kind: Type,
    pub not_null: bool,
    pub bounds: Bounds,
}

/// A name of a table or type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// `None` for the search path.
    pub schema: Option<String>,
    pub name: String,
}

impl Name {
    /// From parts with a dot, as `T=` and `--table` give them.
    pub fn read(text: &str) -> Self {
        match text.rsplit_once('.') {
            Some((schema, name)) => Self { schema: Some(schema.to_owned()), name: name.to_owned() },
            None => Self { schema: None, name: text.to_owned() },
        }
    }

    /// Whether `wanted` names this object: the schema counts only if both have one; `public` is the search path.
    pub fn matches(&self, wanted: &Self) -> bool {
        let schema = |name: &Self| name.schema.clone().filter(|schema| schema != "public");
        let same_schema = match (schema(self), schema(wanted)) {
            (Some(own), Some(wanted)) => own == wanted,
            (None, Some(_)) => self.schema.is_none() && wanted.schema.is_none(),
            (_, None) => true,
        };
        self.name == wanted.name && same_schema
    }

    /// As SQL, quoted where that is necessary.
    pub fn sql(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(&self.name)),
            None => quoted(&self.name),
        }
    }

    /// As users write it: `schema.table`.
    pub fn plain(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A name as SQL. Everything but plain lower-case names is quoted; keywords are, too, as quotes never hurt.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Schema {
    /// Reads a schema. `file` is the name for messages.
    ///
    /// # Errors
    /// Text that is not closed; a CREATE TABLE, TYPE or DOMAIN, a key or a directive that cannot be read.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        Self::read(text, file).map_err(|fault| fault.within(file))
    }

    fn read(text: &str, file: &str) -> crate::error::Checked<Self> {
        let pieces = split::split(text)?;
        let mut reader = ddl::Reader::default();
        let mut statements = Vec::with_capacity(pieces.statements.len());
        for piece in &pieces.statements {
            let kind = reader.statement(piece)?;
            statements.push(Statement { text: piece.text.to_owned(), line: piece.place.line, kind });
        }
        let ddl::Objects { tables, types, scopes } = reader.finish()?;
        let comments = pieces.comments.iter().map(|comment| (comment.place, comment.text));
        let directives = directive::attach(comments, &scopes, &tables)?;
        Ok(Self { file: file.to_owned(), tables, types, directives, statements })
    }

    /// All statements in their order, to be executed before the rows are loaded.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
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

/// Where directives in comments apply, from this place on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Schema,
    Table(usize),
    Column(usize, usize),
}
