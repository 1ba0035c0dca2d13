//! Labels and notes: as names in reports and lists, of runs, comparisons and experiments; removal of results, and the
//! import of stores.

use std::fs;

use results::Store;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::harness::{Bench, Finished, finish};

const SCRIPT: &str = "\\sleep 10 ms\nSELECT 1;";
const FILE: &str = "name = \"ladder\"\nlabel = \"nightly\"\nnote = \"from the file\"\n[load]\nscript = \"one.sql\"\n\
    transactions = 5\nwarmup = \"0s\"\n[design]\nrepeats = 1\n[factors]\nclients = [1, 2]\n";

/// A bench with a script and an experiment, and a database.
fn prepared(name: &str) -> (Bench, String) {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database(name);
    bench.file("one.sql", SCRIPT);
    bench.file("ladder.toml", &format!("{FILE}[server]\ndsn = \"{conninfo}\"\nin_place = true\n"));
    (bench, conninfo)
}

fn run(bench: &Bench, conninfo: &str, more: &[&str]) -> Finished {
    let words = ["bench", "-n", "-t", "5", "-f", "one.sql", conninfo];
    bench.run(words.iter().chain(more)).exits(0)
}

fn compare(bench: &Bench, conninfo: &str, more: &[&str]) -> Finished {
    let words = ["compare", "--in-place", "--factor", "work_mem=1MB,2MB", "-f", "one.sql", "--budget", "1s"];
    let out = bench.run(words.iter().chain(&["--block", "0.05", "--dsn", conninfo]).chain(more));
    assert!(matches!(out.status.code(), Some(0 | 3 | 5)), "{}{}", out.stdout, out.stderr);
    out
}

/// The lines of the list, without its title.
fn listed(bench: &Bench, more: &[&str]) -> Vec<String> {
    let out = bench.run(["runs"].iter().chain(more)).exits(0).stdout;
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let is_note = |line: &&str| line.starts_with(['±', '-']);
    out.lines().skip(1).filter(|line| !is_note(line)).map(str::to_owned).collect()
}

/// The numbers of the listed entries.
fn ids(bench: &Bench, more: &[&str]) -> Vec<String> {
    let first = |line: &String| line.split_whitespace().next().map(str::to_owned);
    listed(bench, more).iter().filter_map(first).collect()
}

#[test]
fn labels_are_names_of_runs_in_reports_and_lists() {
    let (bench, conninfo) = prepared("labelled");
    let out = run(&bench, &conninfo, &["--label", "before", "--note", "without the index"]);
    assert!(out.stdout.contains("before") && out.stdout.contains("without the index"), "{}", out.stdout);
    run(&bench, &conninfo, &["--label", "after"]);
    run(&bench, &conninfo, &["--label", "before"]);
    run(&bench, &conninfo, &[]);
    let csv = bench.run(["report", "before", "--format", "csv"]).exits(0).stdout;
    assert!(csv.lines().skip(1).all(|line| line.starts_with("3,")), "the newest with this label: {csv}");
    let both = bench.run(["report", "1", "after"]).exits(0).stdout;
    assert!(both.contains("before (run 1):") && both.contains("after (run 2):"), "{both}");
    let json = bench.run(["report", "1", "--format", "json"]).exits(0).stdout;
    assert!(
        json.contains("\"label\": \"before\"") && json.contains("\"note\": \"without the index\""),
        "{json}"
    );
    assert_eq!(ids(&bench, &["--label", "before"]), ["1", "3"]);
    bench.run(["report", "never"]).exits(1).says(&["there is no file never, and no run", "has this label"]);
    // A file of that name comes first.
    bench.file("after", "{}");
    let both = ["after is not a readable record", "to name the run that has the label after, use 2"];
    bench.run(["report", "after"]).exits(1).says(&both);
    bench.file("neither", "");
    let out = bench.run(["report", "neither"]).exits(1).says(&["neither is not a readable record"]);
    assert!(!out.stderr.contains("label"), "{}", out.stderr);

    bench.run(["runs", "label", "last", "fourth"]).exits(0);
    bench.run(["runs", "note", "fourth", "a <b>\"note\"</b>"]).exits(0);
    bench.run(["runs", "label", "1", ""]).exits(0);
    assert_eq!(ids(&bench, &["--label", "fourth"]), ["4"]);
    assert_eq!(ids(&bench, &["--label", "before"]), ["3"]);
    let page = bench.run(["report", "fourth", "--format", "html", "-o", "page.html"]);
    page.exits(0);
    let page = fs::read_to_string(bench.path().join("page.html")).expect("it is written");
    assert!(page.contains("a &lt;b&gt;") && !page.contains("a <b>"), "it is escaped");
    bench.run(["runs", "label", "9", "x"]).exits(1).says(&["there is no run 9"]);
    assert_eq!(ids(&bench, &["--since", "1h", "--script", "one", "-n", "2"]), ["3", "4"]);
    assert_eq!(ids(&bench, &["--script", "two"]), [""; 0]);
    assert_eq!(ids(&bench, &["--since", "2100-01-01"]), [""; 0]);
    assert_eq!(ids(&bench, &["--host", "nowhere"]), [""; 0]);
    bench.run(["runs", "--since", "soon"]).exits(1).says(&["expected a time such as 2h or 7d"]);
}

#[test]
fn a_label_that_cannot_be_a_name_is_refused_before_anything_starts() {
    let bench = Bench::new();
    bench.file("one.sql", SCRIPT);
    bench.file("ladder.toml", FILE);
    let long = "x".repeat(10_240);
    let commands: [&[&str]; 5] = [
        &["bench", "-f", "one.sql", "host=192.0.2.1"],
        &["quickstart"],
        &["lab", "run", "ladder.toml"],
        &["screen", "-f", "one.sql"],
        &["compare", "--factor", "clients=1,2"],
    ];
    for command in commands {
        for (label, says) in [
            ("12", "must not look like a number, such as 12, c3 or e2, or like last"),
            ("e1", "must not look like a number"),
            ("last-2", "like last"),
            ("results/run.json", "must not look like the path of a file"),
            ("a\x1b[2Jb", "without control characters"),
            ("a\nb", "without control characters"),
            (&long, "at most 64 characters, and this one has 10240"),
            ("", "at least one character"),
        ] {
            let out = bench.run(command.iter().chain(&["--label", label])).exits(1);
            assert_eq!(out.stderr.lines().count(), 1, "{}", out.stderr);
            out.says(&["--label: a label ", says]);
        }
        let out = bench.run(command.iter().chain(&["--note", "a\tb"])).exits(1);
        out.says(&["--note: a note is one line of text without control characters"]);
    }
    bench.file("ladder.toml", &FILE.replace("nightly", "last"));
    bench.run(["lab", "run", "ladder.toml"]).exits(1).says(&["ladder.toml:2:", "a label must not look like"]);
    bench.run(["runs", "label", "1", "a\nb"]).exits(1).says(&["a label is one line"]);
    assert_eq!(bench.records_of("pgmeter-results"), [""; 0]);
}

#[test]
fn an_odd_label_is_text_everywhere() {
    let (bench, conninfo) = prepared("odd_label");
    let label = "x'); DROP TABLE runs; <b>&\"$(id)=1+2";
    run(&bench, &conninfo, &["--label", label]);
    assert_eq!(ids(&bench, &["--label", label]), ["1"]);
    let formats = ["text", "json", "markdown", "csv", "junit", "html", "svg", "png"];
    // The text of a PNG is that of the SVG.
    for format in &formats[..extent::choose(7, 8)] {
        let file = format!("report.{format}");
        bench.run(["report", label, "--format", format, "-o", &file]).exits(0);
    }
    let page = fs::read_to_string(bench.path().join("report.html")).expect("it is written");
    assert!(!page.contains("<b>&\"$"), "it is escaped");
    bench.run(["runs", "label", label, "plain"]).exits(0);
    assert_eq!(ids(&bench, &["--label", "plain"]), ["1"]);
}

#[test]
fn comparisons_and_experiments_are_in_the_list_and_removed_by_their_numbers() {
    let (bench, conninfo) = prepared("all_kinds");
    run(&bench, &conninfo, &["--label", "work mem"]);
    let out = compare(&bench, &conninfo, &["--label", "work mem", "--note", "a trade-off"]);
    out.says(&["stored as comparison c1 in "]);
    bench.run(["lab", "run", "ladder.toml"]).exits(0);
    bench.run(["lab", "run", "ladder.toml", "--label", "by hand"]).exits(0);
    assert_eq!(ids(&bench, &[]), ["1", "c1", "e1", "e2"]);
    let list = listed(&bench, &["--trials"]);
    let names: Vec<&str> = list.iter().filter_map(|line| line.split_whitespace().nth(3)).collect();
    let trials = ["ladder", "clients", "clients"];
    assert_eq!(
        names,
        ["one.sql", "work_mem:"].into_iter().chain(trials).chain(trials).collect::<Vec<_>>(),
        "{list:?}"
    );
    assert!(list[1].starts_with("c1 ") && list[2].contains("2 of 2 trials compl"), "{list:?}");

    // The newest entry of any kind has the name.
    let of_label = bench.run(["report", "work mem"]).exits(0).stdout;
    assert!(of_label.starts_with("work_mem: 1MB (A) against 2MB (B)\n"), "{of_label}");
    assert!(of_label.contains("a trade-off"), "{of_label}");
    for by in [
        ["report", "c1"].as_slice(),
        &["report", "--comparison", "work mem"],
        &["report", "--comparison", "1"],
    ] {
        assert_eq!(bench.run(by).exits(0).stdout, of_label);
    }
    bench
        .run(["report", "1", "c1"])
        .exits(1)
        .says(&["c1 is not a run or a query set: report a comparison, an experiment or a search alone"]);
    let nightly = bench.run(["report", "nightly"]).exits(0).stdout;
    assert!(nightly.contains("nightly") && nightly.contains("from the file"), "{nightly}");
    assert_eq!(bench.run(["report", "e1"]).exits(0).stdout, nightly);
    assert_eq!(bench.run(["report", "--experiment", "nightly"]).exits(0).stdout, nightly);
    let by_hand = bench.run(["report", "e2", "--format", "json"]).exits(0).stdout;
    assert!(
        by_hand.contains("\"label\": \"by hand\"") && by_hand.contains("\"note\": \"from the file\""),
        "{by_hand}"
    );

    bench.run(["runs", "rm"]).exits(1);
    bench.run(["runs", "rm", "last"]).exits(1).says(&["last: expected a number from `pgmeter runs`"]);
    bench.run(["runs", "rm", "work mem"]).exits(1).says(&["expected a number"]);
    bench.run(["runs", "rm", "1", "7"]).exits(1).says(&["there is no run 7"]);
    bench.run(["runs", "rm", "2"]).exits(1).says(&["run 2 is a trial of the experiment e1: remove e1"]);
    assert_eq!(ids(&bench, &["--trials"]).len(), 8, "nothing was removed");
    let records = bench.records_of("pgmeter-results").len();
    let removed = bench.run(["runs", "rm", "c1", "e1"]).exits(0).stdout;
    assert_eq!(removed, "removed comparison c1\nremoved experiment e1 with 2 runs and 2 records\n");
    assert_eq!(bench.records_of("pgmeter-results").len(), records - 2);
    assert_eq!(ids(&bench, &["--trials"]), ["1", "e2", "4", "5"]);
    bench.run(["report", "c1"]).exits(1).says(&["comparison c1 was removed from the store "]);
    bench.run(["report", "--comparison", "last"]).exits(1).says(&["there is no comparison last"]);
    let removed = bench.run(["runs", "rm", "1"]).exits(0).stdout;
    assert!(removed.starts_with("removed run 1 and its record pgmeter-results/2"), "{removed}");
    // What is left can still be reported, and numbers are not used again.
    bench.run(["report", "e2"]).exits(0);
    compare(&bench, &conninfo, &[]).says(&["stored as comparison c2 in "]);
}

#[test]
fn two_stores_are_joined() {
    let (bench, conninfo) = prepared("joined");
    run(&bench, &conninfo, &["--label", "here"]);
    let there = ["--store", "there/"];
    run(&bench, &conninfo, &["--label", "there", "--store", "there/"]);
    compare(&bench, &conninfo, &["--label", "compared", "--store", "there/"]);
    bench.run(["lab", "run", "ladder.toml", "--store", "there/"]).exits(0);
    let out = bench.run(["runs", "import", "there"]).exits(0);
    out.says(&[
        "run 2: 1 of there/results.sqlite",
        "comparison c1: c1 of there/results.sqlite",
        "experiment e1: e1 of there/results.sqlite",
        "3 runs, 1 comparison, 1 experiment imported, 0 already stored, 0 rejected",
    ]);
    bench
        .run(["runs", "import", "there/results.sqlite"])
        .exits(0)
        .says(&["0 runs imported, 5 already stored"]);
    let of = |which: &str, more: &[&str]| {
        bench.run(["report", which, "--format", "json"].iter().chain(more)).exits(0).stdout
    };
    for label in ["there", "compared"] {
        assert_eq!(of(label, &[]), of(label, &there), "{label}");
    }
    fs::remove_dir_all(bench.path().join("there")).expect("it is there");
    assert_eq!(ids(&bench, &["--trials"]), ["1", "2", "c1", "e1", "3", "4"]);
    for which in ["there", "c1", "nightly", "4"] {
        bench.run(["report", which]).exits(0);
    }
    bench.file("none.sqlite", "no database");
    let out = bench.run(["runs", "import", "none.sqlite", "nowhere"]).exits(1);
    out.says(&["none.sqlite is not a readable record", "nowhere", "nothing was imported: 2 rejected"]);
    let store = Store::open(&bench.path().join("pgmeter-results")).expect("there is a store");
    assert_eq!(store.runs(100).expect("it can be read").len(), 4);
}

/// Only root is protected from other users' files.
#[test]
#[allow(clippy::print_stderr)]
fn root_imports_no_store_and_deletes_no_record_that_another_user_could_change() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TESTED: the check is for root");
        return;
    }
    let (bench, conninfo) = prepared("others_store");
    run(&bench, &conninfo, &["--store", "there/"]);
    let there = bench.path().join("there");
    std::os::unix::fs::chown(&there, Some(4711), None).expect("root may");
    bench
        .run(["runs", "import", "there"])
        .exits(1)
        .says(&["cannot import the store", "user 4711 could change"]);
    let out = finish(&mut bench.command(["runs", "rm", "1", "--store", "there/"])).exits(1);
    out.says(&["was not deleted: user 4711 could change", "not all of their records were deleted"]);
    assert_eq!(bench.records_of("there").len(), 1);
}
