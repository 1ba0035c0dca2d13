//! The causes: the load of each, what is around it, and the verdicts and nearest limits that are true of it. `answer` judges by
//! them, and `docs/generator.md` describes them.

/// A load whose limit is known.
pub(super) struct Cause {
    /// On the command line.
    pub(super) name: &'static str,
    /// In the table.
    pub(super) what: &'static str,
    pub(super) script: &'static str,
    /// Commands before the script that take CPU time of pgmeter only.
    pub(super) own_commands: usize,
    /// Options of the load.
    pub(super) load: &'static [&'static str],
    /// Settings of the clients' sessions.
    pub(super) session_options: &'static str,
    /// Settings of the server.
    pub(super) settings: &'static [&'static str],
    pub(super) way: Way,
    pub(super) files: Files,
    /// Whether the disk is limited to [`DISK_IOPS`].
    pub(super) is_disk_slow: bool,
    /// Programs for each CPU that run in any case.
    pub(super) other_programs: usize,
    /// Verdicts that are true.
    pub(super) verdicts: &'static [&'static str],
    /// Nearest limits that are true, however far they are.
    pub(super) nearest: &'static [&'static str],
    /// Event that the report must show.
    pub(super) event: Option<&'static str>,
}

impl Cause {
    pub(super) fn script(&self) -> String {
        "\\set a (random(1, 1000) * 7 + 13) % 11\n".repeat(self.own_commands) + self.script
    }
}

/// Reads, and writes, of a slow disk in a second. A fast disk is no limit beside two CPUs.
pub(super) const DISK_IOPS: u32 = 500;

/// How clients reach the server.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    /// A relay that delays each direction by 5 ms.
    Relay,
    /// A PgBouncer that may use a fifth of a CPU.
    Pooler,
}

/// Whether the kernel has the server's files in memory before the run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Files {
    Cached,
    NotCached,
}

/// The tables. `large` is larger than the server's buffers; `numbers` is read by parallel workers.
pub(super) const SETUP: &str =
    "CREATE TABLE small AS SELECT id, repeat('x', 80) AS body FROM generate_series(1, 10000) id;
ALTER TABLE small ADD PRIMARY KEY (id);
CREATE TABLE one (n bigint) WITH (fillfactor = 10);
INSERT INTO one VALUES (0);
CREATE TABLE flushed (id int);
CREATE TABLE numbers AS SELECT i::float8 AS x FROM generate_series(1, 300000) i;
CREATE TABLE large AS SELECT id, 0 AS n, repeat('x', 80) AS body FROM generate_series(1, 4000000) id;
ALTER TABLE large ADD PRIMARY KEY (id);
VACUUM ANALYZE;
CHECKPOINT;
";

const SELECT: &str = "\\set id random(1, 10000)\nSELECT body FROM small WHERE id = :id;\n";

/// Several reads for each statement, so that they take longer than its CPU time.
const RANDOM_READS: &str = "\\set a random(1, 4000000)
\\set b random(1, 4000000)
\\set c random(1, 4000000)
\\set d random(1, 4000000)
\\set e random(1, 4000000)
\\set f random(1, 4000000)
\\set g random(1, 4000000)
\\set h random(1, 4000000)
SELECT sum(length(body)) FROM large WHERE id IN (:a, :b, :c, :d, :e, :f, :g, :h);
";

const NEAR_CPUS: &[&str] = &["CPUs"];

const PLAIN: Cause = Cause {
    name: "",
    what: "",
    script: SELECT,
    own_commands: 0,
    load: &["-c", "8"],
    session_options: "",
    settings: &[],
    way: Way::Direct,
    files: Files::Cached,
    is_disk_slow: false,
    other_programs: 0,
    verdicts: &[],
    nearest: NEAR_CPUS,
    event: None,
};

pub(super) const CAUSES: [Cause; 11] = [
    Cause {
        name: "generator",
        what: "the load generator",
        script: "SELECT :a;\n",
        own_commands: 2_000,
        load: &["-c", "16"],
        verdicts: &["generator", "generator (CPUs of its own)"],
        ..PLAIN
    },
    Cause {
        name: "clients",
        what: "too few clients for the rate",
        script: "SELECT pg_sleep(0.02);\n",
        load: &["-c", "2", "-R", "300", "-L", "100"],
        verdicts: &["number of clients"],
        nearest: &[],
        ..PLAIN
    },
    Cause {
        name: "network",
        what: "network: a relay, 5 ms each way",
        load: &["-c", "4"],
        way: Way::Relay,
        verdicts: &["network", "network or proxy"],
        nearest: &["the way (network or proxy)"],
        ..PLAIN
    },
    Cause {
        name: "proxy",
        what: "proxy: PgBouncer with a fifth of a CPU",
        load: &["-c", "16"],
        way: Way::Pooler,
        verdicts: &["network or proxy"],
        nearest: &["the way (network or proxy)"],
        ..PLAIN
    },
    Cause {
        name: "row-locks",
        what: "row locks",
        script: "BEGIN;\n-- pgmeter: contended rows = 1\nUPDATE one SET n = n + 1;\nSELECT count(*) FROM small;\nEND;\n",
        load: &["-c", "16"],
        session_options: "-c synchronous_commit=off",
        verdicts: &["server (row locks)"],
        nearest: &["locks of contended rows"],
        ..PLAIN
    },
    Cause {
        name: "flush",
        what: "WAL flush",
        script: "INSERT INTO flushed VALUES (1);\n",
        is_disk_slow: true,
        verdicts: &["server (WAL flush)"],
        nearest: &["WAL flushes"],
        ..PLAIN
    },
    Cause {
        name: "reads",
        what: "reads of a table that is not in memory",
        script: RANDOM_READS,
        files: Files::NotCached,
        is_disk_slow: true,
        verdicts: &["server (I/O)"],
        nearest: &["reads"],
        ..PLAIN
    },
    Cause {
        name: "server-cpus",
        what: "CPUs of the server",
        script: "SELECT sum(sqrt(i)) FROM generate_series(1, 20000) i;\n",
        load: &["-c", "4"],
        verdicts: &["server (processors)"],
        ..PLAIN
    },
    Cause {
        name: "other-cpus",
        what: "CPUs that others use",
        script: "SELECT sum(sqrt(i)) FROM generate_series(1, 2000) i;\n",
        load: &["-c", "2"],
        other_programs: 2,
        verdicts: &["undecided (other programs)", "generator (CPUs of its own)"],
        ..PLAIN
    },
    Cause {
        name: "checkpoints",
        what: "checkpoints",
        script: "\\set id random(1, 4000000)\nUPDATE large SET n = n + 1 WHERE id = :id;\n",
        settings: &["max_wal_size = '32MB'"],
        is_disk_slow: true,
        verdicts: &["server", "server (WAL flush)", "server (I/O)"],
        nearest: &["WAL flushes", "reads"],
        event: Some("checkpoint"),
        ..PLAIN
    },
    Cause {
        name: "parallel",
        what: "parallel workers",
        script: "SELECT sum(sqrt(x) * ln(x)) FROM numbers;\n",
        load: &["-c", "1"],
        session_options: "-c parallel_setup_cost=0 -c parallel_tuple_cost=0 -c min_parallel_table_scan_size=0 -c \
                          max_parallel_workers_per_gather=2 -c parallel_leader_participation=off",
        verdicts: &["server", "server (processors)"],
        ..PLAIN
    },
];
