//! The final report as pgbench 19 prints it: each test is a combination of options and the whole text for it.
//! Layout and figures of the longer ones are of real runs of pgbench 15, with the lines that came since.

use crate::texts::fixture::{latency, record, script, script_summary, succeeded};
use pgmeter_report::pgbench::{Presentation, final_report};
use results::{
    CommandSummary, Connecting, Counts, Failures, Lag, Limit, PartitionMethod, Protocol, Record, Tables,
};

const PLAIN: Presentation =
    Presentation { failures_detailed: false, report_per_command: false, progress: false };
const DETAILED: Presentation = Presentation { failures_detailed: true, ..PLAIN };
const WITH_COMMANDS: Presentation = Presentation { report_per_command: true, ..PLAIN };

#[track_caller]
fn check(record: &Record, presentation: Presentation, expected: &str) {
    assert_eq!(final_report(record, &presentation), expected);
}

/// The lines of the report that begin with one of these.
fn lines(record: &Record, presentation: Presentation, beginnings: &[&str]) -> Vec<String> {
    let report = final_report(record, &presentation);
    let wanted = |line: &&str| beginnings.iter().any(|beginning| line.starts_with(beginning));
    report.lines().filter(wanted).map(str::to_owned).collect()
}

fn command(text: &str, mean_us: Option<f64>, failures: u64, retries: u64) -> CommandSummary {
    CommandSummary {
        text: text.to_owned(),
        line: 1,
        executions: u64::from(mean_us.is_some()),
        mean_us,
        stddev_us: mean_us,
        min_us: mean_us,
        max_us: mean_us,
        latency_us: None,
        failures,
        retries,
        copied: None,
    }
}

/// With failures, retries and skipped ones, so that every percentage is of another number.
fn troubled() -> Counts {
    Counts {
        scheduled: 1_609,
        succeeded: 729,
        failed: 339,
        skipped: 500,
        unfinished: 41,
        unknown: 0,
        reserved: 0,
        late: 525,
        retried: 82,
        retries: 95,
        business: 729,
        failures: Failures { serialization: 300, deadlock: 30, connection: 0, other: 9 },
        ..Counts::default()
    }
}

#[test]
fn a_run_of_a_builtin_script_for_a_number_of_transactions() {
    let mut record = record();
    record.plan.scripts[0].description = "<builtin: select only>".to_owned();
    record.plan.limit = Limit::TransactionsPerClient(5);
    record.tables = Tables { scale: Some(10.into()), ..Tables::default() };
    record.summary.counts = succeeded(10);
    record.summary.elapsed_s = 0.019_785;
    record.connection_time_s = Some(0.030_437);
    check(
        &record,
        PLAIN,
        "\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
number of transactions per client: 5
number of transactions actually processed: 10/10
number of failed transactions: 0 (0.000%)
latency average = 3.957 ms
initial connection time = 30.437 ms
tps = 505.433409 (without initial connection time)
",
    );
}

#[test]
fn a_run_for_a_time_with_progress_has_a_deviation() {
    let presentation = Presentation { progress: true, ..PLAIN };
    check(
        &record(),
        presentation,
        "\
transaction type: ser.sql
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 963
number of failed transactions: 0 (0.000%)
latency average = 4.294 ms
latency stddev = 5.905 ms
initial connection time = 16.056 ms
tps = 310.645161 (without initial connection time)
",
    );
}

#[test]
fn everything_at_once_for_several_scripts() {
    let mut record = record();
    record.plan.scripts = vec![script("ser.sql", 1), script("one.sql", 2), script("never.sql", 0)];
    record.plan.rate_tps = Some(400.0);
    record.plan.latency_limit_us = Some(2_000.0);
    record.plan.max_tries = Some(2);
    record.plan.protocol = Protocol::Prepared;
    record.plan.workers = 2;
    record.tables.partition_method = Some(PartitionMethod::Hash);
    record.tables.partitions = Some(7);
    record.summary.counts = troubled();
    record.summary.lag_us = Some(Lag { mean: 547.6, max: 4_529.0 });
    let (first, rest) = (Counts { succeeded: 700, ..troubled() }, succeeded(29));
    let mut ser = script_summary("ser.sql", first, Some(latency(5_838.0, 4_318.0)));
    ser.commands = vec![
        command("BEGIN ISOLATION LEVEL REPEATABLE READ;", Some(308.7), 0, 0),
        command("\\sleep 1 ms", Some(1_545_999.9), 0, 0),
        command("UPDATE t SET v=v+1;", Some(555.0), 339, 95),
        command("END;", None, 0, 0),
    ];
    let one = script_summary("one.sql", rest, Some(latency(1_556.0, 1_952.0)));
    let never = script_summary("never.sql", Counts::default(), None);
    record.summary.scripts = vec![ser, one, never];
    let presentation = Presentation { failures_detailed: true, report_per_command: true, progress: true };
    check(
        &record,
        presentation,
        "\
transaction type: multiple scripts
scaling factor: 1
partition method: hash
partitions: 7
query mode: prepared
number of clients: 2
number of threads: 2
maximum number of tries: 2
duration: 3 s
number of transactions actually processed: 729
number of failed transactions: 339 (21.620%)
number of serialization failures: 300 (19.133%)
number of deadlock failures: 30 (1.913%)
number of other failures: 9 (0.574%)
number of transactions retried: 82 (5.230%)
total number of retries: 95
number of transactions skipped: 500 (31.888%)
number of transactions above the 2.0 ms latency limit: 525/729 (72.016%)
latency average = 4.294 ms
latency stddev = 5.905 ms
rate limit schedule lag: avg 0.548 (max 4.529) ms
initial connection time = 16.056 ms
tps = 235.161290 (without initial connection time)
SQL script 1: ser.sql
 - weight: 1 (targets 33.3% of total)
 - 1539 transactions (98.2% of total)
 - number of transactions actually processed: 700 (tps = 225.806452)
 - number of failed transactions: 339 (22.027%)
 - number of serialization failures: 300 (19.493%)
 - number of deadlock failures: 30 (1.949%)
 - number of other failures: 9 (0.585%)
 - number of transactions retried: 82 (5.328%)
 - total number of retries: 95
 - number of transactions skipped: 500 (32.489%)
 - latency average = 5.838 ms
 - latency stddev = 4.318 ms
 - statement latencies in milliseconds, failures and retries:
         0.309           0          0 BEGIN ISOLATION LEVEL REPEATABLE READ;
      1546.000           0          0 \\sleep 1 ms
         0.555         339         95 UPDATE t SET v=v+1;
         0.000           0          0 END;
SQL script 2: one.sql
 - weight: 2 (targets 66.7% of total)
 - 29 transactions (1.8% of total)
 - number of transactions actually processed: 29 (tps = 9.354839)
 - number of failed transactions: 0 (0.000%)
 - number of serialization failures: 0 (0.000%)
 - number of deadlock failures: 0 (0.000%)
 - number of other failures: 0 (0.000%)
 - number of transactions retried: 0 (0.000%)
 - total number of retries: 0
 - number of transactions skipped: 0 (0.000%)
 - latency average = 1.556 ms
 - latency stddev = 1.952 ms
 - statement latencies in milliseconds, failures and retries:
SQL script 3: never.sql
 - weight: 0 (targets 0.0% of total)
 - 0 transactions (0.0% of total)
 - statement latencies in milliseconds, failures and retries:
",
    );
}

#[test]
fn the_commands_of_a_single_script_have_no_hyphen_and_no_retries_where_there_is_one_try() {
    let mut record = record();
    record.plan.reconnect = true;
    record.summary.connecting = Some(Connecting { connects: 963, total_s: 10.0556 });
    record.summary.counts = Counts {
        failed: 3,
        scheduled: 966,
        failures: Failures { other: 3, ..Failures::default() },
        ..succeeded(963)
    };
    record.summary.scripts[0].commands = vec![command("SELECT 1;", Some(6_757.0), 3, 0)];
    check(
        &record,
        WITH_COMMANDS,
        "\
transaction type: ser.sql
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 963
number of failed transactions: 3 (0.311%)
latency average = 6.418 ms (including failures)
average connection time = 10.410 ms
tps = 310.645161 (including reconnection times)
statement latencies in milliseconds and failures:
         6.757           3 SELECT 1;
",
    );
}

#[test]
fn a_run_without_any_transaction_ends_with_how_many_there_were() {
    let mut record = record();
    record.summary.counts = Counts { scheduled: 2, unfinished: 2, ..Counts::default() };
    record.summary.response_us = None;
    record.summary.scripts[0] = script_summary("ser.sql", record.summary.counts, None);
    record.plan.limit = Limit::TransactionsPerClient(5);
    let presentation = Presentation { failures_detailed: true, report_per_command: true, progress: true };
    check(
        &record,
        presentation,
        "\
transaction type: ser.sql
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
number of transactions per client: 5
number of transactions actually processed: 0/10
",
    );
}

#[test]
fn a_run_in_which_everything_failed_has_an_average_but_no_lag() {
    let mut record = record();
    record.plan.rate_tps = Some(100.0);
    record.plan.latency_limit_us = Some(500.0);
    let failures = Failures { serialization: 10, ..Failures::default() };
    record.summary.counts = Counts { scheduled: 10, failed: 10, failures, ..Counts::default() };
    record.summary.response_us = None;
    record.summary.scripts[0] = script_summary("ser.sql", record.summary.counts, None);
    check(
        &record,
        PLAIN,
        "\
transaction type: ser.sql
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 0
number of failed transactions: 10 (100.000%)
number of transactions skipped: 0 (0.000%)
number of transactions above the 0.5 ms latency limit: 0/0 (0.000%)
latency average = 620.000 ms (including failures)
rate limit schedule lag: avg NaN (max 0.000) ms
initial connection time = 16.056 ms
tps = 0.000000 (without initial connection time)
",
    );
}

#[test]
fn tries_have_a_line_unless_they_are_unlimited_and_retries_one_unless_there_is_one_try() {
    let beginnings = ["maximum number of tries", "number of transactions retried", "total number of retries"];
    for (max_tries, expected) in [
        (Some(1), &["maximum number of tries: 1"][..]),
        (
            Some(4),
            &[
                "maximum number of tries: 4",
                "number of transactions retried: 82 (5.230%)",
                "total number of retries: 95",
            ],
        ),
        (None, &["number of transactions retried: 82 (5.230%)", "total number of retries: 95"]),
    ] {
        let mut record = record();
        record.plan.max_tries = max_tries;
        record.summary.counts = troubled();
        assert_eq!(lines(&record, PLAIN, &beginnings), expected, "{max_tries:?}");
    }
}

#[test]
fn what_rate_limit_and_progress_add_depends_on_each_other() {
    let skipped = "number of transactions skipped: 500 (31.888%)";
    let late = "number of transactions above the 2.0 ms latency limit: 525/729 (72.016%)";
    let lag = "rate limit schedule lag: avg 0.548 (max 4.529) ms";
    let measured = ["latency average = 4.294 ms", "latency stddev = 5.905 ms"];
    let [average, deviation] = measured;
    let estimated = "latency average = 3.954 ms (including failures)";
    for (rate, limit, progress, expected) in [
        (false, false, false, &[estimated][..]),
        (false, false, true, &measured),
        (true, false, false, &[average, deviation, lag]),
        (false, true, false, &[late, average, deviation]),
        (true, true, false, &[skipped, late, average, deviation, lag]),
        (true, true, true, &[skipped, late, average, deviation, lag]),
    ] {
        let mut record = record();
        record.plan.rate_tps = rate.then_some(400.0);
        record.plan.latency_limit_us = limit.then_some(2_000.0);
        record.summary.counts = troubled();
        record.summary.lag_us = Some(Lag { mean: 547.6, max: 4_529.0 });
        let beginnings =
            ["number of transactions skipped", "number of transactions above", "latency", "rate"];
        let shown = lines(&record, Presentation { progress, ..PLAIN }, &beginnings);
        assert_eq!(shown, expected, "rate {rate}, limit {limit}, progress {progress}");
    }
}

#[test]
fn failures_by_kind_are_shown_on_request_even_if_there_are_none() {
    let beginnings = ["number of failed", "number of serialization", "number of deadlock", "number of other"];
    assert_eq!(lines(&record(), PLAIN, &beginnings), ["number of failed transactions: 0 (0.000%)"]);
    assert_eq!(
        lines(&record(), DETAILED, &beginnings),
        [
            "number of failed transactions: 0 (0.000%)",
            "number of serialization failures: 0 (0.000%)",
            "number of deadlock failures: 0 (0.000%)",
            "number of other failures: 0 (0.000%)",
        ]
    );
}

#[test]
fn all_transactions_that_were_asked_for_are_counted_in_more_than_32_bits() {
    let mut record = record();
    record.plan.clients = 1_000;
    record.plan.limit = Limit::TransactionsPerClient(5_000_000);
    let shown = lines(&record, PLAIN, &["number of transactions actually processed"]);
    assert_eq!(shown, ["number of transactions actually processed: 963/5000000000"]);
}

#[test]
fn tables_that_are_not_partitioned_have_no_line_about_it() {
    let mut record = record();
    record.tables.partitions = Some(0);
    assert_eq!(lines(&record, PLAIN, &["partition"]), [""; 0]);
    record.tables =
        Tables { scale: Some(3.into()), partition_method: Some(PartitionMethod::Range), partitions: Some(2) };
    assert_eq!(
        lines(&record, PLAIN, &["scaling", "partition"]),
        ["scaling factor: 3", "partition method: range", "partitions: 2"]
    );
}

#[test]
fn absurd_figures_are_shown_in_postgresqls_words() {
    let mut record = record();
    record.summary.elapsed_s = 0.0;
    record.summary.response_us = Some(latency(f64::NEG_INFINITY, f64::NAN));
    let shown = lines(&record, Presentation { progress: true, ..PLAIN }, &["latency", "tps"]);
    assert_eq!(
        shown,
        [
            "latency average = -Infinity ms",
            "latency stddev = NaN ms",
            "tps = Infinity (without initial connection time)"
        ]
    );
}

/// What each of these expressions captures in the report, `-` if it does not match.
fn captured(report: &str, expressions: &[&str]) -> Vec<String> {
    let capture = |expression: &&str| {
        let regex = regex_lite::Regex::new(expression).expect("the expression is whole");
        let first = regex.captures(report).and_then(|captures| captures.get(1));
        first.map_or("-".to_owned(), |group| group.as_str().to_owned())
    };
    expressions.iter().map(capture).collect()
}

#[test]
fn the_expressions_by_which_scripts_read_pgbenchs_report_match() {
    let mut record = record();
    record.plan.max_tries = Some(2);
    record.plan.latency_limit_us = Some(2_000.0);
    record.tables.scale = Some(50.into());
    record.summary.counts = troubled();
    let expressions = [
        r"(?m)^tps = ([0-9.]+)",
        r"tps = (\d+\.\d+) \(without initial connection time\)",
        r"latency average = (\d+\.\d{3}) ms",
        r"latency average\s*=\s*([0-9.]+)\s*ms",
        r"latency stddev = (\d+\.\d{3}) ms",
        r"scaling factor: (\d+)",
        r"number of clients: (\d+)",
        r"number of transactions actually processed: (\d+)",
        r"number of failed transactions: (\d+) \(",
        r"number of failed transactions: \d+ \((\d+\.\d+)%\)",
        r"total number of retries: (\d+)",
        r"initial connection time = (\d+\.\d+) ms",
        r"query mode: (simple|extended|prepared)",
        r"above the \d+\.\d ms latency limit: (\d+)/\d+ \(",
    ];
    let expected = [
        "235.161290",
        "235.161290",
        "4.294",
        "4.294",
        "5.905",
        "50",
        "2",
        "729",
        "339",
        "21.620",
        "95",
        "16.056",
        "simple",
        "525",
    ];
    assert_eq!(captured(&final_report(&record, &PLAIN), &expressions), expected);
}
