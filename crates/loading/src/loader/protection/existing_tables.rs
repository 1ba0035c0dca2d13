//! Protects existing tables from the SQL of a folder: before a load step runs, the tables that it would change are
//! looked up. Tables that `init` made for the same workload have marks and may be changed.

use std::collections::{BTreeMap, BTreeSet};

use connect::quote::literal;
use connect::{Row, Session};

use crate::WorkloadError;
use crate::contract::load::{query, query_catalogs};
use crate::contract::marks::{self, DatabaseId, Mark, MarkedObject};
use crate::contract::object_kinds::ObjectKey;
use crate::contract::sql_names::{self, Change};
use crate::contract::table_name::TableName;
use crate::loader::protection::dependents;

/// A table of the database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    /// Its OID.
    pub oid: String,
    /// With its schema, quoted.
    pub identity: String,
}

/// What the statements of a workload change and create.
#[derive(Debug, Default)]
pub(crate) struct Protection {
    /// Tables that statements change before they create them.
    changes: Vec<Change>,
    created: BTreeSet<TableName>,
    /// The names of all objects that statements create, without their schemas.
    pub(crate) names: BTreeSet<String>,
    /// Tables that exist and were not made by `init` for the workload.
    foreign: BTreeSet<Relation>,
    /// Objects of users that belong to the workload's tables.
    of_users: BTreeSet<ObjectKey>,
    /// The others that belong to them.
    pub(crate) own_dependents: BTreeSet<ObjectKey>,
}

impl Protection {
    /// Notes the next statement.
    pub(crate) fn statement(&mut self, sql: &str) {
        for change in sql_names::changes(sql) {
            // If a table that is created existed, the statement would fail and end the loading.
            let is_new = matches!(&change, Change::Table(table) if self.created.contains(table));
            if !is_new && !self.changes.contains(&change) {
                self.changes.push(change);
            }
        }
        self.created.extend(sql_names::created(sql));
        self.names.extend(sql_names::created_name(sql));
    }

    /// A table that the workload names as its own.
    pub(crate) fn table(&mut self, table: TableName) {
        self.names.insert(table.name.clone());
        self.created.insert(table);
    }

    /// Looks up the tables in the database. Returns the workload's own tables that the statements drop or change.
    ///
    /// # Errors
    /// A statement would change a table without a mark of the workload, and `drops` is not set.
    pub(crate) fn check(
        &mut self,
        session: &mut Session,
        workload: &str,
        init: &str,
        drops: bool,
    ) -> Result<Vec<String>, WorkloadError> {
        let (own, copied): (Vec<_>, Vec<_>) =
            marks::find(session, workload)?.into_iter().partition(|object| object.is_own);
        self.of_users = dependents::of_users(session, &own)?.into_iter().map(|own| own.key).collect();
        self.own_dependents = dependents::of_loading(session, &own, &self.of_users)?;
        let identities =
            |objects: Vec<MarkedObject>| objects.into_iter().map(|object| object.identity).collect();
        let own: BTreeSet<String> = identities(own);
        for table in &self.created {
            let existing = find(session, table)?;
            self.foreign.extend(existing.filter(|relation| !own.contains(&relation.identity)));
        }
        let mut changed = Vec::new();
        for change in &self.changes {
            let existing = match change {
                Change::Table(table) => find(session, table)?.into_iter().collect(),
                Change::Schema(schema) => tables_of(session, schema)?,
            };
            for Relation { identity, .. } in existing {
                if !drops && !own.contains(&identity) {
                    return Err(refusal(identity, &copied, workload, init));
                }
                if own.contains(&identity) && !changed.contains(&identity) {
                    changed.push(identity);
                }
            }
        }
        Ok(changed)
    }

    /// The statements that mark the tables that the statements have created or filled so far. Transactions of the loading mark
    /// what they create; a table without a mark may be that of another session, unless it is not known which dependents the loading
    /// has `made`, because `--drop` permits all.
    pub(crate) fn marks(
        &self,
        session: &mut Session,
        mark: &Mark,
        made: Option<&BTreeSet<ObjectKey>>,
    ) -> Result<Vec<String>, WorkloadError> {
        let database = DatabaseId::read(session)?;
        let mut known = BTreeMap::new();
        for object in marks::find(session, &mark.workload)? {
            if object.is_same() {
                known.insert(object.identity, object.comment);
            }
        }
        let mut statements = Vec::new();
        for table in &self.created {
            let Some(relation) = find(session, table)?.filter(|relation| !self.foreign.contains(relation))
            else {
                continue;
            };
            let comment = match known.get(&relation.identity) {
                Some(comment) => comment.clone(),
                None if made.is_none() => comment(session, &relation)?,
                None => continue,
            };
            let mut object = database.described(session, "pg_class", &relation.oid)?;
            let mut noted = dependents::read(session, [relation.oid.as_str()].into_iter())?;
            let is_of_user =
                |key: &ObjectKey| made.map_or(self.of_users.contains(key), |made| !made.contains(key));
            noted.retain(|dependent| is_of_user(&dependent.key) != mark.loaded.complete);
            object.dependents = Some(dependents::word(&noted, &relation.oid));
            let marked = mark.of(object).added_to(&comment);
            if marked != comment {
                statements.push(format!("comment on table {} is {}", relation.identity, literal(&marked)));
            }
        }
        Ok(statements)
    }
}

/// The error about a table that `init` may not change. `copied` are the objects whose marks do not fit them.
pub(crate) fn refusal(table: String, copied: &[MarkedObject], workload: &str, init: &str) -> WorkloadError {
    let init = init.to_owned();
    match copied.iter().find(|object| object.identity == table) {
        Some(object) if object.is_same() => WorkloadError::AlteredTable { table, init },
        Some(_) => WorkloadError::CopiedTable { table, init },
        None => WorkloadError::ForeignTable { table, workload: workload.to_owned(), init },
    }
}

/// Selects the OID and the quoted name of tables.
const RELATIONS: &str = "\
    select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c \
    join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p') and ";

/// The OID of the table or view as the search path finds it.
pub(crate) fn find_relation(
    session: &mut Session,
    name: &TableName,
) -> Result<Option<String>, WorkloadError> {
    let sql = format!("select pg_catalog.to_regclass({})::pg_catalog.oid", literal(&name.quoted()));
    let rows = query(session, &sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
}

/// The table as the search path finds it.
pub(crate) fn find(session: &mut Session, table: &TableName) -> Result<Option<Relation>, WorkloadError> {
    let Some(oid) = find_relation(session, table)? else { return Ok(None) };
    let rows = query_catalogs(session, &format!("{RELATIONS} c.oid = {oid}"))?;
    Ok(rows.first().map(relation))
}

/// A partition of a table, or a table that inherits from it.
#[derive(Clone, Debug)]
pub struct Child {
    /// The table itself.
    pub relation: Relation,
    /// Otherwise its parent is a child of the table.
    pub is_direct: bool,
}

/// The partitions of a table and the tables that inherit from it, at all levels, direct ones first. `table` is an OID or an
/// identity.
pub fn children(session: &mut Session, table: &str) -> Result<Vec<Child>, WorkloadError> {
    let sql = format!(
        "with recursive child(oid, level) as (select inhrelid, 1 from pg_inherits where inhparent = {}::regclass \
         union select inhrelid, level + 1 from pg_inherits join child on inhparent = oid) \
         select oid, (pg_identify_object('pg_class'::regclass, oid, 0)).identity, max(level) = 1 from child \
         group by oid order by min(level), 2",
        literal(table)
    );
    let child = |row: &Row| Child { relation: relation(row), is_direct: row.get(2) == Some("t") };
    Ok(query_catalogs(session, &sql)?.iter().map(child).collect())
}

/// The tables of a schema.
fn tables_of(session: &mut Session, schema: &str) -> Result<Vec<Relation>, WorkloadError> {
    let rows = query_catalogs(session, &format!("{RELATIONS} n.nspname = {}", literal(schema)))?;
    Ok(rows.iter().map(relation).collect())
}

fn relation(row: &Row) -> Relation {
    let text = |column| row.get(column).unwrap_or_default().to_owned();
    Relation { oid: text(0), identity: text(1) }
}

fn comment(session: &mut Session, relation: &Relation) -> Result<String, WorkloadError> {
    let sql = format!("select obj_description({}, 'pg_class')", relation.oid);
    let rows = query_catalogs(session, &sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}
