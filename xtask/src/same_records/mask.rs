//! Records as lines that two runs of one seed share: a path and a value. Times, figures that depend on them, names of the
//! host and numbers of ports are replaced, by lists of names. `same_records` compares the lines.

use std::collections::BTreeSet;

use serde_json::Value;

/// Integers whose names end like this are times or amounts; their place is compared. Not in the plan, where they are what
/// was asked for. All fractions outside of the plan are measured.
const MEASURED_ENDINGS: [&str; 7] = ["_s", "_ms", "_us", "_ns", "_billionths", "_bytes", "_at"];

/// Members that are compared by their presence alone.
const MEASURED: [&str; 80] = [
    "analyzed_at",
    "backend_memory",
    "because",
    "block_s",
    "bytes",
    "calibration",
    "ceilings",
    "changed_rows",
    "clocks",
    "conditions",
    "confidence",
    "connecting",
    "cost",
    "counters",
    "counters_cost",
    "cpu_us_per_transaction",
    "dead_rows",
    "decision",
    "disk",
    "effects",
    "events",
    "evidence",
    "figures",
    "findings",
    "finished_at",
    "flush_us",
    "half_width",
    "held_back",
    "high",
    "host",
    "interval",
    "intervals",
    "lag",
    "lag_us",
    "latency",
    "latency_us",
    "limited_by",
    "longest",
    "looks",
    "low",
    "lsn",
    "marks",
    "max",
    "mean",
    "median",
    "min",
    "missing",
    "noise",
    "oid",
    "outages",
    "own_us_per_round_trip",
    "pages",
    "pairs",
    "pairs_planned",
    "path",
    "per_transaction",
    "pid",
    "port",
    "processors",
    "queries_per_hour",
    "ratios",
    "relative",
    "resources",
    "response_with_stalls_us",
    "samples",
    "server_cpus_allowed",
    "service_level",
    "settled",
    "stalls",
    "started_at",
    "statements",
    "stddev",
    "steady_state",
    "tail",
    "tps",
    "value",
    "verdict",
    "waits",
    "wakeups",
    "workers",
];

/// Names that contain a random number or a number of a process or a port, without it.
const NUMBERED: [&str; 5] = ["port=", ".PGSQL.", "pgmeter_verify_", "pgmeter_lab_", "temporary-"];

/// Warnings that depend on how busy and how fast the machine is.
const TIMED_WARNINGS: [&str; 17] = [
    "biased_samples",
    "busy_before",
    "client_uses_cpu",
    "contended_rows",
    "maintenance",
    "maintenance_in_some",
    "never_settled",
    "no_checkpoint",
    "only_succeeded",
    "other_programs",
    "rate_not_kept",
    "relay_cost",
    "relay_late",
    "settled_late",
    "shared_host",
    "stalled",
    "stolen",
];

/// The lines of a document.
pub(super) fn lines(document: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    add(&mut lines, "", "", document);
    lines
}

fn add(lines: &mut BTreeSet<String>, path: &str, name: &str, value: &Value) {
    let is_asked_for = path.starts_with(".plan.");
    match value {
        _ if name == "port" || MEASURED.contains(&name) && !is_asked_for => {
            lines.insert(format!("{path} = …"));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| add(lines, &format!("{path}.{name}"), name, value));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let at = match item.get("kind").and_then(Value::as_str) {
                    Some(kind) if name == "warnings" && TIMED_WARNINGS.contains(&kind) => continue,
                    Some(kind) if name == "warnings" => kind.to_owned(),
                    // A sentence of a report, with figures.
                    None if name == "warnings" => continue,
                    _ => at.to_string(),
                };
                add(lines, &format!("{path}[{at}]"), "", item);
            }
        }
        Value::Number(number) if !is_asked_for && (number.is_f64() || is_measured(path)) => {
            lines.insert(format!("{path} = number"));
        }
        Value::String(text) => {
            lines.insert(format!("{path} = {}", without_numbers_of_names(text)));
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

/// The text with the numbers after [`NUMBERED`] replaced.
pub(super) fn without_numbers_of_names(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = NUMBERED.iter().filter_map(|word| Some(rest.find(word)? + word.len())).min() {
        out.push_str(&rest[..at]);
        out.push('…');
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '_');
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
        let replaced = "host=/x port=… a .s.PGSQL.…\" pgmeter_lab_…trial";
        let text = "host=/x port=35883 a .s.PGSQL.35883\" pgmeter_lab_8871_1ce87e25_trial";
        assert_eq!(without_numbers_of_names(text), replaced);
        assert_eq!(without_numbers("a 12, b3"), "a #, b#");
    }
}
