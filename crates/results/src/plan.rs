//! The load as specified, with what a reader needs to understand or repeat the run.
//! The engine has its own plan, with programs and socket addresses; `cli` makes both from the same options. The types
//! exclude passwords.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use stats::goals::Goal;
use stats::rate::{GapLaw, LoadStage, RateCurve, StageLoad};
use stats::{Limit, OnDisconnect, Population, Protocol, ReconnectPolicy, ResultFormat, TimeLaw};

use crate::{Action, KeptText, LoadWatch, SafeText};

/// The specified load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workload whose tables were used; `null` for none.
    #[serde(default)]
    pub workload: Option<String>,
    /// A notice of the workload that accompanies the results in every report; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<SafeText>,
    /// The script whose transactions per minute reports show; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<PerMinute>,
    /// The standard whose rules `summary.rules` judges, such as `TPC-B 2.0`; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<SafeText>,
    /// The scripts, in the order of every per-script list of the record.
    #[serde(deserialize_with = "read_scripts")]
    pub scripts: Vec<Script>,
    /// Clients, with one connection each.
    pub clients: u32,
    /// Number of threads; in a distributed run, of each load generator.
    pub workers: u32,
    /// Number of load generators, one process each; absent if one process made the load.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub machines: u32,
    /// Query protocol.
    pub protocol: Protocol,
    /// Format of results.
    #[serde(default, skip_serializing_if = "ResultFormat::is_text")]
    pub result_format: ResultFormat,
    /// Whether the clients parsed the values of results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parse_results: bool,
    /// When the run ends.
    pub limit: Limit,
    /// Seconds of warm-up.
    pub warmup_s: f64,
    /// The run may end early, when the half-widths of the 95 % intervals of throughput and mean response time are at
    /// most this share of the figures; `null` if it may not.
    pub until: Option<f64>,
    /// Goals, such as `p99 < 20ms`; `summary.goals` has their verdicts, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// The run may end early, when a goal cannot be met any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_on_miss: bool,
    /// Scheduled transactions per second; if they change, their mean over the measured time. `null` means as fast as
    /// possible.
    pub rate_tps: Option<f64>,
    /// The rate over time, if it changes and the stages do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<RateCurve>,
    /// The gaps between arrivals; absent for `poisson`.
    #[serde(default, skip_serializing_if = "GapLaw::is_poisson")]
    pub arrivals: GapLaw,
    /// The stages of the load; absent if it has one. `summary.stages` has their figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<LoadStage>,
    /// Time between two transactions of a client; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<TimeLaw>,
    /// What clients did beside their transactions; absent if nothing.
    #[serde(default, skip_serializing_if = "Population::is_plain")]
    pub population: Population,
    /// Response times above this are counted as late.
    pub latency_limit_us: Option<f64>,
    /// Maximum number of tries after serialization failures and deadlocks; `null` means no limit.
    pub max_tries: Option<u32>,
    /// A new connection for every transaction.
    pub reconnect: bool,
    /// What a client does after it has lost its connection; left out if it is aborted.
    #[serde(default, skip_serializing_if = "OnDisconnect::is_abort")]
    pub on_disconnect: OnDisconnect,
    /// When clients connect again, as on the command line; left out if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub reconnect_policy: Option<ReconnectPolicy>,
    /// After this many seconds without a reply, a client gives its connection up as lost; left out without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_timeout_s: Option<f64>,
    /// After another error, the transaction counts as failed and its client continues; otherwise the client is aborted.
    pub continue_on_error: bool,
    /// Random seed. A string in JSON, where numbers beyond 2⁵³ lose digits.
    #[serde(with = "crate::intervals::decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub seed: u64,
    /// Connection parameters, without password.
    pub connection: Connection,
    /// Named targets of scripts, without passwords; empty if all scripts use `connection`.
    pub targets: Vec<Target>,
    /// Actions at set times of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// Conditions under which the load pauses or ends; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<LoadWatch>,
    /// Script variables set from outside (`-D`).
    pub variables: BTreeMap<String, String>,
    /// Options specified relative to the server's host, by key, as written in the experiment: `clients`, `2/core`. The
    /// plan has the resulting numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub relative: BTreeMap<String, String>,
    /// The command that repeats the run, with its seed; passwords are masked. `null` if no single command does.
    pub command_line: Option<SafeText>,
}

impl Plan {
    /// The rate over time, if it changes.
    pub fn rate_curve(&self) -> Option<RateCurve> {
        self.curve.clone().or_else(|| LoadStage::rate_curve(&self.stages))
    }

    /// Whether the stages set the number of clients.
    pub fn has_client_stages(&self) -> bool {
        self.stages.iter().any(|stage| matches!(stage.load, Some(StageLoad::Clients { .. })))
    }

    /// Clients that work at the same time in a closed loop, as far as the plan says it.
    pub fn working_clients(&self) -> u32 {
        self.population.active.map_or(self.clients, |active| active.clients.of(self.clients))
    }

    /// Whether the load is not the same over the measured time.
    pub fn is_changing(&self) -> bool {
        let differs = |pair: &[LoadStage]| pair[0].weights != pair[1].weights;
        self.rate_curve().is_some() || self.has_client_stages() || self.stages.windows(2).any(differs)
    }
}

/// A script whose transactions per minute are a figure of the reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerMinute {
    /// The name of the script.
    pub script: String,
    /// The workload's description of the figure, such as `tpmC-like, not a TPC result`.
    pub label: SafeText,
}

/// A script of the plan. Secrets in its text are masked, also when a record is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// Name of the built-in script, or file name.
    pub name: String,
    /// The name in pgbench's report: `<builtin: select only>`, or the file name as specified.
    pub description: String,
    /// Whether it is a built-in script.
    pub builtin: bool,
    /// Name of its target; `null` means the plan's connection.
    pub target: Option<String>,
    /// The complete text, with masked secrets.
    pub text: String,
    /// SHA-256 of the original text in hexadecimal; present if secrets were masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether secrets in the text were masked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// Its weight among the scripts.
    pub weight: u32,
    /// Rows that its transactions compete for, if the script declares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
}

/// Rows that transactions compete for: each transaction locks one until its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// Index of the locking command in the script, from 0.
    pub command: u32,
    /// Number of rows, or factor of the variable.
    pub factor: u32,
    /// Script variable by which the factor is multiplied.
    pub variable: Option<String>,
}

impl Contention {
    /// Number of rows; `None` if the variable is not a number.
    pub fn rows(&self, variables: &BTreeMap<String, String>) -> Option<u64> {
        match &self.variable {
            None => Some(u64::from(self.factor)),
            Some(name) => variables.get(name)?.parse::<u64>().ok()?.checked_mul(u64::from(self.factor)),
        }
    }
}

impl Script {
    /// The script with its masked text. `original`: bytes of the file; `text`: the same in UTF-8.
    pub fn with_text(self, original: &[u8], text: &str) -> Script {
        match KeptText::of_script(original, text) {
            KeptText::Plain(text) => Script { text, masked: false, sha256: None, ..self },
            KeptText::Masked { text, sha256, masked } => {
                Script { text, masked, sha256: Some(sha256), ..self }
            }
        }
    }
}

fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference
fn is_one(machines: &u32) -> bool {
    *machines == 1
}

/// Masks secrets that are not masked yet: other programs may have changed the record.
fn read_scripts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Script>, D::Error> {
    let mut scripts = Vec::<Script>::deserialize(deserializer)?;
    for script in scripts.iter_mut().filter(|script| !script.masked) {
        let text = std::mem::take(&mut script.text);
        *script = script.clone().with_text(text.as_bytes(), &text);
    }
    Ok(scripts)
}

/// A named target of scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Its name in scripts.
    pub name: String,
    /// Its connection parameters.
    pub connection: Connection,
}

/// Connection parameters. There is no field for a password; a password within a host or database name (as part of a
/// connection string) is masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Host name, address, or socket directory; a comma-separated list if connections were distributed.
    pub host: SafeText,
    /// TCP port, or the number in the socket's name; with several hosts, that of the first.
    pub port: u16,
    /// Role.
    pub user: SafeText,
    /// Database.
    pub database: SafeText,
}
