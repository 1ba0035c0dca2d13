//! `cargo xtask same-records`: whether two builds of pgmeter make the same records from the same seed, for the command
//! lines of `cases`. Each build has its own servers; both run at the same time. Compares exit statuses, output, the
//! statements that arrived at the server, and the records without times; and the reports that both make of one store.

mod cases;
mod mask;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::managed_server::{ManagedServer, make_traversable, program};
use cases::{CASES, FILES, Load, REFUSED};

const USAGE: &str = "usage: cargo xtask same-records OLD [NEW]\n\
    OLD and NEW are programs; NEW is target/debug/pgmeter if it is not given. A build of a commit:\n\
    git worktree add /tmp/old COMMIT && cd /tmp/old && cargo build && cargo xtask same-records /tmp/old/target/debug/pgmeter";

const SERVER: &str = "same";
/// A session's name, its identifier and the statement; only clients' sessions are compared.
const SERVER_OPTIONS: [&str; 8] = [
    "--set",
    "log_statement=all",
    "--set",
    "log_line_prefix=%a|%c|",
    "--set",
    "shared_buffers=64MB",
    "--set",
    "fsync=off",
];
/// Reports are made of these in all formats; of each run as text.
const SUBJECTS: [&str; 9] = ["2", "1 2", "7", "15", "19", "c1", "e1", "e2", "s1"];
const FORMATS: [&str; 8] = ["text", "json", "markdown", "csv", "junit", "html", "svg", "png"];
/// Runs that the cases leave, at least.
const RUNS: usize = 30;
/// Differences of a case that are shown.
const SHOWN: usize = 12;

/// What a case left, as lines.
type Lines = BTreeSet<String>;

/// One build, and the directory with its servers, its store and the files of the cases.
struct Side {
    program: PathBuf,
    directory: PathBuf,
}

/// Runs everything and prints the differences; true if there are none.
pub fn run(arguments: &[&str]) -> bool {
    let programs = match *arguments {
        [old] => [PathBuf::from(old), crate::root().join("target/debug/pgmeter")],
        [old, new] => [PathBuf::from(old), PathBuf::from(new)],
        _ => {
            eprintln!("{USAGE}");
            return false;
        }
    };
    match compare(programs) {
        Ok(differing) => differing == 0,
        Err(error) => {
            eprintln!("same-records: {error}");
            false
        }
    }
}

fn compare(programs: [PathBuf; 2]) -> Result<usize, String> {
    let text = |error: std::io::Error| error.to_string();
    let scratch = tempfile::Builder::new().prefix("pgmeter-same-").tempdir().map_err(text)?;
    make_traversable(scratch.path())?;
    let mut sides = Vec::new();
    for (program, name) in programs.into_iter().zip(["old", "new"]) {
        let program =
            fs::canonicalize(&program).map_err(|error| format!("{}: {error}", program.display()))?;
        let directory = scratch.path().join(name);
        fs::create_dir_all(directory.join("store")).map_err(text)?;
        make_traversable(&directory)?;
        sides.push(Side { program, directory });
    }
    let [old, new] = std::thread::scope(|scope| {
        let both = [&sides[0], &sides[1]].map(|side| scope.spawn(|| side.run_cases()));
        both.map(|side| side.join().unwrap_or_else(|_| Err("a side panicked".to_owned())))
    });
    let mut differing = 0;
    for ((name, old), (_, new)) in old?.iter().zip(&new?) {
        differing += usize::from(!show(name, old, new));
    }
    let different = different_reports(&sides)?;
    differing += different.len();
    different.iter().for_each(|report| println!("DIFFERENT  report {report}"));
    println!("{} cases, {differing} differences", CASES.len());
    Ok(differing)
}

/// Prints the lines that only one side has; true if there are none.
fn show(name: &str, old: &Lines, new: &Lines) -> bool {
    let same = old == new;
    println!("{}  {name} ({} lines)", if same { "same     " } else { "DIFFERENT" }, old.len());
    for (sign, lines) in [('-', old.difference(new)), ('+', new.difference(old))] {
        for line in lines.take(SHOWN) {
            println!("  {sign} {}", line.chars().take(300).collect::<String>());
        }
    }
    same
}

impl Side {
    fn run_cases(&self) -> Result<Vec<(&'static str, Lines)>, String> {
        let server = ManagedServer::start(&self.program, &self.directory, SERVER, &SERVER_OPTIONS)?;
        for (name, text) in FILES {
            let text = text.replace("DSN", &server.dsn);
            fs::write(self.directory.join(name), text).map_err(|error| error.to_string())?;
        }
        let null = NullServer::start(self)?;
        let mut results = Vec::new();
        for case in &CASES {
            let (records, log) = (self.records()?, self.log()?.len());
            let output = self.shell(case.command, &server.dsn)?;
            let mut lines = self.output_lines(&output);
            let mut made = Vec::new();
            for name in self.records()?.difference(&records) {
                let text = fs::read_to_string(self.directory.join("store").join(name));
                made.push(self.document(&text.map_err(|error| error.to_string())?)?);
            }
            made.sort_by_key(|record| record["started_at"].to_string());
            for (at, record) in made.iter().enumerate() {
                let record = mask::lines(record).into_iter().filter(|line| case.load.determines(line));
                lines.extend(record.map(|line| format!("record {at}{line}")));
            }
            lines.extend(statements(&self.without_names(&self.log()?[log..]), case.load));
            results.push((case.name, lines));
        }
        let mut refused = Lines::new();
        for words in REFUSED {
            let output = self.shell(&format!("$BENCH {words} $D 2>&1 >/dev/null"), &server.dsn)?;
            refused.extend(self.output_lines(&output).into_iter().map(|line| format!("{words}: {line}")));
        }
        results.push(("what is refused", refused));
        for subject in ["c1", "e1", "e2", "s1"] {
            let output = self.shell(&format!("$P report {subject} --format json"), &server.dsn)?;
            let text = String::from_utf8_lossy(&output.stdout);
            results.push((subject, mask::lines(&self.document(&text)?)));
        }
        drop((null, server));
        Ok(results)
    }

    fn shell(&self, command: &str, dsn: &str) -> Result<Output, String> {
        const DIGEST: &str = "digest() { psql -XAtc \"SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY \
            t::text)) FROM $1 t\" \"$D\"; }\n";
        let command =
            command.replace(" $D", " \"$D\"").replace(" $N", " \"$N\"").replace("$DIGEST", "digest");
        let program = self.program.display();
        let mut shell = self.command(Path::new("bash"));
        shell.args(["-c", &format!("{DIGEST}{command}")]).env("P", &self.program).env("D", dsn);
        shell.env("N", format!("host={}/null user=pgmeter", self.directory.display()));
        shell.env("BENCH", format!("{program} bench --seed 7 --progress none")).stdin(Stdio::null());
        shell.output().map_err(|error| format!("bash: {error}"))
    }

    /// A command in the side's directory, without the caller's variables of PostgreSQL.
    fn command(&self, name: &Path) -> Command {
        let mut command = program(name, &self.directory);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(name);
        }
        command.env("PGMETER_STATE_DIR", self.directory.join("state"));
        command.env("PGMETER_STORE", self.directory.join("store"));
        command
    }

    fn output_lines(&self, output: &Output) -> Lines {
        let text = self.without_names(&String::from_utf8_lossy(&output.stdout));
        let mut times = BTreeMap::new();
        let lines = text.lines().map(|line| {
            let time = times.entry(line.to_owned()).or_insert(0);
            *time += 1;
            format!("output: {line} ({time})")
        });
        lines.chain([format!("exit status {:?}", output.status.code())]).collect()
    }

    fn document(&self, text: &str) -> Result<Value, String> {
        serde_json::from_str(&self.without_names(text)).map_err(|error| format!("{error}: {text}"))
    }

    /// The text without the side's directory and ports.
    fn without_names(&self, text: &str) -> String {
        mask::without_numbers_of_names(&text.replace(&self.directory.display().to_string(), "DIRECTORY"))
    }

    /// The names of the records, which begin with their times.
    fn records(&self) -> Result<BTreeSet<String>, String> {
        let entries = fs::read_dir(self.directory.join("store")).map_err(|error| error.to_string())?;
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| name.ends_with(".json")).collect())
    }

    fn log(&self) -> Result<String, String> {
        let path = self.directory.join("state/servers").join(SERVER).join("log");
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The statements of the clients' sessions.
fn statements(log: &str, load: Load) -> Lines {
    let mut sessions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut session = None;
    for line in log.lines() {
        let mut parts = line.splitn(3, '|');
        if let (Some(name), Some(id), Some(text)) = (parts.next(), parts.next(), parts.next()) {
            let is_client =
                name == "pgbench" || name.strip_prefix("pgmeter ").is_some_and(|id| id.len() == 16);
            session = is_client.then(|| sessions.entry(id).or_default());
            if let Some(session) = &mut session {
                session.push(text.to_owned());
            }
        } else if let Some(last) = session.as_mut().and_then(|session| session.last_mut()) {
            last.push_str(line);
        }
    }
    let mut sessions: Vec<Vec<String>> = sessions.into_values().collect();
    sessions.sort();
    let line = |(at, session): (usize, &Vec<String>)| match load {
        Load::Fixed => {
            let numbered = session.iter().enumerate();
            numbered.map(|(number, text)| format!("session {at}, {number}: {text}")).collect::<Vec<_>>()
        }
        Load::Arrivals | Load::Timed => {
            session.iter().map(|text| format!("statement {}", mask::without_numbers(text))).collect()
        }
    };
    sessions.iter().enumerate().flat_map(line).collect()
}

/// The reports of the first side's store that both make differently. The second side has a copy of it, because a newer
/// build may upgrade a store, which an older one then refuses.
fn different_reports(sides: &[Side]) -> Result<Vec<String>, String> {
    let store = sides[0].directory.join("store");
    let copy = sides[1].directory.join("copied_store");
    let copied = Command::new("cp").arg("-a").args([&store, &copy]).status();
    if !copied.is_ok_and(|status| status.success()) {
        return Err("the store could not be copied".to_owned());
    }
    let all =
        SUBJECTS.iter().flat_map(|subject| FORMATS.map(|format| format!("{subject} --format {format}")));
    let runs = (1..=RUNS).map(|run| format!("{run} --format text"));
    let mut different = Vec::new();
    for words in all.chain(runs) {
        let [old, new] = std::thread::scope(|scope| {
            let both = [(&sides[0], &store), (&sides[1], &copy)].map(|(side, store)| {
                let mut command = side.command(&side.program);
                command.current_dir(&sides[0].directory).env("PGMETER_STORE", store);
                command.arg("report").args(words.split(' ')).args(["-o", "-"]);
                scope.spawn(move || command.output().map(|output| (output.status.code(), output.stdout)))
            });
            both.map(|side| side.join().map_err(|_| "a report panicked".to_owned()))
        });
        let text = |error: std::io::Error| error.to_string();
        let old = old?.map_err(text)?;
        if old.1.is_empty() {
            return Err(format!("there is no report {words}"));
        }
        if old != new?.map_err(text)? {
            different.push(words);
        }
    }
    Ok(different)
}

/// The null server of a side; it ends with its standard input.
struct NullServer(Child);

impl NullServer {
    fn start(side: &Side) -> Result<NullServer, String> {
        fs::create_dir(side.directory.join("null")).map_err(|error| error.to_string())?;
        let mut command = side.command(&side.program);
        command.args(["null-server", "--listen", "null/"]).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().map(NullServer).map_err(|error| format!("null-server: {error}"))
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
