//! The store's file: a real store in which bytes or single values are damaged is read, or refused in one line. An input is
//! JSON: `{"bytes": [[place, bytes…], …], "values": [[table, column, row, value], …]}`. The records beside the
//! store are no part of it, and nothing that is done to the store changes them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use results::{ListFilter, PlannedTrial, ResultsError, Store, find};
use rusqlite::Connection;
use script::Random;
use serde_json::Value;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance, records};
use crate::corpus::below;

pub const TARGET: Target = Target {
    name: "store",
    words: &[
        b"{\"values\":",
        b"{\"bytes\":",
        b"[[",
        b"]]",
        b",",
        b"\"runs\"",
        b"\"plan\"",
        b"\"{\"",
        b"null",
        b"1",
    ],
    generate: Some(generate),
    reshape: Some(records::reshape),
    length_max: SHORT,
    short_round_divisor: 10,
    // What SQLite takes is not counted; the address space of the process bounds it.
    memory: |input| allowance(64 * 1024, 1024, input),
    prepare,
};

/// Where values are damaged.
const COLUMNS: &[(&str, &[&str])] = &[
    (
        "runs",
        &[
            "status",
            "reason",
            "started_at",
            "ended_at",
            "pgmeter_version",
            "schema_version",
            "record_path",
            "record_bytes",
            "hostname",
            "boot_id",
            "pid_namespace",
            "pid",
            "pid_started_ticks",
            "seed",
            "plan",
            "environment",
            "tables",
            "summary",
            "observation",
            "warnings",
            "notes",
            "label",
            "note",
        ],
    ),
    ("experiments", &["name", "profile", "files", "started_at", "hostname", "label", "note", "design"]),
    ("trials", &["experiment", "position", "factors", "repeat", "status", "reason", "run"]),
    ("executions", &["experiment", "mark", "hostname", "boot_id", "pid", "pid_started_ticks", "ended_at"]),
    ("samples", &["position", "sample"]),
    ("intervals", &["start_s", "scheduled", "p50_us"]),
];

/// Values in the place of others.
const VALUES: &[&str] = &[
    "null",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "1e300",
    "0.5",
    "\"\"",
    "\"{\"",
    "\"{}\"",
    "\"[]\"",
    "\"null\"",
    "\"[1]\"",
    "\"complete\"",
    "\"running\"",
    "\"planned\"",
    "\"nonsense\"",
    "\"../../../etc/passwd\"",
    "\"a\\nb\\u001b[2J\"",
    "\"{\\\"scripts\\\":[{\\\"name\\\":1}]}\"",
    "\"{\\\"scripts\\\":5,\\\"clients\\\":-1}\"",
    "\"{\\\"tps\\\":\\\"x\\\"}\"",
    "\"{\\\"x\\\":{\\\"text\\\":5}}\"",
];

/// A place in the header, in a page's head, or anywhere; or a value.
fn generate(random: &mut Random, out: &mut Vec<u8>) {
    let mut text = String::from("{");
    if random.range(1) == 0 {
        text += "\"values\":[";
        for at in 0..1 + below(random, 2) {
            let (table, columns) = COLUMNS[below(random, COLUMNS.len())];
            let column = columns[below(random, columns.len())];
            let (row, value) = (1 + below(random, 3), VALUES[below(random, VALUES.len())]);
            let comma = if at > 0 { "," } else { "" };
            text += &format!("{comma}[\"{table}\",\"{column}\",{row},{value}]");
        }
    } else {
        text += "\"bytes\":[";
        for at in 0..1 + below(random, 4) {
            let page = below(random, 64) * PAGE;
            let place =
                [below(random, 100), page + below(random, 32), below(random, 64 * PAGE)][below(random, 3)];
            let comma = if at > 0 { "," } else { "" };
            text += &format!("{comma}[{place}");
            for _ in 0..1 + below(random, 4) {
                text += &format!(",{}", below(random, 256));
            }
            text.push(']');
        }
    }
    text += "]}";
    out.extend_from_slice(text.as_bytes());
}

/// SQLite's usual size of a page.
const PAGE: usize = 4096;
/// Of today's profile and name.
const EXPERIMENT: &str = "e";
/// Records in the store: the seeds of the target `records`.
const RUNS: u32 = 3;

/// A store that nobody has damaged.
struct Sound {
    bytes: Vec<u8>,
    /// The files beside it.
    records: Vec<Vec<u8>>,
}

fn prepare() -> io::Result<Attempt> {
    let folder = std::env::current_dir()?;
    let path = folder.join("sound.sqlite");
    let mut store = Store::create(&path).map_err(io::Error::other)?;
    let mut records = Vec::new();
    for (number, name) in ["late", "select-only", "tpcb-like"].into_iter().enumerate() {
        let beside = folder.join(format!("{number}.json"));
        fs::copy(records::TARGET.seeds().join(name), &beside)?;
        store.import(&beside).map_err(io::Error::other)?;
        records.push(fs::read(&beside)?);
    }
    let trials = [1, 2].map(|repeat| PlannedTrial {
        factors: BTreeMap::from([("clients".to_owned(), "1".to_owned())]),
        repeat,
    });
    let files = BTreeMap::from([("e.toml".to_owned(), "name = \"e\"".to_owned())]);
    let experiment =
        store.begin_experiment(EXPERIMENT, "full", &files, &trials, None).map_err(io::Error::other)?;
    store.begin_execution(experiment).map_err(io::Error::other)?;
    store.begin_trial(1, 1).and_then(|()| store.end_trial(1, None)).map_err(io::Error::other)?;
    drop(store);
    let sound = Sound { bytes: fs::read(&path)?, records };
    let damaged = folder.join("damaged.sqlite");
    Ok(Box::new(move |input| attempt(&sound, &damaged, input)))
}

fn attempt(sound: &Sound, path: &Path, input: &[u8]) -> Result<u64, String> {
    let Ok(damage) = serde_json::from_slice::<Value>(input) else { return Ok(0) };
    let items = |name: &str| damage.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut bytes = sound.bytes.clone();
    for patch in items("bytes") {
        let numbers: Vec<u64> = patch.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let Some((place, patched)) = numbers.split_first() else { continue };
        for (offset, byte) in (0_u64..).zip(patched) {
            let at = usize::try_from(place.wrapping_add(offset) % bytes.len() as u64).unwrap_or(0);
            bytes[at] = byte.to_le_bytes()[0];
        }
    }
    for journal in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(journal);
        // There may be none.
        let _ = fs::remove_file(name);
    }
    fs::write(path, bytes).map_err(|error| format!("no store could be written: {error}"))?;
    for value in items("values") {
        // What cannot be damaged so stays as it is.
        let _ = damage_value(path, &value);
    }
    let mut outcome = Digest::new();
    read(path, &mut outcome)?;
    for (number, record) in sound.records.iter().enumerate() {
        let beside = path.with_file_name(format!("{number}.json"));
        if fs::read(&beside).map_err(|error| error.to_string())? != *record {
            return Err("a record beside the store is another one".to_owned());
        }
    }
    Ok(outcome.value())
}

/// Puts a value where no check of the store's own would have let it.
fn damage_value(path: &Path, value: &Value) -> rusqlite::Result<()> {
    let Some([Value::String(table), Value::String(column), row, value]) = value.as_array().map(Vec::as_slice)
    else {
        return Ok(());
    };
    let known = COLUMNS.iter().any(|(name, columns)| name == table && columns.contains(&column.as_str()));
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA ignore_check_constraints = on; PRAGMA foreign_keys = off; \
         DROP TRIGGER IF EXISTS runs_that_are_over_stay_as_they_are",
    )?;
    if known {
        let key = if table == "samples" || table == "intervals" { "run" } else { "rowid" };
        let sql = format!("UPDATE {table} SET {column} = json_extract(?1, '$') WHERE {key} = ?2");
        connection.execute(&sql, (value.to_string(), row.as_i64().unwrap_or(1)))?;
    }
    Ok(())
}

/// Everything that lists and reports ask of a store.
fn read(path: &Path, outcome: &mut Digest) -> Result<(), String> {
    let mut store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return refused(&error, outcome),
    };
    match store.entries(&ListFilter { newest: RUNS, ..ListFilter::default() }) {
        Ok(entries) => outcome.debug(&(entries.len(), results::entries_json(&entries).is_empty())),
        Err(error) => refused(&error, outcome)?,
    }
    match store.stored_experiment(EXPERIMENT, None) {
        Ok(stored) => outcome.debug(&stored.map(|stored| stored.trials.len())),
        Err(error) => refused(&error, outcome)?,
    }
    match store.newest_experiment(EXPERIMENT, "full") {
        Ok(row) => outcome.debug(&row.map(|row| row.trials.len())),
        Err(error) => refused(&error, outcome)?,
    }
    for result in [store.experiment_names().map(drop), store.broken_executions(1).map(drop)] {
        match result {
            Ok(()) => outcome.debug(&true),
            Err(error) => refused(&error, outcome)?,
        }
    }
    drop(store);
    for which in ["last", "before"] {
        match find(path, which) {
            Ok(_) => outcome.debug(&true),
            Err(error) => refused(&error, outcome)?,
        }
    }
    // What is left of a damaged store can be imported into another one.
    let mut other =
        Store::create(&path.with_file_name("other/other.sqlite")).map_err(|error| error.to_string())?;
    let beside = path.with_file_name("other");
    match other.import_all(&[path.to_owned()], &beside, |_| None, &mut |_| ()) {
        Ok(totals) => outcome.debug(&totals),
        Err(error) => refused(&error, outcome)?,
    }
    drop(other);
    fs::remove_dir_all(beside).map_err(|error| error.to_string())
}

/// An error is one line that steers no terminal.
fn refused(error: &ResultsError, outcome: &mut Digest) -> Result<(), String> {
    let said = error.to_string();
    if said.contains(char::is_control) {
        return Err(format!("an error with characters that steer a terminal: {said:?}"));
    }
    outcome.show(&said.split(['"', '`']).step_by(2).collect::<String>().replace(char::is_numeric, ""));
    Ok(())
}
