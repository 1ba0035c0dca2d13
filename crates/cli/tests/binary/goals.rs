//! Goals as a user of continuous integration has them: exit statuses, the first line of the report, the early end, and
//! JUnit XML, on a real server. Goals that a fast side must meet are in `measuring`.

use std::collections::BTreeMap;

use stats::goals::{GoalVerdict, StopBasis};
use testkit::cluster::Cluster;

use crate::harness::{Bench, Finished};

/// A transaction of at least 5 ms.
pub(crate) const SLOW: &str = "SELECT pg_sleep(0.005);\n";

fn run(bench: &Bench, options: &[&str]) -> Finished {
    let conninfo = Cluster::shared("18").database("goals");
    bench.file("slow.sql", SLOW);
    bench.file("fast.sql", "SELECT 1;\n");
    bench.run(["bench", "-n"].iter().chain(options).copied().chain([conninfo.as_str()]))
}

#[track_caller]
pub(crate) fn first_line(finished: &Finished, expected: &str) {
    let line = finished.stdout.lines().find(|line| !line.is_empty()).unwrap_or_default();
    assert!(line.starts_with(expected), "\"{expected}\" does not begin:\n{}", finished.stdout);
}

#[test]
fn the_exit_status_says_whether_the_goals_were_met() {
    let bench = Bench::new();
    let met = run(&bench, &["-f", "fast.sql", "-t", "200", "--goal", "p90 < 10s", "--goal", "failed < 10%"]);
    first_line(&met.exits(0), "BOTH GOALS MET: p90 is ");
    let options = ["-f", "slow.sql", "-t", "50", "--goal", "p50 < 10s", "--goal", "script=slow: p50 < 1ms"];
    let missed = run(&bench, &options).exits(5).says(&["a goal was missed: script=slow: p50 < 1ms"]);
    first_line(&missed, "1 OF 2 GOALS MISSED: p50 of script slow is ");
    let undecided = run(&bench, &["-f", "fast.sql", "-t", "20", "--goal", "p99 < 10s"]).exits(3);
    first_line(&undecided.says(&["a goal is undecided: p99 < 10s"]), "GOAL UNDECIDED: p99 is ");
    let listed = bench.run(["runs"]).exits(0);
    for answer in ["2 goals met", "1/2 goals missed", "goal undecided"] {
        assert!(listed.stdout.contains(answer), "{answer}:\n{}", listed.stdout);
    }
    let records = bench.records();
    let verdicts: Vec<Vec<GoalVerdict>> = records
        .iter()
        .map(|record| record.summary.goals.iter().map(|result| result.verdict).collect())
        .collect();
    assert_eq!(verdicts.iter().filter(|goals| **goals == [GoalVerdict::Met; 2]).count(), 1, "{verdicts:?}");
    assert!(verdicts.contains(&vec![GoalVerdict::Met, GoalVerdict::Missed]), "{verdicts:?}");
    assert!(verdicts.contains(&vec![GoalVerdict::Undecided]), "{verdicts:?}");
}

#[test]
fn a_run_ends_once_a_goal_cannot_be_met_any_more() {
    let bench = Bench::new();
    let options = ["-f", "slow.sql", "-T", "60", "--goal", "p50 < 1ms", "--stop-on-miss"];
    let ended = run(&bench, &options).exits(5);
    first_line(&ended, "GOAL MISSED: p50 is ");
    let record = bench.record();
    let stop = record.summary.goal_stop.expect("the run was ended");
    assert_eq!((stop.goal, stop.basis), (0, StopBasis::Sequential));
    assert!(record.summary.duration_s < 40.0, "{} s", record.summary.duration_s);
    let bench = Bench::new();
    run(&bench, &["-f", "slow.sql", "-t", "4000", "--goal", "max < 1ms", "--stop-on-miss"]).exits(5);
    let record = bench.record();
    assert_eq!(record.summary.goal_stop.map(|stop| stop.basis), Some(StopBasis::Exact));
    assert!(record.summary.counts.scheduled < 4000, "{:?}", record.summary.counts);
}

#[test]
fn a_goal_that_cannot_be_evaluated_is_refused_before_the_run() {
    let bench = Bench::new();
    for (goal, says) in [
        ("p99 < 20", "the nearest is \"p99 < 20ms\""),
        ("script=other: p99 < 20ms", "names a script that is not in the mix of \"slow.sql\""),
        ("late < 1%", "only with a latency limit (-L)"),
        ("skipped < 1%", "only with a rate (-R) and a latency limit (-L)"),
        ("lag p99 < 1ms", "only with a rate (-R)"),
    ] {
        run(&bench, &["-f", "slow.sql", "-t", "1", "--goal", goal]).exits(1).says(&[says]);
    }
    run(&bench, &["-f", "slow.sql", "--stop-on-miss"]).exits(1).says(&["--goal <GOAL>"]);
    assert!(bench.records().is_empty());
}

#[test]
fn an_experiment_names_the_trials_that_missed_a_goal() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("goals_lab");
    bench.file("slow.sql", SLOW);
    let file = format!(
        "name = \"goals\"\n[server]\ndsn = \"{conninfo}\"\nin_place = true\n[load]\nscript = \"slow.sql\"\ntransactions = 30\n\
         clients = 1\ngoal = [\"p50 < 10s\", \"p50 < 1ms\"]\n[design]\nrepeats = 1\n[factors]\nprotocol = [\"simple\", \"extended\"]\n"
    );
    bench.file("goals.toml", &file);
    let says = "a goal was missed: in 2 of 2 trials: protocol ";
    let ran = bench.run(["lab", "run", "goals.toml"]).exits(5).says(&[says, "repeat 1 (p50 < 1ms)"]);
    let listed =
        "GOALS MISSED BY 2 OF 2 COMBINATIONS: protocol simple (p50 < 1ms); protocol extended (p50 < 1ms).";
    assert!(ran.stdout.contains(listed), "{}", ran.stdout);
    let table = bench.run(["report", "e1", "--format", "markdown"]).exits(0);
    for row in ["| simple | p50 &lt; 10s | met |", "| extended | p50 &lt; 1ms | missed |"] {
        assert!(table.stdout.contains(row), "{row}:\n{}", table.stdout);
    }
    assert!(table.stdout.contains("GOALS MISSED BY 2 OF 2 COMBINATIONS"), "{}", table.stdout);
    let junit = bench.run(["report", "e1", "--format", "junit"]).exits(0);
    let cases = elements(&junit.stdout);
    assert_eq!(cases.iter().filter(|(name, _)| name == "testcase").count(), 2);
    assert_eq!(cases.iter().filter(|(name, _)| name == "failure").count(), 2, "{}", junit.stdout);
    bench.file("goals.toml", &file.replace("\"p50 < 1ms\"", "\"script=none: p50 < 1ms\""));
    bench.run(["lab", "run", "goals.toml"]).exits(1).says(&["names a script that is not in the mix"]);
}

/// An element's name, parents, required attributes and further ones.
type Element = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The elements of the common JUnit schema (junit-10.xsd of Jenkins).
const SCHEMA: [Element; 6] = [
    ("testsuites", &[""], &[], &["name", "tests", "failures", "errors", "time"]),
    (
        "testsuite",
        &["testsuites"],
        &["name"],
        &["tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"],
    ),
    ("testcase", &["testsuite"], &["name"], &["classname", "time"]),
    ("failure", &["testcase"], &[], &["message", "type"]),
    ("error", &["testcase"], &[], &["message", "type"]),
    ("system-out", &["testsuite"], &[], &[]),
];

/// The elements of a document in order, each with its attributes, after a check against the schema.
pub(crate) fn elements(xml: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let (mut open, mut found) = (vec![String::new()], Vec::new());
    let body = xml.split_once("?>").expect("it begins with a declaration").1;
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("each tag is closed");
        assert!(!text.contains('>') && !text.replace("&amp;", "").contains("& "), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "elements are nested");
            continue;
        }
        let (name, rest) =
            tag.trim_end_matches('/').split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        let mut quoted = rest.split('"');
        let mut attributes = BTreeMap::new();
        while let (Some(key), Some(value)) = (quoted.next(), quoted.next()) {
            attributes.insert(key.trim().trim_end_matches('=').to_owned(), value.to_owned());
        }
        let (_, parents, required, further) = SCHEMA
            .iter()
            .find(|(known, ..)| *known == name)
            .unwrap_or_else(|| panic!("{name} is in no schema"));
        let parent = open.last().expect("the document is open").as_str();
        assert!(parents.contains(&parent), "{name} is in {parent}");
        assert!(required.iter().all(|key| attributes.contains_key(*key)), "{name}: {attributes:?}");
        let is_known = |key: &String| required.iter().chain(*further).any(|known| known == key);
        assert!(attributes.keys().all(is_known), "{name}: {attributes:?}");
        found.push((name.to_owned(), attributes));
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, [""], "each element is closed");
    found
}

#[test]
fn junit_has_a_case_for_each_goal() {
    let bench = Bench::new();
    let goals = ["--goal", "p50 < 1ms", "--goal", "p99 < 10s", "--goal", "mean < 10s"];
    let options = [&["-f", "slow.sql", "-t", "30", "-o", "goals.xml"][..], &goals].concat();
    run(&bench, &options).exits(5);
    let xml = std::fs::read_to_string(bench.path().join("goals.xml")).expect("it was written");
    let found = elements(&xml);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "testsuites",
        "testsuite",
        "testcase",
        "testcase",
        "failure",
        "testcase",
        "error",
        "testcase",
        "system-out",
    ];
    assert_eq!(names, expected, "{xml}");
    let suite = &found[1].1;
    let counts = ["tests", "failures", "errors"].map(|key| suite[key].as_str());
    assert_eq!(counts, ["4", "1", "1"]);
    assert_eq!((found[3].1["name"].as_str(), found[6].1["type"].as_str()), ("p50 &lt; 1ms", "undecided"));
    let shown = bench.run(["report", "last", "--format", "junit"]).exits(0);
    assert_eq!(elements(&shown.stdout).len(), expected.len());
}

#[test]
fn junit_of_a_run_that_could_not_start_has_its_error() {
    let bench = Bench::new();
    bench.file("slow.sql", SLOW);
    let nowhere = format!("host={} port=1 dbname=x", bench.path().display());
    let file = bench.path().join("goals.xml");
    for (command, option) in [
        (&["bench", "-n", "-f", "slow.sql"][..], "--dbname"),
        (&["compare", "--in-place", "--factor", "protocol=simple,prepared"], "--dsn"),
    ] {
        std::fs::write(&file, "the file of an earlier run").expect("it can be written");
        let words = command.iter().copied().chain(["-o", "goals.xml", option, nowhere.as_str()]);
        bench.run(words).exits(1).says(&["cannot connect"]);
        let xml = std::fs::read_to_string(&file).expect("it was written");
        let names: Vec<String> = elements(&xml).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["testsuites", "testsuite", "testcase", "error", "system-out"], "{xml}");
        assert!(xml.contains("cannot connect"), "{xml}");
    }
}
