//! The keys of an experiment file as tables. The JSON Schema for editors, the manual's table of keys, and the names that
//! messages suggest are generated from them. Other modules read the values.

use std::fmt::Write as _;

use run::ActionSpec;
use run::options::{self, Kind, Value as OptionValue};
use serde_json::{Map, Value, json};
use stats::Scale;

use crate::configuration::{Configuration, default_load};
use crate::experiment::REPEATS_MAX;
use crate::keys::{KEYS, Section, Takes};
use crate::presentation::{METRICS, METRICS_OF_STEPS};
use crate::relative;
use crate::steps::TIMES_MAX;

/// A key of one of the tables of an experiment.
pub(crate) struct Field {
    name: &'static str,
    takes: Rule,
    help: &'static str,
    is_needed: bool,
}

/// Type of a key's value.
#[derive(Clone, Copy)]
enum Rule {
    /// A type that options have.
    Kind(Kind),
    /// Any other type: a name for [`named`].
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

pub(crate) const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most, most_in_file: most }
}

const TIME: Kind = Kind::Time { may_be_zero: true };

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
    named_field("queries", "queries", "A pass over the queries of the workload, instead of a load"),
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
    named_field("standby", "standbys", "Standbys of the server, as the key standby of [server]"),
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
const STANDBY_NETWORK: &[Field] = &[
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

/// Maximum weight of a script.
pub(crate) const WEIGHT_MAX: u64 = 1_000_000;

/// Keys of `[quick]` in addition to those of a trial.
const QUICK: &[Field] = &[
    field("repeats", count(1, REPEATS_MAX), "Trials of each combination"),
    named_field("factors", "factors", "Levels to keep"),
    field("times", count(1, TIMES_MAX), "Maximum number of executions of each step"),
];

/// Keys of a case in addition to those of a trial.
const CASE: &[Field] = &[needed(field("name", Kind::Text, "Name of the case in reports"))];

/// Names of the keys of a table, for messages.
pub(crate) fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}

/// The JSON Schema (draft 2020-12) of experiment files, with a final newline.
///
/// # Panics
/// Never: it consists of texts and numbers.
pub fn schema() -> String {
    let mut schema = table(TOP.iter().map(property));
    let mut definitions = Map::new();
    for (section, _) in KEYS {
        definitions.insert(section.name().to_owned(), table(keys_of(section)));
    }
    for (name, own) in [("trial", [].as_slice()), ("case", CASE), ("quick", QUICK)] {
        definitions.insert(name.to_owned(), trial(own));
    }
    let action = action_fields();
    for (name, fields) in [
        ("design", DESIGN),
        ("chart", CHART),
        ("difference", DIFFERENCE),
        ("ratio", RATIO),
        ("step", STEP),
        ("one_action", action.as_slice()),
        ("one_standby", STANDBY),
        ("network_of_standby", STANDBY_NETWORK),
        ("network", NETWORK),
        ("script", SCRIPT),
    ] {
        definitions.insert(name.to_owned(), table(fields.iter().map(property)));
    }
    let level = json!({
        "description": "Value of the key, or name of a level",
        "type": ["string", "number", "boolean", "object", "array"]
    });
    definitions.insert("level".to_owned(), level);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("An experiment of pgmeter");
    schema["$defs"] = Value::Object(definitions);
    format!("{schema:#}\n")
}

/// Name of a key, whether it is required, and its rule.
type Property = (String, bool, Value);

/// A table with exactly these keys.
fn table(properties: impl Iterator<Item = Property>) -> Value {
    let properties: Vec<Property> = properties.collect();
    let needed: Vec<&String> =
        properties.iter().filter(|(_, needed, _)| *needed).map(|(name, _, _)| name).collect();
    let mut table = json!({ "type": "object", "additionalProperties": false });
    if !needed.is_empty() {
        table["required"] = json!(needed);
    }
    let properties = properties.iter().map(|(name, _, rule)| (name.clone(), rule.clone()));
    table["properties"] = Value::Object(properties.collect());
    table
}

fn property(field: &Field) -> Property {
    let mut rule = rule(field.takes);
    rule["description"] = json!(field.help);
    (field.name.to_owned(), field.is_needed, rule)
}

/// The keys of all sections, and some more.
fn trial(own: &[Field]) -> Value {
    let keys = KEYS.into_iter().flat_map(|(section, _)| {
        keys_of(section).map(move |(name, _, _)| {
            let reference = json!({ "$ref": format!("#/$defs/{}/properties/{name}", section.name()) });
            (section.complete(&name), false, reference)
        })
    });
    let mut trial = table(own.iter().map(property).chain(keys));
    let one = json!({ "description": "A single setting, parameter or variable", "type": ["string", "number", "boolean"] });
    trial["patternProperties"] = json!({ "^(settings|parameters|variables)\\..+$": one });
    trial
}

/// The keys of a section; an alias has its own rule.
fn keys_of(section: Section) -> impl Iterator<Item = Property> {
    described(section).flat_map(move |key| {
        let mut rule = rule(key.takes);
        if let Some(pattern) = relative::pattern(key.name) {
            rule = json!({ "anyOf": [rule, { "type": "string", "pattern": pattern }] });
        }
        if let Some(word) = key.unset {
            rule = json!({ "anyOf": [rule, { "const": word }] });
        }
        rule["description"] = json!(key.help);
        if let Some(default) = key.default {
            rule["default"] = default;
        }
        let alias = key.alias.map(|alias| {
            let mut rule = rule.clone();
            rule["deprecated"] = json!(true);
            rule["description"] = json!(format!("Alias of {}", key.name));
            (alias.to_owned(), false, rule)
        });
        [Some((section.short(key.name).to_owned(), false, rule)), alias].into_iter().flatten()
    })
}

/// A key of a trial, from either table.
struct Described {
    name: &'static str,
    alias: Option<&'static str>,
    takes: Rule,
    unset: Option<&'static str>,
    help: &'static str,
    default: Option<Value>,
}

fn described(section: Section) -> impl Iterator<Item = Described> {
    let base = Configuration::default();
    let of_runs = options::keys().filter(move |_| section == Section::Load).map(|option| {
        let takes = match option.kind {
            Kind::Words(_) => Rule::Named(option.name),
            kind => Rule::Kind(kind),
        };
        let value = (option.get)(&default_load());
        let unset = option.unset.filter(|_| value == OptionValue::Unset);
        Described {
            name: option.name,
            alias: option.key_alias,
            takes,
            unset: option.unset,
            help: option.in_file.unwrap_or(option.help),
            default: unset.map_or_else(|| as_json(&value), |word| Some(json!(word))),
        }
    });
    let own = KEYS.iter().filter(move |(it, _)| *it == section).flat_map(|(_, keys)| *keys).map(move |key| {
        let takes = match key.takes {
            Takes::Value(kind, _) => Rule::Kind(kind),
            Takes::Node(rule, _) => Rule::Named(rule),
        };
        let default = as_json(&(key.get)(&base));
        Described { name: key.name, alias: None, takes, unset: None, help: key.help, default }
    });
    of_runs.chain(own)
}

fn as_json(value: &OptionValue) -> Option<Value> {
    match value {
        OptionValue::Unset | OptionValue::Pairs(_) => None,
        OptionValue::Count(count) => Some(json!(count)),
        OptionValue::Number(number) => Some(json!(number)),
        OptionValue::Truth(truth) => Some(json!(truth)),
        other => Some(json!(other.in_file())),
    }
}

fn rule(takes: Rule) -> Value {
    match takes {
        Rule::Kind(kind) => of_kind(kind),
        Rule::Named(name) => named(name),
    }
}

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Count { least, most_in_file, .. } => {
            json!({ "type": "integer", "minimum": least, "maximum": most_in_file })
        }
        Kind::CountOrPerCore { most_in_file } => {
            json!({ "type": "integer", "minimum": 1, "maximum": most_in_file })
        }
        Kind::Time { .. } | Kind::Milliseconds => {
            json!({ "type": "string", "pattern": "^ *[0-9.]+ *(us|ms|s|min|h) *$" })
        }
        Kind::Percent => json!({ "type": "string", "pattern": "^[0-9.]+ *%$" }),
        Kind::Rate => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Scale => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": Scale::MAX }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Words(_) => json!({ "type": "array", "items": { "type": "string" } }),
    }
}

/// Rules by name, for types that options lack; any other name refers to a definition.
fn named(name: &str) -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let table_of = |rule: Value| json!({ "type": "object", "additionalProperties": rule });
    let list_of = |rule: Value| json!({ "type": "array", "minItems": 1, "items": rule });
    let one_or_list = |rule: Value| json!({ "anyOf": [rule.clone(), { "type": "array", "items": rule }] });
    let scalar = || json!({ "type": ["string", "number", "boolean"] });
    match name {
        "name" => json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }),
        "text" => of_kind(Kind::Text),
        "version" => json!({ "anyOf": [
            { "type": "integer", "minimum": 10 },
            { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)*$" }
        ] }),
        "settings" | "parameters" | "variables" => table_of(scalar()),
        "targets" => table_of(of_kind(Kind::Text)),
        "tablespaces" => table_of(json!({ "type": "string", "pattern": "^(/.*)?$" })),
        "init_steps" => json!({ "type": "string", "pattern": "^[dtgGvpf]+$" }),
        "goal" | "query_names" => one_or_list(of_kind(Kind::Text)),
        "hosts" => json!({ "anyOf": [of_kind(Kind::Text), list_of(of_kind(Kind::Text))] }),
        "script_name" => {
            json!({ "type": "string", "pattern": "^(tpcb-like|simple-update|select-only|.+\\.sql)(@[0-9]+)?$" })
        }
        "script" => {
            let one = json!({ "anyOf": [named("script_name"), reference("script")] });
            json!({ "anyOf": [named("script_name"), reference("script"), list_of(one)] })
        }
        "network" => json!({ "anyOf": [{ "enum": ["socket", "tcp", "tls"] }, reference("network")] }),
        "bandwidth" => json!({ "type": "string", "pattern": "^ *[0-9.]+ *(kbit|Mbit|Gbit) *$" }),
        "metric" => {
            let of_steps = METRICS_OF_STEPS.iter().filter(|metric| !METRICS.contains(metric));
            json!({ "enum": METRICS.iter().chain(of_steps).collect::<Vec<_>>() })
        }
        "factors" => table_of(list_of(reference("level"))),
        "levels" => table_of(table_of(reference("trial"))),
        "combination" => table_of(reference("level")),
        "combinations" => list_of(table_of(reference("level"))),
        "cases" => list_of(reference("case")),
        "charts" => one_or_list(reference("chart")),
        "differences" => one_or_list(reference("difference")),
        "ratios" => one_or_list(reference("ratio")),
        "steps" => one_or_list(reference("step")),
        "action" => one_or_list(reference("one_action")),
        "true" => json!({ "const": true }),
        "true_or_text" => json!({ "anyOf": [{ "const": true }, { "type": "string" }] }),
        "standbys" => one_or_list(reference("one_standby")),
        "standby_name" => json!({ "type": "string", "pattern": "^[a-z0-9_]{1,40}$" }),
        "standby_network" => json!({ "anyOf": [of_kind(TIME), reference("network_of_standby")] }),
        "synchronous" => json!({ "type": "string", "pattern": "^ *(first|any) +[1-8] *$" }),
        other => reference(other),
    }
}

/// The manual's table of the keys of a trial, as Markdown.
pub fn keys_table() -> String {
    let mut out = "| section | key | description | default |\n|---|---|---|---|\n".to_owned();
    for (section, _) in KEYS {
        for (at, key) in described(section).enumerate() {
            let name = section.short(key.name);
            let section = if at == 0 { format!("`{}`", section.name()) } else { String::new() };
            let alias = key.alias.map_or(String::new(), |alias| format!(" (or `{alias}`)"));
            let unset = key.unset.map_or(String::new(), |word| format!("; `\"{word}\"`: unset"));
            let shown = key.default.as_ref().map_or(String::new(), |default| format!("`{default}`"));
            let unset = if shown.contains(key.unset.unwrap_or("\n")) { String::new() } else { unset };
            let choices = match key.takes {
                Rule::Kind(Kind::Choice(words)) if !key.help.contains(words[0]) => {
                    let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                    format!(" ({})", words.join(", "))
                }
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "| {section} | `{}`{alias} | {}{choices}{unset} | {shown} |",
                name,
                key.help.replace('|', "\\|")
            );
        }
    }
    out
}
