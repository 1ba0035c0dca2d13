//! Arguments of `pgmeter compare`, and the experiment that they describe: a file, or keys and a factor on the command
//! line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::experiment::{Cell, Comparable, Experiment, Profile, Typed, TypedDdl};
use ::lab::{CompareOptions, SearchOptions, SearchesOptions};
use clap::Args;
use connect::Patience;
use results::ComparedMetric;
use run::RunSpec;
use run::options::percent;

use crate::arguments::{
    AddressArguments, AnnotationArguments, StoreArguments, Word, positive_seconds, words,
};
use crate::failure::Failure;
use crate::options::{RunCommand, RunOptions};
use crate::output::OutputArguments;

/// The base specification: the default load of an experiment.
#[derive(Clone, Copy, Debug)]
struct Compare;

impl RunCommand for Compare {
    const OPTIONS: &'static [&'static str] = &[
        "file",
        "builtin",
        "skip_some_updates",
        "select_only",
        "variables",
        "scale",
        "clients",
        "workers",
        "protocol",
        "rate",
        "grace",
        "goal",
    ];
    const CONFLICTS: &'static [&'static str] = &["experiment"];
    const HEADING: Option<Option<&'static str>> = Some(Some("Load"));
    const HELPS: &'static [(&'static str, &'static str)] = &[
        ("file", "Script file; @WEIGHT sets its share of the mix; may be repeated"),
        (
            "builtin",
            "Built-in script (tpcb-like, simple-update, select-only); @WEIGHT sets its share; may be repeated",
        ),
        ("scale", "Scale factor; one unit is 100,000 accounts [default: 1]"),
        ("rate", "Target rate in transactions per second over all clients (open loop)"),
        (
            "grace",
            "Time that transactions get to finish after the end of a block; after it they are cancelled, and the \
             comparison fails",
        ),
    ];

    fn base() -> RunSpec {
        ::experiment::default_load()
    }
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Experiment file (TOML) with one factor of two levels; A is the first level, B the second
    #[arg(value_name = "FILE")]
    experiment: Option<PathBuf>,
    /// Run the small version of the experiment, described by its section [quick]
    #[arg(long, requires = "experiment")]
    quick: bool,
    /// Experiment key that differs between A and B, and its two levels, such as settings.wal_compression=off,pglz
    #[arg(long, value_name = "KEY=A,B", conflicts_with = "experiment", help_heading = "Comparison")]
    factor: Option<String>,
    /// SQL, or a file ending in .sql, that changes the schema for A; without it, A is the database as it is
    #[arg(long, value_name = "SQL", conflicts_with_all = ["experiment", "factor"], help_heading = "Comparison")]
    a_sql: Option<String>,
    /// SQL that undoes --a-sql; the default for CREATE INDEX with a name is DROP INDEX
    #[arg(long, value_name = "SQL", requires = "a_sql", help_heading = "Comparison")]
    a_undo: Option<String>,
    /// SQL, or a file ending in .sql, that changes the schema for B, such as 'CREATE INDEX i ON t (x)'
    #[arg(long, value_name = "SQL", conflicts_with_all = ["experiment", "factor"], help_heading = "Comparison")]
    b_sql: Option<String>,
    /// SQL that undoes --b-sql; the default for CREATE INDEX with a name is DROP INDEX
    #[arg(long, value_name = "SQL", requires = "b_sql", help_heading = "Comparison")]
    b_undo: Option<String>,
    #[command(flatten)]
    run: RunOptions<Compare>,
    /// Any other experiment key, such as fillfactor=50 or network=tcp; may be repeated
    #[arg(long = "key", value_name = "KEY=VALUE", conflicts_with = "experiment", help_heading = "Load")]
    keys: Vec<String>,
    /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4) [default: 18]
    #[arg(long, visible_alias = "version", value_name = "VERSION", conflicts_with_all = ["experiment", "bin_dir", "dbname", "host", "port", "username"], help_heading = "Server")]
    pg_version: Option<String>,
    /// Directory with the programs of an installed PostgreSQL
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "dbname", "host", "port", "username"], help_heading = "Server")]
    bin_dir: Option<PathBuf>,
    #[command(flatten)]
    address: AddressArguments,
    /// Connection to the server of A; A and B have two servers that run, and otherwise the same load
    #[arg(long, value_name = "CONNECTION", requires = "b", conflicts_with_all = ["experiment", "factor", "a_sql", "b_sql", "pg_version", "bin_dir", "dbname"], help_heading = "Server")]
    a: Option<String>,
    /// Connection to the server of B
    #[arg(long, value_name = "CONNECTION", requires = "a", help_heading = "Server")]
    b: Option<String>,
    /// Use the database of -d, or of PGHOST, PGDATABASE and the other PG* variables, as it is: no copies, no tables of
    /// pgmeter's own, no vacuum, no checkpoints. Without it, the comparison creates its own databases on the server and
    /// drops them
    #[arg(long, conflicts_with_all = ["experiment", "pg_version", "bin_dir"], help_heading = "Server")]
    in_place: bool,
    /// Allow --a-sql and --b-sql to change the schema of your database in place; the changes are undone at the end
    #[arg(long, requires = "in_place", help_heading = "Server")]
    allow_ddl: bool,
    /// Undo what killed comparisons left in the database of -d or of the PG* variables, and compare nothing
    #[arg(long, conflicts_with_all = ["experiment", "factor", "a_sql", "b_sql", "pg_version", "bin_dir"], help_heading = "Server")]
    pub(super) undo: bool,
    /// Longest wait for a lock of one try to change your schema in place; others wait behind it that long
    #[arg(long, value_name = "TIME", requires = "allow_ddl", default_value = "1s", help_heading = "Server", value_parser = ::lab::lock_time)]
    lock_timeout: Duration,
    /// Time after which a change of your schema in place that does not get its locks is given up
    #[arg(long, value_name = "TIME", requires = "allow_ddl", default_value = "1min", help_heading = "Server", value_parser = ::lab::lock_time)]
    lock_limit: Duration,
    /// Server setting for both sides; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", conflicts_with = "experiment", help_heading = "Server")]
    settings: Vec<String>,
    /// Operating system user that runs embedded servers if pgmeter runs as root [default: postgres if it exists, otherwise nobody]
    #[arg(long, value_name = "USER", help_heading = "Server")]
    server_user: Option<String>,

    /// Compare the highest rates that keep the goals (--goal), found by searches on A and B in turns
    #[arg(long, conflicts_with_all = ["metric", "block", "checkpoint"], help_heading = "Comparison")]
    pub(super) search: bool,
    /// Half of the interval of each rate, relative to it, at which the searches may end
    #[arg(long, value_name = "PERCENT", requires = "search", default_value = "3%", help_heading = "Comparison", value_parser = SearchOptions::width)]
    width: f64,
    /// The highest rate to try with --search, in transactions per second
    #[arg(long, value_name = "TPS", requires = "search", help_heading = "Comparison", value_parser = SearchOptions::rate)]
    max_rate: Option<f64>,
    /// Time limit, such as 90s, 5min or 2h; starting and loading the first servers does not count
    #[arg(long, value_name = "TIME", default_value = "5min", help_heading = "Comparison", value_parser = time)]
    budget: Duration,
    /// Largest deterioration of B that you accept
    #[arg(long, value_name = "PERCENT", default_value = "2%", help_heading = "Comparison", value_parser = percent)]
    tolerance: f64,
    /// Metric that determines the verdict: tps, p50, p99 or any other percentile of latency such as p95 or p99.9,
    /// server-cpu, client-cpu, wal, full-page-images or blocks-read [default: tps; with a rate: p50]
    #[arg(long, value_name = "METRIC", help_heading = "Comparison", value_parser = ::lab::compared_metric)]
    metric: Option<ComparedMetric>,
    /// Length of a block [default: 0.25 s, more if transactions take long]
    #[arg(long, value_name = "TIME", help_heading = "Comparison", value_parser = positive_seconds)]
    block: Option<f64>,
    /// Blocks of each side in a pair, each on new connections
    #[arg(long, value_name = "N", default_value_t = 1, hide = true, value_parser = clap::value_parser!(u32).range(1..=64))]
    blocks: u32,
    /// Request a checkpoint before each block if the load writes [default: auto; with --in-place: never]
    #[arg(long, value_name = "WHEN", help_heading = "Comparison", value_parser = words(&CHECKPOINTS))]
    checkpoint: Option<bool>,
    /// Seed of the order and of all random numbers [default: the experiment's seed, otherwise random]
    #[arg(long, value_name = "SEED", alias = "random-seed", help_heading = "Comparison")]
    seed: Option<u64>,
    #[command(flatten)]
    pub(super) output: OutputArguments,
    #[command(flatten)]
    annotation: AnnotationArguments,
    #[command(flatten)]
    pub(super) places: StoreArguments,
}

const CHECKPOINTS: [Word<bool>; 2] = [
    ("auto", "If the blocks write and the role may request a checkpoint", true),
    ("never", "No checkpoints", false),
];

/// Name of an experiment without a file.
const NAME: &str = "compare";
/// Minimum time limit.
const BUDGET_MIN: Duration = Duration::from_secs(1);

/// Parses a time with a unit.
fn time(text: &str) -> Result<Duration, String> {
    let time = run::options::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if time < BUDGET_MIN {
        return Err("must be at least 1s".to_owned());
    }
    Ok(time)
}

impl CompareArguments {
    /// The comparison, before workloads are read.
    pub(super) fn comparable(&self) -> Result<Comparable, Failure> {
        let annotation = self.annotation.annotation()?;
        let mut what = self.comparable_without_annotation()?;
        what.experiment.annotation.replace(annotation);
        Ok(what)
    }

    fn comparable_without_annotation(&self) -> Result<Comparable, Failure> {
        let server_user = self.server_user.clone();
        let Some(file) = &self.experiment else {
            if [&self.factor, &self.a_sql, &self.b_sql, &self.a].iter().all(|difference| difference.is_none())
            {
                let what = "specify the difference, such as --factor protocol=simple,prepared, --b-sql 'CREATE INDEX …', \
                            --a CONNECTION --b CONNECTION, or an experiment with one factor of two levels";
                return Err(Failure::Usage(what.to_owned()));
            }
            let experiment = self.typed()?.experiment(NAME)?;
            return Ok(Comparable {
                experiment,
                folder: None,
                file: None,
                profile: Profile::Full,
                server_user,
            });
        };
        let profile = if self.quick { Profile::Quick } else { Profile::Full };
        let mut experiment = Experiment::read(file, profile)?;
        experiment.connect_to(self.dsn()?.as_deref())?;
        let folder = Some(file.parent().unwrap_or(Path::new(".")).to_owned());
        Ok(Comparable { experiment, folder, file: Some(file.clone()), profile, server_user })
    }

    /// The connection to a running server, if one is given.
    pub(super) fn dsn(&self) -> Result<Option<String>, Failure> {
        self.address.text_with(None)
    }

    /// How long changes of the schema wait for locks.
    pub(super) fn patience(&self) -> Patience {
        Patience { lock_timeout: self.lock_timeout, limit: self.lock_limit }
    }

    /// The options as keys of an experiment.
    fn typed(&self) -> Result<Typed, Failure> {
        let ddl = [(&self.a_sql, &self.a_undo), (&self.b_sql, &self.b_undo)];
        let mut typed = Typed {
            factor: self.factor.clone().unwrap_or_default(),
            ddl: ddl.map(|(sql, undo)| TypedDdl { sql: sql.clone(), undo: undo.clone() }),
            servers: self.a.clone().zip(self.b.clone()).map(|(a, b)| [a, b]),
            ..Typed::default()
        };
        let keys = [
            ("version", self.pg_version.clone()),
            ("bin_dir", self.bin_dir.as_ref().map(|path| path.display().to_string())),
            ("dsn", self.dsn()?),
            ("in_place", self.in_place.then(|| "true".to_owned())),
            ("allow_ddl", self.allow_ddl.then(|| "true".to_owned())),
        ];
        typed.keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        typed.add_options(self.run.values()?).map_err(Failure::Usage)?;
        typed.add_pairs("--set", "settings.", &self.settings)?;
        typed.add_pairs("--key", "", &self.keys)?;
        Ok(typed)
    }

    /// Options of a comparison by searches.
    pub(super) fn searches(&self, what: &Comparable) -> SearchesOptions {
        let search = SearchOptions {
            budget_s: self.budget.as_secs_f64(),
            width: self.width,
            max_rate_tps: self.max_rate,
            clients: None,
            seed: self.chosen_seed(what),
            expected_tps: None,
            confirms: false,
        };
        SearchesOptions { search, tolerance: self.tolerance, patience: self.patience() }
    }

    fn chosen_seed(&self, what: &Comparable) -> u64 {
        self.seed.or(what.experiment.design.seed_given).unwrap_or_else(seed_of_the_system)
    }

    /// Options of the comparison.
    pub(super) fn options(&self, what: &Comparable, cells: &[Cell; 2]) -> Result<CompareOptions, Failure> {
        let allows = |cell: &Cell| !cell.configuration.server.in_place || cell.configuration.data.checkpoint;
        let has_rate = cells.iter().any(|cell| cell.configuration.load.has_rate());
        let usual = if has_rate { ComparedMetric::P50 } else { ComparedMetric::Tps };
        let budget_s = self.budget.as_secs_f64();
        if self.block.is_some_and(|block| block > budget_s / 4.0) {
            return Err(Failure::Usage(format!(
                "--block {} is too long: a budget of {budget_s} s must contain two pairs of blocks",
                self.block.unwrap_or_default()
            )));
        }
        Ok(CompareOptions {
            budget_s,
            tolerance: self.tolerance,
            decisive: self.metric.unwrap_or(usual),
            seed: self.chosen_seed(what),
            checkpoints: self.checkpoint.unwrap_or_else(|| cells.iter().all(allows)),
            block_s: self.block,
            blocks: self.blocks as usize,
            patience: self.patience(),
        })
    }
}

/// A random seed that `--random-seed` accepts and JSON preserves.
fn seed_of_the_system() -> u64 {
    run::fresh_seed() >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_a_unit_and_is_no_less_than_a_second() {
        assert_eq!(time("5min"), Ok(Duration::from_secs(300)));
        assert!(time("5").is_err_and(|why| why.starts_with("expected a number with a unit")));
        assert_eq!(time("10ms"), Err("must be at least 1s".to_owned()));
    }
}
