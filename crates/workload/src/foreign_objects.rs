//! Finds objects that a transaction has changed and that `init` did not make, whichever statement changed them: also DROP
//! TYPE … CASCADE, a trigger, or a function. The server's catalogs decide, not the text of the statements; this is used
//! before COMMIT. `protection` examines statements before they run, for earlier and clearer messages.

use std::collections::{BTreeMap, BTreeSet};

use connect::Session;

use crate::WorkloadError;
use crate::load::query_catalogs;
use crate::loader::TableName;
use crate::{marks, protection};

/// The objects of others, as they were before a transaction.
#[derive(Debug)]
pub(crate) struct ForeignObjects {
    workload: String,
    /// By OID.
    tables: BTreeMap<String, Table>,
    others: BTreeMap<ObjectKey, Definition>,
}

/// The catalog of an object, and its OID.
type ObjectKey = (String, String);

/// An object that is no table.
#[derive(Debug)]
struct Definition {
    /// OID of the relation that it belongs to; empty if to none.
    relation: String,
    /// Its kind and its name with its schema, quoted.
    described: String,
    digest: String,
}

#[derive(Debug)]
struct Table {
    /// With its schema, quoted.
    identity: String,
    definition: String,
    /// The OIDs of the tables that it is a partition of, or inherits from.
    parents: Vec<String>,
    /// Rows that the session has changed and not yet reported to the server's statistics: those of the current
    /// transaction, and of ones shortly before it.
    changed_rows: u64,
}

/// Everything of a table that ALTER, TRUNCATE and the removal of other objects change, and VACUUM, ANALYZE and a foreign
/// key that references it do not. Of `pg_attribute`, whose columns depend on the version, whole rows.
const DEFINITION: &str = "\
    md5(concat_ws('|', n.nspname, c.relname, c.relowner, c.relfilenode, c.reltablespace, c.relpersistence, c.relchecks, \
    c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.reloptions, c.relacl, \
    (select string_agg(a::text, ',' order by attnum) from pg_attribute a where attrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_attrdef where adrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_constraint where conrelid = c.oid), \
    (select string_agg(indexrelid::text, ',' order by indexrelid) from pg_index where indrelid = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_trigger where tgrelid = c.oid and not tgisinternal), \
    (select string_agg(oid::text, ',' order by oid) from pg_rewrite where ev_class = c.oid), \
    (select string_agg(oid::text, ',' order by oid) from pg_policy where polrelid = c.oid), \
    (select string_agg(inhrelid::text, ',' order by inhrelid) from pg_inherits where inhparent = c.oid)))";

impl ForeignObjects {
    /// The objects without a mark of the workload. Like [`Session::query_catalogs`], it changes the search path of an open
    /// transaction.
    pub(crate) fn read(session: &mut Session, workload: &str) -> Result<ForeignObjects, WorkloadError> {
        let marked: Vec<_> =
            marks::find(session, workload)?.into_iter().filter(|object| object.is_own).collect();
        let mut others = definitions(session)?;
        for object in &marked {
            others.remove(&(catalog_of(&object.kind).to_owned(), object.object.oid.clone()));
            if catalog_of(&object.kind) == "pg_class" {
                others.retain(|_, other| other.relation != object.object.oid);
            }
        }
        let marked: BTreeSet<String> = marked.into_iter().map(|object| object.identity).collect();
        let mut tables = tables(session)?;
        let is_marked = |(_, table): &(&String, &Table)| marked.contains(&table.identity);
        let mut own: BTreeSet<String> = tables.iter().filter(is_marked).map(|(oid, _)| oid.clone()).collect();
        // Partitions of its tables can have been made without a mark, by a statement that DO executes.
        loop {
            let is_child = |table: &Table| table.parents.iter().any(|parent| own.contains(parent));
            let children: Vec<String> = tables
                .iter()
                .filter(|(oid, table)| !own.contains(*oid) && is_child(table))
                .map(|(oid, _)| oid.clone())
                .collect();
            if children.is_empty() {
                break;
            }
            own.extend(children);
        }
        tables.retain(|oid, _| !own.contains(oid));
        Ok(ForeignObjects { workload: workload.to_owned(), tables, others })
    }

    /// The same objects as they are now, without those that were dropped since.
    pub(crate) fn read_again(&self, session: &mut Session) -> Result<ForeignObjects, WorkloadError> {
        let mut now = ForeignObjects::read(session, &self.workload)?;
        now.tables.retain(|oid, _| self.tables.contains_key(oid));
        now.others.retain(|key, _| self.others.contains_key(key));
        Ok(now)
    }

    /// Leaves out all objects of kinds that have no marks: an interrupted loading may have made them.
    pub(crate) fn leave_out_without_marks(&mut self) {
        self.others.retain(|(catalog, _), _| WITH_MARKS.contains(&&**catalog));
    }

    /// Leaves out a view that an interrupted loading of the workload has made, and not yet marked.
    pub(crate) fn leave_out(&mut self, session: &mut Session, view: &TableName) -> Result<(), WorkloadError> {
        if let Some(relation) = protection::find_relation(session, view)? {
            self.others.remove(&("pg_class".to_owned(), relation));
        }
        Ok(())
    }

    /// Looks at the objects again, before the transaction is committed.
    ///
    /// # Errors
    /// One was dropped or changed.
    pub(crate) fn check(&self, session: &mut Session) -> Result<(), WorkloadError> {
        match self.changed(session)?.into_iter().next() {
            None => Ok(()),
            Some(object) => {
                Err(WorkloadError::ForeignObjectChanged { object, workload: self.workload.clone() })
            }
        }
    }

    /// The objects that were dropped or changed.
    pub(crate) fn changed(&self, session: &mut Session) -> Result<Vec<String>, WorkloadError> {
        let now = tables(session)?;
        let is_changed = |(oid, before): &(&String, &Table)| {
            now.get(*oid).is_none_or(|table| {
                let has_new_rows = table.changed_rows > 0 && table.changed_rows != before.changed_rows;
                has_new_rows || table.definition != before.definition
            })
        };
        let mut changed: Vec<String> =
            self.tables.iter().filter(is_changed).map(|(_, table)| table.identity.clone()).collect();
        let now = definitions(session)?;
        let is_changed = |(key, before): &(&ObjectKey, &Definition)| {
            now.get(*key).is_none_or(|object| object.digest != before.digest)
        };
        changed.extend(self.others.iter().filter(is_changed).map(|(_, object)| object.described.clone()));
        Ok(changed)
    }
}

/// Catalogs of objects that can have marks.
const WITH_MARKS: [&str; 4] = ["pg_class", "pg_proc", "pg_type", "pg_namespace"];

/// The catalog that has the objects of a kind, which is one of those that can have a mark.
fn catalog_of(kind: &str) -> &'static str {
    match kind {
        "function" | "procedure" | "aggregate" => "pg_proc",
        "type" | "domain" => "pg_type",
        "schema" => "pg_namespace",
        _ => "pg_class",
    }
}

/// Catalogs of objects that are no tables: the catalog, the digest of an object's definition, and which rows are objects of
/// users. `t` is the row. VACUUM and ANALYZE change none of the digests.
const CATALOGS: [(&str, &str, &str); 21] = [
    (
        "pg_class",
        "concat_ws('|', t.relname, t.relnamespace, t.relowner, t.relfilenode, t.relkind, t.reloptions, t.relacl, \
         (select string_agg(concat(a.attname, a.atttypid, a.atttypmod, a.attacl), ',' order by a.attnum) \
         from pg_attribute a where a.attrelid = t.oid), \
         (select string_agg(concat(r.oid, ':', r.xmin), ',' order by r.oid) from pg_rewrite r where r.ev_class = t.oid), \
         (select string_agg(concat(g.oid, ':', g.xmin), ',' order by g.oid) from pg_trigger g \
         where g.tgrelid = t.oid), \
         (select string_agg(i.indexrelid::text, ',' order by i.indexrelid) from pg_index i where i.indrelid = t.oid))",
        // The sequence of a column belongs to its table.
        "t.relkind in ('v', 'm', 'S', 'c') and relnamespace in (select oid from users) and not exists (select 1 \
         from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = t.oid and t.relkind = 'S' \
         and d.refobjsubid > 0 and d.deptype in ('a', 'i'))",
    ),
    (
        "pg_sequence",
        "t::text",
        "seqrelid in (select c.oid from pg_class c where c.relnamespace in (select oid from users)) and not exists \
         (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = seqrelid \
         and d.refobjsubid > 0 and d.deptype in ('a', 'i'))",
    ),
    ("pg_proc", "t::text", "pronamespace in (select oid from users)"),
    (
        "pg_type",
        "concat_ws('|', t::text, \
         (select string_agg(concat(e.oid, ':', e.xmin), ',' order by e.oid) from pg_enum e where e.enumtypid = t.oid), \
         (select string_agg(concat(k.oid, ':', k.xmin), ',' order by k.oid) from pg_constraint k \
         where k.contypid = t.oid))",
        // Those of relations and arrays belong to others.
        "typnamespace in (select oid from users) and typtype in ('e', 'd', 'r', 'b') and typelem = 0",
    ),
    ("pg_namespace", "concat_ws('|', t.nspname, t.nspowner)", "oid in (select oid from users)"),
    ("pg_operator", "t::text", "oprnamespace in (select oid from users)"),
    ("pg_opclass", "t::text", "opcnamespace in (select oid from users)"),
    ("pg_opfamily", "t::text", "opfnamespace in (select oid from users)"),
    ("pg_collation", "t::text", "collnamespace in (select oid from users)"),
    ("pg_conversion", "t::text", "connamespace in (select oid from users)"),
    ("pg_ts_config", "t::text", "cfgnamespace in (select oid from users)"),
    ("pg_ts_dict", "t::text", "dictnamespace in (select oid from users)"),
    ("pg_statistic_ext", "t::text", "stxnamespace in (select oid from users)"),
    ("pg_extension", "t::text", "true"),
    ("pg_event_trigger", "t::text", "true"),
    ("pg_foreign_data_wrapper", "t::text", "true"),
    ("pg_foreign_server", "t::text", "true"),
    ("pg_language", "t::text", "oid >= 16384"),
    ("pg_cast", "t::text", "oid >= 16384"),
    ("pg_publication", "t::text", "true"),
    ("pg_default_acl", "t::text", "true"),
];

/// The schemas that users make, and `public`.
const USERS: &str = "with users as (select oid from pg_namespace where nspname <> 'information_schema' \
                     and nspname !~ '^pg_')";

/// The objects of users that are no tables.
fn definitions(session: &mut Session) -> Result<BTreeMap<ObjectKey, Definition>, WorkloadError> {
    let known = query_catalogs(
        session,
        "select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace",
    )?;
    let known: BTreeSet<&str> = known.iter().filter_map(|row| row.get(0)).collect();
    // Each is newer than the oldest version.
    let parts = CATALOGS.iter().filter(|(catalog, ..)| known.contains(catalog)).map(|(catalog, digest, rows)| {
        let (oid, class, relation) = match *catalog {
            "pg_sequence" => ("t.seqrelid", "pg_class", "t.seqrelid"),
            "pg_statistic_ext" => ("t.oid", "pg_statistic_ext", "t.stxrelid"),
            "pg_class" => ("t.oid", "pg_class", "t.oid"),
            other => ("t.oid", other, "null::oid"),
        };
        format!(
            "select '{catalog}'::text as catalog, '{class}'::regclass as class, {oid} as oid, md5({digest}) as digest, \
             {relation} as relation from {catalog} t where {rows}"
        )
    });
    let parts: Vec<String> = parts.collect();
    let rows = query_catalogs(
        session,
        &format!(
            "{USERS} select a.catalog, a.oid, a.digest, o.type || ' ' || o.identity, a.relation from ({}) a \
             cross join lateral pg_identify_object(a.class, a.oid, 0) o",
            parts.join(" union all ")
        ),
    )?;
    let text = |row: &connect::Row, column| row.get(column).unwrap_or_default().to_owned();
    let object = |row: &connect::Row| {
        let definition = Definition {
            digest: text(row, 2),
            described: format!("the {}", text(row, 3)),
            relation: text(row, 4),
        };
        ((text(row, 0), text(row, 1)), definition)
    };
    Ok(rows.iter().map(object).collect())
}

/// All tables of users by OID.
fn tables(session: &mut Session) -> Result<BTreeMap<String, Table>, WorkloadError> {
    let rows = query_catalogs(
        session,
        &format!(
            "select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), {DEFINITION}, \
             pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) \
             + pg_stat_get_xact_tuples_deleted(c.oid), \
             (select string_agg(inhparent::text, ' ') from pg_inherits where inhrelid = c.oid) \
             from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'p', 'f') \
             and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp_)'"
        ),
    )?;
    let text = |row: &connect::Row, column| row.get(column).unwrap_or_default().to_owned();
    let table = |row: &connect::Row| {
        let table = Table {
            identity: text(row, 1),
            definition: text(row, 2),
            parents: text(row, 4).split_whitespace().map(str::to_owned).collect(),
            changed_rows: text(row, 3).parse().unwrap_or(0),
        };
        (text(row, 0), table)
    };
    Ok(rows.iter().map(table).collect())
}
