//! Before and after the rows: examines existing tables, drops the workload's own, creates the schema with marks and a
//! journal in one transaction, and completes the marks at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use connect::quote::literal;
use connect::{ConnectError, LockTry, Session, SqlState, Target};

use super::journal::{self, Journal, kind};
use super::obstacles::{Marked, Obstacles};
use super::statement::LoadStatement;
use super::table_set::{AfterRows, TableSet};
use super::taken_down::{restored, take_down};
use crate::WorkloadError;
use crate::contract::digests::checksum;
use crate::contract::load::{
    InitOptions, InitProgress, Progress, Tell, begin_own, commit, connect_beside, execute, failed, first,
    query, query_catalogs, text, with_locks,
};
use crate::contract::marks::{self, DatabaseId, Loaded, Mark};
use crate::contract::sql_names;
use crate::contract::table_name::TableName;
use crate::loader::protection::acting_on_all;
use crate::loader::protection::completion;
use crate::loader::protection::dependents;
use crate::loader::protection::existing_objects::ExistingObjects;
use crate::loader::protection::foreign_objects::{
    ForeignObjects, begin_counting, has_event_triggers, run_deferred,
};
use crate::loader::protection::step_guard::{self, rolled_back};

/// What the loading of rows needs to know.
#[derive(Debug, Default)]
pub(super) struct LoadPreparation {
    /// The journal, quoted.
    pub(super) journal: Journal,
    /// The steps that an interrupted loading has done.
    pub(super) done: BTreeSet<String>,
    /// Statement that sets the search path of the schema; empty if it is that of the session.
    pub(super) search_path: String,
    /// The relations of the tables, with their schemas, quoted.
    pub(super) relations: BTreeMap<TableName, String>,
    /// What the schema has created, and what is restored after the rows.
    pub(super) keys: Vec<AfterRows>,
    /// The objects of others, which statements may not change; `None` if they may.
    pub(super) foreign: Option<ForeignObjects>,
    /// Whether foreign keys remain: tables are loaded one after the other, and cannot be emptied.
    pub(super) has_foreign_keys: bool,
}

impl LoadPreparation {
    /// The number of chunks of a table whose loading has begun.
    pub(super) fn chunks_of(&self, relation: &str) -> Option<u32> {
        let beginning = format!("rows {relation} ");
        let chunk = self.done.iter().find_map(|step| step.strip_prefix(&beginning))?;
        chunk.split_once('/')?.1.parse().ok()
    }

    /// The statement of the schema that creates a relation: its file and line.
    pub(super) fn place_of(&self, set: &TableSet, relation: &str) -> Option<(Arc<str>, u32)> {
        let (table, _) = self.relations.iter().find(|(_, known)| *known == relation)?;
        let creates = |statement: &&LoadStatement| sql_names::created(&statement.sql).as_ref() == Some(table);
        set.schema.iter().find(creates)?.place.clone()
    }
}

/// Prepares the tables; `None` if `--resume` finds a complete loading.
pub(super) fn prepare(
    target: &Target,
    session: &mut Session,
    set: &TableSet,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<Option<LoadPreparation>, WorkloadError> {
    if options.resumes {
        if let Some(journal) = journal::find(session, &set.workload)? {
            return resume(session, set, options, journal).map(Some);
        }
        if let Some(object) = marks::find(session, &set.workload)?.first() {
            let found = &object.mark.loaded;
            let missing = || format!("the table {} is missing", journal::table_name(&set.workload));
            return match found.difference(&Loaded::begun(options)) {
                None if found.complete => Ok(None),
                difference => Err(WorkloadError::NotResumable { found: difference.unwrap_or_else(missing) }),
            };
        }
    }
    // The settings that the schema makes end with this connection.
    let mut own = connect_beside(session, target)
        .map_err(|source| WorkloadError::Query { sql: "connecting".to_owned(), source })?;
    let mut announced = String::new();
    with_locks(&mut own, progress, |own, locking, tell| {
        locking.repeat(own, |own, lock_try| {
            let begun = begin(own, set, options, lock_try, &mut announced, tell);
            begun.map_err(|error| rolled_back(own, error, "the schema"))
        })
    })
    .map(Some)
}

/// The options, and a checksum of the statements.
fn fingerprint(set: &TableSet, options: &InitOptions) -> [String; 2] {
    let after = set.after.iter().map(|after| &after.statement);
    let bytes = set.schema.iter().chain(after).flat_map(|statement| statement.sql.bytes().chain([0]));
    [Loaded::begun(options).options_text(), checksum(bytes)]
}

fn resume(
    session: &mut Session,
    set: &TableSet,
    options: &InitOptions,
    journal: String,
) -> Result<LoadPreparation, WorkloadError> {
    let mut preparation =
        LoadPreparation { journal: Journal::named(session, &journal)?, ..LoadPreparation::default() };
    let [asked, statements] = fingerprint(set, options);
    for (kind, step, detail) in journal::read(session, &journal)? {
        match kind.as_str() {
            kind::OPTIONS if step != asked => {
                let before = Loaded::parse(&step);
                let difference = before.and_then(|before| before.difference(&Loaded::begun(options)));
                let found = difference.unwrap_or_else(|| format!("the interrupted loading had {step}"));
                return Err(WorkloadError::NotResumable { found });
            }
            kind::OPTIONS if detail != statements => {
                return Err(WorkloadError::NotResumable {
                    found: "the SQL of the workload has changed since".to_owned(),
                });
            }
            kind::SEARCH_PATH => preparation.search_path = step,
            kind::TABLE => {
                let table = set.tables.iter().find(|table| table.table.quoted() == step);
                preparation.relations.extend(table.map(|table| (table.table.clone(), detail)));
            }
            kind::DONE => {
                preparation.done.insert(step);
            }
            other => {
                if let Some(purpose) = kind::purpose(other) {
                    preparation.keys.push(restored(purpose, &preparation.relations, &step, &detail));
                }
            }
        }
    }
    check_own(session, set, &preparation)?;
    if !options.drops {
        preparation.foreign = Some(foreign_objects(session, set, &preparation)?);
    }
    preparation.has_foreign_keys = has_foreign_keys(session, &preparation.relations)?;
    Ok(preparation)
}

/// The objects of others, if a loading is resumed.
fn foreign_objects(
    session: &mut Session,
    set: &TableSet,
    preparation: &LoadPreparation,
) -> Result<ForeignObjects, WorkloadError> {
    let mut foreign = ForeignObjects::read(session, &set.workload)?;
    foreign.leave_out_without_marks();
    for AfterRows { purpose, statement, .. } in &set.after {
        let is_done = preparation.done.contains(&format!("{purpose:?} {}", statement.sql));
        if let Some(created) = sql_names::created_view(&statement.sql).filter(|_| is_done) {
            foreign.leave_out(session, &created.view)?;
        }
    }
    Ok(foreign)
}

/// Rejects an interrupted loading of another database, such as one that was restored from a dump.
fn check_own(
    session: &mut Session,
    set: &TableSet,
    preparation: &LoadPreparation,
) -> Result<(), WorkloadError> {
    let marked = Marked::new(marks::find(session, &set.workload)?);
    let mut tables =
        [&*preparation.journal.table].into_iter().chain(preparation.relations.values().map(String::as_str));
    let foreign = tables.find(|table| !marked.is_own(table));
    foreign.map_or(Ok(()), |table| Err(marked.refusal(table.to_owned(), set)))
}

/// Creates the tables in one transaction. `announced` has the drops of the try before.
fn begin(
    session: &mut Session,
    set: &TableSet,
    options: &InitOptions,
    lock_try: &LockTry,
    announced: &mut String,
    tell: Tell<'_>,
) -> Result<LoadPreparation, WorkloadError> {
    refuse_transaction_control(set)?;
    let marked = marks::find(session, &set.workload)?;
    let obstacles = Obstacles::find(session, set, options, marked.clone())?;
    let sentence = obstacles.sentence();
    if *announced != sentence {
        tell(InitProgress::Dropping(&format!("before loading: {sentence}")))?;
        announced.clone_from(&sentence);
    }
    let before = ExistingObjects::read(session)?;
    let read = || ForeignObjects::read_beside(session, &set.workload, marked);
    let foreign = (!options.drops).then(read).transpose()?;
    let session_path = search_path(session)?;
    let own_tables = tables_of_role(session, &obstacles.objects)?;
    begin_own(session)?;
    drop_obstacles(session, &own_tables, &obstacles.drop_statements(), lock_try)?;
    foreign.as_ref().map_or(Ok(()), |_| begin_counting(session))?;
    limit_statements(session, options)?;
    set.schema.iter().try_for_each(|statement| execute_statement(session, statement, options))?;
    run_deferred(session)?;
    let path = search_path(session)?;
    let oids = table_oids(session, set)?;
    // From here on, only names of pg_catalog are found.
    let database = DatabaseId::read(session)?;
    let (workload, folder) = (set.workload.clone(), set.folder.clone());
    let mark = Mark { workload, loaded: Loaded::begun(options), folder, object: None };
    let made = before.mark_new(session, &mark)?;
    let relations = relations(session, &oids)?;
    let keys = take_down(session, set, &made, &relations)?;
    let has_foreign_keys = has_foreign_keys(session, &relations)?;
    let search_path = if path == session_path {
        String::new()
    } else {
        format!("select pg_catalog.set_config('search_path', {}, true); ", literal(&path))
    };
    let schema = journal_schema(session, set, &oids)?;
    let journal = journal::in_schema(&schema, &set.workload);
    let mut preparation = LoadPreparation {
        journal: Journal::default(),
        done: BTreeSet::new(),
        search_path,
        relations,
        keys,
        foreign,
        has_foreign_keys,
    };
    let mut entries = entries(set, options, &preparation);
    entries.extend(journal::dependent_entries(dependents::made(session)?));
    for sql in journal::create(&journal, &entries) {
        execute(session, &sql)?;
    }
    preparation.journal = Journal::named(session, &journal)?;
    let mark = mark.of(database.described(session, "pg_class", preparation.journal.oid())?);
    execute(session, &format!("comment on table {journal} is {}", literal(&mark.to_string())))?;
    run_deferred(session)?;
    // After the marks: event triggers act on them too.
    preparation.foreign.iter().try_for_each(|foreign| foreign.check(session))?;
    for sentence in acting_on_all::sentences(session)? {
        tell(InitProgress::Found(&sentence))?;
    }
    commit(session)?;
    Ok(preparation)
}

/// Limits the time of each later statement of the transaction.
pub(super) fn limit_statements(session: &mut Session, options: &InitOptions) -> Result<(), WorkloadError> {
    let limit = options.statement_limit.as_millis();
    execute(session, &format!("select pg_catalog.set_config('statement_timeout', '{limit}', true)"))
}

/// Executes a statement of the schema.
pub(super) fn execute_statement(
    session: &mut Session,
    statement: &LoadStatement,
    options: &InitOptions,
) -> Result<(), WorkloadError> {
    let done = step_guard::execute_singly(session, &statement.sql).map_err(failed(&statement.sql));
    done.map_err(|error| statement.limit_error(statement.error(error)))?;
    if !session.is_in_transaction() {
        return Err(WorkloadError::TransactionEnded { place: statement.shown_place() });
    }
    if statement.sql.to_ascii_lowercase().contains("statement_timeout") {
        // pg_dump sets no limit for the time of the restore.
        let none =
            "select 1 where pg_catalog.current_setting('statement_timeout') operator(pg_catalog.=) '0'";
        if !query(session, none)?.is_empty() {
            limit_statements(session, options)?;
        }
    }
    Ok(())
}

pub(super) fn refuse_transaction_control(set: &TableSet) -> Result<(), WorkloadError> {
    for statement in set.schema.iter().chain(set.after.iter().map(|after| &after.statement)) {
        if let Some(word) = step_guard::transaction_control(&statement.sql) {
            return Err(WorkloadError::TransactionControl { place: statement.shown_place(), word });
        }
    }
    Ok(())
}

/// The tables among these objects that the role owns. DROP TABLE names the reason for the others.
pub(super) fn tables_of_role(
    session: &mut Session,
    objects: &[(String, String)],
) -> Result<Vec<String>, WorkloadError> {
    let tables: Vec<String> =
        objects.iter().filter(|(kind, _)| kind == "table").map(|(_, identity)| literal(identity)).collect();
    let sql = format!(
        "select identity from unnest(array[{}]::text[]) with ordinality as t(identity, number) \
         join pg_class on oid = identity::regclass where pg_has_role(relowner, 'usage') order by number",
        tables.join(", ")
    );
    Ok(query_catalogs(session, &sql)?.iter().map(|row| text(row, 0)).collect())
}

/// Locks tables one by one, so that the waits for all locks of the transaction have one limit, and drops them with the other
/// objects. DROP TABLE of several tables would hold the first lock for as long as it waits for the others.
pub(super) fn drop_obstacles(
    session: &mut Session,
    tables: &[String],
    drops: &[String],
    lock_try: &LockTry,
) -> Result<(), WorkloadError> {
    let limit = |limited: Result<(), ConnectError>| limited.map_err(failed("set local lock_timeout"));
    limit(lock_try.limit_transaction(session))?;
    for table in tables {
        execute(session, &format!("lock table {table} in access exclusive mode"))?;
        limit(lock_try.limit_statement(session))?;
    }
    drop_in_order(session, drops)
}

/// Drops objects that may depend on each other: one on which another depends comes later, when that one is gone.
fn drop_in_order(session: &mut Session, drops: &[String]) -> Result<(), WorkloadError> {
    let mut left: Vec<&String> = drops.iter().collect();
    while !left.is_empty() {
        let (mut postponed, mut failure) = (Vec::new(), None);
        let before = left.len();
        for sql in left {
            execute(session, "savepoint pgmeter_drop")?;
            match execute(session, sql) {
                Ok(()) => {}
                Err(error) if has_dependents(&error) => {
                    execute(session, "rollback to savepoint pgmeter_drop")?;
                    postponed.push(sql);
                    failure.get_or_insert(error.not_permitted(&format!("cannot {sql}")));
                }
                Err(error) => return Err(error.not_permitted(&format!("cannot {sql}"))),
            }
            execute(session, "release savepoint pgmeter_drop")?;
        }
        if let Some(failure) = failure.filter(|_| postponed.len() == before) {
            return Err(failure);
        }
        left = postponed;
    }
    Ok(())
}

/// Whether an object was not dropped because others depend on it.
fn has_dependents(error: &WorkloadError) -> bool {
    const DEPENDENT_OBJECTS: &[u8; 5] = b"2BP01";
    let state = error.server_failure().and_then(ConnectError::sqlstate);
    state.is_some_and(|state| Some(state) == SqlState::from_bytes(DEPENDENT_OBJECTS))
}

/// What the journal has at the beginning. Tables come before their keys.
fn entries(set: &TableSet, options: &InitOptions, preparation: &LoadPreparation) -> Vec<journal::Entry> {
    let entry = |kind: &str, step: String, detail: String| (kind.to_owned(), step, detail);
    let [asked, statements] = fingerprint(set, options);
    let mut entries = vec![
        entry(kind::OPTIONS, asked, statements),
        entry(kind::SEARCH_PATH, preparation.search_path.clone(), String::new()),
    ];
    for (table, relation) in &preparation.relations {
        entries.push(entry(kind::TABLE, table.quoted(), relation.clone()));
    }
    for AfterRows { purpose, table, statement } in &preparation.keys {
        let kind = kind::of_purpose(*purpose);
        let relation = table.as_ref().and_then(|table| preparation.relations.get(table));
        entries.push(entry(kind, statement.sql.clone(), relation.cloned().unwrap_or_default()));
    }
    entries
}

/// Whether a table has a foreign key, or another one has one to it.
fn has_foreign_keys(
    session: &mut Session,
    relations: &BTreeMap<TableName, String>,
) -> Result<bool, WorkloadError> {
    let regclass = |relation: &String| format!("{}::regclass", literal(relation));
    let tables: Vec<String> = relations.values().map(regclass).collect();
    if tables.is_empty() {
        return Ok(false);
    }
    let tables = tables.join(", ");
    let sql = format!(
        "select 1 from pg_constraint where contype = 'f' and (conrelid in ({tables}) or confrelid in ({tables})) \
         limit 1"
    );
    Ok(!query_catalogs(session, &sql)?.is_empty())
}

/// The OIDs of the tables, as the search path of the schema finds them.
fn table_oids<'a>(
    session: &mut Session,
    set: &'a TableSet,
) -> Result<Vec<(&'a TableName, String)>, WorkloadError> {
    let names: Vec<String> = set.tables.iter().map(|table| literal(&table.table.quoted())).collect();
    let sql = format!(
        "select name::pg_catalog.regclass::pg_catalog.oid from pg_catalog.unnest(array[{}]::pg_catalog.text[]) \
         with ordinality as t(name, number) order by number",
        names.join(", ")
    );
    let rows = query(session, &sql)?;
    Ok(set.tables.iter().map(|table| &table.table).zip(rows.iter().map(|row| text(row, 0))).collect())
}

/// The relations of these OIDs, with their schemas, quoted.
fn relations(
    session: &mut Session,
    oids: &[(&TableName, String)],
) -> Result<BTreeMap<TableName, String>, WorkloadError> {
    let list: Vec<String> = oids.iter().map(|(_, oid)| literal(oid)).collect();
    let sql = format!(
        "select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.oid = any (array[{}]::oid[])",
        list.join(", ")
    );
    let rows = query_catalogs(session, &sql)?;
    let found: BTreeMap<String, String> = rows.iter().map(|row| (text(row, 0), text(row, 1))).collect();
    let relation = |oid: &String| found.get(oid).cloned().unwrap_or_default();
    Ok(oids.iter().map(|(table, oid)| ((*table).clone(), relation(oid))).collect())
}

/// The schema of the journal: that of the first table, where the user may create tables.
fn journal_schema(
    session: &mut Session,
    set: &TableSet,
    oids: &[(&TableName, String)],
) -> Result<String, WorkloadError> {
    let Some((_, oid)) = oids.first() else {
        return Ok(set.names.first().and_then(|table| table.schema.clone()).unwrap_or("public".to_owned()));
    };
    let sql = format!(
        "select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = {oid}"
    );
    Ok(first(&query_catalogs(session, &sql)?))
}

fn search_path(session: &mut Session) -> Result<String, WorkloadError> {
    Ok(first(&query(session, "select pg_catalog.current_setting('search_path')")?))
}

/// Marks the tables as loaded, and drops the journal.
pub(super) fn finish(
    session: &mut Session,
    set: &TableSet,
    preparation: &LoadPreparation,
    rows: &BTreeMap<String, u64>,
    lock_try: &LockTry,
) -> Result<(), WorkloadError> {
    // The statements are pgmeter's.
    let foreign = match preparation.foreign.as_ref() {
        Some(before) if has_event_triggers(session)? => Some(before.read_again(session)?),
        _ => None,
    };
    begin_own(session)?;
    let limited = lock_try.limit_transaction(session).map_err(failed("set local lock_timeout"));
    let done = limited
        .and_then(|()| finish_within(session, set, preparation, rows, foreign.as_ref()))
        .and_then(|()| commit(session));
    if done.is_err() && !session.is_lost() {
        // The first error is reported.
        let _ = session.rollback();
    }
    done
}

fn finish_within(
    session: &mut Session,
    set: &TableSet,
    preparation: &LoadPreparation,
    rows: &BTreeMap<String, u64>,
    foreign: Option<&ForeignObjects>,
) -> Result<(), WorkloadError> {
    foreign.map_or(Ok(()), |_| begin_counting(session))?;
    preparation.journal.hold(session)?;
    let recorded = journal::recorded(session, &preparation.journal.table)?;
    completion::complete(session, &set.workload, recorded.as_ref(), rows, &set.foreign_keys)?;
    execute(session, &format!("drop table {}", preparation.journal.table))?;
    run_deferred(session)?;
    foreign.map_or(Ok(()), |foreign| foreign.check(session))
}
