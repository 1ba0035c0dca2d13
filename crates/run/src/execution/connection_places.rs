//! Connections that a load needs and that others may hold: those that a server reserves for superusers, and those of a
//! connection pooler that gives each client one until it disconnects. Called by the runner and by comparisons before
//! the load.

use std::collections::BTreeSet;
use std::time::Duration;

use connect::{Session, StatementLimit, Target};
use results::ObserveLevel;

use crate::control::Control;
use crate::error::RunError;
use crate::event::Event;
use crate::execution::observing::Observing;
use crate::plan::runner::Runner;
use crate::spec::surface::Surface;

/// A pooler with a free connection answers in milliseconds.
const POOL_WAIT: Duration = Duration::from_secs(2);
/// Pairs of queries that compare the connections of two sessions.
const SHARING_TRIES: u32 = 20;
/// The number of the server's connections, those of them that are not for every user, and those in use.
const CONNECTIONS: &str = "SELECT current_setting('max_connections'), current_setting('superuser_reserved_connections')::int \
    + coalesce(nullif(current_setting('reserved_connections', true), '')::int, 0), (SELECT count(*) FROM pg_stat_activity";

/// The connections that a pooler gives at the same time.
struct PoolPlaces {
    /// Their number; the search ends with the wanted number.
    found: usize,
    /// Each client keeps its own, as in session pooling.
    are_kept: bool,
}

/// The connections of a server.
struct ServerPlaces {
    most: u64,
    /// Not for every user.
    reserved: u64,
    /// In use, without the session that asks: it ends before the load.
    used: u64,
}

impl ServerPlaces {
    fn of(session: &mut Session) -> Option<Self> {
        let end = if session.server_version_num() < 100_000 {
            ")"
        } else {
            " WHERE backend_type = 'client backend')"
        };
        let rows = session.query_catalogs(&format!("{CONNECTIONS}{end}")).ok()?;
        let number = |at| rows.first()?.get(at)?.parse::<u64>().ok();
        Some(Self { most: number(0)?, reserved: number(1)?, used: number(2)?.saturating_sub(1) })
    }
}

/// Connections of a server that are neither in use nor reserved; `None` if it does not tell.
pub fn free_connections(session: &mut Session) -> Option<u64> {
    let ServerPlaces { most, reserved, used } = ServerPlaces::of(session)?;
    Some(most.saturating_sub(reserved).saturating_sub(used))
}

impl Runner {
    /// Compares the connections of the load with those of the server. A superuser's load can take those that the server
    /// reserves, so that it refuses all others: that is a warning.
    ///
    /// # Errors
    /// The load needs more than the server has.
    pub(crate) fn check_connections(
        &self,
        session: &mut Session,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), RunError> {
        // A pooler, or several servers, have more connections than one server; with a connection for each transaction, the
        // clients need fewer.
        let is_kept = self.pooler.is_none() && self.targets.is_empty() && !self.spec.reconnect;
        let is_alone = is_kept && self.target.hosts.len() == 1 && !session.is_pooled();
        let places = if is_alone { ServerPlaces::of(session) } else { None };
        let Some(ServerPlaces { most, reserved, used }) = places else { return Ok(()) };
        let is_superuser = session.parameter("is_superuser") == Some("on");
        let clients = u64::from(self.spec.clients);
        let is_observed = self.spec.observe != ObserveLevel::Off;
        let of_idle = u64::from(self.spec.population.idle_transactions(self.spec.clients));
        let needed = clients + of_idle + u64::from(is_observed);
        let idle = if of_idle == 0 { String::new() } else { format!(", {of_idle} idle sessions") };
        let observer = if is_observed { " and the observer" } else { "" };
        // The observer can do without.
        if clients + of_idle > most {
            return Err(RunError::Usage(format!(
                "{clients} clients{idle}{observer} need {needed} connections, and max_connections is {most}: use fewer clients \
                 ({}), raise max_connections, or connect through a pooler",
                self.surface.name("clients")
            )));
        }
        if !is_superuser || needed + used + reserved <= most {
            return Ok(());
        }
        events(Event::Warning(&format!(
            "{clients} clients{idle}{observer} need {needed} connections: max_connections is {most}, {used} of them are in use and \
             {reserved} reserved, so this superuser takes reserved ones, and the server refuses all other users meanwhile; use \
             fewer clients or another role"
        )));
        Ok(())
    }

    /// Makes sure that each client of a foreign pooler gets a connection to the server, if need be that of the observer.
    ///
    /// # Errors
    /// The pooler has too few, or the user asked to stop.
    pub(crate) fn check_pool(
        &self,
        observing: &mut Observing,
        control: &Control,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), RunError> {
        let clients = self.spec.clients as usize;
        if self.spec.reconnect || self.targets_in_use() != 1 || !self.targets.is_empty() {
            // Clients wait for a connection in each transaction, or use other servers too.
            return Ok(());
        }
        let mut places = PoolPlaces::find(&self.target, clients, control)?;
        if places.found >= clients {
            return Ok(());
        }
        let why = "no connection of the pooler was left for observing; raise its pool size by 1 or more";
        if observing.give_way(why) {
            events(Event::Warning(why));
            places = PoolPlaces::find(&self.target, clients, control)?;
        }
        let option = self.surface.setting("clients", &[&clients.to_string()]);
        places.check(clients, &format!("{option} needs {clients}"))
    }
}

/// Refuses prepared statements that a pooler would mix up: its connections to the server serve several clients, each of which
/// would find the statements of others, and the statements would stay in connections of applications.
///
/// # Errors
/// The pooler does so, or the user asked to stop.
pub(crate) fn check_prepared_statements(
    session: &mut Session,
    target: &Target,
    surface: Surface,
    control: &Control,
) -> Result<(), RunError> {
    if crate::plan::session_settings::is_null(session) || !session.is_pooled() {
        return Ok(());
    }
    let is_renamed = session.has_prepared_statements_renamed();
    if is_renamed.is_err() && session.is_in_transaction() {
        // Of something that is no PostgreSQL server, nothing is known; a lost connection ends the run with its error.
        let _ = session.execute("ROLLBACK");
    }
    if is_renamed.unwrap_or(true) || !is_shared(session, target, control)? {
        return Ok(());
    }
    let [simple, extended, prepared] =
        ["simple", "extended", "prepared"].map(|name| surface.setting("protocol", &[name]));
    Err(RunError::Usage(format!(
        "the connection to {} goes through a connection pooler that does not keep track of prepared statements: {prepared} \
         would leave its statements in connections that others use. Use {simple} or {extended}, set max_prepared_statements \
         (PgBouncer 1.21 and newer), or connect to the server itself",
        session.address()
    )))
}

/// Whether two sessions are seen to have the same connection to the server in turns.
fn is_shared(session: &mut Session, target: &Target, control: &Control) -> Result<bool, RunError> {
    let target = Target { connect_timeout: Some(POOL_WAIT), ..target.clone() };
    let mut other = match control.connect(&target) {
        Ok(other) => other,
        Err(RunError::Connect(_)) => return Ok(false),
        Err(stopped) => return Err(stopped),
    };
    other.set_statement_limit(StatementLimit::Within(POOL_WAIT));
    for _ in 0..SHARING_TRIES {
        let backend = |session: &mut Session| session.query_catalogs("SELECT pg_backend_pid()");
        // Applications may take a connection in between, so one difference decides nothing.
        let (Ok(one), Ok(two)) = (backend(session), backend(&mut other)) else { return Ok(false) };
        if one.first().and_then(|row| row.get(0)) == two.first().and_then(|row| row.get(0)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes sure that a pooler has connections to the server for work on sessions that last.
///
/// # Errors
/// It has too few, or the user asked to stop.
pub fn check_pool_places(
    session: &mut Session,
    target: &Target,
    wanted: usize,
    work: &str,
    control: &Control,
) -> Result<(), RunError> {
    if !session.is_pooled() {
        return Ok(());
    }
    PoolPlaces::find(target, wanted, control)?.check(wanted, work)
}

impl PoolPlaces {
    /// Connects until the wanted number of sessions have had an answer at the same time, or one waits for it.
    fn find(target: &Target, wanted: usize, control: &Control) -> Result<PoolPlaces, RunError> {
        let target = Target { connect_timeout: Some(POOL_WAIT), ..target.clone() };
        let (mut sessions, mut backends) = (Vec::new(), BTreeSet::new());
        while sessions.len() < wanted {
            let mut session = match control.connect(&target) {
                Ok(session) => session,
                Err(RunError::Connect(_)) => break,
                Err(other) => return Err(other),
            };
            session.set_statement_limit(StatementLimit::Within(POOL_WAIT));
            let Ok(rows) = session.query_catalogs("SELECT pg_backend_pid()") else { break };
            backends.extend(rows.first().and_then(|row| row.get(0)).map(str::to_owned));
            sessions.push(session);
        }
        Ok(PoolPlaces { found: sessions.len(), are_kept: backends.len() == sessions.len() })
    }

    fn check(&self, wanted: usize, work: &str) -> Result<(), RunError> {
        let found = self.found;
        if found >= wanted || !self.are_kept {
            return Ok(());
        }
        let given = match found {
            0 => "no further connection".to_owned(),
            1 => "only 1 further connection".to_owned(),
            found => format!("only {found} further connections"),
        };
        Err(RunError::Usage(format!(
            "the pooler gives {given} to the server, and {work} at the same time; each client keeps its own in session pooling: \
             raise the pool size, use fewer clients, or connect to the server itself"
        )))
    }
}
