//! Settings for pgmeter's own statements, whatever the role, the database or the server sets. They end with a transaction,
//! so that a pooler gets its connection back unchanged. All crates set them here.

use std::time::Duration;

use super::Session;
use crate::error::ConnectError;

/// Time limits that could end pgmeter's own statements: pgmeter has limits of its own. Older servers do not have all of
/// them, so the server chooses; the view of all settings would take it a millisecond. All names are those of the catalogs,
/// whatever the search path holds.
/// On Linux, the server looks whether pgmeter is there while it executes a long statement; on other systems it may refuse that.
const LIMITS: &str = "SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.unnest('{statement_timeout,lock_timeout,\
    idle_in_transaction_session_timeout,transaction_timeout}'::pg_catalog.text[]) AS name \
    WHERE pg_catalog.current_setting(name, true) IS NOT NULL; \
    SELECT pg_catalog.set_config(name, '1000', true) \
    FROM (VALUES ('client_connection_check_interval'::pg_catalog.text)) AS setting (name) \
    WHERE pg_catalog.current_setting(name, true) IS NOT NULL AND pg_catalog.version() OPERATOR(pg_catalog.~~) '%linux%'";
/// A stopped or unreachable pgmeter must not hold its locks without an end, also where the role has no limit. Between the
/// statements of a transaction, pgmeter takes no such time.
pub(crate) const IDLE_LIMIT: &str = "SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '60s', true) \
    WHERE pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.=) '0'";
/// Settings on which the text of a value depends: a date, a time, an interval, an amount of money or a letter means the same
/// for each role and database.
const VALUE_FORMATS: [(&str, &str); 7] = [
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("bytea_output", "hex"),
    // Versions before 12 need it to show all digits of a number.
    ("extra_float_digits", "3"),
    ("lc_monetary", "C"),
    ("client_encoding", "UTF8"),
];

/// SQL that sets the formats of values in text that pgmeter writes and reads, for the current transaction.
pub fn value_formats() -> String {
    let settings: Vec<String> = VALUE_FORMATS
        .iter()
        .map(|(name, value)| format!("pg_catalog.set_config('{name}', '{value}', true)"))
        .collect();
    format!("SELECT {}", settings.join(", "))
}

/// Which settings a transaction of pgmeter gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSettings {
    /// No time limits of the server for statements, and one of a minute between them. For statements that users wrote.
    Limits,
    /// Also fixed formats of dates, times and other values in text. For statements of pgmeter.
    LimitsAndFormats,
}

impl OwnSettings {
    /// SQL that sets them for the current transaction. The server starts the clock of `statement_timeout` with a message
    /// (before version 11), so this must be a message of its own, after BEGIN.
    pub fn sql(self) -> String {
        match self {
            Self::Limits => format!("{LIMITS}; {IDLE_LIMIT}"),
            Self::LimitsAndFormats => format!("{LIMITS}; {}", value_formats()),
        }
    }
}

/// The limit for waits for locks, as SET takes it.
pub(crate) fn set_to(lock_timeout: Duration) -> String {
    format!("lock_timeout = '{}ms'", lock_timeout.as_millis().clamp(1, i32::MAX as u128))
}

impl Session {
    /// Begins a transaction with these settings.
    pub fn begin_own(&mut self, settings: OwnSettings) -> Result<(), ConnectError> {
        self.begin()?;
        self.execute(&settings.sql()).map(drop)
    }

    /// Does the work in a transaction with these settings, and commits it; after an error it is rolled back.
    pub fn in_own_transaction<T, E: From<ConnectError>>(
        &mut self,
        settings: OwnSettings,
        work: impl FnOnce(&mut Session) -> Result<T, E>,
    ) -> Result<T, E> {
        self.begin_own(settings)?;
        let result = work(self).and_then(|result| {
            self.commit()?;
            Ok(result)
        });
        if result.is_err() && !self.is_lost() && self.is_in_transaction() {
            // The first error is reported.
            let _ = self.rollback();
        }
        result
    }

    /// From now on, `statement_timeout` does not end the statements of this session outside of transactions, such as
    /// VACUUM. Through a pooler the role's limit stays in force: the setting could remain in a connection that others get
    /// afterwards.
    pub fn lift_statement_timeout(&mut self) {
        self.set_for_itself("SET statement_timeout = 0");
    }

    /// From now on, no statement waits for a lock for longer than the target's lock timeout. Through a pooler there is no
    /// limit: the setting could remain in a connection that others get afterwards.
    pub fn limit_waits_of_statements(&mut self) {
        let lock_timeout = self.patience().lock_timeout;
        self.set_for_itself(&format!("SET {}", set_to(lock_timeout)));
    }

    /// Executes SET or RESET if the connection to the server is the session's own and ends with it. Returns false, and does
    /// nothing, if the session goes through a pooler or the server refuses the setting.
    pub fn set_for_itself(&mut self, sql: &str) -> bool {
        !self.is_pooled() && self.execute(sql).is_ok()
    }

    /// Sets what the session started with, whatever has been set since, and the formats of values, if the connection to the
    /// server is the session's own.
    pub fn reset_to_value_formats(&mut self) {
        let settings: String =
            VALUE_FORMATS.iter().map(|(name, value)| format!("; SET {name} = '{value}'")).collect();
        self.set_for_itself(&format!("RESET ALL{settings}"));
    }

    /// Whether the session goes through a pooler: its backend is another process than the one that its start named. A
    /// server that does not answer counts as one.
    pub fn is_pooled(&mut self) -> bool {
        if let Some(known) = self.is_pooled {
            return known;
        }
        // In a failed transaction nothing is answered.
        let Ok(rows) = self.query_catalogs("SELECT pg_backend_pid()") else { return true };
        let backend: Option<u32> = rows.first().and_then(|row| row.get(0)?.parse().ok());
        let is_pooled = backend.is_some_and(|backend| backend != self.key.process_id);
        self.is_pooled = Some(is_pooled);
        is_pooled
    }
}
