//! What the server is asked for: its own log of every message of a session, with names and parameters of statements.
//! The look at how the tables are partitioned is left out; each program asks in words of its own.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use connect::Session;
use testkit::cluster::Cluster;
use testkit::condition::pause;
use testkit::extent;

use crate::conformance::cases::{Bench, Case, DATABASE};
use crate::conformance::output::small_tables;
use crate::conformance::shape;

/// Marks where an entry of the log begins and whose it is.
const PREFIX: &str = "@%a@";
const NAMES: [&str; 2] = ["conformance_pgbench", "conformance_dropin"];
const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];

const BUILTINS: [&str; 8] = ["", "-N", "-S", "-b tpcb -b se@2 -b si", "-S -C", "-v", "-n", "-N -s 5"];

const SCRIPTS: [&str; 12] = [
    "select 1;\nselect 2;;\n",
    "  -- a comment before\n select /* inside */ 1 -- and behind\n  ;\nselect $$a;b$$, 'c;d', (select 1);\n",
    "\\set a random(1, 1000)\nselect :a, :a + 1, :b, ':a', :nosuch, '::a', 1::int, \"a:a\" from (select 1 as \"a:a\") x;\n",
    "\\set a random(1, 1000)\nselect :a \\; select :a + 1 \\; select 3;\n",
    "\\set t true\n\\set n null\n\\set d 1.0 / 3\n\\set h 1e100\nselect :t::text, :n::text, :d::text, :h::text;\n",
    "select 1 as one, null as none \\gset r_\nselect :r_one::int, ':r_none';\n",
    "begin;\nselect stumble(2);\nend;\n",
    "select stumble(2);\n",
    "\\set a random(1, 10)\n\\if :a > 5\nselect 'more', :a;\n\\else\nselect 'less', :a;\n\\endif\nselect 'end';\n",
    "create or replace function f() returns int language sql begin atomic select 1; select 2; end;\nselect f();\n",
    "select 'a\\:b', '\\;', e'\\\\;' \\; select 2;\n",
    "\\set a random(1, 5)\nselect\n  :a\n  as\n  b;\n\n\nselect 2; select 3",
];

const PIPELINES: [&str; 5] = [
    "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\nselect 3;\n",
    "\\startpipeline\nbegin;\nselect 1;\nend;\n\\endpipeline\n\\startpipeline\nselect 2;\n\\endpipeline\n",
    "\\set a random(1, 1000)\nbegin;\n\\startpipeline\nselect :a::int;\n\\if :a > 500\nselect 2;\n\\else\nselect 4;\n\\endif\n\\endpipeline\nend;\n",
    "\\startpipeline\nbegin;\nselect stumble(2);\nselect 2;\nend;\n\\endpipeline\n",
    "\\startpipeline\nselect 1;\nselect 1/0;\nselect 2;\n\\endpipeline\nselect 3;\n",
];

/// Looks at the catalog; and how the server noticed that a client had gone, which depends on who was quicker.
const LEFT_OUT: [&str; 5] = [
    "pg_catalog",
    "pg_class",
    "unexpected EOF on client connection",
    "could not send data to client",
    "connection to client lost",
];

/// The server's log, and how far it was read.
struct ServerLog {
    path: PathBuf,
}

impl ServerLog {
    /// Has the shared server mark its entries.
    fn open() -> Self {
        let cluster = Cluster::shared("18");
        cluster.execute(&format!("alter system set log_line_prefix = '{PREFIX}'"));
        cluster.execute("select pg_reload_conf()");
        let mut session = Cluster::session(&cluster.conninfo());
        while ask(&mut session, "show log_line_prefix") != PREFIX {
            // The setting comes with the next message that the session handles after the signal.
            session = Cluster::session(&cluster.conninfo());
        }
        let data = PathBuf::from(ask(&mut session, "show data_directory"));
        Self { path: data.parent().expect("it is in a home").join("log") }
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).expect("the log is there").len()
    }

    /// What sessions of this name logged from `start` on, durations left out.
    fn entries(&self, start: u64, name: &str) -> String {
        let mut file = File::open(&self.path).expect("the log can be read");
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start)).expect("it is a file");
        file.read_to_end(&mut bytes).expect("the log can be read");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut entries: Vec<String> = Vec::new();
        let mut ours = false;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix('@') {
                let entry = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('@'));
                ours = entry.is_some();
                entries.extend(entry.map(without_duration));
            } else if let (true, Some(last)) = (ours, entries.last_mut()) {
                *last += "\n";
                *last += line;
            }
        }
        entries.retain(|entry| !LEFT_OUT.iter().any(|words| entry.contains(words)));
        entries.join("\n")
    }
}

fn without_duration(entry: &str) -> String {
    match entry.split_once("duration: ") {
        Some((level, rest)) => {
            level.to_owned() + rest.split_once(" ms").map_or("", |(_, statement)| statement)
        }
        None => entry.to_owned(),
    }
}

fn ask(session: &mut Session, sql: &str) -> String {
    let rows = session.query(sql).expect("the query is right");
    rows[0].get(0).expect("there is a value").to_owned()
}

/// Runs a case with both and compares what the server was asked.
fn compare(bench: &mut Bench, log: &ServerLog, case: &Case) {
    bench.execute("alter sequence tries restart");
    let start = log.length();
    let case = case.clone().env("PGOPTIONS", "-c log_min_duration_statement=0");
    bench.compare_apart(&case, "PGAPPNAME", &NAMES, shape::times);
    // A session may still be busy when its client has gone.
    let [one, other] = NAMES;
    let sessions = format!("select 1 from pg_stat_activity where application_name in ('{one}', '{other}')");
    while !bench.query(&sessions)[0].is_empty() {
        pause();
    }
    let asked = NAMES.map(|name| log.entries(start, name));
    assert!(!asked[0].is_empty(), "{} left nothing in {}", case.name, log.path.display());
    let names = bench.sides.each_ref().map(|side| side.database().to_owned());
    let asked = [asked[0].replace(&names[0], "{database}"), asked[1].replace(&names[1], "{database}")];
    bench.compare_texts(&format!("what the server is asked by {}", case.name), &asked);
}

fn with_script(text: &str, options: &str) -> Case {
    let mut case = Case::new(options).named(format!("{options} with {text:?}")).file("script.sql", text);
    case.arguments.extend(["-n", "-f", "script.sql", DATABASE].map(str::to_owned));
    case
}

/// After a change, each protocol has a third of the cases.
fn in_turn<const N: usize>(turn: usize, cases: &[&'static str; N]) -> impl Iterator<Item = &'static str> {
    let (first, step) = extent::choose((turn, PROTOCOLS.len()), (0, 1));
    cases.iter().copied().skip(first).step_by(step)
}

#[test]
fn the_server_is_asked_for_the_same() {
    let Some(mut bench) = Bench::with_databases("statements") else { return };
    let log = ServerLog::open();
    small_tables(&mut bench);
    for (turn, protocol) in PROTOCOLS.into_iter().enumerate() {
        for builtin in in_turn(turn, &BUILTINS) {
            let mut case = Case::new(&format!("-t 3 -M {protocol} --random-seed 11 {builtin}"));
            case.arguments.push(DATABASE.to_owned());
            compare(&mut bench, &log, &case);
        }
        let options = format!("-t 3 -M {protocol} --random-seed 11 --max-tries 3");
        for text in in_turn(turn, &SCRIPTS) {
            compare(&mut bench, &log, &with_script(text, &format!("{options} -D b=c")));
        }
        if protocol != "simple" {
            for text in in_turn(turn, &PIPELINES) {
                compare(&mut bench, &log, &with_script(text, &options));
            }
        }
        let text = "select 1;\nselect :a::text;\n";
        compare(&mut bench, &log, &with_script(text, &format!("-t 2 -C -M {protocol} -D a=1")));
    }
    bench.tally.verdict();
}
