//! On real servers: tables with constraints of each kind, whose rows are refused in part.
//! The rows come from sources of the tests, not from `datagen`.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use connect::{Environment, Overrides, Session, Target};
use testkit::cluster::Cluster;
use testkit::extent;

use super::*;
use crate::contract::load::{InitOptions, InitProgress, InitReport};
use crate::contract::table_name::TableName;
use crate::loader::execution::{LoadStatement, LoadTable, RowWriter, TableSet, load_tables};

const VERSIONS: [&str; 4] = ["18", "11", "10", "9.6"];

/// Rows whose values depend on their number and on the attempt.
struct TestRows(u64, fn(u32, u64) -> String);

impl std::fmt::Debug for TestRows {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} rows", self.0)
    }
}

impl RowSource for TestRows {
    fn rows(&self) -> u64 {
        self.0
    }

    fn writer(&self, number: u32, chunks: u32) -> Box<dyn RowWriter + '_> {
        let bound = |number: u32| self.0 * u64::from(number) / u64::from(chunks);
        Box::new(Written(self, bound(number)..bound(number + 1)))
    }

    fn write_again(&self, attempt: u32, rows: Range<u64>, out: &mut Vec<u8>) -> u64 {
        for row in rows.clone() {
            writeln!(out, "{}", (self.1)(attempt, row)).expect("memory");
        }
        rows.end - rows.start
    }
}

struct Written<'a>(&'a TestRows, Range<u64>);

impl RowWriter for Written<'_> {
    fn write(&mut self, out: &mut Vec<u8>) -> u64 {
        let rows = self.1.clone();
        self.1.start = rows.end;
        self.0.write_again(0, rows, out)
    }
}

fn judge(columns: &[(&str, &str)]) -> Judge {
    let columns = columns.iter().map(|(name, sql_type)| ((*name).to_owned(), (*sql_type).to_owned()));
    Judge {
        columns: columns.collect(),
        conditions: Vec::new(),
        references: Vec::new(),
        constraints: Vec::new(),
        refusal: None,
        has_open_keys: false,
        primary_is_met: false,
        is_directed: true,
    }
}

fn reference(column: &str, referenced: &str, referenced_column: &str) -> JudgedReference {
    JudgedReference {
        columns: vec![column.to_owned()],
        referenced: referenced.to_owned(),
        referenced_columns: vec![referenced_column.to_owned()],
        is_full: false,
        is_nullable: false,
        is_to_itself: false,
    }
}

fn table(name: &str, judge: Judge, source: TestRows) -> LoadTable {
    let columns: Vec<&str> = judge.columns.iter().map(|(column, _)| column.as_str()).collect();
    LoadTable {
        table: TableName::new(name),
        columns: format!(" ({})", columns.join(", ")),
        source: Arc::new(source),
        judge: Some(Arc::new(judge)),
        fallback: None,
        references: Vec::new(),
    }
}

fn set(schema: &[&str], tables: Vec<LoadTable>) -> TableSet {
    TableSet {
        workload: "judged".to_owned(),
        folder: String::new(),
        init: "pgmeter init judged".to_owned(),
        schema: schema.iter().map(|sql| LoadStatement::new(*sql)).collect(),
        names: tables.iter().map(|table| table.table.clone()).collect(),
        tables,
        after: Vec::new(),
        ..TableSet::default()
    }
}

fn target(conninfo: &str) -> Target {
    connect::resolve(Some(conninfo), &Overrides::default(), &Environment::default()).expect("a target")
}

/// Loads the tables with one or more connections; returns what was told of them.
fn loaded(session: &mut Session, conninfo: &str, set: &TableSet, jobs: u32) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    let mut progress = |progress: InitProgress<'_>| {
        if let InitProgress::Found(sentence) = progress {
            found.lock().expect("a list").push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    };
    let options = InitOptions { jobs, ..InitOptions::default() };
    let report = load_tables(&target(conninfo), session, (set, &|_| Ok(None)), &options, &mut progress);
    report.unwrap_or_else(|error| panic!("{error}"));
    found.into_inner().expect("a list")
}

fn lines(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.query(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()).collect()
}

/// A set of one table, loaded into a new database.
fn load_one(major: &str, schema: &[&str], table: impl Fn() -> LoadTable) -> (Session, Vec<String>) {
    let conninfo = Cluster::shared(major).database("judged");
    let mut session = Cluster::session(&conninfo);
    let found = loaded(&mut session, &conninfo, &set(schema, vec![table()]), 2);
    assert_eq!(lines(&mut session, "select count(*) from pg_class where relname ~ '^pgmeter'"), ["0"]);
    (session, found)
}

/// A number from others, always the same.
fn mixed(attempt: u32, row: u64) -> u64 {
    let mut value = (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(attempt) + 1);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33
}

#[test]
fn rows_that_violate_a_check_are_drawn_again() {
    for major in Cluster::versions(VERSIONS) {
        let schema = [
            "create table t (id integer primary key, a integer, b integer, constraint t_check check (a < b))",
        ];
        let (mut session, found) = load_one(major, &schema, || {
            let mut judge = judge(&[("id", "integer"), ("a", "integer"), ("b", "integer")]);
            judge.conditions.push("(a < b)".to_owned());
            judge.constraints.push("t_check".to_owned());
            let row =
                |attempt, row| format!("{row}\t{}\t{}", mixed(attempt, row) % 9, mixed(attempt, row) % 7);
            table("t", judge, TestRows(2500, row))
        });
        let counted = "select concat(count(*), ' ', min(id), ' ', max(id), ' ', bool_and(a < b)) from t";
        assert_eq!(lines(&mut session, counted), ["2500 0 2499 t"], "{major}");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("public.t: all 2,500 rows; the server accepted "), "{found:?}");
        assert!(
            found[0].contains("It checked them because pgmeter cannot guarantee t_check. Directives"),
            "{found:?}"
        );
    }
}

#[test]
fn the_rows_are_the_same_with_several_connections() {
    // Two chunks.
    const ROWS: u64 = 100_000;
    let mut sums = Vec::new();
    for jobs in [1, 4] {
        let conninfo = Cluster::shared("18").database("judged_jobs");
        let mut session = Cluster::session(&conninfo);
        let schema =
            ["create table one (id integer primary key)", "create table two (one integer references one)"];
        let mut two = judge(&[("one", "integer")]);
        two.references.push(reference("one", "public.one", "id"));
        let mut one =
            table("one", judge(&[("id", "integer")]), TestRows(ROWS, |_, row| (row * 2).to_string()));
        one.judge = None;
        let two = table(
            "two",
            two,
            TestRows(ROWS / 10, |attempt, row| (mixed(attempt, row) % (2 * ROWS)).to_string()),
        );
        loaded(&mut session, &conninfo, &set(&schema, vec![one, two]), jobs);
        let sum = "select concat(count(*), ' ', sum(one::bigint * one)) from two";
        sums.extend(lines(&mut session, sum));
        assert_eq!(
            lines(
                &mut session,
                "select count(*) from pg_constraint where contype in ('p', 'f') and conrelid >= 16384"
            ),
            ["2"]
        );
    }
    assert!(sums[0].starts_with("10000 "), "{sums:?}");
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn unique_indexes_and_exclusion_constraints_stay_in_place() {
    for major in Cluster::versions(VERSIONS) {
        let schema = [
            "create table t (name text, period int4range, exclude using gist (period with &&))",
            "create unique index on t (lower(name))",
        ];
        let (mut session, found) = load_one(major, &schema, || {
            let row = |attempt, row| {
                let number = mixed(attempt, row);
                let letter = if number.is_multiple_of(2) { 'a' } else { 'A' };
                format!("{letter}{}\t[{start},{})", number % 700, number % 900 + 1, start = number % 900)
            };
            table("t", judge(&[("name", "text"), ("period", "int4range")]), TestRows(400, row))
        });
        let counted =
            "select concat(count(*), ' ', count(distinct lower(name)), ' ', count(distinct period)) from t";
        assert_eq!(lines(&mut session, counted), ["400 400 400"], "{major} {found:?}");
    }
}

#[test]
fn rows_may_reference_rows_of_the_same_table() {
    for major in Cluster::versions(VERSIONS) {
        let schema = ["create table t (id integer primary key, parent integer references t)"];
        let (mut session, found) = load_one(major, &schema, || {
            let mut judge = judge(&[("id", "integer"), ("parent", "integer")]);
            judge
                .references
                .push(JudgedReference { is_to_itself: true, ..reference("parent", "public.t", "id") });
            let row = |attempt, row: u64| match row {
                0 => "0\t0".to_owned(),
                _ => format!("{row}\t{}", mixed(attempt, row) % (2 * row)),
            };
            table("t", judge, TestRows(1000, row))
        });
        assert_eq!(lines(&mut session, "select count(*) from t"), ["1000"], "{major} {found:?}");
        assert_eq!(lines(&mut session, "select count(*) from pg_constraint where contype = 'f'"), ["1"]);
    }
}

#[test]
fn errors_of_single_rows_refuse_only_these() {
    // Before version 16, no function says whether a text is a value of a type.
    for &major in extent::choose(&["18", "9.6"][..], &VERSIONS) {
        let schema = [
            "create domain positive as integer check (value > 0)",
            "create function refuse() returns trigger language plpgsql as $$ begin \
             if new.b % 100 = 50 then raise exception 'no %', new.b; end if; return new; end $$",
            "create table t (a positive, b integer unique deferrable initially deferred)",
            "create trigger refuse before insert on t for each row execute procedure refuse()",
        ];
        let (mut session, found) = load_one(major, &schema, || {
            let row = |attempt: u32, row: u64| {
                let is_first = attempt == 0;
                let a = if is_first && row.is_multiple_of(120) { -5 } else { 5 };
                let b = if is_first && row % 70 == 3 { 1 } else { row + 1000 * u64::from(attempt) };
                format!("{a}\t{b}")
            };
            table("t", judge(&[("a", "public.positive"), ("b", "integer")]), TestRows(200, row))
        });
        let counted =
            "select concat(count(*), ' ', count(distinct b), ' ', min(a)) from t where b % 100 <> 50";
        // A row whose number ends in 50 is refused in each attempt, unless another one was drawn for it.
        let count = lines(&mut session, counted);
        assert_eq!(count, ["198 198 5"], "{major} {found:?}");
        assert!(found[0].starts_with("public.t: only 198 of 200 rows; the server accepted "), "{found:?}");
    }
}

#[test]
fn rows_without_a_key_are_never_more_than_wanted() {
    for major in Cluster::versions(["18", "9.6"]) {
        let schema = [
            "create table t (a integer check (a % 3 > 0))",
            "create function change() returns trigger language plpgsql as 'begin new.a := new.a + 3; return new; end'",
            "create trigger change before insert on t for each row execute procedure change()",
        ];
        let (mut session, found) = load_one(major, &schema, || {
            let mut judge = judge(&[("a", "integer")]);
            judge.conditions.push("((a % 3) > 0)".to_owned());
            table("t", judge, TestRows(3000, |attempt, row| mixed(attempt, row).to_string()))
        });
        assert_eq!(lines(&mut session, "select count(*) from t"), ["3000"], "{major} {found:?}");
    }
}

#[test]
fn triggers_that_divide_a_table_do_not_get_rows_twice() {
    let schema = [
        "create table t (a integer)",
        "create table t_even (check (a % 2 = 0)) inherits (t)",
        "create function divide() returns trigger language plpgsql as $$ begin \
         if new.a % 2 = 0 then insert into public.t_even values (new.a); return null; end if; return new; end $$",
        "create trigger divide before insert on t for each row execute procedure divide()",
    ];
    let (mut session, found) = load_one("18", &schema, || {
        let row = |_, row: u64| row.to_string();
        table("t", judge(&[("a", "integer")]), TestRows(1000, row))
    });
    assert_eq!(
        lines(&mut session, "select concat(count(*), ' ', count(distinct a)) from t"),
        ["1000 1000"],
        "{found:?}"
    );
    assert_eq!(lines(&mut session, "select count(*) from only t"), ["500"]);
}

#[test]
fn partitioned_tables_get_the_rows_that_have_a_partition() {
    for major in Cluster::versions(["18", "11", "10"]) {
        let schema = [
            "create table t (id integer, a integer) partition by range (a)",
            "create table t_1 partition of t (primary key (id)) for values from (0) to (50)",
        ];
        let (mut session, found) = load_one(major, &schema, || {
            let row = |attempt, row| format!("{}\t{}", mixed(attempt, row) % 3000, mixed(attempt, row) % 51);
            table("t", judge(&[("id", "integer"), ("a", "integer")]), TestRows(300, row))
        });
        let counted = "select concat(count(*), ' ', count(distinct id)) from t";
        assert_eq!(lines(&mut session, counted), ["300 300"], "{major} {found:?}");
    }
}

#[test]
fn identity_columns_get_the_values_of_the_rows() {
    for major in Cluster::versions(["18", "10"]) {
        let schema = ["create table t (id integer generated always as identity)"];
        let (mut session, found) = load_one(major, &schema, || {
            table("t", judge(&[("id", "integer")]), TestRows(10, |_, row| (row * 7).to_string()))
        });
        assert_eq!(lines(&mut session, "select concat(count(*), ' ', max(id)) from t"), ["10 63"], "{major}");
        let kept = "public.t: all 10 rows; the server accepted 100 % of 10 generated rows. It checked them because they \
                    reference rows that it checked";
        assert_eq!(found, [kept]);
    }
}

#[test]
fn conditions_may_need_the_search_path_of_the_schema() {
    let schema = [
        "create table known (a integer)",
        "insert into known values (1), (2)",
        "create function is_known(integer) returns boolean language sql as \
         'select exists (select 1 from known where a = $1)'",
        "create table t (a integer check (is_known(a)))",
    ];
    let (mut session, found) = load_one("18", &schema, || {
        let mut judge = judge(&[("a", "integer")]);
        judge.conditions.push("public.is_known(a)".to_owned());
        table("t", judge, TestRows(100, |attempt, row| (mixed(attempt, row) % 3).to_string()))
    });
    assert_eq!(lines(&mut session, "select count(*) from t"), ["100"], "{found:?}");
}

#[test]
fn a_table_that_accepts_no_row_is_given_up_early() {
    let schema = ["create table t (a integer constraint never check (a < 0))"];
    let (mut session, found) = load_one("18", &schema, || {
        let mut judge = judge(&[("a", "integer")]);
        judge.conditions.push("(a < 0)".to_owned());
        judge.constraints.push("never".to_owned());
        table("t", judge, TestRows(30_000, |_, row| row.to_string()))
    });
    assert_eq!(lines(&mut session, "select count(*) from t"), ["0"]);
    assert_eq!(
        found,
        [
            "public.t: only 0 of 30,000 rows; the server accepted 0 % of 90,000 generated rows. It checked them because \
          pgmeter cannot guarantee never. Directives for the columns of the constraints can raise this share"
        ]
    );
}

#[test]
fn an_interrupted_loading_is_resumed() {
    let conninfo = Cluster::shared("18").database("judged");
    let mut session = Cluster::session(&conninfo);
    let row = |attempt, row| format!("{row}\t{}", mixed(attempt, row) % 9);
    let mut judge = judge(&[("id", "integer"), ("a", "integer")]);
    judge.conditions.push("(a > 3)".to_owned());
    let tables = vec![table("t", judge, TestRows(2500, row))];
    let set = set(&["create table t (id integer primary key, a integer check (a > 3))"], tables);
    let mut stop = |progress: InitProgress<'_>| match progress {
        InitProgress::Started { doing: "loading rows" } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let options = InitOptions::default();
    let stopped = load_tables(&target(&conninfo), &mut session, (&set, &|_| Ok(None)), &options, &mut stop);
    assert!(stopped.is_err_and(|error| error.to_string().contains("interrupted")));
    let options = InitOptions { resumes: true, ..options };
    let resumed = load_tables(&target(&conninfo), &mut session, (&set, &|_| Ok(None)), &options, &mut |_| {
        ControlFlow::Continue(())
    });
    resumed.unwrap_or_else(|error| panic!("{error}"));
    let counted = "select concat(count(*), ' ', count(distinct id), ' ', min(a)) from t";
    assert_eq!(lines(&mut session, counted), ["2500 2500 4"]);
}

/// Finding invalid values by halving stops after some of them.
#[test]
fn values_that_are_often_invalid_are_found_at_once_since_16() {
    let schema = ["create domain even as integer check (value % 2 = 0)", "create table t (a even)"];
    let (mut session, found) = load_one("18", &schema, || {
        let row = |attempt, row| mixed(attempt, row).to_string();
        table("t", judge(&[("a", "public.even")]), TestRows(5000, row))
    });
    assert_eq!(lines(&mut session, "select count(*) from t"), ["5000"], "{found:?}");
}

/// Errors that no row causes end the loading.
#[test]
fn other_errors_end_the_loading() {
    let conninfo = Cluster::shared("18").database("judged");
    let mut session = Cluster::session(&conninfo);
    let tables = vec![table("t", judge(&[("a", "public.missing")]), TestRows(10, |_, row| row.to_string()))];
    let set = set(&["create table t (a integer)"], tables);
    let options = InitOptions::default();
    let done: Result<InitReport, _> =
        load_tables(&target(&conninfo), &mut session, (&set, &|_| Ok(None)), &options, &mut |_| {
            ControlFlow::Continue(())
        });
    let error = done.expect_err("the type is missing").to_string();
    assert!(error.contains("type \"public.missing\" does not exist"), "{error}");
    assert!(error.contains("Query was: create temporary table pg_temp.pgmeter_staging"), "{error}");
}

#[test]
fn a_loading_is_interrupted_between_two_draws() {
    let conninfo = Cluster::shared("18").database("judged");
    let mut session = Cluster::session(&conninfo);
    session.execute("create table t (a integer)").expect("a table");
    session.execute("begin").expect("a transaction");
    let judge = judge(&[("a", "integer")]);
    let source = TestRows(1000, |_, row| row.to_string());
    let mut told = Vec::new();
    let mut tell = |rows, bytes| {
        told.push((rows, bytes));
        if told.len() == 3 { Err(WorkloadError::Interrupted { cancelled: None }) } else { Ok(()) }
    };
    let done = load(&mut session, &judge, &source, "public.t", &mut tell);
    assert!(matches!(done, Err(WorkloadError::Interrupted { .. })), "{done:?}");
    assert_eq!(told, [(0, 0), (100, 290), (200, 690)]);
}

#[test]
fn the_user_learns_why_rows_were_judged_and_what_can_help() {
    let mut judge = judge(&[("a", "integer")]);
    let mut sentence = |wanted, kept, drawn, constraints: &[&str], refusal: Option<&str>| {
        judge.constraints = constraints.iter().map(|name| (*name).to_owned()).collect();
        judge.refusal = refusal.map(str::to_owned);
        Outcome { wanted, kept, drawn }.sentence("shop.orders", &judge)
    };
    assert_eq!(
        sentence(1000, 812, 20_312, &["orders_check", "orders_period_excl"], None),
        "shop.orders: only 812 of 1,000 rows; the server accepted 3 % of 20,312 generated rows. It checked them because \
         pgmeter cannot guarantee orders_check, orders_period_excl. Directives for the columns of the constraints can raise \
         this share"
    );
    let most = sentence(100, 100, 161, &["a"], None);
    assert!(
        most.ends_with(
            "all 100 rows; the server accepted 62 % of 161 generated rows. It checked them because pgmeter \
                            cannot guarantee a"
        ),
        "{most}"
    );
    let all = sentence(100, 100, 100, &["a"], None);
    assert!(
        all.ends_with(
            "guarantee a. It rejected none, so the directive `-- df: direct` after the name of the table is \
                           enough, and faster"
        ),
        "{all}"
    );
    assert!(sentence(100, 100, 100, &[], None).ends_with("because they reference rows that it checked"));
    assert!(sentence(100, 10, 100, &[], None).ends_with("because they reference rows that it checked"));
    let refused = sentence(100, 100, 100, &[], Some("no"));
    assert!(refused.ends_with("because it had rejected a row (no)"), "{refused}");
    let many = sentence(1000, 1, 20_312, &["a", "b", "c", "d", "e", "f", "g"], None);
    assert!(many.contains("accepted less than 1 % of 20,312 generated rows. "), "{many}");
    assert!(many.contains("guarantee a, b, c, d, e, 2 more. "), "{many}");
    assert!(sentence(10, 0, 0, &[], None).starts_with("shop.orders: only 0 of 10 rows; "));
}

#[test]
fn each_line_gets_the_number_of_its_row() {
    let numbers: BTreeSet<u64> = (0..33).chain([40, 42, 43]).collect();
    assert_eq!(runs(&numbers), [0..32, 32..33, 40..41, 42..44]);
    let mut out = Vec::new();
    add_numbers(b"a\tb\\n\nc\td\n", 42, &mut out);
    assert_eq!(out, b"42\ta\tb\\n\n43\tc\td\n");
}
