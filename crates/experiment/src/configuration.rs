//! The configuration of one trial: a server, its data, a network, and a load. Plain data with their defaults; keys are
//! in `keys`, and forbidden combinations in `compatibility`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use config::Place;
use engine::Limit;
use queries::QuerySetSpec;
use results::FaultKind;
use run::{RunSpec, Surface};
use server::SynchronousMethod;
use stats::Scale;
use workload::{InitOptions, Logging, PartitionMethod, Partitioning, WorkloadError, WorkloadName};

use crate::network::Network;
use crate::pooler::PoolerSpec;
use crate::standbys::{StandbyMode, StandbyNetwork, StandbySpec, Synchronous};
use crate::steps::{Step, StepSql, StepWork};

/// Position of messages about the whole file.
pub(crate) const START: Place = Place { line: 1, column: 1 };

/// The key of the number of clients.
pub(crate) const CLIENTS: &str = "clients";

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

    /// Whether a key was written.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
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
    /// Where it was written, for messages.
    pub surface: Surface,
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
    /// The search that a trial is; `None`: the load has a rate, or none.
    pub search: Option<SearchSpec>,
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

/// A search for the highest rate that keeps the goals of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSpec {
    /// Time of a search.
    pub budget: Duration,
    /// Half of the interval, relative to the rate, at which it may end.
    pub width: f64,
    /// The highest rate to try.
    pub max_rate_tps: Option<f64>,
}

impl Default for SearchSpec {
    fn default() -> Self {
        Self { budget: Duration::from_secs(180), width: 0.03, max_rate_tps: None }
    }
}

/// A combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Factors and levels, in the experiment's order.
    pub levels: Vec<(String, String)>,
    /// Its configuration.
    pub configuration: Configuration,
}

/// A relative value of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Relative {
    /// As written in the file.
    pub words: String,
    /// The number for the server's host; `None` until the host is examined.
    pub number: Option<u32>,
    /// The number before the unit.
    pub(crate) amount: f64,
    /// Its place in the file.
    pub(crate) place: Place,
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
            surface: Surface::Keys,
            scripts_only_read: false,
            setup: None,
            operations: 1,
            hosts: Vec::new(),
            load_balance: None,
            staleness: false,
            metrics: None,
            steps: Vec::new(),
            queries: None,
            search: None,
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
    pub fn faults(&self) -> impl Iterator<Item = &FaultKind> {
        self.load.actions.iter().filter_map(|action| Some(&action.fault()?.kind))
    }

    /// The network of a trial, which has a relay if an action needs it.
    pub fn network_of_trial(&self) -> Network {
        Network { has_faults: self.faults().any(FaultKind::is_of_network), ..self.network.clone() }
    }

    /// Whether an action promotes a standby, so that the clients need to know several servers.
    pub fn promotes(&self) -> bool {
        self.faults().any(|kind| kind.standby().is_some())
    }

    /// The number of clients, if the file or the command line has one.
    pub fn given_clients(&self) -> Option<u32> {
        self.places.has(CLIENTS).then_some(self.load.clients)
    }

    /// Whether a trial is a load, as opposed to timed steps or queries.
    pub fn is_load(&self) -> bool {
        self.steps.is_empty() && self.queries.is_none()
    }

    /// Whether its trials load the tables step by step and therefore start with an empty database.
    pub fn times_loading(&self) -> bool {
        self.steps.iter().any(|step| step.work == StepWork::Init)
    }

    /// Relative values as text, by key.
    pub fn relative_words(&self) -> BTreeMap<String, String> {
        self.relative.iter().map(|(key, relative)| ((*key).to_owned(), relative.words.clone())).collect()
    }

    /// The settings of the server and of the sessions, by name.
    pub fn settings(&self) -> impl Iterator<Item = (&String, &String)> {
        self.server.settings.iter().chain(&self.session).chain(&self.applied)
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

impl ServerSpec {
    /// The network of one of its standbys.
    pub fn network_of(&self, standby: &StandbySpec) -> StandbyNetwork {
        standby.network.unwrap_or(self.standby_network)
    }

    /// Names of the standbys that commits wait for.
    pub fn synchronous_names(&self) -> Vec<String> {
        let synchronous = self.standbys.iter().filter(|it| it.mode == StandbyMode::Synchronous);
        synchronous.map(|it| it.name.clone()).collect()
    }

    /// The number of standbys that commits wait for, and how they are chosen: by default all, in order.
    pub fn synchronous(&self) -> Option<Synchronous> {
        let number = self.synchronous_names().len();
        let all = Synchronous { method: SynchronousMethod::First, number };
        (number > 0).then(|| self.synchronous_standbys.unwrap_or(all))
    }
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
    pub fn reports_late(&self) -> bool {
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
