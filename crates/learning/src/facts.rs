//! Live tables as their catalogs and statistics describe them. `catalogs` reads them, `schema_text` writes the schema.
//! Pure values. Texts that are SQL come from the server, which quotes names and knows its search path.

use datagen::Description;

/// All that is learnt.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The same tables as the generators see them.
    pub description: Description,
    /// In the order of the description.
    pub tables: Vec<TableFacts>,
    /// CREATE SCHEMA, CREATE EXTENSION and CREATE TYPE.
    pub before: Vec<String>,
    /// CREATE INDEX, and ALTER TABLE with the foreign keys.
    pub after: Vec<String>,
    /// Objects that the schema does not have: their kind, and the sentence's end; and a name.
    pub left_out: Vec<(String, String)>,
}

/// A table that is learnt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableFacts {
    /// `pg_class.oid`.
    pub oid: u32,
    /// Its name as SQL, with its schema if the search path lacks it.
    pub sql_name: String,
    /// CREATE TABLE with the name, and the parent of a partition.
    pub head: String,
    /// Bounds of a partition, key of a partitioned table, parents, storage parameters.
    pub tail: String,
    /// Tables from which it inherits.
    pub depth: u32,
    /// Its columns and rows are those of its parent.
    pub is_partition: bool,
    /// Of `pg_class`, with those of partitions; `None` if PostgreSQL does not know it.
    pub rows: Option<u64>,
    pub columns: Vec<ColumnFacts>,
    /// Keys and conditions as SQL.
    pub constraints: Vec<String>,
}

/// A column with its row of `pg_stats`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnFacts {
    pub name: String,
    /// Name, type, default and NOT NULL as SQL.
    pub definition: String,
    pub sql_type: String,
    pub family: Family,
    pub not_null: bool,
    /// GENERATED ALWAYS AS (expression).
    pub is_generated: bool,
    /// `None` if PostgreSQL has none for the column.
    pub statistics: Option<Statistics>,
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

impl TableFacts {
    /// Whether PostgreSQL has statistics of a column.
    pub fn has_statistics(&self) -> bool {
        self.columns.iter().any(|column| column.statistics.is_some())
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
