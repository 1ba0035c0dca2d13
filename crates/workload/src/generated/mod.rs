//! Workloads of a schema alone: datagen generates the rows, and the statements of the schema are divided into those
//! before and after the rows. `folder` owns the files.

pub(crate) mod checks;
pub(crate) mod queries;
mod statements;

pub(crate) use statements::is_comment;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use datagen::{Generation, Options, Schema, StatementKind, TableRows};

use stats::Scale;

use crate::archives::NamedArchive;
use crate::load::InitOptions;
use crate::loader::{AfterRows, LoadTable, Purpose, RowSource, RowWriter, TableName, TableSet};
use crate::manifest::{BeforeRows, SqlFile};
use crate::marks::{DatabaseId, Mark};
use crate::workload::Check;
use crate::{Answer, IndexSet, Query, QueryChoice, SchemaFiles, WorkloadError, sql_names};

/// Rows of a table if nothing says otherwise, as in datafiller.
const SIZE: u32 = 100;
/// Estimated bytes of a row in addition to its values: its header, and entries in two indexes.
const ROW_OVERHEAD_BYTES: u64 = 80;
/// Longest values of a row that an estimate counts: the longest value of a text is far from the usual one.
const ROW_BYTES_MAX: u64 = 1000;
/// The seed of rows of a built-in workload.
const SEED: u64 = 1;
/// The index set without keys, foreign keys and indexes of separate statements.
const NONE: &str = "none";
/// The index set of the schema itself.
const SCHEMA_SET: &str = "schema";

/// Rows that directives cannot describe: those of a built-in workload, made by code of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnRows {
    /// The tables with their rows, by scale and seed.
    pub(crate) tables: fn(Scale, u64) -> Vec<LoadTable>,
    /// Why a scale is not supported.
    pub(crate) refused: fn(Scale) -> Option<&'static str>,
    /// Why a seed is not supported, if it is not.
    pub(crate) seed_refused: Option<&'static str>,
    /// Checks of freshly loaded data at a scale.
    pub(crate) checks: fn(Scale) -> Vec<Check>,
    /// Rows that parameters choose, instead of `tables` and `checks`.
    pub(crate) chosen: Option<ChosenRows>,
}

/// Rows that depend on the parameters of the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenRows {
    pub(crate) tables: fn(&DataChoice<'_>) -> Result<Vec<LoadTable>, WorkloadError>,
    pub(crate) checks: fn(&DataChoice<'_>) -> Result<Vec<Check>, WorkloadError>,
}

/// Which data are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataChoice<'a> {
    pub(crate) scale: Scale,
    pub(crate) seed: u64,
    /// All parameters of the workload.
    pub(crate) parameters: &'a BTreeMap<String, String>,
}

impl<'a> DataChoice<'a> {
    /// Those with this seed, or with that of built-in workloads.
    pub(crate) fn new(
        scale: Scale,
        seed: Option<u64>,
        parameters: &'a BTreeMap<String, String>,
    ) -> DataChoice<'a> {
        DataChoice { scale, seed: seed.unwrap_or(SEED), parameters }
    }
}

impl OwnRows {
    /// Rows for every scale and seed, without checks.
    pub(crate) const fn new(tables: fn(Scale, u64) -> Vec<LoadTable>) -> OwnRows {
        OwnRows { tables, refused: |_| None, seed_refused: None, checks: |_| Vec::new(), chosen: None }
    }
}

/// Reads or draws queries.
pub(crate) type ReadQueries = fn(&[NamedArchive], &str, &QueryChoice) -> Result<Vec<Query>, WorkloadError>;

/// A query set whose texts are not in the folder, because they are in an archive or drawn from the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnQueries {
    /// The queries, from the archives of the workload, with all its parameters; the second argument is its name.
    pub(crate) read: ReadQueries,
    /// The expected answers.
    pub(crate) answers: fn(&QueryChoice) -> Vec<Answer>,
}

/// What code of a built-in workload adds to its folder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnCode {
    pub(crate) rows: Option<OwnRows>,
    pub(crate) queries: Option<OwnQueries>,
}

/// The rows of all tables.
pub(crate) enum Rows {
    Generated(Generation),
    Own(Vec<LoadTable>),
}

/// A schema whose rows are generated, with its alternative index sets.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedTables {
    schema: Schema,
    own_rows: Option<OwnRows>,
    file: Arc<str>,
    sets: Vec<IndexSet>,
    /// The statements of the sets that are files.
    set_files: Vec<SqlFile>,
    before_rows: BeforeRows,
}

impl GeneratedTables {
    /// Reads the schema.
    ///
    /// # Errors
    /// A statement or a directive cannot be read.
    pub(crate) fn new(
        schema: &SqlFile,
        indexes: &[SqlFile],
        before_rows: &BeforeRows,
        own_rows: Option<OwnRows>,
    ) -> Result<GeneratedTables, WorkloadError> {
        let parsed = Schema::parse(&schema.sql, &schema.file)?;
        if parsed.statements().iter().all(|statement| statement.kind != StatementKind::Table) {
            return Err(WorkloadError::NoTables { file: schema.file.clone() });
        }
        let mut sets = vec![set(SCHEMA_SET, "keys, foreign keys and indexes of schema.sql")];
        let separates =
            |kind| matches!(kind, StatementKind::Key | StatementKind::ForeignKey | StatementKind::Index);
        if parsed.statements().iter().any(|statement| separates(statement.kind)) {
            sets.push(set(NONE, "tables without the keys and indexes that schema.sql adds to them"));
        }
        for SqlFile { name, .. } in indexes {
            sets.retain(|set| set.name != *name);
            let time = if before_rows.index_sets.contains(name) { ", created before the rows" } else { "" };
            sets.push(set(name, &format!("indexes/{name}.sql instead of the indexes of schema.sql{time}")));
        }
        let file = schema.file.as_str().into();
        let (set_files, before_rows) = (indexes.to_vec(), before_rows.clone());
        Ok(GeneratedTables { schema: parsed, own_rows, file, sets, set_files, before_rows })
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn index_sets(&self) -> &[IndexSet] {
        &self.sets
    }

    /// The scale if none is given: the size of the schema's directive, otherwise that of datafiller.
    pub(crate) fn default_size(&self) -> Option<Scale> {
        let size = self.schema.size().and_then(|size| u32::try_from(size).ok()).unwrap_or(SIZE);
        Some(size.into())
    }

    /// The rows of all tables. `files` are those that directives may name, and `parameters` all those of the workload.
    pub(crate) fn rows(
        &self,
        files: &SchemaFiles,
        options: &InitOptions,
        seed: Option<u64>,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Rows, WorkloadError> {
        match self.own_rows {
            Some(OwnRows { chosen: Some(own), .. }) => {
                let choice = DataChoice::new(options.scale, options.seed.or(seed), parameters);
                Ok(Rows::Own((own.tables)(&choice)?))
            }
            Some(own) => Ok(Rows::Own((own.tables)(options.scale, options.seed.or(seed).unwrap_or(SEED)))),
            None => Ok(Rows::Generated(self.generation(files, options, seed)?)),
        }
    }

    /// Whether each table has a directive `size`, so that the scale has no effect.
    pub(crate) fn has_fixed_sizes(&self) -> bool {
        self.own_rows.is_none() && self.schema.has_fixed_sizes()
    }

    /// The reason why a scale is not supported.
    pub(crate) fn refused(&self, scale: Scale) -> Option<&'static str> {
        self.own_rows.and_then(|own| (own.refused)(scale))
    }

    fn generation(
        &self,
        files: &SchemaFiles,
        options: &InitOptions,
        seed: Option<u64>,
    ) -> Result<Generation, WorkloadError> {
        let settings = Options {
            size: Some(options.scale.units()),
            seed: options.seed.or(seed).map(|seed| seed.to_string()),
            ..Options::default()
        };
        Ok(Generation::new(&self.schema, &settings, files)?)
    }

    /// The estimated bytes of all tables and indexes per unit of scale, at the default size. Counts the longest values,
    /// because lengths of values are limited by the type; `None` if a file cannot be read without permission.
    pub(crate) fn bytes_per_scale(&self, files: &SchemaFiles) -> Option<u64> {
        let scale = self.default_size()?;
        let options = InitOptions { scale, ..InitOptions::default() };
        let Rows::Generated(generation) = self.rows(files, &options, None, &BTreeMap::new()).ok()? else {
            return None;
        };
        if self.has_fixed_sizes() {
            return None;
        }
        let bytes_of = |table: &TableRows| {
            let row_bytes = table.row_bytes_max().min(ROW_BYTES_MAX).saturating_add(ROW_OVERHEAD_BYTES);
            table.rows().saturating_mul(row_bytes)
        };
        let bytes = generation.tables().iter().map(bytes_of).fold(0, u64::saturating_add);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an estimate; `as` saturates"
        )]
        let per_unit = (bytes as f64 / scale.units()).ceil() as u64;
        Some(per_unit.max(1))
    }

    /// Everything that the loader needs.
    pub(crate) fn table_set(
        &self,
        mark: &Mark,
        init: String,
        rows: Rows,
        (options, database): (&InitOptions, &DatabaseId),
    ) -> Result<TableSet, WorkloadError> {
        let indexes = options.indexes.as_deref();
        let (mut schema, mut after) = statements::divided(self.schema.statements(), &self.file);
        if self.before_rows.triggers {
            let (triggers, others) =
                after.into_iter().partition(|after| statements::is_trigger(&after.statement.sql));
            after = others;
            schema.extend(Vec::into_iter(triggers).map(|after| after.statement));
        }
        let own = self.set_files.iter().find(|set| Some(set.name.as_str()) == indexes);
        if let Some(SqlFile { name, file, sql }) = own {
            after.retain(|statement| statement.purpose != Purpose::Index);
            let statements = statements::of_index_set(file, sql)?;
            if self.before_rows.index_sets.contains(name) {
                schema.extend(statements.into_iter().map(|after| after.statement));
            } else {
                after.extend(statements);
            }
        } else if indexes == Some(NONE) {
            after.retain(|statement| statement.purpose == Purpose::Last);
        }
        if indexes.is_some_and(|name| name != SCHEMA_SET) {
            after.retain(|after| !statements::is_about_index(&after.statement.sql));
        }
        after.extend(statements::marks_of_views(&after, mark, database));
        let sequences = |generation: &Generation| {
            let all = generation.tables().iter().flat_map(TableRows::sequences);
            all.map(|sequence| AfterRows {
                purpose: Purpose::Last,
                table: None,
                statement: statements::sequence_statement(&sequence),
            })
            .collect::<Vec<_>>()
        };
        let tables = match rows {
            Rows::Generated(generation) => {
                after.extend(sequences(&generation));
                generation.tables().iter().map(load_table).collect()
            }
            Rows::Own(tables) => tables,
        };
        let (workload, folder) = (mark.workload.clone(), mark.folder.clone());
        Ok(TableSet { workload, folder, init, schema, names: self.names(), tables, after })
    }

    /// The statements that are executed: those of the schema, and of the chosen index set.
    pub(crate) fn statements(&self, options: &InitOptions) -> impl Iterator<Item = &str> {
        let chosen = options.indexes.clone();
        let sets = self.set_files.iter().filter(move |set| Some(&set.name) == chosen.as_ref());
        let schema = self.schema.statements().iter().map(|statement| statement.text.as_str());
        schema.chain(sets.map(|set| set.sql.as_str()))
    }

    /// The tables to vacuum: VACUUM of a partitioned table vacuums its partitions.
    pub(crate) fn vacuumed(&self) -> Vec<TableName> {
        let statements = self.schema.statements().iter();
        let is_partition = |sql: &str| sql.to_ascii_lowercase().contains("partition of");
        statements
            .filter(|statement| !is_partition(&statement.text))
            .filter_map(|statement| sql_names::created(&statement.text))
            .collect()
    }

    /// All tables that the schema creates.
    pub(crate) fn names(&self) -> Vec<TableName> {
        let statements = self.schema.statements().iter();
        statements.filter_map(|statement| sql_names::created(&statement.text)).collect()
    }
}

fn set(name: &str, title: &str) -> IndexSet {
    IndexSet { name: name.to_owned().into(), title: title.to_owned().into() }
}

fn load_table(rows: &TableRows) -> LoadTable {
    let target = rows.copy_target();
    let columns = target.strip_prefix(&rows.sql_name()).unwrap_or_default().to_owned();
    LoadTable { table: table_name(&rows.sql_name()), columns, source: Arc::new(GeneratedRows(rows.clone())) }
}

/// A name that datagen has quoted.
fn table_name(sql: &str) -> TableName {
    sql_names::created(&format!("create table {sql}")).unwrap_or_else(|| TableName::new(sql))
}

/// Rows that are written before they are sent.
const BUFFER_LENGTH: usize = 64 * 1000;
/// Rows between two looks at the length of the buffer.
const ROWS_AT_ONCE: u64 = 32;

/// The rows of a table.
struct GeneratedRows(TableRows);

impl fmt::Debug for GeneratedRows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} rows of {}", self.0.rows(), self.0.name())
    }
}

impl RowSource for GeneratedRows {
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        let rows = self.rows();
        let bound = |number: u32| {
            let row = u128::from(rows) * u128::from(number) / u128::from(chunks);
            u64::try_from(row).unwrap_or(rows)
        };
        Box::new(GeneratedWriter { rows: &self.0, next: bound(number), end: bound(number + 1) })
    }
}

struct GeneratedWriter<'a> {
    rows: &'a TableRows,
    next: u64,
    end: u64,
}

impl RowWriter for GeneratedWriter<'_> {
    fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        let start = self.next;
        while self.next < self.end && out.len() < BUFFER_LENGTH {
            let next = self.end.min(self.next + ROWS_AT_ONCE);
            self.rows.write_copy(self.next..next, out);
            self.next = next;
        }
        self.next - start
    }
}
