//! All that can be asked of a run. Command lines, experiments and Rust programs fill it in, and [`crate::Runner`] reads
//! it; nothing is checked here. As JSON it has all defaults, so that `{}` is a run. It may hold passwords, in
//! connections and variables; a record has its own plan, which holds none.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use engine::{EventLoopChoice, Grace, Limit, Protocol};
use results::ObserveLevel;
use serde::{Deserialize, Serialize};
use stats::load::seconds;
use workload::WorkloadName;

/// A load, how it is run, and how closely it is looked at. Where the server is, is told beside it: an experiment runs one
/// load on many servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpec {
    /// The workload whose tables are used; `None`: that of pgbench, as far as one of its scripts is run.
    pub workload: Option<WorkloadName>,
    /// The mix; each transaction runs one of them, by weight. Empty: the workload's own mix.
    pub scripts: Vec<ScriptSpec>,
    /// Variables of the scripts, by name.
    pub variables: BTreeMap<String, String>,
    /// `:scale` where no table of a workload tells it.
    pub scale: Option<u32>,
    /// Simulated users, each with a connection of its own.
    pub clients: u32,
    /// Threads that drive them.
    pub workers: u32,
    /// How SQL commands travel.
    pub protocol: Protocol,
    /// When the run is over.
    pub limit: Limit,
    /// Run before that and not measured.
    #[serde(with = "seconds", rename = "warmup_s")]
    pub warmup: Duration,
    /// How long transactions that are under way at the end of a timed run may go on.
    pub grace: Grace,
    /// The half width of the intervals, as a share of their figures, at which the run may end early.
    pub until: Option<f64>,
    /// Open loop: transactions scheduled per second; `None`: each client begins the next when the last has ended.
    pub rate_tps: Option<f64>,
    /// Successes that took longer are late; under a rate, what would begin later than this is skipped.
    #[serde(with = "seconds::optional", rename = "latency_limit_s")]
    pub latency_limit: Option<Duration>,
    /// Tries of a transaction after serialization failures and deadlocks; `None`: as many as it takes.
    pub max_tries: Option<NonZeroU32>,
    /// A new connection for each transaction.
    pub reconnect: bool,
    /// A client goes on after an SQL error.
    pub continue_on_error: bool,
    /// The first client that cannot go on ends the run.
    pub exit_on_abort: bool,
    /// How sockets are waited for.
    pub event_loop: EventLoopChoice,
    /// What is vacuumed before.
    pub vacuum: Vacuum,
    /// Whether the workload's checks are executed afterwards.
    pub check: bool,
    /// How closely the server is looked at meanwhile.
    pub observe: ObserveLevel,
    /// Further servers, for scripts that begin with `\target NAME`.
    pub targets: Vec<TargetSpec>,
    /// The number from which every random draw comes; `None`: drawn from the system.
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
            protocol: Protocol::Simple,
            limit: Limit::TransactionsPerClient(10),
            warmup: Duration::ZERO,
            grace: Grace::Automatic,
            until: None,
            rate_tps: None,
            latency_limit: None,
            max_tries: Some(NonZeroU32::MIN),
            reconnect: false,
            continue_on_error: false,
            exit_on_abort: false,
            event_loop: EventLoopChoice::Auto,
            vacuum: Vacuum::SmallTables,
            check: false,
            observe: ObserveLevel::Light,
            targets: Vec::new(),
            seed: None,
        }
    }
}

/// A script and how often it is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptSpec {
    /// Where its text is.
    pub source: ScriptSource,
    /// Its share among the others; 0: never.
    pub weight: u32,
}

impl ScriptSpec {
    /// With weight 1.
    #[must_use]
    pub fn new(source: ScriptSource) -> Self {
        Self { source, weight: 1 }
    }
}

/// Where the text of a script is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptSource {
    /// One of the workload: its name, or a prefix that is no other's.
    OfWorkload(String),
    /// In a file; `-` is standard input.
    File(PathBuf),
    /// Here.
    Text {
        /// What reports call it.
        name: String,
        /// In pgbench's language.
        text: String,
    },
}

impl ScriptSource {
    /// As reports and plans call it: of a file its name without the folder.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::OfWorkload(name) | Self::Text { name, .. } => name.clone(),
            Self::File(path) => {
                path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
            }
        }
    }
}

/// A further server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// What scripts call it.
    pub name: String,
    /// Connection string or URI.
    pub connection: String,
}

/// What is vacuumed before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vacuum {
    /// Nothing.
    Nothing,
    /// The tables that the workload has vacuumed or emptied before each run.
    SmallTables,
    /// These, and all others.
    AllTables,
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

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
            seed: Some(u64::MAX),
            ..RunSpec::default()
        };
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<RunSpec>(&json).unwrap(), spec, "{json}");
        assert_eq!(serde_json::from_str::<RunSpec>("{}").unwrap(), RunSpec::default());
        assert!(serde_json::from_str::<RunSpec>("{\"client\": 1}").is_err(), "a misspelt name is no default");
    }
}
