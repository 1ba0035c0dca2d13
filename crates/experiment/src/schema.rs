//! The JSON Schema of experiment files for editors, and the manual's table of keys. Both are generated from the tables
//! of keys in `fields` and `keys`.

use std::fmt::Write as _;

use run::options::{self, Kind, Value as OptionValue};
use serde_json::{Map, Value, json};
use stats::Scale;

use crate::configuration::{Configuration, default_load};
use crate::fields::{
    CASE, CHART, DESIGN, DIFFERENCE, Field, NETWORK, POPULATION, QUICK, RATIO, Rule, SCRIPT, STAGE, STANDBY,
    STANDBY_NETWORK, STEP, TIME, TOP, WEIGHT_MAX, action_fields,
};
use crate::keys::{KEYS, Section, Takes};
use crate::presentation::{METRICS, METRICS_OF_STEPS};
use crate::relative;

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
        ("one_stage", STAGE),
        ("population", POPULATION),
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
        Kind::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Kind::Rate => json!({ "anyOf": [
            { "type": "number", "exclusiveMinimum": 0 },
            { "type": "string", "pattern": "^ *((ramp|steps|sine) *\\(.*\\)|file:.+) *$" }
        ] }),
        Kind::Stages => named("stages"),
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
        "stages" => json!({ "anyOf": [
            { "type": "string" }, reference("one_stage"), list_of(reference("one_stage"))
        ] }),
        "rate_of_stage" => json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "type": "string" }] }),
        "clients_of_stage" => {
            json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }] })
        }
        "weights" => table_of(json!({ "type": "integer", "minimum": 0, "maximum": WEIGHT_MAX })),
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
