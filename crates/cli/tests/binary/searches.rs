//! `pgmeter search`: the answer in the first lines, exit statuses, the stored search, and error messages. How the rate is
//! found is tested in `search`, and how loads follow each other in `lab`.

use serde_json::Value;
use testkit::cluster::Cluster;

use crate::goals::SLOW;
use crate::harness::Bench;
use crate::null_server::Null;

#[test]
fn a_rate_that_the_user_allows_at_most_is_kept_and_confirmed_on_a_server() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("searches");
    bench.file("slow.sql", SLOW);
    let load = ["search", "-n", "-f", "slow.sql", "--goal", "p90 < 10s", "--max-rate", "50", "-c", "4"];
    let more = ["--budget", "20s", "--label", "promise", "-o", "search.json", &conninfo];
    let shown = bench.run(load.iter().chain(&more)).exits(0).says(&["stored as search h1 in "]);
    let first = "SUSTAINS 50 tps with p90 < 10 s, the highest rate that --max-rate allows.";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
    assert!(shown.stdout.contains("\nConfirmed for 4 s at 50 tps"), "{}", shown.stdout);
    let read = std::fs::read_to_string(bench.path().join("search.json")).expect("it was written");
    let json: Value = serde_json::from_str(&read).expect("JSON");
    let search = &json["search"];
    assert_eq!((search["rate_tps"].as_f64(), &search["interval"]), (Some(50.0), &Value::Null));
    assert_eq!((&search["loads"][0]["verdict"], search["clients"].as_u64()), (&"kept".into(), Some(4)));
    assert!(search["loads"][0]["trials"].as_array().is_some_and(|trials| trials.len() >= 3), "{search}");
    let again = bench.run(["report", "h1"]).exits(0).stdout;
    assert!(again.starts_with(first), "{again}");
    assert_eq!(bench.run(["report", "promise"]).exits(0).stdout, again);
    let listed = bench.run(["runs"]).exits(0).stdout;
    assert!(listed.contains("search") && listed.contains("50 tps with p90 < 10s"), "{listed}");
    bench.run(["runs", "rm", "h1"]).exits(0);
}

#[test]
fn a_promise_that_no_rate_keeps_is_answered_on_the_null_server() {
    let bench = Bench::new();
    let null = Null::start(&bench, "./", &[]);
    bench.file("fast.sql", "SELECT 1;\n");
    let load =
        ["search", "-f", "fast.sql", "--goal", "p50 < 1us", "--max-rate", "3", "-c", "1", "--budget", "30s"];
    let shown = bench.run(load.iter().chain([&null.conninfo.as_str()])).exits(5);
    let first = "NOT KEPT: p50 < 1 µs is broken even at ";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
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
}
