//! The workload tpch on a server: its data are sound, its answers are the expected ones with all index sets and texts,
//! and refresh functions leave the data as they were.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use connect::{Environment, Overrides, Session, Target, resolve};
use pgmeter_workload::{Answer, InitOptions, Query, QueryChoice, Tpch, Workload, WorkloadError};
use queries::answer;
use stats::Scale;
use testkit::cluster::Cluster;
use testkit::extent;

const NEWEST: &str = "18";
const OLDEST: &str = "9.6";

fn scale() -> Scale {
    "0.01".parse().expect("a scale")
}

/// An empty database.
fn database(major: &str) -> (Target, Session) {
    let conninfo = Cluster::shared(major).database("tpch");
    let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target");
    (target, Cluster::session(&conninfo))
}

/// A database with the tables at scale 0.01: a copy of the one that was loaded first.
fn loaded(major: &str) -> Session {
    static LOADED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let template = all.entry(major.to_owned()).or_insert_with(|| {
        let (target, mut session) = database(major);
        let options = InitOptions { scale: scale(), ..InitOptions::default() };
        Tpch.load(&target, &mut session, &options, &mut |_| ControlFlow::Continue(())).expect("loading");
        let rows = session.query("select current_database()").expect("a name");
        rows[0].get(0).expect("a name").to_owned()
    });
    let (cluster, copy) =
        (Cluster::shared(major), format!("{template}_copy_{}", COPIES.fetch_add(1, Relaxed)));
    cluster.execute(&format!("create database {copy} template {template}"));
    Cluster::session(&cluster.conninfo().replace("dbname=postgres", &format!("dbname={copy}")))
}

/// Copies of loaded databases so far.
static COPIES: AtomicU32 = AtomicU32::new(0);

fn choice(text: &str, seed: Option<u64>, stream: u32) -> QueryChoice {
    let parameters = BTreeMap::new();
    QueryChoice { scale: scale(), text: Some(text.to_owned()), seed, data_seed: None, stream, parameters }
}

fn execute(session: &mut Session, query: &Query) -> Answer {
    session.patiently(|session| {
        let statements = |session: &mut Session, all: &[String]| {
            for sql in all {
                session.execute(sql).unwrap_or_else(|error| panic!("{}: {error}\n{sql}", query.name));
            }
        };
        statements(session, &query.before);
        let found = answer(session, &query.sql)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", query.name, query.sql));
        statements(session, &query.after);
        let checksum = Some(found.to_string().into());
        Answer { query: query.name.clone().into(), rows: found.rows(), checksum }
    })
}

fn answers(session: &mut Session, choice: &QueryChoice) -> Vec<Answer> {
    let queries = Tpch.queries(choice).expect("queries");
    queries.iter().map(|query| execute(session, query)).collect()
}

fn checked(session: &mut Session) -> Result<(), WorkloadError> {
    let workload: &dyn Workload = &Tpch;
    workload.run_checks(session, &workload.variables(&BTreeMap::new(), scale()))
}

/// Numbers of indexes and of foreign keys.
fn indexes_and_keys(session: &mut Session) -> (i32, i32) {
    let mut count = |sql: &str| -> i32 {
        let rows = session.query(sql).expect(sql);
        rows[0].get(0).expect("a count").parse().expect("a number")
    };
    let indexes = count("select count(*) from pg_indexes where schemaname = 'public'");
    (indexes, count("select count(*) from pg_constraint where contype = 'f'"))
}

fn check_answers(major: &str) {
    let mut session = loaded(major);
    checked(&mut session).expect("sound data");
    assert_eq!(indexes_and_keys(&mut session), (14, 8), "PostgreSQL {major}");
    assert_eq!(Tpch.find_tables(&mut session).expect("tables").scale, Some(scale()));
    for text in Tpch.query_texts() {
        let choice = choice(text, None, 0);
        let (found, expected) = (answers(&mut session, &choice), Tpch.answers(&choice));
        assert_eq!(expected.len(), 22);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "PostgreSQL {major}, text {text}");
        }
    }
}

#[test]
fn all_answers_are_the_expected_ones_on_the_newest_and_the_oldest_server() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        check_answers(major);
    }
}

#[test]
fn answers_do_not_depend_on_indexes_and_connections() {
    // Indexes and foreign keys of the tables. The tables of all other tests have the foreign keys.
    let all = [("none", 4, (0, 0)), ("foreign_keys", 2, (14, 8)), ("keys", 1, (8, 0))];
    for &(index_set, jobs, expected) in extent::choose(&all[..1], &all) {
        let (target, mut session) = database(NEWEST);
        let options = InitOptions {
            scale: scale(),
            jobs,
            indexes: Some(index_set.to_owned()),
            ..InitOptions::default()
        };
        Tpch.load(&target, &mut session, &options, &mut |_| ControlFlow::Continue(())).expect("loading");
        checked(&mut session).expect("sound data");
        assert_eq!(indexes_and_keys(&mut session), expected, "{index_set}");
        let choice = choice("rewritten", None, 0);
        assert_eq!(answers(&mut session, &choice), Tpch.answers(&choice), "{index_set}");
    }
}

#[test]
fn both_texts_have_the_same_answers_with_drawn_parameters() {
    let mut session = loaded(NEWEST);
    for seed in 1..=extent::choose(1, 3) {
        let [given, rewritten] =
            ["given", "rewritten"].map(|text| answers(&mut session, &choice(text, Some(seed), 1)));
        assert_eq!(given, rewritten, "seed {seed}");
    }
}

#[test]
fn streams_can_run_at_the_same_time() {
    let mut first = loaded(NEWEST);
    let mut second = Cluster::session(&conninfo_of(&mut first));
    let views: Vec<Vec<Query>> =
        [0, 1].map(|stream| Tpch.queries(&choice("given", None, stream)).expect("queries")).into();
    for (session, queries) in [(&mut first, &views[0]), (&mut second, &views[1])] {
        for sql in &queries[14].before {
            session.execute(sql).expect("a view for each stream");
        }
    }
    let rows = |session: &mut Session, query: &Query| session.query(&query.sql).expect("an answer").len();
    assert_eq!((rows(&mut first, &views[0][14]), rows(&mut second, &views[1][14])), (1, 1));
}

fn conninfo_of(session: &mut Session) -> String {
    let rows = session.query("select current_database()").expect("a name");
    let name = rows[0].get(0).expect("a name").to_owned();
    Cluster::shared(NEWEST).conninfo().replace("dbname=postgres", &format!("dbname={name}"))
}

#[test]
fn a_pair_of_refresh_functions_leaves_the_data_as_they_were() {
    let mut session = loaded(NEWEST);
    let count = |session: &mut Session| -> Vec<String> {
        ["orders", "lineitem"]
            .map(|table| session.query(&format!("select count(*) from {table}")).expect("a count"))
            .iter()
            .map(|rows| rows[0].get(0).expect("a count").to_owned())
            .collect()
    };
    let before = count(&mut session);
    // The last pair before keys are used again, and one of each other group of free keys.
    for &pair in extent::choose(&[2999][..], &[0, 1000, 2999]) {
        let [insert, delete] = Tpch.refresh(scale(), pair).expect("refresh functions");
        execute(&mut session, &insert);
        let more = count(&mut session);
        assert_eq!(more[0], "15015", "a thousandth of the orders is new");
        let failed = checked(&mut session).expect_err("more orders than the scale has").to_string();
        assert!(failed.contains("1 check of the workload tpch failed: rows (1 row: orders"), "{failed}");
        execute(&mut session, &delete);
        assert_eq!(count(&mut session), before, "pair {pair}");
    }
    checked(&mut session).expect("sound data");
    let choice = choice("given", None, 0);
    assert_eq!(answers(&mut session, &choice), Tpch.answers(&choice));
}

#[test]
fn checks_find_damaged_data() {
    let mut session = loaded(NEWEST);
    session.execute("alter table lineitem drop constraint lineitem_l_orderkey_fkey").expect("no foreign key");
    for (damage, check) in [
        ("delete from orders where o_orderkey = 1", "references (1 row: lineitem (l_orderkey) | 6)"),
        ("update lineitem set l_tax = l_tax + 0.01 where l_orderkey = 2", "prices (1 row: 2 | "),
        ("update orders set o_orderstatus = 'P' where o_orderkey = 3", "states (1 row: 3 | P | F | F)"),
        ("delete from customer where c_custkey = 3", "rows (1 row: customer | 1499 | 1500 | 1500)"),
    ] {
        session.execute("begin").expect("a transaction");
        session.execute(damage).expect("damage");
        let failed = checked(&mut session).expect_err(damage).to_string();
        assert!(failed.contains(check), "{damage}: {failed}");
        session.execute("rollback").expect("undone");
    }
}

#[test]
fn scales_without_unique_keys_are_refused() {
    let (target, mut session) = database(NEWEST);
    for (scale, reason) in [
        ("0.012", "its rows would have duplicate keys. Use scale 0.01, or a scale from 0.023 to 10000"),
        ("10001", "the largest scale is 10000"),
    ] {
        let options = InitOptions { scale: scale.parse().expect("a scale"), ..InitOptions::default() };
        let refused = Tpch.load(&target, &mut session, &options, &mut |_| ControlFlow::Continue(()));
        let message = refused.expect_err("not supported").to_string();
        assert_eq!(message, format!("the workload tpch does not support scale {scale}: {reason}"));
    }
    let missing = Tpch.find_tables(&mut session).expect_err("no tables").to_string();
    assert!(
        missing.contains(
            "has no table supplier. Create and fill the tables with `pgmeter init --workload tpch`"
        )
    );
}
