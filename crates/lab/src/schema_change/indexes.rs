//! Indexes that a change creates, by OID: an index is dropped by the name that it has then, and a namesake never. They are
//! made and dropped CONCURRENTLY, which makes nobody wait; where the server cannot do that, under a short `lock_timeout`.

use std::collections::BTreeSet;

use connect::quote::literal;
use connect::{ConnectError, LockingStatements, Row, Session, SqlState};
use run::COMPARISON_COMMENT;

use super::change::NewIndex;

/// Such as CONCURRENTLY for an index of a partitioned table.
const FEATURE_NOT_SUPPORTED: &str = "0A000";
/// An index or table of this name exists.
const DUPLICATE_TABLE: &str = "42P07";
const UNDEFINED_OBJECT: &str = "42704";
const UNCLEAR: &str =
    "several indexes were created on the table at the same time, and it is not known which one is pgmeter's";

/// An index that a statement of the current change creates.
#[derive(Clone, Debug)]
pub(super) struct CreatedIndex {
    index: NewIndex,
    /// The indexes that existed before the statement.
    before: Known,
    /// Its OID; `None` if it could not be asked for, as after a lost connection.
    pub(super) oid: Option<u32>,
    /// Its name after its creation, quoted and with its schema.
    pub(super) name: String,
    /// SQL with which the user can drop it.
    pub(super) undo: String,
}

/// Indexes by OID: those of the table, and those with the name, in any schema.
#[derive(Clone, Debug, Default)]
struct Known {
    of_table: BTreeSet<u32>,
    of_name: BTreeSet<u32>,
}

/// What is known of the index that a statement created.
enum Found {
    None,
    One(u32),
    /// It may be one of several.
    Unclear,
}

impl Known {
    fn now(session: &mut Session, index: &NewIndex) -> Result<Self, ConnectError> {
        let oids = |rows: Vec<Row>| rows.iter().filter_map(|row| row.get(0)?.parse().ok()).collect();
        let of_name = oids(session.query_catalogs(&format!(
            "SELECT oid FROM pg_class WHERE relkind IN ('i', 'I') AND relname = (parse_ident({}))[1]::name",
            literal(&index.name)
        ))?);
        // The table's name is resolved as in the statement.
        let table = format!("SELECT pg_catalog.to_regclass({})::pg_catalog.oid", literal(&index.table));
        let rows = session.query(&table)?;
        let table = rows.first().and_then(|row| row.get(0)?.parse::<u32>().ok()).unwrap_or(0);
        let of_table = oids(
            session
                .query_catalogs(&format!("SELECT indexrelid FROM pg_index WHERE indrelid = {table}::oid"))?,
        );
        Ok(Self { of_table, of_name })
    }

    /// The index that was created since `before`. A session that renamed it may have created a namesake, which then has a
    /// larger OID.
    fn new_since(&self, before: &Self) -> Found {
        let mut new = self.of_table.difference(&before.of_table);
        match (new.next(), new.next()) {
            (None, _) => Found::None,
            (Some(oid), None) => Found::One(*oid),
            (Some(oid), Some(_)) if self.of_name.contains(oid) => Found::One(*oid),
            (Some(_), Some(_)) => Found::Unclear,
        }
    }
}

/// Completes the name of an index by the schema of its table, where the statement creates it.
pub(super) fn find_schema(session: &mut Session, index: &mut NewIndex) -> Result<(), ConnectError> {
    let table = literal(&index.table);
    let rows = session.query(&format!(
        "SELECT pg_catalog.quote_ident(n.nspname::pg_catalog.text) FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
         WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass({table})::pg_catalog.oid"
    ))?;
    if let Some(schema) = rows.first().and_then(|row| row.get(0)) {
        index.set_schema(schema);
    }
    Ok(())
}

/// Whether an index with this name exists already where the statement would create it.
pub(super) fn exists(session: &mut Session, index: &NewIndex) -> Result<bool, ConnectError> {
    let found = session.query(&format!("SELECT pg_catalog.to_regclass({})", literal(&index.qualified())))?;
    Ok(found.first().is_some_and(|row| row.get(0).is_some()))
}

/// Whether the table of an index is partitioned: its indexes cannot be made CONCURRENTLY.
pub(super) fn is_partitioned(session: &mut Session, index: &NewIndex) -> Result<bool, ConnectError> {
    let table = format!("SELECT pg_catalog.to_regclass({})::pg_catalog.oid", literal(&index.table));
    let rows = session.query(&table)?;
    let oid: u32 = rows.first().and_then(|row| row.get(0)?.parse().ok()).unwrap_or(0);
    let sql = format!("SELECT 1 FROM pg_class WHERE oid = {oid}::oid AND relkind = 'p'");
    Ok(!session.query_catalogs(&sql)?.is_empty())
}

/// The current name of an index, quoted and with its schema, and whether it belongs to a partitioned table. `None` if it
/// does not exist any more.
fn named(session: &mut Session, oid: u32) -> Result<Option<(String, bool)>, ConnectError> {
    let rows = session.query_catalogs(&format!(
        "SELECT format('%I.%I', nspname, relname), relkind = 'I' FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = {oid}::oid AND relkind IN ('i', 'I')"
    ))?;
    Ok(rows.first().map(|row| (row.get(0).unwrap_or_default().to_owned(), row.get(1) == Some("t"))))
}

const DROP: &str = "DROP INDEX ";
const CONCURRENTLY: &str = "CONCURRENTLY ";

fn undo_of(name: &str, is_partitioned: bool) -> String {
    let concurrently = if is_partitioned { "" } else { CONCURRENTLY };
    format!("{DROP}{concurrently}{name}")
}

/// Server processes that are creating an index of this name, whose client may have ended.
pub(super) fn builders(session: &mut Session, name: &str) -> Result<Vec<String>, ConnectError> {
    let name = literal(name);
    let rows = session.query_catalogs(&format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
         AND state = 'active' AND query ~* '^\\s*create\\s' AND strpos(lower(query), \
         lower((parse_ident({name}))[array_length(parse_ident({name}), 1)])) > 0"
    ))?;
    Ok(rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect())
}

/// The index that SQL of pgmeter's own drops.
pub(super) fn dropped_by(undo: &str) -> Option<&str> {
    let name = undo.strip_prefix(DROP)?;
    let name = name.strip_prefix(CONCURRENTLY).unwrap_or(name);
    Some(name.strip_prefix("IF EXISTS ").unwrap_or(name))
}

/// Executes the first statement, which has CONCURRENTLY, or the second one where the server does not support the first.
pub(super) fn execute_concurrently(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    concurrent: &str,
    plain: &str,
) -> Result<(), ConnectError> {
    match locking.execute_beside_others(session, concurrent) {
        Err(error)
            if has_state(&error, FEATURE_NOT_SUPPORTED) && concurrent != plain && !session.is_lost() => {}
        other => return other,
    }
    alone(locking, session, plain)
}

/// Executes a statement that makes others wait, in short tries.
fn alone(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    plain: &str,
) -> Result<(), ConnectError> {
    let done = locking.execute_in_transaction(session, &[plain.to_owned()]);
    done.map_err(|failure| *failure.error)
}

impl CreatedIndex {
    /// Before its statement is executed.
    fn before(session: &mut Session, index: &NewIndex) -> Result<Self, ConnectError> {
        let before = Known::now(session, index)?;
        let undo = undo_of(&index.qualified(), false);
        Ok(Self { index: index.clone(), before, oid: None, name: index.qualified(), undo })
    }

    /// Asks for its OID and name after its statement; whether it exists.
    fn find(&mut self, session: &mut Session) -> Result<bool, ConnectError> {
        self.oid = match self.oid {
            Some(oid) => Some(oid),
            None => match Known::now(session, &self.index)?.new_since(&self.before) {
                Found::None => return Ok(false),
                Found::One(oid) => Some(oid),
                Found::Unclear => return Err(ConnectError::WrongStatement(UNCLEAR)),
            },
        };
        let Some((name, is_partitioned)) = named(session, self.oid.unwrap_or_default())? else {
            return Ok(false);
        };
        self.undo = undo_of(&name, is_partitioned);
        self.name = name;
        Ok(true)
    }

    /// Drops it; nothing if it does not exist.
    pub(super) fn drop_it(
        &mut self,
        locking: &mut LockingStatements<'_>,
        session: &mut Session,
    ) -> Result<(), ConnectError> {
        match (self.find(session)?, self.oid) {
            (true, Some(oid)) => drop_by_oid(locking, session, oid),
            _ => Ok(()),
        }
    }
}

/// Creates the index of a statement; returns it if it may exist. If its creation failed, what it left, such as an invalid
/// index, is dropped if possible.
pub(super) fn create(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    index: &NewIndex,
    sql: &str,
) -> (Option<CreatedIndex>, Result<(), ConnectError>) {
    let mut created = match CreatedIndex::before(session, index) {
        Ok(created) => created,
        Err(error) => return (None, Err(error)),
    };
    match execute_concurrently(locking, session, &index.concurrent, sql) {
        Ok(()) => match created.find(session) {
            Ok(false) => (None, Ok(())),
            Ok(true) => {
                // Without a comment, as after somebody renamed it, the undo still finds it by its OID.
                let _ = mark(locking, session, &created);
                (Some(created), Ok(()))
            }
            Err(error) => (Some(created), Err(error)),
        },
        // Somebody else made an index of this name meanwhile.
        Err(error) if has_state(&error, DUPLICATE_TABLE) => (None, Err(error)),
        Err(error) => {
            let is_gone = created.drop_it(locking, session).is_ok();
            ((!is_gone).then_some(created), Err(error))
        }
    }
}

/// Drops an index by its OID; nothing if it does not exist any more.
pub(super) fn drop_by_oid(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    oid: u32,
) -> Result<(), ConnectError> {
    let Some((name, is_partitioned)) = named(session, oid)? else { return Ok(()) };
    let plain = undo_of(&name, true);
    let dropped = match is_partitioned {
        true => alone(locking, session, &plain),
        false => execute_concurrently(locking, session, &undo_of(&name, false), &plain),
    };
    match dropped {
        // The server removes what an interrupted CREATE INDEX CONCURRENTLY left, perhaps meanwhile.
        Err(error) if has_state(&error, UNDEFINED_OBJECT) && named(session, oid)?.is_none() => Ok(()),
        other => other,
    }
}

fn has_state(error: &ConnectError, state: &str) -> bool {
    error.sqlstate().is_some_and(|it: SqlState| it.to_string() == state)
}

/// Writes the comment of an index that was created.
fn mark(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    created: &CreatedIndex,
) -> Result<(), ConnectError> {
    let rows = session.query_catalogs(
        "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), pg_backend_pid(), oid FROM pg_database \
         WHERE datname = current_database()",
    )?;
    let text = |at| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    let comment = format!(
        "{COMPARISON_COMMENT}index {} of database {}, made at {} UTC by server process {}, only for the time of a comparison. Undo: {};",
        created.oid.unwrap_or_default(),
        text(2),
        text(0),
        text(1),
        created.undo
    );
    let sql = format!("COMMENT ON INDEX {} IS {}", created.name, literal(&comment));
    // Fails, and so rolls back, if the name belongs to another index by now.
    let check = format!(
        "SELECT 1 OPERATOR(pg_catalog./) (pg_catalog.count(*) OPERATOR(pg_catalog.=) 1)::pg_catalog.int4 \
         FROM pg_catalog.pg_description WHERE objoid OPERATOR(pg_catalog.=) {} \
         AND description OPERATOR(pg_catalog.=) {}",
        created.oid.unwrap_or_default(),
        literal(&comment)
    );
    locking.execute_in_transaction(session, &[sql, check]).map_err(|failure| *failure.error)
}
