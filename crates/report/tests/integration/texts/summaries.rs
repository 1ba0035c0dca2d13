//! Summaries as people see them: each test is a situation and the whole text for it.
//! Not what is stored, which `results` tests; how single numbers are written is tested beside `figures`.

use std::time::Duration;

use crate::texts::fixture::{self, script, script_summary};
use pgmeter_report::TextStyle;

use crate::texts::fixture::{command_table, text};
use results::{
    BuildFingerprint, CommandSummary, Confidence, Connecting, Copied, Counts, Environment, Failures, Host,
    Lag, Latency, Limit, Plan, Protocol, Record, ScriptSummary, ServerFacts, Settings, Status, Summary,
    Tables, Target, Warning,
};

pub const PLAIN: TextStyle = TextStyle { colour: false, width: 80 };

fn latency(mean: f64, stddev: f64, [p50, p90, p99, p999, max]: [f64; 5]) -> Latency {
    Latency { mean, stddev, min: p50 / 3.0, p50, p90, p95: p90, p99, p999, max }
}

fn tpcb_us() -> Latency {
    latency(6_482.113, 2_104.9, [6_119.423, 8_904.703, 13_402.111, 25_100.287, 48_311.002])
}

fn select_us() -> Latency {
    latency(61.238, 20.4, [58.111, 80.2, 141.9, 402.4, 25_131.9])
}

/// Ten seconds of TPC-B-like, as `quickstart` runs it.
pub fn tpcb_like() -> Record {
    let latency = Some(tpcb_us());
    let counts = Counts { scheduled: 12_346, succeeded: 12_346, ..Counts::default() };
    let base = fixture::record();
    let plan = Plan {
        scripts: vec![script("tpcb-like", 1)],
        clients: 8,
        workers: 2,
        machines: 1,
        protocol: Protocol::Prepared,
        limit: Limit::Duration(Duration::from_secs(10)),
        warmup_s: 2.0,
        ..base.plan
    };
    let server = ServerFacts {
        version: "18.1".to_owned(),
        server_version_num: 180_001,
        non_default_settings: Settings::default(),
        main_settings: Settings::default(),
        extensions: [].into(),
        debug_assertions: None,
        build: BuildFingerprint::default(),
    };
    let summary = Summary {
        duration_s: 10.003,
        tail_s: 0.0,
        elapsed_s: 10.004,
        tps: 1_234.230,
        counts,
        response_us: latency,
        service_us: latency,
        client_cpu_us_per_transaction: Some(31.27),
        scripts: vec![ScriptSummary { tps: 1_234.230, ..script_summary("tpcb-like", counts, latency) }],
        ..base.summary
    };
    let host = Host { cpu_count: Some(4), cpu_available: Some(4), ..base.environment.host.clone() };
    Record {
        plan,
        environment: Environment { host, server: Some(server), ..base.environment },
        tables: Tables { scale: Some(10.into()), ..Tables::default() },
        relations: None,
        connection_time_s: Some(0.012),
        summary,
        ..base
    }
}

/// With a rate and a limit: late, skipped, retried and failed ones, and a lag.
fn rated() -> Record {
    let mut record = tpcb_like();
    record.plan.rate_tps = Some(1_500.0);
    record.plan.latency_limit_us = Some(10_000.0);
    record.plan.max_tries = Some(3);
    record.summary.lag_us = Some(Lag { mean: 1_000.0, max: 12_345.0 });
    record.summary.tps = 1_498.2;
    record.summary.service_us =
        Some(latency(5_482.1, 1_104.9, [5_119.4, 7_904.7, 9_402.1, 21_100.2, 41_311.0]));
    record.summary.counts = Counts {
        scheduled: 15_001,
        succeeded: 14_980,
        failed: 4,
        skipped: 12,
        unfinished: 5,
        unknown: 0,
        reserved: 0,
        late: 341,
        retried: 120,
        retries: 133,
        business: 14_980,
        failures: Failures { serialization: 3, deadlock: 1, connection: 0, other: 0 },
        ..Counts::default()
    };
    record.summary.late_or_skipped_share = Some(record.summary.counts.late_or_skipped_share());
    record
}

/// Two scripts of different weight.
fn mixed() -> Record {
    let mut record = tpcb_like();
    record.plan.scripts = vec![script("tpcb-like", 1), script("select-only", 9)];
    let tpcb = record.summary.scripts[0].clone();
    let failed = Counts {
        scheduled: 9_001,
        succeeded: 9_000,
        failed: 1,
        failures: Failures { other: 1, ..Failures::default() },
        ..Counts::default()
    };
    let select = ScriptSummary { tps: 11_091.0, ..script_summary("select-only", failed, Some(select_us())) };
    record.summary.scripts = vec![tpcb, select];
    record.summary.counts = Counts { scheduled: 21_347, succeeded: 21_346, ..failed };
    record.summary.tps = 12_325.23;
    let all = Some(latency(703.4, 1_904.9, [59.7, 5_904.7, 10_402.1, 20_100.2, 48_311.002]));
    (record.summary.response_us, record.summary.service_us) = (all, all);
    record
}

#[test]
fn a_complete_run_fits_on_a_few_lines() {
    insta::assert_snapshot!(text(&tpcb_like(), &PLAIN), @r#"
    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      1,234 tps
      transactions    12,346 succeeded, 0 failed

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31

      client CPU      31.3 µs per transaction, 1.9 % of its workers' time
    "#);
}

#[test]
fn fast_transactions_are_shown_in_microseconds() {
    let mut record = tpcb_like();
    record.plan.scripts[0].name = "select-only".to_owned();
    record.plan.warmup_s = 0.0;
    record.plan.limit = Limit::TransactionsPerClient(160_000);
    (record.plan.clients, record.plan.workers) = (1, 1);
    record.summary.tps = 15_824.7;
    record.summary.client_cpu_us_per_transaction = Some(2.31);
    (record.summary.response_us, record.summary.service_us) = (Some(select_us()), Some(select_us()));
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    select-only on PostgreSQL 18.1
      1 client on 1 worker, prepared protocol, 160,000 transactions per client,
      10.0 s

      throughput      15,825 tps
      transactions    12,346 succeeded, 0 failed

      latency, µs   mean ± stddev    p50    p90     p99   p99.9      max
      response        61.2 ± 20.4   58.1   80.2   141.9   402.4   25,132

      client CPU      2.31 µs per transaction, 0.29 % of its worker's time
    "#);
}

#[test]
fn under_a_rate_response_and_service_time_stand_side_by_side() {
    insta::assert_snapshot!(text(&rated(), &PLAIN), @r#"
    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      1,498 tps of 1,500 scheduled
      transactions    14,980 succeeded, 4 failed (0.03 %: 3 serialization,
                      1 deadlock), 12 skipped as too late to start (0.08 %), 5
                      unfinished at the end

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31
      service         5.48 ± 1.10   5.12   7.90    9.40   21.10   41.31

      Response counts from when a transaction was due, service from when it began.

      late/skipped    2.4 % of all that were due: 341 took longer than 10 ms, 12
                      were skipped; 5 more had not finished
      start delay     1.00 ms on average, 12.3 ms at most
      retried         120 transactions (0.80 %), 133 times in all, up to 3 tries
      client CPU      31.3 µs per transaction, 2.3 % of its workers' time
    "#);
}

/// Six commands, of which two take nearly all the time and one is never reached.
fn with_commands() -> Record {
    let mut record = tpcb_like();
    let command = |text: &str, mean_us: f64, failures: u64| CommandSummary {
        text: text.to_owned(),
        line: 1,
        executions: 12_346,
        mean_us: Some(mean_us),
        stddev_us: Some(mean_us / 3.0),
        min_us: Some(mean_us / 7.0),
        max_us: Some(mean_us * 40.0),
        latency_us: None,
        failures,
        retries: failures * 13,
        copied: None,
    };
    let never = CommandSummary {
        executions: 0,
        mean_us: None,
        stddev_us: None,
        min_us: None,
        max_us: None,
        ..command("SELECT 'never';", 1.0, 0)
    };
    record.summary.scripts[0].commands = vec![
        command("\\set aid random(1, 100000 * :scale)", 0.31, 0),
        command("BEGIN;", 181.4, 0),
        command("UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;", 402.7, 3),
        command("UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;", 3_914.0, 12),
        never,
        command("END;", 1_912.0, 0),
    ];
    record
}

#[test]
fn the_single_commands_show_where_the_time_goes() {
    insta::assert_snapshot!(command_table(&with_commands(), &PLAIN), @r#"
    command, µs                      time  mean ± stddev      max  failed  retried
    \set aid random(1, 100000…   < 0.01 %      0 ±     0       12       0        0
    BEGIN;                          2.8 %    181 ±    60    7,256       0        0
    UPDATE pgbench_accounts SE…     6.3 %    403 ±   134   16,108       3       39
    UPDATE pgbench_branches SE…      61 %  3,914 ± 1,305  156,560      12      156
    SELECT 'never';                   0 %      - ±     -        -       0        0
    END;                             30 %  1,912 ±   637   76,480       0        0
    "#);
    insta::assert_snapshot!(command_table(&with_commands(), &TextStyle { width: 120, ..PLAIN }), @r#"
    command, µs                                                       time      mean ± stddev        max  failed  retried
    \set aid random(1, 100000 * :scale)                           < 0.01 %      0.3 ±     0.1       12.4       0        0
    BEGIN;                                                           2.8 %    181.4 ±    60.5    7,256         0        0
    UPDATE pgbench_accounts SET abalance = abalance + :delta WH…     6.3 %    402.7 ±   134.2   16,108         3       39
    UPDATE pgbench_branches SET bbalance = bbalance + :delta WH…      61 %  3,914   ± 1,305    156,560        12      156
    SELECT 'never';                                                    0 %        - ±       -          -       0        0
    END;                                                              30 %  1,912   ±   637.3   76,480         0        0
    "#);
}

#[test]
fn commands_that_nobody_looked_at_have_no_table() {
    assert_eq!(command_table(&tpcb_like(), &PLAIN), "");
}

#[test]
fn a_script_of_thousands_of_commands_does_not_bury_the_report() {
    let mut record = mixed();
    let command = with_commands().summary.scripts[0].commands[1].clone();
    record.summary.scripts[1].commands = vec![command; 5_000];
    let table = command_table(&record, &PLAIN);
    assert_eq!(table.lines().count(), 43);
    assert!(table.starts_with("\n  commands of select-only, µs "), "{table}");
    assert!(table.ends_with("\n  and 4,960 more commands\n"), "{table}");
}

#[test]
fn what_is_new_is_said_only_where_it_matters() {
    let mut record = tpcb_like();
    record.plan.max_tries = None;
    record.plan.reconnect = true;
    record.summary.connecting = Some(Connecting { connects: 12_346, total_s: 26.3 });
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, a connection for each transaction,
      10.0 s after 2 s of warm-up

      throughput      1,234 tps
      transactions    12,346 succeeded, 0 failed

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31

      retried         0 transactions, tries unlimited
      connecting      12,346 times, 2.13 ms each, disconnecting included
      client CPU      31.3 µs per transaction, 1.9 % of its workers' time
    "#);
}

#[test]
fn batches_and_targets_are_explained() {
    let mut record = mixed();
    record.plan.scripts[1].target = Some("replica".to_owned());
    let mut connection = record.plan.connection.clone();
    connection.host = "db2".into();
    record.plan.targets = vec![Target { name: "replica".to_owned(), connection }];
    record.summary.counts.business = 2_134_600;
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    tpcb-like (weight 1) and select-only (weight 9, at replica) on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      12,325 tps
      transactions    21,346 succeeded, 1 failed (< 0.01 %: 1 other)

      response, µs    tps failed mean ± stddev   p50   p90    p99  p99.9    max
      all scripts  12,325      1   703 ± 1,905    60 5,905 10,402 20,100 48,311
      tpcb-like     1,234      0 6,482 ± 2,105 6,119 8,905 13,402 25,100 48,311
      select-only  11,091      1    61 ±    20    58    80    142    402 25,132

      business        1,232,523 tps: a transaction stands for 100 on average
      client CPU      31.3 µs per transaction, 3.3 % of its workers' time
      targets         replica is db2:5432
    "#);
}

#[test]
fn copied_rows_are_counted() {
    let mut record = with_commands();
    let commands = &mut record.summary.scripts[0].commands;
    commands[1].copied = Some(Copied { rows: 1_000_000, bytes: 70_000_000 });
    commands[2].copied = Some(Copied { rows: 234_567, bytes: 1_000 });
    let shown = text(&record, &PLAIN);
    let line = shown.lines().find(|line| line.trim_start().starts_with("copied"));
    insta::assert_snapshot!(line.expect("a line").trim(), @"copied          1,234,567 rows, 67 MB: 123,420 rows/s");
}

#[test]
fn several_scripts_have_a_line_each() {
    insta::assert_snapshot!(text(&mixed(), &PLAIN), @r#"
    tpcb-like (weight 1) and select-only (weight 9) on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      12,325 tps
      transactions    21,346 succeeded, 1 failed (< 0.01 %: 1 other)

      response, µs    tps failed mean ± stddev   p50   p90    p99  p99.9    max
      all scripts  12,325      1   703 ± 1,905    60 5,905 10,402 20,100 48,311
      tpcb-like     1,234      0 6,482 ± 2,105 6,119 8,905 13,402 25,100 48,311
      select-only  11,091      1    61 ±    20    58    80    142    402 25,132

      client CPU      31.3 µs per transaction, 3.3 % of its workers' time
    "#);
}

#[test]
fn a_table_has_decimals_where_there_is_room_and_gives_them_up_first() {
    insta::assert_snapshot!(text(&mixed(), &TextStyle { width: 120, ..PLAIN }), @r#"
    tpcb-like (weight 1) and select-only (weight 9) on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      12,325 tps
      transactions    21,346 succeeded, 1 failed (< 0.01 %: 1 other)

      response, µs      tps   failed       mean ± stddev       p50       p90        p99      p99.9      max
      all scripts    12,325        1     703.4 ± 1,905        59.7   5,905     10,402     20,100     48,311
      tpcb-like       1,234        0   6,482   ± 2,105     6,119     8,905     13,402     25,100     48,311
      select-only    11,091        1      61.2 ±    20.4      58.1      80.2      141.9      402.4   25,132

      client CPU      31.3 µs per transaction, 3.3 % of its workers' time
    "#);
    insta::assert_snapshot!(text(&mixed(), &TextStyle { width: 50, ..PLAIN }), @r#"
    tpcb-like (weight 1) and select-only (weight 9) on
      PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol,
      10.0 s after 2 s of warm-up

      throughput      12,325 tps
      transactions    21,346 succeeded, 1 failed
                      (< 0.01 %: 1 other)

      response, µs    tps failed mean ± stddev   p50   p90    p99  p99.9    max
      all scripts  12,325      1   703 ± 1,905    60 5,905 10,402 20,100 48,311
      tpcb-like     1,234      0 6,482 ± 2,105 6,119 8,905 13,402 25,100 48,311
      select-only  11,091      1    61 ±    20    58    80    142    402 25,132

      client CPU      31.3 µs per transaction, 3.3 %
                      of its workers' time
    "#);
}

#[test]
fn several_scripts_under_a_rate_have_both_tables() {
    let mut record = mixed();
    record.plan.scripts[1].weight = 1;
    record.plan.rate_tps = Some(12_345.6);
    record.summary.service_us = Some(latency(603.4, 1_804.9, [50.7, 5_404.7, 9_402.1, 19_100.2, 48_001.0]));
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    tpcb-like and select-only on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      12,325 tps of 12,345.6 scheduled
      transactions    21,346 succeeded, 1 failed (< 0.01 %: 1 other)

      response, µs    tps failed mean ± stddev   p50   p90    p99  p99.9    max
      all scripts  12,325      1   703 ± 1,905    60 5,905 10,402 20,100 48,311
      tpcb-like     1,234      0 6,482 ± 2,105 6,119 8,905 13,402 25,100 48,311
      select-only  11,091      1    61 ±    20    58    80    142    402 25,132

      service, µs      mean ± stddev      p50      p90       p99     p99.9     max
      all scripts    603.4 ± 1,805       50.7  5,405     9,402    19,100    48,001
      tpcb-like    6,482   ± 2,105    6,119    8,905    13,402    25,100    48,311
      select-only     61.2 ±    20.4     58.1     80.2     141.9     402.4  25,132

      Response counts from when a transaction was due, service from when it began.

      client CPU      31.3 µs per transaction, 3.3 % of its workers' time
    "#);
}

#[test]
fn a_run_that_was_interrupted_says_so_first() {
    let mut record = tpcb_like();
    record.status = Status::Interrupted;
    record.summary.duration_s = 4.217;
    record.summary.counts = Counts { scheduled: 5_204, succeeded: 5_196, unfinished: 8, ..Counts::default() };
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    INTERRUPTED after 4.2 s of 10 s. The figures are of that part only.

    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 4.2 s after 2 s of warm-up

      throughput      1,234 tps
      transactions    5,196 succeeded, 0 failed, 8 unfinished at the end

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31

      client CPU      31.3 µs per transaction, 1.9 % of its workers' time
    "#);
}

#[test]
fn a_run_that_failed_says_why_first_even_if_it_measured_nothing() {
    let mut record = tpcb_like();
    let reason = "the server at localhost:5432 closed the connection of client 3; see the server's log";
    record.status = Status::Failed { reason: reason.into() };
    record.environment.server = None;
    record.summary = Summary {
        duration_s: 0.0,
        tail_s: 0.0,
        elapsed_s: 0.0,
        tps: 0.0,
        counts: Counts { scheduled: 8, unfinished: 8, ..Counts::default() },
        response_us: None,
        service_us: None,
        lag_us: None,
        late_or_skipped_share: None,
        other_endings: results::OtherEndings::default(),
        stalls: None,
        response_with_stalls_us: None,
        connecting: None,
        client_cpu_us_per_transaction: None,
        generator: None,
        ranks: Vec::new(),
        confidence: Confidence::default(),
        steady_state: None,
        until_reached: None,
        service_level: None,
        errors: None,
        goals: Vec::new(),
        goal_stop: None,
        pauses: None,
        watch_stop: None,
        population: None,
        outages: None,
        traffic_per_transaction: None,
        actions: Vec::new(),
        pooler: None,
        rules: Vec::new(),
        stages: Vec::new(),
        scripts: Vec::new(),
    };
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    FAILED before anything was measured: the server at localhost:5432 closed the
    connection of client 3; see the server's log.

    tpcb-like
      8 clients on 2 workers, prepared protocol, nothing measured

      throughput      0 tps
      transactions    0 succeeded, 0 failed, 8 unfinished at the end

      No transaction succeeded, so there is no latency to show.
    "#);
}

#[test]
fn warnings_come_last_and_are_wrapped() {
    let mut record = tpcb_like();
    record.warnings = vec![Warning::FsyncOff, Warning::SharedHost];
    insta::assert_snapshot!(text(&record, &TextStyle { colour: false, width: 70 }), @r#"
    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of
      warm-up

      throughput      1,234 tps
      transactions    12,346 succeeded, 0 failed

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31

      client CPU      31.3 µs per transaction, 1.9 % of its workers' time

      warning: The server runs with fsync = off. Nothing waits for the
               disk, and a crash may destroy the database. Transactions
               that write are faster than on any durable server.
      note: Client and server share this host. The latencies contain no
            network, and pgmeter uses CPU time that the server lacks. To
            measure with a network, run pgmeter on another host.
    "#);
}

#[test]
fn colours_change_nothing_but_colours() {
    let mut record = rated();
    record.status = Status::Interrupted;
    record.warnings = vec![Warning::FsyncOff];
    let coloured = text(&record, &TextStyle { colour: true, ..PLAIN });
    let mut plain = String::new();
    let mut pieces = coloured.split('\x1b');
    plain += pieces.next().unwrap_or_default();
    pieces.for_each(|piece| plain += piece.split_once('m').expect("every escape is a rendition").1);
    assert_ne!(coloured, plain);
    assert_eq!(plain, text(&record, &PLAIN));
}

#[test]
fn names_that_are_long_or_hostile_do_no_harm() {
    let mut record = mixed();
    let name =
        "a script\x1b[2J with a name\nthat goes on for much longer than any terminal is wide, and then some";
    record.plan.scripts[1].name = name.to_owned();
    record.summary.scripts[1].name = name.to_owned();
    insta::assert_snapshot!(text(&record, &PLAIN), @r#"
    tpcb-like (weight 1) and a script\x1b[2J with a name that goes on for much
      longer than any terminal is wide, and then some (weight 9) on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      12,325 tps
      transactions    21,346 succeeded, 1 failed (< 0.01 %: 1 other)

      response, µs        tps failed mean ± stddev   p50   p90    p99  p99.9    max
      all scripts      12,325      1   703 ± 1,905    60 5,905 10,402 20,100 48,311
      tpcb-like         1,234      0 6,482 ± 2,105 6,119 8,905 13,402 25,100 48,311
      a script\x1b[2J… 11,091      1    61 ±    20    58    80    142    402 25,132

      client CPU      31.3 µs per transaction, 3.3 % of its workers' time
    "#);
}

#[test]
fn absurd_figures_are_shown_not_a_panic() {
    let mut record = tpcb_like();
    record.summary.duration_s = 1e300;
    record.summary.response_us = Some(latency(f64::NAN, f64::INFINITY, [0.0, -1.0, 1e18, 1e19, 1e20]));
    record.summary.counts.skipped = u64::MAX;
    record.plan.scripts.clear();
    for width in [0, 1, 20] {
        assert!(!text(&record, &TextStyle { colour: true, width }).is_empty());
    }
}
