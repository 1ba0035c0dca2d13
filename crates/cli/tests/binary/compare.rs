//! `pgmeter compare` as a user sees it: its sentences, its exit status, and what it leaves behind. How often
//! it is right is measured by `examples/comparisons.rs` of `stats` and by `cargo xtask compare-proof`. Comparisons whose
//! blocks must have figures are in `measuring`.

use results::{
    Checkpoints, ComparedMetric, ComparisonDecision, ComparisonRecord, ComparisonStatus, DrawnAnew, Store,
};
use rustix::process::Signal;
use testkit::cluster::Cluster;

use crate::harness::{Bench, Running};

/// A transaction that takes as many microseconds as it has rows, and next to no CPU time.
const ROWS: &str = "SELECT pg_sleep(:rows / 1e6);\n";

/// Options of a comparison without tables, on a server that the tests share.
pub(crate) fn on_shared(factor: &str, budget: &str) -> Vec<String> {
    on(&Cluster::shared("18").conninfo(), factor, budget)
}

fn on(dsn: &str, factor: &str, budget: &str) -> Vec<String> {
    let words = ["compare", "--factor", factor, "--key", "workload=none", "-f", "rows.sql", "--dsn", dsn];
    let rows: &[&str] = if factor.starts_with("variables.rows=") { &[] } else { &["-D", "rows=5000"] };
    let more = ["--budget", budget, "--block", "0.1", "--store", "out/"];
    words.iter().chain(rows).chain(&more).map(|word| (*word).to_owned()).collect()
}

/// Lines are broken where the terminal ends.
pub(crate) fn told(stdout: &str) -> String {
    stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `in_place` has a side that is better.
#[test]
fn who_does_twenty_times_the_work_is_worse() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    // Lines are broken where the terminal ends.
    let out = bench.run(on_shared("variables.rows=1000,20000", "5min")).exits(5);
    assert!(
        out.stdout.starts_with(
            "variables.rows: 1000 (A) against 20000 (B)\n  20000 is slower than 1000 by a factor of "
        ),
        "{}",
        out.stdout
    );
    for words in ["─■", "worse than the tolerance of 2"] {
        assert!(told(&out.stdout).contains(words), "{}", out.stdout);
    }
    let record = bench.newest_comparison();
    let ended = (record.decision, record.status);
    assert_eq!(ended, (ComparisonDecision::WorseThanTolerance, ComparisonStatus::Complete));
    assert!(record.pairs.iter().filter(|pair| !pair.is_noise_floor).count() >= 8);
    assert!(record.pairs.iter().all(|pair| pair.blocks.len() == 2));
}

#[test]
fn too_little_time_leaves_it_undecided_and_the_answer_says_how_it_was_made() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let mut words = on_shared("settings.work_mem=1MB,2MB", "1s");
    words.extend(["--format", "json"].map(str::to_owned));
    let out = bench.run(words).exits(3);
    assert!(out.stdout.contains("\"decision\": \"undecided\""), "{}", out.stdout);
    assert!(!out.stdout.contains("\"smallest_difference\": 0"), "{}", out.stdout);
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert_eq!(record.method.session_settings, ["work_mem"]);
    assert_eq!(record.method.draws, DrawnAnew::Connections);
    assert_eq!(record.to_json(), out.stdout);
}

#[test]
fn a_budget_that_ends_before_the_first_pair_shows_the_figures_of_both_sides_without_a_verdict() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    // The four blocks of the first sequence, which is for the noise floor, take longer.
    let mut words = on_shared("settings.work_mem=1MB,2MB", "1s");
    let block = words.iter().position(|word| word == "--block").expect("it has a length") + 1;
    "0.25".clone_into(&mut words[block]);
    let out = bench.run(words).exits(3);
    let sentence = "Inconclusive: there were too few pairs for an answer. Increase --budget.";
    for words in [sentence, "no verdict: 0 of the 6 pairs needed"] {
        assert!(told(&out.stdout).contains(words), "{}", out.stdout);
    }
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert!(record.findings.is_empty() && record.pairs.iter().all(|pair| pair.is_noise_floor));
    let tps = record.unjudged.iter().find(|unjudged| unjudged.metric == ComparedMetric::Tps);
    let tps = tps.expect("both sides ran");
    assert!(tps.a.is_some_and(|a| a > 0.0) && tps.b.is_some_and(|b| b > 0.0), "{tps:?}");
}

const COUNTERS: &str = "CREATE TABLE IF NOT EXISTS counters AS SELECT i AS id, 0 AS n FROM generate_series(1, 2000) i;\n\
    CREATE UNIQUE INDEX IF NOT EXISTS counters_id ON counters (id);\n";
const COUNT: &str =
    "\\set id random(1, 2000)\nUPDATE counters SET n = n + 1 WHERE id = :id;\n\\sleep 10 ms\n";

/// Compares a setting that does nothing here on a load that writes, and says what was kept.
fn writing(bench: &Bench, dsn: &str, budget: &str, more: &[&str]) -> (String, ComparisonRecord) {
    bench.file("counters.sql", COUNTERS);
    bench.file("count.sql", COUNT);
    let words = ["compare", "--factor", "settings.geqo=on,off", "--key", "workload=none", "-f", "count.sql"];
    let keys = [
        "--key",
        "setup=counters.sql",
        "--dsn",
        dsn,
        "--budget",
        budget,
        "--block",
        "0.1",
        "--store",
        "out/",
    ];
    let out = bench.run(words.iter().chain(&keys).chain(more));
    assert!(out.stderr.contains("stored as comparison "), "{}", out.stderr);
    (out.stdout, bench.newest_comparison())
}

#[test]
fn blocks_that_write_begin_after_a_checkpoint_and_both_sides_go_first_equally_often() {
    let bench = Bench::new();
    let cluster = Cluster::start_with("18", &[("full_page_writes", "on")]);
    let dsn = cluster.conninfo();
    let b_first = |record: &ComparisonRecord| -> Vec<bool> {
        let pairs = record.pairs.iter().filter(|pair| !pair.is_noise_floor);
        pairs.map(|pair| pair.blocks[0].is_candidate).collect()
    };
    let (stdout, one) = writing(&bench, &dsn, "8s", &[]);
    let (unlike, other) = writing(&bench, &dsn, "8s", &["--checkpoint", "never"]);
    assert_ne!(one.method.seed, other.method.seed, "nobody gave one");
    assert_eq!(one.method.checkpoints, Checkpoints::EachBlock);
    assert_eq!(other.method.checkpoints, Checkpoints::NotWanted);
    for record in [&one, &other] {
        let order = b_first(record);
        assert!(
            !order.is_empty() && order.chunks(2).all(|pairs| pairs.len() == 2 && pairs[0] != pairs[1]),
            "{order:?}"
        );
        // Of so few pairs nothing is claimed.
        assert!(
            record
                .findings
                .iter()
                .all(|finding| finding.pairs >= 20 || finding.smallest_difference.is_none())
        );
        for finding in &record.findings {
            let holds = finding.low.zip(finding.high).is_none_or(|(low, high)| low <= 1.0 && 1.0 <= high);
            assert_eq!(holds, finding.different.is_none(), "{finding:?}");
            assert!((finding.b / finding.a / finding.ratio - 1.0).abs() < 1e-9, "{finding:?}");
        }
        assert!(record.noise_floor.iter().all(|floor| floor.pairs >= 12), "{:?}", record.noise_floor);
    }
    assert!(told(&stdout).contains(&format!("; seed {}.", one.method.seed)), "{stdout}");
    assert!(told(&stdout).contains("Each block of both sides begins right after a checkpoint"), "{stdout}");
    assert!(told(&unlike).contains("no block begins with a checkpoint"), "{unlike}");
    let blocks = one.pairs.iter().flat_map(|pair| &pair.blocks);
    let images: Vec<f64> =
        blocks.filter_map(|block| block.figures.full_page_images_per_transaction).collect();
    // The first change of a page after a checkpoint takes its image.
    assert!(!images.is_empty() && images.iter().all(|images| *images > 0.0), "{images:?}");
}

#[test]
fn a_role_that_may_not_make_checkpoints_compares_without_them_and_is_told_so() {
    let bench = Bench::new();
    let cluster = Cluster::start("18");
    let mut session = Cluster::session(&cluster.conninfo());
    session.execute("CREATE ROLE modest LOGIN CREATEDB").expect("it is made");
    let dsn = format!("{} user=modest", cluster.conninfo());
    let (stdout, record) = writing(&bench, &dsn, "1s", &["--random-seed", "7"]);
    assert_eq!((record.method.checkpoints, record.method.seed), (Checkpoints::NotAllowed, 7));
    assert!(told(&stdout).contains("the role may not make checkpoints"), "{stdout}");
}

#[test]
fn a_setting_that_cannot_matter_in_what_was_measured_is_named() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    // Nobody else writes there.
    let cluster = Cluster::start("18");
    let out = bench.run(on(&cluster.conninfo(), "settings.wal_compression=off,pglz", "5s"));
    let sentence = "The transactions wrote almost no WAL, so wal_compression cannot have an effect.";
    assert!(told(&out.stdout).contains(sentence), "{}", out.stdout);
}

#[test]
fn what_makes_no_sense_is_told_in_one_sentence() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let tell = |words: &[&str]| {
        let all = std::iter::once("compare").chain(words.iter().copied());
        bench.run(all).exits(1).says(&["pgmeter: error: "]).stderr
    };
    bench.file("many.toml", "name = \"many\"\n[factors]\nclients = [1, 2, 3]\n");
    let sentence = "pgmeter: error: many.toml: a comparison requires one factor with two levels, A and B, but there are 3 \
                    levels of clients\n";
    assert_eq!(tell(&["many.toml"]), sentence);
    bench.file("none.toml", "name = \"none\"\n");
    assert!(tell(&["none.toml"]).contains("but there is no factor"), "{}", tell(&["none.toml"]));
    assert!(tell(&["--factor", "protocol=simple"]).contains("but there is 1 level of protocol"));
    assert!(tell(&["nowhere.toml"]).contains("cannot read the experiment nowhere.toml"));
    assert_eq!(
        tell(&["--factor", "client=1,2"]),
        "pgmeter: error: --factor client=1,2: unknown key \"client\" in an experiment; did you mean \"clients\"?\n"
    );
    let own = "each level sets it for its side";
    let server = "both select the server";
    let settings = "the settings of a running server stay unchanged";
    for (words, beside, why) in [
        ("version=17,18 --bin-dir X", "bin_dir=X", server),
        ("version=17,18 --dsn host=a", "dsn", server),
        ("clients=1,2 -c 8", "clients=8", own),
        ("clients=1,2 --key clients=3", "clients=3", own),
        ("settings.work_mem=1MB,2MB --set work_mem=3MB", "settings.work_mem=3MB", own),
        ("variables.rows=1,2 -D rows=3", "variables.rows=3", own),
        ("script=select-only,rows.sql -S", "script=select-only", own),
        ("dsn=host=a,host=b --set work_mem=1MB", "settings.work_mem=1MB", settings),
    ] {
        let told = tell(&std::iter::once("--factor").chain(words.split(' ')).collect::<Vec<_>>());
        let factor = words.split('=').next().unwrap_or_default();
        assert_eq!(
            told,
            format!("pgmeter: error: {beside} cannot be combined with --factor {factor}: {why}\n")
        );
    }
    assert!(
        tell(&["--factor", "clients=1,2", "-f", "nothing.sql"])
            .contains("cannot read script \"nothing.sql\"")
    );
    assert!(
        tell(&["--factor", "clients=1,2", "--budget", "2s", "--block", "1"])
            .contains("--block 1 is too long")
    );
    let dsn = Cluster::shared("18").conninfo();
    let shared =
        ["--factor", "settings.shared_buffers=16MB,32MB", "--key", "workload=none", "-f", "rows.sql"];
    let told = tell(&[&shared[..], &["--dsn", &dsn]].concat());
    assert!(told.contains("a session cannot set shared_buffers"), "{told}");
}

#[test]
fn servers_that_stand_side_by_side_are_gone_when_somebody_interrupts() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let words = ["compare", "--factor", "settings.shared_buffers=16MB,32MB", "--key", "workload=none"];
    let more = ["-f", "rows.sql", "-D", "rows=10000", "--store", "out/"];
    let mut run = Running::start(&mut bench.command(words.into_iter().chain(more)));
    run.hear("comparing: ");
    run.signal(Signal::INT);
    let out = run.finish().exits(130).says(&["pgmeter: error: interrupted; the result covers"]);
    assert!(out.stdout.contains("Two servers side by side"), "{}", out.stdout);
    assert_eq!(bench.servers_left(), Vec::<String>::new());
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert_eq!((record.status, record.method.draws), (ComparisonStatus::Interrupted, DrawnAnew::Servers));
}

#[test]
fn what_a_killed_comparison_left_goes_with_the_next_and_what_a_living_one_needs_stays() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let cluster = Cluster::start("18");
    let dsn = cluster.conninfo();
    let count = |what: &str| -> usize {
        let rows = Cluster::session(&dsn).query(what).expect("the server answers");
        rows[0].get(0).and_then(|count| count.parse().ok()).expect("a count")
    };
    let databases = || count("SELECT count(*) FROM pg_database WHERE datname LIKE 'pgmeter_compare_%'");
    let begun = || {
        let mut run = Running::start(&mut bench.command(on(&dsn, "variables.rows=20000,20001", "10min")));
        run.hear("comparing: ");
        run
    };
    let living = begun();
    let needed = databases();
    let killed = begun();
    assert!(needed > 0 && databases() == 2 * needed);
    killed.signal(Signal::KILL);
    killed.finish();
    // Its backends notice at once, or when what they do is done.
    let sessions = "SELECT count(DISTINCT left(mark, 33)) FROM (SELECT application_name AS mark FROM pg_stat_activity \
                    UNION ALL SELECT datname::text FROM pg_stat_activity) marks WHERE mark LIKE 'pgmeter_compare_%'";
    while count(sessions) > 1 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let out = bench.run(on(&dsn, "variables.rows=20000,20001", "1s")).exits(3);
    assert!(out.stderr.contains("removed pgmeter_compare_"), "{}", out.stderr);
    assert_eq!(databases(), needed);
    living.signal(Signal::INT);
    living.finish().exits(130);
    assert_eq!(databases(), 0);
    let again = bench.run(["report", "--comparison", "last", "--store", "out/"]).exits(0);
    assert!(again.stdout.starts_with("variables.rows: 20000 (A) against 20001 (B)\n"), "{}", again.stdout);
    let sentence =
        "there is no comparison c9 in the store out/results.sqlite: `pgmeter runs` lists those that are";
    bench.run(["report", "--comparison", "9", "--store", "out/"]).exits(1).says(&[sentence]);
    for (format, words) in [
        ("json", "\"schema_version\""),
        ("csv", "part,pair,start_s,block,side,metric,value,script\n"),
        ("markdown", "## Sides and method"),
        ("html", "<h2>Pairs and noise floor</h2>"),
        ("svg", "<svg xmlns="),
    ] {
        let shown =
            bench.run(["report", "--comparison", "1", "--store", "out/", "--format", format]).exits(0);
        assert!(shown.stdout.contains(words), "{format}: no {words} in {}", shown.stdout);
    }
}

#[test]
fn wal_that_others_write_is_not_that_of_a_load_that_only_reads() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let cluster = Cluster::start("18");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let out = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = Cluster::session(&cluster.conninfo());
            session.execute("CREATE TABLE elsewhere (i int)").expect("it is made");
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let insert = "INSERT INTO elsewhere SELECT generate_series(1, 50)";
                session.execute(insert).expect("rows are inserted");
                testkit::condition::pause();
            }
        });
        let out = bench.run(on(&cluster.conninfo(), "variables.rows=5000,5001", "15s"));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        out
    });
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert_eq!(record.method.checkpoints, Checkpoints::NotNeeded);
    let metrics: Vec<_> = record.findings.iter().map(|finding| finding.metric).collect();
    assert!(!metrics.is_empty() && !metrics.contains(&ComparedMetric::Wal), "{metrics:?}");
    assert!(
        told(&out.stdout).contains("The scripts only read and changed no row, so the WAL of the server"),
        "{}",
        out.stdout
    );
    assert!(!told(&out.stdout).contains("Rows changed"), "{}", out.stdout);
}

#[test]
fn a_block_that_fails_is_repeated_once_and_a_second_failure_keeps_the_pairs() {
    let bench = Bench::new();
    bench.file("rows.sql", ROWS);
    let cluster = Cluster::start("18");
    let execute = |sql: &str| Cluster::session(&cluster.conninfo()).execute(sql).map(drop).expect(sql);
    let terminate =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'pgmeter_compare_%'";
    let mut run =
        Running::start(&mut bench.command(on(&cluster.conninfo(), "variables.rows=20000,20001", "10min")));
    run.hear("comparing: ");
    execute(terminate);
    run.hear("a block failed and is repeated once: ");
    let refuse = "DO $$ DECLARE it name; BEGIN \
                  FOR it IN SELECT datname FROM pg_database WHERE datname LIKE 'pgmeter_compare_%' LOOP \
                  EXECUTE format('ALTER DATABASE %I ALLOW_CONNECTIONS false', it); END LOOP; END $$";
    execute(refuse);
    execute(terminate);
    let out = run.finish().exits(2).says(&["pgmeter: error: ended early: ", "stored as comparison c1"]);
    assert!(told(&out.stdout).contains("warning: The comparison ended early"), "{}", out.stdout);
    let store = Store::open(&bench.path().join("out/")).expect("the store is there");
    let record = store.comparison(1).expect("it is kept");
    assert_eq!(record.status, ComparisonStatus::EndedEarly);
    assert!(!record.pairs.is_empty());
}
