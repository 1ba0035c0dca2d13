//! Definitions of the objects of a database before the first change and after the last undo. An undo of the user's own may
//! restore less than there was, such as an index without its comment. Other sessions may change objects at the same time,
//! so a difference is told, and not whose it is. Data, statistics and values of sequences belong to no definition.

use std::collections::BTreeMap;

use connect::{ConnectError, Session};
use serde_json::{Map, Value};

/// Views are shown under a lock of readers, for which nobody is made to wait long.
const LIMITS: &str =
    "SELECT set_config('lock_timeout', '1s', true), set_config('statement_timeout', '60s', true); ";
/// The catalogs are read again if an object was dropped meanwhile.
const TRIES: usize = 3;
/// Differences in a message.
const SHOWN_MAX: usize = 10;
/// Values up to this length are shown.
const VALUE_LENGTH_MAX: usize = 40;
const PARTITIONS_FROM: u32 = 100_000;
const PUBLISHED_SCHEMAS_FROM: u32 = 150_000;

/// Relations of users in `c`, with their schemas in `n` and names in `name`.
const RELATIONS: &str = "(SELECT c.*, c.oid AS id, nspname, format('%I.%I', nspname, relname) AS name FROM pg_class AS c \
    JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' \
    AND relpersistence <> 't') AS c";
/// Objects of users in `o`, with a schema of users in `n`.
const USERS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// Kinds of objects: columns kind, object and definition. `acl(A, K, O)` stands for the sorted privileges A, if they differ
/// from those that the owner O of an object of kind K has by default; `words(W)` for sorted words; `since(V, C)` for a column
/// that versions before V lack. What is the same for most objects is left out, which makes the query several times as fast.
const KINDS: [&str; 13] = [
    "SELECT 'schema', quote_ident(nspname), jsonb_build_object('owner', nspowner::regrole, \
     'privileges', acl(nspacl, n, nspowner)) FROM pg_namespace AS n WHERE {USERS}",
    "SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'i' THEN 'index' WHEN 'I' THEN 'index' \
     WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'relation' END, name, \
     jsonb_build_object('owner', relowner::regrole, 'privileges', acl(relacl, r, relowner), \
     'storage parameters', words(reloptions), 'storage parameters of TOAST', \
     (SELECT words(t.reloptions) FROM pg_class AS t WHERE t.oid = c.reltoastrelid), 'persistence', relpersistence, \
     'tablespace', CASE WHEN reltablespace <> 0 THEN (SELECT spcname FROM pg_tablespace \
     WHERE oid = reltablespace) END, \
     'access method', CASE WHEN relam <> 0 AND relkind <> 'i' THEN (SELECT amname FROM pg_am \
     WHERE oid = relam) END, 'replica identity', nullif(relreplident, 'n'), \
     'row security', concat(relrowsecurity, relforcerowsecurity), 'type', nullif(reloftype, 0)::regtype, \
     'query', CASE WHEN relkind IN ('v', 'm') THEN md5(pg_get_viewdef(id)) END) FROM {RELATIONS}",
    "SELECT 'table', name, jsonb_build_object('parents', string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno)) \
     FROM pg_inherits JOIN {RELATIONS} ON id = inhrelid WHERE relkind IN ('r', 'p') GROUP BY name",
    "SELECT 'index', name, jsonb_build_object('definition', pg_get_indexdef(indexrelid), 'CLUSTER', \
     nullif(indisclustered, false), 'replica identity', nullif(indisreplident, false), 'validity', indisvalid) \
     FROM pg_index JOIN {RELATIONS} ON id = indexrelid",
    "SELECT 'column', format('%s.%I', name, attname), jsonb_build_object('type', format_type(atttypid, atttypmod), \
     'NOT NULL', attnotnull, 'default', CASE WHEN atthasdef THEN (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef \
     WHERE adrelid = attrelid AND adnum = attnum) END, 'privileges', acl(attacl, c, relowner), 'options', words(attoptions), \
     'statistics target', nullif(attstattarget, -1), 'storage', attstorage, \
     'compression', since(140000, attcompression), 'identity', since(100000, attidentity), 'generation', since(120000, attgenerated), \
     'collation', CASE WHEN attcollation NOT IN (0, 100) THEN (SELECT collname FROM pg_collation AS o \
     WHERE o.oid = attcollation) END, 'inheritance', \
     concat(attislocal, attinhcount), 'options of the foreign table', words(attfdwoptions)) \
     FROM pg_attribute AS a \
     JOIN {RELATIONS} ON id = attrelid WHERE attnum > 0 AND NOT attisdropped AND (relkind IN ('r', 'p', 'm', 'f', 'c') \
     OR attstattarget >= 0 OR attacl IS NOT NULL OR atthasdef)",
    "SELECT 'constraint', format('%I on %s', conname, CASE conrelid WHEN 0 THEN contypid::regtype::text \
     ELSE conrelid::regclass::text END), jsonb_build_object('definition', pg_get_constraintdef(o.oid), 'validation', \
     convalidated, 'inheritance', concat(conislocal, coninhcount, connoinherit)) \
     FROM pg_constraint AS o JOIN pg_namespace AS n ON n.oid = connamespace WHERE {USERS}",
    "SELECT 'trigger', format('%s on %s', CASE WHEN tgisinternal THEN concat(tgfoid::regproc, ' of ', \
     (SELECT conname FROM pg_constraint AS k WHERE k.oid = tgconstraint)) ELSE quote_ident(tgname) END, name), \
     jsonb_build_object('definition', CASE WHEN NOT tgisinternal THEN pg_get_triggerdef(o.oid) END, 'state', tgenabled) \
     FROM pg_trigger AS o JOIN {RELATIONS} ON id = tgrelid",
    "SELECT 'rule', format('%I on %s', rulename, name), jsonb_build_object('definition', pg_get_ruledef(o.oid), 'state', \
     ev_enabled) FROM pg_rewrite AS o JOIN {RELATIONS} ON id = ev_class WHERE rulename <> '_RETURN'",
    "SELECT 'policy', format('%I on %s', polname, name), jsonb_build_object('definition', concat_ws('|', polcmd, \
     o.j ->> 'polpermissive', (SELECT string_agg(role::regrole::text, ',') FROM unnest(polroles) AS role), \
     pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))) \
     FROM (SELECT *, to_jsonb(o) AS j FROM pg_policy AS o) AS o JOIN {RELATIONS} ON id = polrelid",
    "SELECT 'function', o.oid::regprocedure::text, jsonb_build_object('owner', proowner::regrole, \
     'privileges', acl(proacl, f, proowner), 'definition', CASE WHEN g.aggfnoid IS NULL \
     THEN md5(pg_get_functiondef(o.oid)) ELSE md5(to_jsonb(g)::text) END) FROM pg_proc AS o \
     JOIN pg_namespace AS n ON n.oid = pronamespace LEFT JOIN pg_aggregate AS g ON g.aggfnoid = o.oid WHERE {USERS}",
    "SELECT 'type', o.oid::regtype::text, jsonb_build_object('owner', typowner::regrole, \
     'privileges', acl(typacl, T, typowner), 'base type', format_type(nullif(typbasetype, 0), typtypmod), \
     'NOT NULL', typnotnull, 'default', typdefault, 'labels', (SELECT string_agg(quote_literal(enumlabel), ', ' \
     ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = o.oid)) FROM pg_type AS o \
     JOIN pg_namespace AS n ON n.oid = typnamespace WHERE {USERS} AND typrelid = 0 AND typelem = 0",
    "SELECT concat('comment on ', i.type), i.identity, jsonb_build_object('text', description) FROM pg_description \
     CROSS JOIN LATERAL pg_identify_object(classoid, objoid, objsubid) AS i WHERE (objoid >= 16384 \
     OR classoid = 'pg_namespace'::regclass) AND i.identity IS NOT NULL AND coalesce(i.schema, '') !~ '^pg_'",
    "SELECT 'setting of the database', setrole::regrole::text, jsonb_build_object('values', words(setconfig)) \
     FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
];
/// Those since version 10.
const LATER: [(u32, &str); 5] = [
    (
        PARTITIONS_FROM,
        "SELECT 'table', name, jsonb_build_object('partition key', pg_get_partkeydef(id), 'partition', \
         pg_get_expr(relpartbound, id)) FROM {RELATIONS} WHERE relkind IN ('r', 'p')",
    ),
    (
        PARTITIONS_FROM,
        "SELECT 'sequence', name, to_jsonb(s) - 'seqrelid' FROM pg_sequence AS s JOIN {RELATIONS} ON id = seqrelid",
    ),
    (
        PARTITIONS_FROM,
        "SELECT 'statistics object', format('%I.%I', nspname, stxname), jsonb_build_object('owner', stxowner::regrole, \
         'definition', pg_get_statisticsobjdef(id), 'statistics target', nullif(o.j ->> 'stxstattarget', '-1')) \
         FROM (SELECT o.*, o.oid AS id, to_jsonb(o) AS j FROM pg_statistic_ext AS o) AS o \
         JOIN pg_namespace AS n ON n.oid = stxnamespace WHERE {USERS}",
    ),
    (
        PARTITIONS_FROM,
        "SELECT 'publication', format('%I of %s', pubname, name), jsonb_build_object('columns', m.j ->> 'prattrs', \
         'row filter', md5(m.j ->> 'prqual')) FROM (SELECT *, to_jsonb(m) AS j FROM pg_publication_rel AS m) AS m \
         JOIN pg_publication AS p ON p.oid = prpubid JOIN {RELATIONS} ON id = prrelid",
    ),
    (
        PUBLISHED_SCHEMAS_FROM,
        "SELECT 'publication', format('%I of the schema %I', pubname, nspname), '{}' FROM pg_publication_namespace \
         JOIN pg_publication AS p ON p.oid = pnpubid JOIN pg_namespace AS n ON n.oid = pnnspid",
    ),
];
/// Catalogs of which all that is no number is compared: an object that was made again has another OID.
const WHOLE: [(u32, &str); 13] = [
    (0, "pg_extension"),
    (0, "pg_event_trigger"),
    (0, "pg_operator"),
    (0, "pg_opclass"),
    (0, "pg_opfamily"),
    (0, "pg_collation"),
    (0, "pg_cast"),
    (0, "pg_language"),
    (0, "pg_foreign_server"),
    (0, "pg_ts_config"),
    (0, "pg_ts_dict"),
    (0, "pg_default_acl"),
    (PARTITIONS_FROM, "pg_publication"),
];

/// The definitions of all objects of a database, by name and kind, as JSON.
#[derive(Debug, Default)]
pub(super) struct Definitions(BTreeMap<(String, String), Vec<String>>);

impl Definitions {
    /// Reads those of the session's database, but for system schemas and temporary objects.
    pub(super) fn read(session: &mut Session) -> Result<Self, ConnectError> {
        let sql = sql(session.server_version_num());
        let mut tries = 1;
        let rows = loop {
            match session.query_catalogs(&sql) {
                Err(_) if tries < TRIES && !session.is_lost() => tries += 1,
                other => break other?,
            }
        };
        let mut definitions = Self::default();
        for row in rows {
            let (Some(kind), Some(object), Some(text)) = (row.get(0), row.get(1), row.get(2)) else {
                continue;
            };
            definitions.0.entry((object.to_owned(), kind.to_owned())).or_default().push(text.to_owned());
        }
        // The server may return rows in any order.
        definitions.0.values_mut().for_each(|definition| definition.sort());
        Ok(definitions)
    }

    /// What differs, as a part of a sentence; `None`: nothing.
    pub(super) fn differences(&self, now: &Self) -> Option<String> {
        let gone = self.0.keys().filter(|key| !now.0.contains_key(*key));
        let mut found: Vec<String> = gone.map(|(name, kind)| format!("{kind} {name}: is missing")).collect();
        for (key @ (name, kind), definition) in &now.0 {
            match self.0.get(key) {
                None => found.push(format!("{kind} {name}: is new")),
                Some(before) if before == definition => {}
                Some(before) => {
                    found.push(format!(
                        "{kind} {name}: {}",
                        changed_parts(&parts(before), &parts(definition)).join(", ")
                    ));
                }
            }
        }
        let more = found.len().saturating_sub(SHOWN_MAX);
        found.truncate(SHOWN_MAX);
        if more > 0 {
            found.push(format!("and {more} more"));
        }
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// The parts of a definition.
fn parts(definition: &[String]) -> Map<String, Value> {
    definition
        .iter()
        .flat_map(|text| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default())
        .collect()
}

/// The parts of a definition that differ, with short values.
fn changed_parts(before: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
    let parts = before.keys().chain(now.keys().filter(|part| !before.contains_key(*part)));
    let differs = |part: &&String| before.get(*part) != now.get(*part);
    let shown = |value: Option<&Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let part_in_words = |part: &String| {
        let (then, now) = (shown(before.get(part)), shown(now.get(part)));
        let is_short = |text: &str| text.chars().count() <= VALUE_LENGTH_MAX;
        let is_digest = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_short(&then) && is_short(&now) && !is_digest(&then) && !is_digest(&now) {
            format!("{part} changed from {then} to {now}")
        } else {
            format!("{part} changed")
        }
    };
    let changed: Vec<String> = parts.filter(differs).map(part_in_words).collect();
    // Of several rows with one part, one hides the others.
    if changed.is_empty() { vec!["definition changed".to_owned()] } else { changed }
}

/// The query of all definitions.
fn sql(version: u32) -> String {
    let later = LATER.iter().filter(|(since, _)| version >= *since).map(|(_, sql)| *sql);
    let kinds = KINDS
        .into_iter()
        .chain(later)
        .map(|sql| expanded(&sql.replace("{RELATIONS}", RELATIONS).replace("{USERS}", USERS), version));
    let whole = WHOLE.iter().filter(|(since, _)| version >= *since).map(|(_, catalog)| {
        format!(
            "SELECT replace(i.type, '_', ' '), i.identity, (SELECT jsonb_object_agg(key, value) \
             FROM jsonb_each_text(to_jsonb(o)) WHERE value !~ '^[][\", 0-9-]*$') FROM {catalog} AS o \
             CROSS JOIN LATERAL pg_identify_object('{catalog}'::regclass, o.oid, 0) AS i WHERE o.oid >= 16384 \
             AND i.identity IS NOT NULL"
        )
    });
    let all: Vec<String> = kinds.chain(whole).collect();
    format!(
        "{LIMITS}SELECT kind, object, jsonb_strip_nulls(coalesce(definition, '{{}}')) FROM ({}) \
         AS objects (kind, object, definition)",
        all.join(" UNION ALL ")
    )
}

/// Replaces `acl(…)` and `words(…)`, whose order has no meaning, and `since(…)`.
fn expanded(sql: &str, version: u32) -> String {
    let sorted = |items: &str| {
        format!("(SELECT string_agg(item::text, ', ' ORDER BY item::text) FROM unnest({items}) AS item)")
    };
    let mut text = sql.to_owned();
    for word in ["acl(", "words(", "since("] {
        while let Some(at) = text.find(word) {
            let rest = &text[at + word.len()..];
            let Some(end) = rest.find(')') else { return text };
            let value = match rest[..end].split(", ").collect::<Vec<_>>().as_slice() {
                [items, kind, owner] => {
                    let usual = sorted(&format!("acldefault('{kind}', {owner})"));
                    format!("CASE WHEN {items} IS NOT NULL THEN nullif({}, {usual}) END", sorted(items))
                }
                [since, column] if since.parse().is_ok_and(|since: u32| version >= since) => {
                    (*column).to_owned()
                }
                [_, _] => "NULL".to_owned(),
                _ => format!("CASE WHEN {0} IS NOT NULL THEN {1} END", &rest[..end], sorted(&rest[..end])),
            };
            text = format!("{}{value}{}", &text[..at], &rest[end + 1..]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use testkit::cluster::Cluster;

    use super::*;

    const BEFORE: &str = "CREATE TABLE t (id int NOT NULL, x text DEFAULT 'a', y int); \
        CREATE UNIQUE INDEX t_id ON t (id); ALTER TABLE t REPLICA IDENTITY USING INDEX t_id; CLUSTER t USING t_id; \
        COMMENT ON INDEX t_id IS 'why'; ALTER TABLE t ALTER x SET STATISTICS 500; ALTER TABLE t SET (fillfactor = 70); \
        CREATE VIEW v AS SELECT id FROM t; GRANT SELECT ON v TO PUBLIC; GRANT UPDATE (x) ON t TO PUBLIC; \
        CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; \
        CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
        CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW EXECUTE PROCEDURE g(); \
        CREATE TYPE e AS ENUM ('a'); CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE SEQUENCE s; \
        CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int); \
        CREATE POLICY p ON t USING (id > 0)";
    /// Changes with undos that restore less, and what is told.
    const LESS: [(&str, &str); 14] = [
        ("COMMENT ON INDEX t_id IS NULL", "comment on index public.t_id: is missing"),
        (
            "DROP INDEX t_id; CREATE UNIQUE INDEX t_id ON t (id)",
            "index public.t_id: CLUSTER changed from true to nothing, replica identity changed from true to nothing",
        ),
        (
            "ALTER TABLE t ALTER x SET STATISTICS -1",
            "column public.t.x: statistics target changed from 500 to nothing",
        ),
        ("ALTER TABLE t RESET (fillfactor)", "storage parameters changed from fillfactor=70 to nothing"),
        ("ALTER TABLE t REPLICA IDENTITY FULL", "table public.t: replica identity changed from i to f"),
        ("DROP VIEW v; CREATE VIEW v AS SELECT id FROM t", "view public.v: privileges changed"),
        ("CREATE OR REPLACE VIEW v AS SELECT y AS id FROM t", "view public.v: query changed"),
        (
            "REVOKE UPDATE (x) ON t FROM PUBLIC",
            "column public.t.x: privileges changed from =w/postgres to nothing",
        ),
        (
            "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'",
            "function public.f(): definition changed",
        ),
        ("ALTER TABLE t DISABLE TRIGGER r", "trigger r on public.t: state changed from O to D"),
        ("ALTER TYPE e ADD VALUE 'b'", "type public.e: labels changed from 'a' to 'a', 'b'"),
        ("ALTER DOMAIN d DROP CONSTRAINT d_check", "constraint d_check on public.d: is missing"),
        ("DROP POLICY p ON t", "policy p on public.t: is missing"),
        ("CREATE TABLE u (id int)", "table public.u: is new"),
    ];

    fn check(version: &str, before: &str, less: &[(&str, &str)]) {
        let dsn = Cluster::shared(version).database("definitions");
        let mut session = Cluster::session(&dsn);
        session.execute(before).unwrap();
        let read = |session: &mut Session| Definitions::read(session).unwrap();
        let mut before = read(&mut session);
        assert_eq!(before.differences(&read(&mut session)), None, "{version}");
        for (sql, told) in less {
            session.execute(sql).unwrap();
            let now = read(&mut session);
            let differences = before.differences(&now).unwrap_or_default();
            assert!(differences.contains(told), "{version}: {sql}: {differences}");
            before = now;
        }
        assert_eq!(before.differences(&read(&mut session)), None, "{version}");
    }

    #[test]
    fn what_an_undo_does_not_restore_is_told_on_all_versions() {
        Cluster::versions(["9.6", "13", "18"]).into_iter().for_each(|version| check(version, BEFORE, &LESS));
    }

    #[test]
    fn statistics_objects_publications_and_partitions_have_definitions() {
        let before = "CREATE TABLE t (id int, x int) PARTITION BY RANGE (id); \
            CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (1) TO (2); CREATE STATISTICS s ON id, x FROM t_1; \
            COMMENT ON STATISTICS s IS 'why'; CREATE PUBLICATION p FOR TABLE t_1";
        let less = [
            ("ALTER PUBLICATION p DROP TABLE t_1", "publication p of public.t_1: is missing"),
            (
                "DROP STATISTICS s; CREATE STATISTICS s ON id, x FROM t_1",
                "comment on statistics object public.s: is missing",
            ),
            ("DROP STATISTICS s", "statistics object public.s: is missing"),
            (
                "ALTER TABLE t DETACH PARTITION t_1",
                "partition changed from FOR VALUES FROM (1) TO (2) to nothing",
            ),
            (
                "ALTER PUBLICATION p SET (publish = 'insert')",
                "publication p: pubdelete changed from true to false",
            ),
        ];
        Cluster::versions(["13", "18"]).into_iter().for_each(|version| check(version, before, &less));
    }

    #[test]
    fn what_was_dropped_and_made_again_as_it_was_is_no_difference() {
        let dsn = Cluster::shared("18").database("definitions");
        let mut session = Cluster::session(&dsn);
        session.execute(BEFORE).unwrap();
        let before = Definitions::read(&mut session).unwrap();
        session
            .execute(
                "DROP INDEX t_id; CREATE UNIQUE INDEX t_id ON t (id); ALTER TABLE t REPLICA IDENTITY USING INDEX t_id; \
                 ALTER TABLE t CLUSTER ON t_id; COMMENT ON INDEX t_id IS 'why'; DROP VIEW v; \
                 CREATE VIEW v AS SELECT id FROM t; GRANT SELECT ON v TO PUBLIC; DROP AGGREGATE total(int); \
                 CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int); DROP TYPE e; CREATE TYPE e AS ENUM ('a'); \
                 DROP DOMAIN d; CREATE DOMAIN d AS int CHECK (VALUE > 0); DROP SEQUENCE s; CREATE SEQUENCE s; \
                 CREATE TEMP TABLE here (id int)",
            )
            .unwrap();
        assert_eq!(before.differences(&Definitions::read(&mut session).unwrap()), None);
    }
}
