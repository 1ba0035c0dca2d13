//! Comparisons whose blocks of a tenth of a second must have enough transactions for figures. The others are in `compare`
//! beside this folder.

use results::{ComparedMetric, ComparisonRecord, Store};
use testkit::cluster::Cluster;

use crate::compare::{on_shared, told};
use crate::harness::Bench;

const ROWS: &str = "SELECT count(*) FROM generate_series(1, :rows);\n";

/// The transactions of the side with fewer of them, in blocks of a tenth of a second.
fn fewest_transactions(record: &ComparisonRecord) -> f64 {
    let of_side = |is_candidate: bool| {
        let blocks = record.pairs.iter().flat_map(|pair| &pair.blocks);
        let own = blocks.filter(|block| block.is_candidate == is_candidate);
        own.filter_map(|block| block.figures.tps).sum::<f64>() / 10.0
    };
    of_side(false).min(of_side(true))
}

#[test]
fn any_percentile_may_decide_and_another_word_is_told_with_the_nearest_metric() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let mut words = on_shared("variables.rows=1000,20000", "5min");
    words.extend(["--metric", "p95"].map(str::to_owned));
    let out = bench.run(&words).exits(5);
    for words in ["p95 of 20000 is longer than of 1000", "×"] {
        assert!(told(&out.stdout).contains(words), "{}", out.stdout);
    }
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    let p95: ComparedMetric = "p95".parse().expect("it is a percentile");
    assert_eq!(record.method.decisive, p95);
    assert!(record.finding(p95).is_some_and(|finding| finding.ratio > 2.0), "{:?}", record.finding(p95));
    assert!(record.finding(ComparedMetric::P50).is_some() && record.method.scripts.is_empty());
    let listed = bench.run(["runs", "--store", "out/"]).exits(0);
    assert!(listed.stdout.contains("p95 ×"), "{}", listed.stdout);
    for (word, hint) in [("p100", "such as p95 or p99.9"), ("server_cpu", "did you mean server-cpu?")] {
        let last = words.len() - 1;
        word.clone_into(&mut words[last]);
        bench.run(&words).exits(1).says(&["expected tps, p50, p99, server-cpu,", hint]);
    }
}

#[test]
fn each_script_of_a_mix_has_its_latencies_beside_those_of_all() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    bench.file("one.sql", "SELECT 1;\n");
    let mut words = on_shared("settings.work_mem=1MB,2MB", "8s");
    words.extend(["-f", "one.sql@3"].map(str::to_owned));
    let out = bench.run(words);
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert_eq!(record.method.scripts, ["rows.sql", "one.sql"]);
    for (script, name) in record.method.scripts.iter().enumerate() {
        for metric in [ComparedMetric::P50, ComparedMetric::P99] {
            let finding = record.findings.iter().any(|it| (it.metric, it.script) == (metric, Some(script)));
            let unjudged = record.unjudged.iter().any(|it| (it.metric, it.script) == (metric, Some(script)));
            // A quarter of the transactions is of the first script; a p99 needs a hundred of them.
            if !finding && !unjudged && fewest_transactions(&record) < 1_000.0 {
                continue;
            }
            assert!(finding != unjudged, "{name} {metric:?}: {:?} {:?}", record.findings, record.unjudged);
            let row = format!("{} of {name} ", metric.name());
            assert!(out.stdout.contains(&row), "{row}: {}", out.stdout);
        }
    }
}

#[test]
fn a_p99_that_no_block_has_enough_transactions_for_is_of_the_blocks_of_several_pairs() {
    let bench = Bench::new();
    // At most 20 transactions in a block of a tenth of a second, whatever the machine.
    bench.file("rows.sql", "SELECT pg_sleep(0.005), :rows;\n");
    let out = bench.run(on_shared("settings.work_mem=1MB,2MB", "12s"));
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    let blocks = || record.pairs.iter().flat_map(|pair| &pair.blocks);
    assert!(blocks().count() > 0 && blocks().all(|block| block.figures.p99_ns.is_none()));
    let sides = match record.finding(ComparedMetric::P99) {
        Some(finding) => {
            assert!(told(&out.stdout).contains("groups of pairs"), "{}", out.stdout);
            // Where blocks have few transactions, their medians are merged too.
            let merged = record.pairs.iter().flat_map(|pair| &pair.merged);
            let merged = merged.filter(|merged| merged.metric == ComparedMetric::P99);
            // If the time ends within a sequence, its group is not in the finding.
            let mut sum = 0;
            let mut sums = merged.map(|merged| {
                sum += merged.pairs;
                sum
            });
            assert!(sums.any(|sum| sum == finding.pairs), "{finding:?}");
            [Some(finding.a), Some(finding.b)]
        }
        None => {
            let p99 = record.unjudged.iter().find(|unjudged| unjudged.metric == ComparedMetric::P99);
            p99.map_or([None; 2], |p99| [p99.a, p99.b])
        }
    };
    // All blocks of a side together may have too few, if the machine does little else than wait.
    let is_right = |ns: &Option<f64>| ns.map_or(fewest_transactions(&record) < 200.0, |ns| ns >= 5e6);
    assert!(sides.iter().all(is_right), "{sides:?}: {}", out.stdout);
}

#[test]
fn parallel_workers_count_as_cpu_time_of_the_server() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let dsn = cluster.conninfo();
    bench.file(
        "numbers.sql",
        "CREATE TABLE numbers AS SELECT generate_series(1, 100000) AS i;\nANALYZE numbers;\n",
    );
    bench.file("scan.sql", "SELECT count(*) FROM numbers WHERE i % 7 = 0;\n\\sleep 10 ms\n");
    let words = ["compare", "--factor", "settings.max_parallel_workers_per_gather=0,2", "-f", "scan.sql"];
    // The leader only waits, so nearly all of B's time is that of its workers.
    let sets = ["parallel_leader_participation=off", "parallel_setup_cost=0", "parallel_tuple_cost=0"];
    let sets = sets.into_iter().chain(["min_parallel_table_scan_size=0"]).flat_map(|set| ["--set", set]);
    let keys =
        ["--key", "workload=none", "--key", "setup=numbers.sql", "--dsn", &dsn, "--metric", "server-cpu"];
    let more = ["--budget", "15s", "--block", "0.1", "--store", "out/"];
    bench.run(words.into_iter().chain(sets).chain(keys).chain(more));
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    let cpu = record.finding(ComparedMetric::ServerCpu).expect("the server is here");
    assert!(cpu.ratio > 0.8, "{cpu:?}");
}
