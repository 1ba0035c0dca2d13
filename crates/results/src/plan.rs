//! What was asked of the engine, as far as a reader needs it to understand or repeat the run.
//! Not the engine's own plan, which holds programs and sockets' addresses; `cli` makes both from
//! the same options. Holds no password, by type.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use stats::{Limit, Protocol};

use crate::{KeptText, SafeText};

/// What was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The workload whose tables were used; `null`: none.
    #[serde(default)]
    pub workload: Option<String>,
    /// The scripts, in the order of every per-script list of the record.
    #[serde(deserialize_with = "read_scripts")]
    pub scripts: Vec<Script>,
    /// Simulated users, one connection each.
    pub clients: u32,
    /// Threads they were spread over.
    pub workers: u32,
    /// How SQL was sent.
    pub protocol: Protocol,
    /// When to stop.
    pub limit: Limit,
    /// Seconds run before measuring began.
    pub warmup_s: f64,
    /// The run may end sooner, once the half widths of the 95 % intervals of throughput and mean response time are at
    /// most this share of the figures; `null`: it may not.
    pub until: Option<f64>,
    /// Transactions per second that were scheduled; `null` means as fast as possible.
    pub rate_tps: Option<f64>,
    /// Response times above this are counted as late.
    pub latency_limit_us: Option<f64>,
    /// Tries that a transaction has at serialization and deadlock failures; `null` means as many as it
    /// takes.
    pub max_tries: Option<u32>,
    /// A new connection for every transaction.
    pub reconnect: bool,
    /// After an error of another kind the transaction has failed and its client goes on; otherwise the
    /// client is aborted.
    pub continue_on_error: bool,
    /// What all random draws come from. A string in JSON, where numbers beyond 2⁵³ lose digits.
    #[serde(with = "crate::intervals::decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub seed: u64,
    /// What was connected to, without password.
    pub connection: Connection,
    /// What scripts may name to run somewhere else, without passwords; empty where all go to `connection`.
    pub targets: Vec<Target>,
    /// Script variables set from outside (`-D`).
    pub variables: BTreeMap<String, String>,
    /// Options that an experiment gave relative to the server's host, by key and in its words: `clients`, `2/core`. The
    /// plan has the numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub relative: BTreeMap<String, String>,
    /// The command that does the same again, with the seed; passwords are masked. `null` if no single command
    /// does.
    pub command_line: Option<SafeText>,
}

/// A script of the plan. Secrets in its text are masked, also when a record is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// Its name: of the built-in, or the file name.
    pub name: String,
    /// What pgbench's report calls it: `<builtin: select only>`, or the file name as it was given.
    pub description: String,
    /// Whether it is one of those that need no file.
    pub builtin: bool,
    /// The name of the target that it runs on; `null` means the plan's connection.
    pub target: Option<String>,
    /// Its whole text, secrets masked.
    pub text: String,
    /// SHA-256 of the original text in hexadecimal, where secrets in it were masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Whether secrets in the text were masked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masked: bool,
    /// Its weight among the scripts.
    pub weight: u32,
    /// The rows that its transactions compete for, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
}

/// Rows that transactions compete for: each locks one of them until its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// The command of the script that locks, from 0.
    pub command: u32,
    /// The number of rows, or the factor of the variable.
    pub factor: u32,
    /// The script variable that it is multiplied with.
    pub variable: Option<String>,
}

impl Contention {
    /// How many rows there are; `None` if the variable holds no number.
    pub fn rows(&self, variables: &BTreeMap<String, String>) -> Option<u64> {
        match &self.variable {
            None => Some(u64::from(self.factor)),
            Some(name) => variables.get(name)?.parse::<u64>().ok()?.checked_mul(u64::from(self.factor)),
        }
    }
}

impl Script {
    /// The script with its text as a record may hold it; `original` is what was read, and `text` that in UTF-8.
    pub fn with_text(self, original: &[u8], text: &str) -> Script {
        match KeptText::of_script(original, text) {
            KeptText::Plain(text) => Script { text, masked: false, sha256: None, ..self },
            KeptText::Masked { text, sha256, masked } => {
                Script { text, masked, sha256: Some(sha256), ..self }
            }
        }
    }
}

/// Masks what nobody has masked yet: others may have changed the record.
fn read_scripts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Script>, D::Error> {
    let mut scripts = Vec::<Script>::deserialize(deserializer)?;
    for script in scripts.iter_mut().filter(|script| !script.masked) {
        let text = std::mem::take(&mut script.text);
        *script = script.clone().with_text(text.as_bytes(), &text);
    }
    Ok(scripts)
}

/// Somewhere that scripts may run, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// What scripts call it.
    pub name: String,
    /// What was connected to.
    pub connection: Connection,
}

/// What was connected to. There is no place for a password, and one smuggled into a host or
/// database name (as part of a connection string) is masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connection {
    /// Host name, address, or socket directory; several, separated by commas, where connections were spread.
    pub host: SafeText,
    /// TCP port, or the number in the socket's name; of several hosts the first one's.
    pub port: u16,
    /// Role.
    pub user: SafeText,
    /// Database.
    pub database: SafeText,
}
