//! Documents of older schemas as records of today: what they did not have is filled in with what it was then.
//! Works on the document, not on bytes, and believes nothing: what is missing or of another kind than it was
//! is left for the reading of the record to refuse. Called by `read`.

use serde_json::{Error, Map, Value, json};

use crate::{Record, SCHEMA_VERSION};

/// A document of an older schema as a record of today.
pub(crate) fn from_version(version: u64, mut document: Value) -> Result<Record, Error> {
    if version == 1 {
        to_version_2(&mut document);
    }
    if version <= 2 {
        to_version_3(&mut document);
    }
    to_version_4(&mut document);
    if let Some(version) = document.get_mut("schema_version") {
        *version = json!(SCHEMA_VERSION);
    }
    serde_json::from_value(document)
}

/// The third schema had no intervals of confidence, nobody looked at the server while it ran, and less was known of
/// where it ran.
fn to_version_4(document: &mut Value) {
    add(Some(document), json!({"observation": null, "pgmeter_build": null, "notes": []}));
    add(document.get_mut("plan"), json!({"command_line": null, "until": null}));
    let nothing = json!({"governor": null, "clock_source": null, "virtualisation": null, "container": null,
                         "load_average_1m": null, "processors": null});
    let environment = document.get_mut("environment");
    add(environment, json!({"conditions": nothing, "disk": null, "connection": null}));
    let server = document.pointer_mut("/environment/server");
    add(server, json!({"main_settings": {}, "extensions": {}, "debug_assertions": null}));
    let unknown = json!({"tps": null, "response_mean_us": null, "service_mean_us": null});
    let Some(summary) = document.get_mut("summary") else { return };
    add(Some(summary), json!({"confidence": unknown, "steady_state": null, "until_reached": null}));
    for script in items(summary.get_mut("scripts")) {
        add(Some(script), json!({"confidence": unknown}));
        for command in items(script.get_mut("commands")) {
            add(Some(command), json!({"latency_us": null}));
        }
    }
}

/// The second schema knew nothing of the generator itself.
fn to_version_3(document: &mut Value) {
    add(document.get_mut("summary"), json!({"generator": null}));
}

/// The first schema: every transaction was tried once, on one target, over a connection that was kept, and stood
/// for itself; nothing was known of single commands, of the longest lag, or of the tables but their scale.
fn to_version_2(document: &mut Value) {
    let scale = scale_of(document);
    add(Some(document), json!({"tables": {"scale": scale, "partition_method": null, "partitions": null}}));
    let plan = document.get_mut("plan");
    add(plan, json!({"max_tries": 1, "reconnect": false, "continue_on_error": false, "targets": []}));
    for script in items(document.pointer_mut("/plan/scripts")) {
        let name = script.get("name").cloned().unwrap_or_default();
        let builtin = name.as_str().is_some_and(|name| name.starts_with("<builtin: "));
        add(Some(script), json!({"description": name, "builtin": builtin, "target": null}));
    }
    if let Some(summary) = document.get_mut("summary") {
        let elapsed = summary.get("duration_s").cloned();
        add_business(summary);
        add(Some(summary), json!({"elapsed_s": elapsed, "lag_us": null, "connecting": null}));
        for script in items(summary.get_mut("scripts")) {
            add_business(script);
            add(Some(script), json!({"commands": []}));
        }
    }
    for interval in items(document.get_mut("intervals")) {
        add_business(interval);
        for script in items(interval.get_mut("scripts")) {
            add_business(script);
            add(Some(script), json!({"lag_max_ns": null}));
        }
    }
}

/// It was kept as a variable only.
fn scale_of(document: &Value) -> Option<u32> {
    document.pointer("/plan/variables/scale")?.as_str()?.parse().ok()
}

/// Each succeeded transaction stood for one.
fn add_business(holder: &mut Value) {
    let Some(counts) = holder.get_mut("counts") else { return };
    let succeeded = counts.get("succeeded").cloned();
    add(Some(counts), json!({"business": succeeded}));
}

/// Adds fields that are not there yet.
fn add(holder: Option<&mut Value>, fields: Value) {
    if let (Some(Value::Object(holder)), Value::Object(fields)) = (holder, fields) {
        fields.into_iter().for_each(|(name, value)| insert(holder, name, value));
    }
}

fn insert(holder: &mut Map<String, Value>, name: String, value: Value) {
    holder.entry(name).or_insert(value);
}

fn items(list: Option<&mut Value>) -> impl Iterator<Item = &mut Value> {
    list.and_then(Value::as_array_mut).into_iter().flatten()
}
