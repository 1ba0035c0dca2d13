//! The answer of a run comes first: whether its rate and limit were kept, and which errors failed its transactions.
//! Real servers; how the lines are laid out is tested in `report`.

use results::{ErrorCounts, TransactionErrors};
use testkit::cluster::Cluster;

use crate::harness::Bench;

#[test]
fn a_rate_that_the_clients_cannot_reach_is_not_kept_and_the_exit_status_says_nothing_of_it() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("not_kept");
    let script = bench.file("slow.sql", "SELECT pg_sleep(0.2);");
    // Two clients do ten per second.
    let flags = ["bench", "-n", "-c", "2", "-T", "2", "-R", "100", "-L", "20", "-P", "1", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(0);
    let first = out.stdout.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    assert!(first.starts_with("NOT KEPT: ") && first.contains(" of 100 per second; "), "{first}");
    assert!(first.ends_with("the rest later than 20 ms."), "{first}");
    assert!(out.stderr.contains(" skipped, ") && out.stderr.contains(" late"), "{}", out.stderr);
    assert_eq!(bench.record().summary.service_level.map(|level| level.kept), Some(false));
    assert!(bench.run(["runs"]).exits(0).stdout.contains("NOT KEPT"));
    let page = bench.run(["report", "last", "--format", "html"]).exits(0).stdout;
    assert!(page.contains("NOT KEPT: ") && page.contains("latency limit 20 ms"));
}

#[test]
fn a_limit_that_no_transaction_exceeds_is_kept() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("kept");
    let script = bench.file("one.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-t", "10", "-L", "600000", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(0);
    assert!(out.stdout.starts_with("KEPT: transactions within 600 s.\n"), "{}", out.stdout);
    let without = bench.run(["bench", "-n", "-t", "10", "-f", script, &conninfo]).exits(0).stdout;
    assert!(without.starts_with("one.sql on PostgreSQL 18"), "{without}");
}

/// The errors section of the text report.
fn errors_of(stdout: &str) -> Vec<String> {
    let section = stdout.split("\nerrors\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    section.unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn errors_name_their_statement_and_line_with_a_caret_under_every_protocol_and_old_servers() {
    let text = "\\set id random(1, 9)\n-- comment\nSELECT 1 AS one, 'é',\n  nme FROM pg_class WHERE reltuples > :id;\n";
    for (version, protocol) in
        [("18", "simple"), ("18", "extended"), ("18", "prepared"), ("9.6", "simple"), ("9.6", "prepared")]
    {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database(&format!("errors_{protocol}"));
        let script = bench.file("bad.sql", text);
        let flags = ["bench", "-n", "-t", "3", "-M", protocol, "--continue-on-error", "-f", script];
        let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(2);
        let expected = [
            "  42703 column \"nme\" does not exist: 3 transactions failed.",
            "  bad.sql:4: nme FROM pg_class WHERE reltuples > :id;",
            "             ^",
        ];
        assert_eq!(errors_of(&out.stdout), expected, "{version}, {protocol}");
    }
}

#[test]
fn errors_are_counted_by_sqlstate_and_add_up_with_the_failed_transactions() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("errors_counted");
    Cluster::session(&conninfo).execute("create table t (id int primary key)").expect("a table");
    let script = bench.file("mix.sql", "INSERT INTO t VALUES (:client_id);\nSELECT 1 / 0;\n");
    let fine = bench.file("fine.sql", "SELECT 1;");
    let flags = ["bench", "-n", "-c", "2", "-t", "20", "--random-seed", "1", "--continue-on-error"];
    bench.run(flags.iter().chain(&["-f", script, "-f", fine, conninfo.as_str()])).exits(0);
    let summary = bench.record().summary;
    let TransactionErrors { kinds, others } = summary.errors.expect("they are recorded");
    assert_eq!(others, ErrorCounts::default());
    let found: Vec<_> = kinds.iter().map(|kind| (kind.sqlstate.as_str(), kind.line)).collect();
    assert_eq!(found, [("23505", 1), ("22012", 2)]);
    // Each client could insert its row once.
    assert_eq!(kinds[1].counts, ErrorCounts { failed: 2, retried: 0, aborted: 0 });
    assert_eq!(kinds[0].counts.failed + 2, summary.counts.failed);
    let detail = kinds[0].detail.as_ref().map(results::SafeText::as_str);
    assert!(detail.is_some_and(|detail| detail.contains("already exists")), "{detail:?}");
    let markdown = bench.run(["report", "last", "--format", "markdown"]).exits(0).stdout;
    assert!(markdown.contains("## Errors\n") && markdown.contains("mix.sql:2: SELECT 1 / 0;"), "{markdown}");
}

#[test]
fn an_error_that_aborts_clients_is_in_the_report_too_without_the_password_that_it_quotes() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("errors_aborted");
    let script = bench.file("secret.sql", "SELECT ':token'::int;\n");
    let flags = ["bench", "-n", "-c", "2", "-t", "1", "-D", "token=hunter2hunter2", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(2);
    let errors = errors_of(&out.stdout).join("\n");
    assert!(errors.contains("2 clients aborted") && errors.contains("secret.sql:1: "), "{errors}");
    let json = bench.record().to_json();
    assert!(!out.stdout.contains("hunter2") && !json.contains("hunter2"), "{}", out.stdout);
}

#[test]
fn a_usage_error_is_1_in_every_command() {
    let bench = Bench::new();
    bench.run(["bench", "--no-such-option"]).exits(1);
    bench.run(["bench", "-c", "none"]).exits(1);
    bench.run(["compare", "--no-such-option"]).exits(1);
    bench.run(["--color", "never", "compare", "-c", "none"]).exits(1);
    bench.run(["compare", "--help"]).exits(0);
}
