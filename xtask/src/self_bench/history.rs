//! Whole rounds as lines of `benchmarks/history.jsonl`: when, of what, on which machine, every line of the table.
//! Nothing reads them but people and their scripts; figures of different machines are not comparable.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Found;
use super::lab::Lab;
use super::line::Line;
use super::processes::run;

const HISTORY: &str = "benchmarks/history.jsonl";

/// Adds a round; where.
pub(super) fn append(found: &[Found], lab: &Lab) -> Result<PathBuf, String> {
    let path = crate::root().join(HISTORY);
    let complain = |error| format!("{}: {error}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(complain)?;
    let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(complain)?;
    let round = json!({
        "date": said(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        "commit": commit(),
        "machine": machine(),
        "pgbench": lab.pgbench_version,
        "postgresql": lab.pg_version,
        "lines": lines(found),
        "not_measured": not_measured(found),
        "stolen_percent": stolen_percent(found),
    });
    writeln!(file, "{round}").map_err(complain)?;
    Ok(path)
}

fn lines(found: &[Found]) -> Vec<Value> {
    found.iter().flat_map(|found| found.lines.iter().flatten()).map(line).collect()
}

fn line(line: &Line) -> Value {
    json!({
        "name": line.name,
        "unit": line.unit,
        "beside": line.beside.map(|(whose, _)| whose),
        "theirs": line.beside.map(|(_, figure)| figure),
        "ours": line.ours,
        "ratio": line.ratio.map(|ratio| [ratio.ratio, ratio.low, ratio.high]),
        "met": line.is_met(),
        "note": line.note,
    })
}

fn not_measured(found: &[Found]) -> Value {
    let missing = found.iter().filter_map(|found| {
        let reason = found.lines.as_ref().err()?;
        Some((found.name.to_owned(), Value::from(reason.as_str())))
    });
    Value::Object(missing.collect())
}

/// By experiment.
fn stolen_percent(found: &[Found]) -> Value {
    Value::Object(found.iter().map(|found| (found.name.to_owned(), found.stolen_percent.into())).collect())
}

/// The short name of the commit, with a mark if files differ from it.
fn commit() -> String {
    said(
        Command::new("git")
            .args(["describe", "--always", "--dirty", "--exclude", "*"])
            .current_dir(crate::root()),
    )
}

fn machine() -> Value {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    json!({
        "cpu": cpu_model(&cpuinfo),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "kernel": said(Command::new("uname").arg("-r")),
    })
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim())
}

/// What a program prints; nothing if it fails.
fn said(command: &mut Command) -> String {
    run(command).map(|ended| ended.stdout.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_bench::line::Goal;

    #[test]
    fn a_line_is_kept_with_its_verdict_and_an_experiment_without_lines_with_its_reason() {
        let line = Line::alone("pace-p99", "p99", 80.0, "µs").goal(Goal::AtMost(100.0));
        let found = [
            Found { name: "pace", lines: Ok(vec![line]), stolen_percent: 1.5 },
            Found { name: "tls", lines: Err("no pgbench".to_owned()), stolen_percent: 0.0 },
        ];
        let lines = lines(&found);
        assert_eq!(lines.len(), 1);
        assert_eq!(
            (&lines[0]["name"], &lines[0]["ours"], &lines[0]["met"]),
            (&json!("pace-p99"), &json!(80.0), &json!(true))
        );
        assert_eq!(not_measured(&found), json!({"tls": "no pgbench"}));
        assert_eq!(stolen_percent(&found), json!({"pace": 1.5, "tls": 0.0}));
    }

    #[test]
    fn the_model_of_the_cpu_is_found() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: A B C\n"), Some("A B C"));
        assert_eq!(cpu_model(""), None);
    }
}
