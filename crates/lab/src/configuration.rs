//! The configuration of one trial: a server, its data, a network, and a load. Defaults are here, keys in `keys`.
//! Plain data without behaviour.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use config::Place;
use engine::Limit;
use queries::QuerySetSpec;
use results::{Fault, FaultKind};
use run::RunSpec;
use stats::{Protocol, Scale};
use workload::{InitOptions, Logging, PartitionMethod, Partitioning, WorkloadError, WorkloadName};

use crate::matrix::START;
use crate::pooler::{self, PoolerSpec};
use crate::relative::Relative;
use crate::session_settings;
use crate::standbys::{StandbyNetwork, StandbySpec, Synchronous};
use crate::steps::{Step, StepSql};

/// Places of keys in the file, for errors. They do not make configurations different.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<&'static str, Place>);

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

impl Places {
    pub(crate) fn insert(&mut self, key: &'static str, place: Place) {
        self.0.insert(key, place);
    }

    /// That of a key, otherwise the beginning of the file.
    pub(crate) fn of(&self, key: &str) -> Place {
        self.0.get(key).copied().unwrap_or(START)
    }
}

/// The complete configuration of a combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The server under test.
    pub server: ServerSpec,
    /// Its data.
    pub data: DataSpec,
    /// Its network.
    pub network: Network,
    /// The pooler between its clients and the server.
    pub pooler: PoolerSpec,
    /// The load; scale and vacuum are those of the data, the seed is the trial's.
    pub load: RunSpec,
    /// Whether all scripts are known to leave the data unchanged; determined when the workload is read.
    pub scripts_only_read: bool,
    /// SQL to run before the trial, for example to create functions.
    pub setup: Option<PathBuf>,
    /// User operations in one transaction of the script, for example 1,000 for a batch of 1,000 rows.
    pub operations: u32,
    /// Hosts for clients instead of those of the `dsn`, each with an optional port; empty: those of the `dsn`.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Whether each connection selects a random host; `None`: the setting of the `dsn`.
    pub load_balance: Option<bool>,
    /// Whether a probe measures the staleness of standbys during a trial.
    pub staleness: bool,
    /// Address of the OpenMetrics endpoint during a trial, as `HOST:PORT`.
    pub metrics: Option<String>,
    /// Timed steps in order; empty: a trial of load or of queries.
    pub steps: Vec<Step>,
    /// The workload that a step loads; the data of the trial are then an empty database.
    pub loaded_by_step: Option<WorkloadName>,
    /// The pass over the queries of the workload that is a trial; `None`: a trial of load or of steps.
    pub queries: Option<QuerySetSpec>,
    /// Number of queries of the pass; determined when the workload is read.
    pub query_count: usize,
    /// Places in the file of the workload and of the keys of `[queries]`.
    pub places: Places,
    /// Change of the schema of the database in place, such as an index.
    pub ddl: Option<StepSql>,
    /// Its undo; `None`: derived.
    pub ddl_undo: Option<StepSql>,
    /// Whether the user allows changes of the schema.
    pub allow_ddl: bool,
    /// Settings that each connection sets for itself, taken from those of the server when the experiment is planned.
    pub session: BTreeMap<String, String>,
    /// Settings of an embedded server that are applied before each trial, taken from those of the server when a screening
    /// is planned.
    pub applied: BTreeMap<String, String>,
    /// Values relative to the server's host, by key; in a plan's cell the field of the key contains the number.
    pub relative: BTreeMap<&'static str, Relative>,
}

/// The default load of a trial: 30 s after a warm-up; the first aborted client ends the trial.
pub fn default_load() -> RunSpec {
    RunSpec {
        limit: Limit::Duration(Duration::from_secs(30)),
        warmup: Duration::from_secs(5),
        exit_on_abort: true,
        ..RunSpec::default()
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            server: ServerSpec::default(),
            data: DataSpec::default(),
            network: Network::default(),
            pooler: PoolerSpec::default(),
            load: default_load(),
            scripts_only_read: false,
            setup: None,
            operations: 1,
            hosts: Vec::new(),
            load_balance: None,
            staleness: false,
            metrics: None,
            steps: Vec::new(),
            queries: None,
            query_count: 0,
            loaded_by_step: None,
            places: Places::default(),
            ddl: None,
            ddl_undo: None,
            allow_ddl: false,
            session: BTreeMap::new(),
            applied: BTreeMap::new(),
            relative: BTreeMap::new(),
        }
    }
}

impl Configuration {
    /// The faults among the actions of the load.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &FaultKind> {
        self.load.actions.iter().filter_map(|action| Some(&action.fault()?.kind))
    }

    /// The network of a trial, which has a relay if an action needs it.
    pub(crate) fn network_of_trial(&self) -> Network {
        Network { has_faults: self.faults().any(FaultKind::is_of_network), ..self.network.clone() }
    }

    /// Why a fault among the actions is impossible.
    fn impossible_action(&self) -> Option<String> {
        let first = self.faults().next()?;
        if self.server.origin.dsn().is_some() {
            return Some(format!(
                "the action {} requires an embedded server: set version in [server] instead of dsn; on a server that \
                 pgmeter did not start, only sql is possible",
                first.name()
            ));
        }
        if self.load.verify && self.has_two_primaries() {
            return Some(
                "with verify, clients must not write to two primaries, because the verification reads one: stop or kill the \
                 primary before promote, and do not start it again; or use switchover; a fault of the network or a pause \
                 does not stop it"
                    .to_owned(),
            );
        }
        let names: Vec<&str> = self.server.standbys.iter().map(|standby| standby.name.as_str()).collect();
        let unknown = |kind: &&FaultKind| kind.standby().is_some_and(|name| !names.contains(&name.as_str()));
        let kind = self.faults().find(unknown)?;
        let known = match names.as_slice() {
            [] => "and the experiment has none: add [[standby]]".to_owned(),
            names => format!("and the standbys are {}", names.join(", ")),
        };
        let name = kind.standby().map_or("", |name| name.as_str());
        Some(format!("the action {} requires the standby {name}, {known}", kind.name()))
    }

    /// Whether the old primary runs beside a promoted standby, before or after it.
    fn has_two_primaries(&self) -> bool {
        let faults = self.load.actions.iter().filter_map(|action| Some((action.at, action.fault()?)));
        let mut faults: Vec<(Duration, &Fault)> = faults.collect();
        faults.sort_by_key(|(at, _)| *at);
        let is_beside = |promoted_at: Duration, promotion: &FaultKind| {
            let before = faults.iter().filter(|(at, _)| *at <= promoted_at);
            let is_down = before.fold(false, |is_down, (at, fault)| match &fault.kind {
                FaultKind::Kill | FaultKind::Stop { .. } => {
                    fault.lasts.is_none_or(|lasts| at.saturating_add(lasts) > promoted_at)
                }
                FaultKind::Start | FaultKind::Restart { .. } => false,
                _ => is_down,
            });
            let comes_back = faults.iter().any(|(at, fault)| {
                *at >= promoted_at && matches!(fault.kind, FaultKind::Start | FaultKind::Restart { .. })
            });
            let goes_down = is_down || matches!(promotion, FaultKind::Switchover { .. });
            !goes_down || comes_back
        };
        let promotions = faults.iter().filter(|(_, fault)| fault.kind.standby().is_some());
        promotions.into_iter().any(|(at, fault)| is_beside(*at, &fault.kind))
    }

    /// Whether an action promotes a standby, so that the clients need to know several servers.
    pub(crate) fn promotes(&self) -> bool {
        self.faults().any(|kind| kind.standby().is_some())
    }

    /// Whether a trial is a load, as opposed to timed steps or queries.
    pub fn is_load(&self) -> bool {
        self.steps.is_empty() && self.queries.is_none()
    }

    /// Relative values as text, by key.
    pub(crate) fn relative_words(&self) -> BTreeMap<String, String> {
        self.relative.iter().map(|(key, relative)| ((*key).to_owned(), relative.words.clone())).collect()
    }

    /// The settings of the server and of the sessions, by name.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&String, &String)> {
        self.server.settings.iter().chain(&self.session).chain(&self.applied)
    }

    /// The key of this configuration that requires data of pgmeter's own.
    fn key_of_own_data(&self) -> Option<&'static str> {
        let (data, usual) = (&self.data, DataSpec::default());
        let keys = [
            ("setup", self.setup.is_some()),
            ("data_setup", data.setup.is_some()),
            ("init_steps", data.init_steps != usual.init_steps),
            ("fillfactor", data.fillfactor != usual.fillfactor),
            ("unlogged", data.unlogged),
            ("partitions", data.partitions != 0),
            ("foreign_keys", data.foreign_keys),
            ("tablespace", data.tablespace.is_some()),
            ("index_tablespace", data.index_tablespace.is_some()),
            ("indexes", data.indexes.is_some()),
            ("data_seed", data.data_seed.is_some()),
            ("restore", data.restore != usual.restore),
            ("step", !self.steps.is_empty()),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    /// Checks that the parts are compatible; the error is a sentence.
    // Long because: a list of independent conditions.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { server, data, load, .. } = self;
        let has_ddl = self.ddl.is_some();
        let is_running = server.origin.dsn().is_some();
        // With standbys, load_balance_hosts is about the target that means all of them.
        let balances = self.load_balance.is_some() && (is_running || server.standbys.is_empty());
        let has_hosts = !self.hosts.is_empty() || balances;
        let rules = [
            (
                load.until.is_some() && !matches!(load.limit, Limit::Duration(_)),
                "until requires a duration instead of transactions",
            ),
            (
                self.queries.is_some() && data.workload.is_none(),
                "[queries] requires a workload, and workload is \"none\"",
            ),
            (
                load.protocol == Protocol::Simple && !load.result_format.is_text(),
                "result_format = \"binary\" requires protocol = \"extended\" or \"prepared\": the simple protocol has \
                 only text results",
            ),
            (load.stop_on_miss && load.goals.is_empty(), "stop_on_miss requires a goal"),
            (load.check && data.workload.is_none(), "check requires a workload, and workload is \"none\""),
            (
                has_hosts && self.network != Network::default(),
                "hosts and load_balance_hosts cannot be combined with network: each defines how clients reach \
                 the server",
            ),
            (
                has_ddl && !server.in_place,
                "ddl changes the schema of a database in place: set in_place (--in-place); for tables of pgmeter's own use \
                 data_setup",
            ),
            (
                has_ddl && !self.allow_ddl,
                "ddl changes the schema of your database, and needs locks on its tables: allow it with allow_ddl \
                 (--allow-ddl)",
            ),
            (
                self.staleness && server.standbys.is_empty(),
                "staleness is measured on standbys: add a [[standby]], or remove staleness",
            ),
            (self.ddl_undo.is_some() && !has_ddl, "ddl_undo has nothing to undo: set ddl"),
            (
                is_running && !server.tablespaces.is_empty(),
                "tablespaces are created on embedded servers only: with a dsn, set tablespace to an existing one",
            ),
            (
                is_running && data.restore == Restore::Files,
                "restore = \"files\" stops the server and therefore requires an embedded server: use \
                 \"template\" with a dsn",
            ),
            (
                has_hosts && !is_running,
                "hosts and load_balance_hosts require a running server: set dsn in [server]",
            ),
        ];
        if server.in_place && !is_running {
            return Err("in_place requires a running server: set dsn in [server]; dsn = \"\" means the server of PGHOST and the \
                        other PG variables"
                .to_owned());
        }
        if let Some(key) = self.key_of_own_data().filter(|_| server.in_place) {
            return Err(format!(
                "{key} changes the database or needs a copy of it, and in_place uses it as it is: remove {key} or in_place"
            ));
        }
        server.check_standbys()?;
        let refused = |(name, _): (&String, &String)| session_settings::refused(name, &server.origin);
        pooler::check(self)?;
        let late_action = || run::check_actions(load).err();
        let impossible_action = || self.impossible_action();
        if let Some(sentence) =
            self.settings().find_map(refused).or_else(late_action).or_else(impossible_action)
        {
            return Err(sentence);
        }
        if let Some((_, sentence)) = rules.iter().find(|(is_broken, _)| *is_broken) {
            return Err((*sentence).to_owned());
        }
        let is_known =
            |name: &String| is_running || server.tablespaces.contains_key(name) || name == "pg_default";
        match [&data.tablespace, &data.index_tablespace].into_iter().flatten().find(|name| !is_known(name)) {
            Some(name) => Err(format!(
                "there is no tablespace {name}: define it in [server], for example tablespaces = {{ {name} = \
                 \"/dev/shm\" }}"
            )),
            None => Ok(()),
        }
    }
}

/// The server of a trial. Trials with equal servers share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerSpec {
    /// Origin of the server.
    pub origin: Origin,
    /// Settings as in postgresql.conf, by name.
    pub settings: BTreeMap<String, String>,
    /// Tablespaces by name, with the directory in which each gets a private one; `""`: next to the data directory.
    pub tablespaces: BTreeMap<String, String>,
    /// Whether an embedded server loads pg_stat_statements and sets `track_io_timing`.
    pub instrumentation: bool,
    /// Whether the database of a running server is used as it is, without databases and tables of pgmeter's own.
    pub in_place: bool,
    /// Standbys of an embedded server.
    pub standbys: Vec<StandbySpec>,
    /// The network of standbys without one of their own.
    pub standby_network: StandbyNetwork,
    /// The standbys that a commit waits for; `None`: all that are synchronous.
    pub synchronous_standbys: Option<Synchronous>,
}

/// Origin of a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Embedded, with this version.
    Version(String),
    /// Embedded, with the programs in this directory.
    Programs(PathBuf),
    /// A running server, by connection string without password.
    Running(String),
}

impl Origin {
    /// The connection string of a running server.
    pub fn dsn(&self) -> Option<&str> {
        match self {
            Origin::Running(dsn) => Some(dsn),
            Origin::Version(_) | Origin::Programs(_) => None,
        }
    }

    /// Whether the server is known to report its counters with a delay: before version 15, through the statistics
    /// collector.
    pub(crate) fn reports_late(&self) -> bool {
        const FIRST_WITHOUT_COLLECTOR: u32 = 15;
        let Origin::Version(version) = self else { return false };
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        major.is_some_and(|major| major < FIRST_WITHOUT_COLLECTOR)
    }
}

/// The data of a trial. Trials with equal data on equal servers share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSpec {
    /// Workload to load; `None`: only the result of `setup`.
    pub workload: Option<WorkloadName>,
    /// Values of the workload's parameters.
    pub parameters: BTreeMap<String, String>,
    /// Scale factor.
    pub scale: Scale,
    /// Whether the experiment sets it; otherwise, planning uses the default of the workload.
    pub scale_is_set: bool,
    /// Approximate bytes of tables and indexes per unit of scale, as defined by the workload; `None` if unknown, or
    /// before planning.
    pub bytes_per_scale: Option<u64>,
    /// Fillfactor in percent.
    pub fillfactor: u8,
    /// Unlogged tables.
    pub unlogged: bool,
    /// Number of partitions of the accounts table; 0: not partitioned.
    pub partitions: u32,
    /// Partitioning method of the accounts table.
    pub partition_method: PartitionMethod,
    /// Whether to create foreign keys.
    pub foreign_keys: bool,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the indexes.
    pub index_tablespace: Option<String>,
    /// Index set of the workload; `None`: its first.
    pub indexes: Option<String>,
    /// Seed of generated rows; `None`: that of the workload.
    pub data_seed: Option<u64>,
    /// Initialization steps, as in `-I`.
    pub init_steps: String,
    /// SQL to run after loading.
    pub setup: Option<PathBuf>,
    /// How the data are restored after a trial that wrote.
    pub restore: Restore,
    /// Whether to run a checkpoint before each trial.
    pub checkpoint: bool,
    /// Whether to vacuum before each trial.
    pub vacuum: bool,
}

/// How data are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Restore {
    /// From a template database, created after loading.
    Template,
    /// From a copy of all files of the server, which is stopped for it.
    Files,
    /// By loading them again.
    Reload,
    /// Not restored: trials see the changes of earlier trials.
    Never,
}

/// Network between clients and server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Type of connection.
    pub kind: NetworkKind,
    /// One-way delay.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Duration,
    /// Bandwidth in each direction for all connections together; `None`: unlimited.
    pub bandwidth_bits_per_s: Option<f64>,
    /// Whether actions of the load change the network, for which a relay is required.
    pub has_faults: bool,
}

impl Network {
    /// Whether a relay is required.
    pub fn needs_relay(&self) -> bool {
        !self.delay.is_zero()
            || !self.jitter.is_zero()
            || self.bandwidth_bits_per_s.is_some()
            || self.has_faults
    }
}

/// Types of connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkKind {
    /// Over a Unix socket.
    #[default]
    Socket,
    /// Over loopback TCP.
    Tcp,
    /// Over loopback TCP with TLS.
    Tls,
}

impl Default for ServerSpec {
    fn default() -> Self {
        let origin = Origin::Version("18".to_owned());
        Self {
            origin,
            settings: BTreeMap::new(),
            tablespaces: BTreeMap::new(),
            instrumentation: true,
            in_place: false,
            standbys: Vec::new(),
            standby_network: StandbyNetwork::default(),
            synchronous_standbys: None,
        }
    }
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            workload: Some(WorkloadName::default()),
            parameters: BTreeMap::new(),
            scale: Scale::ONE,
            scale_is_set: false,
            bytes_per_scale: None,
            fillfactor: 100,
            unlogged: false,
            partitions: 0,
            partition_method: PartitionMethod::Range,
            foreign_keys: false,
            tablespace: None,
            index_tablespace: None,
            indexes: None,
            data_seed: None,
            init_steps: "dtgvp".to_owned(),
            setup: None,
            restore: Restore::Template,
            checkpoint: true,
            vacuum: true,
        }
    }
}

impl DataSpec {
    /// Options for loading the data; the caller sets the number of parallel sessions.
    ///
    /// # Errors
    /// A letter is not an initialization step.
    pub fn init_options(&self) -> Result<InitOptions, WorkloadError> {
        let (method, partitions) = (self.partition_method, self.partitions);
        let mut options = InitOptions {
            scale: self.scale,
            steps: workload::Step::parse_list(&self.init_steps)?,
            fillfactor: self.fillfactor,
            partitioning: (partitions > 0).then_some(Partitioning { method, partitions }),
            logging: if self.unlogged { Logging::None } else { Logging::All },
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            parameters: self.parameters.clone(),
            indexes: self.indexes.clone(),
            seed: self.data_seed,
            ..InitOptions::default()
        };
        if self.foreign_keys {
            options.add_foreign_keys();
        }
        Ok(options)
    }
}
