//! Arguments of `pgmeter compare`, and the experiment that they describe: a file, or keys and a factor on the command
//! line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::lab::{Cell, Comparable, CompareOptions, Design, Experiment, Profile, Typed};
use clap::{Arg, ArgAction, Args};
use results::ComparedMetric;
use run::options::{RunOption, Value, key, percent};
use run::{RunSpec, ScriptSource, ScriptSpec};

use crate::arguments::{StoreArguments, Word, positive_seconds, words};
use crate::failure::Failure;
use crate::options::{self, RunCommand, RunOptions};
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
    ];
    const CONFLICTS: &'static [&'static str] = &["experiment"];

    fn base() -> RunSpec {
        ::lab::default_load()
    }

    fn adapted(option: &RunOption, argument: Arg) -> Arg {
        let argument = argument.help_heading("Load");
        let text = match option.name {
            "file" => "Script file; @WEIGHT sets its share of the mix; may be repeated",
            "builtin" => {
                "Built-in script (tpcb-like, simple-update, select-only); @WEIGHT sets its share; may be repeated"
            }
            "scale" => "Scale factor; one unit is 100,000 accounts [default: 1]",
            "rate" => "Target rate in transactions per second over all clients (open loop)",
            "grace" => {
                "Time that transactions get to finish after the end of a block; after it they are cancelled, and the \
                 comparison fails"
            }
            _ => return argument,
        };
        argument.help(options::help(option, text, &Self::base()))
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
    #[command(flatten)]
    run: RunOptions<Compare>,
    /// Any other experiment key, such as fillfactor=50 or network=tcp; may be repeated
    #[arg(long = "key", value_name = "KEY=VALUE", conflicts_with = "experiment", help_heading = "Load")]
    keys: Vec<String>,
    /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4) [default: 18]
    #[arg(long, visible_alias = "version", value_name = "VERSION", conflicts_with_all = ["experiment", "bin_dir", "dsn"], help_heading = "Server")]
    pg_version: Option<String>,
    /// Directory with the programs of an installed PostgreSQL
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "dsn"], help_heading = "Server")]
    bin_dir: Option<PathBuf>,
    /// Connection string of a running server; the comparison creates its own databases there and drops them
    #[arg(long, value_name = "CONNECTION", conflicts_with = "experiment", help_heading = "Server")]
    dsn: Option<String>,
    /// Server setting for both sides; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", conflicts_with = "experiment", help_heading = "Server")]
    settings: Vec<String>,
    /// Operating system user that runs embedded servers if pgmeter runs as root [default: postgres if it exists, otherwise nobody]
    #[arg(long, value_name = "USER", help_heading = "Server")]
    server_user: Option<String>,

    /// Time limit, such as 90s, 5min or 2h; starting and loading the first servers does not count
    #[arg(long, value_name = "TIME", default_value = "5min", help_heading = "Comparison", value_parser = time)]
    budget: Duration,
    /// Smallest relevant difference; a smaller deterioration does not matter
    #[arg(long, value_name = "PERCENT", default_value = "2%", help_heading = "Comparison", value_parser = percent)]
    tolerance: f64,
    /// Metric that determines the verdict [default: tps; with a rate: p50]
    #[arg(long, value_name = "METRIC", help_heading = "Comparison", value_parser = words(&METRICS))]
    metric: Option<ComparedMetric>,
    /// Length of a block in seconds [default: 0.25, more if transactions take long]
    #[arg(long, value_name = "SECONDS", help_heading = "Comparison", value_parser = positive_seconds)]
    block: Option<f64>,
    /// Blocks of each side in a pair, each on new connections
    #[arg(long, value_name = "N", default_value_t = 1, hide = true, value_parser = clap::value_parser!(u32).range(1..=64))]
    blocks: u32,
    /// Request a checkpoint before each block if the load writes
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Comparison", action = ArgAction::Set, value_parser = words(&CHECKPOINTS))]
    checkpoint: bool,
    /// Seed of the order and of all random numbers [default: the experiment's seed, otherwise random]
    #[arg(long, value_name = "SEED", alias = "random-seed", help_heading = "Comparison")]
    seed: Option<u64>,
    #[command(flatten)]
    pub(super) output: OutputArguments,
    #[command(flatten)]
    pub(super) places: StoreArguments,
}

const METRICS: [Word<ComparedMetric>; 7] = [
    ("tps", "Transactions per second", ComparedMetric::Tps),
    ("p50", "Median latency", ComparedMetric::P50),
    ("p99", "99th percentile of latency", ComparedMetric::P99),
    ("server-cpu", "CPU time of the server's backends per transaction", ComparedMetric::ServerCpu),
    ("client-cpu", "CPU time of pgmeter per transaction", ComparedMetric::ClientCpu),
    ("wal", "WAL per transaction", ComparedMetric::Wal),
    ("full-page-images", "Full-page images in the WAL per transaction", ComparedMetric::FullPageImages),
];

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
    let time = ::lab::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if time < BUDGET_MIN {
        return Err("must be at least 1s".to_owned());
    }
    Ok(time)
}

impl CompareArguments {
    /// The comparison, before workloads are read.
    pub(super) fn comparable(&self) -> Result<Comparable, Failure> {
        let server_user = self.server_user.clone();
        let Some(file) = &self.experiment else {
            if self.factor.is_none() {
                let what = "specify the difference, such as --factor protocol=simple,prepared, or an experiment with one \
                            factor of two levels";
                return Err(Failure::Usage(what.to_owned()));
            }
            let typed = self.typed()?;
            check_beside_factor(&typed)?;
            let experiment = typed.experiment(NAME)?;
            return Ok(Comparable {
                experiment,
                folder: None,
                file: None,
                profile: Profile::Full,
                server_user,
            });
        };
        let profile = if self.quick { Profile::Quick } else { Profile::Full };
        let experiment = Experiment::read(file, profile)?;
        let folder = Some(file.parent().unwrap_or(Path::new(".")).to_owned());
        Ok(Comparable { experiment, folder, file: Some(file.clone()), profile, server_user })
    }

    /// The options as keys of an experiment.
    fn typed(&self) -> Result<Typed, Failure> {
        let mut typed = Typed { factor: self.factor.clone().unwrap_or_default(), ..Typed::default() };
        let mut key = |name: &str, value: Option<String>| {
            typed.keys.extend(value.map(|value| (name.to_owned(), value)));
        };
        key("version", self.pg_version.clone());
        key("bin_dir", self.bin_dir.as_ref().map(|path| path.display().to_string()));
        key("dsn", self.dsn.clone());
        let mut scripts = RunSpec { scripts: Vec::new(), ..RunSpec::default() };
        for (option, value) in self.run.values()? {
            match value {
                Value::Pairs(pairs) => {
                    let named = |(name, value)| (format!("{}.{name}", option.name), value);
                    typed.keys.extend(pairs.into_iter().map(named));
                }
                value if ::lab::is_key(option.name) => {
                    typed.keys.push((option.name.to_owned(), value.in_file()))
                }
                value => (option.set)(&mut scripts, value).map_err(Failure::Usage)?,
            }
        }
        let typed_script = |script: ScriptSpec| match script.source {
            ScriptSource::File(path) => (path.display().to_string(), script.weight),
            ScriptSource::OfWorkload(name) | ScriptSource::Text { name, .. } => (name, script.weight),
        };
        typed.scripts.extend(scripts.scripts.into_iter().map(typed_script));
        for (option, prefix, pairs) in [("--set", "settings.", &self.settings), ("--key", "", &self.keys)] {
            for pair in pairs {
                let (name, value) = pair
                    .split_once('=')
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or_else(|| Failure::Usage(format!("{option} {pair}: expected NAME=VALUE")))?;
                typed.keys.push((format!("{prefix}{name}"), value.to_owned()));
            }
        }
        Ok(typed)
    }

    /// Options of the comparison.
    pub(super) fn options(&self, cells: &[Cell; 2], design: &Design) -> Result<CompareOptions, Failure> {
        let has_rate = cells.iter().any(|cell| cell.configuration.load.rate_tps.is_some());
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
            seed: self.seed.or(design.seed_given).unwrap_or_else(seed_of_the_system),
            checkpoints: self.checkpoint,
            block_s: self.block,
            blocks: self.blocks as usize,
        })
    }
}

/// A random seed that `--random-seed` accepts and JSON preserves.
fn seed_of_the_system() -> u64 {
    run::fresh_seed() >> 11
}

/// Keys that select the server.
const SERVER: [&str; 3] = ["version", "bin_dir", "dsn"];

/// Rejects keys that the factor's levels would silently override.
fn check_beside_factor(typed: &Typed) -> Result<(), Failure> {
    let Some((factor, _)) = typed.factor.split_once('=') else { return Ok(()) };
    let factor = key(factor).map_or(factor, |option| option.name);
    let why = |key: &str| {
        if key == factor {
            Some("each level sets it for its side")
        } else if SERVER.contains(&key) && SERVER.contains(&factor) {
            Some("both select the server")
        } else if factor == "dsn" && key.starts_with("settings.") {
            Some("the settings of a running server stay unchanged")
        } else {
            None
        }
    };
    // A connection string may contain a password.
    let shown = |key: &str, value: &str| if key == "dsn" { key.to_owned() } else { format!("{key}={value}") };
    let scripts = typed.scripts.iter().map(|(name, _)| ("script", name.as_str()));
    let keys = typed.keys.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in keys.chain(scripts) {
        if let Some(why) = why(key) {
            let beside = shown(key, value);
            return Err(Failure::Usage(format!("{beside} cannot be combined with --factor {factor}: {why}")));
        }
    }
    Ok(())
}

/// The two sides.
pub(super) fn sides(what: &Comparable) -> Result<[Cell; 2], Failure> {
    let file = what.file.as_ref().map_or("--factor".to_owned(), |file| file.display().to_string());
    let factors = &what.experiment.factors;
    let has = match factors.as_slice() {
        [] => "is no factor".to_owned(),
        [one] if one.levels.len() == 1 => format!("is 1 level of {}", one.name),
        [one] => format!("are {} levels of {}", one.levels.len(), one.name),
        several => format!("are {} factors", several.len()),
    };
    let wrong = || {
        Failure::Usage(format!(
            "{file}: a comparison requires one factor with two levels, A and B, but there {has}"
        ))
    };
    if factors.len() != 1 {
        return Err(wrong());
    }
    let cells = <[Cell; 2]>::try_from(what.cells()?).map_err(|_| wrong())?;
    if cells.iter().any(|cell| !cell.configuration.steps.is_empty()) {
        return Err(Failure::Usage(format!(
            "{file}: its trials are timed steps, but a comparison requires a load: use pgmeter lab run"
        )));
    }
    Ok(cells)
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
