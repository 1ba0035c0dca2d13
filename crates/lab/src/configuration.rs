//! What one trial is made of: a server, data on it, a network to it, and the load. Defaults here, keys in `keys`.
//! Plain data; who starts servers and loads tables reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use engine::Limit;
use run::RunSpec;
use workload::{InitOptions, Logging, PartitionMethod, Partitioning, WorkloadError, WorkloadName};

use crate::relative::Relative;
use crate::steps::Step;

/// All that one combination of levels says.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// What is measured.
    pub server: ServerSpec,
    /// What is in it.
    pub data: DataSpec,
    /// How it is reached.
    pub network: Network,
    /// The load; scale and vacuum are those of the data, the seed is the trial's.
    pub load: RunSpec,
    /// Whether all its scripts are known to leave the data as they were; found out when the workload is read.
    pub scripts_only_read: bool,
    /// SQL that is run before the trial, such as functions that the script calls.
    pub setup: Option<PathBuf>,
    /// Operations of the users that one transaction of the script does: 1,000 for a batch of so many.
    pub operations: u32,
    /// Hosts instead of those of the `dsn`, each with its port if it names one; empty: those of the `dsn`.
    pub hosts: Vec<(String, Option<u16>)>,
    /// Whether each connection goes to a host at random; `None`: as the `dsn` says.
    pub load_balance: Option<bool>,
    /// Where OpenMetrics are served during a trial, as `HOST:PORT`.
    pub metrics: Option<String>,
    /// What is timed, in this order; empty: it is a trial of load.
    pub steps: Vec<Step>,
    /// Values relative to the server's host by key; a cell of a plan has the number in the field of the key.
    pub relative: BTreeMap<&'static str, Relative>,
}

/// The load of a trial whose file says nothing about it: half a minute after a warm-up, and a client that cannot go on
/// ends the trial.
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
            load: default_load(),
            scripts_only_read: false,
            setup: None,
            operations: 1,
            hosts: Vec::new(),
            load_balance: None,
            metrics: None,
            steps: Vec::new(),
            relative: BTreeMap::new(),
        }
    }
}

impl Configuration {
    /// Relative values in words, by key.
    pub(crate) fn relative_words(&self) -> BTreeMap<String, String> {
        self.relative.iter().map(|(key, relative)| ((*key).to_owned(), relative.words.clone())).collect()
    }

    /// That its parts go together; a sentence if not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { server, data, load, .. } = self;
        let has_hosts = !self.hosts.is_empty() || self.load_balance.is_some();
        let is_running = server.origin.dsn().is_some();
        let rules = [
            (
                load.until.is_some() && !matches!(load.limit, Limit::Duration(_)),
                "until ends a timed trial sooner: it needs a duration, and not transactions",
            ),
            (
                load.check && data.workload.is_none(),
                "check executes the checks of a workload, and workload is \"none\" here",
            ),
            (
                has_hosts && self.network != Network::default(),
                "hosts and load_balance_hosts do not go with network: each says how clients reach the server",
            ),
            (
                is_running && !server.tablespaces.is_empty(),
                "tablespaces are made for embedded servers: those of a dsn are named by tablespace alone",
            ),
            (
                is_running && data.restore == Restore::Files,
                "restore = \"files\" stops the server, which is done with embedded ones only: take \"template\" for one \
                 with a dsn",
            ),
            (
                has_hosts && !is_running,
                "hosts and load_balance_hosts are for a server that runs already: name it in [server] by its dsn",
            ),
        ];
        if let Some((_, sentence)) = rules.iter().find(|(is_broken, _)| *is_broken) {
            return Err((*sentence).to_owned());
        }
        let is_known =
            |name: &String| is_running || server.tablespaces.contains_key(name) || name == "pg_default";
        match [&data.tablespace, &data.index_tablespace].into_iter().flatten().find(|name| !is_known(name)) {
            Some(name) => Err(format!(
                "there is no tablespace {name}: name it in [server], such as tablespaces = {{ {name} = \"/dev/shm\" }}"
            )),
            None => Ok(()),
        }
    }
}

/// The server of a trial. Trials with equal ones share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerSpec {
    /// Which server.
    pub origin: Origin,
    /// Settings in the compatibility of postgresql.conf, by name.
    pub settings: BTreeMap<String, String>,
    /// Tablespaces by name: the directory in which each has one of its own; `""`: beside the data.
    pub tablespaces: BTreeMap<String, String>,
    /// Whether an embedded server loads pg_stat_statements and sets `track_io_timing`.
    pub instrumentation: bool,
}

/// Where a server comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Embedded, of this version.
    Version(String),
    /// From programs installed here.
    Programs(PathBuf),
    /// One that runs already, by connection string without password.
    Running(String),
}

impl Origin {
    /// The connection string of a server that runs already.
    pub fn dsn(&self) -> Option<&str> {
        match self {
            Origin::Running(dsn) => Some(dsn),
            Origin::Version(_) | Origin::Programs(_) => None,
        }
    }
}

/// The tables of a trial. Trials with equal ones, on equal servers, share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSpec {
    /// What is loaded; `None`: nothing but what `setup` makes.
    pub workload: Option<WorkloadName>,
    /// Values of the workload's parameters.
    pub parameters: BTreeMap<String, String>,
    /// Scale: 100,000 accounts each.
    pub scale: u32,
    /// About how many bytes of tables and indexes a unit of scale brings, as the workload says; `None` if it is unknown,
    /// and until a plan is made.
    pub bytes_per_scale: Option<u64>,
    /// How full, in percent, pages are packed.
    pub fillfactor: u8,
    /// Tables without write-ahead log.
    pub unlogged: bool,
    /// Parts of the accounts; 0: not split.
    pub partitions: u32,
    /// How rows find their part.
    pub partition_method: PartitionMethod,
    /// Foreign keys too.
    pub foreign_keys: bool,
    /// Where tables go.
    pub tablespace: Option<String>,
    /// Where indexes go.
    pub index_tablespace: Option<String>,
    /// Order of the loading steps, as `-I` takes them.
    pub init_steps: String,
    /// SQL that is run after loading.
    pub setup: Option<PathBuf>,
    /// How the data are brought back before a trial that has written.
    pub restore: Restore,
    /// A checkpoint before each trial.
    pub checkpoint: bool,
    /// A vacuum before each trial.
    pub vacuum: bool,
}

/// How data are brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Restore {
    /// From a template database, made after loading.
    Template,
    /// From a copy of all files of the server, which is stopped for it.
    Files,
    /// By loading again.
    Reload,
    /// Not at all: trials find what those before left.
    Never,
}

/// The way to the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Kind of connection.
    pub kind: NetworkKind,
    /// Each way.
    pub delay: Duration,
    /// How much the delay varies.
    pub jitter: Duration,
    /// Each way, all connections together; `None`: as much as there is.
    pub bandwidth_bits_per_s: Option<f64>,
}

impl Network {
    /// Whether something must stand in between to make it so.
    pub fn needs_relay(&self) -> bool {
        !self.delay.is_zero() || !self.jitter.is_zero() || self.bandwidth_bits_per_s.is_some()
    }
}

/// Kinds of connection.
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
        Self { origin, settings: BTreeMap::new(), tablespaces: BTreeMap::new(), instrumentation: true }
    }
}

impl Default for DataSpec {
    fn default() -> Self {
        Self {
            workload: Some(WorkloadName::default()),
            parameters: BTreeMap::new(),
            scale: 1,
            bytes_per_scale: None,
            fillfactor: 100,
            unlogged: false,
            partitions: 0,
            partition_method: PartitionMethod::Range,
            foreign_keys: false,
            tablespace: None,
            index_tablespace: None,
            init_steps: "dtgvp".to_owned(),
            setup: None,
            restore: Restore::Template,
            checkpoint: true,
            vacuum: true,
        }
    }
}

impl DataSpec {
    /// How the workload is to make the data; sessions in parallel are left to the caller.
    ///
    /// # Errors
    /// If a letter is not a step.
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
            ..InitOptions::default()
        };
        if self.foreign_keys {
            options.add_foreign_keys();
        }
        Ok(options)
    }
}
