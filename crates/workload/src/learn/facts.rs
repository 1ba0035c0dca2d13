//! A live table as its catalogs and statistics describe it. `catalogs` reads it, `schema_text` writes the schema.
//! Pure values.

/// A table that is learnt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableFacts {
    /// `pg_class.oid`.
    pub oid: u32,
    /// As users write it: with its schema if the search path lacks it.
    pub name: String,
    /// The same as SQL.
    pub sql_name: String,
    /// `pg_class.reltuples`.
    pub rows: u64,
    pub columns: Vec<ColumnFacts>,
    pub constraints: Vec<Constraint>,
    /// CREATE TYPE of enumerations and composite types that the columns use, with `pg_type.oid`.
    pub types: Vec<(u32, String)>,
}

/// A column with its row of `pg_stats`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnFacts {
    pub name: String,
    /// Type as SQL; of a domain, its base type.
    pub sql_type: String,
    /// The same with its schema, unless that is `pg_catalog`.
    pub qualified_type: String,
    pub family: Family,
    pub not_null: bool,
    /// `None` if no sequence fills the column.
    pub sequence: Option<Sequence>,
    /// Name of the domain whose base type is `sql_type`.
    pub domain: Option<String>,
    /// The schema would not have its type.
    pub is_left_out: bool,
    /// Expression of a generated column, with STORED or VIRTUAL.
    pub generated: Option<String>,
    /// `None` if PostgreSQL has none for the column.
    pub statistics: Option<Statistics>,
}

/// Columns that a sequence fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    Serial,
    AlwaysIdentity,
    DefaultIdentity,
}

/// Kinds of types that need directives of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Family {
    Bool,
    Integer,
    /// With its scale, if it has one, and the decimal digits that it holds.
    Numeric {
        scale: u32,
        precision: Option<u32>,
    },
    Float,
    /// With its length limit in characters.
    Text {
        max: Option<u32>,
    },
    Date,
    Timestamp,
    Time,
    Interval,
    Uuid,
    Bytes,
    Inet,
    Enum,
    Json,
    Jsonb,
    /// With the bytes of an element of a fixed size, and the length limit of the type in characters.
    Array {
        element: Option<u32>,
        is_text: bool,
        max: Option<u32>,
    },
    /// The generator of the type, whatever it is.
    #[default]
    Other,
}

/// A row of `pg_stats`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    pub null_share: f64,
    /// Bytes, with the header of the value.
    pub average_width: u32,
    /// As in `pg_stats`: negative for a share of the rows, 0 if unknown.
    pub distinct: f64,
    pub correlation: Option<f64>,
    /// Shares of all rows, falling.
    pub common_shares: Vec<f64>,
    /// `elem_count_histogram` of an array: bounds, then the average.
    pub element_counts: Vec<f64>,
    /// With `--values`, or labels that the definition has: the values of the shares, sorted as the
    /// type does: positions in `common_shares`, and texts.
    pub common_values: Vec<(usize, String)>,
    /// With `--values`: least and greatest bound of the histogram.
    pub bounds: Option<(String, String)>,
}

/// A key or CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Constraint {
    pub kind: ConstraintKind,
    pub columns: Vec<String>,
    /// As `pg_get_constraintdef` writes it.
    pub definition: String,
    /// Of a foreign key: the referenced table, and its columns.
    pub referenced: Option<(u32, Vec<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintKind {
    PrimaryKey,
    /// Also a unique index without a condition.
    Unique,
    ForeignKey,
    Check,
}

impl TableFacts {
    /// Whether no two rows have the same value in the column.
    pub fn is_unique(&self, column: &str) -> bool {
        self.keys().any(|key| key.columns == [column])
    }

    /// Primary keys and unique constraints.
    pub fn keys(&self) -> impl Iterator<Item = &Constraint> {
        let is_key =
            |key: &&Constraint| matches!(key.kind, ConstraintKind::PrimaryKey | ConstraintKind::Unique);
        self.constraints.iter().filter(is_key)
    }

    /// Whether the column is in a compound key that none of its columns makes unique by itself.
    pub fn is_in_compound_key(&self, column: &str) -> bool {
        self.keys().any(|key| {
            key.columns.len() > 1
                && key.columns.iter().any(|own| own == column)
                && !key.columns.iter().any(|own| self.is_unique(own))
        })
    }
}

impl Statistics {
    /// Different values in a table with so many rows, at least 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; saturates"
    )]
    pub fn distinct_values(&self, rows: u64) -> u64 {
        let known = self.common_shares.len().max(1) as u64;
        let estimate = match self.distinct {
            0.0 => rows as f64,
            share if share < 0.0 => -share * rows as f64,
            number => number,
        };
        (estimate.round() as u64).clamp(1, rows.max(1)).max(known)
    }

    /// Shares among the values that are not NULL.
    pub fn weights(&self) -> Vec<f64> {
        let filled = (1.0 - self.null_share).max(f64::MIN_POSITIVE);
        self.common_shares.iter().map(|share| (share / filled).clamp(0.0, 1.0)).collect()
    }
}
