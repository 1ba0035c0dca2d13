//! Workloads that are folders: the example that is shown in the manual, and small ones with mistakes. How the program
//! takes them is tested with the binary.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use testkit::cluster::Cluster;

use connect::Session;
use pgmeter_workload::{
    InitOptions, InitProgress, InitReport, Partitioning, Step, Tables, Truncation, Workload, WorkloadError,
    WorkloadName, read_folder,
};
use tempfile::TempDir;

use crate::harness::{NEWEST, OLDEST, lines, prepare, session, target, vacuum_all};

/// The example of the manual.
fn shop() -> Arc<dyn Workload> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads");
    WorkloadName::find("shop", &examples).expect("a folder").open().expect("it is sound")
}

/// A folder with these files, and a script that runs.
fn folder(manifest: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let manifest = format!("name = \"test\"\nscripts = [\"one.sql\"]\n{manifest}");
    for (name, text) in files.iter().chain(&[("one.sql", "SELECT 1;"), ("workload.toml", &manifest)]) {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn load(
    workload: &dyn Workload,
    session: &mut Session,
    options: &InitOptions,
) -> Result<InitReport, WorkloadError> {
    workload.load(&target(session), session, options, &mut |_| ControlFlow::Continue(()))
}

/// The refusal of a load step with this SQL.
fn refusal(session: &mut Session, manifest: &str, sql: &str) -> String {
    let folder = folder(manifest, &[("load.sql", sql)]);
    let workload = read_folder(folder.path()).expect("it is sound");
    let error = load(&workload, session, &InitOptions::default()).expect_err("the server refuses");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn the_example_is_loaded_found_and_checked() {
    let shop = shop();
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "shop");
        let error = shop.find_tables(&mut session).expect_err("nothing was loaded").to_string();
        assert!(error.contains("no table shop_customers"), "{error}");
        assert!(error.contains("`pgmeter init --workload ") && error.contains("/shop`"), "{error}");
        let parameters = BTreeMap::from([("products".to_owned(), "7".to_owned())]);
        let options = InitOptions { scale: 2.into(), parameters, ..InitOptions::default() };
        let report = load(&*shop, &mut session, &options).expect("it is loaded");
        let names: Vec<&str> = report.steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["schema", "rows", "finish"]);
        let found = shop.find_tables(&mut session).expect("it was loaded");
        assert_eq!(found, Tables { scale: Some(2.into()), partitioning: None });
        assert_eq!(lines(&mut session, "select count(*) from shop_products"), ["7"]);
        let prepared = prepare(&*shop, &mut session, Truncation::OwnTables);
        assert!(prepared.failed.is_empty() && vacuum_all(&*shop, &mut session).is_empty());
        let variables = shop.variables(&options.parameters, 2.into());
        shop.run_checks(&mut session, &variables).expect("the data are sound");
        session.execute("update shop_products set sold = 5 where id > 5").expect("a change");
        let error =
            shop.run_checks(&mut session, &variables).expect_err("the data are not sound").to_string();
        assert_eq!(
            error,
            "2 checks of the workload shop failed: stock (2 rows, the first: 6 | 1000000 | 5); \
             sales (2 rows, the first: 6 | 5 | NULL). A check returns no row if the data are sound"
        );
    }
}

#[test]
fn a_table_without_rows_gives_no_scale() {
    let (shop, mut session) = (shop(), session(NEWEST, "shop_empty"));
    load(&*shop, &mut session, &InitOptions::default()).expect("it is loaded");
    session.execute("truncate shop_customers cascade").expect("a table");
    let error = shop.find_tables(&mut session).expect_err("there are no customers").to_string();
    assert!(error.starts_with("shop_customers has 0 rows, so the scale cannot be determined."), "{error}");
}

#[test]
fn a_step_is_one_transaction_unless_it_says_otherwise() {
    let mut session = session(NEWEST, "one_transaction");
    let sql = "CREATE TABLE t (a int);\n\nSELECT 1 / 0;";
    assert_eq!(refusal(&mut session, "load = [\"load.sql\"]", sql), "load.sql:3: ERROR:  division by zero");
    assert_eq!(lines(&mut session, "select count(*) from pg_tables where tablename = 't'"), ["0"]);
    assert_eq!(lines(&mut session, "select 1"), ["1"], "the session can go on");
    let single = "load = [{ file = \"load.sql\", transaction = false }]";
    assert_eq!(refusal(&mut session, single, sql), "load.sql:3: ERROR:  division by zero");
    assert_eq!(lines(&mut session, "select count(*) from pg_tables where tablename = 't'"), ["1"]);
}

#[test]
fn a_statement_that_needs_no_transaction_is_refused_with_the_way_out() {
    let mut session = session(NEWEST, "vacuum_inside");
    let refusal = refusal(&mut session, "load = [\"load.sql\"]", "VACUUM;");
    assert_eq!(
        refusal,
        "load.sql:1: ERROR:  VACUUM cannot run inside a transaction block; set transaction = false for this file in workload.toml"
    );
}

#[test]
fn rows_that_a_copy_waits_for_are_refused() {
    let mut session = session(NEWEST, "copy_waits");
    let sql = "CREATE TABLE t (a int); COPY t FROM STDIN;";
    let refusal = refusal(&mut session, "load = [\"load.sql\"]", sql);
    assert!(refusal.starts_with("load.sql:1: "), "{refusal}");
}

#[test]
fn what_was_asked_to_stop_says_how_to_begin_anew() {
    let (shop, mut session) = (shop(), session(NEWEST, "shop_stopped"));
    let target = target(&mut session);
    let stop = &mut |progress: InitProgress<'_>| match progress {
        InitProgress::Finished(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let error = shop.load(&target, &mut session, &InitOptions::default(), stop).expect_err("it was stopped");
    let error = error.to_string();
    assert!(
        error.starts_with("loading was interrupted; start again with `pgmeter init --workload "),
        "{error}"
    );
    assert_eq!(lines(&mut session, "select count(*) from shop_customers"), ["0"], "the first step stays");
}

#[test]
fn options_of_the_tables_of_pgbench_are_refused() {
    let shop = shop();
    let check = |options: InitOptions, expected: &str| {
        let error = shop.check_options(&options).expect_err(expected).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    let partitioning = Some(Partitioning { method: Default::default(), partitions: 2 });
    let plain = InitOptions::default;
    let refused = |options: InitOptions, option: &str, reason: &str| {
        check(options, &format!("the workload shop does not support {option}: {reason}"));
    };
    let only = "only the workload tpcb does";
    refused(InitOptions { fillfactor: 50, ..plain() }, "a fillfactor", only);
    refused(InitOptions { partitioning, ..plain() }, "--partitions", only);
    let steps = "a choice of steps (--init-steps, --no-vacuum, --foreign-keys)";
    refused(InitOptions { steps: vec![Step::Vacuum], ..plain() }, steps, only);
    let resumes = InitOptions { resumes: true, ..plain() };
    refused(resumes, "--resume", "its SQL files may not be safe to repeat");
    let parameters = |name: &str| BTreeMap::from([(name.to_owned(), "1".to_owned())]);
    check(
        InitOptions { parameters: parameters("product"), ..plain() },
        "the workload shop has no parameter \"product\"; did you mean products?",
    );
    shop.check_options(&InitOptions { parameters: parameters("products"), ..plain() }).expect("it has it");
}

#[test]
fn scripts_are_found_by_name_or_prefix() {
    let shop = shop();
    assert_eq!(shop.script("order").expect("a script").name, "order");
    assert_eq!(shop.script("l").expect("a script").name, "look");
    assert_eq!(
        shop.script("x").expect_err("no script").to_string(),
        "the workload shop has no script \"x\"; it has order, look"
    );
    assert_eq!(shop.mix().iter().map(|script| script.weight).collect::<Vec<_>>(), [3, 7]);
}

#[test]
fn a_check_that_the_server_refuses_is_named_with_its_line() {
    let manifest = "load = [\"one.sql\"]\nchecks = [\"broken.sql\"]";
    let folder = folder(manifest, &[("broken.sql", "SELECT 1 WHERE false;\nSELECT id FROM nope")]);
    let workload = read_folder(folder.path()).expect("it is sound");
    let mut session = session(NEWEST, "broken_check");
    let error = (&workload as &dyn Workload).run_checks(&mut session, &BTreeMap::new());
    let error = error.expect_err("there is no such table").to_string();
    assert!(error.starts_with("the check broken:2: ERROR:  relation \"nope\" does not exist"), "{error}");
}

#[test]
fn a_missing_file_is_named_with_its_place_and_a_similar_name() {
    let folder = folder("checks = [\"onee.sql\"]", &[]);
    let error = read_folder(folder.path()).expect_err("there is no such file").to_string();
    assert!(error.contains("workload.toml:3:11: there is no file onee.sql"), "{error}");
    assert!(error.ends_with("; did you mean one.sql?"), "{error}");
}

#[test]
fn files_outside_of_the_folder_are_not_read() {
    let outside = TempDir::new().expect("a folder");
    fs::write(outside.path().join("load.sql"), "SELECT 1;").expect("a file");
    for name in ["../load.sql", outside.path().join("load.sql").to_str().expect("a path")] {
        let folder = folder(&format!("load = [\"{name}\"]"), &[]);
        let error = read_folder(folder.path()).expect_err(name).to_string();
        assert!(
            error.contains("workload.toml:3:9: expected a file in the workload's directory, found "),
            "{error}"
        );
    }
    let folder = folder("load = [\"link.sql\"]", &[]);
    symlink(outside.path().join("load.sql"), folder.path().join("link.sql")).expect("a link");
    let error = read_folder(folder.path()).expect_err("a link to a file outside").to_string();
    assert!(
        error.contains("expected a file in the workload's directory, not a link to a file outside of it"),
        "{error}"
    );
}

#[test]
fn a_folder_without_a_manifest_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let error = read_folder(folder.path()).expect_err("it is empty").to_string();
    assert!(error.starts_with("cannot read the workload ") && error.contains("workload.toml: "), "{error}");
}

#[test]
fn load_steps_do_not_change_tables_of_others() {
    let mut session = session(NEWEST, "protected");
    session.execute("create table mine (x int); insert into mine values (42)").expect("a table");
    for sql in [
        "DROP TABLE IF EXISTS mine;",
        "CREATE TABLE IF NOT EXISTS mine (x int); INSERT INTO mine VALUES (1);",
        "WITH gone AS (DELETE FROM mine RETURNING *) SELECT * FROM gone;",
        "DO $$ BEGIN TRUNCATE mine; END $$;",
        "DROP SCHEMA public CASCADE;",
    ] {
        let message = refusal(&mut session, "load = [\"load.sql\"]", sql);
        assert!(message.starts_with("public.mine exists already and was not made by `init`"), "{message}");
        assert_eq!(lines(&mut session, "select x from mine"), ["42"], "{sql}");
    }
    let sql = "DROP TABLE IF EXISTS mine; CREATE TABLE mine (x int); INSERT INTO mine VALUES (:scale);";
    let folder = folder("load = [\"load.sql\"]", &[("load.sql", sql)]);
    let workload = read_folder(folder.path()).expect("it is sound");
    let drops = InitOptions { drops: true, ..InitOptions::default() };
    load(&workload, &mut session, &drops).expect("it is permitted");
    let comment = "select obj_description('mine'::regclass)";
    let mark = lines(&mut session, comment).remove(0);
    assert!(mark.starts_with("pgmeter: workload=test scale=1 state=loaded folder="), "{mark}");
    let again = InitOptions { scale: 2.into(), ..InitOptions::default() };
    load(&workload, &mut session, &again).expect("its own table");
    assert_eq!(lines(&mut session, "select x from mine"), ["2"]);
    let again = lines(&mut session, comment).remove(0);
    assert!(again.starts_with("pgmeter: workload=test scale=2 state=loaded folder="), "{again}");
    session
        .execute("drop table mine; create table mine (x int); insert into mine values (42)")
        .expect("a copy");
    session.execute(&format!("comment on table mine is '{again}'")).expect("the comment of the dump");
    let error = load(&workload, &mut session, &InitOptions::default()).expect_err("a copy").to_string();
    assert!(
        error.starts_with("public.mine was restored or copied: its mark was made for another"),
        "{error}"
    );
    assert_eq!(lines(&mut session, "select x from mine"), ["42"]);
}

#[test]
fn a_file_that_the_manifest_does_not_name_is_named_in_its_errors() {
    for (name, text, expected) in [
        (
            "queries/q1.sql",
            "SELECT 1;\n\\set a 1\n",
            "queries/q1.sql:2: load steps, checks and timed steps must",
        ),
        ("queries/q1.sql", "SELECT 1; SELECT 2;", "queries/q1.sql has 2 queries among its 2 statements"),
        ("checks/a b.sql", "SELECT 1;", "checks/a b.sql: expected a name of letters, digits, "),
        ("scripts/empty.sql", "", "scripts/empty.sql: "),
        ("schema.sql", "CREATE TABLE t (a int -- df: nothing\n);", "schema.sql:1:"),
    ] {
        let folder = TempDir::new().expect("a folder");
        let files =
            [("workload.toml", "name = \"test\"\n"), ("schema.sql", "CREATE TABLE t (a int);"), (name, text)];
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        let error = read_folder(folder.path()).expect_err(name).to_string();
        let error = error.replace(&format!("{}/", folder.path().display()), "");
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_statement_without_permission_is_one_sentence() {
    let mut session = session(NEWEST, "no_permission");
    let user = "drop role if exists pgmeter_reader; create role pgmeter_reader; set role pgmeter_reader";
    session.execute(user).expect("a user without privileges");
    let refusal = refusal(&mut session, "load = [\"load.sql\"]", "SELECT 1;\nCREATE TABLE t (a int);");
    assert_eq!(
        refusal,
        "load.sql:2: permission denied for schema public. As the database's owner or a superuser, execute CREATE SCHEMA \
         role AUTHORIZATION role (the default search_path has a schema with the name of the role), or use another database"
    );
}
