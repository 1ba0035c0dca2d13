//! A run is the same, and is recorded in the same way, however it is asked for: by `bench`, by an experiment, by pgbench's
//! options, or from Rust. `quickstart` runs for a time and on a server of its own, so that its counts differ each time.

use std::collections::{BTreeMap, BTreeSet};

use connect::{Environment, Overrides, Target};
use dropin::Options;
use engine::{Compatibility, Limit};
use results::{ObserveLevel, Record};
use run::{Circumstances, Control, RunRequest, RunSpec, Runner, ScriptSource, ScriptSpec, Vacuum};
use serde_json::Value;
use stats::Scale;
use testkit::null::{NullOptions, NullServer};
use testkit::request_log::{Received, RequestLog};

use crate::harness::Bench;

const CLIENTS: u32 = 3;
const TRANSACTIONS: u64 = 500;
const SCRIPT: &str = "\\set value random(1, 1000000)\nINSERT INTO drawn VALUES (:client_id, :value);\n";

/// A server that answers everything, and the directory of the programs.
struct Place {
    bench: Bench,
    server: NullServer,
    log: RequestLog,
}

/// A record, and the statements of each client in order.
struct Run {
    record: Record,
    statements: BTreeMap<String, Vec<String>>,
}

impl Place {
    fn new() -> Self {
        let bench = Bench::new();
        bench.file("drawn.sql", SCRIPT);
        let log = RequestLog::default();
        let options = NullOptions { on_request: log.recorder(), ..NullOptions::default() };
        Self { bench, server: NullServer::on_unix_socket(options).expect("a null server"), log }
    }

    fn target(&self) -> Target {
        let environment = Environment::default();
        connect::resolve(Some(&self.server.conninfo()), &Overrides::default(), &environment)
            .expect("a target")
    }

    /// The statements of the script that the server has received so far, by client.
    fn statements(&self) -> BTreeMap<String, Vec<String>> {
        let mut statements: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (_, message) in self.log.requests() {
            if let Received::Query(sql) = message
                && let Some(values) = sql.strip_prefix("INSERT INTO drawn VALUES (")
            {
                let (client, value) = values.split_once(", ").expect("two values");
                statements.entry(client.to_owned()).or_default().push(value.to_owned());
            }
        }
        statements
    }
}

fn bench(seed: u64) -> Run {
    let place = Place::new();
    let (clients, transactions, seed) = (CLIENTS.to_string(), TRANSACTIONS.to_string(), seed.to_string());
    let conninfo = place.server.conninfo();
    let words = ["bench", "-n", "-f", "drawn.sql", "-c", &clients, "-t", &transactions, "--observe", "off"];
    place.bench.run(words.into_iter().chain(["--random-seed", &seed, &conninfo])).exits(0);
    Run { record: place.bench.record(), statements: place.statements() }
}

/// The only trial of an experiment, which has a seed of its own.
fn experiment() -> Run {
    let place = Place::new();
    let text = format!(
        "name = \"drawn\"\ntitle = \"Drawn values\"\n[server]\ndsn = \"{}\"\n[data]\nworkload = \"none\"\n\
         restore = \"never\"\n[load]\nscript = \"drawn.sql\"\nclients = {CLIENTS}\ntransactions = {TRANSACTIONS}\n\
         warmup = \"0s\"\nobserve = \"off\"\n[design]\nrepeats = 1\n",
        place.server.conninfo()
    );
    place.bench.file("drawn.toml", &text);
    place.bench.run(["lab", "run", "drawn.toml"]).exits(0);
    Run { record: place.bench.record(), statements: place.statements() }
}

fn pgbench(seed: u64) -> Run {
    let place = Place::new();
    let script = place.bench.path().join("drawn.sql");
    let words = ["-n".into(), "-f".into(), script.into(), format!("-c{CLIENTS}").into()];
    let more = [format!("-t{TRANSACTIONS}").into(), format!("--random-seed={seed}").into()];
    let words = words.into_iter().chain(more).collect();
    let Ok((mut options, others)) = Options::act_on(words, "pgbench", &mut |_| ()) else {
        panic!("these are options of pgbench")
    };
    assert!(dropin::decide(&mut options, others).is_ok());
    let spec = options.spec;
    let circumstances = Circumstances { compatibility: Compatibility::Pgbench, ..Circumstances::default() };
    let request = RunRequest { scripts: Some(options.scripts), ..RunRequest::on(place.target(), spec) };
    let runner = Runner::new(request).expect("a runner");
    let record = runner.under(circumstances).run(&Control::default()).expect("a run").record;
    Run { record, statements: place.statements() }
}

fn rust(seed: u64) -> Run {
    let script = ScriptSource::Text { name: "drawn.sql".to_owned(), text: SCRIPT.to_owned() };
    run_here(RunSpec {
        scripts: vec![ScriptSpec::new(script)],
        clients: CLIENTS,
        limit: Limit::TransactionsPerClient(TRANSACTIONS),
        seed: Some(seed),
        ..RunSpec::default()
    })
}

fn run_here(spec: RunSpec) -> Run {
    let place = Place::new();
    let spec = RunSpec { vacuum: Vacuum::Nothing, observe: ObserveLevel::Off, ..spec };
    let runner = Runner::new(RunRequest::on(place.target(), spec)).expect("a runner");
    let record = runner.run(&Control::default()).expect("a run").record;
    Run { record, statements: place.statements() }
}

/// A record without what differs from run to run: times, rates, hosts, and how the run was asked for.
fn comparable(record: &Record) -> Value {
    let Record { status, plan, summary, tables, intervals, .. } = record;
    let mut plan = serde_json::to_value(plan).expect("a plan is JSON");
    for asked in ["command_line", "connection"] {
        plan[asked].take();
    }
    // The path of the script, as it was given.
    for path in ["name", "description"] {
        plan["scripts"][0][path].take();
    }
    let seconds: u64 = intervals.iter().map(|interval| interval.counts.succeeded).sum();
    serde_json::json!({
        "status": status, "plan": plan, "tables": tables, "counts": summary.counts,
        "of the script": summary.scripts[0].counts, "of all seconds": seconds,
        "commands": summary.scripts[0].commands.iter().map(|command| &command.text).collect::<Vec<_>>(),
    })
}

/// Parts of a record that depend on the host or on how long something took; only commands have a command line.
const OF_THE_MOMENT: [&str; 6] = [
    ".environment.",
    ".plan.command_line",
    ".summary.generator.verdict.evidence.",
    ".summary.response_with_stalls_us.",
    ".summary.stalls.",
    ".warnings",
];

/// The places in a record that hold something in every run, as `.summary.counts.succeeded`.
fn names(record: &Record) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_names(&serde_json::to_value(record).expect("a record is JSON"), "", &mut found);
    found.retain(|name| !OF_THE_MOMENT.iter().any(|part| name.starts_with(part)));
    found
}

fn collect_names(value: &Value, place: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect_names(value, &format!("{place}.{name}"), found));
        }
        Value::Array(values) => {
            values.iter().for_each(|value| collect_names(value, &format!("{place}[]"), found))
        }
        Value::Null => {}
        _ => {
            found.insert(place.to_owned());
        }
    }
}

#[test]
fn one_seed_gives_the_same_record_through_each_front_end() {
    let trial = experiment();
    let seed = trial.record.plan.seed;
    let first = bench(seed);
    assert_eq!(first.record.summary.counts.succeeded, u64::from(CLIENTS) * TRANSACTIONS);
    assert_eq!(first.statements.len(), CLIENTS as usize);
    let has = names(&first.record);
    let again = run_here(RunSpec::from(&first.record.plan));
    let others = [
        ("an experiment", trial),
        ("pgbench", pgbench(seed)),
        ("Rust", rust(seed)),
        ("the record's plan", again),
    ];
    for (who, mut run) in others {
        if who == "pgbench" {
            // As pgbench, the drop-in says a scale of 1 without looking at tables.
            assert_eq!(run.record.tables.scale.take(), Some(Scale::ONE));
        }
        assert!(run.statements == first.statements, "{who} draws other values");
        assert_eq!(comparable(&run.record), comparable(&first.record), "{who}");
        assert_eq!(has.symmetric_difference(&names(&run.record)).collect::<Vec<_>>(), [""; 0], "{who}");
    }
}
