//! The complete specification of a run. Command lines, experiments and Rust programs fill it in, and
//! [`crate::Runner`] reads and checks it. As JSON all fields have defaults, so `{}` is a valid run. Connections and
//! variables may contain passwords; records store their own plan, without passwords.

pub(crate) mod action;
pub(crate) mod circumstances;
pub(crate) mod command_line;
pub(crate) mod copy_files;
pub(crate) mod curve_file;
pub mod options;
pub(crate) mod pooler;
pub(crate) mod request;
pub(crate) mod scripts;
pub(crate) mod secrets;
pub(crate) mod since;
pub(crate) mod site;
pub(crate) mod surface;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use engine::{EventLoopChoice, Grace, Limit, Protocol, ResultFormat};
use results::{Fault, ObserveLevel};
use serde::{Deserialize, Serialize};
use stats::goals::Goal;
use stats::load::seconds;
use stats::rate::{GapLaw, LoadStage, RateCurve, StageLoad};
use stats::{OnDisconnect, Population, ReconnectPolicy, Scale, TimeLaw};
use workload::WorkloadName;

use crate::error::RunError;

/// Default length of a pause after which the load ends.
const MAX_PAUSE: Duration = Duration::from_secs(300);
/// Default of `--verify-timeout`.
pub const VERIFY_TIMEOUT: Duration = Duration::from_secs(60);

/// A load, how it is executed and observed. The server is given separately, because an experiment runs one load on
/// many servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// The workload whose tables are used; `None`: pgbench's, if one of its scripts is run.
    pub workload: Option<WorkloadName>,
    /// The mix; each transaction runs one script, chosen by weight. Empty: the workload's own mix.
    pub scripts: Vec<ScriptSpec>,
    /// Script variables by name.
    pub variables: BTreeMap<String, String>,
    /// `:scale`, unless a table of the workload determines it.
    pub scale: Option<Scale>,
    /// Number of clients, each with its own connection.
    pub clients: u32,
    /// Number of threads that run the clients; of a distributed run, of each load generator.
    pub workers: u32,
    /// Number of load generators, of the processes that a process manager started; `None`: all.
    pub machines: Option<u32>,
    /// Protocol for queries.
    pub protocol: Protocol,
    /// Format of results.
    pub result_format: ResultFormat,
    /// Whether the clients parse the values of results.
    pub parse_results: bool,
    /// Duration of the measurement, or number of transactions.
    pub limit: Limit,
    /// Load before the measurement.
    #[serde(with = "seconds", rename = "warmup_s")]
    pub warmup: Duration,
    /// Time that running transactions get to finish after the end of a timed run.
    pub grace: Grace,
    /// Half width of the confidence intervals, relative to their estimates, at which the run may end early.
    pub until: Option<f64>,
    /// Conditions that figures of the run must fulfil, such as `p99 < 20ms`.
    pub goals: Vec<Goal>,
    /// The run ends once a goal cannot be met any more.
    pub stop_on_miss: bool,
    /// Open loop: arrivals per second; `None`: each client starts a transaction when its previous one has ended, unless
    /// `curve` or `stages` have a rate.
    pub rate_tps: Option<f64>,
    /// Open loop with a rate that changes.
    pub curve: Option<RateCurve>,
    /// Gaps between arrivals.
    pub arrivals: GapLaw,
    /// Stages with loads and figures of their own; they fill the measured time. Empty: one stage.
    pub stages: Vec<LoadStage>,
    /// Time between two transactions of a client in a closed loop.
    pub think: Option<TimeLaw>,
    /// What clients do beside their transactions.
    pub population: Population,
    /// Successful transactions that take longer are late; with a rate, a transaction is skipped if its start is
    /// delayed by more than this.
    #[serde(with = "seconds::optional", rename = "latency_limit_s")]
    pub latency_limit: Option<Duration>,
    /// Maximum tries of a transaction after serialization failures and deadlocks; `None`: no limit.
    pub max_tries: Option<NonZeroU32>,
    /// A new connection for each transaction.
    pub reconnect: bool,
    /// What a client does after it has lost its connection.
    pub on_disconnect: OnDisconnect,
    /// When it connects again.
    pub reconnect_policy: ReconnectPolicy,
    /// A client that has waited this long for a reply gives its connection up as lost; `None`: no limit.
    #[serde(with = "seconds::optional", rename = "response_timeout_s")]
    pub response_timeout: Option<Duration>,
    /// A client continues after an SQL error.
    pub continue_on_error: bool,
    /// The first aborted client ends the run.
    pub exit_on_abort: bool,
    /// System interface used to wait for sockets.
    pub event_loop: EventLoopChoice,
    /// Vacuum before the run.
    pub vacuum: Vacuum,
    /// Whether the workload's checks run afterwards.
    pub check: bool,
    /// Whether acknowledged transactions are looked for afterwards.
    pub verify: bool,
    /// Maximum time to wait for the server then.
    #[serde(with = "seconds", rename = "verify_timeout_s")]
    pub verify_timeout: Duration,
    /// Level of server observation during the run.
    pub observe: ObserveLevel,
    /// Additional servers, for scripts that begin with `\target NAME`.
    pub targets: Vec<TargetSpec>,
    /// Actions at set times of the run.
    pub actions: Vec<ActionSpec>,
    /// The load pauses while the replay of a standby is further behind than this.
    #[serde(with = "seconds::optional", rename = "max_lag_s")]
    pub max_lag: Option<Duration>,
    /// The load pauses while more locks than this are waited for.
    pub max_waiting_locks: Option<u64>,
    /// The load pauses while this query returns true.
    pub pause_when: Option<String>,
    /// The load ends when this query returns true.
    pub stop_when: Option<String>,
    /// The load ends after a pause of this length.
    #[serde(with = "seconds", rename = "max_pause_s")]
    pub max_pause: Duration,
    /// Seed of all random numbers; `None`: a random seed.
    pub seed: Option<u64>,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            workload: None,
            scripts: Vec::new(),
            variables: BTreeMap::new(),
            scale: None,
            clients: 1,
            workers: 1,
            machines: None,
            protocol: Protocol::Simple,
            result_format: ResultFormat::Text,
            parse_results: false,
            limit: Limit::TransactionsPerClient(10),
            warmup: Duration::ZERO,
            grace: Grace::Automatic,
            until: None,
            goals: Vec::new(),
            stop_on_miss: false,
            rate_tps: None,
            curve: None,
            arrivals: GapLaw::Poisson,
            stages: Vec::new(),
            think: None,
            population: Population::default(),
            latency_limit: None,
            max_tries: Some(NonZeroU32::MIN),
            reconnect: false,
            on_disconnect: OnDisconnect::Abort,
            reconnect_policy: ReconnectPolicy::default(),
            response_timeout: None,
            continue_on_error: false,
            exit_on_abort: false,
            event_loop: EventLoopChoice::Auto,
            vacuum: Vacuum::SmallTables,
            check: false,
            verify: false,
            verify_timeout: VERIFY_TIMEOUT,
            observe: ObserveLevel::Light,
            targets: Vec::new(),
            actions: Vec::new(),
            max_lag: None,
            max_waiting_locks: None,
            pause_when: None,
            stop_when: None,
            max_pause: MAX_PAUSE,
            seed: None,
        }
    }
}

impl RunSpec {
    /// The rate that changes; `None` if it is constant, or in a closed loop.
    pub fn rate_curve(&self) -> Option<RateCurve> {
        self.curve.clone().or_else(|| LoadStage::rate_curve(&self.stages))
    }

    /// Connections that the load may have at the same time. In a storm, a session ends a moment after its client has begun
    /// the next one.
    pub fn connections_max(&self) -> u32 {
        let sessions = if self.population.storms.is_empty() { 1 } else { 2 };
        let of_clients = self.clients.saturating_mul(sessions);
        of_clients.saturating_add(self.population.idle_transactions(self.clients))
    }

    /// Whether a rate fixes the starts of transactions.
    pub fn has_rate(&self) -> bool {
        self.rate_tps.is_some() || self.rate_curve().is_some()
    }

    /// The mean rate of the measured time; `None` in a closed loop.
    pub fn mean_rate_tps(&self) -> Option<f64> {
        let of_curve = |curve: RateCurve| match self.limit {
            Limit::Duration(time) => curve.mean_tps(time.as_secs_f64()),
            Limit::TransactionsPerClient(_) => curve.rate_at(0.0),
        };
        self.rate_curve().map(of_curve).or(self.rate_tps)
    }

    /// Whether the stages set the number of clients.
    pub fn has_client_stages(&self) -> bool {
        self.stages.iter().any(|stage| matches!(stage.load, Some(StageLoad::Clients { .. })))
    }

    /// Whether the load is not the same over the measured time.
    pub fn is_changing(&self) -> bool {
        let differs = |pair: &[LoadStage]| pair[0].weights != pair[1].weights;
        self.curve.is_some()
            || self.stages.iter().any(|stage| stage.load.is_some())
            || self.stages.windows(2).any(differs)
    }

    /// The number of load generators, of `present` processes that a process manager started.
    ///
    /// # Errors
    /// It asks for more than these.
    pub fn load_generators(&self, present: u32) -> Result<u32, RunError> {
        let Some(machines) = self.machines.filter(|machines| *machines > present) else {
            return Ok(self.machines.unwrap_or(present));
        };
        let there =
            if present == 1 { "is one process".to_owned() } else { format!("are {present} processes") };
        Err(RunError::Usage(format!(
            "machines is {machines}, but there {there}: start pgmeter with a process manager, such as `mpiexec -n {machines} \
             pgmeter bench`, or ask for fewer machines"
        )))
    }
}

/// A script and its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptSpec {
    /// Source of the text.
    pub source: ScriptSource,
    /// Weight among the scripts; 0: never selected.
    pub weight: u32,
}

impl ScriptSpec {
    /// A script with weight 1.
    pub fn new(source: ScriptSource) -> Self {
        Self { source, weight: 1 }
    }
}

/// Source of a script's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptSource {
    /// A script of the workload: its name, or a unique prefix.
    OfWorkload(String),
    /// A file; `-` is standard input.
    File(PathBuf),
    /// The text itself.
    Text {
        /// Name in reports.
        name: String,
        /// Text in pgbench's script language.
        text: String,
    },
}

impl ScriptSource {
    /// Name in reports and plans: for a file its name without the directory.
    pub fn name(&self) -> String {
        match self {
            Self::OfWorkload(name) | Self::Text { name, .. } => name.clone(),
            Self::File(path) => {
                path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
            }
        }
    }
}

/// An additional server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Name in scripts.
    pub name: String,
    /// Connection string or URI.
    pub connection: String,
}

/// Something to do at a time of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSpec {
    /// Time since measuring began.
    #[serde(with = "seconds", rename = "at_s")]
    pub at: Duration,
    /// What to do.
    pub kind: ActionKind,
}

/// Kinds of actions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// SQL on a connection of its own: one or more statements, sent as one message.
    Sql(String),
    /// A fault of a server that pgmeter manages, or of the network before it.
    Fault(Fault),
}

/// Vacuum before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vacuum {
    /// No vacuum.
    Nothing,
    /// The workload's default: tables to vacuum or to truncate.
    SmallTables,
    /// The default, and all other tables.
    AllTables,
}

/// A random seed. The hasher's keys come from the system's random numbers.
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one("pgmeter")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn a_run_has_as_many_load_generators_as_there_are_processes_or_fewer() {
        let of = |machines, present| {
            let spec = RunSpec { machines, ..RunSpec::default() };
            spec.load_generators(present).map_err(|error| error.to_string())
        };
        assert_eq!((of(None, 1), of(None, 4), of(Some(1), 1)), (Ok(1), Ok(4), Ok(1)));
        assert_eq!((of(Some(3), 4), of(Some(4), 4)), (Ok(3), Ok(4)));
        let expected = "machines is 4, but there is one process: start pgmeter with a process manager, such as `mpiexec -n \
                        4 pgmeter bench`, or ask for fewer machines";
        assert_eq!(of(Some(4), 1), Err(expected.to_owned()));
        assert!(of(Some(5), 4).is_err_and(|why| why.contains("there are 4 processes: start")));
    }

    #[test]
    fn a_specification_is_the_same_after_json_and_an_empty_one_is_the_default() {
        let spec = RunSpec {
            workload: Some(WorkloadName::default()),
            scripts: vec![
                ScriptSpec::new(ScriptSource::OfWorkload("select-only".to_owned())),
                ScriptSpec { source: ScriptSource::File("a b.sql".into()), weight: 3 },
            ],
            limit: Limit::Duration(Duration::from_millis(1500)),
            grace: Grace::Fixed(Duration::from_secs(2)),
            latency_limit: Some(Duration::from_millis(20)),
            max_tries: NonZeroU32::new(3),
            actions: vec![ActionSpec {
                at: Duration::from_millis(2500),
                kind: ActionKind::Sql("vacuum t".to_owned()),
            }],
            seed: Some(u64::MAX),
            ..RunSpec::default()
        };
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<RunSpec>(&json).unwrap(), spec, "{json}");
        assert_eq!(serde_json::from_str::<RunSpec>("{}").unwrap(), RunSpec::default());
        assert!(serde_json::from_str::<RunSpec>("{\"client\": 1}").is_err(), "a misspelt name is no default");
    }
}
