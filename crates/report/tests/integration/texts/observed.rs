//! Summaries of runs whose server was looked at: what it was doing, in the words of the summary. Not how that is found
//! out, which is `observe`'s affair.

use crate::texts::fixture::text;
use crate::texts::summaries::{PLAIN, tpcb_like};
use results::{
    BackendMemory, Ceiling, CeilingBasis, Estimate, Event, EventKind, FlushSharing, FlushSource, Observation,
    ObserveLevel, ObserverCost, PerTransaction, Record, ShareInterval, StatementCounters, WaitMethod,
    WaitShare, Waits,
};

fn statement(query: &str, read: f64, time_ms: f64) -> StatementCounters {
    StatementCounters {
        query: query.into(),
        script: Some(0),
        command: None,
        values: [
            ("calls".to_owned(), 1000.0),
            ("rows".to_owned(), 1000.0),
            ("execution_time_ms".to_owned(), 1000.0 * time_ms),
            ("shared_blks_hit".to_owned(), 4100.0),
            ("shared_blks_read".to_owned(), 1000.0 * read),
            ("blk_read_time_ms".to_owned(), 100.0 * read),
        ]
        .into(),
    }
}

fn flush() -> Ceiling {
    let basis = CeilingBasis::Flush {
        flush_us: 2_500.0,
        source: FlushSource::Server,
        transactions_per_flush: 4.0,
        sharing: FlushSharing::Average,
    };
    Ceiling { basis, tps: 1_600.0, reached_share: 0.771 }
}

/// An observed run of the same script.
fn observed() -> Record {
    let wait = |event_type: &str, event: &str, seen, share| WaitShare {
        event_type: event_type.to_owned(),
        event: event.to_owned(),
        seen,
        share,
        interval: (seen > 95).then_some(ShareInterval { low: share - 0.03, high: share + 0.03 }),
    };
    let event = |kind, start_s, detail: &str| Event { kind, start_s, end_s: None, detail: detail.into() };
    let mut record = tpcb_like();
    record.summary.confidence.tps =
        Some(Estimate { low: 1_219.4, high: 1_249.1, degrees_of_freedom: 20, autocorrelation: 0.1 });
    record.observation = Some(Observation {
        level: ObserveLevel::Light,
        missing: Vec::new(),
        cost: ObserverCost::default(),
        waits: Some(Waits {
            source: "pg_stat_activity".to_owned(),
            rate_hz: 5.0,
            looks: 50,
            backends_seen: 400,
            method: WaitMethod::PostStratified,
            running_backends: Some(1.41),
            runnable_backends: Some(0.52),
            idle_share: 0.12,
            idle_interval: Some(ShareInterval { low: 0.112, high: 0.128 }),
            top: vec![
                wait("LWLock", "WALWrite", 160, 0.41),
                wait("IO", "WalSync", 100, 0.28),
                wait("CPU", "running", 90, 0.2),
                wait("CPU", "runnable", 0, 0.06),
                wait("IPC", "Rare", 1, 0.003),
            ],
            scripts: Vec::new(),
        }),
        per_transaction: PerTransaction {
            wal_bytes: Some(1_234.4),
            wal_full_page_images: Some(0.0123),
            blocks_hit: Some(31.25),
            blocks_read: Some(0.25),
            block_read_us: Some(31.0),
            temp_bytes: Some(0.0),
            backend_user_cpu_us: Some(71.2),
            backend_system_cpu_us: Some(30.1),
            ..PerTransaction::default()
        },
        counters: Vec::new(),
        statements: vec![
            statement("END", 0.0, 0.001),
            statement("UPDATE t SET a = a + $1 WHERE id = $2", 0.25, 0.3),
        ],
        events: vec![
            event(EventKind::Checkpoint, 3.0, "timed"),
            event(EventKind::Autovacuum, 4.0, "pgbench_tellers"),
            event(EventKind::Autovacuum, 8.0, "pgbench_tellers"),
        ],
        samples: Vec::new(),
        backend_memory: None,
        standbys: Vec::new(),
        staleness: None,
        server_cpus_allowed: None,
        ceilings: vec![flush()],
    });
    record
}

#[test]
fn a_server_that_was_looked_at_has_lines_of_its_own() {
    insta::assert_snapshot!(text(&observed(), &PLAIN), @r"
    tpcb-like on PostgreSQL 18.1
      8 clients on 2 workers, prepared protocol, 10.0 s after 2 s of warm-up

      throughput      1,234 tps ± 1.2 %
      transactions    12,346 succeeded, 0 failed

      latency, ms   mean ± stddev    p50    p90     p99   p99.9     max
      response        6.48 ± 2.10   6.12   8.90   13.40   25.10   48.31

      client CPU      31.3 µs per transaction, 1.9 % of its workers' time
      backends        41 ± 3 % LWLock WALWrite, 28 ± 3 % IO WalSync, 20 % running,
                      6.0 % waiting for a CPU; idle 12.0 ± 0.8 % of the time
      server cost     1234 bytes of WAL (0.012 full pages), 31.3 blocks hit,
                      0.25 read in 31.0 µs, 101 µs of CPU per transaction
      statements      UPDATE t SET a = a + $1 WHERE id = $2 (99.7 %): 300 µs,
                      4.10 blocks hit, 0.250 read in 25.0 µs; END (0.33 %): 1.00 µs,
                      4.10 blocks hit, 0 read
      events          1 checkpoint, autovacuum of pgbench_tellers
      nearest limit   1,600 tps by WAL flushes, 77 % reached. A WAL flush takes
                      2.50 ms (as measured by the server) and serves 4 transactions
                      on average.
    ");
}

#[test]
fn the_memory_of_a_backend_stands_beneath_the_cost() {
    let mut record = observed();
    let observation = record.observation.as_mut().expect("it was observed");
    observation.backend_memory = Some(BackendMemory {
        backends: 64,
        private_mean_bytes: 3_041_280.0,
        private_max_bytes: 3_407_872.0,
        page_tables_mean_bytes: 209_715.0,
    });
    let all = text(&record, &PLAIN);
    let lines: Vec<&str> = all.lines().skip_while(|line| !line.contains("backend memory")).take(2).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    backend memory  3175 kB each (2970 kB private, 205 kB page tables; 64 backends
                    read)
    ");
}

#[test]
fn blocks_and_cpu_time_are_told_as_the_kernel_counted_them() {
    let mut record = observed();
    let observation = record.observation.as_mut().expect("it was observed");
    observation.per_transaction.disk_blocks_read = Some(0.1);
    let of_kernel = [
        ("user_cpu_ms", 120.0),
        ("system_cpu_ms", 30.0),
        // The kernel read ahead.
        ("disk_read_blks", 300.0),
    ];
    let update = &mut observation.statements[1].values;
    update.extend(of_kernel.map(|(name, value)| (name.to_owned(), value)));
    let all = text(&record, &PLAIN);
    let lines: Vec<&str> = all.lines().skip_while(|line| !line.contains("server cost")).take(6).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    server cost     1234 bytes of WAL (0.012 full pages), 31.3 blocks hit,
                    0.25 read (40 % of them from disk) in 31.0 µs, 101 µs of CPU
                    per transaction
    statements      UPDATE t SET a = a + $1 WHERE id = $2 (99.7 %): 300 µs, 120 µs
                    of user and 30.0 µs of system CPU, 4.10 blocks hit, 0.250 read
                    (100 % of them from disk) in 25.0 µs; END (0.33 %): 1.00 µs,
    ");
}

#[test]
fn a_run_that_was_to_be_known_that_well_says_whether_it_is() {
    let line = |until, reached| {
        let mut record = tpcb_like();
        record.plan.until = until;
        record.summary.until_reached = reached;
        let all = text(&record, &PLAIN);
        let line = all.lines().find(|line| line.starts_with("  precision"));
        line.map(|line| line.trim_start().to_owned())
    };
    assert_eq!(line(None, None), None);
    let reached = "precision       1 % was asked for and reached, which ended the run";
    assert_eq!(line(Some(0.01), Some(true)).as_deref(), Some(reached));
    let missed = "precision       0.5 % was asked for and not reached in time: run longer, or";
    assert_eq!(line(Some(0.005), Some(false)).as_deref(), Some(missed));
}
