//! Rows for a schema: the tables in loading order, with a generator for each column. Keys, unique constraints and
//! foreign keys are resolved here, before any row; `columns` compiles the columns of a table.

mod adaptation;
mod cases;
mod columns;
mod cycles;
mod explanation;
mod keys;
mod sizes;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Checked, Error, Fault, Faults, Place, nearest};
use crate::generator::{
    ColumnNode, Files, GeneratorDescription, Kind, bits, escape_copy, escape_csv, key_of, unit,
};
use crate::schema::{Cut, Judgement, Name, Order, Origins, Reference, Schema, find_text, loading_order};
use columns::{Compiled, Surroundings, TableCompiler};
use keys::Keys;

pub use explanation::{ColumnSummary, Explanation};

/// No files: directives that name one are errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, pattern: &str) -> Result<Vec<Vec<u8>>, String> {
        Err(format!("the file {pattern} cannot be read here"))
    }
}

/// What is set for a generation; each comes before the schema's own directive of the same name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Rows of a table without `mult` and `size`; 100 if nothing says otherwise.
    pub size: Option<f64>,
    /// Any text; the same text gives the same data.
    pub seed: Option<String>,
    /// Share of NULL in columns that allow it, 0.01 if nothing says otherwise.
    pub null: Option<f64>,
    /// First number of integers, 1 if nothing says otherwise.
    pub offset: Option<i64>,
    /// Draws values of judged tables again, 0 for the first time: columns that foreign keys refer to, and primary keys
    /// without a condition, keep their values.
    pub attempt: u32,
}

/// Rows of one schema.
#[derive(Clone, Debug)]
pub struct Generation {
    tables: Vec<TableRows>,
    origins: Origins,
    notes: Vec<String>,
}

/// Rows of one table. They can be written in any order and on any thread.
#[derive(Clone, Debug)]
pub struct TableRows {
    name: Name,
    rows_sql: String,
    rows: u64,
    columns: Vec<ColumnRows>,
    /// Share of rows that are left out.
    skip: f64,
    key: u64,
    fills: bool,
    judgement: Option<Judgement>,
    references: Vec<Reference>,
    open_references: Vec<Reference>,
    met_references: Vec<Reference>,
    primary_is_met: bool,
    is_directed: bool,
    size_reason: Option<String>,
}

#[derive(Clone, Debug)]
struct ColumnRows {
    name: String,
    node: Arc<ColumnNode>,
    sequence: bool,
    /// COPY fills it.
    copied: bool,
    type_name: String,
    /// The type of its values before the server judges them.
    loaded_type: String,
    description: GeneratorDescription,
}

/// A sequence behind a column, and the last value that the rows have taken from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The table as SQL.
    pub table: String,
    /// The column's name, without quotes.
    pub column: String,
    /// The next value of the sequence must be larger.
    pub last: i64,
}

impl Sequence {
    /// The statement that sets the sequence.
    pub fn sql(&self) -> String {
        format!(
            "SELECT pg_catalog.setval(own, least(greatest({}, minimum_value), maximum_value)) FROM (SELECT \
             pg_catalog.pg_get_serial_sequence({}, {})::pg_catalog.regclass AS own) s, \
             pg_catalog.pg_sequence_parameters(own) WHERE increment > 0",
            self.last,
            sql::literal(&self.table),
            sql::literal(&self.column)
        )
    }
}

/// The settings that all tables share.
struct Common {
    size: f64,
    null: f64,
    offset: i64,
    key: u64,
    attempt: u32,
}

/// Most rows of a table: row numbers must fit into the permutations' signed integers.
const ROWS_MAX: f64 = 1e15;

impl Generation {
    /// Compiles the generators of all tables.
    ///
    /// # Errors
    /// A directive without meaning, a unique constraint that cannot be met.
    pub fn new(schema: &Schema, options: &Options, files: &dyn Files) -> Result<Self, Error> {
        Self::compile(schema, options, files).map_err(|fault| schema.origins.error(fault))
    }

    fn compile(schema: &Schema, options: &Options, files: &dyn Files) -> Checked<Self> {
        let common = Common::new(schema, options)?;
        let order = loading_order(&schema.tables);
        let mut faults = schema.directives.faults.clone();
        let sizes = sizes::sizes(schema, &common, &order, &mut faults);
        let mut rows: Vec<u64> = sizes.iter().map(|size| size.rows).collect();
        let mut notes: Vec<String> = Vec::new();
        loop {
            let mut pass = Pass::new(schema, files, &common, &order, &rows);
            pass.run(&mut faults);
            faults.clone().all()?;
            let is_later = |cut: &Cut| {
                pass.rows[schema.tables[cut.table].foreign_keys[cut.key].table]
                    != rows[schema.tables[cut.table].foreign_keys[cut.key].table]
            };
            notes.retain(|note| !pass.notes.contains(note));
            notes.append(&mut pass.notes);
            // A cut key has taken rows of a table that has fewer now: numbers of rows only fall, so this ends.
            if !order.cut.iter().any(is_later) {
                for (built, size) in pass.built.iter_mut().zip(sizes) {
                    let is_as_planned = |table: &&mut TableRows| table.rows == size.rows;
                    if let Some(table) = built.as_mut().filter(is_as_planned) {
                        table.size_reason = size.reason;
                    }
                }
                let tables = pass.finish();
                return Ok(Self { tables, origins: schema.origins.clone(), notes });
            }
            rows = pass.rows;
        }
    }

    /// The name of the schema in messages.
    pub fn file(&self) -> &str {
        self.origins.file()
    }

    /// Sentences about tables that get other rows than asked for.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The tables that get rows, in loading order.
    pub fn tables(&self) -> &[TableRows] {
        &self.tables
    }

    /// The table of this name, with or without its schema.
    ///
    /// # Errors
    /// No table that gets rows has this name; the error names the nearest.
    pub fn table(&self, name: &str) -> Result<&TableRows, Error> {
        let found = find_text(self.tables.iter().map(|table| &table.name), name);
        found.map(|index| &self.tables[index]).ok_or_else(|| {
            let hint = nearest(name, self.tables.iter().map(|table| table.name.name.as_str()));
            let message = format!("the schema has no table {name} that gets rows{hint}");
            self.origins.error(Fault::new(Place::default(), message))
        })
    }
}

/// One compilation of all tables.
struct Pass<'a> {
    schema: &'a Schema,
    files: &'a dyn Files,
    common: &'a Common,
    order: &'a Order,
    rows: Vec<u64>,
    built: Vec<Option<TableRows>>,
    notes: Vec<String>,
}

impl<'a> Pass<'a> {
    fn new(
        schema: &'a Schema,
        files: &'a dyn Files,
        common: &'a Common,
        order: &'a Order,
        rows: &[u64],
    ) -> Self {
        let built = vec![None; schema.tables.len()];
        Self { schema, files, common, order, rows: rows.to_vec(), built, notes: Vec::new() }
    }

    fn run(&mut self, faults: &mut Faults) {
        let mut failed = vec![false; self.schema.tables.len()];
        for &table in &self.order.tables {
            // Errors of tables that refer to a failed table would be consequences.
            let mut keys = self.schema.tables[table].foreign_keys.iter();
            if keys.any(|key| failed[key.table]) {
                failed[table] = true;
                continue;
            }
            let around = Surroundings {
                schema: self.schema,
                files: self.files,
                common: self.common,
                order: self.order,
                rows: &self.rows,
                built: &self.built,
            };
            let compiled = TableCompiler::new(around, table).and_then(TableCompiler::compile);
            let Some(Compiled { rows, notes }) = faults.take(compiled) else {
                failed[table] = true;
                continue;
            };
            self.rows[table] = rows.rows;
            self.notes.extend(notes);
            self.built[table] = Some(rows);
        }
    }

    /// The tables that get rows, in loading order.
    fn finish(mut self) -> Vec<TableRows> {
        for cut in &self.order.cut {
            self.judge_cut(cut);
        }
        let tables = self.order.tables.iter().filter_map(|table| self.built[*table].take());
        tables.filter(|table| table.fills).collect()
    }

    /// The values of a cut key were compiled before the referenced ones: if these differ, the server judges the rows.
    fn judge_cut(&mut self, cut: &Cut) {
        const ROWS_COMPARED: u64 = 64;
        let key = &self.schema.tables[cut.table].foreign_keys[cut.key];
        let Some(own) = self.built[cut.table].as_ref() else { return };
        let Keys { governing, .. } = Keys::new(self.schema, cut.table);
        let differs = |(column, referenced): (&usize, &usize)| {
            if governing[*column].is_none_or(|(number, _)| number != cut.key) {
                return false;
            }
            let later = self.built[key.table].as_ref().and_then(|table| table.columns.get(*referenced));
            let (Kind::Reference { target, .. }, Some(later)) = (&own.columns[*column].node.node.kind, later)
            else {
                return false;
            };
            (0..later.node.rows.min(ROWS_COMPARED)).any(|row| {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                target.write_key(row, &mut a) != later.node.write_key(row, &mut b) || a != b
            })
        };
        if key.columns.iter().zip(&key.referenced).any(differs)
            && !self.schema.directives.tables[cut.table].has("direct")
            && let Some(own) = self.built[cut.table].as_mut()
        {
            own.judgement.get_or_insert_default().add(&key.name);
        }
    }
}

impl Common {
    fn new(schema: &Schema, options: &Options) -> Checked<Self> {
        let settings = &schema.directives.schema;
        #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
        let size = options.size.or(settings.integer("size").map(|size| size as f64)).unwrap_or(100.0);
        if !(0.0..=ROWS_MAX).contains(&size) {
            return Err(settings.fault("size", format!("size is from 0 to {ROWS_MAX}, not {size}")));
        }
        let null = options.null.or(settings.rate("null")?).unwrap_or(0.01);
        if !(0.0..=1.0).contains(&null) {
            return Err(Fault::new(Place::default(), format!("null is a share from 0 to 1, not {null}")));
        }
        let offset = options.offset.or(settings.integer("offset")).unwrap_or(1);
        let seed = options.seed.as_deref().or(settings.text("seed")).unwrap_or("");
        Ok(Self { size, null, offset, key: key_of(0, seed), attempt: options.attempt })
    }

    fn rows(&self, schema: &Schema, table: usize) -> Checked<u64> {
        if let Some(kept) = &schema.tables[table].kept {
            return Ok(kept.rows.len() as u64);
        }
        let settings = &schema.directives.tables[table];
        #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
        let rows = match (settings.integer("size"), settings.number("mult")) {
            (Some(_), Some(_)) => {
                return Err(settings.fault("mult", "size and mult exclude each other; remove one"));
            }
            (Some(size), None) => size as f64,
            (None, Some(mult)) => mult * self.size,
            (None, None) => self.size,
        };
        let key = if settings.has("size") { "size" } else { "mult" };
        if !(0.0..=ROWS_MAX).contains(&rows) {
            return Err(settings.fault(key, format!("a table has from 0 to {ROWS_MAX} rows, not {rows}")));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        // Decimals such as 0.29 × 100 are a little below their product.
        Ok((rows * (1.0 + 1e-12)) as u64)
    }
}

impl TableRows {
    /// Its own rows, for FROM: without those of tables that inherit from it.
    pub fn rows_sql(&self) -> &str {
        &self.rows_sql
    }

    /// The table as SQL: `"schema"."table"`.
    pub fn sql_name(&self) -> String {
        self.name.sql()
    }

    /// The table's name as users write it: `schema.table`.
    pub fn name(&self) -> String {
        self.name.plain()
    }

    /// Why it has other than the common number of rows, if no directive says so.
    pub fn size_reason(&self) -> Option<&str> {
        self.size_reason.as_deref()
    }

    /// Rows before `skip`.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether rows are left out, so that there are fewer than [`TableRows::rows`].
    pub fn skips(&self) -> bool {
        self.skip > 0.0
    }

    /// Longest row in bytes, approximately: saturating.
    pub fn row_bytes_max(&self) -> u64 {
        self.copied().map(|column| column.node.node.bytes_max()).fold(0, u64::saturating_add)
    }

    /// Names of the columns that get values, in their order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.copied().map(|column| column.name.as_str())
    }

    /// Types of these columns in SQL. For a domain whose conditions the server judges, the type below it.
    pub fn column_types(&self) -> impl Iterator<Item = &str> {
        self.copied().map(|column| column.loaded_type.as_str())
    }

    /// Why the server must judge the rows; `None` if they meet all constraints.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judgement.as_ref()
    }

    /// The foreign keys that rows may violate, and can be compared with before they are inserted.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The foreign keys whose values are those of rows that are there.
    pub fn met_references(&self) -> &[Reference] {
        &self.met_references
    }

    /// Whether no two rows have the same primary key, however often they are drawn.
    pub fn primary_is_met(&self) -> bool {
        self.primary_is_met
    }

    /// Whether the values of a column follow directives.
    pub fn is_directed(&self) -> bool {
        self.is_directed
    }

    /// The other foreign keys: they reference a table which is loaded later, or PostgreSQL fills their columns.
    pub fn open_references(&self) -> &[Reference] {
        &self.open_references
    }

    fn copied(&self) -> impl Iterator<Item = &ColumnRows> {
        self.columns.iter().filter(|column| column.copied)
    }

    /// `"schema"."table" ("column", …)`, as COPY takes it.
    pub fn copy_target(&self) -> String {
        let columns: Vec<String> = self.columns().map(sql::identifier).collect();
        format!("{} ({})", self.sql_name(), columns.join(", "))
    }

    /// Whether the row is written: `skip` leaves out some, but never the last one.
    fn has_row(&self, row: u64) -> bool {
        self.skip == 0.0 || row + 1 >= self.rows || unit(bits(self.key, row)) >= self.skip
    }

    /// Appends the names of the columns as a line of CSV.
    pub fn write_csv_header(&self, out: &mut Vec<u8>) {
        for (number, column) in self.columns().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            let start = out.len();
            out.extend_from_slice(column.as_bytes());
            escape_csv(out, start);
        }
        out.push(b'\n');
    }

    /// Appends rows in COPY's CSV format: NULL is nothing, an empty text is `""`. Rows are numbered as in
    /// [`TableRows::write_copy`].
    pub fn write_csv(&self, rows: Range<u64>, out: &mut Vec<u8>) {
        for row in (rows.start..rows.end.min(self.rows)).filter(|row| self.has_row(*row)) {
            for (number, column) in self.copied().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                let start = out.len();
                if column.node.write(row, out) {
                    escape_csv(out, start);
                }
            }
            out.push(b'\n');
        }
    }

    /// Appends rows in COPY's text format. Rows are numbered from 0; numbers beyond the last row are ignored.
    pub fn write_copy(&self, rows: Range<u64>, out: &mut Vec<u8>) {
        for row in rows.start..rows.end.min(self.rows) {
            if !self.has_row(row) {
                continue;
            }
            let mut first = true;
            for column in self.copied() {
                if !first {
                    out.push(b'\t');
                }
                first = false;
                let start = out.len();
                if column.node.write(row, out) {
                    escape_copy(out, start);
                } else {
                    out.extend_from_slice(b"\\N");
                }
            }
            out.push(b'\n');
        }
    }

    /// Sequences to be set after the rows are loaded.
    pub fn sequences(&self) -> Vec<Sequence> {
        let last = |column: &ColumnRows| match &column.node.node.kind {
            Kind::Int(draw) if column.sequence && self.rows > 0 => {
                // A serial draw reaches only as many numbers as there are rows.
                let reached = if draw.is_plain_serial() { draw.size.min(self.rows) } else { draw.size };
                Some(draw.offset.saturating_add_unsigned(reached - 1)).filter(|last| *last > 0)
            }
            _ => None,
        };
        let sequence = |column: &ColumnRows| {
            let last = last(column)?;
            Some(Sequence { table: self.sql_name(), column: column.name.clone(), last })
        };
        self.copied().filter_map(sequence).collect()
    }
}
