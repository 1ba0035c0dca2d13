//! Quirks of what is counted and computed: totals, failures, deviations, averages. What is timed is only compared with
//! what cannot be otherwise.

use crate::quirks::harness::{Desk, Who};

const PROCESSED: &str = "number of transactions actually processed: ";

/// The whole number behind `label` in each line that has it.
fn numbers(text: &str, label: &str) -> Vec<u64> {
    let rests = text.lines().filter_map(|line| line.split_once(label)).map(|(_, rest)| rest);
    rests
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse().expect("there is a number")
        })
        .collect()
}

#[test]
fn quirk_14_the_number_of_transactions_to_do_is_right_beyond_32_bits() {
    let desk = Desk::new("quirk_14");
    let run = desk.run(Who::Pgbench, "-c 3 -t 1500000000", "select 1/0;\n").exits(2);
    run.says(&[&format!("{PROCESSED}0/4500000000\n")]);
}

#[test]
fn quirk_15_all_failed_is_no_error_and_aborted_clients_make_the_load_smaller() {
    let desk = Desk::new("quirk_15").with_stumbling();
    let failed = desk.run(Who::Pgbench, "-t 3", "select stumble(1000, '40001');\n").exits(0);
    failed.says(&["number of failed transactions: 3 (100.000%)", "tps = 0.000000 ("]);

    let script = "\\if :client_id = 1\nselect 1/0;\n\\endif\nselect 1;\n";
    let smaller = desk.run(Who::Pgbench, "-c 2 -t 5", script).exits(2);
    smaller.says(&[&format!("{PROCESSED}5/10\n"), "Run was aborted; the above results are incomplete."]);

    let ended = desk.run(Who::Pgbench, "-c 2 -t 5 --exit-on-abort", script).exits(2);
    ended.says(&["Run was aborted due to an error in thread 0"]).says_not(&[PROCESSED]);
}

#[test]
fn quirk_16_no_count_is_lost_between_threads() {
    let desk = Desk::new("quirk_16").with_stumbling();
    std::fs::write(desk.path().join("other.sql"), "select 2;\n").expect("a file can be written");
    let run = desk.run(
        Who::Pgbench,
        "-c 8 -j 4 -t 100 -r --max-tries 0 -L 1000000 -f other.sql",
        "select 1;\nselect stumble(3, '40001');\n",
    );
    let report = run.exits(0).stdout;
    let (whole, scripts) = report.split_once("SQL script 1").expect("there are two scripts");
    assert_eq!(numbers(whole, PROCESSED), [800]);
    assert_eq!(numbers(scripts, PROCESSED).iter().sum::<u64>(), 800);
    let retries = numbers(whole, "total number of retries: ");
    assert_eq!(numbers(scripts, "total number of retries: ").iter().sum::<u64>(), retries[0]);
    // Average, failures, retries, text.
    let stumbling = scripts.lines().find(|line| line.ends_with("select stumble(3, '40001');"));
    let columns: Vec<&str> = stumbling.expect("it has a line").split_whitespace().take(3).collect();
    assert_eq!(columns[1..], ["0", &retries[0].to_string()]);
}

#[test]
fn quirk_18_a_deviation_is_exact_and_bench_has_percentiles() {
    let desk = Desk::new("quirk_18");
    // The latency is large beside its deviation, which is 0: sums of squares in doubles would not get there.
    let one = desk.run(Who::Pgbench, "-t 1 -L 100000", "\\sleep 30 ms\nselect 1;\n").exits(0);
    one.says(&["latency stddev = 0.000 ms"]);
    let plain = desk.run(Who::Pgbench, "-t 3 -P 60", "select 1;\n").exits(0);
    plain.says(&["latency stddev = "]).says_not(&["p99", "median"]);
    desk.run(Who::Bench, "-t 3", "select 1;\n").exits(0).says(&["p50", "p99"]);
}

#[test]
fn quirk_19_the_plain_average_is_computed_from_the_duration() {
    let desk = Desk::new("quirk_19").with_stumbling();
    let script = "select stumble(2, '40001');\n";
    let plain = desk.run(Who::Pgbench, "-t 4", script).exits(0);
    plain.says(&[" ms (including failures)"]).says_not(&["latency stddev"]);
    for measured in ["-R 1000", "-L 100000", "-P 60"] {
        let run = desk.run(Who::Pgbench, &format!("-t 4 {measured}"), script).exits(0);
        run.says(&["latency average = ", "latency stddev = "]).says_not(&["including failures"]);
    }
    desk.run(Who::Bench, "-t 4", script).exits(0).says(&["p50", "2 failed"]);

    // Pauses and reconnects are in it: the rate and the average tell the same.
    let naps = desk.run(Who::Pgbench, "-t 4 -C -c 2", "\\sleep 10 ms\nselect 1;\n").exits(0).stdout;
    let figure = |label: &str| -> f64 {
        let (_, rest) = naps.split_once(label).expect("it is in the report");
        rest.split_whitespace().next().expect("there is a number").parse().expect("it is one")
    };
    let (average_ms, tps) = (figure("latency average = "), figure("tps = "));
    assert!(average_ms >= 10.0, "{naps}");
    assert!((average_ms * tps / 2000.0 - 1.0).abs() < 0.001, "{naps}");
}
