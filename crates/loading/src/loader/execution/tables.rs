//! Loads any list of tables: their schema, their rows in chunks over several connections, then keys, indexes and foreign
//! keys, and VACUUM at the end. `preparation` creates the tables with their marks, `journal` knows what is done.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use connect::{Session, Stopwatch, Target};

use super::journal::{self, Note};
use super::plan::{Job, Mode, Part, Plan, StepName, Task};
use super::preparation::{self, LoadPreparation};
use super::repairs::Repair;
use super::statement::LoadStatement;
use super::table_set::{AfterRows, LoadTable, Purpose, TableSet};
use super::{Execution, work};
use crate::WorkloadError;
use crate::contract::load::{InitOptions, InitProgress, InitReport, Progress, StepTime, tell, with_locks};
use crate::contract::table_name::TableName;
use crate::loader::mark_checks;
use crate::loader::protection::concurrent_forms;
use crate::loader::protection::foreign_objects::ForeignObjects;

/// A table with fewer rows is one chunk: more connections would not make it faster.
const CHUNK_ROWS_MIN: u64 = 50_000;
/// About so many rows are a chunk of a large table: they are lost if the loading is interrupted.
const CHUNK_ROWS: u64 = 1_000_000;
/// Most chunks of a table.
const CHUNKS_MAX: u64 = 10_000;

/// Small tables are loaded in common transactions, of so many tables and rows at most: much is examined around each
/// transaction. So are the statements after their rows.
const GROUP_TABLES: usize = 25;
const GROUP_ROWS: u64 = 10_000;
const GROUP_STATEMENTS: usize = 100;

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
pub type RowsAgain<'a> = dyn Fn(&mut Session) -> Result<Option<Vec<LoadTable>>, WorkloadError> + 'a;

/// Creates and fills the tables. `session` is connected to `target`.
///
/// # Errors
/// A table exists that `init` did not make; errors of the server; `progress` asked to stop.
pub fn load_tables(
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
    let time = StepTime { name: "tables".to_owned(), took: stopwatch.passed() };
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
        let counts = set.counts_rows.then(|| mark_checks::count_rows(session, &set.workload));
        let rows = counts.transpose()?.unwrap_or_default();
        locking.repeat(session, |session, lock_try| {
            preparation::finish(session, set, &preparation, &rows, lock_try)
        })
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
    preparation: &'a LoadPreparation,
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
        let mut rows = Vec::new();
        let mut before = Vec::new();
        let mut built = Vec::new();
        // With several connections, keys and indexes of a table are built while the rows of the next one are loaded. The
        // references of judged rows are looked up by the keys of the tables before.
        let has_judged = self.set.tables.iter().any(|table| table.judge.is_some());
        let overlaps = self.jobs > 1 || has_judged;
        for group in self.groups() {
            let mut waits: Vec<usize> = before.clone();
            if group.iter().any(|table| table.judge.is_some()) {
                waits.extend(built.iter().filter(|job| !before.contains(job)).copied());
            }
            let jobs = self.rows(&mut plan, &group, &(Arc::clone(&label), total), &waits);
            if self.preparation.has_foreign_keys {
                before.clone_from(&jobs);
            }
            if overlaps {
                let (keys, indexes) = built_of(&after, &group);
                let keys = self.chain(&mut plan, keys.into_iter(), &jobs);
                built.extend(self.chain(&mut plan, indexes.into_iter(), &keys));
            }
            rows.push((group, jobs));
        }
        let all_rows: Vec<usize> = rows.iter().flat_map(|(_, jobs)| jobs).copied().collect();
        let is_known = |table: &TableName| self.loaded(table).is_some();
        if !overlaps {
            built.extend(self.built_by_step(&mut plan, &after, &rows));
        }
        let rest: Vec<&AfterRows> = after
            .iter()
            .filter(|statement| !statement.table.as_ref().is_some_and(is_known))
            .copied()
            .collect();
        built.extend(self.chain(&mut plan, in_order(rest.into_iter()).into_iter(), &all_rows));
        let built = if built.is_empty() { all_rows } else { built };
        let built = self.repairs(&mut plan, built, has_judged);
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
        Note { journal: self.preparation.journal.clone(), steps: vec![step] }
    }

    /// The table of this name, if it gets rows.
    fn loaded(&self, table: &TableName) -> Option<&LoadTable> {
        self.set.tables.iter().find(|own| own.table == *table)
    }

    /// The tables in their order; small ones are loaded together.
    fn groups(&self) -> Vec<Vec<&LoadTable>> {
        let mut groups: Vec<Vec<&LoadTable>> = Vec::new();
        let mut rows = 0_u64;
        for table in &self.set.tables {
            let own = table.source.rows();
            rows = rows.saturating_add(own);
            match groups.last_mut().filter(|group| group.len() < GROUP_TABLES && rows <= GROUP_ROWS) {
                Some(group) => group.push(table),
                None => {
                    groups.push(vec![table]);
                    rows = own;
                }
            }
        }
        groups
    }

    /// Whether a statement may be in one transaction with others. One that a user wrote may lock tables of others.
    fn is_grouped(&self, AfterRows { purpose, table, statement }: &AfterRows) -> bool {
        let is_small = |table: &LoadTable| table.source.rows() <= GROUP_ROWS;
        let foreign = self.preparation.foreign.as_ref();
        let locks_others = statement.place.is_some() && !foreign.is_some_and(ForeignObjects::have_no_tables);
        let is_short = *purpose == Purpose::Last
            || match table.as_ref().and_then(|table| self.loaded(table)) {
                Some(table) => is_small(table),
                None => self.set.tables.iter().all(is_small),
            };
        is_short && !locks_others
    }

    /// The relation of a table, with its schema.
    fn relation(&self, table: &TableName) -> String {
        self.preparation.relations.get(table).cloned().unwrap_or_else(|| table.quoted())
    }

    /// Adds the chunks of a table, or the rows of several small ones.
    fn rows(
        &self,
        plan: &mut Plan,
        group: &[&LoadTable],
        progress: &(Arc<str>, u64),
        after: &[usize],
    ) -> Vec<usize> {
        let mut parts: Vec<(String, Part)> = Vec::new();
        for table in group {
            let relation = self.relation(&table.table);
            let step = |number: u32, chunks: u32| format!("rows {relation} {}/{chunks}", number + 1);
            let begun = self.preparation.chunks_of(&relation);
            // Which rows the server accepts depends on those before them.
            let jobs = if table.judge.is_some() { 1 } else { self.jobs };
            let chunks = begun.unwrap_or_else(|| chunks(table.source.rows(), jobs));
            let left = (0..chunks).filter(|number| !self.is_done(&step(*number, chunks)));
            parts.extend(left.map(|number| {
                let freezes = chunks == 1 && !self.preparation.has_foreign_keys && table.judge.is_none();
                let chunk = (number, chunks);
                (step(number, chunks), Part { chunk, freezes, ..self.whole(table, progress) })
            }));
        }
        let first = plan.jobs.len();
        let size = if group.len() > 1 { GROUP_TABLES } else { 1 };
        while !parts.is_empty() {
            let rest = parts.split_off(parts.len().min(size));
            let (steps, own) = std::mem::replace(&mut parts, rest).into_iter().unzip();
            let note = Note { journal: self.preparation.journal.clone(), steps };
            let task = Task::Chunks { note, parts: own };
            plan.jobs.push(Job { step: ROWS, task, after: after.to_vec() });
        }
        (first..plan.jobs.len()).collect()
    }

    /// All rows of a table.
    fn whole(&self, table: &LoadTable, progress: &(Arc<str>, u64)) -> Part {
        Part {
            source: Arc::clone(&table.source),
            chunk: (0, 1),
            relation: self.relation(&table.table),
            columns: table.columns.clone(),
            freezes: false,
            judge: table.judge.clone(),
            fallback: table.fallback.clone(),
            progress: progress.clone(),
        }
    }

    /// The rows of the table of a key or an index, if they can be loaded again beside it.
    fn refill(&self, AfterRows { purpose, table, statement }: &AfterRows) -> Option<Arc<Part>> {
        // With each index set, the rows are the same.
        let file = |statement: &LoadStatement| statement.place.as_ref().map(|(file, _)| Arc::clone(file));
        let own = file(statement);
        let is_of_schema = own.is_none() || self.set.schema.iter().any(|statement| file(statement) == own);
        let is_built = is_of_schema && matches!(purpose, Purpose::Key | Purpose::Index);
        let table =
            self.loaded(table.as_ref().filter(|_| is_built && !self.preparation.has_foreign_keys)?)?;
        let fallback = table.fallback.clone().or(table.judge.clone())?;
        let progress = (table.table.to_string().into(), table.source.rows());
        Some(Arc::new(Part { fallback: Some(fallback), ..self.whole(table, &progress) }))
    }

    /// Adds the keys of all tables, then their indexes, so that the time of each step is that of its own work.
    fn built_by_step(
        &self,
        plan: &mut Plan,
        after: &[&AfterRows],
        rows: &[(Vec<&LoadTable>, Vec<usize>)],
    ) -> Vec<usize> {
        let mut all_indexes = Vec::new();
        for (group, jobs) in rows {
            let (keys, indexes) = built_of(after, group);
            all_indexes.push((indexes, self.chain(plan, keys.into_iter(), jobs)));
        }
        let build = |(own, before): (Vec<_>, Vec<usize>)| self.chain(plan, own.into_iter(), &before);
        all_indexes.into_iter().flat_map(build).collect()
    }

    /// Adds the repair of foreign keys, if there are any.
    fn repairs(&self, plan: &mut Plan, before: Vec<usize>, has_judged: bool) -> Vec<usize> {
        let note = self.note("repair".to_owned());
        let of_table = |table: &'_ LoadTable| {
            let relation = self.relation(&table.table);
            let own = table.references.iter().map(|key| Repair::new(&relation, key));
            own.collect::<Vec<_>>()
        };
        let repairs: Vec<Repair> = self.set.tables.iter().flat_map(of_table).collect();
        let is_open = |table: &LoadTable| table.judge.as_ref().is_some_and(|judge| judge.has_open_keys);
        if repairs.is_empty() || self.is_done("repair") {
            return before;
        }
        // What an interrupted loading has refused is not known.
        let was_judged = |step: &String| step.starts_with(journal::JUDGED);
        let is_needed = self.set.tables.iter().any(is_open)
            || (has_judged && !self.preparation.done.is_empty())
            || self.preparation.done.iter().any(was_judged);
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
        let mut jobs: Vec<Job> = Vec::new();
        let mut is_open = false;
        for own in statements {
            let AfterRows { purpose, statement, .. } = own;
            let done = format!("{purpose:?} {}", statement.sql);
            if self.is_done(&done) {
                continue;
            }
            let mut statement = statement.clone();
            let in_transaction = concurrent_forms::in_transaction(&statement.sql);
            let is_guarded = self.preparation.foreign.is_some();
            let is_alone = in_transaction.is_some() && !is_guarded;
            // Its functions may change others' rows, which a transaction can roll back.
            if let Some(sql) = in_transaction.filter(|_| is_guarded) {
                statement.sql = sql;
            }
            let own_mode = match purpose {
                _ if is_alone => Mode::Alone,
                Purpose::Key | Purpose::Index => Mode::Index,
                Purpose::ForeignKey | Purpose::Last => Mode::Transaction,
            };
            let is_grouped = !is_alone && self.is_grouped(own);
            match jobs.last_mut() {
                Some(Job { step, task: Task::Noted { note, statements, mode, refills }, .. })
                    if is_open
                        && is_grouped
                        && (*step, *mode) == (purpose.step(), own_mode)
                        && statements.len() < GROUP_STATEMENTS =>
                {
                    note.steps.push(done);
                    statements.push(statement);
                    refills.push(self.refill(own));
                }
                _ => {
                    let (note, statements, refills) =
                        (self.note(done), vec![statement], vec![self.refill(own)]);
                    let task = Task::Noted { note, statements, mode: own_mode, refills };
                    jobs.push(Job::new(purpose.step(), task));
                }
            }
            is_open = is_grouped;
        }
        plan.add_chain(jobs, after)
    }

    /// VACUUM comes last: transactions that load other tables would keep it from marking pages as visible to all. ANALYZE runs in
    /// a transaction, because it calls the functions of indexes, which may change rows of others.
    fn vacuum(&self, plan: &mut Plan, after: &[usize]) {
        for group in self.groups() {
            let jobs = [("vacuum", Mode::Alone), ("analyze", Mode::Watched)].into_iter().filter_map(
                |(verb, mode)| {
                    let steps = group.iter().map(|table| format!("{verb} {}", self.relation(&table.table)));
                    let steps: Vec<String> = steps.filter(|step| !self.is_done(step)).collect();
                    let statements = steps.iter().map(|step| LoadStatement::new(step.clone())).collect();
                    let is_done = steps.is_empty();
                    let note = Note { journal: self.preparation.journal.clone(), steps };
                    let refills = Vec::new();
                    (!is_done).then(|| Job::new(VACUUM, Task::Noted { note, statements, mode, refills }))
                },
            );
            plan.add_chain(jobs.collect(), after);
        }
    }
}

/// The keys of tables, and their indexes. A key that uses an index comes after it.
fn built_of<'a>(after: &[&'a AfterRows], tables: &[&LoadTable]) -> (Vec<&'a AfterRows>, Vec<&'a AfterRows>) {
    let (mut keys, mut indexes) = (Vec::new(), Vec::new());
    for table in tables {
        let own = after.iter().filter(|after| after.table.as_ref() == Some(&table.table)).copied();
        let mut own = in_order(own);
        let last_key = own.iter().rposition(|after| after.purpose == Purpose::Key);
        indexes.extend(own.split_off(last_key.map_or(0, |last| last + 1)));
        keys.extend(own);
    }
    (keys, indexes)
}
