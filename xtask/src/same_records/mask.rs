//! Records as lines that two runs of one seed share: a path and a value. Times, figures that depend on them, names of the
//! host and numbers of ports are replaced, by lists of names. `same_records` compares the lines.

use std::collections::BTreeSet;

use serde_json::Value;

/// Numbers whose names end like this are times, rates or shares; their place and their type are compared. Not in the plan,
/// where they are what was asked for.
const MEASURED_ENDINGS: [&str; 11] =
    ["_s", "_ms", "_us", "_ns", "_ns2", "_tps", "_share", "_hz", "_billionths", "_bytes", "_at"];

/// Members that are compared by their presence alone.
const MEASURED: [&str; 72] = [
    "analyzed_at",
    "average",
    "because",
    "began",
    "block_s",
    "bytes",
    "calibration",
    "capacity",
    "ceilings",
    "client_cpu_us_per_transaction",
    "clocks",
    "conditions",
    "confidence",
    "connecting",
    "cost",
    "counters",
    "cpu_us_per_transaction",
    "dead_rows",
    "changed_rows",
    "disk",
    "events",
    "evidence",
    "file",
    "finished_at",
    "flush_us",
    "generator_limit",
    "half_width",
    "held_back",
    "host",
    "interval",
    "intervals",
    "lag",
    "latency",
    "latency_us",
    "longest",
    "looks",
    "lsn",
    "max",
    "mean",
    "median",
    "min",
    "missing",
    "noise",
    "observed",
    "oid",
    "outages",
    "pages",
    "path",
    "pid",
    "port",
    "processors",
    "relative",
    "resources",
    "response_with_stalls_us",
    "rows_per_second",
    "samples",
    "server_limit",
    "service_level",
    "settled",
    "stalls",
    "started",
    "started_at",
    "statements",
    "stddev",
    "steady_state",
    "tail",
    "tps",
    "value",
    "verdict",
    "waits",
    "workers",
    "per_transaction",
];

/// Warnings that depend on how busy and how fast the machine is.
const TIMED_WARNINGS: [&str; 2] = ["busy_before", "client_shares_host"];

/// The lines of a document.
pub(super) fn lines(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    add(&mut lines, "", "", document);
    lines
}

fn add(lines: &mut BTreeSet<String>, path: &str, name: &str, value: &Value) {
    let is_asked_for = path.starts_with(".plan.");
    match value {
        _ if MEASURED.contains(&name) && !is_asked_for => {
            lines.insert(format!("{path} = …"));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| add(lines, &format!("{path}.{name}"), name, value));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let kind = item.get("kind").and_then(Value::as_str);
                if name == "warnings" && kind.is_some_and(|kind| TIMED_WARNINGS.contains(&kind)) {
                    continue;
                }
                let at = if name == "warnings" { kind.unwrap_or("?").to_owned() } else { at.to_string() };
                add(lines, &format!("{path}[{at}]"), "", item);
            }
        }
        Value::Number(_) if !is_asked_for && is_measured(path) => {
            lines.insert(format!("{path} = number"));
        }
        Value::String(text) => {
            lines.insert(format!("{path} = {}", without_ports(text)));
        }
        other => {
            lines.insert(format!("{path} = {other}"));
        }
    }
}

/// Whether the number, or what it is a part of, has a name of times.
fn is_measured(path: &str) -> bool {
    let names = path.split(['.', '[']);
    names
        .filter(|name| !name.is_empty())
        .any(|name| MEASURED_ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// The text with `port=…` and the port of a socket's name replaced.
pub(super) fn without_ports(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) =
        ["port=", ".PGSQL."].iter().filter_map(|word| Some(rest.find(word)? + word.len())).min()
    {
        out.push_str(&rest[..at]);
        out.push('P');
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

/// The text with each number replaced.
pub(super) fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_replaced_and_what_was_asked_for_is_not() {
        let record = |tps: f64, seed: &str, duration: f64| {
            lines(
                &json!({"plan": {"seed": seed, "duration_s": 5.0}, "summary": {"tps": tps, "duration_s": duration,
                "counts": {"succeeded": 40}, "response_us": {"mean": tps}}}),
            )
        };
        assert_eq!(record(1.0, "7", 2.0), record(3.0, "7", 4.0));
        assert!(record(1.0, "7", 2.0).contains(".plan.duration_s = 5.0"));
        assert!(record(1.0, "7", 2.0).contains(".summary.counts.succeeded = 40"));
        assert_ne!(record(1.0, "7", 2.0), record(1.0, "8", 2.0));
    }

    #[test]
    fn warnings_are_compared_by_their_kinds() {
        let record = |kinds: &[&str]| {
            let warnings: Vec<_> = kinds.iter().map(|kind| json!({"kind": kind})).collect();
            lines(&json!({ "warnings": warnings }))
        };
        assert_eq!(record(&["debug_build", TIMED_WARNINGS[0]]), record(&["debug_build"]));
        assert_ne!(record(&["debug_build"]), record(&["fsync_off"]));
    }

    #[test]
    fn ports_and_numbers_are_replaced_in_texts() {
        assert_eq!(without_ports("host=/x port=35883 a .s.PGSQL.35883\""), "host=/x port=P a .s.PGSQL.P\"");
        assert_eq!(without_numbers("a 12, b3"), "a #, b#");
    }
}
