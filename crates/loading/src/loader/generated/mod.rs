//! Workloads of a schema alone: datagen generates the rows, and the statements of the schema are divided into those
//! before and after the rows. `folder` owns the files.

mod copied_rows;
mod forecast;
mod judged;
mod statements;

use judged::{Attempts, Relations};

pub(crate) use copied_rows::fit_to;
pub(crate) use forecast::{LoadForecast, dry_run};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use datagen::{
    Description, Generation, Options, Schema, Source, Statement, StatementKind, TableDescription, TableRows,
};

use connect::Session;
use stats::Scale;

use crate::contract::archives::NamedArchive;
use crate::contract::check::Check;
use crate::contract::load::InitOptions;
use crate::contract::manifest::BeforeRows;
use crate::contract::marks::{DatabaseId, Mark};
use crate::contract::sql_file::SqlFile;
use crate::contract::sql_names;
use crate::contract::table_name::TableName;
use crate::loader::catalogs;
use crate::loader::execution;
use crate::loader::execution::{AfterRows, LeftOut, LoadTable, Purpose, RowWriter, TableSet};
use crate::loader::mark_checks;
use crate::{Answer, IndexSet, Query, QueryChoice, SchemaFiles, WorkloadError};

/// Rows of a table if nothing says otherwise, as in datafiller.
const SIZE: f64 = 100.0;
/// The seed of rows of a built-in workload.
pub const SEED: u64 = 1;
/// Why the scale of a schema cannot be chosen.
const FIXED_SIZES: &str =
    "each of its tables has a directive size. Leave out --scale, or replace size by mult in schema.sql";
/// The index set without keys, foreign keys and indexes of separate statements.
const NONE: &str = "none";
/// The index set of the schema itself.
const SCHEMA_SET: &str = "schema";

/// Rows that directives cannot describe: those of a built-in workload, made by code of its own.
#[derive(Clone, Copy, Debug)]
pub struct OwnRows {
    /// The tables with their rows, by scale and seed.
    pub tables: fn(Scale, u64) -> Vec<LoadTable>,
    /// Why a scale is not supported.
    pub refused: fn(Scale) -> Option<&'static str>,
    /// Why a seed is not supported, if it is not.
    pub seed_refused: Option<&'static str>,
    /// Checks of freshly loaded data, by scale and seed.
    pub checks: fn(Scale, u64) -> Vec<Check>,
}

impl OwnRows {
    /// Rows for every scale and seed, without checks.
    pub const fn new(tables: fn(Scale, u64) -> Vec<LoadTable>) -> OwnRows {
        OwnRows { tables, refused: |_| None, seed_refused: None, checks: |_, _| Vec::new() }
    }
}

/// Reads or draws queries.
pub type ReadQueries = fn(&[NamedArchive], &str, &QueryChoice) -> Result<Vec<Query>, WorkloadError>;

/// A query set whose texts are not in the folder, because they are in an archive or drawn from the data.
#[derive(Clone, Copy, Debug)]
pub struct OwnQueries {
    /// The queries, from the archives of the workload, with all its parameters; the second argument is its name.
    pub read: ReadQueries,
    /// The expected answers.
    pub answers: fn(&QueryChoice) -> Vec<Answer>,
}

/// What code of a built-in workload adds to its folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnCode {
    /// Rows.
    pub rows: Option<OwnRows>,
    /// Queries.
    pub queries: Option<OwnQueries>,
}

/// The rows of all tables.
pub(crate) enum Rows {
    Generated(GeneratedRowsOf),
    Own(Vec<LoadTable>),
}

/// Rows with what is needed to draw some of them again.
pub(crate) struct GeneratedRowsOf {
    pub(crate) generation: Arc<Generation>,
    attempts: Arc<Attempts>,
}

/// A schema as the server describes it.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) schema: Schema,
    /// The tables that the statements of the schema fill, or that they create in another way than by CREATE TABLE.
    kept: BTreeSet<TableName>,
    relations: Relations,
    description: Description,
    left_out: Arc<LeftOut>,
}

impl Described {
    /// Whether the description is that of this table.
    fn is_of(&self, own: &TableDescription, table: &TableRows) -> bool {
        described_name(own).quoted() == table.sql_name()
    }

    /// The foreign keys by the names of tables, for marks. Those of partitions are those of their tables.
    fn foreign_keys(&self) -> BTreeMap<String, String> {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        let partitions = self.description.tables.iter().filter(|table| table.is_partition);
        let partitions: BTreeSet<&String> = partitions.map(|table| &table.relation).collect();
        for key in self.schema.references() {
            let relation = |name: &String| self.relations.get(name).unwrap_or(name).clone();
            let table = relation(&key.table);
            if partitions.contains(&table) {
                continue;
            }
            let rows = |rows: &str, relation: &str| {
                format!("{}{relation}", if rows.starts_with("only ") { "only " } else { "" })
            };
            let referenced = rows(&key.referenced_rows, &relation(&key.referenced));
            let columns = [&key.columns[..], &key.referenced_columns];
            let text = mark_checks::key_text(&rows(&key.rows, &table), &referenced, columns);
            let own = keys.entry(table).or_default();
            *own = if own.is_empty() { text } else { format!("{own};{text}") };
        }
        keys
    }

    /// The tables that keep their rows. How many these are is not known: only rows that others refer to are read.
    fn kept_tables(&self) -> impl Iterator<Item = String> {
        let kept = self.description.tables.iter().filter(|table| table.kept.is_some() && !table.is_partition);
        kept.map(|table| described_name(table).to_string())
    }

    /// Sentences about statements that are left out, and tables that get no rows.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.left_out.sentence().into_iter().chain(self.kept_note())
    }

    /// A sentence about tables that get no rows, because they have some.
    fn kept_note(&self) -> Option<String> {
        let filled =
            self.description.tables.iter().filter(|table| table.kept.is_some() && !table.is_partition);
        let filled: Vec<String> = filled.map(|table| table.relation.replace('"', "")).collect();
        let [first, others @ ..] = &filled[..] else { return None };
        Some(match others.len() {
            0 => format!("{first} keeps the rows that are there, and gets no others"),
            1 => format!("{first} and 1 other table keep the rows that are there, and get no others"),
            count => {
                format!("{first} and {count} other tables keep the rows that are there, and get no others")
            }
        })
    }
}

/// A schema whose rows are generated, with its alternative index sets.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedTables {
    statements: Vec<Statement>,
    source: Source,
    own_rows: Option<OwnRows>,
    /// Rows of each table at scale 1; `None`: as the schema says.
    size: Option<f64>,
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
    pub fn new(
        source: Source,
        indexes: &[SqlFile],
        before_rows: &BeforeRows,
        (own_rows, size): (Option<OwnRows>, Option<f64>),
    ) -> Result<GeneratedTables, WorkloadError> {
        let source = copied_rows::as_inserts(source)?;
        let statements = datagen::statements(&source)?;
        let mut sets = vec![set(SCHEMA_SET, "keys, foreign keys and indexes of schema.sql")];
        let separates =
            |kind| matches!(kind, StatementKind::Key | StatementKind::ForeignKey | StatementKind::Index);
        if statements.iter().any(|statement| separates(statement.kind)) {
            sets.push(set(NONE, "tables without the keys and indexes that schema.sql adds to them"));
        }
        for SqlFile { name, .. } in indexes {
            sets.retain(|set| set.name != *name);
            let time = if before_rows.index_sets.contains(name) { ", created before the rows" } else { "" };
            sets.push(set(name, &format!("indexes/{name}.sql instead of the indexes of schema.sql{time}")));
        }
        let (set_files, before_rows) = (indexes.to_vec(), before_rows.clone());
        Ok(GeneratedTables { statements, source, own_rows, size, sets, set_files, before_rows })
    }

    /// A sentence about commands of psql that are skipped.
    pub(crate) fn note(&self) -> Option<String> {
        self.source.note()
    }

    /// The error of a file that the schema includes, and that may be read only with permission.
    pub(crate) fn refused_file(&self) -> Option<&datagen::Error> {
        self.source.refused()
    }

    /// The schema as a server describes it.
    ///
    /// # Errors
    /// There is no table; a directive cannot be read.
    pub(crate) fn described(
        &self,
        description: Description,
        left_out: Arc<LeftOut>,
    ) -> Result<Described, WorkloadError> {
        if description.tables.iter().all(|table| table.is_partition) {
            return Err(WorkloadError::NoTables { file: self.source.file().to_owned() });
        }
        let name = described_name;
        let written = self.names();
        let is_early = |table: &&TableDescription| {
            table.kept.is_some() || !written.iter().any(|own| own.may_be(&name(table)))
        };
        let relation = |table: &TableDescription| (name(table).quoted(), table.relation.clone());
        Ok(Described {
            schema: Schema::new(&description, &self.source_without(&left_out))?,
            left_out,
            kept: description.tables.iter().filter(is_early).map(name).collect(),
            relations: description.tables.iter().map(relation).collect(),
            description,
        })
    }

    /// The text without the directives of what is left out.
    fn source_without(&self, left_out: &LeftOut) -> Source {
        let mut lines = BTreeSet::new();
        for place in left_out.places() {
            let is_there = |statement: &&Statement| self.source.place(statement.line) == *place;
            lines.extend(self.statements.iter().filter(is_there).map(|statement| statement.line));
        }
        self.source.clone().without(lines, left_out.tables().collect())
    }

    /// Rejects extensions that the schema does not create.
    pub(crate) fn check_extensions(&self, options: &InitOptions) -> Result<(), WorkloadError> {
        let created = || self.statements.iter().filter_map(|own| execution::created_extension(&own.text));
        let Some(name) = options.without_extensions.iter().find(|name| !created().any(|own| own == **name))
        else {
            return Ok(());
        };
        let known: Vec<String> = created().collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let nearest = config::nearest(name, &known).map(str::to_owned);
        Err(WorkloadError::UnknownExtension { name: name.clone(), known: known.join(", "), nearest })
    }

    /// The same with the rows that the schema itself has inserted, which may have other keys at each time; `None` if no row
    /// refers to them.
    pub(crate) fn described_again(
        &self,
        session: &mut Session,
        before: &Described,
    ) -> Result<Option<Described>, WorkloadError> {
        let mut description = before.description.clone();
        let is_same = !catalogs::read_kept_again(session, &mut description)?;
        if is_same { Ok(None) } else { self.described(description, Arc::clone(&before.left_out)).map(Some) }
    }

    pub(crate) fn index_sets(&self) -> &[IndexSet] {
        &self.sets
    }

    /// The rows of all tables of a schema. `files` are those that directives may name.
    pub(crate) fn rows(
        &self,
        schema: &Schema,
        files: &SchemaFiles,
        options: &InitOptions,
        seed: Option<u64>,
    ) -> Result<Rows, WorkloadError> {
        match self.own_rows {
            Some(own) => Ok(Rows::Own((own.tables)(options.scale, options.seed.or(seed).unwrap_or(SEED)))),
            None => {
                #[expect(clippy::cast_precision_loss, reason = "a number of rows")]
                let size = self.size.or(schema.size().map(|size| size as f64)).unwrap_or(SIZE);
                Ok(Rows::Generated(generated(schema, files, options, (size, seed))?))
            }
        }
    }

    /// Rejects a scale that has no effect, because each table has a directive `size`.
    pub(crate) fn check_scale(&self, schema: &Schema, mark: &Mark) -> Result<(), WorkloadError> {
        let scale = mark.loaded.scale;
        if scale == Scale::ONE || self.own_rows.is_some() || !schema.has_fixed_sizes() {
            return Ok(());
        }
        Err(WorkloadError::ScaleUnsupported { workload: mark.workload.clone(), scale, reason: FIXED_SIZES })
    }

    /// All statements of the schema in their order, for a trial.
    pub(crate) fn trial(&self, mark: &Mark, init: String) -> TableSet {
        let (schema, _) = statements::in_order(&self.statements, &self.source);
        let (workload, folder) = (mark.workload.clone(), mark.folder.clone());
        TableSet { workload, folder, init, schema, names: self.names(), ..TableSet::default() }
    }

    /// Everything that the loader needs.
    pub(crate) fn table_set(
        &self,
        mark: &Mark,
        init: String,
        rows: Rows,
        described: &Described,
        (options, database): (&InitOptions, &DatabaseId),
    ) -> Result<TableSet, WorkloadError> {
        let indexes = options.indexes.as_deref();
        let is_in_order =
            !described.kept.is_empty() || rows.has_judged_tables() || !statements::can_wait(&self.statements);
        let (mut schema, mut after) = if is_in_order {
            statements::in_order(&self.without_indexes(indexes), &self.source)
        } else {
            statements::divided(&self.statements, &self.source)
        };
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
        let created = after.iter().filter(|after| !described.left_out.has(&after.statement));
        let marks = statements::marks_of_views(created, mark, database);
        after.extend(marks);
        if let Rows::Generated(GeneratedRowsOf { generation, .. }) = &rows {
            let sequences = generation.tables().iter().flat_map(TableRows::sequences);
            after.extend(sequences.map(|sequence| AfterRows {
                purpose: Purpose::Last,
                table: None,
                statement: statements::sequence_statement(&sequence),
            }));
        }
        let tables = rows.load_tables(described);
        let (workload, folder) = (mark.workload.clone(), mark.folder.clone());
        let mut set = TableSet {
            workload,
            folder,
            init,
            schema,
            names: self.names(),
            tables,
            after,
            is_in_order,
            keeps_triggers: self.before_rows.triggers,
            counts_rows: self.own_rows.is_none(),
            foreign_keys: described.foreign_keys(),
        };
        described.left_out.remove_from(&mut set);
        Ok(set)
    }

    /// The statements without those of other index sets.
    fn without_indexes(&self, chosen: Option<&str>) -> Vec<Statement> {
        let is_left_out = |kind| match (chosen, kind) {
            (None | Some(SCHEMA_SET), _) => false,
            (Some(NONE), StatementKind::Key | StatementKind::ForeignKey) => true,
            (Some(_), kind) => kind == StatementKind::Index,
        };
        let is_of_others =
            |text: &str| chosen.is_some_and(|name| name != SCHEMA_SET) && statements::is_about_index(text);
        let own = self.statements.iter();
        own.filter(|own| !is_left_out(own.kind) && !is_of_others(&own.text)).cloned().collect()
    }

    /// The statements that are executed: those of the schema, and of the chosen index set.
    pub(crate) fn statements(&self, options: &InitOptions) -> impl Iterator<Item = &str> {
        let chosen = options.indexes.clone();
        let sets = self.set_files.iter().filter(move |set| Some(&set.name) == chosen.as_ref());
        let schema = self.statements.iter().map(|statement| statement.text.as_str());
        schema.chain(sets.map(|set| set.sql.as_str()))
    }

    /// The tables to vacuum: VACUUM of a partitioned table vacuums its partitions.
    pub(crate) fn vacuumed(&self) -> Vec<TableName> {
        let statements = self.statements.iter();
        let is_partition = |sql: &str| sql.to_ascii_lowercase().contains("partition of");
        statements
            .filter(|statement| !is_partition(&statement.text))
            .filter_map(|statement| sql_names::created(&statement.text))
            .collect()
    }

    /// All tables that the schema creates.
    pub(crate) fn names(&self) -> Vec<TableName> {
        let statements = self.statements.iter();
        statements.filter_map(|statement| sql_names::created(&statement.text)).collect()
    }
}

fn described_name(table: &TableDescription) -> TableName {
    TableName { schema: table.schema.clone(), name: table.name.clone() }
}

fn set(name: &str, title: &str) -> IndexSet {
    IndexSet { name: name.to_owned().into(), title: title.to_owned().into() }
}

impl Rows {
    /// What a user should know of the numbers of rows.
    pub(crate) fn notes(&self) -> &[String] {
        match self {
            Rows::Generated(rows) => rows.generation.notes(),
            Rows::Own(_) => &[],
        }
    }

    /// The tables with their rows.
    pub(crate) fn load_tables(self, described: &Described) -> Vec<LoadTable> {
        match self {
            Rows::Generated(GeneratedRowsOf { generation, attempts }) => {
                let load = |rows| judged::load_table(rows, &attempts, &described.relations);
                generation.tables().iter().map(load).collect()
            }
            Rows::Own(tables) => tables,
        }
    }

    /// Whether the server judges the rows of a table.
    fn has_judged_tables(&self) -> bool {
        let Rows::Generated(GeneratedRowsOf { generation, .. }) = self else { return false };
        generation.tables().iter().any(|table| table.judgement().is_some())
    }
}

fn generated(
    schema: &Schema,
    files: &SchemaFiles,
    options: &InitOptions,
    (size, seed): (f64, Option<u64>),
) -> Result<GeneratedRowsOf, WorkloadError> {
    let mut schema = schema.clone();
    schema.set_rows(&options.rows)?;
    let options = Options {
        size: Some(options.scale.units() * size),
        seed: options.seed.or(seed).map(|seed| seed.to_string()),
        ..Options::default()
    };
    let generation = Arc::new(Generation::new(&schema, &options, files)?);
    let files = files.clone();
    let attempts = Attempts { schema, options, files, made: Mutex::new(BTreeMap::new()) };
    Ok(GeneratedRowsOf { generation, attempts: Arc::new(attempts) })
}

/// ` ("column", …)`
fn copied_columns(rows: &TableRows) -> String {
    rows.copy_target().strip_prefix(&rows.sql_name()).unwrap_or_default().to_owned()
}

/// A name that datagen has quoted.
fn table_name(sql: &str) -> TableName {
    sql_names::created(&format!("create table {sql}")).unwrap_or_else(|| TableName::new(sql))
}

/// Rows that are written before they are sent.
const BUFFER_LENGTH: usize = 64 * 1000;
/// Rows between two looks at the length of the buffer.
const ROWS_AT_ONCE: u64 = 32;

fn writer(rows: &TableRows, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
    let count = rows.rows();
    let bound = |number: u32| {
        let row = u128::from(count) * u128::from(number) / u128::from(chunks);
        u64::try_from(row).unwrap_or(count)
    };
    Box::new(GeneratedWriter { rows, next: bound(number), end: bound(number + 1) })
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
