//! The state of a session that outlives a transaction: settings, prepared statements, channels, temporary objects and locks.
//! Behind a pooler it would stay in a connection that others get next, so each transaction of pgmeter restores it: in the
//! message of its COMMIT or ROLLBACK, before the pooler can pass the connection on. Functions of `Session` call this.

use super::Session;
use crate::error::ConnectError;
use crate::quote::literal;
use wire::SqlState;

/// SQLSTATE of a statement that must not run in a transaction block.
const IN_TRANSACTION: &[u8; 5] = b"25001";
/// Rounds of restoring: a lock that was taken several times is released once in each. The last one finds nothing to undo, except
/// channels: a session listens to them until it commits.
const ROUNDS_MAX: u32 = 100;

/// The state: what there is, and the SQL that removes it. The search path is a setting of its own, because reading changes it.
/// Placeholders of settings that no extension knows, such as `my.setting`, are in no catalog. The settings of a transaction end
/// with it and cannot be reset; `transaction_timeout` is none of them.
const STATE: &str = "\
    SELECT concat('session user ', session_user) AS what, 'RESET SESSION AUTHORIZATION' AS undo \
    UNION ALL SELECT concat('role ', current_setting('role')), 'RESET ROLE' \
    UNION ALL SELECT concat('setting ', name, ' ', setting), format('RESET %I', name) FROM pg_settings \
    WHERE source = 'session' AND name NOT IN ('search_path', 'transaction_isolation', 'transaction_read_only', \
    'transaction_deferrable') \
    UNION ALL SELECT concat('prepared statement ', name, ' ', prepare_time), format('DEALLOCATE %I', name) \
    FROM pg_prepared_statements WHERE from_sql \
    UNION ALL SELECT concat('channel ', channel), format('UNLISTEN %I', channel) \
    FROM pg_listening_channels() AS listening (channel) \
    UNION ALL SELECT concat('temporary ', d.classid::regclass, ' ', d.objid), \
    format('DROP %s IF EXISTS %s CASCADE', replace(o.type, 'statistics object', 'statistics'), o.identity) FROM pg_depend d \
    CROSS JOIN LATERAL pg_identify_object(d.classid, d.objid, 0) o WHERE d.refclassid = 'pg_namespace'::regclass \
    AND d.refobjid = pg_my_temp_schema() AND d.refobjsubid = 0 AND d.deptype = 'n' AND d.classid <> 'pg_default_acl'::regclass \
    UNION ALL SELECT concat_ws(' ', 'lock', classid, objid, objsubid, mode), format('SELECT pg_advisory_unlock%s(%s)', \
    CASE mode WHEN 'ShareLock' THEN '_shared' ELSE '' END, CASE objsubid WHEN 2 THEN concat_ws(', ', \
    classid::bigint - CASE WHEN classid::bigint > 2147483647 THEN 4294967296 ELSE 0 END, \
    objid::bigint - CASE WHEN objid::bigint > 2147483647 THEN 4294967296 ELSE 0 END) \
    ELSE concat('''', (classid::bigint << 32) | objid::bigint, '''::bigint') END) \
    FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted";

/// The state before a transaction.
#[derive(Debug)]
pub(super) struct SessionState {
    /// Process of the server.
    process: String,
    /// Whether the server is a standby, where no transaction can write.
    is_standby: bool,
    /// The search path.
    search_path: String,
    /// The first column of [`STATE`].
    there: Vec<String>,
    /// Settings of the session with their values.
    settings: Vec<(String, String)>,
}

impl SessionState {
    /// Begins a transaction and reads the state. `None`: the server cannot restore it, or answers otherwise than PostgreSQL.
    fn begin(session: &mut Session) -> Result<Option<SessionState>, ConnectError> {
        let sets = session.query_sets(&format!(
            "BEGIN; SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('search_path'), \
             pg_catalog.pg_is_in_recovery(); SAVEPOINT pgmeter_state; \
             SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); \
             SELECT name, setting FROM pg_settings WHERE source = 'session' AND name NOT IN ('search_path', \
             'transaction_isolation', 'transaction_read_only', 'transaction_deferrable'); {STATE}; \
             SELECT lanname FROM pg_language WHERE lanname = 'plpgsql'; \
             ROLLBACK TO SAVEPOINT pgmeter_state; RELEASE SAVEPOINT pgmeter_state"
        ));
        let sets = match sets {
            Ok(sets) => sets,
            Err(error) if session.is_lost() => return Err(error),
            Err(_) => {
                if session.is_in_transaction() {
                    session.execute("ROLLBACK")?;
                }
                return session.execute("BEGIN").map(|_| None);
            }
        };
        let mut answers = sets.into_iter().filter(|set| set.returns_rows).map(|set| set.rows);
        let (path, _, settings, there, language) =
            (answers.next(), answers.next(), answers.next(), answers.next(), answers.next());
        let text = |row: &crate::Row, at| row.get(at).unwrap_or_default().to_owned();
        let path = path.unwrap_or_default();
        let Some(path) = path.first() else { return Ok(None) };
        let is_restorable = language.is_some_and(|rows| !rows.is_empty());
        let (settings, there) = (settings.unwrap_or_default(), there.unwrap_or_default());
        Ok(is_restorable.then(|| SessionState {
            process: text(path, 0),
            search_path: text(path, 1),
            is_standby: path.get(2) == Some("t"),
            there: there.iter().map(|row| text(row, 0)).collect(),
            settings: settings.iter().map(|row| (text(row, 0), text(row, 1))).collect(),
        }))
    }

    /// SQL that restores it, for the message that ends the transaction. It never fails, so an error is that of the COMMIT. If a
    /// statement of a user has ended the transaction, the connection may be another one by now, which stays as it is. The
    /// transaction can write, although the user may have set `default_transaction_read_only`: DROP needs that.
    fn restore(&self) -> String {
        // The search path is last: SET LOCAL after RESET would make the default a setting of the session.
        let array = |texts: &mut dyn Iterator<Item = &String>| {
            let texts: Vec<String> = texts.map(|text| literal(text)).collect();
            format!("ARRAY[{}]::pg_catalog.text[]", texts.join(", "))
        };
        let path = literal(&self.search_path);
        let body = format!(
            "DECLARE statement pg_catalog.text; is_restored pg_catalog.bool; \
             is_moved pg_catalog.bool := pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) {path}; BEGIN \
             IF pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.<>) {process} THEN RETURN; END IF; \
             PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); \
             FOR round IN 1..{ROUNDS_MAX} LOOP \
             is_restored := true; \
             FOR statement IN SELECT state.undo FROM ({STATE}) AS state WHERE what <> ALL ({there}) LOOP \
             BEGIN EXECUTE statement; is_restored := is_restored AND statement LIKE 'UNLISTEN %'; \
             EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; \
             EXIT WHEN is_restored; END LOOP; \
             PERFORM set_config(known.name, known.setting, false) FROM unnest({names}, {values}) AS known (name, setting) \
             JOIN pg_settings AS now ON now.name = known.name WHERE now.setting <> known.setting OR now.source <> 'session'; \
             IF is_moved THEN RESET search_path; \
             IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) {path} THEN \
             PERFORM pg_catalog.set_config('search_path', {path}, false); END IF; END IF; END",
            process = self.process,
            there = array(&mut self.there.iter()),
            names = array(&mut self.settings.iter().map(|(name, _)| name)),
            values = array(&mut self.settings.iter().map(|(_, value)| value)),
        );
        let begin = if self.is_standby { "BEGIN" } else { "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" };
        format!("{begin}; DO {}; COMMIT", literal(&body))
    }
}

impl Session {
    /// Begins a transaction. Behind a pooler, [`Session::commit`] and [`Session::rollback`] restore the state of the session as
    /// it is now, so that nothing stays in the pooler's connection.
    pub fn begin(&mut self) -> Result<(), ConnectError> {
        self.state = None;
        if !self.is_pooled() {
            return self.execute("BEGIN").map(drop);
        }
        self.state = SessionState::begin(self)?;
        Ok(())
    }

    /// Commits the transaction.
    pub fn commit(&mut self) -> Result<(), ConnectError> {
        self.end_transaction("COMMIT")
    }

    /// Rolls the transaction back.
    pub fn rollback(&mut self) -> Result<(), ConnectError> {
        self.end_transaction("ROLLBACK")
    }

    fn end_transaction(&mut self, sql: &str) -> Result<(), ConnectError> {
        match self.state.take() {
            None => self.execute(sql).map(drop),
            Some(state) => {
                let restore = state.restore();
                let ended = self.execute(&format!("{sql}; {restore}"));
                if ended.is_err() && !self.is_lost() {
                    // The server has not executed the rest of the message.
                    let open = if self.is_in_transaction() { "ROLLBACK; " } else { "" };
                    let _ = self.execute(&format!("{open}{restore}"));
                }
                ended.map(drop)
            }
        }
    }

    /// Executes statements of users as one message. Behind a pooler it is a transaction that restores the state of the session,
    /// but not if a statement cannot run in one, such as VACUUM.
    pub fn execute_of_user(&mut self, sql: &str) -> Result<(), ConnectError> {
        if !self.is_pooled() {
            return self.execute(sql).map(drop);
        }
        self.begin()?;
        let Err(error) = self.execute(sql) else { return self.commit() };
        if self.is_lost() {
            return Err(error);
        }
        self.rollback()?;
        match error.sqlstate() == SqlState::from_bytes(IN_TRANSACTION) {
            true => self.execute(sql).map(drop),
            false => Err(error),
        }
    }
}
