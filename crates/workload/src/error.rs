//! Errors of workloads as complete messages.
//! Messages that exist in `pgbench` keep its words.

use std::fmt;
use std::io;

use config::FileError;
use connect::{ConnectError, Row};
use script::StatementsError;

use crate::tpcb::{script_list, step_letters};

/// Why a workload cannot be found, loaded or used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum WorkloadError {
    /// Neither a built-in workload nor a directory.
    #[error(
        "there is no workload and no directory \"{name}\"; {}",
        nearest.as_ref().map_or(format!("pgmeter includes: {known}"), |nearest| format!("did you mean {nearest}?"))
    )]
    UnknownWorkload { name: String, known: String, nearest: Option<String> },
    /// A workload.toml cannot be read.
    #[error("cannot read the workload {file}: {source}")]
    Read { file: String, source: io::Error },
    /// A file of a workload's directory is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// An SQL file cannot be parsed.
    #[error(transparent)]
    Statements(#[from] StatementsError),
    /// There is no such script, or several match.
    #[error("the workload {workload} has no script \"{name}\"; it has {known}")]
    UnknownScript { workload: String, name: String, known: String },
    /// There is no such parameter.
    #[error("the workload {workload} has no parameter \"{name}\"; {known}")]
    UnknownParameter { workload: String, name: String, known: String },
    /// An option that only pgbench's workload supports.
    #[error(
        "{option} is supported for pgbench's tables (the workload tpcb) only; the tables of {workload} are \
         created by its SQL files"
    )]
    OnlyTpcb { option: &'static str, workload: String },
    /// A statement of a load step failed.
    #[error(
        "{file}:{line}: {source}{}",
        if *is_misplaced { "; set transaction = false for this file in workload.toml" } else { "" }
    )]
    LoadStep { file: String, line: u32, source: ConnectError, is_misplaced: bool },
    /// Checks returned rows.
    #[error("{}", checks_failed(workload, failed))]
    ChecksFailed { workload: String, failed: Vec<FailedCheck> },
    /// No built-in script begins with this name.
    #[error("no builtin script found for name \"{name}\"\n{}", script_list())]
    UnknownBuiltin { name: String },
    /// More than one built-in script begins with this prefix.
    #[error(
        "ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"\n{}",
        script_list()
    )]
    AmbiguousBuiltin { prefix: String, found: usize },
    /// An unknown step letter.
    #[error(
        "unrecognized initialization step \"{letter}\"\nAllowed step characters are: \"{}\".",
        step_letters()
    )]
    UnknownStep { letter: char },
    /// An empty list of steps.
    #[error("no initialization steps specified")]
    NoSteps,
    /// An option out of range.
    #[error("{option} must be in range {low}..{high}")]
    OutOfRange { option: &'static str, low: u32, high: u32 },
    /// The server is too old for the partitioning method.
    #[error(
        "partitioning by {method} requires PostgreSQL {needed} or newer; this server is {server}. \
         Omit --partitions, or use a newer server"
    )]
    PartitioningUnsupported { method: &'static str, needed: u32, server: String },
    /// A statement failed.
    #[error("query failed: {source}\nQuery was: {sql}")]
    Query { sql: String, source: ConnectError },
    /// A table of the scripts is missing, or not in the search path.
    #[error(
        "database \"{database}\" has no table {table}. Create and fill the tables with `{init}` \
         (on the same connection), or give your own script with -f"
    )]
    TablesMissing { database: String, table: String, init: String, source: Option<Box<ConnectError>> },
    /// The accounts have a partitioning method that loading never creates.
    #[error(
        "unexpected partition method: \"{strategy}\" (pgbench_accounts can be partitioned by range or hash). \
         Create the tables again with `pgmeter init`"
    )]
    UnknownPartitionMethod { strategy: String },
    /// The tables exist, but their number of rows is unusable.
    #[error(
        "{table} has {rows} rows, so the scale cannot be determined. Fill the tables with `{init}` (on the same \
         connection)"
    )]
    ScaleUnusable { table: String, rows: String, init: String },
    /// The caller's progress function asked to stop.
    #[error("loading was interrupted; continue with `pgmeter init --resume` and the same options")]
    Interrupted,
    /// The same, for a workload whose loading cannot be resumed.
    #[error("loading was interrupted; start again with `{init}`")]
    InterruptedForGood { init: String },
    /// The existing tables were not created with these options.
    #[error(
        "--resume requires tables that were created with the same options, but {found}; omit --resume to create \
         the tables again"
    )]
    NotResumable { found: String },
}

/// A check that returned rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    /// The check's name.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// The first row, shortened.
    pub first: String,
}

impl WorkloadError {
    /// Whether a statement failed because a table does not exist.
    pub fn is_missing_table(&self) -> bool {
        const UNDEFINED_TABLE: &str = "42P01";
        match self {
            Self::Query { source, .. } => {
                source.server_error().is_some_and(|error| error.sqlstate.to_string() == UNDEFINED_TABLE)
            }
            _ => false,
        }
    }
}

impl FailedCheck {
    /// Maximum length of a row in a message.
    const SHOWN_MAX: usize = 100;

    pub(crate) fn new(name: &str, rows: usize, first: &Row) -> FailedCheck {
        let values = (0..first.len()).map(|column| first.get(column).unwrap_or("NULL"));
        let text = values.collect::<Vec<_>>().join(" | ");
        let mut shown: String = text.chars().take(Self::SHOWN_MAX).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        FailedCheck { name: name.to_owned(), rows, first: shown }
    }
}

impl fmt::Display for FailedCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, first } = self;
        match rows {
            1 => write!(out, "{name} (1 row: {first})"),
            _ => write!(out, "{name} ({rows} rows, the first: {first})"),
        }
    }
}

/// `1 check of the workload shop failed: stock (2 rows, the first: 7 | -1). Sound data return no row`
fn checks_failed(workload: &str, failed: &[FailedCheck]) -> String {
    let shown: Vec<String> = failed.iter().map(ToString::to_string).collect();
    let noun = if failed.len() == 1 { "check" } else { "checks" };
    format!(
        "{} {noun} of the workload {workload} failed: {}. A check returns no row if the data are sound",
        failed.len(),
        shown.join(", ")
    )
}
