//! Tables, columns, keys and types of a schema, the cases of rows that several CHECK constraints require together, and the
//! objects that directives belong to. Plain data, made by `described` and `cases`.

use super::bounds::Bounds;
use super::column_type::Type;
use super::names::Name;
use crate::description::Special;
use crate::error::Place;

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

/// What else a description says about a column.
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
    pub bounds: Bounds,
}

/// What a case requires from a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    Null,
    NotNull,
    /// One of these, as texts.
    Values(Vec<String>),
}

/// Columns, each once, with what is required from them.
pub(crate) type Case = Vec<(usize, Demand)>;

/// The cases of a table, and the constraints that they meet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cases {
    /// Empty: there are no such constraints.
    pub list: Vec<Case>,
    /// For the server, if the cases cannot be used.
    pub met: Judgement,
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
