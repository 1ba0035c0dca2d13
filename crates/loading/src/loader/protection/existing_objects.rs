//! The objects of a database before a loading, and the marks of those that a transaction of the loading adds. Tables, views,
//! sequences, types, functions and schemas can have marks.

use connect::quote::literal;
use connect::{Row, Session};

use crate::WorkloadError;
use crate::contract::load::{execute, query_catalogs, query_catalogs_again, text};
use crate::contract::marks::{DatabaseId, Mark};
use crate::contract::object_kinds::{PLAIN_KINDS, catalog_of};

/// Whether the current transaction has made the row `$`. The age is not positive then, and is cheap to compute for all rows.
const OF_TRANSACTION: &str =
    "case when age($.xmin) <= 0 then $.xmin::text = (txid_current() & 4294967295)::text else false end";
/// The same with its subtransactions, such as a block with EXCEPTION of PL/pgSQL. Their numbers are higher, and like the
/// transaction they are in progress; changes of other transactions are visible only when these are not.
/// The server refuses numbers that no transaction has had yet, so only those just above the transaction's are asked for.
const OF_SUBTRANSACTIONS: &str = "case when age($.xmin) > 0 then false \
    when $.xmin::text::bigint - (txid_current() & 4294967295) between 0 and 1000000 \
    then txid_status(txid_current() - (txid_current() & 4294967295) + $.xmin::text::bigint) = 'in progress' \
    else false end";
/// The first version with `txid_status`.
const TXID_STATUS_FROM: u32 = 100_000;

/// SQL for whether the current transaction has made the row `$`.
pub(crate) fn of_transaction(session: &Session) -> &'static str {
    let is_known = session.server_version_num() >= TXID_STATUS_FROM;
    if is_known { OF_SUBTRANSACTIONS } else { OF_TRANSACTION }
}

/// The objects that existed.
#[derive(Debug)]
pub(crate) struct ExistingObjects(Vec<Object>);

impl ExistingObjects {
    pub(crate) fn read(session: &mut Session) -> Result<ExistingObjects, WorkloadError> {
        objects(session, None).map(ExistingObjects)
    }

    /// Marks the objects that the current transaction has added; returns them. They exist from then on.
    pub(crate) fn mark_new(&self, session: &mut Session, mark: &Mark) -> Result<Vec<Object>, WorkloadError> {
        let changed = objects(session, Some(of_transaction(session)))?;
        let made: Vec<Object> = changed.into_iter().filter(|object| !self.0.contains(object)).collect();
        if made.is_empty() {
            return Ok(made);
        }
        let database = DatabaseId::read(session)?;
        let mut comments = Vec::new();
        for Object { kind, identity, oid, comment } in &made {
            let object = database.described(session, catalog_of(kind), oid)?;
            let comment = mark.of(object).added_to(comment);
            comments.push(format!("comment on {kind} {identity} is {}", literal(&comment)));
        }
        // Event triggers of users find their objects by the session's search path, not by that of the catalogs.
        execute(session, "set local search_path to default")?;
        comments.iter().try_for_each(|comment| execute(session, comment))?;
        Ok(made)
    }
}

/// An object of the database.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) kind: String,
    pub(crate) identity: String,
    pub(crate) oid: String,
    comment: String,
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        (&self.kind, &self.oid) == (&other.kind, &other.oid)
    }
}

/// Tables, views, sequences, types, functions, schemas and plain objects that are not part of another object or of an
/// extension; only those that the current transaction has made, if there is a condition on a row. GRANT changes the row of an object that another
/// session has made, but not the row that says in which schema it is.
fn objects(session: &mut Session, of_transaction: Option<&str>) -> Result<Vec<Object>, WorkloadError> {
    let made = |catalog: &str| match of_transaction {
        None => "true".to_owned(),
        Some(condition) => format!(
            "exists (select 1 from pg_depend s where s.classid = '{catalog}'::regclass and s.objid = c.oid \
             and s.objsubid = 0 and s.refclassid = 'pg_namespace'::regclass and {})",
            condition.replace('$', "s")
        ),
    };
    let itself = of_transaction.map_or_else(|| "true".to_owned(), |condition| condition.replace('$', "c"));
    let plain = PLAIN_KINDS.map(|(_, catalog, schema)| {
        let schema = schema.map(|column| format!(" and {column} <> 'pg_catalog'::regnamespace"));
        format!(
            " union all select oid, '{catalog}' from {catalog} c where {itself} and oid >= 16384{}",
            schema.unwrap_or_default()
        )
    });
    let plain = plain.concat();
    let sql = format!(
        "select o.type, o.identity, a.oid, coalesce(obj_description(a.oid, a.catalog::name), '') from (\
         select oid, 'pg_class'::text as catalog from pg_class c where relkind in ('r', 'p', 'v', 'm', 'S', 'f') \
         and {} and oid >= 16384 and relnamespace <> 'pg_catalog'::regnamespace \
         union all select oid, 'pg_type' from pg_type c where {} and oid >= 16384 and typtype in ('e', 'd', 'r') \
         and typnamespace <> 'pg_catalog'::regnamespace \
         union all select oid, 'pg_type' from pg_type c where typtype = 'c' and oid >= 16384 and {itself} \
         and typrelid in (select oid from pg_class where relkind = 'c') \
         and typnamespace <> 'pg_catalog'::regnamespace \
         union all select oid, 'pg_proc' from pg_proc c where {} and oid >= 16384 and pronamespace <> 'pg_catalog'::regnamespace \
         union all select oid, 'pg_namespace' from pg_namespace c where {itself} and oid >= 16384 and left(nspname, 3) <> 'pg_'{plain}) a \
         cross join lateral pg_identify_object(a.catalog::regclass, a.oid, 0) o \
         where not exists (select 1 from pg_depend d where d.classid = a.catalog::regclass and d.objid = a.oid \
         and d.objsubid = 0 and (d.deptype in ('e', 'i') or d.deptype = 'a' and o.type = 'sequence')) \
         and coalesce(o.schema, '') <> 'information_schema' order by a.oid",
        made("pg_class"),
        made("pg_type"),
        made("pg_proc"),
    );
    let rows = match of_transaction {
        None => query_catalogs(session, &sql)?,
        Some(_) => query_catalogs_again(session, &sql)?,
    };
    let object = |row: &Row| Object {
        kind: text(row, 0),
        identity: text(row, 1),
        oid: text(row, 2),
        comment: text(row, 3),
    };
    Ok(rows.iter().map(object).collect())
}
