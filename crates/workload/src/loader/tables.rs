//! Loads any list of tables: their schema, their rows in chunks over several connections, then keys, indexes and foreign
//! keys, and VACUUM at the end. `preparation` creates the tables with their marks, `journal` knows what is done.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use connect::quote::identifier;
use connect::{Session, Target};

use super::journal::Note;
use super::judged::{Judge, JudgedReference};
use super::plan::{Job, LoadStatement, Mode, Part, Plan, StepName, Task};
use super::preparation::{self, Preparation};
use super::repairs::Repair;
use super::rows::RowSource;
use super::{Execution, work};
use crate::WorkloadError;
use crate::concurrent_forms;
use crate::load::{InitOptions, InitProgress, InitReport, Progress, StepTime, tell, with_locks};
use crate::stopwatch::Stopwatch;

/// A table with fewer rows is one chunk: more connections would not make it faster.
const CHUNK_ROWS_MIN: u64 = 50_000;
/// About so many rows are a chunk of a large table: they are lost if the loading is interrupted.
const CHUNK_ROWS: u64 = 1_000_000;
/// Most chunks of a table.
const CHUNKS_MAX: u64 = 10_000;

/// The name of a table, without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TableName {
    /// `None`: the first schema of the search path.
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

impl TableName {
    /// A table in the search path.
    pub(crate) fn new(name: impl Into<String>) -> TableName {
        TableName { schema: None, name: name.into() }
    }

    /// Whether both can be names of one table: a search path may find the one without a schema.
    pub(crate) fn may_be(&self, other: &TableName) -> bool {
        let same_schema = match (&self.schema, &other.schema) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        self.name == other.name && same_schema
    }

    /// Quoted for SQL.
    pub(crate) fn quoted(&self) -> String {
        let parts = self.schema.iter().chain([&self.name]);
        parts.map(|part| identifier(part)).collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}

/// Tables with all statements around their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableSet {
    /// The name of the workload.
    pub(crate) workload: String,
    /// Its folder, as in marks.
    pub(crate) folder: String,
    /// The command that loads it, for messages.
    pub(crate) init: String,
    /// The statements that create the tables. They are executed in one transaction.
    pub(crate) schema: Vec<LoadStatement>,
    /// All tables that the schema creates.
    pub(crate) names: Vec<TableName>,
    /// Those that get rows, in their order.
    pub(crate) tables: Vec<LoadTable>,
    /// Statements after the rows.
    pub(crate) after: Vec<AfterRows>,
    /// Whether `schema` has all statements, in their order. Then indexes and triggers that can be restored are removed or
    /// disabled until the rows are there.
    pub(crate) is_in_order: bool,
    /// Whether triggers fire for generated rows also then.
    pub(crate) keeps_triggers: bool,
}

/// A table that gets rows.
#[derive(Clone, Debug)]
pub(crate) struct LoadTable {
    pub(crate) table: TableName,
    /// ` ("column", …)` as COPY takes it; empty for all columns.
    pub(crate) columns: String,
    pub(crate) source: Arc<dyn RowSource>,
    /// How the server judges the rows; `None`: it accepts all.
    pub(crate) judge: Option<Arc<Judge>>,
    /// Its foreign keys, if rows that they refer to may be missing.
    pub(crate) references: Vec<JudgedReference>,
}

/// A statement after the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AfterRows {
    pub(crate) purpose: Purpose,
    /// The table whose rows it needs; `None`: all tables.
    pub(crate) table: Option<TableName>,
    pub(crate) statement: LoadStatement,
}

/// Purposes in the order of their execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// A primary key or a unique constraint.
    Key,
    /// An index.
    Index,
    /// A foreign key.
    ForeignKey,
    /// After all others, in the given order: sequences, triggers.
    Last,
}

/// The steps of the plan.
const STEPS: [(&str, &str); 6] = [
    ("rows", "loading rows"),
    ("keys", "creating keys"),
    ("indexes", "creating indexes"),
    ("foreign keys", "creating foreign keys"),
    ("finish", "finishing the tables"),
    ("vacuum", "vacuuming and analyzing"),
];
const ROWS: usize = 0;
const VACUUM: usize = 5;

impl Purpose {
    fn step(self) -> usize {
        match self {
            Purpose::Key => 1,
            Purpose::Index => 2,
            Purpose::ForeignKey => 3,
            Purpose::Last => 4,
        }
    }
}

/// Makes the tables' rows again when the schema is there, because they depend on rows that its statements have inserted;
/// `None` if they do not.
pub(crate) type RowsAgain<'a> = dyn Fn(&mut Session) -> Result<Option<Vec<LoadTable>>, WorkloadError> + 'a;

/// Creates and fills the tables. `session` is connected to `target`.
///
/// # Errors
/// A table exists that `init` did not make; errors of the server; `progress` asked to stop.
pub(crate) fn load_tables(
    target: &Target,
    session: &mut Session,
    (set, again): (&TableSet, &RowsAgain<'_>),
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    load(target, session, (set, again), options, progress).map_err(|error| error.with_resume(&set.init))
}

fn load(
    target: &Target,
    session: &mut Session,
    (set, again): (&TableSet, &RowsAgain<'_>),
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<InitReport, WorkloadError> {
    let target = &target.single(session.address());
    let mut report = InitReport::default();
    let stopwatch = Stopwatch::start();
    tell(progress, InitProgress::Started { doing: "creating tables" })?;
    let Some(preparation) = preparation::prepare(target, session, set, options, progress)? else {
        return Ok(report);
    };
    let time = StepTime { name: "tables".to_owned(), took: stopwatch.read() };
    tell(progress, InitProgress::Finished(&time))?;
    report.steps.push(time);
    let with_rows_again = again(session)?.map(|tables| TableSet { tables, ..set.clone() });
    let set = with_rows_again.as_ref().unwrap_or(set);
    let plan = TablePlan { set, preparation: &preparation, jobs: options.jobs }.plan();
    let largest = set.tables.iter().map(|table| table.source.rows()).max();
    let execution = Execution {
        target,
        connections: plan.jobs.len().min(options.jobs as usize),
        key_rows: largest.filter(|_| !set.after.is_empty() || !preparation.keys.is_empty()),
        search_path: &preparation.search_path,
        locked: Some(&set.workload),
        guarded: preparation.foreign.as_ref(),
        limits_lock_waits: true,
        rows_limit: Some(options.statement_limit),
    };
    if !plan.jobs.is_empty() {
        let done = work(plan, session, &execution, progress);
        let place_of = |relation: &str| preparation.place_of(set, relation);
        report.steps.extend(done.map_err(|error| error.of_tables(&set.init, place_of))?);
    }
    // It may have been idle for long, and lost.
    if session.execute("select 1").is_err() && session.is_lost() {
        *session = Session::connect(target)
            .map_err(|source| WorkloadError::Query { sql: "connecting".to_owned(), source })?;
    }
    with_locks(session, progress, |session, locking, _| {
        locking.repeat(session, |session, lock_try| preparation::finish(session, set, &preparation, lock_try))
    })?;
    Ok(report)
}

/// The number of chunks of a table. With one connection, a table is one chunk, because only the transaction that empties
/// a table can freeze its rows.
fn chunks(rows: u64, jobs: u32) -> u32 {
    if jobs <= 1 {
        return 1;
    }
    let wanted = (rows / CHUNK_ROWS).max(u64::from(jobs));
    let chunks = wanted.min(rows / CHUNK_ROWS_MIN).clamp(1, CHUNKS_MAX);
    u32::try_from(chunks).unwrap_or(1)
}

/// Keys and indexes, keys first unless one of them uses an index.
fn in_order<'a>(statements: impl Iterator<Item = &'a AfterRows>) -> Vec<&'a AfterRows> {
    let is_built = |after: &&AfterRows| matches!(after.purpose, Purpose::Key | Purpose::Index);
    let mut own: Vec<&AfterRows> = statements.filter(is_built).collect();
    let uses_index = |after: &&AfterRows| {
        after.purpose == Purpose::Key && after.statement.sql.to_ascii_lowercase().contains("using index")
    };
    if !own.iter().any(uses_index) {
        own.sort_by_key(|after| after.purpose);
    }
    own
}

/// The input of a plan.
struct TablePlan<'a> {
    set: &'a TableSet,
    preparation: &'a Preparation,
    jobs: u32,
}

impl TablePlan<'_> {
    fn plan(&self) -> Plan {
        let steps = STEPS.iter().map(|&(name, doing)| StepName { name: name.into(), doing: doing.into() });
        let mut plan = Plan { steps: steps.collect(), jobs: Vec::new() };
        let after: Vec<&AfterRows> = self.preparation.keys.iter().chain(&self.set.after).collect();
        let total = self.set.tables.iter().map(|table| table.source.rows()).sum();
        let label: Arc<str> = match &self.set.tables[..] {
            [one] => one.table.to_string().into(),
            several => format!("{} tables", several.len()).into(),
        };
        let mut rows: BTreeMap<&TableName, Vec<usize>> = BTreeMap::new();
        let mut before = Vec::new();
        let mut built = Vec::new();
        // With several connections, keys and indexes of a table are built while the rows of the next one are loaded. The
        // references of judged rows are looked up by the keys of the tables before.
        let has_judged = self.set.tables.iter().any(|table| table.judge.is_some());
        let overlaps = self.jobs > 1 || has_judged;
        for table in &self.set.tables {
            let mut waits: Vec<usize> = before.clone();
            if table.judge.is_some() {
                waits.extend(built.iter().filter(|job| !before.contains(job)).copied());
            }
            let jobs = self.rows(&mut plan, table, (Arc::clone(&label), total), &waits);
            if self.preparation.has_foreign_keys {
                before.clone_from(&jobs);
            }
            if overlaps {
                built.extend(self.built(&mut plan, &after, Some(&table.table), &jobs));
            }
            rows.insert(&table.table, jobs);
        }
        let all_rows: Vec<usize> = rows.values().flatten().copied().collect();
        let is_known = |table: &TableName| rows.contains_key(table);
        if !overlaps {
            built.extend(self.built_by_step(&mut plan, &after, &rows));
        }
        let rest: Vec<&AfterRows> = after
            .iter()
            .filter(|statement| !statement.table.as_ref().is_some_and(is_known))
            .copied()
            .collect();
        built.extend(self.built_of(&mut plan, rest.into_iter(), &all_rows));
        let built = if built.is_empty() { all_rows } else { built };
        let built = if has_judged { self.repairs(&mut plan, built) } else { built };
        let mut ends = self.foreign_keys(&mut plan, &after, &built);
        let last = after.iter().filter(|statement| statement.purpose == Purpose::Last);
        ends = self.chain(&mut plan, last.copied(), &ends);
        self.vacuum(&mut plan, &ends);
        plan
    }

    /// Whether a step was done by an interrupted loading.
    fn is_done(&self, step: &str) -> bool {
        self.preparation.done.contains(step)
    }

    fn note(&self, step: String) -> Note {
        Note { journal: self.preparation.journal.clone(), step }
    }

    /// The relation of a table, with its schema.
    fn relation(&self, table: &TableName) -> String {
        self.preparation.relations.get(table).cloned().unwrap_or_else(|| table.quoted())
    }

    /// Adds the chunks of a table.
    fn rows(
        &self,
        plan: &mut Plan,
        table: &LoadTable,
        progress: (Arc<str>, u64),
        after: &[usize],
    ) -> Vec<usize> {
        let relation = self.relation(&table.table);
        let step = |number: u32, chunks: u32| format!("rows {relation} {}/{chunks}", number + 1);
        let begun = self.preparation.chunks_of(&relation);
        // Which rows the server accepts depends on those before them.
        let jobs = if table.judge.is_some() { 1 } else { self.jobs };
        let chunks = begun.unwrap_or_else(|| chunks(table.source.rows(), jobs));
        let mut jobs = Vec::new();
        for number in 0..chunks {
            if self.is_done(&step(number, chunks)) {
                continue;
            }
            let freezes = chunks == 1 && !self.preparation.has_foreign_keys && table.judge.is_none();
            let part = Part {
                source: Arc::clone(&table.source),
                chunk: (number, chunks),
                relation: relation.clone(),
                columns: table.columns.clone(),
                freezes,
                judge: table.judge.clone(),
                progress: progress.clone(),
            };
            let task = Task::Chunk { note: self.note(step(number, chunks)), part };
            plan.jobs.push(Job { step: ROWS, task, after: after.to_vec() });
            jobs.push(plan.jobs.len() - 1);
        }
        jobs
    }

    /// Adds keys and indexes of a table. Returns the last jobs, or `rows` if there are none.
    fn built(
        &self,
        plan: &mut Plan,
        after: &[&AfterRows],
        table: Option<&TableName>,
        rows: &[usize],
    ) -> Vec<usize> {
        let own = after.iter().filter(|statement| statement.table.as_ref() == table).copied();
        self.built_of(plan, own, rows)
    }

    /// Adds the keys of all tables, then their indexes, so that the time of each step is that of its own work.
    fn built_by_step(
        &self,
        plan: &mut Plan,
        after: &[&AfterRows],
        rows: &BTreeMap<&TableName, Vec<usize>>,
    ) -> Vec<usize> {
        let mut built = Vec::new();
        let mut indexes = Vec::new();
        for (table, jobs) in rows {
            let mut keys =
                in_order(after.iter().filter(|after| after.table.as_ref() == Some(table)).copied());
            let last_key = keys.iter().rposition(|after| after.purpose == Purpose::Key);
            let own_indexes = keys.split_off(last_key.map_or(0, |last| last + 1));
            indexes.push((own_indexes, self.chain(plan, keys.into_iter(), jobs)));
        }
        for (own, before) in indexes {
            built.extend(self.chain(plan, own.into_iter(), &before));
        }
        built
    }

    fn built_of<'b>(
        &self,
        plan: &mut Plan,
        own: impl Iterator<Item = &'b AfterRows>,
        rows: &[usize],
    ) -> Vec<usize> {
        self.chain(plan, in_order(own).into_iter(), rows)
    }

    /// Adds the repair of foreign keys, if there are any.
    fn repairs(&self, plan: &mut Plan, before: Vec<usize>) -> Vec<usize> {
        let note = self.note("repair".to_owned());
        let of_table = |table: &'_ LoadTable| {
            let relation = self.relation(&table.table);
            let own = table.references.iter().map(|key| Repair::new(&relation, key));
            own.collect::<Vec<_>>()
        };
        let repairs: Vec<Repair> = self.set.tables.iter().flat_map(of_table).collect();
        let is_open = |table: &LoadTable| table.judge.as_ref().is_some_and(|judge| judge.has_open_keys);
        if repairs.is_empty() || self.is_done(&note.step) {
            return before;
        }
        // What an interrupted loading has refused is not known.
        let is_needed = !self.preparation.done.is_empty() || self.set.tables.iter().any(is_open);
        let step = Purpose::ForeignKey.step();
        plan.add_chain(vec![Job::new(step, Task::Repair { note, repairs, is_needed })], &before)
    }

    /// Adds the foreign keys after all keys and indexes, one after the other. While a foreign key is checked, it locks the
    /// referencing and the referenced table. A session that waited for such a lock would be closed at its time limit.
    fn foreign_keys(&self, plan: &mut Plan, after: &[&AfterRows], before: &[usize]) -> Vec<usize> {
        let keys = after.iter().filter(|after| after.purpose == Purpose::ForeignKey);
        self.chain(plan, keys.copied(), before)
    }

    fn chain<'b>(
        &self,
        plan: &mut Plan,
        statements: impl Iterator<Item = &'b AfterRows>,
        after: &[usize],
    ) -> Vec<usize> {
        let jobs = statements.filter_map(|AfterRows { purpose, statement, .. }| {
            let note = self.note(format!("{purpose:?} {}", statement.sql));
            let mut statement = statement.clone();
            let in_transaction = concurrent_forms::in_transaction(&statement.sql);
            let is_guarded = self.preparation.foreign.is_some();
            let is_alone = in_transaction.is_some() && !is_guarded;
            // Its functions may change others' rows, which a transaction can roll back.
            if let Some(sql) = in_transaction.filter(|_| is_guarded) {
                statement.sql = sql;
            }
            let mode = match purpose {
                _ if is_alone => Mode::Alone,
                Purpose::Key | Purpose::Index => Mode::Index,
                Purpose::ForeignKey | Purpose::Last => Mode::Transaction,
            };
            let is_done = self.is_done(&note.step);
            let task = Task::Noted { note, statement, mode };
            (!is_done).then(|| Job::new(purpose.step(), task))
        });
        plan.add_chain(jobs.collect(), after)
    }

    /// VACUUM comes last: transactions that load other tables would keep it from marking pages as visible to all. ANALYZE runs in
    /// a transaction, because it calls the functions of indexes, which may change rows of others.
    fn vacuum(&self, plan: &mut Plan, after: &[usize]) {
        for table in &self.set.tables {
            let relation = self.relation(&table.table);
            let jobs = [("vacuum", Mode::Alone), ("analyze", Mode::Watched)].into_iter().filter_map(
                |(verb, mode)| {
                    let step = format!("{verb} {relation}");
                    let statement = LoadStatement::new(step.clone());
                    let is_done = self.is_done(&step);
                    let task = Task::Noted { note: self.note(step), statement, mode };
                    (!is_done).then(|| Job::new(VACUUM, task))
                },
            );
            plan.add_chain(jobs.collect(), after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::RowWriter;

    #[derive(Debug)]
    struct NoRows;

    impl RowSource for NoRows {
        fn rows(&self) -> u64 {
            0
        }

        fn writer(&self, _: u32, _: u32) -> Box<dyn RowWriter + '_> {
            Box::new(NoRows)
        }
    }

    #[derive(Debug)]
    struct ManyRows;

    impl RowSource for ManyRows {
        fn rows(&self) -> u64 {
            100_000
        }

        fn writer(&self, _: u32, _: u32) -> Box<dyn RowWriter + '_> {
            Box::new(NoRows)
        }
    }

    impl RowWriter for NoRows {
        fn write(&mut self, _: &mut Vec<u8>) -> u64 {
            0
        }
    }

    #[test]
    fn a_table_is_loaded_in_chunks_if_that_can_help() {
        assert_eq!(chunks(1_000_000_000, 1), 1, "frozen");
        assert_eq!(chunks(99_999, 8), 1);
        assert_eq!(chunks(100_000, 8), 2);
        assert_eq!(chunks(1_000_000, 8), 8);
        assert_eq!(chunks(6_001_215, 2), 6);
        assert_eq!(chunks(u64::MAX, 2), 10_000);
    }

    /// The server looks up the references of its rows by the keys of the tables before.
    #[test]
    fn a_judged_table_is_one_chunk_after_the_keys_of_the_tables_before() {
        let judge = Judge {
            columns: Vec::new(),
            conditions: Vec::new(),
            references: Vec::new(),
            constraints: Vec::new(),
            has_open_keys: false,
            primary_is_met: false,
        };
        let loaded = |table: &str, judge: Option<&Judge>| LoadTable {
            table: TableName::new(table),
            columns: String::new(),
            source: Arc::new(ManyRows),
            judge: judge.map(|judge| Arc::new(judge.clone())),
            references: Vec::new(),
        };
        let key = |table: &str| AfterRows {
            purpose: Purpose::Key,
            table: Some(TableName::new(table)),
            statement: LoadStatement::new(format!("key of {table}")),
        };
        let set = TableSet {
            tables: vec![loaded("a", None), loaded("b", Some(&judge)), loaded("c", None)],
            after: ["a", "b"].map(key).into(),
            ..TableSet::default()
        };
        let plan = TablePlan { set: &set, preparation: &Preparation::default(), jobs: 2 }.plan();
        let rows = plan.jobs.iter().enumerate().filter(|(_, job)| job.step == ROWS);
        let rows: Vec<(usize, &[usize])> = rows.map(|(number, job)| (number, &job.after[..])).collect();
        // Jobs 2 and 4 create the keys.
        assert_eq!(rows, [(0, &[][..]), (1, &[]), (3, &[2]), (5, &[]), (6, &[])]);
        let freezes = |job: &Job| matches!(&job.task, Task::Chunk { part, .. } if part.freezes);
        let one = TablePlan { set: &set, preparation: &Preparation::default(), jobs: 1 }.plan();
        let frozen: Vec<usize> = (0..one.jobs.len()).filter(|&job| freezes(&one.jobs[job])).collect();
        assert_eq!(frozen, [0, 4]);
    }

    /// A foreign key locks two tables.
    #[test]
    fn foreign_keys_are_created_one_after_the_other() {
        let key = |table: &str| AfterRows {
            purpose: Purpose::ForeignKey,
            table: Some(TableName::new(table)),
            statement: LoadStatement::new(format!("alter table {table} add foreign key …")),
        };
        let after = ["lineitem", "partsupp", "lineitem"].map(key).into();
        let set = TableSet { after, ..TableSet::default() };
        let plan = TablePlan { set: &set, preparation: &Preparation::default(), jobs: 8 }.plan();
        let after: Vec<&[usize]> = plan.jobs.iter().map(|job| &job.after[..]).collect();
        assert_eq!(after, [&[][..], &[0], &[1]]);
    }

    /// Otherwise the time of an index would count as time of a key.
    #[test]
    fn one_connection_creates_all_keys_before_the_first_index() {
        let built = |table: &str, purpose| AfterRows {
            purpose,
            table: Some(TableName::new(table)),
            statement: LoadStatement::new(format!("{purpose:?} of {table}")),
        };
        let after = [
            built("a", Purpose::Index),
            built("a", Purpose::Key),
            built("b", Purpose::Key),
            built("b", Purpose::Index),
        ];
        let loaded = |table: &str| LoadTable {
            table: TableName::new(table),
            columns: String::new(),
            source: Arc::new(NoRows),
            judge: None,
            references: Vec::new(),
        };
        let tables = ["a", "b"].map(loaded).into();
        let set = TableSet { tables, after: after.into(), ..TableSet::default() };
        let steps = |jobs| {
            let plan = TablePlan { set: &set, preparation: &Preparation::default(), jobs }.plan();
            let names: Vec<_> = plan.jobs.iter().map(|job| STEPS[job.step].0).collect();
            names.join(" ")
        };
        assert_eq!(steps(1), "rows rows keys keys indexes indexes vacuum vacuum vacuum vacuum");
        assert_eq!(steps(2), "rows keys indexes rows keys indexes vacuum vacuum vacuum vacuum");
    }
}
