//! What can be typed: commands, options and their help.
//! What it means is decided by the module of each command; what clap checks here needs no check there.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use run::options::seconds;

use crate::bench::Bench;
use crate::calibrate::Calibrate;
use crate::compare::CompareArguments;
use crate::lab_command::LabArguments;
use crate::manual::{CompletionsArguments, ManArguments};
use crate::options::RunOptions;
use crate::quickstart::Quickstart;
use crate::relay::RelayArguments;
use crate::runs::RunsArguments;
use crate::storing::StoreArguments;
use crate::terminal::Colour;

/// Measures PostgreSQL: throughput, true percentiles, and what the measuring itself cost
#[derive(Debug, Parser)]
#[command(name = "pgmeter", version, max_term_width = 110, subcommand_required = true)]
#[command(
    after_help = "`pgmeter pgbench …`, or pgmeter called through a link named pgbench, takes pgbench's command line:\n\
                        see `pgmeter pgbench --help`"
)]
pub(crate) struct Arguments {
    /// When to use colour in reports
    #[arg(long = "color", value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) colour: Colour,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start an embedded PostgreSQL, load it, run two workloads, report: nothing to set up before
    Quickstart(QuickstartArguments),
    /// Run a workload against any server
    Bench(Box<BenchArguments>),
    /// Create and fill the tables of a workload
    Init(InitArguments),
    /// Show runs that were recorded: one, or several side by side as a page, a table or a picture
    Report(ReportArguments),
    /// Find out what pgmeter itself can do at best on this machine, so that runs can be held against it
    Calibrate(CalibrateArguments),
    /// List the runs that are stored, newest last; `import` takes records into the store
    Runs(RunsArguments),
    /// Run experiments from files: many trials in an order that noise cannot fool, resumable
    Lab(LabArguments),
    /// Is B faster than A? Blocks of both in turns, until the answer is sure; the exit status says it too
    Compare(Box<CompareArguments>),
    /// Install, start, stop and list PostgreSQL servers managed by pgmeter
    Server(ServerArguments),
    /// Put a network between clients and a server: delay, jitter, limited bandwidth, in user space
    Relay(RelayArguments),
    /// Print completions for a shell: pgmeter completions bash > ~/.local/share/bash-completion/completions/pgmeter
    Completions(CompletionsArguments),
    /// Write manual pages, one for each command
    Man(ManArguments),
    /// Answer every query at once and do nothing: what is measured against it is the load generator
    #[command(hide = true)]
    NullServer(NullServerArguments),
}

#[derive(Debug, Args)]
pub(crate) struct QuickstartArguments {
    /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4)
    #[arg(long, value_name = "VERSION", default_value = "18")]
    pub(crate) pg_version: String,
    /// Directory with the programs of a PostgreSQL installed here, instead of fetching one
    #[arg(long, value_name = "DIR")]
    pub(crate) bin_dir: Option<PathBuf>,
    /// SHA-256 sum that the archive of the programs must have; only for versions that are fetched
    #[arg(long, value_name = "SHA256", conflicts_with = "bin_dir")]
    pub(crate) checksum: Option<server::Checksum>,
    /// When run as root: the user who runs the server [default: postgres, else nobody]
    #[arg(long, value_name = "USER")]
    pub(crate) server_user: Option<String>,
    /// Setting of the server, as in postgresql.conf; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Connect over TCP (127.0.0.1, with a random password) instead of the Unix socket
    #[arg(long)]
    pub(crate) tcp: bool,
    /// Do not load pg_stat_statements or set track_io_timing
    #[arg(long)]
    pub(crate) no_instrumentation: bool,
    /// Scale of the tables: 100,000 accounts each (about 15 MB)
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(crate) scale: u32,
    #[command(flatten)]
    pub(crate) run: RunOptions<Quickstart>,
    #[command(flatten)]
    pub(crate) places: StoreArguments,
    /// Write the workloads side by side as a page with charts, in one file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Keep the server running afterwards, and say how to connect
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Where the server is. What is missing comes from the PG* variables, as in psql.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArguments {
    /// Database name, conninfo string ("host=… dbname=…") or URI (postgresql://…)
    #[arg(value_name = "CONNECTION")]
    pub(crate) connection: Option<String>,
    /// Server host or directory of its socket
    #[arg(short = 'h', long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Server port
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// User name on the server
    #[arg(short = 'U', long, value_name = "USER")]
    pub(crate) username: Option<String>,
    /// Database name, conninfo string or URI
    #[arg(short, long, value_name = "CONNECTION", conflicts_with = "connection")]
    pub(crate) dbname: Option<String>,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    pub(crate) connection: ConnectionArguments,
    /// Print help
    #[arg(short = '?', long, action = ArgAction::Help)]
    help: Option<bool>,

    #[command(flatten)]
    pub(crate) run: RunOptions<Bench>,

    /// While it runs: live (drawn anew each second), plain (a line each second), a line every so many SECONDS, or
    /// none [default: live on a terminal, every 10 elsewhere]
    #[arg(short = 'P', long, value_name = "HOW", value_parser = progress, help_heading = "What to show")]
    pub(crate) progress: Option<ProgressName>,
    /// Serve the figures of the run that goes on as OpenMetrics, for Prometheus and the like; port 0 is a free one
    #[arg(long, value_name = "HOST:PORT", help_heading = "What to show")]
    pub(crate) metrics: Option<String>,
    /// Latency, failures and retries of each command of the scripts
    #[arg(short, long, help_heading = "What to show")]
    pub(crate) report_per_command: bool,
    /// Tell the errors after which transactions are tried again or have failed
    #[arg(long, help_heading = "What to show")]
    pub(crate) verbose_errors: bool,
    /// Log each transaction to a file, one for each thread
    #[arg(short, long, help_heading = "What to show")]
    pub(crate) log: bool,
    /// What names of log files begin with
    #[arg(
        long,
        value_name = "PATH",
        default_value = "pgmeter_log",
        requires = "log",
        help_heading = "What to show"
    )]
    pub(crate) log_prefix: PathBuf,
    /// Log a line for each so many seconds instead of each transaction
    #[arg(long, value_name = "SECONDS", requires = "log", conflicts_with = "sampling_rate", help_heading = "What to show", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) aggregate_interval: Option<u32>,
    /// Log only this share of the transactions, such as 0.01
    #[arg(long, value_name = "SHARE", requires = "log", help_heading = "What to show", value_parser = share)]
    pub(crate) sampling_rate: Option<f64>,
    #[command(flatten, next_help_heading = "What to keep")]
    pub(crate) places: StoreArguments,
    /// Write the run as a page with charts, in one file that needs no network
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    pub(crate) html: Option<PathBuf>,
}

/// What a report can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// The summary, as after a run
    Text,
    /// The record; of several runs a list
    Json,
    /// For issues and notes
    Markdown,
    /// One line for each figure
    Csv,
    /// A page with charts, in one file that needs no network
    Html,
    /// The main charts as a drawing
    Svg,
    /// The main charts as a picture
    Png,
}

/// In which of its file's sizes an experiment was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// As the file says
    Full,
    /// With --quick
    Quick,
}

impl ProfileName {
    /// As the store has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Runs: by number as `pgmeter runs` lists them, `last`, `last-1` for the one before, or a record's path; the others
    /// are compared with the first. The file of an experiment stands for the newest of its name. Without any: the one
    /// experiment in the store
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// The newest experiment of this name, instead of runs
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    pub(crate) experiment: Option<String>,
    /// Of that, the one in this size [default: whichever was begun last]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<ProfileName>,
    /// A comparison of `pgmeter compare`, by its number or `last`, instead of runs; as text or JSON
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["runs", "experiment", "profile"])]
    pub(crate) comparison: Option<String>,
    /// What to make of them; several runs are held against the first
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FormatName,
    /// File to write, instead of standard output (`-`); replaced if it is there
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: StoreArguments,
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct InitArguments {
    #[command(flatten)]
    pub(crate) connection: ConnectionArguments,
    /// Print help
    #[arg(short = '?', long, action = ArgAction::Help)]
    help: Option<bool>,
    /// tpcb, the tables of pgbench, or a folder of your own with a workload.toml [default: tpcb]
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) workload: Option<String>,
    /// Value of a parameter of the workload; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Scale: 100,000 accounts each (about 15 MB), or the unit of the workload
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub(crate) scale: u32,
    /// Steps in order: d drop, t create tables, g generate, G generate on the server, v vacuum, p primary keys, f foreign keys
    #[arg(short = 'I', long, value_name = "STEPS", default_value = "dtgvp")]
    pub(crate) init_steps: String,
    /// How full, in percent, the pages of the tables are packed
    #[arg(short = 'F', long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(10..=100))]
    pub(crate) fillfactor: u8,
    /// Split the accounts into so many partitions; 0 does not
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(i32::MAX)))]
    pub(crate) partitions: u32,
    /// How the accounts are split [default: range]
    #[arg(long, value_name = "METHOD", ignore_case = true, requires = "partitions")]
    pub(crate) partition_method: Option<PartitionMethodName>,
    /// Make unlogged tables
    #[arg(long)]
    pub(crate) unlogged_tables: bool,
    /// Where the tables go
    #[arg(long, value_name = "NAME")]
    pub(crate) tablespace: Option<String>,
    /// Where the indexes go
    #[arg(long, value_name = "NAME")]
    pub(crate) index_tablespace: Option<String>,
    /// Add foreign keys at the end, as step f
    #[arg(long)]
    pub(crate) foreign_keys: bool,
    /// Leave step v out
    #[arg(short, long)]
    pub(crate) no_vacuum: bool,
    /// Sessions that work on partitions side by side [default: the processors here, 2 to 8]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) jobs: Option<u32>,
    /// Go on with a loading that was broken off: do only what is missing; give the same options again
    #[arg(long)]
    pub(crate) resume: bool,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How the accounts are split.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PartitionMethodName {
    // Equal ranges of account numbers.
    Range,
    // By hash of the account number.
    Hash,
}

#[derive(Debug, Args)]
pub(crate) struct NullServerArguments {
    /// Directory for its Unix socket (with a slash), or HOST:PORT; port 0 is a free one
    #[arg(long, value_name = "DIR|HOST:PORT")]
    pub(crate) listen: String,
    /// Rows that each SELECT returns
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) rows: u32,
    /// Seconds after which it falls silent, again and again
    #[arg(long, value_name = "SECONDS", requires = "stall_for", value_parser = seconds)]
    pub(crate) stall_every: Option<f64>,
    /// Seconds for which it is silent then
    #[arg(long, value_name = "SECONDS", requires = "stall_every", value_parser = positive_seconds)]
    pub(crate) stall_for: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateArguments {
    #[command(flatten)]
    pub(crate) run: RunOptions<Calibrate>,
    /// Show what is kept, and measure nothing
    #[arg(long, conflicts_with = "duration")]
    pub(crate) show: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArguments {
    #[command(subcommand)]
    pub(crate) action: ServerAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServerAction {
    /// Make a server: fetch its programs if need be, and create its data directory
    Install {
        /// Its name
        name: String,
        /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4)
        #[arg(long, value_name = "VERSION", default_value = "18")]
        pg_version: String,
        /// Directory with the programs of a PostgreSQL installed here, instead of fetching one
        #[arg(long, value_name = "DIR")]
        bin_dir: Option<PathBuf>,
        /// SHA-256 sum that the archive of the programs must have; only for versions that are fetched
        #[arg(long, value_name = "SHA256", conflicts_with = "bin_dir")]
        checksum: Option<server::Checksum>,
        /// When run as root: the user who runs the server [default: postgres, else nobody]
        #[arg(long, value_name = "USER")]
        server_user: Option<String>,
        /// Setting of the server, as in postgresql.conf; may be repeated
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
        /// Do not load pg_stat_statements or set track_io_timing
        #[arg(long)]
        no_instrumentation: bool,
    },
    /// Start it, and say how to connect
    Start {
        /// Its name
        name: String,
        /// Listen on TCP too (127.0.0.1, with a random password); otherwise only on a Unix socket in a private directory
        #[arg(long)]
        tcp: bool,
    },
    /// Stop it; its data stay
    Stop {
        /// Its name
        name: String,
        /// Remove its data too
        #[arg(long)]
        remove: bool,
    },
    /// List all servers
    List,
    /// Tell all about one server
    Status {
        /// Its name
        name: String,
    },
}

/// How the progress of a run is shown, as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressName {
    Live,
    Plain,
    Every(u32),
    Nothing,
}

fn progress(text: &str) -> Result<ProgressName, String> {
    match text {
        "live" => Ok(ProgressName::Live),
        "plain" => Ok(ProgressName::Plain),
        "none" | "0" => Ok(ProgressName::Nothing),
        seconds => match seconds.parse() {
            Ok(seconds) => Ok(ProgressName::Every(seconds)),
            Err(_) => Err("expected live, plain, none, or a number of seconds".to_owned()),
        },
    }
}

/// Parses a number of seconds above 0.
pub(crate) fn positive_seconds(text: &str) -> Result<f64, String> {
    match seconds(text)? {
        0.0 => Err("must be more than 0".to_owned()),
        seconds => Ok(seconds),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err("expected a number above 0 and up to 1, such as 0.01".to_owned()),
    }
}

/// How Rust's parsers of numbers call what is wrong, and how people do.
const PLAIN_WORDS: [(&str, &str); 6] = [
    ("invalid float literal", "expected a number, such as 10 or 0.5"),
    ("cannot parse float from empty string", "expected a number, such as 10 or 0.5"),
    ("invalid digit found in string", "expected a whole number"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
];

/// The text with our own words for Rust's.
pub(crate) fn in_plain_words(text: &str) -> String {
    PLAIN_WORDS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_options_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_time_that_must_pass_is_not_0() {
        assert_eq!(positive_seconds("0.5s"), Ok(0.5));
        assert!(positive_seconds("0").is_err());
    }
}
