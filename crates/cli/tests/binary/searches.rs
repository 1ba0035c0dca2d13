//! `pgmeter search`: the answer in the first lines, exit statuses, the stored search, and error messages. How the rate is
//! found is tested in `search`, and how loads follow each other in `lab`.

use rustix::process::Signal;
use serde_json::Value;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};
use crate::null_server::Null;

/// A transaction of at least 20 ms, so that a closed loop with few clients is no work.
const SLOW: &str = "SELECT pg_sleep(0.02);\n";

#[test]
fn a_rate_that_the_user_allows_at_most_is_kept_and_confirmed_on_a_server() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("searches");
    bench.file("slow.sql", SLOW);
    let load = ["search", "-n", "-f", "slow.sql", "--goal", "p90 < 10s", "--max-rate", "20", "-c", "4"];
    // Far more than it takes, also on a busy machine.
    let more = ["--budget", "60s", "--label", "promise", "-o", "search.json", &conninfo];
    let shown = bench.run(load.iter().chain(&more)).exits(0).says(&["stored as search h1 in "]);
    let first = "SUSTAINS 20 tps with p90 < 10 s, the highest rate that --max-rate allows.";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nConfirmed for 10 s at 20 tps"), "{}", shown.stdout);
    let read = std::fs::read_to_string(bench.path().join("search.json")).expect("it was written");
    let json: Value = serde_json::from_str(&read).expect("JSON");
    let search = &json["search"];
    assert_eq!((search["rate_tps"].as_f64(), &search["interval"]), (Some(20.0), &Value::Null));
    assert_eq!((&search["loads"][0]["verdict"], search["clients"].as_u64()), (&"kept".into(), Some(4)));
    assert!(search["loads"][0]["trials"].as_array().is_some_and(|trials| trials.len() >= 3), "{search}");
    let again = bench.run(["report", "h1"]).exits(0).stdout;
    assert!(again.starts_with(first), "{again}");
    assert_eq!(bench.run(["report", "promise"]).exits(0).stdout, again);
    let listed = bench.run(["runs"]).exits(0).stdout;
    assert!(listed.contains("search") && listed.contains("20 tps with p90 < 10s"), "{listed}");
    bench.run(["runs", "rm", "h1"]).exits(0);
}

#[test]
fn a_promise_that_no_rate_keeps_is_answered_on_the_null_server() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    bench.file("fast.sql", "SELECT 1;\n");
    let load =
        ["search", "-f", "fast.sql", "--goal", "p50 < 1us", "--max-rate", "3", "-c", "1", "--budget", "60s"];
    let shown = bench.run(load.iter().chain([&null.conninfo.as_str()])).exits(5);
    let first = "NOT KEPT: p50 < 1 µs is broken even at ";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
}

#[test]
fn a_search_that_was_broken_off_is_continued_with_its_trials_and_judged_by_an_expected_rate() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("resumed_search");
    bench.file("slow.sql", SLOW);
    let load = ["search", "-n", "-f", "slow.sql", "--goal", "p90 < 10s", "--max-rate", "20", "-c", "4"];
    let interrupted = ["--budget", "60s", &conninfo];
    let mut running = Running::start(&mut bench.command(load.iter().chain(&interrupted)));
    running.hear("20 tps: kept");
    running.signal(Signal::INT);
    running.finish().exits(130).says(&["the same command with --resume continues it"]);
    let missing = ["--budget", "60s", "--resume=h9", &conninfo];
    bench.run(load.iter().chain(&missing)).exits(1);
    let others = ["search", "-n", "-f", "slow.sql", "--goal", "p90 < 5s", "--resume", &conninfo];
    bench.run(others).exits(1).says(&["no search with these goals"]);
    let more = ["--budget", "60s", "--expect", "search.rate_tps > 15", "--resume", &conninfo];
    let shown =
        bench.run(load.iter().chain(&more)).exits(0).says(&["continuing search h1", "stored as search h1"]);
    assert!(shown.stdout.contains("Expected: more than 15 tps; met."), "{}", shown.stdout);
    let finished = ["--budget", "60s", "--resume", &conninfo];
    bench.run(load.iter().chain(&finished)).exits(1).says(&["it has its answer"]);
    let expected = ["--budget", "20s", "--expect", "search.rate_tps > 30", &conninfo];
    bench.run(load.iter().chain(&expected)).exits(3);
}

#[test]
fn two_searches_in_turns_are_stored_with_both_sides_and_an_open_answer_has_its_status() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("searches_in_turns");
    bench.file("sleep.sql", "SELECT pg_sleep(:ms / 1000.0);\n");
    let sides = ["compare", "--search", "--in-place", "-d", &conninfo, "--factor", "variables.ms=20,60"];
    // Too few trials for an interval.
    let load = ["-f", "sleep.sql", "--goal", "p90 < 400ms", "-c", "2", "--budget", "30s", "-o", "both.json"];
    let shown = bench.run(sides.iter().chain(&load)).exits(3).says(&[
        "A: closed loop with 2 clients: ",
        "B: closed loop with 2 clients: ",
        "stored as search h1 in ",
    ]);
    assert!(shown.stdout.contains("Inconclusive: the search on A and B found no rate"), "{}", shown.stdout);
    assert!(shown.stdout.contains("A: 20") && shown.stdout.contains("B: 60"), "{}", shown.stdout);
    let read = std::fs::read_to_string(bench.path().join("both.json")).expect("it was written");
    let json: Value = serde_json::from_str(&read).expect("JSON");
    assert_eq!(json["comparison"]["decision"], "undecided");
    let top = |record: &Value| record["search"]["bursts"][0]["tps"].as_f64().expect("it was measured");
    let ratio = top(&json) / top(&json["comparison"]["a"]);
    assert!((0.2..0.6).contains(&ratio), "{ratio}");
    bench
        .run(sides.iter().chain(&["-f", "sleep.sql"]))
        .exits(1)
        .says(&["a search needs a promise to look for"]);
    let refused = ["-f", "sleep.sql", "--goal", "p90 < 400ms", "--rate", "5"];
    bench.run(sides.iter().chain(&refused)).exits(1).says(&["a search finds the rate: leave it out"]);
}

#[test]
fn an_experiment_crosses_searches_with_a_factor() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("searches_of_cells");
    bench.file("slow.sql", SLOW);
    let file = format!(
        "name = \"cells\"\n[server]\ndsn = \"{conninfo}\"\nin_place = true\n[load]\nscript = \"slow.sql\"\n\
         goal = [\"p90 < 10s\"]\n[search]\nbudget = \"10s\"\nmax_rate = 20\n[factors]\nclients = [2, 4]\n\
         [design]\nrepeats = 1\n"
    );
    bench.file("cells.toml", &file);
    let plan = bench.run(["lab", "plan", "cells.toml"]).exits(0).stdout;
    assert!(
        plan.contains("  search      the highest rate that keeps p90 < 10s, at most 10 s each\n"),
        "{plan}"
    );
    let shown = bench.run(["lab", "run", "cells.toml"]).exits(0).stdout;
    assert!(shown.contains("highest rate, tps"), "{shown}");
    let json = bench.run(["report", "--experiment", "cells", "--format", "json"]).exits(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["trials"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        json["trials"][0]["search"]["clients"].as_u64(),
        json["trials"][0]["factors"]["clients"].as_str().and_then(|it| it.parse().ok())
    );
    bench.file("rate.toml", &file.replace("[search]", "rate = 5\n[search]"));
    bench.run(["lab", "plan", "rate.toml"]).exits(1).says(&["[search] finds the rate: remove rate"]);
    bench.file("goal.toml", &file.replace("goal = [\"p90 < 10s\"]\n", ""));
    bench.run(["lab", "plan", "goal.toml"]).exits(1).says(&["set goal in [load]"]);
}

#[test]
fn a_goal_without_a_share_a_short_budget_and_clients_that_are_no_number_are_refused() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], expected: &str| {
        bench.run(["search", "-S"].iter().chain(arguments)).exits(1).says(&[expected]);
    };
    refused(&[], "a search needs a promise to look for: give --goal");
    refused(&["--goal", "mean < 20ms"], "\"mean < 20ms\" cannot be searched for, because it is not a share");
    refused(&["--goal", "tps > 10"], "because it sets a lower limit");
    refused(&["--goal", "p99 < 20ms", "--budget", "5s"], "must be at least 10s");
    refused(&["--goal", "p99 < 20ms", "-c", "some"], "expected auto or a number of clients");
    refused(&["--goal", "p99 < 20ms", "--width", "99%"], "expected 0.1% to 50%");
    refused(&["--goal", "p99 < 20ms", "--max-rate", "0"], "expected transactions per second");
    refused(&["--goal", "p99 < 20ms", "--expect", "tps > 5"], "such as \"search.rate_tps > 3000\"");
    refused(&["--goal", "p99 < 20ms", "--resume=5"], "expected last or the number of a search");
}

mod measuring {
    use super::*;

    /// Broken trials that end a search if pgmeter was the limit in each of the last ones.
    const LIMITED_TRIALS: usize = 3;

    /// The trials in their order, and whether they broke the goal and pgmeter was the limit.
    fn trials(search: &Value) -> Vec<(bool, bool)> {
        let loads = search["loads"].as_array().expect("loads").iter();
        let mut all: Vec<&Value> =
            loads.flat_map(|load| load["trials"].as_array().expect("trials")).collect();
        all.sort_by(|a, b| a["start_s"].as_f64().partial_cmp(&b["start_s"].as_f64()).expect("numbers"));
        all.iter().map(|trial| (trial["verdict"] == "broken", trial["limited_by"] == "generator")).collect()
    }

    #[test]
    fn a_search_that_ends_at_the_limit_of_the_generator_states_a_lower_bound_alone() {
        let bench = Bench::new();
        let null = Null::start(&bench, "./", &[]);
        // A worker that computes, or waits for a processor to do so, is the limit whatever other programs do.
        let sums = "\\set a (random(1, 1000) * 7 + 13) % 11\n".repeat(1_000);
        bench.file("work.sql", &format!("{sums}SELECT :a;\n"));
        // Too short for the trials that an interval needs.
        let load = ["search", "-f", "work.sql", "--goal", "p90 < 100ms", "-c", "4", "-j", "1"];
        let more = ["--budget", "30s", "-o", "search.json", &null.conninfo];
        let shown = bench.run(load.iter().chain(&more));
        let read = std::fs::read_to_string(bench.path().join("search.json")).expect("it was written");
        let search = &serde_json::from_str::<Value>(&read).expect("JSON")["search"];
        let broken: Vec<bool> = trials(search)
            .into_iter()
            .filter_map(|(is_broken, is_limit)| is_broken.then_some(is_limit))
            .collect();
        let is_limit = broken.len() >= LIMITED_TRIALS
            && broken[broken.len() - LIMITED_TRIALS..].iter().all(|is_limit| *is_limit);
        // Where other programs stop pgmeter, loads that it could make break the goal too. An interval is never stated.
        assert!(!shown.stdout.contains("(95"), "{}", shown.stdout);
        let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains("pgmeter or its machine was the limit"), is_limit, "{}", shown.stdout);
        if is_limit {
            let is_kept =
                search["loads"].as_array().is_some_and(|it| it.iter().any(|it| it["verdict"] == "kept"));
            let first = if is_kept { "AT LEAST " } else { "NO ANSWER " };
            assert!(shown.exits(3).stdout.starts_with(first), "{words}");
        }
    }
}
