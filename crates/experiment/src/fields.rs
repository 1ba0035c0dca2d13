//! The keys of the tables of an experiment file, except those of a trial, which are in `keys`: names, types, help and
//! limits. Readers of the tables check the names; `schema` makes the JSON Schema of them.

use run::ActionSpec;
use run::options::Kind;

/// Maximum number of repeats; more are a mistake.
pub(crate) const REPEATS_MAX: u64 = 10_000;
/// Maximum number of executions of a step in a trial.
pub(crate) const TIMES_MAX: u64 = 10_000;
/// Maximum weight of a script.
pub(crate) const WEIGHT_MAX: u64 = 1_000_000;

/// A key of one of the tables of an experiment.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) takes: Rule,
    pub(crate) help: &'static str,
    pub(crate) is_needed: bool,
}

/// Type of a key's value.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// A type that options have.
    Kind(Kind),
    /// Any other type: the name of its rule in the JSON Schema.
    Named(&'static str),
}

const fn field(name: &'static str, kind: Kind, help: &'static str) -> Field {
    Field { name, takes: Rule::Kind(kind), help, is_needed: false }
}

const fn named_field(name: &'static str, rule: &'static str, help: &'static str) -> Field {
    Field { name, takes: Rule::Named(rule), help, is_needed: false }
}

const fn needed(field: Field) -> Field {
    Field { is_needed: true, ..field }
}

/// A whole number between these limits.
pub(crate) const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most, most_in_file: most }
}

pub(crate) const TIME: Kind = Kind::Time { may_be_zero: true };

/// Keys of the file.
pub(crate) const TOP: &[Field] = &[
    needed(named_field("name", "name", "Name of the experiment; results are stored under it")),
    field("title", Kind::Text, "Title in reports"),
    field("source", Kind::Text, "Publication that the experiment reproduces"),
    field("description", Kind::Text, "Description in reports"),
    field("label", Kind::Text, "Label of the results, a name for reports and lists; --label replaces it"),
    field("note", Kind::Text, "Note on the results; --note replaces it"),
    named_field("server", "server", "The server under test"),
    named_field("data", "data", "The data on the server"),
    named_field("load", "load", "The load on the server"),
    named_field("population", "population", "What the clients do beside transactions"),
    named_field("queries", "queries", "A pass over the queries of the workload, instead of a load"),
    named_field(
        "search",
        "search",
        "A search for the highest rate that keeps the goals of the load, instead of a load",
    ),
    named_field("pooler", "pooler", "A connection pooler between the clients and an embedded server"),
    named_field(
        "factors",
        "factors",
        "Factors and their levels: each factor is a key, or a name whose levels are described in [levels]",
    ),
    named_field("levels", "levels", "levels.FACTOR.LEVEL: the keys that this level sets"),
    named_field(
        "cases",
        "cases",
        "Levels of the factor \"case\"; each case adds its keys to those of the previous case",
    ),
    named_field("exclude", "combinations", "Combinations to leave out"),
    named_field("design", "design", "Number and order of trials"),
    named_field(
        "quick",
        "quick",
        "The small version, for --quick: keys of all sections, repeats, and a subset of the levels of some factors",
    ),
    named_field("chart", "charts", "Charts of the report"),
    named_field("difference", "differences", "Costs calculated as the difference between combinations"),
    named_field("ratio", "ratios", "Named ratios of combinations"),
    named_field("step", "steps", "Timed steps, instead of a load"),
    named_field("action", "action", "Actions at set times of each trial of a load"),
    named_field("stage", "stages", "Stages of each trial of a load, as the key stages of [load]"),
    named_field("standby", "standbys", "Standbys of the server, as the key standby of [server]"),
];

/// The keys of `[population]` with another name in `[load]`, and that name.
pub(crate) const OF_LOAD: [(&str, &str); 3] =
    [("connections", "clients"), ("active", "active_clients"), ("storm", "reconnect_storm")];

/// `[population]`: keys of `[load]`, some with a shorter name.
pub(crate) const POPULATION: &[Field] = &[
    named_field(
        "connections",
        "clients_of_stage",
        "Number of clients, each with its own connection: the key clients of [load]",
    ),
    field(
        "active",
        Kind::Text,
        "Clients that work at the same time, such as \"2%, 10s\": the key active_clients of [load]",
    ),
    field("idle_in_transaction", Kind::Text, "As the key of [load]"),
    field("session_lifetime", Kind::Text, "As the key of [load]"),
    field(
        "storm",
        Kind::Text,
        "Times at which clients connect again at once: the key reconnect_storm of [load]",
    ),
    field("slow_readers", Kind::Text, "As the key of [load]"),
    field("think", Kind::Text, "As the key of [load]"),
    field("on_disconnect", Kind::Text, "As the key of [load]"),
    field("reconnect_policy", Kind::Text, "As the key of [load]"),
];

/// `[design]`.
pub(crate) const DESIGN: &[Field] = &[
    field("repeats", count(1, REPEATS_MAX), "Trials of each combination [default: 3]"),
    field(
        "order",
        Kind::Choice(&["interleaved", "sequential"]),
        "\"interleaved\": each repeat runs all combinations in its own order; \"sequential\": in the order of the file \
         [default: interleaved]",
    ),
    field(
        "seed",
        count(0, i64::MAX.unsigned_abs()),
        "Seed of the order and of the trials' random numbers [default: 1]",
    ),
    named_field("base", "combination", "Baseline: the combination that others are compared with"),
    field(
        "combinations",
        Kind::Choice(&["all", "screening"]),
        "\"screening\": of factors with two levels, the few combinations of a Plackett–Burman design with its mirror \
         image, which show main effects [default: all]",
    ),
    field("tolerance", Kind::Text, "Of a screening: effects within ± this share do not matter [default: 5%]"),
];

/// `[[chart]]`.
pub(crate) const CHART: &[Field] = &[
    field("title", Kind::Text, "Title of the chart"),
    needed(field("x", Kind::Text, "Factor on the horizontal axis; for timed steps also \"step\"")),
    named_field("y", "metric", "Metric on the vertical axis [default: tps; for timed steps: duration]"),
    field("series", Kind::Text, "Factor with one line per level"),
    field("facet", Kind::Text, "Factor with one panel per level"),
    field("x_scale", Kind::Choice(&["linear", "log"]), "Scale of the horizontal axis [default: linear]"),
    field("y_scale", Kind::Choice(&["linear", "log"]), "Scale of the vertical axis [default: linear]"),
];

/// `[[difference]]`.
pub(crate) const DIFFERENCE: &[Field] = &[
    needed(field("name", Kind::Text, "Name of the cost")),
    named_field("metric", "metric", "Metric [default: cycle; for timed steps: duration]"),
    needed(named_field("of", "combination", "Combinations that include the cost")),
    named_field(
        "minus",
        "combination",
        "Combinations without the cost, to subtract; default: nothing is subtracted",
    ),
];

/// `[[ratio]]`.
pub(crate) const RATIO: &[Field] = &[
    needed(field("name", Kind::Text, "Name of the ratio")),
    named_field("metric", "metric", "Metric [default: tps; for timed steps: duration]"),
    needed(named_field("of", "combination", "Combinations in the numerator")),
    needed(named_field("to", "combination", "Combinations in the denominator")),
];

/// `[[step]]`.
pub(crate) const STEP: &[Field] = &[
    field("name", Kind::Text, "Name of the step in results; optional for init"),
    field("sql", Kind::Text, "SQL to time; :name is replaced by a variable"),
    field("file", Kind::Text, "File with SQL to time, relative to the experiment file"),
    field("init", Kind::Choice(&["all"]), "Time each initialization step of the workload"),
    field("before", Kind::Text, "SQL to execute before each execution; not timed"),
    field(
        "before_file",
        Kind::Text,
        "File with SQL to execute before each execution, relative to the experiment file",
    ),
    field("times", count(1, TIMES_MAX), "Number of executions in a trial [default: 1]"),
    field("limit", TIME, "Time limit, after which the execution is cancelled"),
    field("at_limit", TIME, "Time to count for a cancelled execution [default: the limit]"),
];

/// `[[action]]`, and each table of `action`. It has the time and the key of one kind.
pub(crate) fn action_fields() -> Vec<Field> {
    let at = needed(field("at", TIME, "Time since measuring began"));
    let kinds = ActionSpec::described().map(|(name, form, help)| match form {
        "" => named_field(name, "true", help),
        form if form.starts_with('[') => named_field(name, "true_or_text", help),
        _ => field(name, Kind::Text, help),
    });
    std::iter::once(at).chain(kinds).collect()
}

/// `[[stage]]`, and each table of `stages`.
pub(crate) const STAGE: &[Field] = &[
    needed(field("duration", TIME, "Its length, in whole seconds")),
    named_field(
        "rate",
        "rate_of_stage",
        "Its rate, or the rates at its begin and end, such as \"500..2000\"",
    ),
    named_field("clients", "clients_of_stage", "Its number of clients, or two numbers such as \"8..64\""),
    named_field("weights", "weights", "Weights of scripts by name; the others keep theirs"),
];

/// `[[standby]]`, and each table of `standby`.
pub(crate) const STANDBY: &[Field] = &[
    needed(named_field(
        "name",
        "standby_name",
        "Its name in synchronous_standby_names; also the target of scripts that begin with \\target NAME",
    )),
    field(
        "mode",
        Kind::Choice(&["asynchronous", "synchronous"]),
        "\"synchronous\": commits wait for it as the setting synchronous_commit says [default: asynchronous]",
    ),
    named_field(
        "network",
        "standby_network",
        "Network between it and its upstream server [default: standby_network]",
    ),
    named_field("from", "standby_name", "The standby that it receives WAL from [default: the primary]"),
    named_field("settings", "settings", "Settings that override those of the primary"),
];

/// `standby_network = { … }`.
pub(crate) const STANDBY_NETWORK: &[Field] = &[
    field("delay", TIME, "One-way delay"),
    field("jitter", TIME, "Variation of the delay, ±"),
    named_field("bandwidth", "bandwidth", "Bandwidth in each direction"),
];

/// `network = { … }`.
pub(crate) const NETWORK: &[Field] = &[
    field("kind", Kind::Choice(&["socket", "tcp", "tls"]), "Type of connection [default: socket]"),
    field("delay", TIME, "One-way delay"),
    field("jitter", TIME, "Variation of the delay, ±"),
    named_field("bandwidth", "bandwidth", "Bandwidth in each direction, for all clients together"),
];

/// `script = { … }`.
pub(crate) const SCRIPT: &[Field] = &[
    needed(named_field("script", "script_name", "Built-in script, or file relative to the experiment file")),
    field("weight", count(0, WEIGHT_MAX), "Weight among the other scripts [default: 1]"),
];

/// Keys of `[quick]` in addition to those of a trial.
pub(crate) const QUICK: &[Field] = &[
    field("repeats", count(1, REPEATS_MAX), "Trials of each combination"),
    named_field("factors", "factors", "Levels to keep"),
    field("times", count(1, TIMES_MAX), "Maximum number of executions of each step"),
];

/// Keys of a case in addition to those of a trial.
pub(crate) const CASE: &[Field] = &[needed(field("name", Kind::Text, "Name of the case in reports"))];

/// Names of the keys of a table, for messages.
pub(crate) fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}
