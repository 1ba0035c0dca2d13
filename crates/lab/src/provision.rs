//! Prepares a trial's server and data. The servers of an experiment may run at the same time. Each data set is loaded
//! once into a database that never changes, and trials get a copy of it.

use connect::Stopwatch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use connect::quote::identifier;
use connect::{
    ConnectError, Environment, HostOrder, Overrides, Patience, Session, SessionAttributes, Target,
};
use experiment::{
    ALL_STANDBYS, Arrangement, Configuration, DataSpec, LoadedData, NetworkKind, Origin, Preparation,
    Restore, ServerSpec, Subject,
};
use run::{Control, RunError, StorePlaces};
use server::{Locations, Server, ServerOptions};
use workload::{InitOptions, InitProgress};

use crate::alter_system;
use crate::event::{Event, Listener};
use crate::fault_site::ManagedSite;
use crate::files::text_of;
use crate::leftovers;
use crate::relays::{Networks, RunningRelay, resolve};
use crate::running_pooler::RunningPooler;
use crate::schema_change::{SchemaChange, SchemaCost, SchemaSwitch, warn_of_left};
use crate::servers::{self, Programs};
use crate::session_options::{refused_by_server, with_settings};
use crate::standby_set::{Making, StandbySet, is_upstream_over_tcp};

/// How long to wait for a running server that stopped answering, and the interval of attempts.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOKS_APART: Duration = Duration::from_secs(1);

/// Connections in addition to the clients: control sessions, and the user's own.
const CONNECTIONS_BESIDE_CLIENTS: u32 = 20;

/// The servers and data of an experiment.
pub(super) struct Provisioner<'a> {
    subject: Rc<Subject>,
    server_user: Option<String>,
    listener: Listener<'a>,
    control: &'a Control,
    locations: Locations,
    /// Relays are removed before the servers behind them.
    networks: Networks,
    /// By their indexes in the plan.
    servers: BTreeMap<usize, ServerInUse<'a>>,
    /// Servers that are ready or were ready.
    ever_ready: BTreeSet<usize>,
    /// The server of the last trial that may have used it up, and what its actions did.
    last_site: Option<(usize, Arc<ManagedSite>)>,
    /// Prefix of the names of databases, unique to this execution.
    prefix: String,
    /// How long changes of a schema wait for locks.
    patience: Patience,
    /// The store, which notes changes of schemas.
    places: StorePlaces,
}

/// The prepared environment of a trial.
pub(super) struct Ready {
    /// Target of its clients; with a pooler, of all other sessions.
    pub(super) target: Target,
    /// The pooler between clients and server, which has its own target for the clients.
    pub(super) pooler: Option<RunningPooler>,
    /// The network between the clients and the server or its pooler.
    pub(super) relay: Option<Rc<RunningRelay>>,
    /// What its actions can do to the server and the network.
    pub(super) site: Option<Arc<ManagedSite>>,
    /// Its standbys by name, and all of them together; the names are targets of scripts.
    pub(super) standbys: Vec<(String, Target)>,
}

/// A running server.
struct ServerInUse<'a> {
    /// Its standbys, which are removed before it.
    standbys: StandbySet,
    /// `None` for a server that was already running.
    server: Option<Server>,
    /// The schema of its database, if that is used in place.
    schema: Option<SchemaSwitch<'a>>,
    /// On such a server, a session that has our databases' prefix as its name and marks them as being in use. In place, it
    /// has the lock of the database, also during the last undo.
    _witness: Option<Session>,
    /// Target of its administrative database.
    target: Target,
    data: LoadedData,
    /// Settings that it took for the trial.
    applied: BTreeMap<String, String>,
    /// Databases that pgmeter created.
    databases: BTreeSet<String>,
    /// Copies of all files, by the index of the data set, with the databases that they contain.
    copies: BTreeMap<usize, (BTreeSet<usize>, BTreeSet<String>)>,
}

impl<'a> Provisioner<'a> {
    pub(super) fn new(
        subject: Rc<Subject>,
        server_user: Option<String>,
        prefix: String,
        patience: Patience,
        places: StorePlaces,
        listener: Listener<'a>,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let locations = Locations::from_environment(&server::Environment::of_process())?;
        servers::sweep(&locations, listener);
        let networks = Networks::new(subject.experiment.design.seed);
        let (servers, ever_ready) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self {
            subject,
            server_user,
            listener,
            control,
            locations,
            networks,
            servers,
            ever_ready,
            last_site: None,
            prefix,
            patience,
            places,
        })
    }

    /// Prepares everything for a trial of this cell. An embedded server that failed is replaced, and a running server
    /// is waited for, so that only the trial that it interrupted is lost.
    pub(super) fn ready(&mut self, cell: usize) -> Result<Ready, RunError> {
        let server = self.subject.plan.data[self.subject.plan.data_of[cell]].0;
        self.remove_spent();
        let was_there = self.ever_ready.contains(&server);
        let ready = match self.make_ready(cell) {
            Err(RunError::Connect(error @ (ConnectError::Failed { .. } | ConnectError::Lost(_))))
                if was_there && self.control.check().is_ok() =>
            {
                self.listener.warn(format_args!("the server of this trial is no longer reachable: {error}"));
                let subject = Rc::clone(&self.subject);
                if let Some(dsn) = subject.plan.cells[cell].configuration.server.origin.dsn() {
                    self.wait_for(dsn)?;
                }
                self.make_ready(cell)
            }
            other => other,
        }?;
        self.ever_ready.insert(server);
        Ok(ready)
    }

    /// Removes the server of the last trial, if its actions made it useless for others.
    fn remove_spent(&mut self) {
        if let Some((server, site)) = self.last_site.take()
            && site.is_spent()
        {
            self.networks.forget(server);
            self.servers.remove(&server);
        }
    }

    /// Waits until the server answers again.
    fn wait_for(&self, dsn: &str) -> Result<(), RunError> {
        let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
        let stopwatch = Stopwatch::start();
        loop {
            self.control.check()?;
            match self.control.connect(&target) {
                Ok(_) => return Ok(()),
                Err(failure) if failure.is_interruption() => return Err(failure),
                Err(error) if stopwatch.passed() > PATIENCE => {
                    return Err(RunError::Unfinished(format!(
                        "{error}; this lasted a minute, so the remaining trials were not run: continue with \
                         pgmeter lab resume"
                    )));
                }
                Err(_) => thread::sleep(LOOKS_APART),
            }
        }
    }

    fn make_ready(&mut self, cell: usize) -> Result<Ready, RunError> {
        let subject = Rc::clone(&self.subject);
        let plan = &subject.plan;
        let wanted = &plan.cells[cell].configuration;
        let number = plan.data_of[cell];
        let server = plan.data[number].0;
        if !self.servers.contains_key(&server) {
            if matches!(plan.arrangement, Arrangement::OneAtATime { .. }) {
                self.remove_all();
            }
            let in_use = self.start(&wanted.server)?;
            self.servers.insert(server, in_use);
        }
        let result = self.apply(server, wanted).and_then(|()| self.prepare(server, number, wanted));
        if result.is_err() {
            // The next trial replaces whatever is broken.
            self.networks.forget(server);
            self.servers.remove(&server);
        }
        result
    }

    /// Directory with space for another server in addition to the existing ones.
    fn remove_all(&mut self) {
        for (server, in_use) in std::mem::take(&mut self.servers) {
            self.networks.forget(server);
            drop(in_use);
        }
    }

    /// Changes the schema of a database in place to that of this cell, whose server is in use.
    pub(super) fn switch_schema(&mut self, cell: usize) -> Result<(), RunError> {
        let wanted = SchemaChange::of(&self.subject.plan.cells[cell].configuration)?;
        let schemas = self.servers.values_mut().filter_map(|in_use| in_use.schema.as_mut());
        schemas.into_iter().try_for_each(|schema| schema.switch_to(wanted.clone(), self.control))
    }

    /// Undoes the change of the schema of a database in place.
    pub(super) fn restore_schema(&mut self) -> Result<(), RunError> {
        let schemas = self.servers.values_mut().filter_map(|in_use| in_use.schema.as_mut());
        schemas.into_iter().try_for_each(|schema| schema.restore())
    }

    /// What these changes have cost so far.
    pub(super) fn cost_of_schema(&self) -> SchemaCost {
        let mut schemas = self.servers.values().filter_map(|in_use| in_use.schema.as_ref());
        schemas.next().map(SchemaSwitch::cost).unwrap_or_default()
    }

    fn start(&self, wanted: &ServerSpec) -> Result<ServerInUse<'a>, RunError> {
        let (version, bin_dir) = match &wanted.origin {
            Origin::Version(version) => (version.as_str(), None),
            Origin::Programs(directory) => ("", Some(directory.as_path())),
            Origin::Running(dsn) => return self.running(dsn, wanted.in_place),
        };
        let programs = Programs { version, bin_dir, checksum: None };
        let obtain = || servers::obtain(programs, &self.locations, self.listener);
        // If servers exist already, they must be stopped before the program exits.
        let installation =
            if self.servers.is_empty() { self.control.leave_at_once(obtain)? } else { obtain() }?;
        let options = ServerOptions {
            name: None,
            settings: self.settings(wanted),
            server_user: self.server_user.clone(),
            keep: false,
            instrumentation: servers::instrumentation(!wanted.instrumentation),
            tablespaces: tablespaces(wanted),
            tcp: self.cells_of(wanted).any(|cell| cell.network.kind == NetworkKind::Tcp)
                || is_upstream_over_tcp(wanted, None),
            stop: Some(self.control.shared_stop()),
            tls: self.cells_of(wanted).any(|cell| cell.network.kind == NetworkKind::Tls),
            replication: !wanted.standbys.is_empty(),
        };
        let _busy = self.listener.busy(format!("starting PostgreSQL {} …", installation.version));
        let server = Server::start(&installation, &options, &self.locations)?;
        self.control.check()?;
        servers::warn_without_statements(&server, !wanted.instrumentation, self.listener);
        let target = resolve(&server.conninfo())?;
        Ok(ServerInUse::new(Some(server), None, target))
    }

    /// A server that was already running and is left running.
    fn running(&self, dsn: &str, in_place: bool) -> Result<ServerInUse<'a>, RunError> {
        let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
        if in_place {
            let mut session = self.control.connect(&target)?;
            self.listener.say(format_args!("in place: {}", session.place()));
            let schema = SchemaSwitch::new(target.clone(), self.patience, self.places.clone(), self.listener);
            run::use_alone(&mut session)?;
            warn_of_left(&mut session, &self.places, self.listener)?;
            let mut in_use = ServerInUse::new(None, Some(session), target);
            in_use.schema = Some(schema);
            return Ok(in_use);
        }
        let session = self.control.connect(&self.named(&target))?;
        Ok(ServerInUse::new(None, Some(session), target))
    }

    /// A target whose sessions have the prefix as their name. If this process is killed, its unfinished databases are found
    /// and removed by this name.
    fn named(&self, target: &Target) -> Target {
        Target { application_name: Some(self.prefix.clone()), ..target.clone() }
    }

    /// All cells measured on a server.
    fn cells_of<'b>(&'b self, wanted: &'b ServerSpec) -> impl Iterator<Item = &'b Configuration> {
        let cells = self.subject.plan.cells.iter().map(|cell| &cell.configuration);
        cells.filter(move |cell| cell.server == *wanted)
    }

    /// The experiment's settings, and connections for the largest number of clients.
    fn settings(&self, wanted: &ServerSpec) -> Vec<(String, String)> {
        let connections = |cell: &Configuration| {
            let actions = u32::try_from(cell.load.actions.len()).unwrap_or(u32::MAX);
            cell.load.connections_max().saturating_add(actions)
        };
        let clients = self.cells_of(wanted).map(connections).max().unwrap_or(1);
        let connections = clients.saturating_add(CONNECTIONS_BESIDE_CLIENTS).max(100);
        let room = ("max_connections".to_owned(), connections.to_string());
        std::iter::once(room).chain(wanted.settings.clone()).collect()
    }

    /// Has the server and its standbys take the settings of a cell, with a restart if they take one of them only at their
    /// start; the standbys are then made anew.
    fn apply(&mut self, server: usize, wanted: &Configuration) -> Result<(), RunError> {
        let in_use = self.servers.get_mut(&server).ok_or_else(|| internal("server in use"))?;
        let ServerInUse { server: ours, standbys, target, applied, .. } = in_use;
        let Some(ours) = ours.as_mut().filter(|_| *applied != wanted.applied) else {
            return Ok(());
        };
        let mut session = self.control.connect(target)?;
        let restarts = alter_system::apply(&mut session, applied, &wanted.applied, self.control)?;
        drop(session);
        if restarts || standbys.apply(applied, &wanted.applied, &wanted.server, self.control)? {
            // A standby does not replay WAL of a primary whose limits are larger than its own.
            standbys.remove(ours)?;
            self.networks.forget(server);
        }
        if restarts {
            let _busy = self.listener.busy("restarting the server …");
            ours.restart()?;
            *target = resolve(&ours.conninfo())?;
        }
        applied.clone_from(&wanted.applied);
        self.control.check()
    }

    /// Loads the data if they are missing, and creates the trial's copy.
    fn prepare(&mut self, server: usize, data: usize, wanted: &Configuration) -> Result<Ready, RunError> {
        let in_use = self.servers.get_mut(&server).ok_or_else(|| internal("server in use"))?;
        if !wanted.session.is_empty() {
            check_session_settings(&in_use.target, wanted, self.control)?;
        }
        if let Some(schema) = &mut in_use.schema {
            schema.switch_to(SchemaChange::of(wanted)?, self.control)?;
        }
        let Preparation { loads, copies, .. } = in_use.data.next(data, wanted);
        let trial_database = leftovers::trial_database(&self.prefix);
        let spec = &wanted.data;
        let control = self.control;
        let load = |target: &Target| load(target, spec, self.listener, control);
        if spec.restore == Restore::Files && copies {
            let old_target = in_use.target.clone();
            in_use.restore_files(data, &trial_database, load, self.listener, control)?;
            // Standbys are made anew, at other addresses.
            if in_use.target != old_target || !wanted.server.standbys.is_empty() {
                self.networks.forget(server);
            }
        }
        let trial_database =
            if wanted.server.in_place { in_use.target.database.clone() } else { trial_database };
        let named = Target { application_name: Some(self.prefix.clone()), ..in_use.target.clone() };
        let mut session = control.connect(&named)?;
        match spec.restore {
            Restore::Template if !wanted.server.in_place => {
                let kept = leftovers::data_database(&self.prefix, data);
                if loads {
                    in_use.make_database(&mut session, &kept, "", control)?;
                    load(&in_database(&in_use.target, &kept))?;
                }
                if copies {
                    let is_fast = session.server_version_num() >= 150_000;
                    let fast = if is_fast { " STRATEGY = file_copy" } else { "" };
                    let how = format!(" TEMPLATE {}{fast}", identifier(&kept));
                    in_use.make_database(&mut session, &trial_database, &how, control)?;
                }
            }
            Restore::Reload | Restore::Never if loads => {
                in_use.make_database(&mut session, &trial_database, "", control)?;
                load(&in_database(&in_use.target, &trial_database))?;
            }
            Restore::Template | Restore::Reload | Restore::Never | Restore::Files => {}
        }
        if spec.checkpoint {
            control.guard(&mut session, |session| session.patiently(|it| it.execute("CHECKPOINT")))?;
        }
        drop(session);
        if let Some(setup) = &wanted.setup {
            execute_file(&in_database(&in_use.target, &trial_database), setup, control)?;
        }
        let making = Making {
            locations: &self.locations,
            listener: self.listener,
            control,
            seed: self.subject.experiment.design.seed,
        };
        in_use.keep_standbys(&wanted.server, &making)?;
        self.reach(server, wanted, &trial_database)
    }

    /// Connects the networks and the pooler of a trial to its servers.
    fn reach(&mut self, server: usize, wanted: &Configuration, database: &str) -> Result<Ready, RunError> {
        let in_use = self.servers.get(&server).ok_or_else(|| internal("server in use"))?;
        let ServerInUse { server: ours, target: direct, standbys, .. } = in_use;
        let of_trial = wanted.network_of_trial();
        let pooler = match ours {
            Some(ours) => RunningPooler::start(ours, wanted, database, self.control)?,
            None => None,
        };
        let mut network = |number, ours: Option<&Server>, direct: &Target| {
            let place = (server, number);
            // Faults of the network are those between the clients and the primary.
            let network = if number == 0 { &of_trial } else { &wanted.network };
            let (target, relay) = self.networks.target(place, ours, direct, network, self.listener)?;
            let target = with_settings(in_database(&target, database), &wanted.session);
            Ok::<_, RunError>((target, relay))
        };
        let mut targets = Vec::new();
        for (number, (name, standby)) in standbys.servers().enumerate() {
            let (target, _) = network(number + 1, Some(standby), &resolve(&standby.conninfo())?)?;
            targets.push((name.to_owned(), target));
        }
        let (mut target, relay, pooler) = match pooler {
            Some(mut pooler) => {
                let relay = self.networks.before_pooler(&mut pooler.in_use.clients, &of_trial)?;
                (in_database(direct, database), relay, Some(pooler))
            }
            None => {
                let (target, relay) = network(0, ours.as_ref(), direct)?;
                (target, relay, None)
            }
        };
        if wanted.promotes() {
            // Clients that connect again find the new primary.
            target.hosts.extend(targets.iter().flat_map(|(_, standby)| standby.hosts.clone()));
            target.session_attributes = SessionAttributes::ReadWrite;
        }
        targets.extend(all_standbys(&targets, wanted.load_balance));
        let handle = ours.as_ref().filter(|_| wanted.faults().next().is_some()).map(Server::handle);
        let site = handle.map(|handle| {
            let pipes = relay.as_ref().map(|relay| relay.pipes());
            let standbys =
                standbys.servers().map(|(name, standby)| (name.to_owned(), standby.handle())).collect();
            Arc::new(ManagedSite::new(handle, standbys, pipes, database))
        });
        self.last_site = site.clone().map(|site| (server, site));
        Ok(Ready { target, pooler, relay, standbys: targets, site })
    }
}

impl ServerInUse<'_> {
    fn new(server: Option<Server>, witness: Option<Session>, target: Target) -> Self {
        let (data, databases, copies) = (LoadedData::default(), BTreeSet::new(), BTreeMap::new());
        let applied = BTreeMap::new();
        let standbys = StandbySet::default();
        Self { standbys, server, _witness: witness, schema: None, target, data, applied, databases, copies }
    }

    /// Creates missing standbys, and waits until all have replayed the data of the trial.
    fn keep_standbys(&mut self, wanted: &ServerSpec, making: &Making<'_>) -> Result<(), RunError> {
        let Some(primary) = self.server.as_mut().filter(|_| !wanted.standbys.is_empty()) else {
            return Ok(());
        };
        if self.standbys.is_empty() {
            self.standbys = StandbySet::make(primary, wanted, making)?;
        }
        let _busy = making.listener.busy("waiting for the standbys …");
        self.standbys.await_replay(primary, making.control)
    }

    /// Restores all files of the server to the state after loading: loads them the first time, and copies them.
    fn restore_files(
        &mut self,
        data: usize,
        trial_database: &str,
        load: impl FnOnce(&Target) -> Result<(), RunError>,
        listener: Listener<'_>,
        control: &Control,
    ) -> Result<(), RunError> {
        let copied = self.copies.get(&data).cloned();
        if copied.is_none() {
            self.make_database(&mut control.connect(&self.target)?, trial_database, "", control)?;
            load(&in_database(&self.target, trial_database))?;
        }
        let server = self.server.as_mut().ok_or_else(|| internal("server whose files can be copied"))?;
        // Their WAL would not fit the restored files.
        self.standbys.remove(server)?;
        let _busy = listener.busy(if copied.is_some() {
            "restoring the server's files …"
        } else {
            "copying the server's files …"
        });
        if let Some((loaded, databases)) = copied {
            server.restore_copy(data)?;
            (self.data.loaded, self.databases) = (loaded, databases);
        } else {
            server.keep_copy(data)?;
            self.copies.insert(data, (self.data.loaded.clone(), self.databases.clone()));
        }
        self.target = resolve(&server.conninfo())?;
        control.check()
    }

    /// Creates a database, replacing an existing one. The name is unique to this execution, so an existing one was
    /// created before the server failed.
    fn make_database(
        &mut self,
        session: &mut Session,
        name: &str,
        how: &str,
        control: &Control,
    ) -> Result<(), RunError> {
        let made = control.guard(session, |session| {
            leftovers::drop_database(session, name)?;
            let sql = leftovers::create_statement(name, how);
            session.patiently(|session| session.execute(&sql))?;
            Ok(())
        });
        control.check()?;
        self.databases.insert(name.to_owned());
        made
    }
}

impl Drop for ServerInUse<'_> {
    /// Removes our databases from a running server; an embedded server is removed completely.
    fn drop(&mut self) {
        if self.server.is_some() || self.schema.is_some() {
            return;
        }
        // A database that cannot be dropped now is found again by its name, at the end of the execution or when the
        // next comparison starts.
        let _ = leftovers::removing(|| {
            let mut session = Session::connect(&leftovers::for_removal(&self.target))?;
            let drop = |name: &String| leftovers::drop_database(&mut session, name);
            self.databases.iter().map(drop).fold(Ok(()), Result::and)
        });
    }
}

/// Whether sessions can set the settings of this configuration, and have them; the first refusal is the error.
fn check_session_settings(
    target: &Target,
    wanted: &Configuration,
    control: &Control,
) -> Result<(), RunError> {
    let mut session = control.connect(target)?;
    let refused = refused_by_server(&mut session, wanted.session.keys())?;
    if let Some(why) = refused.into_iter().next() {
        return Err(RunError::Usage(why));
    }
    let target = with_settings(target.clone(), &wanted.session);
    run::settings_in_force(&mut control.connect(&target)?, &target).map(drop)
}

fn internal(what: &str) -> RunError {
    RunError::Usage(format!("the plan has no {what}"))
}

/// Settings in the form of the server's command line.
fn tablespaces(wanted: &ServerSpec) -> Vec<(String, Option<PathBuf>)> {
    let place = |directory: &String| (!directory.is_empty()).then(|| PathBuf::from(directory));
    wanted.tablespaces.iter().map(|(name, directory)| (name.clone(), place(directory))).collect()
}

/// The target of all standbys: each connection selects one, at random unless the experiment says otherwise.
fn all_standbys(standbys: &[(String, Target)], load_balance: Option<bool>) -> Option<(String, Target)> {
    let (_, first) = standbys.first()?;
    let hosts = standbys.iter().flat_map(|(_, target)| target.hosts.iter().cloned()).collect();
    let host_order = match load_balance {
        Some(false) => HostOrder::Given,
        None | Some(true) => HostOrder::Random,
    };
    Some((ALL_STANDBYS.to_owned(), Target { hosts, host_order, ..first.clone() }))
}

fn in_database(target: &Target, database: &str) -> Target {
    Target { database: database.to_owned(), ..target.clone() }
}

fn load(target: &Target, spec: &DataSpec, listener: Listener<'_>, control: &Control) -> Result<(), RunError> {
    if let Some(name) = &spec.workload {
        let workload = name.open()?;
        let mut session = control.connect(target)?;
        let options = InitOptions { jobs: run::loading_sessions(), ..spec.init_options()? };
        let mut told = |progress: InitProgress<'_>| listener.tell(Event::Load(progress));
        let report = run::load(&*workload, target, &mut session, &options, control, &mut told)?;
        listener.tell(Event::Loaded(&options, &report));
        control.check()?;
    }
    match &spec.setup {
        Some(setup) => execute_file(target, setup, control),
        None => Ok(()),
    }
}

/// Executes the statements of a file in one transaction.
fn execute_file(target: &Target, path: &Path, control: &Control) -> Result<(), RunError> {
    let sql = text_of(path)?;
    let mut session = control.connect(target)?;
    let done =
        control.guard(&mut session, |session| session.patiently(|session| session.execute_of_user(&sql)));
    control.check()?;
    done.map_err(|error| RunError::Usage(format!("{}: {error}", path.display())))
}
