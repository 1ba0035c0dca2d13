//! `pgmeter init` and `pgmeter bench` against the newest and an old major version.
//! What the record claims is compared with what the server's tables say.

use connect::Session;
use results::Status;
use testkit::cluster::Cluster;

use crate::harness::{Bench, tables_of_pgbench};

const VERSIONS: [&str; 2] = ["18", "9.6"];
const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];

fn ask(session: &mut Session, sql: &str) -> i64 {
    let rows = session.query(sql).expect("the query is right");
    rows[0].get(0).unwrap_or("0").parse().expect("the answer is a number")
}

/// A fresh database with the tables of the built-in scripts.
fn with_tables(name: &str) -> String {
    tables_of_pgbench(Cluster::shared("18"), name, 2)
}

#[test]
fn what_the_record_counts_is_what_the_server_did() {
    for version in Cluster::versions(VERSIONS) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("counts");
        bench.run(["init", "--scale", "1", &conninfo]).exits(0).says(&["loaded scale 1"]);
        let mut session = Cluster::session(&conninfo);
        assert_eq!(ask(&mut session, "select count(*) from pgbench_accounts"), 100_000);
        for (run, protocol) in PROTOCOLS.into_iter().enumerate() {
            let out =
                bench.run(["bench", "-c", "4", "-j", "2", "-t", "25", "-M", protocol, &conninfo]).exits(0);
            assert!(out.stdout.contains("100 succeeded, 0 failed"), "{}", out.stdout);
            let record = &bench.records()[run];
            assert_eq!(record.status, Status::Complete);
            assert_eq!(record.plan.protocol.name(), protocol);
            assert_eq!(record.summary.counts.succeeded, 100);
            assert_eq!(ask(&mut session, "select count(*) from pgbench_history"), 100);
        }
        let sum = |table: &str, column: &str| format!("select sum({column}) from pgbench_{table}");
        let accounts = ask(&mut session, &sum("accounts", "abalance"));
        assert_eq!(ask(&mut session, &sum("tellers", "tbalance")), accounts);
        assert_eq!(ask(&mut session, &sum("branches", "bbalance")), accounts);
    }
}

#[test]
fn a_report_has_the_format_and_the_place_that_were_asked_for() {
    let bench = Bench::new();
    let conninfo = with_tables("formats");
    let run = |options: &[&str]| {
        let load = ["bench", "-S", "-c", "2", "-t", "20", "--observe", "off"];
        bench.run(load.iter().chain(options).copied().chain([conninfo.as_str()])).exits(0).stdout
    };
    let json = run(&["--format", "json"]);
    let record = results::Record::from_json(json.as_bytes(), "it".as_ref()).expect("nothing else is printed");
    assert_eq!(record.summary.counts.succeeded, 40);
    assert!(
        run(&["--format", "csv"]).starts_with("run,part,script,item,start_s,end_s,metric,value\n2,summary,")
    );
    for (file, words) in
        [("page.html", "<!doctype html>"), ("notes.md", "# select-only on"), ("text", "select-only on")]
    {
        let stdout = run(&["-o", file]);
        assert!(stdout.contains("throughput"), "{stdout}");
        let written = std::fs::read_to_string(bench.path().join(file)).expect("it was written");
        assert!(written.starts_with(words), "{file}: {written}");
    }
    let markdown = run(&["--format", "markdown", "-o", "-"]);
    assert!(markdown.starts_with("# select-only on PostgreSQL 18"), "{markdown}");
    let refused = bench.run(["bench", "-t", "1", "-o", "no/such/page.html", &conninfo]).exits(1);
    refused.says(&["cannot write the report to \"no/such/page.html\""]);
    let full =
        bench.run(["bench", "-S", "-t", "5", "-o", "/dev/full", "--html", "kept.html", &conninfo]).exits(2);
    let full = full.says(&["cannot write the report to \"/dev/full\"", "report written to kept.html"]);
    assert!(full.stdout.contains("throughput"), "{}", full.stdout);
    let stdout = run(&["-o", "/dev/stdout", "--format", "csv"]);
    assert!(stdout.starts_with("run,part,"), "{stdout}");
}

#[test]
fn the_same_seed_draws_the_same_accounts() {
    let bench = Bench::new();
    let conninfo = with_tables("seed");
    let mut session = Cluster::session(&conninfo);
    let digest = "select coalesce(sum(aid::bigint * delta), 0) from pgbench_history";
    let mut run = |seed: &str| {
        bench
            .run(["bench", "-c", "2", "-t", "20", "--observe", "off", "--random-seed", seed, &conninfo])
            .exits(0);
        ask(&mut session, digest)
    };
    let (first, second, other) = (run("42"), run("42"), run("43"));
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn a_script_of_ones_own_runs_with_its_variables_on_both_servers() {
    let script = "\
-- every kind of command that there is
\\set square :n * :n % 1000 -- not a comment for the parser
\\set mask (:client_id << 4) | 1 # 2
\\sleep :pause us
INSERT INTO seen /* where? */
  VALUES (:square,
          :mask);
";
    let script = script.replace(" -- not a comment for the parser", "");
    for version in Cluster::versions(VERSIONS) {
        let bench = Bench::new();
        let conninfo = Cluster::shared(version).database("own_script");
        let mut session = Cluster::session(&conninfo);
        session.execute("create table seen (square int, mask int)").expect("the table is new");
        let file = bench.file("own.sql", &script);
        for protocol in PROTOCOLS {
            let common = ["bench", "-n", "-c", "3", "-t", "5", "-D", "n=37", "-D", "pause=10", "-f", file];
            bench.run(common.iter().chain(&["-M", protocol, &conninfo])).exits(0);
        }
        assert_eq!(ask(&mut session, "select count(*) from seen where square = 369"), 45);
        assert_eq!(ask(&mut session, "select count(distinct mask) from seen"), 3);
    }
}

#[test]
fn a_mix_of_scripts_is_counted_script_by_script() {
    let bench = Bench::new();
    let conninfo = with_tables("mix");
    let never = bench.file("never.sql", "SELECT 1/0;");
    let never = format!("{never}@0");
    let out = bench
        .run(["bench", "-c", "2", "-t", "50", "-b", "tpcb@3", "-b", "se@1", "-f", &never, &conninfo])
        .exits(0);
    let scripts = bench.record().summary.scripts;
    let counts: Vec<u64> = scripts.iter().map(|script| script.counts.succeeded).collect();
    assert_eq!(counts.iter().sum::<u64>(), 100);
    assert_eq!(counts[2], 0);
    assert!(counts[0] > counts[1] && counts[1] > 0, "{counts:?}");
    assert!(out.stdout.contains("select-only"), "{}", out.stdout);
}

#[test]
fn an_open_loop_keeps_its_schedule_and_loses_no_arrival() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("open_loop");
    let script = bench.file("nap.sql", "SELECT pg_sleep(0.002);");
    bench.run(["bench", "-n", "-c", "8", "-T", "2", "-R", "200", "-f", script, &conninfo]).exits(0);
    let record = bench.record();
    let counts = &record.summary.counts;
    assert_eq!(counts.scheduled, counts.succeeded + counts.unfinished);
    // 400 are expected; the stream is Poisson, so six standard deviations are 120.
    assert!((280..=520).contains(&counts.scheduled), "{counts:?}");
    assert_eq!(record.plan.rate_tps, Some(200.0));
}

#[test]
fn a_warm_up_is_run_and_not_measured() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("warm_up");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table seen (client int)").expect("the table is new");
    let script = bench.file("see.sql", "INSERT INTO seen VALUES (:client_id);");
    let flags = ["bench", "-n", "-c", "2", "-R", "100", "-T", "1", "--warmup", "1", "-P", "1", "-f", script];
    let out = bench.run(flags.iter().chain(&[conninfo.as_str()])).exits(0);
    assert!(out.stderr.contains("warm-up"), "{}", out.stderr);
    let record = bench.record();
    assert!(record.summary.duration_s >= 1.0, "{}", record.summary.duration_s);
    let measured = record.summary.counts.succeeded;
    assert!(measured > 0 && measured < ask(&mut session, "select count(*) from seen").unsigned_abs());
    let in_intervals: u64 = record.intervals.iter().map(|interval| interval.counts.succeeded).sum();
    assert_eq!(in_intervals, record.summary.counts.succeeded);
}

#[test]
fn connections_are_found_by_uri_variables_and_password_file() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    cluster.execute("create role ana login password 'x y:z'");
    cluster.execute("create database ana owner ana");
    cluster.admit("host all all 127.0.0.1/32 scram-sha-256");
    let tcp = cluster.conninfo_tcp();
    let port = tcp.split_whitespace().find_map(|word| word.strip_prefix("port=")).expect("there is a port");
    let script = bench.file("one.sql", "SELECT 1;");
    let load = ["bench", "-n", "-t", "3", "-f", script];

    let uri = format!("postgresql://ana:x%20y%3Az@127.0.0.1:{port}/ana");
    bench.run(load.iter().chain(&[uri.as_str()])).exits(0);

    let mut by_variables = bench.command(load);
    by_variables
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", port)
        .env("PGUSER", "ana")
        .env("PGPASSWORD", "x y:z");
    crate::harness::finish(&mut by_variables).exits(0);

    let pass = bench.path().join(bench.file("pgpass", &format!("127.0.0.1:{port}:ana:ana:x y\\:z\n")));
    std::fs::set_permissions(&pass, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    let flags = ["-h", "127.0.0.1", "-p", port, "-U", "ana", "-d", "ana"];
    let mut by_file = bench.command(load.iter().chain(&flags));
    crate::harness::finish(by_file.env("PGPASSFILE", &pass)).exits(0);

    let json: String = bench.records().iter().map(results::Record::to_json).collect();
    assert!(!json.contains("x y") && !json.contains("x%20y"), "a password is in a record");
}

#[test]
fn times_and_clients_of_the_command_line_may_have_units() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("units");
    let script = bench.file("one.sql", "SELECT 1;");
    let options =
        ["-T", "500ms", "-R", "50", "-L", "1.5s", "-c", "2/core", "--warmup", "100ms", "-P", "1min"];
    let arguments = ["bench", "-n", "-f", script].into_iter().chain(options).chain([conninfo.as_str()]);
    let out = bench.run(arguments).exits(0);
    let record = bench.record();
    let cores = results::cpus_allowed(std::process::id()).expect("it is known on Linux");
    let clients = record.plan.clients;
    assert!(clients >= 1 && (f64::from(clients) - 2.0 * cores).abs() < 1.0, "{clients} for {cores} cores");
    assert_eq!(record.plan.latency_limit_us, Some(1_500_000.0));
    assert_eq!(record.plan.relative["clients"], "2/core");
    assert!(out.stderr.contains(&format!("clients: 2/core = {clients} (")), "{}", out.stderr);
    let bare = ["-T", "1", "-R", "50", "-L", "20", "-c", "1"];
    let arguments = ["bench", "-n", "-f", script].into_iter().chain(bare).chain([conninfo.as_str()]);
    bench.run(arguments).exits(0);
    assert_eq!(bench.records()[1].plan.latency_limit_us, Some(20_000.0));
    for (option, value, says) in [
        ("-c", "2/cores", "such as 2/core"),
        ("-L", "20 parsecs", "number of milliseconds"),
        ("-T", "5m", "min"),
    ] {
        bench.run(["bench", "-n", "-f", script, option, value]).exits(1).says(&[says]);
    }
}

#[test]
fn the_exchange_with_the_server_is_counted_to_the_byte() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("exchange");
    let script = bench.file("one.sql", "SELECT 1;\n\\set x 1\nSELECT 1;\n");
    for options in [&[][..], &["--parse-results"], &["-C"]] {
        let load = ["bench", "-n", "-t", "5", "--observe", "off", "-f", script];
        let words = load.iter().chain(options).copied().chain([conninfo.as_str()]);
        let out = bench.run(words).exits(0);
        let says = "2 round trips, 30 bytes sent and 132 bytes received per transaction";
        assert!(out.stdout.contains(says), "{}", out.stdout);
        // A query of 9 characters has 15 bytes; its answer is a description, a row, a tag and the end: 34, 12, 14 and 6.
        let exchange = bench.records().pop().expect("a record").summary.traffic_per_transaction;
        let exchange = exchange.expect("an exchange");
        assert_eq!((exchange.round_trips, exchange.sent_bytes, exchange.received_bytes), (2.0, 30.0, 132.0));
    }
}

#[test]
fn results_can_be_binary_except_in_the_simple_protocol() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("result_format");
    let script = bench.file("one.sql", "SELECT 1, 'text', now();\n");
    let run = |options: &[&str]| {
        let load = ["bench", "-n", "-t", "5", "-f", script];
        bench.run(load.iter().chain(options).copied().chain([conninfo.as_str()]))
    };
    run(&["--result-format", "binary"]).exits(1).says(&[
        "--result-format binary requires -M extended or prepared: the simple protocol has only text results",
    ]);
    let out = run(&["-M", "prepared", "--result-format", "binary"]).exits(0);
    assert!(out.stdout.contains("5 succeeded, 0 failed"), "{}", out.stdout);
    let record = bench.record();
    assert_eq!(record.plan.result_format, results::ResultFormat::Binary);
    let json = bench.run(["report", "1", "--format", "json"]).exits(0).stdout;
    assert!(json.contains("\"result_format\": \"binary\""), "{json}");
    let text = |protocols: &str| {
        format!(
            "name = \"formats\"\nserver = {{ dsn = \"{conninfo}\" }}\ndata = {{ workload = \"none\" }}\n\
             load = {{ script = \"one.sql\", transactions = 5, warmup = \"0s\" }}\n\
             factors = {{ protocol = {protocols}, result_format = [\"text\", \"binary\"] }}\ndesign = {{ repeats = 1 }}\n"
        )
    };
    let file = bench.file("experiment.toml", &text("[\"simple\", \"prepared\"]"));
    bench
        .run(["lab", "plan", file])
        .exits(1)
        .says(&["result_format = \"binary\" requires protocol = \"extended\" or \"prepared\""]);
    let file = bench.file("experiment.toml", &text("[\"extended\", \"prepared\"]"));
    bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    let formats = bench.records_of("out").len();
    assert_eq!(formats, 4);
}
