//! Determines what this server allows to read: runs each query of the catalogue once and names those that fail. Called
//! by `observer` before the run, so that every query of the run has been tested.

use std::time::Duration;

use connect::quote::literal;
use connect::{ConnectError, Row, Session, Target};
use results::Missing;

use crate::backend_filter::BackendFilter;
use crate::backends::Used;
use crate::catalogue::{self, Asked, Question, V10, V18};
use crate::extension;
use crate::kcache::{self, Kcache};
use crate::memory::MemoryReadings;
use crate::processes;
use crate::profile;
use crate::scripts::Matcher;
use crate::session::ObserverSession;

/// A server that does not answer within this time is not queried again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time for which the run waits for the observer to be ready.
pub(crate) const READINESS_MAX: Duration = Duration::from_secs(10);
/// Application name of the observer, distinct from the clients'.
const NAME: &str = "pgmeter observer";
/// Maximum number of tables with statistics of their own, including partitions.
const TABLES_MAX: usize = 200;
/// Maximum length of a statement's text, enough to identify it.
const STATEMENT_LENGTH_MAX: u32 = 1000;

/// Reason for missing reads of statements.
const READ_BY_WORKERS: &str = "the server's I/O workers read for the backends (io_method = worker), and pg_stat_kcache counts \
                               only the backends' own reads: set io_method to sync or io_uring to divide the blocks of \
                               each statement";

/// A server and the available queries.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) session: ObserverSession,
    pub(crate) version: u32,
    /// The available queries.
    pub(crate) questions: Vec<Question>,
    /// Query for the activity of the benchmark's backends.
    pub(crate) waits: Option<Look>,
    /// pg_stat_kcache, if its counts can be used; its query is among the others.
    pub(crate) kcache: Option<Kcache>,
    /// Schema of pg_wait_sampling, quoted, if its counts can be used.
    pub(crate) profile: Option<String>,
    /// Query for the backends, including whether they are parallel workers.
    pub(crate) backends: String,
    /// Query for the backends without parallel workers.
    pub(crate) clients: String,
    /// Processes that read from the disk in place of backends.
    pub(crate) io_workers: IoWorkers,
    /// Size of a block of the server.
    pub(crate) block_bytes: Option<f64>,
    /// Query for active autovacuum workers on the tables in use.
    pub(crate) vacuums: Option<String>,
    /// PID of the postmaster, if the server is on this host.
    pub(crate) postmaster: Option<u32>,
    /// Memory of backends, if it can be read.
    pub(crate) memory: Option<MemoryReadings>,
    pub(crate) missing: Vec<Missing>,
}

/// Processes that read from the disk in place of backends, from version 18 on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum IoWorkers {
    /// Backends read themselves.
    None,
    /// Query for their PIDs.
    Query(String),
    /// They exist, but this role does not see them.
    Hidden,
}

impl IoWorkers {
    /// Bytes read from the disk by backends and by the I/O workers in the same time; `None` if a part is unknown.
    pub(crate) fn read_bytes(&self, backends: &Used, of_workers: Option<Used>) -> Option<f64> {
        let own = backends.read_bytes?;
        match self {
            IoWorkers::None => Some(own),
            IoWorkers::Query(_) => Some(own + of_workers?.read_bytes?),
            IoWorkers::Hidden => None,
        }
    }
}

/// The most frequent query. It is prepared, since planning takes several times as long as execution.
#[derive(Debug)]
pub(crate) struct Look {
    text: String,
    is_prepared: bool,
}

/// Name of the prepared statement.
const PREPARED: &str = "pgmeter_look";

impl Look {
    /// The rows of one sample.
    pub(crate) fn ask(&mut self, session: &mut ObserverSession) -> Result<Vec<Row>, ConnectError> {
        if !self.is_prepared {
            return session.rows(&self.text);
        }
        let rows = session.rows(&format!("execute {PREPARED}"));
        // A pooler may have switched to another server session, without the prepared statement.
        self.is_prepared = rows.is_ok();
        rows
    }
}

/// Connects and determines the available queries.
pub(crate) fn probe(target: &Target, filter: &BackendFilter, matcher: &Matcher) -> Result<Server, Missing> {
    let failed =
        |error: ConnectError| Missing::new("everything", format!("observing was not possible: {error}"));
    // The run does not wait longer for the observer.
    let connect_timeout = target.connect_timeout.or(Some(READINESS_MAX));
    let target = Target { application_name: Some(NAME.to_owned()), connect_timeout, ..target.clone() };
    let mut session = Session::connect(&target).map_err(failed)?;
    session.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut session = ObserverSession::new(session);
    let identity = "select 'pgmeter', backend_start, pid from pg_stat_activity where pid = pg_backend_pid()";
    let (since, backend) = match session.rows(identity).map_err(failed)?.first() {
        Some(row) if row.get(0) == Some("pgmeter") => {
            (row.get(1).unwrap_or_default().to_owned(), row.get(2).and_then(|pid| pid.parse().ok()))
        }
        _ => return Err(Missing::new("everything", "the server does not answer questions about itself")),
    };
    let version = session.version();
    let condition = filter.condition(&since);
    let mut server = Server {
        version,
        questions: Vec::new(),
        waits: None,
        kcache: None,
        profile: None,
        io_workers: IoWorkers::None,
        block_bytes: None,
        vacuums: None,
        backends: format!("select pid, {} from pg_stat_activity where {condition}", is_worker(version)),
        clients: format!("select pid from pg_stat_activity where {condition} and not {}", is_worker(version)),
        postmaster: None,
        memory: None,
        missing: Vec::new(),
        session,
    };
    let tables = server.tables(matcher);
    server.find_io_workers();
    let statements = server.schema_of_statements();
    server.try_questions(&tables, statements.as_deref());
    server.try_kcache(statements.as_deref());
    server.try_vacuums(&tables);
    server.try_waits(&condition, matcher, backend);
    server.try_profile();
    server.find_postmaster();
    server.note_settings();
    Ok(server)
}

impl Server {
    /// The tables named in the scripts, with their partitions.
    fn tables(&mut self, matcher: &Matcher) -> Vec<u32> {
        let names = matcher.names().iter().map(|name| literal(name)).collect::<Vec<_>>().join(", ");
        if names.is_empty() {
            return Vec::new();
        }
        // The user's search path applies to table names; all other queries use a fixed one.
        let path = self.session.rows_by_users_path("select pg_catalog.current_schemas(false)");
        let path = path.ok().and_then(|rows| rows.first()?.get(0).map(literal));
        let path = path.unwrap_or_else(|| "'{}'".to_owned());
        let sql = format!(
            "with recursive named(oid, relname, relkind, nspname, place) as (\
               select c.oid, c.relname, c.relkind, n.nspname, array_position({path}::name[], n.nspname) \
               from pg_class c join pg_namespace n on n.oid = c.relnamespace \
               where c.relname in ({names}) and n.nspname not in ('pg_catalog', 'information_schema')), \
             visible(oid) as (select distinct on (relname) oid from named where place is not null \
               order by relname, place), \
             used(oid) as (\
               select oid from named where relkind in ('r', 'p', 'm') \
                 and (oid in (select oid from visible) or nspname in ({names})) \
               union select i.inhrelid from used join pg_inherits i on i.inhparent = used.oid) \
             select oid from used order by oid limit {}",
            TABLES_MAX + 1
        );
        let rows = match self.session.rows(&sql) {
            Ok(rows) => rows,
            Err(error) => {
                self.missing.push(Missing::new("tables", format!("they could not be listed: {error}")));
                return Vec::new();
            }
        };
        let mut tables: Vec<u32> =
            rows.iter().filter_map(|row| row.get(0).and_then(|oid| oid.parse().ok())).collect();
        if tables.is_empty() {
            self.missing
                .push(Missing::new(catalogue::TABLES, "no table is known by a name that the scripts use"));
        }
        if tables.len() > TABLES_MAX {
            tables.truncate(TABLES_MAX);
            let why = format!("only {TABLES_MAX} tables and partitions are looked at one by one");
            self.missing.push(Missing::new(catalogue::TABLES, why));
        }
        tables
    }

    /// `schema` is that of pg_stat_statements.
    fn try_questions(&mut self, tables: &[u32], schema: Option<&str>) {
        let io_is_timed = self.session.value("show track_io_timing").as_deref() != Some("off");
        let asked = Asked { tables, schema, io_is_timed };
        for question in catalogue::questions(self.version, &asked) {
            match self.session.rows(&question.sql) {
                Ok(_) => self.questions.push(question),
                Err(error) => self.missing.push(Missing::new(question.view, error.to_string())),
            }
        }
    }

    /// Schema of pg_stat_statements, quoted; the extension must exist in the connected database.
    fn schema_of_statements(&mut self) -> Option<String> {
        let found = self.session.rows(&extension::sql(catalogue::STATEMENTS)).ok()?;
        let why = match found.first().map(|row| extension::schema(catalogue::STATEMENTS, row)) {
            Some(Ok(schema)) => return Some(schema),
            Some(Err(why)) => why,
            None => {
                "the extension is not in this database: load it with shared_preload_libraries and CREATE \
                     EXTENSION pg_stat_statements"
                    .to_owned()
            }
        };
        self.missing.push(Missing::new(catalogue::STATEMENTS, why));
        None
    }

    /// Uses pg_stat_kcache if it is loaded, and exists in the connected database beside pg_stat_statements, which has
    /// the texts of the statements.
    fn try_kcache(&mut self, statements: Option<&str>) {
        let Some(statements) = statements else { return };
        let probes = kcache::probes();
        let Ok(answers) = self.session.sets(&probes.each_ref().map(String::as_str)) else { return };
        let kcache = match Kcache::find(&answers) {
            Ok(Some(kcache)) => kcache,
            Ok(None) => return,
            Err(why) => return self.missing.push(Missing::new(kcache::NAME, why)),
        };
        let reads_itself = self.io_workers == IoWorkers::None;
        let question = kcache.question(statements, reads_itself);
        match self.session.rows(&question.sql) {
            Ok(_) => {
                self.questions.push(question);
                self.kcache = Some(kcache);
                if !reads_itself {
                    self.missing.push(Missing::new("disk reads of statements", READ_BY_WORKERS));
                }
            }
            Err(error) => self.missing.push(Missing::new(kcache::NAME, error.to_string())),
        }
    }

    /// Finds the size of a block, and the processes that read from the disk in place of backends.
    fn find_io_workers(&mut self) {
        self.block_bytes = self.session.value("show block_size").and_then(|bytes| bytes.parse().ok());
        let has_workers =
            self.version >= V18 && self.session.value("show io_method").as_deref() == Some("worker");
        if has_workers {
            let sql = "select pid from pg_stat_activity where backend_type = 'io worker'";
            let is_seen = self.session.rows(sql).is_ok_and(|rows| !rows.is_empty());
            self.io_workers = if is_seen { IoWorkers::Query(sql.to_owned()) } else { IoWorkers::Hidden };
        }
    }

    fn try_vacuums(&mut self, tables: &[u32]) {
        let Some(vacuums) = catalogue::vacuums(self.version, tables) else { return };
        match self.session.rows(&vacuums) {
            Ok(_) => self.vacuums = Some(vacuums),
            Err(error) => self.missing.push(Missing::new("pg_stat_progress_vacuum", error.to_string())),
        }
    }

    fn try_waits(&mut self, condition: &str, matcher: &Matcher, backend: Option<u32>) {
        let waits = waits_sql(self.version, condition, matcher.needs_text());
        match self.session.rows(&waits) {
            Ok(_) => {
                // Behind a pooler, the PID from start-up is not the backend's, and a prepared statement would stay in a
                // shared session.
                let is_direct = backend == Some(self.session.pid());
                let prepare = format!("prepare {PREPARED} as {waits}");
                let is_prepared = is_direct && self.session.sets(&[&prepare]).is_ok();
                self.waits = Some(Look { text: waits, is_prepared });
            }
            Err(error) => self.missing.push(Missing::new("pg_stat_activity", error.to_string())),
        }
    }

    /// Uses pg_wait_sampling if it is loaded, and exists in the connected database.
    fn try_profile(&mut self) {
        let sql = "select current_setting('pg_wait_sampling.profile_pid', true), \
                   exists(select from pg_available_extensions where name = 'pg_wait_sampling')";
        let Ok(sets) = self.session.sets(&[&extension::sql(profile::NAME), sql]) else { return };
        let rows = |set: usize| sets.get(set).and_then(|set| set.rows.first());
        let Some(row) = rows(1) else { return };
        let schema = rows(0).map(|row| extension::schema(profile::NAME, row));
        let why = match (schema, row.get(0), row.get(1)) {
            (None, None, Some("t")) => {
                "the extension is installed but not loaded: add it to shared_preload_libraries, and run CREATE \
                 EXTENSION pg_wait_sampling"
                    .to_owned()
            }
            (None, None, _) => return,
            (None, Some(_), _) => {
                "the extension is loaded but not created in this database: run CREATE EXTENSION pg_wait_sampling".to_owned()
            }
            (Some(_), Some("off"), _) => {
                "pg_wait_sampling.profile_pid is off, so it does not tell backends apart".to_owned()
            }
            (Some(_), ..) if self.version < V10 => {
                "before version 10 servers do not tell a backend that waits for its client from one that runs"
                    .to_owned()
            }
            (Some(Err(why)), ..) => why,
            (Some(Ok(schema)), ..) => match self.session.rows(&profile::sql(&schema, "select pg_backend_pid()")) {
                Ok(_) => {
                    self.profile = Some(schema);
                    return;
                }
                Err(error) => error.to_string(),
            },
        };
        self.missing.push(Missing::new(profile::NAME, why));
    }

    /// Checks whether the server is on this host: a local process has the PID of the session's backend, a server's
    /// name, and the start time of the session.
    fn find_postmaster(&mut self) {
        let here = processes::young_server(self.session.pid());
        match here {
            Some(process) => {
                self.postmaster = Some(process.parent);
                match MemoryReadings::try_on(self.session.pid()) {
                    Ok(memory) => self.memory = Some(memory),
                    Err(why) => self.missing.push(Missing::new("/proc/PID/pagemap", why)),
                }
                if process.usage.read_bytes.is_none() {
                    let why = "bytes read and written by backends are shown to the server's own user and to root only";
                    self.missing.push(Missing::new("/proc/PID/io", why));
                } else if self.io_workers == IoWorkers::Hidden {
                    let why = "the server's I/O workers read for the backends, and this role does not see them: GRANT \
                               pg_monitor to it";
                    self.missing.push(Missing::new("backend_read_bytes", why));
                }
            }
            None => {
                let why = "the server is not on this host, or in a container of its own: CPU time, memory and I/O \
                           of its processes, and how busy its host is, cannot be seen from here";
                self.missing.push(Missing::new("/proc", why));
            }
        }
    }

    /// Names settings and missing privileges that hide data.
    fn note_settings(&mut self) {
        let hidden = [
            (
                "track_activities",
                "off on the server: what backends execute and whether they are idle is unknown",
            ),
            ("track_counts", "off on the server: there are no statistics of tables and of the database"),
            (
                "track_io_timing",
                "off on the server: the time that reads and writes of blocks take is not measured",
            ),
        ];
        for (setting, why) in hidden {
            let is_off = self.session.value(&format!("show {setting}")).as_deref() == Some("off");
            if is_off {
                self.missing.push(Missing::new(setting, why));
            }
        }
        let sees_all = match self.version {
            ..V10 => "select current_setting('is_superuser')",
            _ => "select case when pg_has_role('pg_read_all_stats', 'usage') then 'on' else 'off' end",
        };
        if self.session.value(sees_all).as_deref() == Some("off") {
            let why = "this role sees its own sessions only, so autovacuum and checkpointer at work are not seen; \
                       GRANT pg_monitor to it (9.6: superusers only)";
            self.missing.push(Missing::new("pg_monitor", why));
        }
    }
}

/// Condition for parallel workers in pg_stat_activity; version 9.6 does not show them.
fn is_worker(version: u32) -> &'static str {
    if version < V10 { "false" } else { "(backend_type = 'parallel worker')" }
}

/// Query for wait event type and event, state, number of backends, whether they are parallel workers; with the
/// statement if required.
pub(crate) fn waits_sql(version: u32, condition: &str, with_text: bool) -> String {
    let (text, group) = match with_text {
        true => (format!(", left(query, {STATEMENT_LENGTH_MAX})"), ", 6"),
        false => (String::new(), ""),
    };
    format!(
        "select coalesce(wait_event_type, ''), coalesce(wait_event, ''), coalesce(state, ''), count(*), {}{text} \
         from pg_stat_activity where {condition} group by 1, 2, 3, 5{group}",
        is_worker(version)
    )
}
