//! The options of a run as a table: names on command lines, in experiments and in pgbench, types, help, and effect.
//! Flags, help, experiment keys, the manual's tables and the JSON Schema are generated from it. Options for output
//! and storage are elsewhere.
//! Long because: one row for each option, so that a new one has one place.

mod population;
mod rates;
mod repeated;
mod value;

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::Path;

use engine::{EventLoopChoice, Grace, Limit, Protocol, ResultFormat};
use results::ObserveLevel;
use stats::OnDisconnect;
use workload::WorkloadName;

use rates::{rate, set_rate, set_stages};
use repeated::{
    actions, add_builtin, add_scripts, builtins, definitions, files, goals, scripts_of, set_actions,
    set_goals, set_targets, targets,
};
pub use repeated::{definition, parameters, table_rows};
pub use value::{
    Kind, PER_CORE, PER_CORE_MAX, Value, bandwidth, delay, duration, expected_unit, percent, rate_or_curve,
    seconds, weighted, whole_seconds, with_unit, word_of, words,
};

use crate::error::RunError;
use crate::spec::{RunSpec, Vacuum};

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct RunOption {
    /// Unique name; the field of [`RunSpec`] if it has its own one, and the key in experiments if `is_key`.
    pub name: &'static str,
    /// Whether it is a key of experiments.
    pub is_key: bool,
    /// Alias of the key.
    pub key_alias: Option<&'static str>,
    /// The command-line flag; `None`: only a key.
    pub flag: Option<Flag>,
    /// The equivalent options of pgbench.
    pub pgbench: Option<&'static str>,
    /// Type of the value.
    pub kind: Kind,
    /// The word in a file that leaves the option unset.
    pub unset: Option<&'static str>,
    /// One sentence, without a full stop.
    pub help: &'static str,
    /// Help for the key in a file, if it differs.
    pub in_file: Option<&'static str>,
    /// Description of a default that is not a value.
    pub default_in_words: Option<&'static str>,
    /// Heading in the help.
    pub heading: &'static str,
    /// Reads the value from a specification; [`Value::Unset`] also if it is part of a larger field.
    pub get: fn(&RunSpec) -> Value,
    /// Sets the value.
    pub set: fn(&mut RunSpec, Value) -> Result<(), String>,
}

/// A command-line flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name after `--`.
    pub long: &'static str,
    /// Letter after `-`.
    pub short: Option<char>,
    /// Other long names.
    pub aliases: &'static [&'static str],
    /// Placeholder for the value in the help.
    pub value_name: &'static str,
    /// Environment variable with the default value.
    pub env: Option<&'static str>,
}

/// Maximum of `machines` in a file.
const MACHINES_MAX: u64 = 1_000;

const WORKLOAD: &str = "Workload";
const LOAD: &str = "Load";
const OBSERVATION: &str = "Observation";

/// Environment variable with the default event loop.
const EVENT_LOOP_VARIABLE: &str = "PGMETER_EVENT_LOOP";

/// Protocols by their names in `-M`.
pub const PROTOCOLS: [(&str, Protocol); 3] =
    [("simple", Protocol::Simple), ("extended", Protocol::Extended), ("prepared", Protocol::Prepared)];
const PROTOCOL_WORDS: [&str; 3] = words(&PROTOCOLS);
const RESULT_FORMATS: [(&str, ResultFormat); 2] =
    [("text", ResultFormat::Text), ("binary", ResultFormat::Binary)];
const RESULT_FORMAT_WORDS: [&str; 2] = words(&RESULT_FORMATS);
const EVENT_LOOPS: [(&str, EventLoopChoice); 3] = [
    ("auto", EventLoopChoice::Auto),
    ("io_uring", EventLoopChoice::IoUring),
    ("epoll", EventLoopChoice::Epoll),
];
const EVENT_LOOP_WORDS: [&str; 3] = words(&EVENT_LOOPS);
const ON_DISCONNECT: [(&str, OnDisconnect); 2] =
    [("abort", OnDisconnect::Abort), ("reconnect", OnDisconnect::Reconnect)];
const ON_DISCONNECT_WORDS: [&str; 2] = words(&ON_DISCONNECT);
const LEVELS: [(&str, ObserveLevel); 3] =
    [("off", ObserveLevel::Off), ("light", ObserveLevel::Light), ("full", ObserveLevel::Full)];
const LEVEL_WORDS: [&str; 3] = words(&LEVELS);

const ANY: u64 = u64::MAX;

/// The event loop in `PGMETER_EVENT_LOOP`, if set.
///
/// # Errors
/// The value is not the name of an event loop.
pub fn event_loop_of_environment() -> Result<EventLoopChoice, RunError> {
    let Some(name) = std::env::var_os(EVENT_LOOP_VARIABLE).filter(|name| !name.is_empty()) else {
        return Ok(EventLoopChoice::Auto);
    };
    let name = name.to_string_lossy();
    let found = EVENT_LOOPS.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice);
    found.ok_or_else(|| {
        RunError::Usage(format!(
            "{EVENT_LOOP_VARIABLE} is \"{name}\"; it may be auto, io_uring or epoll, or not be set"
        ))
    })
}

/// All options, in the order of the help.
pub const OPTIONS: &[RunOption] = &[
    RunOption {
        flag: long("workload", "WORKLOAD"),
        default_in_words: Some("tpcb"),
        ..of_workload(
            "workload",
            Kind::Text,
            "Built-in workload (see pgmeter workload list), a directory with a workload.toml or a schema.sql, or a file \
             with a schema",
        )
        .sets(unset, |spec, value| {
            let text: Option<String> = value.optional()?;
            let named = text.map(|text| WorkloadName::find(&text, Path::new(""))).transpose();
            put(&mut spec.workload, named.map_err(|error| error.to_string()))
        })
    },
    RunOption {
        flag: flag("file", 'f', "FILE[@WEIGHT]"),
        pgbench: Some("-f, --file"),
        ..of_workload("file", Kind::Words(files), "Script file; @WEIGHT sets its share of the mix; - reads stdin; may be repeated")
            .sets(unset, add_scripts)
    },
    RunOption {
        flag: flag("builtin", 'b', "NAME[@WEIGHT]"),
        pgbench: Some("-b, --builtin"),
        ..of_workload(
            "builtin",
            Kind::Words(builtins),
            "Script of the workload (tpcb-like, simple-update, select-only; a prefix is enough); @WEIGHT sets its share; may be repeated",
        )
        .sets(unset, add_scripts)
    },
    RunOption {
        flag: flag("skip-some-updates", 'N', ""),
        pgbench: Some("-N, --skip-some-updates"),
        ..of_workload("skip_some_updates", Kind::Flag, "Same as -b simple-update")
            .sets(unset, |spec, _| add_builtin(spec, "simple-update"))
    },
    RunOption {
        flag: flag("select-only", 'S', ""),
        pgbench: Some("-S, --select-only"),
        ..of_workload("select_only", Kind::Flag, "Same as -b select-only")
            .sets(unset, |spec, _| add_builtin(spec, "select-only"))
    },
    RunOption {
        is_key: true,
        ..of_workload(
            "script",
            Kind::Words(builtins),
            "Script of the workload, .sql file, or a list of these with weights; default: the workload's own mix, for tpcb \
             tpcb-like",
        )
        .sets(unset, |spec, value| put(&mut spec.scripts, scripts_of(value)))
    },
    RunOption {
        in_file: Some("Variables of the scripts; variables.NAME sets a single one"),
        is_key: true,
        flag: flag("define", 'D', "NAME=VALUE"),
        pgbench: Some("-D, --define"),
        ..of_workload("variables", Kind::Words(definitions), "Define a script variable; may be repeated").sets(
            unset,
            |spec, value| match value {
                Value::Pairs(pairs) => {
                    spec.variables.extend(pairs);
                    Ok(())
                }
                other => Err(format!("{other:?} are no variables")),
            },
        )
    },
    RunOption {
        flag: flag("scale", 's', "N"),
        pgbench: Some("-s, --scale"),
        ..of_workload(
            "scale",
            Kind::Scale,
            "Value of :scale in script files [default: the scale of the workload's tables, otherwise 1]; the workload's own scripts use that of its tables",
        )
        .sets(|spec| spec.scale.into(), |spec, value| put(&mut spec.scale, value.optional()))
    },
    RunOption {
        in_file: Some(
            "Number of clients, each with its own connection; \"2/core\": two for each core of the server's host",
        ),
        is_key: true,
        flag: aliased("clients", Some('c'), &["client"], "N"),
        pgbench: Some("-c, --client"),
        ..of_load(
            "clients",
            Kind::CountOrPerCore { most_in_file: 100_000 },
            "Number of clients, each with its own connection; 2/core: two for each core of the server's host, which must be this host",
        )
        .sets(|spec| spec.clients.into(), |spec, value| put(&mut spec.clients, value.try_into()))
    },
    RunOption {
        is_key: true,
        key_alias: Some("threads"),
        flag: aliased("workers", Some('j'), &["jobs"], "N"),
        pgbench: Some("-j, --jobs"),
        ..of_load("workers", Kind::count(1_000), "Number of threads that run the clients")
            .sets(|spec| spec.workers.into(), |spec, value| put(&mut spec.workers, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: aliased("machines", None, &[], "N"),
        default_in_words: Some("all"),
        ..of_load(
            "machines",
            Kind::count(MACHINES_MAX),
            "Number of load generators: of the processes that a process manager started, the first N make the load",
        )
        .sets(|spec| spec.machines.into(), |spec, value| put(&mut spec.machines, value.optional()))
    },
    RunOption {
        in_file: Some("Length of the measurement, such as \"60s\""),
        is_key: true,
        flag: aliased("duration", Some('T'), &["time"], "TIME"),
        pgbench: Some("-T, --time"),
        ..of_load("duration", Kind::Time { may_be_zero: false }, "Length of the measurement, in seconds or with a unit (90s, 5min)").sets(
            |spec| match spec.limit {
                Limit::Duration(time) => time.into(),
                Limit::TransactionsPerClient(_) => Value::Unset,
            },
            |spec, value| {
                spec.limit = Limit::Duration(value.try_into()?);
                Ok(())
            },
        )
    },
    RunOption {
        in_file: Some("Number of transactions per client, instead of a duration"),
        is_key: true,
        flag: flag("transactions", 't', "N"),
        pgbench: Some("-t, --transactions"),
        default_in_words: Some("10, unless a duration is given"),
        ..of_load(
            "transactions",
            Kind::Count { least: 1, most: ANY, most_in_file: i64::MAX.unsigned_abs() },
            "Number of transactions per client",
        )
        .sets(unset, |spec, value| {
            spec.limit = Limit::TransactionsPerClient(value.try_into()?);
            Ok(())
        })
    },
    RunOption {
        in_file: Some("Load before the measurement that is not counted, such as \"5s\""),
        is_key: true,
        flag: long("warmup", "TIME"),
        ..of_load("warmup", Kind::Time { may_be_zero: true }, "Load before the measurement that is not counted, in seconds or with a unit")
            .sets(|spec| spec.warmup.into(), |spec, value| put(&mut spec.warmup, value.try_into()))
    },
    RunOption {
        is_key: true,
        in_file: Some(
            "Time that transactions get to finish after the end of the run; after it they are cancelled and count as unfinished; \
             \"auto\": ten times the p99, between 10s and 60s",
        ),
        flag: long("grace", "TIME"),
        unset: Some("auto"),
        default_in_words: Some("ten times the p99, between 10s and 60s"),
        ..of_load(
            "grace",
            Kind::Time { may_be_zero: true },
            "Time that transactions get to finish after the end of the run; after it they are cancelled and count as unfinished",
        )
        .sets(unset, |spec, value| {
            spec.grace = value.optional()?.map_or(Grace::Automatic, Grace::Fixed);
            Ok(())
        })
    },
    RunOption {
        in_file: Some("End a trial early when the 95 % confidence intervals of throughput and mean latency are within ± this share, such as \"1%\""),
        is_key: true,
        flag: long("until", "PERCENT"),
        unset: Some("none"),
        ..of_load(
            "until",
            Kind::Percent,
            "End early when the 95 % confidence intervals of throughput and mean latency are within ±PERCENT, such as 1%",
        )
        .sets(
            |spec| spec.until.map_or(Value::Unset, |share| Value::Text(format!("{}%", share * 100.0))),
            |spec, value| put(&mut spec.until, value.optional()),
        )
    },
    RunOption {
        in_file: Some(
            "Conditions that each trial must fulfil, such as \"p99 < 20ms\", or a list of these; the exit status reports whether they \
             were met",
        ),
        is_key: true,
        flag: aliased("goal", None, &[], "GOAL"),
        ..of_load(
            "goal",
            Kind::Words(goals),
            "Condition that the run must fulfil, such as 'p99 < 20ms', 'over(20ms) < 1%', 'failed < 0.1%', 'tps > 5000' or \
             'script=NAME: lag p99 < 5ms'; exit status 5: missed, 3: undecided; may be repeated",
        )
        .sets(
            |spec| repeated(&spec.goals, Value::Goals),
            set_goals,
        )
    },
    RunOption {
        in_file: Some("End a trial early once one of its goals cannot be met any more"),
        is_key: true,
        flag: long("stop-on-miss", ""),
        ..of_load("stop_on_miss", Kind::Flag, "End early once a goal cannot be met any more")
            .sets(|spec| spec.stop_on_miss.into(), |spec, value| put(&mut spec.stop_on_miss, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: flag("protocol", 'M', "PROTOCOL"),
        pgbench: Some("-M, --protocol"),
        ..of_load("protocol", Kind::Choice(&PROTOCOL_WORDS), "Protocol for queries").sets(
            |spec| word_of(&PROTOCOLS, &spec.protocol),
            |spec, value| put(&mut spec.protocol, value.one_of(&PROTOCOLS)),
        )
    },
    RunOption {
        is_key: true,
        flag: long("result-format", "FORMAT"),
        ..of_load(
            "result_format",
            Kind::Choice(&RESULT_FORMAT_WORDS),
            "Format in which the server sends results; binary requires the extended or prepared protocol",
        )
        .sets(
            |spec| word_of(&RESULT_FORMATS, &spec.result_format),
            |spec, value| put(&mut spec.result_format, value.one_of(&RESULT_FORMATS)),
        )
    },
    RunOption {
        is_key: true,
        flag: long("parse-results", ""),
        ..of_load(
            "parse_results",
            Kind::Flag,
            "Parse the values of all results, as an application does, to include the client's cost of parsing",
        )
        .sets(|spec| spec.parse_results.into(), |spec, value| put(&mut spec.parse_results, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: flag("rate", 'R', "TPS"),
        pgbench: Some("-R, --rate"),
        unset: Some("none"),
        ..of_load(
            "rate",
            Kind::Rate,
            "Target rate in transactions per second over all clients: a number, or a curve such as ramp(100, 2000, 5min), \
             steps(100, 200, 400; 1min), sine(500, 300, 1min) or file:curve.csv; arrivals do not wait for the server (open loop)",
        )
        .sets(rate, set_rate)
    },
    RunOption {
        is_key: true,
        flag: long("arrivals", "LAW"),
        ..of_load(
            "arrivals",
            Kind::Text,
            "Gaps between the arrivals of a rate: poisson, fixed, gamma(SHAPE) (bursts below 1), or onoff(ON, OFF) (times with and \
             without arrivals, such as onoff(200ms, 800ms))",
        )
        .sets(
            |spec| Value::Text(spec.arrivals.to_string()),
            |spec, value| put(&mut spec.arrivals, String::try_from(value).and_then(|text| text.parse())),
        )
    },
    RunOption {
        in_file: Some(
            "Stages of a trial with figures of their own, as text such as \"1min@500, 2min@500..2000\" (rates) or \
             \"1min@8c, 2min@8..64c\" (clients), or as tables with `duration`, `rate` or `clients`, and `weights` of scripts; [[stage]] \
             adds one for all trials",
        ),
        is_key: true,
        flag: long("stages", "STAGES"),
        unset: Some("none"),
        ..of_load(
            "stages",
            Kind::Stages,
            "Stages with figures and verdicts of their own, instead of -T: rates such as '1min@500, 2min@500..2000, 1min@500', or \
             clients such as '1min@8c, 2min@8..64c'",
        )
        .sets(|spec| repeated(&spec.stages, Value::Stages), set_stages)
    },
    RunOption {
        is_key: true,
        flag: long("think", "LAW"),
        unset: Some("none"),
        default_in_words: Some("none"),
        ..of_load(
            "think",
            Kind::Text,
            "Time that a client waits before each transaction, outside of its latency: 200ms, exp(200ms) (random with this mean) or \
             uniform(100ms, 300ms)",
        )
        .sets(
            |spec| spec.think.map_or(Value::Unset, |think| Value::Text(think.to_string())),
            |spec, value| {
                let text: Option<String> = value.optional()?;
                put(&mut spec.think, text.map(|text| text.parse()).transpose())
            },
        )
    },
    population::ACTIVE_CLIENTS,
    population::IDLE_IN_TRANSACTION,
    population::SESSION_LIFETIME,
    population::RECONNECT_STORM,
    population::SLOW_READERS,
    RunOption {
        in_file: Some("Transactions that take longer count as late; with a rate, a transaction is skipped if its start is delayed by more than this"),
        is_key: true,
        flag: flag("latency-limit", 'L', "TIME"),
        pgbench: Some("-L, --latency-limit"),
        unset: Some("none"),
        ..of_load(
            "latency_limit",
            Kind::Milliseconds,
            "Transactions that take longer (in milliseconds, or with a unit: 20ms) count as late; with -R, a transaction is skipped if its start is delayed by more than this",
        )
        .sets(|spec| spec.latency_limit.into(), |spec, value| put(&mut spec.latency_limit, value.optional()))
    },
    RunOption {
        in_file: Some("Maximum tries per transaction, for serialization failures and deadlocks; 0: no limit"),
        is_key: true,
        flag: long("max-tries", "N"),
        pgbench: Some("--max-tries"),
        ..of_load(
            "max_tries",
            Kind::Count { least: 0, most: u32::MAX as u64, most_in_file: 1_000_000 },
            "Maximum tries per transaction, for serialization failures and deadlocks; 0: no limit, which requires -T or -L",
        )
        .sets(
            |spec| spec.max_tries.map_or(0, NonZeroU32::get).into(),
            |spec, value| put(&mut spec.max_tries, u32::try_from(value).map(NonZeroU32::new)),
        )
    },
    RunOption {
        is_key: true,
        flag: long("continue-on-error", ""),
        pgbench: Some("--continue-on-error"),
        ..of_load("continue_on_error", Kind::Flag, "After an SQL error, count the transaction as failed and continue with the next one").sets(
            |spec| spec.continue_on_error.into(),
            |spec, value| put(&mut spec.continue_on_error, value.try_into()),
        )
    },
    RunOption {
        is_key: true,
        flag: long("exit-on-abort", ""),
        pgbench: Some("--exit-on-abort"),
        ..of_load("exit_on_abort", Kind::Flag, "End the run when the first client aborts").sets(
            |spec| spec.exit_on_abort.into(),
            |spec, value| put(&mut spec.exit_on_abort, value.try_into()),
        )
    },
    RunOption {
        is_key: true,
        flag: with_env("event-loop", "NAME", EVENT_LOOP_VARIABLE),
        ..of_load("event_loop", Kind::Choice(&EVENT_LOOP_WORDS), "System interface used to wait for sockets").sets(
            |spec| word_of(&EVENT_LOOPS, &spec.event_loop),
            |spec, value| put(&mut spec.event_loop, value.one_of(&EVENT_LOOPS)),
        )
    },
    RunOption {
        is_key: true,
        flag: long("observe", "LEVEL"),
        heading: OBSERVATION,
        ..of_load(
            "observe",
            Kind::Choice(&LEVEL_WORDS),
            "Level of server observation during the run (wait events, counters, checkpoints, vacuums), over a separate connection",
        )
        .sets(
            |spec| word_of(&LEVELS, &spec.observe),
            |spec, value| put(&mut spec.observe, value.one_of(&LEVELS)),
        )
    },
    RunOption {
        is_key: true,
        flag: flag("connect", 'C', ""),
        pgbench: Some("-C, --connect"),
        ..of_load("reconnect", Kind::Flag, "Establish a new connection for each transaction")
            .sets(|spec| spec.reconnect.into(), |spec, value| put(&mut spec.reconnect, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: long("on-disconnect", "ACTION"),
        ..of_load(
            "on_disconnect",
            Kind::Choice(&ON_DISCONNECT_WORDS),
            "After a client has lost its connection: abort it, or connect again and go on",
        )
        .sets(
            |spec| word_of(&ON_DISCONNECT, &spec.on_disconnect),
            |spec, value| put(&mut spec.on_disconnect, value.one_of(&ON_DISCONNECT)),
        )
    },
    RunOption {
        is_key: true,
        flag: long("reconnect-policy", "POLICY"),
        ..of_load(
            "reconnect_policy",
            Kind::Text,
            "When clients connect again: immediate, backoff:MIN..MAX (pauses that double, with jitter), per-second:N or \
             slow-start:N (attempts over all clients)",
        )
        .sets(
            |spec| Value::Text(spec.reconnect_policy.to_string()),
            |spec, value| put(&mut spec.reconnect_policy, String::try_from(value).and_then(|text| text.parse())),
        )
    },
    RunOption {
        is_key: true,
        flag: long("response-timeout", "TIME"),
        unset: Some("none"),
        default_in_words: Some("no limit"),
        ..of_load(
            "response_timeout",
            Kind::Time { may_be_zero: false },
            "A client that has waited this long for the reply to a command gives its connection up as lost",
        )
        .sets(
            |spec| spec.response_timeout.map_or(Value::Unset, Value::Time),
            |spec, value| put(&mut spec.response_timeout, value.optional()),
        )
    },
    RunOption {
        in_file: Some("Additional servers by name, as connection strings without passwords, for scripts that begin with \\target NAME"),
        is_key: true,
        flag: long("target", "NAME=CONNECTION"),
        ..of_load("targets", Kind::Words(targets), "Additional server for scripts that begin with \\target NAME; may be repeated")
            .sets(unset, set_targets)
    },
    RunOption {
        in_file: Some("Actions at set times of each trial, as tables with the time `at` since measuring began and with `sql` or a fault, such as `kill`, `pause` or `blackhole`; [[action]] adds one for all trials"),
        is_key: true,
        flag: long("action", "TIME:KIND"),
        ..of_load(
            "action",
            Kind::Words(actions),
            "Something to do at a time since measuring began: SQL over a separate connection, such as '30s:sql=REFRESH MATERIALIZED VIEW v', or a fault of a server that pgmeter manages, such as 30s:kill=5s; may be repeated",
        )
        .sets(
            |spec| repeated(&spec.actions, Value::Actions),
            set_actions,
        )
    },
    RunOption {
        is_key: true,
        flag: long("max-lag", "TIME"),
        unset: Some("none"),
        default_in_words: Some("not watched"),
        ..of_load(
            "max_lag",
            Kind::Time { may_be_zero: false },
            "Pause the load while the replay of a standby is further behind than this, in seconds or with a unit",
        )
        .sets(
            |spec| spec.max_lag.map_or(Value::Unset, Value::Time),
            |spec, value| put(&mut spec.max_lag, value.optional()),
        )
    },
    RunOption {
        is_key: true,
        flag: long("max-waiting-locks", "N"),
        unset: Some("none"),
        default_in_words: Some("not watched"),
        ..of_load(
            "max_waiting_locks",
            Kind::Count { least: 0, most: ANY, most_in_file: 1_000_000 },
            "Pause the load while more than N locks are waited for, in all databases of the server",
        )
        .sets(
            |spec| spec.max_waiting_locks.map_or(Value::Unset, Value::Count),
            |spec, value| put(&mut spec.max_waiting_locks, value.optional()),
        )
    },
    RunOption {
        is_key: true,
        flag: long("pause-when", "SQL"),
        ..of_load(
            "pause_when",
            Kind::Text,
            "Pause the load while this query returns true; it is executed each second, read-only and for at most 2 s",
        )
        .sets(
            |spec| spec.pause_when.clone().map_or(Value::Unset, Value::Text),
            |spec, value| put(&mut spec.pause_when, value.optional()),
        )
    },
    RunOption {
        is_key: true,
        flag: long("stop-when", "SQL"),
        ..of_load(
            "stop_when",
            Kind::Text,
            "End the load when this query returns true, with exit status 7; it is executed as that of --pause-when",
        )
        .sets(
            |spec| spec.stop_when.clone().map_or(Value::Unset, Value::Text),
            |spec, value| put(&mut spec.stop_when, value.optional()),
        )
    },
    RunOption {
        is_key: true,
        flag: long("max-pause", "TIME"),
        ..of_load(
            "max_pause",
            Kind::Time { may_be_zero: true },
            "End the load, with exit status 7, if a pause lasts longer than this, in seconds or with a unit",
        )
        .sets(|spec| spec.max_pause.into(), |spec, value| put(&mut spec.max_pause, value.try_into()))
    },
    RunOption {
        flag: aliased("seed", None, &["random-seed"], "SEED"),
        pgbench: Some("--random-seed"),
        default_in_words: Some("random"),
        ..of_load(
            "seed",
            Kind::Count { least: 0, most: ANY, most_in_file: ANY },
            "Seed of all random numbers",
        )
        .sets(unset, |spec, value| put(&mut spec.seed, value.optional()))
    },
    RunOption {
        flag: flag("no-vacuum", 'n', ""),
        pgbench: Some("-n, --no-vacuum"),
        ..of_load("no_vacuum", Kind::Flag, "Do not vacuum or truncate the workload's tables before the run").sets(
            unset,
            |spec, _| {
                spec.vacuum = Vacuum::Nothing;
                Ok(())
            },
        )
    },
    RunOption {
        flag: flag("vacuum-all", 'v', ""),
        pgbench: Some("-v, --vacuum-all"),
        ..of_load("vacuum_all", Kind::Flag, "Vacuum and analyze all tables of the workload before the run").sets(unset, |spec, _| {
            spec.vacuum = Vacuum::AllTables;
            Ok(())
        })
    },
    RunOption {
        is_key: true,
        flag: long("check", ""),
        ..of_load(
            "check",
            Kind::Flag,
            "Run the workload's consistency checks after the run",
        )
        .sets(|spec| spec.check.into(), |spec, value| put(&mut spec.check, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: long("verify", ""),
        ..of_load(
            "verify",
            Kind::Flag,
            "Find out afterwards whether the server has kept all transactions that it acknowledged: each gets a row in a table",
        )
        .sets(|spec| spec.verify.into(), |spec, value| put(&mut spec.verify, value.try_into()))
    },
    RunOption {
        is_key: true,
        flag: long("verify-timeout", "TIME"),
        ..of_load(
            "verify_timeout",
            Kind::Time { may_be_zero: false },
            "Maximum time that --verify waits for the server after the run, in seconds or with a unit",
        )
        .sets(|spec| spec.verify_timeout.into(), |spec, value| put(&mut spec.verify_timeout, value.try_into()))
    },
];

/// Finds an option by name.
pub fn option(name: &str) -> Option<&'static RunOption> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// The options that are keys of experiments.
pub fn keys() -> impl Iterator<Item = &'static RunOption> {
    OPTIONS.iter().filter(|option| option.is_key)
}

/// Finds an experiment key by its name or alias.
pub fn key(name: &str) -> Option<&'static RunOption> {
    keys().find(|option| option.name == name || option.key_alias == Some(name))
}

/// The manual's table of the options, as Markdown.
pub fn table() -> String {
    let mut out = "| option | key | pgbench | description | default |\n|---|---|---|---|---|\n".to_owned();
    for option in OPTIONS {
        let Some(flag) = option.flag else { continue };
        let short = flag.short.map_or(String::new(), |short| format!("-{short}, "));
        let value = if flag.value_name.is_empty() { String::new() } else { format!(" {}", flag.value_name) };
        let key = if option.is_key { format!("`{}`", option.name) } else { String::new() };
        let pgbench = option.pgbench.map_or(String::new(), |pgbench| format!("`{pgbench}`"));
        let choices = match option.kind {
            Kind::Choice(words) => format!(" ({})", words.join(", ")),
            _ => String::new(),
        };
        let default = option.default(&RunSpec::default(), Value::on_command_line).unwrap_or_default();
        let help = option.help.replace(" [default: 1]", "");
        let _ = writeln!(
            out,
            "| `{short}--{}{value}` | {key} | {pgbench} | {help}{choices} | {default} |",
            flag.long
        );
    }
    out
}

const fn of_workload(name: &'static str, kind: Kind, help: &'static str) -> RunOption {
    RunOption {
        name,
        is_key: false,
        key_alias: None,
        flag: None,
        pgbench: None,
        kind,
        unset: None,
        help,
        in_file: None,
        default_in_words: None,
        heading: WORKLOAD,
        get: unset,
        set: |_, _| Ok(()),
    }
}

const fn of_load(name: &'static str, kind: Kind, help: &'static str) -> RunOption {
    RunOption { heading: LOAD, ..of_workload(name, kind, help) }
}

impl RunOption {
    const fn sets(
        self,
        get: fn(&RunSpec) -> Value,
        set: fn(&mut RunSpec, Value) -> Result<(), String>,
    ) -> Self {
        Self { get, set, ..self }
    }

    /// The default for help texts and tables, given the front end's base specification.
    pub fn default(&self, base: &RunSpec, shown: fn(&Value) -> String) -> Option<String> {
        if let Some(words) = self.default_in_words {
            return Some(words.to_owned());
        }
        let value = (self.get)(base);
        let text = shown(&value);
        (value != Value::Truth(false) && !text.is_empty()).then_some(text)
    }
}

const fn aliased(
    long: &'static str,
    short: Option<char>,
    aliases: &'static [&'static str],
    value_name: &'static str,
) -> Option<Flag> {
    Some(Flag { long, short, aliases, value_name, env: None })
}

const fn flag(long: &'static str, short: char, value_name: &'static str) -> Option<Flag> {
    aliased(long, Some(short), &[], value_name)
}

const fn long(long: &'static str, value_name: &'static str) -> Option<Flag> {
    aliased(long, None, &[], value_name)
}

const fn with_env(long: &'static str, value_name: &'static str, env: &'static str) -> Option<Flag> {
    Some(Flag { long, short: None, aliases: &[], value_name, env: Some(env) })
}

fn unset(_: &RunSpec) -> Value {
    Value::Unset
}

fn repeated<T: Clone>(values: &[T], value: fn(Vec<T>) -> Value) -> Value {
    if values.is_empty() { Value::Unset } else { value(values.to_vec()) }
}

fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_that_is_shown_sets_what_was_there() {
        for option in OPTIONS {
            let mut spec = RunSpec::default();
            let value = (option.get)(&spec);
            let Some(text) = option.default(&spec, Value::on_command_line).filter(|_| value != Value::Unset)
            else {
                continue;
            };
            let typed = option.kind.word(&text).unwrap_or_else(|why| panic!("{} {text}: {why}", option.name));
            (option.set)(&mut spec, typed).unwrap();
            assert_eq!(spec, RunSpec::default(), "{}", option.name);
        }
    }

    #[test]
    fn names_and_flags_are_unique() {
        let mut names: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
        names.extend(OPTIONS.iter().filter_map(|option| option.key_alias));
        let flags: Vec<Flag> = OPTIONS.iter().filter_map(|option| option.flag).collect();
        let mut longs: Vec<&str> =
            flags.iter().flat_map(|flag| flag.aliases.iter().copied().chain([flag.long])).collect();
        let mut shorts: Vec<char> = flags.iter().filter_map(|flag| flag.short).collect();
        let numbers = (names.len(), longs.len(), shorts.len());
        names.sort_unstable();
        names.dedup();
        longs.sort_unstable();
        longs.dedup();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!((names.len(), longs.len(), shorts.len()), numbers);
    }
}
