//! The running standbys of one server, with their relays. `provision` makes them when the data of the first trial are
//! loaded, waits before each trial until they have replayed everything, and makes them again when the primary's files
//! were replaced or a trial needs settings that servers take only at their start.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use connect::Stopwatch;
use connect::quote::literal;
use experiment::{ServerSpec, Settings, StandbySpec};
use run::{Control, RunError};
use server::{Locations, Server, StandbyOptions, Version, synchronous_standby_names};

use crate::alter_system;
use crate::event::Listener;
use crate::relays::{RunningRelay, resolve};

/// Time limit of a standby's start, and of its replay before a trial: a new copy of the data may be large.
const ATTACH_LIMIT: Duration = Duration::from_secs(120);
const REPLAY_LIMIT: Duration = Duration::from_secs(600);
const LOOKS_APART: Duration = Duration::from_millis(20);

/// The standbys of one server; dropping it removes them.
#[derive(Default)]
pub(super) struct StandbySet {
    /// A standby before those that follow it: the last one is removed first.
    servers: Vec<Server>,
    _relays: Vec<Rc<RunningRelay>>,
}

impl Drop for StandbySet {
    fn drop(&mut self) {
        while let Some(last) = self.servers.pop() {
            drop(last);
        }
    }
}

/// Inputs for making standbys.
pub(super) struct Making<'a> {
    pub(super) locations: &'a Locations,
    pub(super) listener: Listener<'a>,
    pub(super) control: &'a Control,
    /// Seed of the networks' jitter.
    pub(super) seed: u64,
}

impl StandbySet {
    /// Makes the standbys of a running primary, and then has commits wait for the synchronous ones: a commit before
    /// would wait forever.
    pub(super) fn make(
        primary: &mut Server,
        wanted: &ServerSpec,
        making: &Making<'_>,
    ) -> Result<StandbySet, RunError> {
        let mut set = StandbySet::default();
        for spec in &wanted.standbys {
            let _busy = making.listener.busy(format!("making the standby {} …", spec.name));
            set.add(primary, wanted, spec, making)?;
            making.control.check()?;
            making.listener.say(format_args!("standby {}: {}", spec.name, wanted.network_of(spec)));
        }
        if let Some(synchronous) = wanted.synchronous() {
            let names = wanted.synchronous_names();
            let version = Version::parse(primary.version()).ok_or_else(|| {
                RunError::Usage(format!("the primary has the unknown version {}", primary.version()))
            })?;
            let major = version.major();
            let value = synchronous_standby_names(synchronous.method, synchronous.number, &names, major)?;
            primary.change_settings(&[(SYNCHRONOUS.to_owned(), value)])?;
            await_synchronous(primary, synchronous.number, making.control)?;
        }
        Ok(set)
    }

    fn add(
        &mut self,
        primary: &Server,
        wanted: &ServerSpec,
        spec: &StandbySpec,
        making: &Making<'_>,
    ) -> Result<(), RunError> {
        let network = wanted.network_of(spec).network();
        let at = spec.upstream.as_ref().and_then(|name| self.find(name));
        let upstream = at.map_or(primary, |at| &self.servers[at]);
        let mut address = None;
        if network.needs_relay() {
            let relay = Rc::new(RunningRelay::before_port(upstream.port(), &network, making.seed)?);
            address =
                Some(relay.tcp_address().ok_or_else(|| {
                    RunError::Usage("the relay of a standby has no TCP address".to_owned())
                })?);
            self._relays.push(relay);
        }
        let options = StandbyOptions {
            upstream: at.map(|at| &self.servers[at]),
            address,
            settings: spec.settings.clone(),
            tcp: is_upstream_over_tcp(wanted, Some(&spec.name)),
            limit: ATTACH_LIMIT,
            stop: Some(making.control.shared_stop()),
            ..StandbyOptions::new(&spec.name)
        };
        let made = primary.standby(&options, making.locations)?;
        self.servers.push(made);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.standby_name() == Some(name))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The standbys, in the order of the file.
    pub(super) fn servers(&self) -> impl Iterator<Item = (&str, &Server)> {
        self.servers.iter().filter_map(|server| Some((server.standby_name()?, server)))
    }

    /// Has the standbys read these settings instead of those applied before, except those that they have values of their
    /// own of. Returns whether they must be made anew, because one of them takes a setting only at its start.
    pub(super) fn apply(
        &self,
        applied: &Settings,
        settings: &Settings,
        wanted: &ServerSpec,
        control: &Control,
    ) -> Result<bool, RunError> {
        let mut are_anew = false;
        for (name, server) in self.servers() {
            let spec = wanted.standbys.iter().find(|spec| spec.name == name);
            let own: Vec<&str> =
                spec.into_iter().flat_map(|spec| &spec.settings).map(|(name, _)| name.as_str()).collect();
            let without_own = |settings: &Settings| -> Settings {
                let is_own = |name: &str| own.iter().any(|own| own.eq_ignore_ascii_case(name));
                let others = settings.iter().filter(|(name, _)| !is_own(name));
                others.map(|(name, value)| (name.clone(), value.clone())).collect()
            };
            let mut session = control.connect(&resolve(&server.conninfo())?)?;
            are_anew |=
                alter_system::apply(&mut session, &without_own(applied), &without_own(settings), control)?;
        }
        Ok(are_anew)
    }

    /// Removes all standbys, so that the primary's files can be replaced.
    pub(super) fn remove(&mut self, primary: &mut Server) -> Result<(), RunError> {
        if self.is_empty() {
            return Ok(());
        }
        primary.change_settings(&[(SYNCHRONOUS.to_owned(), String::new())])?;
        while let Some(last) = self.servers.pop() {
            let name = last.standby_name().unwrap_or_default().to_owned();
            drop(last);
            // A slot of a standby that is removed too goes with it.
            primary.drop_standby(&name)?;
        }
        self._relays.clear();
        Ok(())
    }

    /// Waits until each standby has replayed everything that the primary has written so far.
    pub(super) fn await_replay(&self, primary: &Server, control: &Control) -> Result<(), RunError> {
        if self.is_empty() {
            return Ok(());
        }
        let mut session = control.connect(&resolve(&primary.conninfo())?)?;
        let is_new = session.server_version_num() >= RENAMED_SINCE;
        let written = if is_new { "pg_current_wal_lsn()" } else { "pg_current_xlog_location()" };
        let rows = session.query_catalogs(&format!("SELECT {written}"))?;
        let position = rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned();
        let replayed = if is_new { "pg_last_wal_replay_lsn()" } else { "pg_last_xlog_replay_location()" };
        let asked = format!("SELECT {replayed} >= {}::pg_lsn", literal(&position));
        for (name, server) in self.servers() {
            let stopwatch = Stopwatch::start();
            let mut session = control.connect(&resolve(&server.conninfo())?)?;
            while session.query_catalogs(&asked)?.first().and_then(|row| row.get(0)) != Some("t") {
                control.check()?;
                if stopwatch.passed() > REPLAY_LIMIT {
                    return Err(RunError::Usage(format!(
                        "the standby {name} did not replay the data of the trial within {} s: give it a faster network, \
                         or load less",
                        REPLAY_LIMIT.as_secs()
                    )));
                }
                thread::sleep(LOOKS_APART);
            }
        }
        Ok(())
    }
}

const SYNCHRONOUS: &str = "synchronous_standby_names";
/// The version that renamed "xlog" to "wal" in functions.
const RENAMED_SINCE: u32 = 100_000;

/// Whether a standby reaches this server (the primary, or a standby by name) through a relay.
pub(super) fn is_upstream_over_tcp(wanted: &ServerSpec, name: Option<&str>) -> bool {
    let mut followers = wanted.standbys.iter().filter(|it| it.upstream.as_deref() == name);
    followers.any(|it| wanted.network_of(it).network().needs_relay())
}

/// The primary's processes read their settings one after the other.
fn await_synchronous(primary: &Server, number: usize, control: &Control) -> Result<(), RunError> {
    let mut session = control.connect(&resolve(&primary.conninfo())?)?;
    let asked = format!(
        "SELECT count(*) >= {number} FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
    );
    let stopwatch = Stopwatch::start();
    while session.query_catalogs(&asked)?.first().and_then(|row| row.get(0)) != Some("t") {
        control.check()?;
        if stopwatch.passed() > ATTACH_LIMIT {
            return Err(RunError::Usage(format!(
                "{number} synchronous standbys were not attached within {} s; the log of the primary says why",
                ATTACH_LIMIT.as_secs()
            )));
        }
        thread::sleep(LOOKS_APART);
    }
    Ok(())
}
