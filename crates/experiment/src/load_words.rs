//! Describes the load of trials, or their queries, for `outline`: common options once, and the options of each level.
//! Pure.

use std::fmt::Write as _;

use engine::Limit;
use queries::QuerySetSpec;
use run::options::{self, PROTOCOLS, Value, word_of};

use crate::configuration::{Configuration, default_load};
use crate::factors::{Factor, Level, label};
use crate::network::Network;
use crate::plan::Plan;
use crate::pooler::PoolerSpec;

type Part = fn(&Configuration) -> String;

/// In order of output; an option with its default is omitted.
const PARTS: [Part; 10] =
    [scripts, clients, protocol, length, rate, limit, reconnecting, network, pooler, others];
/// Options that are described by other functions.
const TOLD: [&str; 10] = [
    "script",
    "clients",
    "workers",
    "protocol",
    "duration",
    "transactions",
    "warmup",
    "rate",
    "latency_limit",
    "reconnect",
];

/// `select-only, 8 clients on 2 threads, prepared, 30s after 5s of warm-up`; `None` for timed steps and
/// queries.
pub(crate) fn load_in_words(plan: &Plan) -> Option<String> {
    let configurations = || plan.cells.iter().map(|cell| &cell.configuration);
    if configurations().any(|configuration| !configuration.is_load()) {
        return None;
    }
    let shared = |part: &Part| {
        let first = configurations().next().map(part)?;
        (!first.is_empty() && configurations().all(|configuration| part(configuration) == first))
            .then_some(first)
    };
    let words: Vec<String> = PARTS.iter().filter_map(shared).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// `22 queries in 2 streams, 3 times each, cancelled after 300s`: the parts that all cells share.
pub(crate) fn queries_in_words(plan: &Plan) -> Option<String> {
    let first = plan.cells.first()?.configuration.queries.as_ref()?;
    let passes = || plan.cells.iter().filter_map(|cell| cell.configuration.queries.as_ref());
    let shared = |part: &dyn Fn(&QuerySetSpec) -> String| {
        let words = part(first);
        (!words.is_empty() && passes().all(|spec| part(spec) == words)).then_some(words)
    };
    let counts: Vec<usize> = plan.cells.iter().map(|cell| cell.configuration.query_count).collect();
    let count = counts.iter().all(|count| *count == counts[0]).then(|| format!("{} queries", counts[0]));
    let when = |is_so: bool, words: &str| if is_so { words.to_owned() } else { String::new() };
    let parts = [
        count,
        shared(&|spec| match spec.streams {
            1 => "one stream".to_owned(),
            streams => format!("{streams} streams"),
        }),
        shared(&|spec| if spec.repeats > 1 { format!("{} times each", spec.repeats) } else { String::new() }),
        shared(&|spec| spec.text.as_ref().map_or(String::new(), |text| format!("text {text}"))),
        shared(&|spec| spec.limit.map_or(String::new(), |limit| format!("cancelled after {limit:?}"))),
        shared(&|spec| when(spec.refresh, "with refresh functions")),
        shared(&|spec| when(spec.answers, "answers compared")),
        shared(&|spec| when(spec.plans, "plans of further executions")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// `the highest rate that keeps p99 < 20ms, at most 180 s each`.
pub(crate) fn search_in_words(plan: &Plan) -> Option<String> {
    let first = &plan.cells.first()?.configuration;
    let budget = first.search?.budget.as_secs();
    let goals: Vec<String> = first.load.goals.iter().map(ToString::to_string).collect();
    Some(format!("the highest rate that keeps {}, at most {budget} s each", goals.join(" and ")))
}

fn scripts(it: &Configuration) -> String {
    let weight = |weight: u32| if weight == 1 { String::new() } else { format!("@{weight}") };
    let choices = it.load.scripts.iter();
    let choices = choices.map(|choice| format!("{}{}", choice.source.name(), weight(choice.weight)));
    choices.collect::<Vec<_>>().join(" + ")
}

fn clients(it: &Configuration) -> String {
    let clients = counted(it.load.clients as usize, "client", "clients");
    format!("{clients} on {}", counted(it.load.workers as usize, "thread", "threads"))
}

/// `1 client`, `8 clients`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The protocol as a file names it.
pub fn protocol(it: &Configuration) -> String {
    word_of(&PROTOCOLS, &it.load.protocol).in_file()
}

fn length(it: &Configuration) -> String {
    let measured = match it.load.limit {
        Limit::Duration(time) => format!("{time:?}"),
        Limit::TransactionsPerClient(each) => format!("{each} transactions per client"),
    };
    if it.load.warmup.is_zero() {
        measured
    } else {
        format!("{measured} after {:?} of warm-up", it.load.warmup)
    }
}

fn rate(it: &Configuration) -> String {
    let stages = Value::Stages(it.load.stages.clone()).in_file();
    let laws = if it.load.arrivals.is_poisson() { String::new() } else { format!(", {}", it.load.arrivals) };
    match (&it.load.curve, it.load.rate_tps) {
        _ if !stages.is_empty() => format!("stages {stages}{laws}"),
        (Some(curve), _) => format!("arrivals per second: {curve}{laws}"),
        (None, Some(rate)) => format!("{rate} arrivals per second{laws}"),
        (None, None) => String::new(),
    }
}

fn limit(it: &Configuration) -> String {
    it.load.latency_limit.map_or(String::new(), |limit| format!("latency limit {limit:?}"))
}

fn reconnecting(it: &Configuration) -> String {
    if it.load.reconnect { "a new connection for each transaction".to_owned() } else { String::new() }
}

fn network(it: &Configuration) -> String {
    if it.network == Network::default() { String::new() } else { it.network.to_string() }
}

/// `PgBouncer with transaction pooling, pool of 20`; empty without a pooler.
fn pooler(it: &Configuration) -> String {
    let PoolerSpec { mode, pool_size, .. } = &it.pooler;
    mode.map_or_else(String::new, |mode| {
        format!("through PgBouncer with {} pooling and a pool of {pool_size}", mode.name())
    })
}

/// Options that differ from their defaults.
fn others(it: &Configuration) -> String {
    let default = default_load();
    let others = options::keys().filter(|option| !TOLD.contains(&option.name));
    let told = others.filter_map(|option| {
        let value = (option.get)(&it.load);
        let is_told = value != (option.get)(&default) && value != Value::Unset;
        is_told.then(|| format!("{} {}", option.name, value.in_file()))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The options of each level of a factor, one line per level; empty if the factor itself is a key with simple values.
pub(crate) fn levels_in_words(factor: &Factor) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before: &[_] = &[];
    for level in &factor.levels {
        let sets = level.sets.as_slice();
        // Each case adds to the previous one.
        let (on_top, own) = match sets.strip_prefix(before) {
            Some(own) if !before.is_empty() => (true, own),
            _ => (false, sets),
        };
        before = sets;
        let is_its_value = matches!(own, [(key, _)] if *key == factor.name);
        if !is_its_value {
            lines.push(level_in_words(level, on_top, own));
        }
    }
    lines
}

fn level_in_words(level: &Level, on_top: bool, own: &[(String, config::Node)]) -> String {
    let mut line = format!("{}: ", level.label);
    if on_top {
        line += "as the previous case, with ";
    }
    if own.is_empty() {
        line += if on_top { "nothing else" } else { "as the file says" };
    }
    for (at, (key, node)) in own.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(line, "{comma}{key} {}", label(node).unwrap_or_default());
    }
    line
}
