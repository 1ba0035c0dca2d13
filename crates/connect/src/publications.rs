//! Publications that include a table as soon as it is created. A subscriber without that table stops at its first row, and
//! the server keeps WAL for it, so commands that create tables look for them.

use crate::error::ConnectError;
use crate::quote::literal;
use crate::session::Session;

/// The first version with publications.
const PUBLICATIONS_FROM: u32 = 100_000;
/// The first version with publications of all tables in a schema.
const OF_SCHEMAS_FROM: u32 = 150_000;

/// The publications that include each new table of a schema, in words: `the publication p is FOR ALL TABLES`.
///
/// # Errors
/// Errors of the server.
pub fn publications_of_new_tables(session: &mut Session, schema: &str) -> Result<Vec<String>, ConnectError> {
    let version = session.server_version_num();
    if version < PUBLICATIONS_FROM {
        return Ok(Vec::new());
    }
    let mut sql = "SELECT 'the publication ' || quote_ident(pubname) || ' is FOR ALL TABLES' \
                   FROM pg_publication WHERE puballtables"
        .to_owned();
    if version >= OF_SCHEMAS_FROM {
        sql.push_str(&format!(
            " UNION ALL SELECT 'the publication ' || quote_ident(p.pubname) || ' is FOR TABLES IN SCHEMA ' \
             || quote_ident(n.nspname) FROM pg_publication_namespace s JOIN pg_publication p ON p.oid = s.pnpubid \
             JOIN pg_namespace n ON n.oid = s.pnnspid WHERE n.nspname = {}",
            literal(schema)
        ));
    }
    let rows = session.query_catalogs(&sql)?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// A publication that includes each new table of a schema, in words, and a replication slot of a subscriber that may receive
/// it, quoted; `None` if there is no such pair.
///
/// # Errors
/// Errors of the server.
pub fn subscriber_of_new_tables(
    session: &mut Session,
    schema: &str,
) -> Result<Option<(String, String)>, ConnectError> {
    let Some(publication) = publications_of_new_tables(session, schema)?.into_iter().next() else {
        return Ok(None);
    };
    let slots = "SELECT quote_ident(slot_name) FROM pg_replication_slots \
                 WHERE slot_type = 'logical' AND plugin = 'pgoutput' AND database = current_database() \
                 ORDER BY slot_name LIMIT 1";
    let slots = session.query_catalogs(slots)?;
    Ok(slots.first().and_then(|row| row.get(0)).map(|slot| (publication, slot.to_owned())))
}

/// Refuses to create a table whose name subscribers cannot know before, where the database has a subscriber.
///
/// # Errors
/// A publication includes each new table of the schema, and a subscriber may receive it; or errors of the server.
pub fn refuse_published_table(session: &mut Session, schema: &str) -> Result<(), ConnectError> {
    match subscriber_of_new_tables(session, schema)? {
        None => Ok(()),
        Some((publication, slot)) => Err(ConnectError::Settings(format!(
            "{publication}, so the subscriber of the replication slot {slot} would get the rows of a table that it does not \
             have, and would stop there: use a database without subscribers"
        ))),
    }
}
