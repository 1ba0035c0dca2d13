//! A workload of the user's own, the example of the manual, through every command that takes one. What a folder may
//! say, and how it is loaded, is tested in `workload`.

use std::fs;
use std::path::Path;

use connect::Session;
use results::{FailedCheck, Record, Status, Store, TrialStatus, Warning};
use testkit::cluster::Cluster;

use crate::harness::{Bench, finish};

/// A directory to run in, with the example in the folder `shop`.
fn with_shop() -> Bench {
    let bench = Bench::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/shop");
    copy(&example, &bench.path().join("shop"));
    bench
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file can be copied");
        }
    }
}

/// The connection string of a fresh database with the tables of the shop, and a session in it.
fn loaded(bench: &Bench, name: &str) -> (String, Session) {
    let conninfo = Cluster::shared("18").database(name);
    let out = bench.run(["init", "--workload", "shop", "-D", "products=50", "-s", "2", &conninfo]).exits(0);
    assert!(out.stderr.contains("loaded scale 2 in ") && out.stderr.contains("(schema "), "{}", out.stderr);
    let session = Cluster::session(&conninfo);
    (conninfo, session)
}

fn first(session: &mut Session, sql: &str) -> String {
    let rows = session.query(sql).expect("a query");
    rows[0].get(0).unwrap_or("NULL").to_owned()
}

#[test]
fn init_and_bench_work_on_the_tables_of_the_user() {
    let bench = with_shop();
    let (conninfo, mut session) = loaded(&bench, "own_tables");
    assert_eq!(first(&mut session, "select count(*) from shop_products"), "50");
    let words = ["bench", "--workload", "shop", "-D", "products=50", "-c", "4", "-t", "50", "--check"];
    let out = bench.run(words.iter().copied().chain([conninfo.as_str()])).exits(0);
    assert!(out.stderr.contains("running 2 checks of the workload"), "{}", out.stderr);
    assert_eq!(out.stderr.matches("warning").count(), 0, "{}", out.stderr);
    let Record { plan, tables, status, summary, warnings, .. } = bench.record();
    assert_eq!((status, tables.scale, summary.counts.succeeded), (Status::Complete, Some(2.into()), 200));
    assert_eq!(plan.workload.as_deref(), Some("shop"));
    let scripts: Vec<_> = plan.scripts.iter().map(|script| (script.name.as_str(), script.weight)).collect();
    assert_eq!(scripts, [("order", 3), ("look", 7)]);
    assert!(plan.scripts.iter().all(|script| !script.builtin), "their texts are shown");
    let contention = plan.scripts[0].contention.as_ref().expect("the script says so");
    assert_eq!(contention.rows(&plan.variables), Some(50));
    assert!(!warnings.iter().any(|it| matches!(it, Warning::ContendedRows { .. })), "{warnings:?}");
    let ordered = first(&mut session, "select count(*) from shop_orders");
    assert_eq!(ordered, summary.scripts[0].counts.succeeded.to_string());
}

#[test]
fn a_failed_check_is_an_error_and_the_run_is_kept() {
    let bench = with_shop();
    let (conninfo, mut session) = loaded(&bench, "failed_check");
    session.execute("update shop_products set in_stock = 7 where id = 3").expect("a change");
    let words = ["bench", "--workload", "shop", "-b", "look", "-t", "5", "--check"];
    let out = bench.run(words.iter().copied().chain([conninfo.as_str()])).exits(6);
    let sentence = "1 check of the workload shop failed: stock (1 row: 3 | 7 | 0). A check returns no row if the data are \
                    sound";
    assert!(out.stderr.ends_with(&format!("pgmeter: error: {sentence}\n")), "{}", out.stderr);
    let record = bench.record();
    assert_eq!(record.status, Status::Complete);
    let check = FailedCheck { name: "stock".into(), rows: 1, first_row: "3 | 7 | 0".into() };
    let failed = Warning::ChecksFailed { workload: "shop".into(), checks: vec![check] };
    assert!(record.warnings.contains(&failed), "{:?}", record.warnings);
    bench.run(words[..7].iter().copied().chain([conninfo.as_str()])).exits(0);
}

#[test]
fn the_tables_of_pgbench_are_checked_too() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("tpcb_checked");
    bench.run(["init", "-I", "dtGp", &conninfo]).exits(0);
    bench.run(["bench", "-t", "5", "--check", &conninfo]).exits(0);
    assert_eq!(bench.record().plan.workload.as_deref(), Some("tpcb"));
    Cluster::session(&conninfo).execute("delete from pgbench_tellers where tid = 3").expect("a change");
    let out = bench.run(["bench", "-t", "5", "--workload", "tpcb", "--check", &conninfo]).exits(6);
    out.says(&["1 check of the workload tpcb failed: pgbench_tellers (1 row: 9 | 1)"]);
}

#[test]
fn scripts_of_a_workload_and_files_are_mixed() {
    let bench = with_shop();
    let (conninfo, _) = loaded(&bench, "own_mix");
    let file = bench.file("own.sql", "SELECT :scale AS scale \\gset\nSELECT 1 / (:scale = 2)::int;\n");
    let words = ["bench", "--workload", "./shop/", "-b", "lo@2", "-f", file, "-t", "20"];
    bench.run(words.iter().copied().chain([conninfo.as_str()])).exits(0);
    let plan = bench.record().plan;
    let scripts: Vec<_> = plan.scripts.iter().map(|script| (script.name.as_str(), script.weight)).collect();
    assert_eq!(scripts, [("look", 2), ("own.sql", 1)]);
    assert_eq!(plan.variables["products"], "100", "a parameter that is not given has its default");
    let out = bench.run(["bench", "--workload", "shop", "-S", &conninfo]).exits(1);
    out.says(&["the workload shop has no script \"select-only\"; it has order, look"]);
}

#[test]
fn a_schema_alone_is_a_workload() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("schema_alone");
    let schema = "create table own (id int primary key, word text not null);";
    bench.file("own.sql", schema);
    fs::create_dir(bench.path().join("shop")).expect("a folder");
    bench.file("shop/schema.sql", &schema.replace("own", "article"));
    for (option, place, table) in [("--schema", "own.sql", "own"), ("--workload", "shop", "article")] {
        // The second time replaces the tables of the first.
        for (scale, rows) in [("0.3", "30"), ("0.5", "50")] {
            let out = bench.run(["init", option, place, "-s", scale, &conninfo]).exits(0);
            assert!(!out.stderr.contains("create table"), "{}", out.stderr);
            let count = Cluster::session(&conninfo).query(&format!("select count(*) from {table}"));
            assert_eq!(count.expect("a table")[0].get(0), Some(rows));
        }
        bench.run(["check", "--workload", place, &conninfo]).exits(0);
    }
    fs::write(bench.path().join("own.dump"), b"PGDMP\x01\x10\xff").expect("a file");
    let out = bench.run(["init", "--schema", "own.dump", &conninfo]).exits(1);
    out.says(&[
        "own.dump is not SQL but an archive of pg_dump: use `pg_restore -f - own.dump > schema.sql`\n",
    ]);
}

#[test]
fn what_is_wrong_with_a_workload_is_one_sentence() {
    let bench = with_shop();
    let check = |words: &[&str], sentence: &str| {
        let out = bench.run(words).exits(1);
        assert_eq!(out.stderr, format!("pgmeter: error: {sentence}\n"));
    };
    check(
        &["bench", "--workload", "tpbc"],
        "there is no workload, no directory and no file \"tpbc\"; did you mean tpcb?",
    );
    check(
        &["init", "--workload", "shop", "-D", "product=3"],
        "the workload shop has no parameter \"product\"; did you mean products?",
    );
    check(
        &["init", "--workload", "shop", "--partitions", "3"],
        "the workload shop does not support --partitions: only the workload tpcb does",
    );
    check(
        &["init", "--workload", "shop", "--strict"],
        "the workload shop does not support --strict: each statement of its SQL files is executed",
    );
    check(
        &["init", "-D", "x=3"],
        "the workload tpcb has no parameter \"x\"; it has no parameters except scale",
    );
    fs::create_dir(bench.path().join("bad")).expect("a folder");
    bench.file("bad/workload.toml", "name = \"bad\"\nload = [\"../shop/schema.sql\"]\nscript = \"x.sql\"\n");
    check(
        &["quickstart", "--workload", "bad"],
        "bad/workload.toml:3:1: unknown key \"script\" in a workload; did you mean \"scripts\"?",
    );
    bench.file("bad/workload.toml", "name = \"bad\"\nload = [\"../shop/schema.sql\"]\n");
    check(
        &["bench", "--workload", "bad"],
        "bad/workload.toml:2:9: expected a file in the workload's directory, found \"../shop/schema.sql\"",
    );
    bench.file("of_bad.toml", "name = \"x\"\n[data]\nworkload = \"bad\"\n");
    check(
        &["lab", "plan", "of_bad.toml"],
        "of_bad.toml:1:1: bad/workload.toml:2:9: expected a file in the workload's directory, found \
         \"../shop/schema.sql\"",
    );
    bench.file("of_shop.toml", "name = \"x\"\n[data]\nworkload = \"shop\"\nfillfactor = 50\n");
    check(
        &["lab", "plan", "of_shop.toml"],
        "of_shop.toml:1:1: the workload shop does not support a fillfactor: only the workload tpcb does",
    );
}

#[test]
fn tables_that_were_not_loaded_are_named_with_the_command_that_makes_them() {
    let bench = with_shop();
    let conninfo = Cluster::shared("18").database("no_shop");
    let out = bench.run(["bench", "--workload", "shop", &conninfo]).exits(1);
    out.says(&[
        "has no table shop_customers. Create and fill the tables with `pgmeter init --workload shop` (on the same \
         connection), or give your own script with -f\n",
    ]);
    let out = bench.run(["check", "--workload", "shop", &conninfo]).exits(1);
    assert!(
        out.stderr.ends_with("`pgmeter init --workload shop` (on the same connection)\n"),
        "{}",
        out.stderr
    );
}

#[test]
fn quickstart_runs_the_mix_of_the_workload() {
    let bench = with_shop();
    let words =
        ["quickstart", "--workload", "shop", "--scale", "1", "-c", "2", "--duration", "1", "--warmup", "0"];
    let out = bench.run(words).exits(0);
    out.says(&["loaded scale 1", "running order and look: 2 clients, 1 s"]);
    let record = bench.record();
    assert_eq!((record.plan.workload.as_deref(), record.tables.scale), (Some("shop"), Some(1.into())));
    assert!(record.summary.counts.succeeded > 0);
    assert!(bench.servers_left().is_empty(), "{:?}", bench.servers_left());
}

#[test]
fn an_experiment_varies_the_workload_and_its_parameters() {
    let bench = with_shop();
    fs::create_dir(bench.path().join("experiments")).expect("a folder");
    let file = bench.file(
        "experiments/shops.toml",
        "name = \"shops\"\n[data]\nscale = 1\n[load]\nduration = \"200ms\"\nwarmup = \"0s\"\n\
         [design]\nrepeats = 1\n\
         [[cases]]\nname = \"few\"\nworkload = \"../shop\"\n\"parameters.products\" = 5\n\
         [[cases]]\nname = \"looking\"\nscript = \"look\"\nworkload = \"../shop\"\n\
         [[cases]]\nname = \"pgbench\"\nworkload = \"tpcb\"\nscript = \"select-only\"\nparameters = {}\n",
    );
    let out = bench.run(["lab", "plan", file]);
    assert!(out.stderr.contains("the workload tpcb has no parameter \"products\""), "{}", out.stderr);
    let file = bench.file(
        "experiments/shops.toml",
        "name = \"shops\"\n[data]\nworkload = \"../shop\"\n[load]\ntransactions = 5\nwarmup = \"0s\"\n\
         [factors]\n\"parameters.products\" = [5, 50]\nscript = [\"order\", \"look\"]\n[design]\nrepeats = 1\n",
    );
    let out = bench.run(["lab", "plan", file]).exits(0);
    assert!(
        ["the workload experiments/../shop at scale 1, about ", " kB, products = 5"]
            .iter()
            .all(|it| out.stdout.contains(it)),
        "{}",
        out.stdout
    );
    bench.run(["lab", "run", file, "--store", "out/"]).exits(0);
    let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("the store can be opened");
    let row = store.newest_experiment("shops", "full").expect("it can be read").expect("it is there");
    assert_eq!(row.trials.len(), 4);
    assert!(row.trials.iter().all(|trial| trial.status == TrialStatus::Complete));
    assert!(row.files.contains_key("../shop/workload.toml"), "{:?}", row.files.keys());
    assert!(row.files.contains_key("../shop/scripts/order.sql"), "{:?}", row.files.keys());
    fs::write(bench.path().join("shop/scripts/look.sql"), "SELECT 1;").expect("a file");
    let out = bench.run(["lab", "resume", file, "--store", "out/"]).exits(1);
    out.says(&["../shop/scripts/look.sql is not what it was when the experiment was begun"]);
}

#[test]
fn a_failed_check_fails_its_trial_and_the_experiment_goes_on() {
    let bench = with_shop();
    bench.file("broken.sql", "update shop_products set in_stock = 7 where id = 3;\n");
    let file = bench.file(
        "checked.toml",
        "name = \"checked\"\n[data]\nworkload = \"shop\"\n\
         [load]\ntransactions = 5\nwarmup = \"0s\"\nscript = \"look\"\ncheck = true\n\
         [design]\nrepeats = 1\norder = \"sequential\"\n\
         [factors]\ndata = [\"broken\", \"sound\"]\n[levels.data.broken]\ndata_setup = \"broken.sql\"\n",
    );
    let out = bench.run(["lab", "run", file, "--store", "out/"]).exits(2);
    out.says(&["the experiment continues: 1 check of the workload shop failed", "1 of 2 trials failed"]);
    let mut store = Store::create(&bench.path().join("out/results.sqlite")).expect("the store can be opened");
    let row = store.newest_experiment("checked", "full").expect("it can be read").expect("it is there");
    let ends: Vec<_> = row.trials.iter().map(|trial| (trial.status, trial.reason.as_deref())).collect();
    let sentence = "1 check of the workload shop failed: stock (1 row: 3 | 7 | 0). A check returns no row if the data are \
                    sound";
    assert_eq!(ends, [(TrialStatus::Failed, Some(sentence)), (TrialStatus::Complete, None)]);
    bench.file("none.toml", "name = \"x\"\n[data]\nworkload = \"none\"\n[load]\ncheck = true\n");
    let out = bench.run(["lab", "plan", "none.toml"]).exits(1);
    out.says(&["check requires a workload, and workload is \"none\""]);
}

#[test]
fn a_workload_is_a_key_of_a_comparison() {
    let bench = with_shop();
    let words = [
        "compare",
        "--key",
        "workload=shop",
        "--key",
        "parameters.products=20",
        "-b",
        "look",
        "-R",
        "50",
        "--budget",
        "4s",
    ];
    let out =
        bench.run(words.iter().copied().chain(["--factor", "protocol=simple,prepared", "--format", "json"]));
    assert!(matches!(out.status.code(), Some(0..=3)), "{}", out.stderr);
    assert!(out.stdout.contains("\"pairs\""), "{}\n{}", out.stdout, out.stderr);
    assert!(out.stdout.contains("look, 1 client"), "{}", out.stdout);
}

#[test]
fn a_new_workload_is_loaded_checked_and_measured() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("new_workload");
    bench.run(["workload", "new", "mine"]).exits(0);
    let again = bench.run(["workload", "new", "mine"]).exits(1);
    assert!(again.stderr.contains("the directory is not empty"), "{}", again.stderr);
    let shown = bench.run(["workload", "show", "mine"]).exits(0);
    assert!(shown.stdout.contains("tables      customer, orders\n"), "{}", shown.stdout);
    let out = bench.run(["init", "--workload", "mine", "--seed", "7", "--jobs", "2", &conninfo]).exits(0);
    assert!(out.stderr.contains("loaded scale 1 in "), "{}", out.stderr);
    let words = ["init", "-q", "--resume", "--workload", "mine", "--seed", "7", &conninfo];
    let out = bench.run(words).exits(0);
    assert_eq!(out.stderr, "nothing was missing: the tables are loaded at scale 1\n");
    let out = bench.run(["check", "--workload", "mine", &conninfo]).exits(0);
    assert!(out.stderr.contains("4 checks of the workload mine passed"), "{}", out.stderr);
    bench.run(["bench", "--workload", "mine", "-t", "10", "--check", &conninfo]).exits(0);
    let mut session = Cluster::session(&conninfo);
    assert_eq!(first(&mut session, "select obj_description('orders'::regclass) like '%seed=7%'"), "t");
    session.execute("update orders set net = 0.001 where id = 3").expect_err("a CHECK constraint");
    let out = bench.run(["check", "--workload", "mine", &conninfo]).exits(6);
    out.says(&["1 check of the workload mine failed: orders has 10,010 rows; init loaded 10,000, and a run that inserts or deletes changes this number. A check"]);
    bench.run(["init", "--workload", "mine", "--indexes", "none", "--scale", "0.0015", &conninfo]).exits(0);
    assert_eq!(first(&mut session, "select count(*) from orders"), "15");
}

#[test]
fn tables_of_others_and_workloads_without_scripts_are_refused() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("of_others");
    let folder = bench.path().join("least");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("workload.toml"), "name = \"least\"\ntitle = \"Least\"\n").expect("a file");
    fs::write(folder.join("schema.sql"), "CREATE TABLE t (a int PRIMARY KEY, b text);").expect("a file");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table t (x int); insert into t values (1)").expect("a table");
    let out = bench.run(["init", "--workload", "least", &conninfo]).exits(1);
    assert!(out.stderr.contains("public.t exists already"), "{}", out.stderr);
    assert!(out.stderr.contains("`pgmeter init --workload least --drop`"), "{}", out.stderr);
    assert_eq!(first(&mut session, "select x from t"), "1");
    bench.run(["init", "--workload", "least", "--drop", &conninfo]).exits(0);
    assert_eq!(first(&mut session, "select count(*) from t"), "100");
    let out = bench.run(["bench", "--workload", "least", "-t", "1", &conninfo]).exits(1);
    assert!(out.stderr.contains("the workload least has no scripts"), "{}", out.stderr);
    let out = bench.run(["workload", "list"]).exits(0);
    assert!(out.stdout.contains("tpcb") && out.stdout.contains("prepared"), "{}", out.stdout);
    let out = bench.run(["init", "--indexes", "x", &conninfo]).exits(1);
    out.says(&["the workload tpcb does not support --indexes: it has no index sets"]);
}

/// A tar archive of one file.
fn tar(name: &str, content: &str) -> Vec<u8> {
    let mut header = vec![0; 512];
    let fields: [(usize, String); 5] = [
        (0, name.to_owned()),
        (100, "0000644\0".to_owned()),
        (124, format!("{:011o}\0", content.len())),
        (148, " ".repeat(8)),
        (156, "0".to_owned()),
    ];
    for (at, text) in fields {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut tar = [&header[..], content.as_bytes()].concat();
    tar.resize(512 * (2 + content.len().div_ceil(512) + 1), 0);
    tar
}

#[test]
fn an_archive_is_verified_and_unpacked_before_its_files_are_used() {
    let bench = Bench::new();
    let conninfo = Cluster::shared("18").database("archive");
    let folder = bench.path().join("dictionary");
    fs::create_dir(&folder).expect("a folder");
    let file = |name: &str, text: &[u8]| fs::write(folder.join(name), text).expect("a file");
    file("schema.sql", b"CREATE TABLE t (a text -- df: word=words/list.txt null=0\n);");
    let manifest = |sum: &str| {
        let archive = format!("[[archives]]\nname = \"words\"\nfile = \"words.tar\"\nsha256 = \"{sum}\"\n");
        file("workload.toml", format!("name = \"dictionary\"\ntitle = \"Words\"\n{archive}").as_bytes());
    };
    // No other test writes to this cache.
    let run = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        finish(command.env("PGMETER_CACHE_DIR", bench.path().join("own-cache")))
    };
    manifest(&"0".repeat(64));
    run(&["workload", "prepare", "dictionary"])
        .exits(1)
        .says(&["there is no archive words.tar in dictionary"]);
    file("words.tar", &tar("list.txt", "one\ntwo\n"));
    let refused = run(&["workload", "prepare", "dictionary"]).exits(1).says(&["nothing was unpacked"]);
    let sum = refused.stderr.split("has the SHA-256 checksum ").nth(1).expect("the sum").split(',').next();
    manifest(sum.expect("a word"));
    let init = ["init", "--workload", "dictionary", &conninfo];
    run(&init).exits(1).says(&["words.tar is not unpacked", "`pgmeter workload prepare dictionary`"]);
    run(&["workload", "prepare", "dictionary"])
        .exits(0)
        .says(&["words.tar: unpacked; its files are words/…"]);
    run(&["workload", "prepare", "dictionary"]).exits(0).says(&["was unpacked before"]);
    let shown = run(&["workload", "show", "dictionary"]).exits(0).stdout;
    assert!(shown.contains("words: words.tar, unpacked"), "{shown}");
    run(&init).exits(0);
    let mut session = Cluster::session(&conninfo);
    assert_eq!(first(&mut session, "select string_agg(distinct a, ' ' order by a) from t"), "one two");
}
