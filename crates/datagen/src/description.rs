//! What the catalogs of a server say about a schema, as plain data: its tables, columns, keys, conditions and types.
//! The caller reads it from a server.

/// All tables and types that the statements of a schema have made, and what they refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// In the order of their creation. Tables that are only referenced come too, with their rows in `kept`.
    pub tables: Vec<TableDescription>,
    /// Types that columns have, and the types of these.
    pub types: Vec<TypeDescription>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDescription {
    /// `None`: the search path at the end of the schema finds the table without it.
    pub schema: Option<String>,
    /// Without quotes.
    pub name: String,
    /// Always with its schema, as SQL.
    pub relation: String,
    /// In their order.
    pub columns: Vec<ColumnDescription>,
    /// Primary keys, unique constraints, unique indexes and exclusion constraints.
    pub keys: Vec<KeyDescription>,
    /// Foreign keys.
    pub foreign_keys: Vec<ReferenceDescription>,
    /// CHECK constraints.
    pub checks: Vec<CheckDescription>,
    /// Its own partitioning and that of its partitions; empty if it is not partitioned.
    pub partitioning: Vec<Partitioning>,
    /// Whether it has no rows of its own, but partitions.
    pub is_partitioned: bool,
    /// Another table gets its rows.
    pub is_partition: bool,
    /// The rows that the schema itself inserts, or that were there before: nothing is generated for this table.
    pub kept: Option<KeptRows>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Without quotes.
    pub name: String,
    /// As `format_type` writes it if the search path finds nothing but `pg_catalog`.
    pub type_name: String,
    /// NOT NULL, or part of a primary key.
    pub not_null: bool,
    /// Its default takes the next value of a sequence, or it is an identity column.
    pub sequence: bool,
    /// GENERATED ALWAYS AS (expression).
    pub computed: bool,
    /// Whether it has any default.
    pub has_default: bool,
}

/// A primary key, a unique constraint or index, or an exclusion constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyDescription {
    /// Name of the constraint or index.
    pub name: String,
    /// Names of the columns, also of those in expressions.
    pub columns: Vec<String>,
    /// Whether it is the primary key.
    pub primary: bool,
    /// WITHOUT OVERLAPS: the last column is a range.
    pub temporal: bool,
    /// Why different values of the columns are not exactly what it requires.
    pub special: Option<Special>,
}

/// Forms of keys that are more, or less, than different values of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// An index with a condition: different values of the columns are enough.
    Partial,
    /// An index on expressions, or with equal NULLs: different values of the columns may give equal expressions.
    Expression,
    /// EXCLUDE.
    Exclusion,
}

/// A foreign key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceDescription {
    /// Name of the constraint.
    pub name: String,
    /// Columns of the table that has the key.
    pub columns: Vec<String>,
    /// Index of the referenced table in [`Description::tables`].
    pub table: usize,
    /// Its columns, in the order of `columns`.
    pub referenced: Vec<String>,
    /// MATCH FULL.
    pub full: bool,
}

/// A CHECK constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckDescription {
    /// Name of the constraint.
    pub name: String,
    /// As `pg_get_expr` writes it. In a domain, the value is `VALUE`.
    pub expression: String,
    /// Columns that it names; empty for a domain.
    pub columns: Vec<String>,
}

/// One level of a partitioning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitioning {
    /// The first column of the key; `None` for an expression.
    pub column: Option<String>,
    /// Bounds of the partitions as `pg_get_expr` writes them: `FOR VALUES IN (1)`, `DEFAULT`.
    pub bounds: Vec<String>,
}

/// A type of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDescription {
    /// As `format_type` writes it if the search path finds nothing but `pg_catalog`.
    pub name: String,
    /// What it is.
    pub kind: TypeKind,
}

/// Kinds of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// The labels of an enumeration.
    Enum(Vec<String>),
    /// The types of the fields.
    Composite(Vec<String>),
    /// A domain.
    Domain {
        /// The type below it, which may be a domain.
        base: String,
        /// NOT NULL.
        not_null: bool,
        /// Its constraints.
        checks: Vec<CheckDescription>,
    },
    /// A type of an extension, or of a C function, by its name alone: `citext`, `vector`.
    Base(String),
    /// A range type: the name of its subtype.
    Range(String),
}

/// Rows that are there before any row is generated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptRows {
    /// Columns that foreign keys refer to.
    pub columns: Vec<String>,
    /// Values of these columns as texts. If there are many rows, only some.
    pub rows: Vec<Vec<String>>,
}
