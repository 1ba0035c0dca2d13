//! Checks the combination of options: the result is one of two tasks, or the first error in pgbench's order. Needs no
//! connection.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use engine::{Limit, Plan};
use run::{ScriptText, Vacuum};
use script::PARAMETERS_MAX;
use workload::{PartitionMethod, Partitioning, Step, Tpcb};

use crate::message::Stop;
use crate::options::Options;
use crate::scripts;

/// The task of the program.
#[derive(Debug)]
pub enum Task {
    /// Initialize the tables.
    Initialize,
    /// Run transactions.
    Benchmark,
}

/// Default number of transactions of each client.
const DEFAULT_TRANSACTIONS: u64 = 10;

/// Checks everything that needs no server, and sets defaults.
///
/// # Errors
/// The first error, in pgbench's order.
pub fn decide(options: &mut Options, others: Vec<OsString>) -> Result<Task, Stop> {
    if options.scripts.texts.is_empty() && !options.initialize {
        let builtin = scripts::builtin("tpcb-like")?;
        options.add_script(ScriptText { weight: 1, ..ScriptText::of_workload(builtin, &Tpcb) })?;
    }
    if let Some(text) = options.scripts.too_many_parameters(options.spec.protocol) {
        return Err(Stop::error(format_args!(
            "statement has too many arguments (maximum is {PARAMETERS_MAX}): {text}"
        )));
    }
    if !options.initialize && options.scripts.total_weight() == 0 {
        return Err(Stop::error("total script weight must not be zero"));
    }
    name_database(options, others)?;
    if options.initialize {
        check_initialization(options)?;
        complete_initialization(options);
        return Ok(Task::Initialize);
    }
    check_benchmark(options)?;
    complete_benchmark(options);
    Ok(Task::Benchmark)
}

/// `-d`, or the first other argument; variables are applied later. `-U` is ignored.
fn name_database(options: &mut Options, others: Vec<OsString>) -> Result<(), Stop> {
    let mut others = others.into_iter().map(|other| encoding::decode(other.as_bytes()).into_owned());
    if options.connection.dbname.is_none() {
        options.connection.dbname = others.next();
    }
    match others.next() {
        None => Ok(()),
        Some(first) => {
            let sentence = format!("too many command-line arguments (first is \"{first}\")");
            Err(Stop::error(sentence).with_help_hint())
        }
    }
}

fn check_initialization(options: &Options) -> Result<(), Stop> {
    if options.benchmark_option {
        return refuse("some of the specified options cannot be used in initialization (-i) mode");
    }
    if options.partitions == 0 && options.partition_method.is_some() {
        return refuse("--partition-method requires greater than zero --partitions");
    }
    Ok(())
}

fn complete_initialization(options: &mut Options) {
    let method = options.partition_method.unwrap_or(PartitionMethod::Range);
    let partitioning = Partitioning { method, partitions: options.partitions };
    options.init.partitioning = (options.partitions > 0).then_some(partitioning);
    options.init.scale = options.spec.scale.unwrap_or_default();
    if options.no_vacuum {
        options.init.steps.retain(|step| *step != Step::Vacuum);
    }
    if options.foreign_keys {
        options.init.add_foreign_keys();
    }
}

/// What cannot be combined: whether options do, and what pgbench says then.
type Rule = (fn(&Options) -> bool, &'static str);

/// In pgbench's order; the lengths of the aggregation and of the run are compared after them.
const RULES: [Rule; 6] = [
    (|it| it.initialization_option, "some of the specified options cannot be used in benchmarking mode"),
    (
        |it| it.transactions.is_some() && it.duration.is_some(),
        "specify either a number of transactions (-t) or a duration (-T), not both",
    ),
    (
        |it| it.sampling_rate.is_some() && !it.log,
        "log sampling (--sampling-rate) is allowed only when logging transactions (-l)",
    ),
    (
        |it| it.sampling_rate.is_some() && it.aggregate_interval.is_some(),
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
    ),
    (
        |it| it.aggregate_interval.is_some() && !it.log,
        "log aggregation is allowed only when actually logging transactions",
    ),
    (
        |it| it.log_prefix.is_some() && !it.log,
        "log file prefix (--log-prefix) is allowed only when logging transactions (-l)",
    ),
];
const LATER_RULES: [Rule; 2] = [
    (
        |it| it.progress_timestamp && it.progress.is_none(),
        "--progress-timestamp is allowed only under --progress",
    ),
    (
        |it| it.spec.max_tries.is_none() && it.latency_limit.is_none() && it.duration.is_none(),
        "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)",
    ),
];

fn check_rules(rules: &[Rule], options: &Options) -> Result<(), Stop> {
    let broken = rules.iter().find(|(is_broken, _)| is_broken(options));
    broken.map_or(Ok(()), |(_, sentence)| refuse(sentence))
}

fn check_benchmark(options: &Options) -> Result<(), Stop> {
    check_rules(&RULES, options)?;
    if let (Some(interval), Some(duration)) = (options.aggregate_interval, options.duration) {
        if interval > duration {
            return Err(Stop::error(format_args!(
                "number of seconds for aggregation ({interval}) must not be higher than test duration ({duration})"
            )));
        }
        if !duration.is_multiple_of(interval) {
            return Err(Stop::error(format_args!(
                "duration ({duration}) must be a multiple of aggregation interval ({interval})"
            )));
        }
    }
    check_rules(&LATER_RULES, options)
}

fn complete_benchmark(options: &mut Options) {
    let spec = &mut options.spec;
    spec.workers = spec.workers.min(spec.clients);
    spec.limit = match options.duration {
        Some(seconds) => Limit::Duration(Duration::from_secs(seconds.into())),
        None => Limit::TransactionsPerClient(options.transactions.map_or(DEFAULT_TRANSACTIONS, u64::from)),
    };
    // As in pgbench, an infinite rate means no throttling; a rate above the maximum is set to it.
    let rate_max = Plan::RATE_PER_WORKER_MAX * f64::from(spec.workers);
    spec.rate_tps = options.rate.filter(|rate| rate.is_finite()).map(|rate| rate.min(rate_max));
    spec.latency_limit = options.latency_limit.and_then(whole_microseconds);
    spec.vacuum = match (options.no_vacuum, options.vacuum_all) {
        (true, _) => Vacuum::Nothing,
        (false, false) => Vacuum::SmallTables,
        (false, true) => Vacuum::AllTables,
    };
}

/// A limit in whole microseconds; below one microsecond there is no limit.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "too long for ever is for ever")]
fn whole_microseconds(milliseconds: f64) -> Option<Duration> {
    let limit = Duration::from_micros((milliseconds * MICROS_PER_MILLI) as u64);
    (!limit.is_zero()).then_some(limit)
}

const MICROS_PER_MILLI: f64 = 1000.0;

fn refuse(sentence: &str) -> Result<(), Stop> {
    Err(Stop::error(sentence))
}
