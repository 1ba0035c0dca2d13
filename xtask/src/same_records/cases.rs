//! The command lines that `same_records` runs, and the files that they read. Each is a line of the shell, in which `$P`
//! is the program, `$D` the connection to its server, `$N` the connection to its null server and `$BENCH` a bench with
//! the seed 7. Its standard output must be the same; so times are not in it.

/// What the seed determines of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Each client has a fixed number of transactions: all statements of each session in their order, and all counts.
    Fixed,
    /// Transactions that a rate schedules: their number, and which statements there are.
    Arrivals,
    /// As many transactions as the machine executes: which statements there are.
    Timed,
}

impl Load {
    /// Whether a line of a record depends on the seed alone.
    pub(super) fn determines(self, line: &str) -> bool {
        !line.contains(".summary.")
            || self == Load::Fixed
            || self == Load::Arrivals && line.contains(".counts.scheduled =")
    }
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) load: Load,
    pub(super) command: &'static str,
}

const fn fixed(name: &'static str, command: &'static str) -> Case {
    Case { name, load: Load::Fixed, command }
}

const fn arrivals(name: &'static str, command: &'static str) -> Case {
    Case { name, load: Load::Arrivals, command }
}

const fn timed(name: &'static str, command: &'static str) -> Case {
    Case { name, load: Load::Timed, command }
}

pub(super) const FILES: [(&str, &str); 13] = [
    (
        "draws.sql",
        "\\set a random(1, 1000000000)\n\\set b random_gaussian(1, 1000, 3.5)\n\\set c random_zipfian(1, 1000, 1.1)\n\
         \\set d random_exponential(1, 1000, 4.0)\n\\set e permute(:a % 100, 100, :default_seed)\n\\set f hash(:a)\n\
         \\if :a % 2 = 0\nSELECT :a, :b, :client_id;\n\\else\nSELECT :c, :d, :e, :f;\n\\endif\n",
    ),
    ("aborts.sql", "\\set a random(1, 4)\n\\sleep 1 ms\nSELECT 1 / (:a - 1);\n"),
    (
        "retried.sql",
        "BEGIN;\nSELECT CASE WHEN nextval('tries') % 3 = 0 THEN serialization_failure() END;\nEND;\n",
    ),
    (
        "retried_setup.sql",
        "CREATE SEQUENCE IF NOT EXISTS tries;\nCREATE OR REPLACE FUNCTION serialization_failure() RETURNS int \
         LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$;\n",
    ),
    (
        "pipeline.sql",
        "\\set a random(1, 100000)\n\\startpipeline\nSELECT abalance FROM pgbench_accounts WHERE aid = :a;\n\
         SELECT :a + 1;\n\\endpipeline\nSELECT 3 AS three \\gset\nSELECT :three;\n",
    ),
    ("rows.sql", "\\set a random(1, 100)\nINSERT INTO written (n) VALUES (:a);\n"),
    (
        "meta.sql",
        "\\set a random(1, 5)\n\\batch 3\nSELECT :a;\n\\sleep :a us\n\\setshell s echo 5\nSELECT :s \\; SELECT 4;\n",
    ),
    (
        "schema.sql",
        "CREATE TABLE buyer (id int PRIMARY KEY, name text NOT NULL, email varchar(40) UNIQUE, born date CHECK \
         (born > '1950-01-01'), rating numeric(4, 2), active boolean);\nCREATE TABLE sale (id bigint PRIMARY KEY, \
         buyer_id int NOT NULL REFERENCES buyer, at timestamptz NOT NULL, note jsonb, kind text CHECK (kind IN \
         ('a', 'b')));\n",
    ),
    (
        "protocols.toml",
        "name = \"protocols\"\n[server]\ndsn = \"DSN\"\n[data]\nrestore = \"never\"\n[load]\nscript = \
         \"draws.sql\"\ntransactions = 40\nwarmup = \"0s\"\n[factors]\nprotocol = [\"simple\", \"prepared\"]\nclients = [1, \
         2]\n[design]\nseed = 3\nrepeats = 2\n[[chart]]\nx = \"clients\"\ny = \"tps\"\nseries = \"protocol\"\n",
    ),
    (
        "standby.toml",
        "name = \"standby\"\n[server]\nversion = \"18\"\nsettings = { shared_buffers = \"32MB\" }\n[[standby]]\n\
         name = \"near\"\nmode = \"synchronous\"\n[load]\nscript = [\"simple-update\", \"near.sql\"]\ntransactions = \
         20\nwarmup = \"0s\"\nclients = 2\n[factors]\nsynchronous_commit = [\"local\", \"remote_apply\"]\n[design]\nseed = 3\n\
         repeats = 1\n",
    ),
    (
        "near.sql",
        "\\target near\n\\set a random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :a;\n",
    ),
    ("settings.toml", "work_mem = [\"1MB\", \"2MB\"]\nrandom_page_cost = [\"1\", \"4\"]\n"),
    ("pause.sql", "SELECT 1;\n\\sleep 2 ms\n"),
];

pub(super) const CASES: [Case; 33] = [
    timed(
        "drop-in, loading",
        "$P pgbench -i -q -s 1 --partitions=3 -F 90 $D 2>/dev/null; $DIGEST pgbench_accounts",
    ),
    fixed("loading of the tables of pgbench", "$P init -s 1 -q $D 2>/dev/null; $DIGEST pgbench_accounts"),
    fixed(
        "drop-in, tpcb-like, its report and its log",
        "$P pgbench -n -c 3 -j 2 -t 30 --random-seed=7 -r -l --log-prefix=one $D | sed -E 's/ +/ /g; s/[0-9]+\\.[0-9]+/N/g; \
         s/(latency|initial).*//'; cut -d' ' -f1,2,4 one.* | sort",
    ),
    fixed(
        "drop-in, scripts with weights, prepared",
        "$P pgbench -n -f draws.sql@3 -b se@2 -N -M prepared -c 4 -j 4 -t 25 --random-seed=9 -D x=5 $D | sed -E \
         's/[0-9]+\\.[0-9]+/N/g'",
    ),
    fixed(
        "drop-in, failures in detail",
        "$P pgbench -n -f aborts.sql -c 1 -t 20 --random-seed=3 --continue-on-error --failures-detailed -r $D 2>/dev/null \
         | sed -E 's/ +/ /g; s/[0-9]+\\.[0-9]+/N/g'",
    ),
    fixed("bench without options", "$BENCH $D >/dev/null"),
    fixed("random functions", "$BENCH -f draws.sql -t 60 -c 2 $D >/dev/null"),
    fixed("three scripts with weights", "$BENCH -b tpcb@1 -N -b select@4 -t 40 -c 3 -j 3 $D >/dev/null"),
    fixed("select-only, prepared, many clients", "$BENCH -S -M prepared -c 16 -j 4 -t 10 $D >/dev/null"),
    fixed(
        "extended protocol, results in binary",
        "$BENCH -S -M extended --result-format binary --parse-results $D >/dev/null",
    ),
    fixed("pipeline, gset and several statements", "$BENCH -f pipeline.sql -M extended -t 15 $D >/dev/null"),
    fixed("batch, sleep and shell", "$BENCH -f meta.sql -t 10 -c 2 $D >/dev/null"),
    fixed(
        "variables and scale",
        "$BENCH -f draws.sql -D x=3 -D y=text -s 5 --label one --note two $D >/dev/null",
    ),
    fixed("a new connection for each transaction", "$BENCH -S -C -t 8 -c 2 $D >/dev/null"),
    fixed(
        "failures that end no client",
        "$BENCH -f aborts.sql --continue-on-error -t 20 -c 2 $D >/dev/null 2>&1",
    ),
    fixed("a client that aborts", "$BENCH -f aborts.sql -t 50 $D >/dev/null 2>&1"),
    fixed(
        "retries",
        "psql -Xqf retried_setup.sql \"$D\" 2>/dev/null; $BENCH -f retried.sql --max-tries 2 -t 20 -r $D >/dev/null 2>&1",
    ),
    fixed(
        "goals that are met and missed",
        "$BENCH -S --goal 'p99 < 1h' --goal 'failed < 1%' --goal 'p50 < 1us' $D >/dev/null",
    ),
    fixed(
        "epoll, no observation, transactions of a log",
        "$BENCH -S --event-loop epoll --observe off -l -t 20 $D >/dev/null",
    ),
    fixed("full observation and checks", "$BENCH --observe full --check -v -t 20 $D >/dev/null"),
    fixed(
        "verification of commits",
        "psql -Xqc 'DROP TABLE IF EXISTS written; CREATE TABLE written (n int)' \"$D\" 2>/dev/null; $BENCH -f rows.sql --verify -t \
         30 -c 2 $D >/dev/null",
    ),
    arrivals("open loop with a latency limit", "$BENCH -S -R 300 -L 1000 -T 1 -c 8 -j 2 $D >/dev/null"),
    arrivals(
        "open loop, two scripts, warm-up",
        "$BENCH -f draws.sql@2 -S -R 200 -T 1 --warmup 0.3 -c 4 $D >/dev/null",
    ),
    timed(
        "actions and a lost connection",
        "$BENCH -f pause.sql -T 2 -c 2 --on-disconnect reconnect --action '0.3s:sql=SELECT 5' --action '0.6s:kill=0.4s' $D \
         >/dev/null 2>&1",
    ),
    fixed("two ranks", "mpiexec.hydra -n 2 $BENCH -f draws.sql -c 4 -t 20 $D >/dev/null"),
    fixed(
        "null server, four threads",
        "$BENCH -S -n -M prepared -c 32 -j 4 -t 50 --observe off $N >/dev/null",
    ),
    fixed(
        "a query set",
        "$P init --workload tpch -s 0.01 -q $D 2>/dev/null; $P queries --workload tpch -s 0.01 --random-seed 4 --select q1,q3,q6,q14 \
         --repeat 2 -q $D >/dev/null",
    ),
    fixed(
        "generated data",
        "$P data --schema schema.sql -s 50 --seed x; $P init --schema schema.sql -s 2 --random-seed 8 -q $D 2>/dev/null; \
         $DIGEST buyer; $DIGEST sale",
    ),
    fixed(
        "isolation",
        "$P verify --isolation serializable -c 1 -t 300 --seed 5 --history history.json -o isolation.json $D >/dev/null; \
         sed -E 's/\"(started_at|[a-z]*_s)\": *[^,}]*//g' isolation.json; wc -l <history.json",
    ),
    fixed("an experiment", "$P lab plan protocols.toml | head -3; $P lab run protocols.toml >/dev/null 2>&1"),
    fixed("an experiment with a standby", "$P lab run standby.toml >/dev/null 2>&1"),
    timed(
        "a comparison",
        "$P compare --factor protocol=simple,prepared -f pause.sql --key restore=never --budget 6s --block 0.1 --seed 5 \
         --dsn \"$D\" >/dev/null 2>&1; true",
    ),
    timed(
        "a screening",
        "timeout -s INT 8 $P screen --in-place -f pause.sql --settings settings.toml --budget 60s --seed 5 --dsn \"$D\" >/dev/null 2>&1; cat store/screens/*/experiment.toml",
    ),
];

/// Command lines that are refused: their exit statuses and their messages are compared.
pub(super) const REFUSED: [&str; 14] = [
    "-T 5 -t 5",
    "-S -R 10 -L 0",
    "--until 1% -t 5",
    "--goal 'p99 < 5'",
    "--stop-on-miss -T 1",
    "--max-tries 0 -t 5",
    "-l --aggregate-interval 1 --sampling-rate 0.5",
    "--sampling-rate 0.5",
    "-M simple --result-format binary",
    "-C --verify",
    "--reconnect-policy immediate",
    "--action 5s:kill=1s -t 5",
    "-f missing.sql",
    "-b nonesuch",
];
