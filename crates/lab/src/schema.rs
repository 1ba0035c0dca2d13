//! What may stand in an experiment file, as tables: the JSON Schema by which editors help to write it, the manual's table
//! of keys, and the names that messages propose are made from them. What a key means is read elsewhere.

use std::fmt::Write as _;

use run::options::{self, Kind, Value as OptionValue};
use serde_json::{Map, Value, json};

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

/// What a key takes.
#[derive(Clone, Copy)]
enum Rule {
    /// A value of one of the kinds that options have.
    Kind(Kind),
    /// Anything else: the name of a function of [`named`].
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

/// The file.
pub(crate) const TOP: &[Field] = &[
    needed(named_field("name", "name", "By it results are found again")),
    field("title", Kind::Text, "For people: what it is"),
    field("source", Kind::Text, "For people: who published it"),
    field("description", Kind::Text, "For people: what to look for"),
    named_field("server", "server", "What is measured"),
    named_field("data", "data", "What is in the server"),
    named_field("load", "load", "What the server has to do"),
    named_field(
        "factors",
        "factors",
        "What is varied: keys, or names of their own that levels describe; each with its levels",
    ),
    named_field("levels", "levels", "levels.FACTOR.LEVEL: the keys that a level sets"),
    named_field(
        "cases",
        "cases",
        "A ladder: the levels of the factor \"case\", each on top of the one before",
    ),
    named_field("exclude", "combinations", "Combinations that are left out"),
    named_field("design", "design", "How often, and in which order"),
    named_field(
        "quick",
        "quick",
        "The small size, for --quick: keys of all sections, repeats, and of some factors the levels that are kept",
    ),
    named_field("chart", "charts", "What is drawn"),
    named_field("difference", "differences", "What something costs, by subtraction"),
    named_field("step", "steps", "What is timed, instead of a load"),
];

/// `[design]`.
pub(crate) const DESIGN: &[Field] = &[
    field("repeats", count(1, REPEATS_MAX), "Trials of each combination [default: 3]"),
    field(
        "order",
        Kind::Choice(&["interleaved", "sequential"]),
        "\"interleaved\": each repeat goes through all combinations in an order of its own; \"sequential\": as they stand \
         in the file [default: interleaved]",
    ),
    field("seed", count(0, i64::MAX.unsigned_abs()), "Of the order and of the trials' draws [default: 1]"),
    named_field("base", "combination", "The combination that others are compared with"),
];

/// `[[chart]]`.
pub(crate) const CHART: &[Field] = &[
    field("title", Kind::Text, "Above it"),
    needed(field("x", Kind::Text, "The factor along the horizontal axis; of steps also \"step\"")),
    named_field("y", "metric", "The figure along the vertical axis [default: tps; of steps: duration]"),
    field("series", Kind::Text, "The factor that gives the lines"),
    field("facet", Kind::Text, "The factor that gives the panels"),
    field("x_scale", Kind::Choice(&["linear", "log"]), "The horizontal axis [default: linear]"),
    field("y_scale", Kind::Choice(&["linear", "log"]), "The vertical axis [default: linear]"),
];

/// `[[difference]]`.
pub(crate) const DIFFERENCE: &[Field] = &[
    needed(field("name", Kind::Text, "What it is that costs")),
    named_field("metric", "metric", "Of which figure [default: cycle; of steps: duration]"),
    needed(named_field("of", "combination", "The combinations that have it")),
    named_field("minus", "combination", "Those that lack it; without, nothing is subtracted"),
];

/// `[[step]]`.
pub(crate) const STEP: &[Field] = &[
    field("name", Kind::Text, "By which its results are found; only init needs none"),
    field("sql", Kind::Text, "What is timed; :name stands for a variable"),
    field("file", Kind::Text, "The same, from a file beside the experiment"),
    field("init", Kind::Choice(&["all"]), "The loader's steps, each timed by itself"),
    field("before", Kind::Text, "SQL that is executed before each time and not timed"),
    field("before_file", Kind::Text, "The same, from a file beside the experiment"),
    field("times", count(1, TIMES_MAX), "How often it is executed in a trial [default: 1]"),
    field("limit", TIME, "After this long it is cancelled"),
    field("at_limit", TIME, "What a time that was cancelled counts as; without, as the limit"),
];

/// `network = { … }`.
pub(crate) const NETWORK: &[Field] = &[
    field("kind", Kind::Choice(&["socket", "tcp", "tls"]), "The kind of connection [default: socket]"),
    field("delay", TIME, "One way"),
    field("jitter", TIME, "How much the delay varies, either way"),
    named_field("bandwidth", "bandwidth", "Of each direction, all clients together"),
];

/// `script = { … }`.
pub(crate) const SCRIPT: &[Field] = &[
    needed(named_field("script", "script_name", "A built-in script, or a file beside the experiment")),
    field("weight", count(0, WEIGHT_MAX), "How often it is chosen among the others [default: 1]"),
];

/// The greatest weight of a script.
pub(crate) const WEIGHT_MAX: u64 = 1_000_000;

/// What `[quick]` has beside the keys of a trial.
const QUICK: &[Field] = &[
    field("repeats", count(1, REPEATS_MAX), "Trials of each combination"),
    named_field("factors", "factors", "The levels that are kept"),
    field("times", count(1, TIMES_MAX), "The most that any step is executed"),
];

/// What a case has beside the keys of a trial.
const CASE: &[Field] = &[needed(field("name", Kind::Text, "By which it is shown"))];

/// Names of the keys of a table, for messages.
pub(crate) fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}

/// The JSON Schema (draft 2020-12) of experiment files, with a line feed at its end.
///
/// # Panics
/// Never: it is made of texts and numbers.
pub fn schema() -> String {
    let mut schema = table(TOP.iter().map(property));
    let mut definitions = Map::new();
    for (section, _) in KEYS {
        definitions.insert(section.name().to_owned(), table(keys_of(section)));
    }
    for (name, own) in [("trial", [].as_slice()), ("case", CASE), ("quick", QUICK)] {
        definitions.insert(name.to_owned(), trial(own));
    }
    for (name, fields) in [
        ("design", DESIGN),
        ("chart", CHART),
        ("difference", DIFFERENCE),
        ("step", STEP),
        ("network", NETWORK),
        ("script", SCRIPT),
    ] {
        definitions.insert(name.to_owned(), table(fields.iter().map(property)));
    }
    let level = json!({
        "description": "A value of the key, or the name of a level",
        "type": ["string", "number", "boolean", "object", "array"]
    });
    definitions.insert("level".to_owned(), level);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("An experiment of pgmeter");
    schema["$defs"] = Value::Object(definitions);
    format!("{schema:#}\n")
}

/// A key's name, whether it is needed, and its rule.
type Property = (String, bool, Value);

/// A table with these keys and no other.
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

/// Keys of all sections, and some more.
fn trial(own: &[Field]) -> Value {
    let keys = KEYS.into_iter().flat_map(|(section, _)| {
        keys_of(section).map(move |(name, _, _)| {
            let reference = json!({ "$ref": format!("#/$defs/{}/properties/{name}", section.name()) });
            (name, false, reference)
        })
    });
    let mut trial = table(own.iter().map(property).chain(keys));
    let one =
        json!({ "description": "One setting or variable alone", "type": ["string", "number", "boolean"] });
    trial["patternProperties"] = json!({ "^(settings|parameters|variables)\\..+$": one });
    trial
}

/// The keys of a section; other names of a key have rules of their own.
fn keys_of(section: Section) -> impl Iterator<Item = Property> {
    described(section).flat_map(|key| {
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
            rule["description"] = json!(format!("Another name of {}", key.name));
            (alias.to_owned(), false, rule)
        });
        [Some((key.name.to_owned(), false, rule)), alias].into_iter().flatten()
    })
}

/// A key of a trial, from whichever table.
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
        Kind::Time { .. } | Kind::Milliseconds => {
            json!({ "type": "string", "pattern": "^ *[0-9.]+ *(us|ms|s|min|h) *$" })
        }
        Kind::Percent => json!({ "type": "string", "pattern": "^[0-9.]+ *%$" }),
        Kind::Rate => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Words(_) => json!({ "type": "array", "items": { "type": "string" } }),
    }
}

/// What is of no kind that options have; anything else is a definition of this name.
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
        "hosts" => json!({ "anyOf": [of_kind(Kind::Text), list_of(of_kind(Kind::Text))] }),
        "script_name" => {
            json!({ "type": "string", "pattern": "^(tpcb-like|simple-update|select-only|.+\\.sql)$" })
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
        "steps" => one_or_list(reference("step")),
        other => reference(other),
    }
}

/// The manual's table of the keys of a trial, as Markdown.
pub fn keys_table() -> String {
    let mut out = "| section | key | what | if not given |\n|---|---|---|---|\n".to_owned();
    for (section, _) in KEYS {
        for (at, key) in described(section).enumerate() {
            let section = if at == 0 { format!("`{}`", section.name()) } else { String::new() };
            let alias = key.alias.map_or(String::new(), |alias| format!(" (or `{alias}`)"));
            let unset = key.unset.map_or(String::new(), |word| format!("; `\"{word}\"`: none is asked for"));
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
                key.name,
                key.help.replace('|', "\\|")
            );
        }
    }
    out
}
