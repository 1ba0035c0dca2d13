//! The identity of what a change makes or alters: catalog, OID, number of a column, and name. Before an undo, all of it must
//! still be there. If a user dropped or renamed it, the undo could remove what the user made under the same name.

use std::collections::BTreeMap;

use connect::{ConnectError, Row, Session};
use results::MadeObject;

/// Catalogs with the columns of their names, a condition and the first version that has them. 99 is the schema of TOAST
/// tables, which the server replaces by itself. Temporary tables are those of a session.
const NAMED: [(&str, &str, &str, u32); 21] = [
    ("pg_class", "relname", "relnamespace <> 99 AND relpersistence <> 't'", 0),
    ("pg_type", "typname", "typnamespace <> 99", 0),
    ("pg_proc", "proname", "true", 0),
    ("pg_constraint", "conname", "true", 0),
    ("pg_namespace", "nspname", "true", 0),
    ("pg_trigger", "tgname", "NOT tgisinternal", 0),
    ("pg_rewrite", "rulename", "true", 0),
    ("pg_extension", "extname", "true", 0),
    ("pg_operator", "oprname", "true", 0),
    ("pg_opclass", "opcname", "true", 0),
    ("pg_opfamily", "opfname", "true", 0),
    ("pg_collation", "collname", "true", 0),
    ("pg_foreign_server", "srvname", "true", 0),
    ("pg_ts_config", "cfgname", "true", 0),
    ("pg_ts_dict", "dictname", "true", 0),
    ("pg_database", "datname", "true", 0),
    ("pg_tablespace", "spcname", "true", 0),
    ("pg_event_trigger", "evtname", "true", 90_300),
    ("pg_policy", "polname", "true", 90_500),
    ("pg_statistic_ext", "stxname", "true", 100_000),
    ("pg_publication", "pubname", "true", 100_000),
];
const COLUMNS: &str = "SELECT 'pg_attribute', attrelid, attnum::int4, attname::text, a.xmin FROM pg_attribute AS a \
                       JOIN pg_class AS c ON c.oid = attrelid WHERE attnum > 0 AND NOT attisdropped \
                       AND relkind IN ('r', 'p', 'v', 'm', 'f', 'c') AND relnamespace <> 99 AND relpersistence <> 't'";
/// Rows with a transaction ID in this range before that of the transaction are those of its subtransactions.
const SUBTRANSACTIONS_MAX: u32 = 1_000_000;

/// A query of all objects: catalog, object, part, name, since (the transaction that wrote the row).
fn objects(session: &Session) -> String {
    let version = session.server_version_num();
    let named = NAMED.iter().filter(|(.., since)| version >= *since).map(|(catalog, name, condition, _)| {
        format!("SELECT '{catalog}', oid, 0, {name}::text, xmin FROM {catalog} WHERE {condition}")
    });
    let all: Vec<String> = named.chain([COLUMNS.to_owned()]).collect();
    format!(
        "(SELECT NULL::text, NULL::oid, 0, NULL::text, NULL::xid WHERE false UNION ALL {}) AS objects (catalog, object, part, name, since)",
        all.join(" UNION ALL ")
    )
}

fn read(session: &mut Session, condition: &str) -> Result<Vec<MadeObject>, ConnectError> {
    let sql = format!(
        "SELECT catalog, object, part, name FROM {} WHERE {condition} ORDER BY 1, 2, 3",
        objects(session)
    );
    let object = |row: &Row| {
        Some(MadeObject {
            catalog: row.get(0)?.to_owned(),
            oid: row.get(1)?.parse().ok()?,
            part: row.get(2)?.parse().ok()?,
            name: row.get(3)?.to_owned(),
        })
    };
    Ok(session.query_catalogs(&sql)?.iter().filter_map(object).collect())
}

/// What the session's transaction has written so far; `None` if the catalogs cannot be read. Changes no setting of the
/// transaction.
pub(super) fn of_transaction(session: &mut Session) -> Option<Vec<MadeObject>> {
    // Rows of other sessions are visible only after their commit.
    let is_own = if session.server_version_num() >= 100_000 {
        format!(
            "CASE WHEN age(since) BETWEEN -{SUBTRANSACTIONS_MAX} AND 0 \
             THEN txid_status(txid_current() - age(since)) = 'in progress' ELSE false END"
        )
    } else {
        format!("age(since) BETWEEN -{SUBTRANSACTIONS_MAX} AND 0")
    };
    session.execute("SAVEPOINT pgmeter_catalogs").ok()?;
    let found = read(session, &is_own);
    session.execute("ROLLBACK TO SAVEPOINT pgmeter_catalogs; RELEASE SAVEPOINT pgmeter_catalogs").ok()?;
    found.ok()
}

/// The transaction ID that the server assigns next, for [`since`].
pub(super) fn next_transaction(session: &mut Session) -> Option<String> {
    let sql = "SELECT txid_snapshot_xmax(txid_current_snapshot()) % 4294967296";
    let rows = session.query_catalogs(sql).ok()?;
    rows.first()?.get(0).map(str::to_owned)
}

/// What was written since then, by any session.
pub(super) fn since(session: &mut Session, transaction: &str) -> Option<Vec<MadeObject>> {
    let condition = format!("age(since) BETWEEN -{SUBTRANSACTIONS_MAX} AND age('{transaction}'::xid)");
    read(session, &condition).ok()
}

/// The relations with these OIDs.
pub(super) fn of_relations(session: &mut Session, oids: &[u32]) -> Option<Vec<MadeObject>> {
    if oids.is_empty() {
        return None;
    }
    read(session, &format!("catalog = 'pg_class' AND object IN ({})", list(oids.iter().copied()))).ok()
}

/// How the database differs from the state after a change.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// What differs.
    pub(super) sentences: Vec<String>,
    /// Whether an object is still there under another name.
    pub(super) has_renamed: bool,
}

/// Compares what a change made with what is there.
pub(super) fn differences(session: &mut Session, made: &[MadeObject]) -> Result<Differences, ConnectError> {
    let mut differences = Differences::default();
    if made.is_empty() {
        return Ok(differences);
    }
    let oids = list(made.iter().map(|object| object.oid));
    let found = read(session, &format!("object IN ({oids})"))?;
    let names: BTreeMap<_, _> =
        found.iter().map(|it| ((it.catalog.as_str(), it.oid, it.part), it.name.as_str())).collect();
    for MadeObject { catalog, oid, part, name } in made {
        let what = match (catalog.as_str(), part) {
            ("pg_attribute", part) => {
                format!("column \"{name}\" (number {part} of the table with OID {oid})")
            }
            ("pg_class", _) => format!("relation \"{name}\" (OID {oid})"),
            (catalog, _) => format!("{} \"{name}\" (OID {oid})", catalog.trim_start_matches("pg_")),
        };
        match names.get(&(catalog.as_str(), *oid, *part)) {
            Some(now) if now == name => {}
            Some(now) => {
                differences.has_renamed = true;
                differences.sentences.push(format!("the {what} is now called \"{now}\""));
            }
            None => differences.sentences.push(format!("the {what} is not there any more")),
        }
    }
    Ok(differences)
}

fn list(oids: impl Iterator<Item = u32>) -> String {
    oids.map(|oid| oid.to_string()).collect::<Vec<_>>().join(", ")
}

/// Identifier of the server's data directory; `None` if the server does not tell it.
pub(super) fn system(session: &mut Session) -> Option<String> {
    if session.server_version_num() < 90_600 {
        return None;
    }
    let rows = session.query_catalogs("SELECT system_identifier FROM pg_control_system()").ok()?;
    rows.first()?.get(0).map(str::to_owned)
}
