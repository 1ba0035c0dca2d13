//! Changes of the schema of users' databases that comparisons and experiments in place make and undo. Each is noted before
//! its first statement and forgotten after its undo, so that the changes of a killed process can be named and undone.

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::process::Process;
use super::{Store, failed};
use crate::secrets::{self, Kind};
use crate::{ResultsError, UtcTime};

/// A database as the store names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDatabase {
    /// Address of its server.
    pub server: String,
    /// Its name.
    pub name: String,
    /// Its OID: a database that was made again under the name has another one.
    pub oid: u32,
}

/// An object that a change made or altered, by its identity: an object that was made again has another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MadeObject {
    /// Its catalog, such as `pg_class`.
    pub catalog: String,
    /// Its OID; for a column, that of its table.
    pub oid: u32,
    /// Number of a column, otherwise 0.
    pub part: i32,
    /// Its name.
    pub name: String,
}

/// A change of the schema that a process did not undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftChange {
    /// Its number in the store.
    pub change: i64,
    /// Where it was made.
    pub database: ChangedDatabase,
    /// The statements that undo it.
    pub undo: Vec<String>,
    /// Whether it consists of indexes, which are found by their comments.
    pub has_only_indexes: bool,
    /// Whether it was made as a whole. Otherwise its undo could remove what existed before.
    pub is_made: bool,
    /// When it began, in UTC.
    pub began_at: String,
    /// Identifier of the server's data directory; `None` if the server did not tell it.
    pub system: Option<String>,
    /// What it made or altered; `None` if that is not known.
    pub made: Option<Vec<MadeObject>>,
    /// The process that made it.
    pub pid: Option<i64>,
}

impl LeftChange {
    /// The sentence that tells of it.
    pub fn sentence(&self) -> String {
        let Self { database: ChangedDatabase { server, name, .. }, undo, began_at, .. } = self;
        let undo = undo.iter().map(|sql| format!("{sql};")).collect::<Vec<_>>().join(" ");
        let undo = secrets::mask(&undo, Kind::Sql);
        let does = match (self.has_only_indexes, self.is_made) {
            (true, _) => "drops the indexes that have its comment, and names others; by hand",
            (false, true) => "runs",
            (false, false) => "asks you to look whether the change was made, and then to run",
        };
        format!(
            "a comparison or experiment that began to change the schema of the database {name} on {server} at {began_at} \
             did not end, so the change may still be there; undo it with pgmeter compare --undo and a connection to this \
             database, which {does}: {undo}"
        )
    }
}

impl Store {
    /// Notes that this process is about to change a schema.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn note_schema_change(
        &mut self,
        database: &ChangedDatabase,
        system: Option<&str>,
        undo: &[String],
        has_only_indexes: bool,
    ) -> Result<i64, ResultsError> {
        let Process { hostname, boot_id, pid_namespace, pid, pid_started_ticks } = Process::own();
        let undo = serde_json::Value::from(undo).to_string();
        self.in_transaction(|transaction| {
            transaction.execute(
                "INSERT INTO schema_changes (server, database, database_oid, undo, has_only_indexes, began_at, hostname, \
                 boot_id, pid_namespace, pid, pid_started_ticks, system) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    database.server,
                    database.name,
                    database.oid,
                    undo,
                    has_only_indexes,
                    UtcTime::now().to_string(),
                    hostname,
                    boot_id,
                    pid_namespace,
                    pid,
                    pid_started_ticks,
                    system
                ],
            )?;
            Ok(transaction.last_insert_rowid())
        })
    }

    /// Notes that a change was made as a whole, and what it made, if that is known.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn confirm_schema_change(
        &mut self,
        change: i64,
        made: Option<&[MadeObject]>,
    ) -> Result<(), ResultsError> {
        let made = made.and_then(|made| serde_json::to_string(made).ok());
        let sql = "UPDATE schema_changes SET is_made = 1, made = ?2 WHERE change = ?1";
        let changed = self.connection.execute(sql, params![change, made]);
        changed.map(drop).map_err(failed(&self.path))
    }

    /// Forgets a change: it was undone.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_schema_change(&mut self, change: i64) -> Result<(), ResultsError> {
        let deleted = self.connection.execute("DELETE FROM schema_changes WHERE change = ?1", [change]);
        deleted.map(drop).map_err(failed(&self.path))
    }

    /// Changes whose process has ended without undoing them, the oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn left_schema_changes(&self) -> Result<Vec<LeftChange>, ResultsError> {
        self.schema_changes(true)
    }

    /// Changes whose process is not known to have ended, the oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn current_schema_changes(&self) -> Result<Vec<LeftChange>, ResultsError> {
        self.schema_changes(false)
    }

    fn schema_changes(&self, of_ended: bool) -> Result<Vec<LeftChange>, ResultsError> {
        let own = Process::own();
        let read = || -> rusqlite::Result<Vec<(LeftChange, Process)>> {
            let sql = "SELECT change, server, database, database_oid, undo, has_only_indexes, began_at, hostname, boot_id, \
                       pid_namespace, pid, pid_started_ticks, is_made, system, made FROM schema_changes ORDER BY change";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((left(row)?, Process::read(row, 7)?)))?;
            rows.collect()
        };
        let changes = read().map_err(failed(&self.path))?;
        let wanted = changes.into_iter().filter(|(_, process)| process.is_gone(&own) == of_ended);
        Ok(wanted.map(|(change, _)| change).collect())
    }
}

fn left(row: &Row<'_>) -> rusqlite::Result<LeftChange> {
    let undo: String = row.get(4)?;
    let made: Option<String> = row.get(14)?;
    Ok(LeftChange {
        change: row.get(0)?,
        database: ChangedDatabase { server: row.get(1)?, name: row.get(2)?, oid: row.get(3)? },
        undo: serde_json::from_str(&undo).unwrap_or_default(),
        has_only_indexes: row.get(5)?,
        is_made: row.get(12)?,
        began_at: row.get(6)?,
        system: row.get(13)?,
        made: made.and_then(|made| serde_json::from_str(&made).ok()),
        pid: row.get(10)?,
    })
}
