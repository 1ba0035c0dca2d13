//! Objects that belong to relations of the workload, and that DROP TABLE drops too: indexes, constraints, triggers, rules,
//! policies, defaults, statistics objects, sequences of columns and memberships in publications and subscriptions. DROP SCHEMA
//! drops memberships too. The mark of a relation or schema has a digest of each that it had when its loading was complete. Users
//! have made or changed the others. While further steps of the loading may add some, a relation's mark has those of users instead.

use std::collections::{BTreeMap, BTreeSet};

use connect::quote::literal;
use connect::{Row, Session};

use crate::WorkloadError;
use crate::contract::load::{query_catalogs, query_catalogs_again, text};
use crate::contract::marks::MarkedObject;
use crate::contract::object_kinds::{ObjectKey, has_dependents};
use crate::contract::sql_names;
use crate::loader::protection::existing_objects::of_transaction;

/// Beginning of the comment of an index that exists only during a comparison, which drops it.
pub const COMPARISON_COMMENT: &str = "pgmeter compare: ";

/// An object that belongs to a relation or a schema.
#[derive(Clone, Debug)]
pub struct Dependent {
    pub(crate) key: ObjectKey,
    /// OID of the relation or schema.
    relation: String,
    /// As the server names it.
    kind: String,
    /// Its kind and name, and the relation: `the trigger t on public.orders`.
    pub described: String,
    /// Of its name and definition.
    digest: String,
}

impl Dependent {
    /// The name of a constraint; `None` for other kinds.
    pub fn constraint(&self) -> Option<String> {
        let rest = self.described.strip_prefix("the table constraint ")?;
        sql_names::of_identity(rest).map(|name| name.name)
    }

    pub(crate) fn is_sequence(&self) -> bool {
        self.kind == "sequence"
    }
}

/// The catalog of a kind of dependents; queries of the relation, the OID, the definition and the number of the transaction that
/// has made it.
const KINDS: [(&str, &str); 11] = [
    (
        "pg_class",
        "select i.indrelid, i.indexrelid, pg_get_indexdef(i.indexrelid), i.xmin from pg_index i where not exists \
         (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = i.indrelid \
         and k.contype in ('p', 'u', 'x'))",
    ),
    (
        "pg_class",
        "select d.refobjid, c.oid, '', c.xmin from pg_class c join pg_depend d on d.classid = 'pg_class'::regclass \
         and d.objid = c.oid and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 \
         and d.deptype in ('a', 'i') where c.relkind = 'S'",
    ),
    (
        "pg_constraint",
        "select k.conrelid, k.oid, pg_get_constraintdef(k.oid), k.xmin from pg_constraint k \
         where k.conrelid <> 0 and k.conislocal and k.contype <> 't'",
    ),
    (
        "pg_trigger",
        "select t.tgrelid, t.oid, pg_get_triggerdef(t.oid), t.xmin from pg_trigger t where not t.tgisinternal",
    ),
    (
        "pg_rewrite",
        "select r.ev_class, r.oid, pg_get_ruledef(r.oid), r.xmin from pg_rewrite r where r.rulename <> '_RETURN'",
    ),
    (
        "pg_policy",
        "select p.polrelid, p.oid, concat_ws('|', p.polcmd, p.polroles, pg_get_expr(p.polqual, p.polrelid), \
         pg_get_expr(p.polwithcheck, p.polrelid)), p.xmin from pg_policy p",
    ),
    ("pg_attrdef", "select f.adrelid, f.oid, pg_get_expr(f.adbin, f.adrelid), f.xmin from pg_attrdef f"),
    (
        "pg_statistic_ext",
        "select s.stxrelid, s.oid, concat(s.stxkeys, s.stxkind), s.xmin from pg_statistic_ext s",
    ),
    ("pg_publication_rel", "select m.prrelid, m.oid, '', m.xmin from pg_publication_rel m"),
    ("pg_publication_namespace", "select m.pnnspid, m.oid, '', m.xmin from pg_publication_namespace m"),
    (
        SUBSCRIPTIONS,
        "select m.srrelid, m.srrelid, \
         'subscription ' || (pg_identify_object('pg_subscription'::regclass, m.srsubid, 0)).identity, m.xmin \
         from pg_subscription_rel m",
    ),
];

/// The catalog of memberships in subscriptions. They have no OID and no identity, so the OID is that of the relation, and the
/// definition is the subscription.
const SUBSCRIPTIONS: &str = "pg_subscription_rel";

/// The catalogs that the oldest version does not have, and the first version that has them.
const LATER: [(&str, u32); 4] = [
    ("pg_statistic_ext", 100_000),
    ("pg_publication_rel", 100_000),
    (SUBSCRIPTIONS, 100_000),
    ("pg_publication_namespace", 150_000),
];

fn kinds(session: &Session) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let version = session.server_version_num();
    let is_missing =
        move |catalog: &str| LATER.iter().any(|(later, from)| *later == catalog && version < *from);
    KINDS.iter().filter(move |(catalog, _)| !is_missing(catalog))
}

/// The dependents of these relations and schemas, given by OID, in the order of their creation. Those of a partition that
/// follow from its parent, and indexes of comparisons, do not count.
pub fn read<'a>(
    session: &mut Session,
    relations: impl Iterator<Item = &'a str>,
) -> Result<Vec<Dependent>, WorkloadError> {
    let relations: Vec<String> = relations.map(literal).collect();
    if relations.is_empty() {
        return Ok(Vec::new());
    }
    let kinds = kinds(session).map(|(catalog, rows)| {
        format!("select '{catalog}'::regclass as class, k.* from ({rows}) k(relation, oid, definition, xmin)")
    });
    let sql = format!(
        "select a.class, a.oid, a.relation, o.type, concat('the ', case o.type when 'publication relation' then 'membership' \
         when 'publication namespace' then 'membership of the schema' \
         else case a.class when to_regclass('{SUBSCRIPTIONS}') then 'membership' else o.type end end, ' ', o.identity, \
         case when a.class in ('pg_class'::regclass, to_regclass('pg_statistic_ext')) \
         then ' of ' || (pg_identify_object('pg_class'::regclass, a.relation, 0)).identity \
         when a.class = to_regclass('{SUBSCRIPTIONS}') then ' in ' || a.definition end), \
         left(md5(concat(o.type, ' ', o.identity, ' ', a.definition)), 8) \
         from ({}) a cross join lateral pg_identify_object(case a.class when to_regclass('{SUBSCRIPTIONS}') \
         then 'pg_class'::regclass else a.class end, a.oid, 0) o \
         where a.relation = any (array[{}]::oid[]) \
         and not exists (select 1 from pg_depend d where d.classid = a.class and d.objid = a.oid \
         and d.deptype in ('P', 'I')) \
         and strpos(coalesce(obj_description(a.oid, a.class::text::name), ''), {}) <> 1 order by a.oid",
        kinds.collect::<Vec<_>>().join(" union all "),
        relations.join(", "),
        literal(COMPARISON_COMMENT)
    );
    let dependent = |row: &Row| {
        let [class, oid, relation, kind, described, digest] =
            [0, 1, 2, 3, 4, 5].map(|column| row.get(column).unwrap_or_default().to_owned());
        Dependent { key: (class, oid), relation, kind, described, digest }
    };
    Ok(query_catalogs(session, &sql)?.iter().map(dependent).collect())
}

/// The word of a mark: the digests of the dependents of a relation.
pub(crate) fn word(dependents: &[Dependent], relation: &str) -> String {
    let own = dependents.iter().filter(|dependent| dependent.relation == relation);
    own.map(|dependent| dependent.digest.as_str()).collect::<Vec<_>>().join(",")
}

/// The dependents of all relations that the current transaction has made, also those that [`read`] leaves out.
pub(crate) fn made(session: &mut Session) -> Result<Vec<ObjectKey>, WorkloadError> {
    let condition = of_transaction(session).replace('$', "k");
    let kinds = kinds(session).map(|(catalog, rows)| {
        format!(
            "select '{catalog}'::regclass, k.oid from ({rows}) k(relation, oid, definition, xmin) where {condition}"
        )
    });
    let sql = format!("{} order by 2", kinds.collect::<Vec<_>>().join(" union all "));
    let key = |row: &Row| {
        let [class, oid] = [0, 1].map(|column| row.get(column).unwrap_or_default().to_owned());
        (class, oid)
    };
    Ok(query_catalogs_again(session, &sql)?.iter().map(key).collect())
}

/// The dependents of tables whose loading has not ended.
pub(crate) fn of_unfinished(
    session: &mut Session,
    own: &[MarkedObject],
) -> Result<Vec<Dependent>, WorkloadError> {
    let is_loading = |object: &&MarkedObject| {
        object.is_own && !object.mark.loaded.complete && has_dependents(&object.kind)
    };
    let relations = own.iter().filter(is_loading).map(|object| object.object.oid.as_str());
    read(session, relations)
}

/// The dependents of these objects, except those of users.
pub(crate) fn of_loading(
    session: &mut Session,
    own: &[MarkedObject],
    of_users: &BTreeSet<ObjectKey>,
) -> Result<BTreeSet<ObjectKey>, WorkloadError> {
    let relations = own.iter().filter(|object| object.is_own && has_dependents(&object.kind));
    let dependents = read(session, relations.map(|object| object.object.oid.as_str()))?;
    let keys = dependents.into_iter().map(|dependent| dependent.key);
    Ok(keys.filter(|key| !of_users.contains(key)).collect())
}

/// The dependents of these objects that users have made. None is known if an older version made the mark.
pub(crate) fn of_users(session: &mut Session, own: &[MarkedObject]) -> Result<Vec<Dependent>, WorkloadError> {
    let known = |object: &MarkedObject| {
        let word = object.mark.object.as_ref()?.dependents.clone()?;
        object.is_own.then(|| (object.object.oid.clone(), (word, object.mark.loaded.complete)))
    };
    let known: BTreeMap<String, (String, bool)> = own.iter().filter_map(known).collect();
    let mut dependents = read(session, known.keys().map(String::as_str))?;
    dependents.retain(|dependent| {
        known.get(&dependent.relation).is_some_and(|(word, is_complete)| {
            word.split(',').any(|digest| digest == dependent.digest) != *is_complete
        })
    });
    Ok(dependents)
}

/// Those of these objects that are still there.
pub(crate) fn existing<'a>(
    session: &mut Session,
    keys: impl Iterator<Item = &'a ObjectKey>,
) -> Result<BTreeSet<ObjectKey>, WorkloadError> {
    let of_key = |(class, oid): &ObjectKey| {
        let column = if class == SUBSCRIPTIONS { "srrelid" } else { "oid" };
        format!("select '{class}', {column} from {class} where {column} = {}", literal(oid))
    };
    let parts: Vec<String> = keys.map(of_key).collect();
    if parts.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows = query_catalogs(session, &parts.join(" union all "))?;
    Ok(rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
}
