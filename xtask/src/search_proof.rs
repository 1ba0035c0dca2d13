//! `cargo xtask search-proof`: how much the answers of `pgmeter search` differ on one real server, against their intervals,
//! and how often `compare --search` finds a server that needs a quarter more CPU time, which is a CPU share of 20 % less.
//! Each search is a line of the results file as soon as it ends, and the next call goes on from there.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::managed_server::{ManagedServer, program};
use crate::proofs::{self, KnownOption, Proof, of_case};

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
    Case { name: "same", what: "ten searches of one server", n: &["20000"], budget: "150s" },
    Case {
        name: "slower",
        what: "compare --search: B needs 25 % more CPU time",
        n: &["20000", "25000"],
        budget: "200s",
    },
    Case {
        name: "equal",
        what: "compare --search: a server with itself",
        n: &["20000", "20001"],
        budget: "200s",
    },
];

/// The number of each case.
const KNOWN: [KnownOption; CASES.len()] = [("same", "10"), ("slower", "10"), ("equal", "0")];

pub(crate) fn run(arguments: &[&str]) -> bool {
    proofs::run("search-proof", &KNOWN, arguments, prove)
}

fn prove(proof: &Proof) -> Result<(), String> {
    let directory = proofs::directory()?;
    std::fs::write(directory.path().join("work.sql"), SCRIPT).map_err(|error| error.to_string())?;
    let mut lines = proof.lines()?;
    let server = ManagedServer::start(&proof.pgmeter, directory.path(), NAME, &[])?;
    while let Some(case) = proof.next(&CASES, |case| case.name, &lines) {
        let answer = search(case, &proof.pgmeter, directory.path(), &server.dsn)?;
        let line = summary(case, &answer);
        println!("{line}");
        proof.append(&line)?;
        lines.push(line);
    }
    drop(server);
    CASES.iter().for_each(|case| println!("{}", conclusion(case, &lines)));
    Ok(())
}

fn search(case: &Case, pgmeter: &Path, directory: &Path, dsn: &str) -> Result<Value, String> {
    let mut command = program(pgmeter, directory);
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

/// The spread of the answers against their intervals; of comparisons, how often they found what, and both sides alone.
fn conclusion(case: &Case, lines: &[Value]) -> String {
    let all: Vec<&Value> = of_case(lines, case.name).collect();
    if case.n.len() == 1 {
        return format!("{}: {}", case.what, spread(&all, "/search/rate_tps", "/search/interval"));
    }
    let decided = |name: &str| all.iter().filter(|line| line["decision"] == name).count();
    let decisions = ["worse_than_tolerance", "no_worse", "equivalent", "better", "undecided"]
        .map(|name| format!("{name} {}", decided(name)));
    format!(
        "{}: {}\n  ratio: {}\n  A alone: {}\n  B alone: {}",
        case.what,
        decisions.join(", "),
        spread(&all, "/ratio", "/ratio_interval"),
        spread(&all, "/a/rate_tps", "/a/interval"),
        spread(&all, "/search/rate_tps", "/search/interval"),
    )
}

fn spread(lines: &[&Value], figure: &str, interval: &str) -> String {
    let known: Vec<[f64; 3]> = (lines.iter())
        .filter_map(|line| {
            let interval = line.pointer(interval)?;
            Some([line.pointer(figure)?.as_f64()?, interval["low"].as_f64()?, interval["high"].as_f64()?])
        })
        .collect();
    if known.is_empty() {
        return format!("{} done, none with an interval", lines.len());
    }
    let count = known.len() as f64;
    let mean = (known.iter().map(|it| it[0].ln()).sum::<f64>() / count).exp();
    let deviation =
        (known.iter().map(|it| (it[0] / mean).ln().powi(2)).sum::<f64>() / (count - 1.0).max(1.0)).sqrt();
    let half = known.iter().map(|it| (it[2] / it[1]).ln() / 2.0).sum::<f64>() / count;
    let hits = known.iter().filter(|it| it[1] <= mean && mean <= it[2]).count();
    format!(
        "{} of {} with an interval; mean {mean:.3}, standard deviation {:.1} %, mean half width {:.1} %, {hits} intervals \
         contain the mean",
        known.len(),
        lines.len(),
        100.0 * deviation,
        100.0 * half
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_shows_how_often_it_decided_and_how_both_sides_scatter() {
        let search =
            |rate: f64| json!({ "rate_tps": rate, "interval": { "low": rate * 0.9, "high": rate * 1.1 } });
        let line = |ratio: f64, decision: &str| {
            json!({
                "case": "slower", "a": search(100.0), "search": search(100.0 * ratio), "ratio": ratio,
                "ratio_interval": { "low": ratio * 0.95, "high": ratio * 1.05 }, "decision": decision,
            })
        };
        let lines = [line(0.8, "worse_than_tolerance"), line(0.9, "undecided")];
        let shown = conclusion(&CASES[1], &lines);
        assert!(shown.contains("worse_than_tolerance 1") && shown.contains("undecided 1"), "{shown}");
        assert!(
            shown.contains("A alone: 2 of 2 with an interval; mean 100.000, standard deviation 0.0 %"),
            "{shown}"
        );
        assert_eq!(conclusion(&CASES[0], &[]), "ten searches of one server: 0 done, none with an interval");
    }
}
