//! `cargo xtask search-proof`: how much the answers of `pgmeter search` differ on one real server, against their intervals,
//! and how often `compare --search` finds a server that needs a quarter more CPU time, which is a CPU share of 20 % less.
//! Each search is a line of the results file as soon as it ends, and the next call goes on from there.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::managed_server::{ManagedServer, make_traversable, program};

/// Some milliseconds of CPU time, in proportion to `:n`.
const SCRIPT: &str = "SELECT sum(i * i) FROM generate_series(1, :n) AS i;\n";
const GOAL: &str = "p95 < 60ms";
/// The name of the server.
const NAME: &str = "search-proof";

/// Searches of a kind.
struct Case {
    name: &'static str,
    what: &'static str,
    /// The levels of `:n` of a comparison; one of a search.
    n: &'static [&'static str],
    budget: &'static str,
}

const CASES: [Case; 3] = [
    Case { name: "same", what: "ten searches of one server", n: &["20000"], budget: "60s" },
    Case {
        name: "slower",
        what: "compare --search: B needs 25 % more CPU time",
        n: &["20000", "25000"],
        budget: "100s",
    },
    Case {
        name: "equal",
        what: "compare --search: a server with itself",
        n: &["20000", "20001"],
        budget: "100s",
    },
];

/// The options of the command line.
struct Options {
    pgmeter: PathBuf,
    results: PathBuf,
    numbers: [usize; CASES.len()],
}

pub(crate) fn run(arguments: &[&str]) -> bool {
    let shown = Options::parse(arguments).and_then(|options| options.run());
    if let Err(reason) = &shown {
        eprintln!("search-proof: {reason}");
    }
    shown.is_ok()
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            pgmeter: crate::root().join("target/release/pgmeter"),
            results: crate::root().join("target/search-proof.jsonl"),
            numbers: [10, 10, 0],
        };
        for argument in arguments {
            let usage = || {
                format!(
                    "\"{argument}\"? known are --same=10 --slower=10 --equal=0 --results=FILE --pgmeter=PATH"
                )
            };
            let (name, value) = argument.split_once('=').ok_or_else(usage)?;
            let case = CASES.iter().position(|case| name.strip_prefix("--") == Some(case.name));
            match (name, case) {
                (_, Some(at)) => options.numbers[at] = value.parse().map_err(|_| usage())?,
                ("--pgmeter", _) => options.pgmeter = PathBuf::from(value),
                ("--results", _) => options.results = PathBuf::from(value),
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }

    fn run(&self) -> Result<(), String> {
        let directory =
            tempfile::Builder::new().prefix("pgmeter-proof-").tempdir().map_err(|e| e.to_string())?;
        make_traversable(directory.path())?;
        std::fs::write(directory.path().join("work.sql"), SCRIPT).map_err(|error| error.to_string())?;
        let mut lines = read(&self.results);
        let server = ManagedServer::start(&self.pgmeter, directory.path(), NAME, &[])?;
        // In turns, so that a drift of the machine hits all cases.
        while let Some(case) = self.next(&lines) {
            let answer = self.search(case, directory.path(), &server.dsn)?;
            let line = summary(case, &answer);
            println!("{line}");
            append(&self.results, &line)?;
            lines.push(line);
        }
        drop(server);
        CASES.iter().for_each(|case| println!("{}", conclusion(case, &lines)));
        Ok(())
    }

    /// The case of which the smallest share is done.
    fn next(&self, lines: &[Value]) -> Option<&'static Case> {
        let left = |(at, case): (usize, &'static Case)| {
            let (done, number) = (of_case(lines, case).count(), self.numbers[at]);
            (done < number).then(|| (done as f64 / number as f64, case))
        };
        let cases = CASES.iter().enumerate().filter_map(left);
        cases.min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, case)| case)
    }

    fn search(&self, case: &Case, directory: &Path, dsn: &str) -> Result<Value, String> {
        let mut command = program(&self.pgmeter, directory);
        match case.n {
            [n] => command.args(["search", "-n", "-D", &format!("n={n}"), dsn]),
            levels => {
                let factor = format!("variables.n={}", levels.join(","));
                command.args(["compare", "--search", "--in-place", "-d", dsn, "--factor", &factor])
            }
        };
        let load = ["-f", "work.sql", "--goal", GOAL, "-c", "8", "--budget", case.budget, "--format", "json"];
        let output = command.args(load).stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("a search printed no result: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// What is kept of a result.
fn summary(case: &Case, answer: &Value) -> Value {
    let search = |record: &Value| {
        let it = &record["search"];
        json!({
            "answer": it["answer"],
            "rate_tps": it["rate_tps"],
            "interval": it["interval"],
            "repeated": it["repeated"],
            "seconds": it["elapsed_s"],
        })
    };
    let comparison = &answer["comparison"];
    json!({
        "case": case.name,
        "started_at": answer["started_at"],
        "search": search(answer),
        "a": if comparison.is_null() { Value::Null } else { search(&comparison["a"]) },
        "ratio": comparison["ratio"],
        "ratio_interval": comparison["interval"],
        "decision": comparison["decision"],
    })
}

fn of_case<'a>(lines: &'a [Value], case: &'a Case) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(|line| line["case"] == case.name)
}

/// The spread of the answers against their intervals; of comparisons, how often they found what.
fn conclusion(case: &Case, lines: &[Value]) -> String {
    let all: Vec<&Value> = of_case(lines, case).collect();
    let (figure, interval) = if case.n.len() == 1 {
        ("/search/rate_tps", "/search/interval")
    } else {
        ("/ratio", "/ratio_interval")
    };
    let known: Vec<[f64; 3]> = (all.iter())
        .filter_map(|line| {
            let interval = line.pointer(interval)?;
            Some([line.pointer(figure)?.as_f64()?, interval["low"].as_f64()?, interval["high"].as_f64()?])
        })
        .collect();
    if known.is_empty() {
        return format!("{}: {} done, none with an interval", case.what, all.len());
    }
    let count = known.len() as f64;
    let mean = (known.iter().map(|it| it[0].ln()).sum::<f64>() / count).exp();
    let spread =
        (known.iter().map(|it| (it[0] / mean).ln().powi(2)).sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
    let half = known.iter().map(|it| (it[2] / it[1]).ln() / 2.0).sum::<f64>() / count;
    let hits = known.iter().filter(|it| it[1] <= mean && mean <= it[2]).count();
    let decided = |name: &str| all.iter().filter(|line| line["decision"] == name).count();
    let decisions = ["worse_than_tolerance", "no_worse", "equivalent", "better", "undecided"]
        .map(|name| format!("{name} {}", decided(name)));
    let decisions = if case.n.len() == 1 { String::new() } else { format!("; {}", decisions.join(", ")) };
    format!(
        "{}: {} of {} with an interval; mean {mean:.3}, standard deviation {:.1} %, mean half width {:.1} %, {hits} intervals \
         contain the mean{decisions}",
        case.what,
        known.len(),
        all.len(),
        100.0 * spread,
        100.0 * half
    )
}

/// The lines of a results file; none if there is no file.
pub(crate) fn read(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Adds a line to a results file.
pub(crate) fn append(path: &Path, line: &Value) -> Result<(), String> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let appended = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    appended.map_err(|error| format!("{}: {error}", path.display()))
}
