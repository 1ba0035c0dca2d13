//! The definitions of objects of users, as digests, by which `foreign_objects` finds those that a transaction has changed.
//! Reads all of them, or those that were read before: the definitions of many objects take long.

use std::collections::{BTreeMap, BTreeSet};

use connect::quote::literal;
use connect::{Row, Session};

use crate::WorkloadError;
use crate::contract::load::{query_catalogs, query_catalogs_again, text};
use crate::contract::object_kinds::ObjectKey;
use crate::loader::protection::foreign_parts::Parents;

/// An object that is no table.
#[derive(Debug)]
pub(crate) struct ForeignDefinition {
    /// Its kind and its name with its schema, quoted.
    pub(crate) described: String,
    pub(crate) digest: String,
}

/// A table.
#[derive(Debug)]
pub(crate) struct ForeignTable {
    /// With its schema, quoted.
    pub(crate) identity: String,
    pub(crate) definition: String,
    /// Rows that the session has changed and not yet reported to the server's statistics: those of the current
    /// transaction, and of ones shortly before it.
    pub(crate) changed_rows: u64,
}

/// Which objects of users are read.
#[derive(Clone, Copy)]
pub(crate) enum WantedObjects<'a> {
    /// All but these, and but what belongs to a relation among them.
    Except(&'a BTreeSet<ObjectKey>),
    /// Those that were read before.
    Known {
        /// By OID.
        tables: &'a BTreeMap<String, ForeignTable>,
        others: &'a BTreeMap<ObjectKey, ForeignDefinition>,
    },
}

impl WantedObjects<'_> {
    /// A condition on the OID of an object of a catalog; `None` if there is no such object.
    fn condition(self, oid: &str, catalog: &str) -> Option<String> {
        let of_catalog = |(own, oid): &'_ ObjectKey| (own == catalog).then(|| oid.clone());
        match self {
            WantedObjects::Except(own) => {
                Some(format!("{oid} not in {}", oids(own.iter().filter_map(of_catalog))))
            }
            WantedObjects::Known { others, .. } => {
                let found: Vec<String> = others.keys().filter_map(of_catalog).collect();
                (!found.is_empty()).then(|| format!("{oid} in {}", oids(found.into_iter())))
            }
        }
    }

    /// The same for tables.
    fn tables(self) -> String {
        match self {
            WantedObjects::Except(_) => self.condition("c.oid", "pg_class").unwrap_or_default(),
            WantedObjects::Known { tables, .. } => format!("c.oid in {}", oids(tables.keys().cloned())),
        }
    }

    /// The same for a column `relation` that may be NULL.
    fn relation(self) -> String {
        match self {
            WantedObjects::Except(_) => {
                let condition = self.condition("relation", "pg_class").unwrap_or_default();
                format!("relation is null or {condition}")
            }
            WantedObjects::Known { .. } => "true".to_owned(),
        }
    }

    /// Runs a query of these objects. Of known ones, it comes again.
    fn query(self, session: &mut Session, sql: &str) -> Result<Vec<Row>, WorkloadError> {
        match self {
            WantedObjects::Except(_) => query_catalogs(session, sql),
            WantedObjects::Known { .. } => query_catalogs_again(session, sql),
        }
    }

    /// The objects whose parts are read, or are not.
    pub(crate) fn parents(self) -> Parents {
        match self {
            WantedObjects::Except(own) => Parents { keys: own.iter().cloned().collect(), are_read: false },
            WantedObjects::Known { tables, others } => {
                let tables = tables.keys().map(|oid| ("pg_class".to_owned(), oid.clone()));
                Parents { keys: tables.chain(others.keys().cloned()).collect(), are_read: true }
            }
        }
    }
}

/// A list of OIDs for IN.
fn oids(oids: impl Iterator<Item = String>) -> String {
    let oids: Vec<String> = oids.collect();
    format!("(select unnest({}::oid[]))", literal(&format!("{{{}}}", oids.join(","))))
}

/// Everything of a table that ALTER, TRUNCATE and the removal of other objects change, and VACUUM, ANALYZE and a foreign
/// key that references it do not. Of `pg_attribute`, whose columns depend on the version, whole rows.
const DEFINITION: &str = "\
    md5(concat_ws('|', n.nspname, c.relname, c.relowner, c.relfilenode, c.reltablespace, c.relpersistence, c.relchecks, \
    c.relrowsecurity, c.relforcerowsecurity, c.relreplident, c.reloptions, c.relacl, \
    (select concat(x.reloptions, ':', x.relfilenode, ':', (select string_agg(f.relfilenode::text, ',' order by f.oid) \
    from pg_index j join pg_class f on f.oid = j.indexrelid where j.indrelid = x.oid)) \
    from pg_class x where x.oid = c.reltoastrelid), \
    (select string_agg(a::text, ',' order by attnum) from pg_attribute a where attrelid = c.oid), \
    (select string_agg(concat(oid, ':', xmin), ',' order by oid) from pg_attrdef where adrelid = c.oid), \
    (select string_agg(concat(oid, ':', xmin), ',' order by oid) from pg_constraint where conrelid = c.oid), \
    (select string_agg(concat(indexrelid, i.relname, ':', i.relfilenode, i.reloptions, i.reltablespace, indisvalid, indisclustered, \
    indisreplident), ',' order by indexrelid) from pg_index join pg_class i on i.oid = indexrelid \
    where indrelid = c.oid), \
    (select string_agg(concat(oid, ':', xmin), ',' order by oid) from pg_trigger \
    where tgrelid = c.oid and not tgisinternal), \
    (select string_agg(concat(oid, ':', xmin), ',' order by oid) from pg_rewrite where ev_class = c.oid), \
    (select string_agg(concat(oid, ':', xmin), ',' order by oid) from pg_policy where polrelid = c.oid), \
    (select ftoptions::text from pg_foreign_table where ftrelid = c.oid), \
    (select string_agg(description, ',' order by objsubid) from pg_description \
    where objoid = c.oid and classoid = 'pg_class'::regclass), \
    (select string_agg(inhrelid::text, ',' order by inhrelid) from pg_inherits where inhparent = c.oid)))";

/// Catalogs of objects that are no tables: the catalog, the digest of an object's definition, and which rows are objects of
/// users, with [`NAMES`] and [`OF_USERS`]. `t` is the row. VACUUM and ANALYZE change none of the digests.
const CATALOGS: [(&str, &str, &str); 21] = [
    (
        "pg_class",
        "concat_ws('|', t.relname, t.relnamespace, t.relowner, t.relfilenode, t.relkind, t.reloptions, t.relacl, \
         (select string_agg(concat(f.oid, ':', f.xmin), ',' order by f.oid) from pg_attrdef f where f.adrelid = t.oid), \
         (select string_agg(concat(a.attname, a.atttypid, a.atttypmod, a.attacl), ',' order by a.attnum) \
         from pg_attribute a where a.attrelid = t.oid), \
         (select string_agg(concat(r.oid, ':', r.xmin), ',' order by r.oid) from pg_rewrite r where r.ev_class = t.oid), \
         (select string_agg(concat(g.oid, ':', g.xmin), ',' order by g.oid) from pg_trigger g \
         where g.tgrelid = t.oid), \
         (select string_agg(concat(f.oid, ':', f.relfilenode), ',' order by f.oid) \
         from pg_index i join pg_class f on f.oid = i.indexrelid where i.indrelid = t.oid), \
         (select x.reloptions::text from pg_class x where x.oid = t.reltoastrelid))",
        "t.relkind in ('v', 'm', 'S', 'c') and t.relnamespace{users}",
    ),
    ("pg_sequence", "t::text", "(select c.relnamespace from pg_class c where c.oid = t.seqrelid){names}"),
    (
        "pg_proc",
        "concat_ws('|', t::text, (select a::text from pg_aggregate a where a.aggfnoid = t.oid))",
        "t.pronamespace{users}",
    ),
    (
        "pg_type",
        "concat_ws('|', t::text, \
         (select string_agg(concat(e.oid, ':', e.xmin), ',' order by e.oid) from pg_enum e where e.enumtypid = t.oid), \
         (select string_agg(concat(k.oid, ':', k.xmin), ',' order by k.oid) from pg_constraint k \
         where k.contypid = t.oid))",
        // Those of relations and arrays belong to others.
        "t.typnamespace{users} and t.typtype in ('e', 'd', 'r', 'b') and t.typelem = 0",
    ),
    ("pg_namespace", "concat_ws('|', t.nspname, t.nspowner, t.nspacl)", "t.oid{names}"),
    ("pg_operator", "t::text", "t.oprnamespace{users}"),
    ("pg_opclass", "t::text", "t.opcnamespace{users}"),
    (
        "pg_opfamily",
        "concat_ws('|', t::text, \
         (select string_agg(a::text, ',' order by a.oid) from pg_amop a where a.amopfamily = t.oid), \
         (select string_agg(a::text, ',' order by a.oid) from pg_amproc a where a.amprocfamily = t.oid))",
        "t.opfnamespace{users}",
    ),
    ("pg_collation", "t::text", "t.collnamespace{users}"),
    ("pg_conversion", "t::text", "t.connamespace{users}"),
    (
        "pg_ts_config",
        "concat_ws('|', t::text, (select string_agg(m::text, ',' order by m::text) from pg_ts_config_map m \
         where m.mapcfg = t.oid))",
        "t.cfgnamespace{users}",
    ),
    ("pg_ts_dict", "t::text", "t.dictnamespace{users}"),
    ("pg_statistic_ext", "t::text", "t.stxnamespace{users}"),
    (
        "pg_extension",
        "concat_ws('|', t::text, (select string_agg(concat(d.classid, ':', d.objid), ',' order by d.classid, d.objid) \
         from pg_depend d where d.refclassid = 'pg_extension'::regclass and d.refobjid = t.oid and d.deptype = 'e'))",
        "true",
    ),
    ("pg_event_trigger", "t::text", "true"),
    ("pg_foreign_data_wrapper", "t::text", "true"),
    ("pg_foreign_server", "t::text", "true"),
    ("pg_language", "t::text", "oid >= 16384"),
    ("pg_cast", "t::text", "oid >= 16384"),
    ("pg_publication", "t::text", "true"),
    ("pg_default_acl", "t::text", "true"),
];

/// The table to which a sequence of a column belongs, otherwise the sequence itself.
const OWNER_OF_SEQUENCE: &str = "coalesce((select d.refobjid from pg_depend d where d.classid = 'pg_class'::regclass \
    and d.objid = t.seqrelid and d.refobjsubid > 0 and d.deptype in ('a', 'i') limit 1), t.seqrelid)";
/// The same for all relations.
const OWNER_OF_RELATION: &str = "coalesce((select d.refobjid from pg_depend d where d.classid = 'pg_class'::regclass \
    and d.objid = t.oid and t.relkind = 'S' and d.refobjsubid > 0 and d.deptype in ('a', 'i') limit 1), t.oid)";

/// Conditions on a schema: `{names}` excludes those of the server and temporary ones, and `{users}` also objects of the server in
/// other schemas. A condition on the OID is cheaper than one on the schema, and both together are cheaper to plan than a join.
const NAMES: &str = "::regnamespace::text !~ '^(pg_|information_schema$)'";
const OF_USERS: &str = "{names} and t.oid >= 16384";

/// The objects of users that are no tables.
pub(crate) fn definitions(
    session: &mut Session,
    known: &BTreeSet<String>,
    wanted: WantedObjects<'_>,
) -> Result<BTreeMap<ObjectKey, ForeignDefinition>, WorkloadError> {
    // Each is newer than the oldest version.
    let parts = CATALOGS.iter().filter(|(catalog, ..)| known.contains(*catalog)).filter_map(
        |(catalog, digest, rows)| {
            let (oid, class, relation) = match *catalog {
                "pg_sequence" => ("t.seqrelid", "pg_class", OWNER_OF_SEQUENCE),
                "pg_statistic_ext" => ("t.oid", "pg_statistic_ext", "t.stxrelid"),
                "pg_class" => ("t.oid", "pg_class", OWNER_OF_RELATION),
                other => ("t.oid", other, "null::oid"),
            };
            let rows = rows.replace("{users}", OF_USERS).replace("{names}", NAMES);
            let condition = wanted.condition(oid, catalog)?;
            Some(format!(
                "select '{catalog}'::text as catalog, '{class}'::regclass as class, {oid} as oid, \
             md5(concat({digest}, obj_description({oid}, '{class}'))) as digest, \
             {relation} as relation from {catalog} t where ({rows}) and {condition}"
            ))
        },
    );
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = wanted.query(
        session,
        &format!(
            "select a.catalog, a.oid, a.digest, o.type || ' ' || o.identity from ({}) a \
             cross join lateral pg_identify_object(a.class, a.oid, 0) o where {}",
            parts.join(" union all "),
            wanted.relation()
        ),
    )?;
    let object = |row: &Row| {
        let definition =
            ForeignDefinition { digest: text(row, 2), described: format!("the {}", text(row, 3)) };
        ((text(row, 0), text(row, 1)), definition)
    };
    Ok(rows.iter().map(object).collect())
}

/// Tables of users by OID.
pub(crate) fn tables(
    session: &mut Session,
    wanted: WantedObjects<'_>,
) -> Result<BTreeMap<String, ForeignTable>, WorkloadError> {
    let rows = wanted.query(
        session,
        &format!(
            "select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), {DEFINITION}, \
             pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid) \
             + pg_stat_get_xact_tuples_deleted(c.oid) \
             from pg_class c join pg_namespace n on n.oid = c.relnamespace \
             where c.oid >= 16384 and c.relkind in ('r', 'p', 'f') \
             and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp_)' and {}",
            wanted.tables()
        ),
    )?;
    let table = |row: &Row| {
        let table = ForeignTable {
            identity: text(row, 1),
            definition: text(row, 2),
            changed_rows: text(row, 3).parse().unwrap_or(0),
        };
        (text(row, 0), table)
    };
    Ok(rows.iter().map(table).collect())
}
