//! Finds objects that a transaction has changed and that `init` did not make, whichever statement changed them: also DROP
//! TYPE … CASCADE, a trigger, or a function. The server's catalogs decide, not the text of the statements; this is used
//! before COMMIT. `protection` examines statements before they run, for earlier and clearer messages.

use std::collections::{BTreeMap, BTreeSet};

use connect::Session;
use connect::quote::literal;

use crate::WorkloadError;
use crate::contract::load::{execute, query, query_catalogs, query_catalogs_again, text};
use crate::contract::marks::{self, MarkedObject};
use crate::contract::object_kinds::{ObjectKey, catalog_of, has_marks};
use crate::contract::sql_names;
use crate::contract::table_name::TableName;
use crate::loader::protection::dependents::{self, Dependent};
use crate::loader::protection::existing_objects::{Object, of_transaction};
use crate::loader::protection::existing_tables;
use crate::loader::protection::foreign_definitions::{
    ForeignDefinition, ForeignTable, WantedObjects, definitions, tables,
};
use crate::loader::protection::foreign_parts::{self, ForeignParts};
use crate::loader::protection::sequences::{self, ChangedSequence, Sequences};
use crate::loader::protection::user_functions;

/// The objects of others, as they were before a transaction.
#[derive(Debug)]
pub(crate) struct ForeignObjects {
    workload: String,
    /// The workload's own objects.
    own: BTreeSet<ObjectKey>,
    /// By OID.
    tables: BTreeMap<String, ForeignTable>,
    others: BTreeMap<ObjectKey, ForeignDefinition>,
    /// Rows of [`SHARED`] that the session had changed, by their kind.
    shared: BTreeMap<String, u64>,
    parts: ForeignParts,
    /// Objects of users that belong to the workload's relations, and their descriptions.
    dependents: BTreeMap<ObjectKey, String>,
    sequences: Sequences,
}

impl ForeignObjects {
    /// These objects, to be read again.
    fn known(&self) -> WantedObjects<'_> {
        WantedObjects::Known { tables: &self.tables, others: &self.others }
    }

    /// The objects without a mark of the workload. Like [`Session::query_catalogs`], it changes the search path of an open
    /// transaction.
    pub(crate) fn read(session: &mut Session, workload: &str) -> Result<ForeignObjects, WorkloadError> {
        let marked = marks::find(session, workload)?;
        ForeignObjects::read_beside(session, workload, marked)
    }

    /// The same, if the objects with a mark of the workload are known, without those that belong to others nevertheless.
    pub(crate) fn read_beside(
        session: &mut Session,
        workload: &str,
        mut marked: Vec<MarkedObject>,
    ) -> Result<ForeignObjects, WorkloadError> {
        marked.retain(|object| object.is_own);
        let dependents = described(dependents::of_users(session, &marked)?);
        let own = marked.into_iter().map(|object| (catalog_of(&object.kind).to_owned(), object.object.oid));
        let foreign = ForeignObjects::except(session, workload, own.collect())?;
        Ok(ForeignObjects { dependents, ..foreign })
    }

    /// All objects but these. Partitions count as own only if they are among them: users attach theirs.
    fn except(
        session: &mut Session,
        workload: &str,
        mut own: BTreeSet<ObjectKey>,
    ) -> Result<ForeignObjects, WorkloadError> {
        let relations = relations_of_types(session, &own)?;
        own.extend(relations.into_iter().map(|oid| ("pg_class".to_owned(), oid)));
        let mut all_own = inner_objects(session, &own)?;
        all_own.extend(own.iter().cloned());
        let read = ForeignObjects::wanted(session, workload, WantedObjects::Except(&all_own))?;
        Ok(ForeignObjects { own, ..read })
    }

    /// These objects, without own ones and dependents.
    fn wanted(
        session: &mut Session,
        workload: &str,
        wanted: WantedObjects<'_>,
    ) -> Result<ForeignObjects, WorkloadError> {
        let known = catalogs(session)?;
        let (tables, others) = (tables(session, wanted)?, definitions(session, &known, wanted)?);
        let shared = shared_changes(session)?;
        let parts = foreign_parts::read(session, &known, &wanted.parents())?;
        let (workload, own, dependents) = (workload.to_owned(), BTreeSet::new(), BTreeMap::new());
        let of_others = others.iter().filter(|(_, other)| other.described.starts_with(SEQUENCE));
        let sequences = sequences::read(session, of_others.map(|((_, oid), _)| oid.as_str()))?;
        Ok(ForeignObjects { workload, own, tables, others, shared, parts, dependents, sequences })
    }

    /// These objects belong to the workload from now on.
    pub(crate) fn adopt(&mut self, made: &[Object]) {
        self.own.extend(made.iter().map(|object| (catalog_of(&object.kind).to_owned(), object.oid.clone())));
    }

    /// Whether there is no table of others, which a lock could shut out.
    pub(crate) fn have_no_tables(&self) -> bool {
        self.tables.is_empty()
    }

    /// Looks whether the transaction has changed rows of these tables since `before`, and leaves its search path as it is.
    ///
    /// # Errors
    /// It has.
    pub(crate) fn check_rows(
        &self,
        session: &mut Session,
        before: &BTreeMap<String, String>,
    ) -> Result<(), WorkloadError> {
        let now = changed_rows(session)?;
        let changed = |(oid, rows): (&String, &String)| {
            let table = self.tables.get(oid)?;
            (before.get(oid) != Some(rows)).then_some(table)
        };
        let locked = locked(session)?;
        let is_locked = || locked.iter().find_map(|oid| self.tables.get(oid));
        match now.iter().find_map(changed).or_else(is_locked) {
            None => Ok(()),
            Some(table) => {
                let (object, workload) = (table.identity.clone(), self.workload.clone());
                Err(WorkloadError::ForeignObjectChanged { object, workload, event_trigger: None })
            }
        }
    }

    /// The first table of others that words of a statement name, or whose index they name; without a name of a relation, any
    /// of them, because the statement is for all tables.
    pub(crate) fn named_in(&self, session: &mut Session, sql: &str) -> Result<Option<String>, WorkloadError> {
        let any = || self.tables.values().next().map(|table| table.identity.clone());
        if sql_names::has_unknown_names(sql) {
            return Ok(any());
        }
        let mut names_any = false;
        for (name, is_certain) in sql_names::possible_names(sql) {
            let find = format!("select pg_catalog.to_regclass({})::pg_catalog.oid", literal(&name));
            // Words that are no names are errors of the server in older versions.
            let Ok(rows) = query(session, &find) else { continue };
            let Some(oid) = rows.first().and_then(|row| row.get(0)) else { continue };
            names_any |= is_certain;
            let table = format!(
                "select coalesce((select indrelid from pg_index where indexrelid = {oid}::oid), {oid}::oid)"
            );
            let rows = query_catalogs(session, &table)?;
            if let Some(table) = rows.first().and_then(|row| self.tables.get(row.get(0)?)) {
                return Ok(Some(table.identity.clone()));
            }
        }
        Ok(if names_any { None } else { any() })
    }

    /// The same objects as they are now, without those that were dropped since.
    pub(crate) fn read_again(&self, session: &mut Session) -> Result<ForeignObjects, WorkloadError> {
        let mut marked = marks::find_with_dependents(session, &self.workload)?;
        marked.retain(|object| object.is_own);
        let dependents = described(dependents::of_users(session, &marked)?);
        let now = ForeignObjects::wanted(session, &self.workload, self.known())?;
        Ok(ForeignObjects { own: self.own.clone(), dependents, ..now })
    }

    /// The same without the values of sequences: others may take values of theirs while rows are loaded for a long time.
    pub(crate) fn definitions_again(&self, session: &mut Session) -> Result<ForeignObjects, WorkloadError> {
        Ok(ForeignObjects { sequences: Sequences::new(), ..self.read_again(session)? })
    }

    /// The objects of others as they are now, also those that others have made since. Of kinds without marks, new objects may
    /// be those of the loading.
    pub(crate) fn now(&self, session: &mut Session) -> Result<ForeignObjects, WorkloadError> {
        let mut now = ForeignObjects::except(session, &self.workload, self.own.clone())?;
        now.others.retain(|key, _| self.others.contains_key(key) || has_marks(&key.0));
        let existing = dependents::existing(session, self.dependents.keys())?;
        now.dependents = self.dependents.clone();
        now.dependents.retain(|key, _| existing.contains(key));
        Ok(now)
    }

    /// Leaves out all objects of kinds that have no marks: an interrupted loading may have made them.
    pub(crate) fn leave_out_without_marks(&mut self) {
        self.others.retain(|(catalog, _), _| has_marks(catalog));
    }

    /// Leaves out a view that an interrupted loading of the workload has made, and not yet marked.
    pub(crate) fn leave_out(&mut self, session: &mut Session, view: &TableName) -> Result<(), WorkloadError> {
        if let Some(relation) = existing_tables::find_relation(session, view)? {
            self.others.remove(&("pg_class".to_owned(), relation));
        }
        Ok(())
    }

    /// Looks at the objects again, before the transaction is committed.
    ///
    /// # Errors
    /// One was dropped or changed.
    pub(crate) fn check(&self, session: &mut Session) -> Result<(), WorkloadError> {
        count_rows(session, "pg_catalog.current_setting('track_counts')")?;
        check_sequences(session, &self.sequences, &self.workload)?;
        match self.changed(session)?.into_iter().next() {
            None => Ok(()),
            Some(object) => {
                let enabled =
                    "select quote_ident(evtname) from pg_event_trigger where evtenabled <> 'D' limit 1";
                let found = query_catalogs(session, enabled)?;
                let event_trigger = found.first().and_then(|row| row.get(0)).map(str::to_owned);
                let workload = self.workload.clone();
                Err(WorkloadError::ForeignObjectChanged { object, workload, event_trigger })
            }
        }
    }

    /// The objects that were dropped or changed.
    pub(crate) fn changed(&self, session: &mut Session) -> Result<Vec<String>, WorkloadError> {
        let locked = locked(session)?;
        let known = catalogs(session)?;
        let now = tables(session, self.known())?;
        let is_changed = |(oid, before): &(&String, &ForeignTable)| {
            now.get(*oid).is_none_or(|table| {
                let has_new_rows = locked.contains(*oid)
                    || table.changed_rows > 0 && table.changed_rows != before.changed_rows;
                has_new_rows || table.definition != before.definition
            })
        };
        let mut changed: Vec<String> =
            self.tables.iter().filter(is_changed).map(|(_, table)| table.identity.clone()).collect();
        let now = definitions(session, &known, self.known())?;
        let is_changed = |(key, before): &(&ObjectKey, &ForeignDefinition)| {
            let is_written = before.described.starts_with(MATERIALIZED) && locked.contains(&key.1);
            is_written || now.get(*key).is_none_or(|object| object.digest != before.digest)
        };
        // Where nobody has a table, nobody is shut out of `public`; dumps of older versions set its privileges.
        let is_used = |(catalog, _): &ObjectKey, object: &ForeignDefinition| {
            !self.tables.is_empty() || catalog != "pg_namespace" || object.described != PUBLIC
        };
        let others = self.others.iter().filter(|(key, object)| is_used(key, object));
        changed.extend(others.filter(is_changed).map(|(_, object)| object.described.clone()));
        let before = |what: &String| self.shared.get(what).copied().unwrap_or_default();
        let now = shared_changes(session)?.into_iter();
        changed.extend(now.filter(|(what, rows)| *rows > 0 && *rows != before(what)).map(|(what, _)| what));
        let now = foreign_parts::read(session, &known, &self.known().parents())?;
        for object in foreign_parts::changed(&self.parts, &now, |key| self.name(key)) {
            if !changed.contains(&object) {
                changed.push(object);
            }
        }
        let existing = dependents::existing(session, self.dependents.keys())?;
        let dropped = self.dependents.iter().filter(|(key, _)| !existing.contains(*key));
        changed.extend(dropped.map(|(_, described)| described.clone()));
        let sequences = sequences::changed(session, &self.sequences)?;
        changed.extend(sequences.into_iter().map(|sequence| format!("{SEQUENCE}{}", sequence.identity)));
        Ok(changed)
    }

    /// The name of an object that existed.
    fn name(&self, key: &ObjectKey) -> Option<String> {
        if key.0 == foreign_parts::ALL_TABLES {
            let ForeignTable { identity, .. } = self.tables.values().next()?;
            return Some(format!("{identity} (by the new publication {}, which is FOR ALL TABLES)", key.1));
        }
        let table =
            || self.tables.get(&key.1).filter(|_| key.0 == "pg_class").map(|table| table.identity.clone());
        table().or_else(|| self.others.get(key).map(|object| object.described.clone()))
    }
}

/// Looks whether the transaction has changed the value of one of these sequences of others.
///
/// # Errors
/// It has.
pub(crate) fn check_sequences(
    session: &mut Session,
    before: &Sequences,
    workload: &str,
) -> Result<(), WorkloadError> {
    match sequences::changed(session, before)?.into_iter().next() {
        None => Ok(()),
        Some(ChangedSequence { identity: sequence, restore }) => {
            Err(WorkloadError::SequenceChanged { sequence, workload: workload.to_owned(), restore })
        }
    }
}

/// Dependents by their keys.
fn described(dependents: Vec<Dependent>) -> BTreeMap<ObjectKey, String> {
    dependents.into_iter().map(|dependent| (dependent.key, dependent.described)).collect()
}

/// How materialized views are described.
const MATERIALIZED: &str = "the materialized view ";
/// How sequences are described.
const SEQUENCE: &str = "the sequence ";

/// Runs in an open transaction what COMMIT would run: triggers of deferred constraints, and queries of cursors WITH HOLD, which
/// are closed instead. What they change is seen then. A trigger can defer the constraints again, and change further rows.
pub(crate) fn run_deferred(session: &mut Session) -> Result<(), WorkloadError> {
    run_deferred_once(session)?;
    let rounds = if user_functions::may_defer(session)? { DEFERRALS_MAX } else { 0 };
    (0..rounds).try_for_each(|_| run_deferred_once(session))
}

/// So often a trigger may defer itself again.
const DEFERRALS_MAX: usize = 16;

fn run_deferred_once(session: &mut Session) -> Result<(), WorkloadError> {
    execute(session, "set constraints all immediate")?;
    // After the triggers, which can open them.
    execute(session, "close all")
}

/// The relations whose rows the current transaction has locked to change them: a function can turn off the counting of rows,
/// but INSERT, UPDATE and DELETE keep this lock until the end. A foreign key needs other locks. The search path stays.
fn locked(session: &mut Session) -> Result<BTreeSet<String>, WorkloadError> {
    let rows = query(
        session,
        "select relation from pg_catalog.pg_locks where pid operator(pg_catalog.=) pg_catalog.pg_backend_pid() \
         and locktype operator(pg_catalog.=) 'relation' and mode operator(pg_catalog.=) 'RowExclusiveLock' \
         and granted and database operator(pg_catalog.=) (select oid from pg_catalog.pg_database \
         where datname operator(pg_catalog.=) pg_catalog.current_database())",
    )?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// The relations of composite types, which are objects of their own in the catalogs.
fn relations_of_types(
    session: &mut Session,
    own: &BTreeSet<ObjectKey>,
) -> Result<Vec<String>, WorkloadError> {
    let types = own.iter().filter(|(catalog, _)| catalog == "pg_type");
    let types: Vec<String> = types.map(|(_, oid)| literal(oid)).collect();
    let types = types.join(", ");
    let sql =
        format!("select typrelid from pg_type where typrelid <> 0 and oid = any (array[{types}]::oid[])");
    Ok(query_catalogs(session, &sql)?.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// Objects that the server has made for these and drops with them, such as the cast of a range type.
fn inner_objects(
    session: &mut Session,
    own: &BTreeSet<ObjectKey>,
) -> Result<BTreeSet<ObjectKey>, WorkloadError> {
    let sql = "select classid::regclass, objid, refclassid::regclass, refobjid from pg_depend \
               where deptype = 'i' and refclassid <> 'pg_class'::regclass and classid not in ('pg_class'::regclass, \
               'pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass)";
    let rows = query_catalogs(session, sql)?;
    let key = |row: &connect::Row, column| (text(row, column), text(row, column + 1));
    let mut inner = BTreeSet::new();
    loop {
        // Those of a range type belong to its multirange type.
        let is_of = |outer: &ObjectKey| own.contains(outer) || inner.contains(outer);
        let found: BTreeSet<ObjectKey> =
            rows.iter().filter(|row| is_of(&key(row, 2))).map(|row| key(row, 0)).collect();
        if found == inner {
            return Ok(inner);
        }
        inner = found;
    }
}

/// The names of the server's catalogs.
fn catalogs(session: &mut Session) -> Result<BTreeSet<String>, WorkloadError> {
    let sql = "select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace";
    let rows = query_catalogs(session, sql)?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// Whether a function of a user may act on pgmeter's own COMMENT and DROP.
pub(crate) fn has_event_triggers(session: &mut Session) -> Result<bool, WorkloadError> {
    let enabled = "select 1 from pg_event_trigger where evtenabled <> 'D' limit 1";
    Ok(!query_catalogs(session, enabled)?.is_empty())
}

/// Tables of users of which the session has changed rows, and their number, with those that it has not reported yet. The
/// view `pg_stat_xact_all_tables` would also look up their names and indexes.
pub(crate) fn changed_rows(session: &mut Session) -> Result<BTreeMap<String, String>, WorkloadError> {
    let rows = query(
        session,
        "select oid, rows from (select oid, pg_catalog.pg_stat_get_xact_tuples_inserted(oid) \
         operator(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_updated(oid) \
         operator(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_deleted(oid) as rows \
         from pg_catalog.pg_class where oid operator(pg_catalog.>=) 16384 \
         and relkind operator(pg_catalog.=) any (array['r', 'm', 'p', 'f']::pg_catalog.\"char\"[])) t \
         where rows operator(pg_catalog.>) 0",
    )?;
    Ok(rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
}

/// Has the server count the rows that the current transaction changes; roles without the right to set this need it set.
///
/// # Errors
/// It does not count them, so that changes of others' rows would not be seen.
pub(crate) fn begin_counting(session: &mut Session) -> Result<(), WorkloadError> {
    let value = "case when pg_catalog.current_setting('track_counts') operator(pg_catalog.=) 'on' then 'on' \
                 when (select rolsuper from pg_catalog.pg_roles where rolname operator(pg_catalog.=) current_user) \
                 then pg_catalog.set_config('track_counts', 'on', true) end";
    count_rows(session, value)
}

/// The search path of the transaction stays.
fn count_rows(session: &mut Session, value: &str) -> Result<(), WorkloadError> {
    let rows = query(session, &format!("select {value}"))?;
    let is_on = rows.first().and_then(|row| row.get(0)) == Some("on");
    if is_on { Ok(()) } else { Err(WorkloadError::RowsNotCounted) }
}

/// The schema in which users share their objects.
const PUBLIC: &str = "the schema public";

/// Catalogs of what other databases or applications share, without an identity that a loading could own: the kind, the
/// catalog, and whether a new row changes what is there.
const SHARED: [(&str, &str, bool); 11] = [
    ("a large object", "pg_largeobject", false),
    ("a large object", "pg_largeobject_metadata", false),
    ("a setting of a database or a role", "pg_db_role_setting", true),
    ("a database", "pg_database", false),
    ("a role", "pg_authid", false),
    ("the membership in a role", "pg_auth_members", false),
    ("a tablespace", "pg_tablespace", false),
    ("a user mapping", "pg_user_mapping", false),
    ("a subscription", "pg_subscription", false),
    ("a security label", "pg_seclabel", true),
    ("a comment on a database or a role", "pg_shdescription", false),
];

/// Rows of these catalogs that the session has changed, and not yet reported to the server's statistics.
fn shared_changes(session: &mut Session) -> Result<BTreeMap<String, u64>, WorkloadError> {
    let parts = SHARED.iter().map(|(what, catalog, counts_new)| {
        let number = format!("to_regclass('{catalog}')::oid");
        let new = if *counts_new {
            format!(" + pg_stat_get_xact_tuples_inserted({number})")
        } else {
            String::new()
        };
        format!(
            "select '{what}', coalesce(pg_stat_get_xact_tuples_updated({number}) \
             + pg_stat_get_xact_tuples_deleted({number}){new}, 0)"
        )
    });
    let mut parts: Vec<String> = parts.collect();
    // New pages of large objects; those of new ones are no change.
    let is_new = of_transaction(session).replace('$', "m");
    parts.push(format!(
        "select 'a large object', case when n > 0 and not exists (select 1 from pg_largeobject_metadata m where {is_new}) \
         then n else 0 end from pg_stat_get_xact_tuples_inserted('pg_largeobject'::regclass) n"
    ));
    let in_description = of_transaction(session).replace('$', "d");
    parts.push(format!(
        "select 'a large object', count(*) from pg_description d where classoid = 'pg_largeobject'::regclass \
         and {in_description} and not exists (select 1 from pg_largeobject_metadata m where m.oid = d.objoid and {is_new})"
    ));
    // A function can turn off the counting of rows, but ALTER ROLE … SET keeps this lock until the end.
    parts.push(
        "select 'a setting of a database or a role', count(*) from pg_locks where pid = pg_backend_pid() \
         and relation = 'pg_db_role_setting'::regclass and mode = 'RowExclusiveLock'"
            .to_owned(),
    );
    let rows = query_catalogs_again(session, &parts.join(" union all "))?;
    let mut changes = BTreeMap::new();
    for row in &rows {
        let changed: u64 = row.get(1).and_then(|rows| rows.parse().ok()).unwrap_or_default();
        *changes.entry(row.get(0).unwrap_or_default().to_owned()).or_default() += changed;
    }
    Ok(changes)
}
