//! Everything that can go wrong with a workload, each with the sentence that a user needs.
//! Messages that exist in `pgbench` keep its words.

use connect::ConnectError;

use crate::builtin::builtin_list;
use crate::step::step_letters;

/// Why a workload could not be found, made or used.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// No built-in script begins with this name.
    #[error("no builtin script found for name \"{name}\"\n{}", builtin_list())]
    UnknownBuiltin {
        /// What was asked for.
        name: String,
    },
    /// More than one built-in script begins with this prefix.
    #[error(
        "ambiguous builtin name: {found} builtin scripts found for prefix \"{prefix}\"\n{}",
        builtin_list()
    )]
    AmbiguousBuiltin {
        /// What was asked for.
        prefix: String,
        /// How many names begin with it.
        found: usize,
    },
    /// A letter that names no step.
    #[error(
        "unrecognized initialization step \"{letter}\"\nAllowed step characters are: \"{}\".",
        step_letters()
    )]
    UnknownStep {
        /// The letter.
        letter: char,
    },
    /// A list of steps without a step.
    #[error("no initialization steps specified")]
    NoSteps,
    /// An option outside its limits.
    #[error("{option} must be in range {low}..{high}")]
    OutOfRange {
        /// As written on the command line.
        option: &'static str,
        /// The least value allowed.
        low: u32,
        /// The greatest value allowed.
        high: u32,
    },
    /// The server is older than the kind of partitioning asked for.
    #[error(
        "partitioning by {method} needs PostgreSQL {needed} or newer; this server is {server}. \
         Leave out --partitions, or use a newer server"
    )]
    PartitioningUnsupported {
        /// `range` or `hash`.
        method: &'static str,
        /// The first major version that has it.
        needed: u32,
        /// The server's version as it calls itself.
        server: String,
    },
    /// A statement failed.
    #[error("query failed: {source}\nQuery was: {sql}")]
    Query {
        /// The statement.
        sql: String,
        /// What the server or the connection said.
        source: ConnectError,
    },
    /// A table that the built-in scripts use is not there, or not in the search path.
    #[error(
        "database \"{database}\" has no table {table}. Create and fill the tables with `pgmeter init` \
         (on the same connection), or name your own script with -f"
    )]
    TablesMissing {
        /// The database looked in.
        database: String,
        /// The table.
        table: &'static str,
        /// What the server said; nothing for a table that was looked up and not found.
        source: Option<ConnectError>,
    },
    /// The accounts are partitioned in a way that is not one of those that loading makes.
    #[error(
        "unexpected partition method: \"{strategy}\" (pgbench_accounts can be partitioned by range or hash). \
         Make the tables anew with `pgmeter init`"
    )]
    UnknownPartitionMethod {
        /// The letter of the catalog.
        strategy: String,
    },
    /// The tables are there and hold no usable number of rows.
    #[error(
        "pgbench_branches has {branches} rows, which gives no scale to run at. \
         Fill the tables with `pgmeter init` (on the same connection)"
    )]
    ScaleUnusable {
        /// `count(*)` of pgbench_branches, as the server wrote it.
        branches: String,
    },
    /// The caller's progress function asked to stop.
    #[error("loading was interrupted; go on with `pgmeter init --resume` and the same options")]
    Interrupted,
    /// The tables that are there were not begun with these options.
    #[error(
        "--resume goes on only with what the same options began, and {found}; \
         leave out --resume to make the tables anew"
    )]
    NotResumable {
        /// What is different.
        found: String,
    },
}
