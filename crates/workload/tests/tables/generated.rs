//! Workloads whose rows are generated from a schema: loading in chunks, keys and indexes after the rows, marks, resuming,
//! and the protection of tables that others made.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use testkit::cluster::Cluster;
use testkit::extent;

use connect::Session;
use pgmeter_workload::{
    Folder, InitOptions, InitProgress, InitReport, Loaded, Workload, WorkloadError, loaded, read_folder,
};
use stats::Scale;
use tempfile::TempDir;

use crate::harness::{NEWEST, OLDEST, lines, session, target, vacuum_all};
use crate::interrupted::{TWO_CHUNKS, undisturbed};

const SCHEMA: &str = "\
    CREATE TYPE mood AS ENUM ('good', 'bad');\n\
    CREATE DOMAIN price AS numeric(8,2) CHECK (VALUE > 0);\n\
    CREATE TABLE orders( -- df: mult=10\n\
      id serial PRIMARY KEY,\n\
      customer bigint NOT NULL REFERENCES customer,\n\
      mood mood,\n\
      net price NOT NULL -- df: float=log alpha=3\n\
    );\n\
    CREATE TABLE customer(\n\
      id bigint PRIMARY KEY,\n\
      email text UNIQUE NOT NULL\n\
    );\n\
    COMMENT ON TABLE customer IS 'Who buys';\n\
    CREATE INDEX orders_customer ON orders (customer);\n\
    CREATE MATERIALIZED VIEW bad AS SELECT * FROM orders WHERE mood = 'bad';\n\
    CREATE VIEW all_bad AS SELECT count(*) FROM bad;\n\
    CREATE VIEW good AS SELECT * FROM orders WHERE mood = 'good';\n";

/// A folder with these files; the schema's tables are in an order that is not that of their foreign keys.
pub(crate) fn folder(schema: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let manifest = ("workload.toml", "name = \"own\"\ntitle = \"Own tables\"\n");
    for (name, text) in files.iter().chain(&[manifest, ("schema.sql", schema)]) {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    folder
}

pub(crate) fn sorted_schema() -> String {
    let (orders, customer) = SCHEMA.split_once("CREATE TABLE customer").expect("two tables");
    let (types, orders) = orders.split_once("CREATE TABLE orders").expect("two tables");
    let (customer, rest) = customer.split_once("COMMENT").expect("a comment");
    format!("{types}CREATE TABLE customer{customer}CREATE TABLE orders{orders}COMMENT{rest}")
}

/// The same tables without views, with ten times as many orders.
pub(crate) fn many_orders() -> String {
    let schema = sorted_schema().replace("mult=10", "mult=100");
    let (tables, _) = schema.split_once("CREATE MATERIALIZED VIEW").expect("a view");
    tables.to_owned()
}

pub(crate) fn open(folder: &TempDir) -> Folder {
    read_folder(folder.path()).expect("it is sound")
}

pub(crate) fn load(
    workload: &dyn Workload,
    session: &mut Session,
    options: &InitOptions,
) -> Result<InitReport, WorkloadError> {
    workload.load(&target(session), session, options, &mut |_| ControlFlow::Continue(()))
}

/// The scale that gives so many rows to each table.
pub(crate) fn scaled(rows: f64) -> InitOptions {
    InitOptions { scale: Scale::new(rows / 100.0).expect("a scale"), ..InitOptions::default() }
}

/// Number and checksum of all rows.
pub(crate) fn rows(session: &mut Session) -> Vec<String> {
    let md5 = |table: &str| {
        format!("select count(*) || ' ' || md5(string_agg(t::text, ',' order by id)) from {table} t")
    };
    lines(session, &format!("{} union all {}", md5("customer"), md5("orders")))
}

pub(crate) fn keys(session: &mut Session) -> Vec<String> {
    lines(
        session,
        "select pg_get_constraintdef(oid) from pg_constraint where conrelid::regclass::text in ('customer', 'orders') \
         and contype <> 'n' order by 1",
    )
}

/// Loads many orders; returns their rows and keys.
pub(crate) fn check_two_chunks(session: &mut Session, jobs: u32) -> (Vec<String>, Vec<String>) {
    let own = open(&folder(&many_orders(), &[]));
    let report = load(&own, session, &InitOptions { jobs, ..scaled(TWO_CHUNKS) }).expect("it is loaded");
    let names: Vec<&str> = report.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["tables", "rows", "keys", "indexes", "foreign keys", "finish", "vacuum"]);
    assert_eq!(lines(session, "select nextval('orders_id_seq')"), ["100001"]);
    (rows(session), keys(session))
}

/// `undisturbed` loads them by two connections.
#[test]
fn rows_are_the_same_with_one_connection_and_with_eight() {
    let mut seen = vec![undisturbed().clone()];
    for &(major, jobs) in extent::choose(&[(NEWEST, 1)][..], &[(NEWEST, 1), (NEWEST, 8), (OLDEST, 2)]) {
        let mut session = session(major, "jobs");
        seen.push(check_two_chunks(&mut session, jobs));
        if jobs == 1 {
            // Frozen rows are visible to all at once; otherwise a snapshot of another program can delay it.
            let all_visible = "select relallvisible = relpages from pg_class where relname = 'orders'";
            assert_eq!(lines(&mut session, all_visible), ["t"]);
        }
        assert_eq!(lines(&mut session, "select count(*) from pg_class where relname ~ '^pgmeter'"), ["0"]);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    assert_eq!(
        seen[0].1,
        [
            "FOREIGN KEY (customer) REFERENCES customer(id)",
            "PRIMARY KEY (id)",
            "PRIMARY KEY (id)",
            "UNIQUE (email)"
        ]
    );
}

#[test]
fn marks_say_what_was_loaded_and_own_tables_are_replaced() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "marks");
        assert_eq!(loaded(&mut session, &own).expect("an answer"), None);
        let options = InitOptions { seed: Some(7), ..scaled(20.0) };
        load(&own, &mut session, &options).expect("it is loaded");
        let comment = "select obj_description('customer'::regclass)";
        let without_digest = "select regexp_replace(obj_description('customer'::regclass), '(digest|definition|folder|dependents)=[0-9a-f,]* ', '', 'g')";
        assert_ne!(lines(&mut session, comment), lines(&mut session, without_digest));
        let own_mark = "select 'Who buys\npgmeter: workload=own scale=0.2 seed=7 indexes=schema state=loaded oid=' \
                        || 'customer'::regclass::oid || ' name=public.customer rows=20 database=' || (select oid from pg_database \
                        where datname = current_database()) || ' system=' || system_identifier \
                        from pg_control_system()";
        assert_eq!(lines(&mut session, without_digest), lines(&mut session, own_mark));
        let first = rows(&mut session);
        load(&own, &mut session, &InitOptions { indexes: Some("none".to_owned()), ..scaled(30.5) })
            .expect("the old tables are dropped");
        let found = loaded(&mut session, &own).expect("an answer").expect("tables");
        let scale = Scale::new(0.305).expect("a scale");
        let (indexes, parameters) = (Some("none".to_owned()), BTreeMap::new());
        let expected =
            Loaded { scale, seed: None, indexes, parameters, rows: BTreeMap::new(), complete: true };
        assert_eq!(found, expected);
        assert_eq!(own.find_tables(&mut session).expect("tables").scale, Some(scale));
        assert_ne!(lines(&mut session, "select count from all_bad"), ["0"]);
        assert_ne!(first, rows(&mut session));
        assert_eq!(
            lines(&mut session, "select count(*) from pg_class where relname = 'orders_customer'"),
            ["0"]
        );
    }
}

#[test]
fn a_table_of_others_is_never_touched_without_permission() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "strangers");
    session.execute("create table orders (x int); insert into orders values (42)").expect("a table");
    let error = load(&own, &mut session, &scaled(10.0)).expect_err("a stranger").to_string();
    assert!(error.starts_with("public.orders exists already and was not made by `init`"), "{error}");
    assert!(error.contains("--drop"), "{error}");
    assert_eq!(lines(&mut session, "select x from orders"), ["42"]);
    assert_eq!(lines(&mut session, "select count(*) from pg_type where typname = 'mood'"), ["0"]);
    load(&own, &mut session, &InitOptions { drops: true, ..scaled(10.0) }).expect("it is dropped");
    assert_eq!(lines(&mut session, "select count(*) from orders"), ["100"]);
}

/// The rows are counted whatever the text says: `init` has kept their numbers.
#[test]
fn rows_are_checked_where_the_text_does_not_tell_their_number() {
    let schema = "create table kinds (a int);\ninsert into kinds values (1), (2);\n\
                  create table people (id int primary key, even int check (even % 2 = 0), boss int, gone int);\n\
                  alter table people drop column gone;\n\
                  create table bosses (id int primary key, person int not null references people);\n\
                  alter table people add foreign key (boss) references bosses;\n";
    let folder = folder(schema, &[]);
    let (own, none) = (open(&folder), BTreeMap::new());
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "counted");
        load(&own, &mut session, &scaled(20.0)).expect("it is loaded");
        let workload: &dyn Workload = &own;
        assert!(workload.check_data(&mut session, &none, None).expect("sound") >= 3, "{major}");
        session.execute("delete from kinds where a = 1; truncate people cascade").expect("changes");
        let error = workload.check_data(&mut session, &none, None).expect_err("rows").to_string();
        for expected in ["kinds has 1 row; init loaded 2, and a run", "people has 0 rows; init loaded"] {
            assert!(error.contains(expected), "{major}: {error}");
        }
        session.execute("do $$ declare t text; begin foreach t in array '{kinds,people,bosses}'::text[] loop \
            execute format('comment on table %I is %L', t, regexp_replace(obj_description(t::regclass), ' (rows|foreign_keys)=[^ ]+', '', 'g')); \
            end loop; end $$").expect("marks of an earlier version");
        let error = workload.check_data(&mut session, &none, None).expect_err("nothing").to_string();
        assert!(error.starts_with("there is nothing to check: the workload "), "{major}: {error}");
    }
}

#[test]
fn checks_of_generated_tables_find_missing_rows_and_references_without_partner() {
    let folder = folder(&sorted_schema(), &[("checks/net.sql", "SELECT id FROM orders WHERE net > 1e7;")]);
    let own = open(&folder);
    let none = BTreeMap::new();
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "checked");
        load(&own, &mut session, &scaled(20.0)).expect("it is loaded");
        let workload: &dyn Workload = &own;
        assert_eq!(workload.check_data(&mut session, &none, None).expect("sound"), 4);
        let other = workload.check_data(&mut session, &none, Some(Scale::from(7))).expect_err("other scale");
        assert!(other.to_string().contains("have scale 0.2, not 7; leave out --scale"), "{other}");
        session
            .execute(
                "alter table orders drop constraint orders_customer_fkey; \
                 update orders set customer = 999 where id = 5; delete from customer where id = 20",
            )
            .expect("changes");
        let error = workload.check_data(&mut session, &none, None).expect_err("not sound").to_string();
        assert!(error.contains("customer has 19 rows; init loaded 20, and a run"), "{error}");
        assert!(error.contains(" without a partner in customer, such as (customer) = ("), "{error}");
        session.execute("create role reader; set role reader").expect("a role");
        let refused = workload.check_data(&mut session, &none, None).expect_err("no privilege").to_string();
        assert!(refused.starts_with("cannot check ") && refused.contains("permission denied"), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
        session.execute("reset role; drop role reader").expect("the role is dropped");
        assert!(vacuum_all(workload, &mut session).is_empty());
        let counted = session.query("select reltuples from pg_class where oid = 'customer'::regclass");
        assert_eq!(counted.expect("a table")[0].get(0), Some("19"), "analyzed again");
    }
}

#[test]
fn the_foreign_keys_of_a_mark_are_names_and_no_sql() {
    let own = open(&folder(&sorted_schema(), &[]));
    let workload: &dyn Workload = &own;
    let none = BTreeMap::new();
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "marked");
        load(&own, &mut session, &scaled(20.0)).expect("it is loaded");
        let comment = session.query("select obj_description('orders'::regclass)").expect("a comment")[0]
            .get(0)
            .expect("the mark")
            .to_owned();
        let (before, after) = comment.split_once(" foreign_keys=").expect("a foreign key");
        let (key, rest) = after.split_once(' ').expect("other words");
        let (rows, columns) = key.split_once(',').expect("two tables");
        session
            .execute("create function called(orders) returns int language sql as 'select 1/0'")
            .expect("it is made");
        for foreign in [
            format!("(select%201/0)%20as%20x,{columns}"),
            format!("{rows},pg_catalog.pg_class,called,oid"),
            format!("{rows},no_table,customer,id"),
            "%".to_owned(),
        ] {
            let comment = format!("{before} foreign_keys={foreign} {rest}").replace('\'', "''");
            session.execute(&format!("comment on table orders is '{comment}'")).expect("it is the owner's");
            let error = workload.check_data(&mut session, &none, None).expect_err("no such key").to_string();
            assert!(error.contains("has lost a foreign key that init loaded"), "{foreign}: {error}");
            assert!(!error.contains("division by zero"), "{foreign}: {error}");
        }
    }
}

#[test]
fn unknown_options_are_explained() {
    let folder = folder("CREATE TABLE t (a int);", &[]);
    let own = open(&folder);
    let indexes = InitOptions { indexes: Some("schem".to_owned()), ..scaled(1.0) };
    let error = own.check_options(&indexes).expect_err("unknown").to_string();
    assert_eq!(error, "the workload own has no index set \"schem\"; did you mean schema?");
    let error = own.check_options(&InitOptions { fillfactor: 50, ..scaled(1.0) }).expect_err("not here");
    assert!(
        error
            .to_string()
            .starts_with("the workload own does not support a fillfactor: only the workload tpcb does"),
        "{error}"
    );
}

/// Three values are possible, whatever is drawn.
#[test]
fn rows_that_a_constraint_refuses_are_counted_and_said() {
    for constraint in [
        "CREATE UNIQUE INDEX t_a ON t ((a + 0))",
        "ALTER TABLE t ADD CONSTRAINT t_a EXCLUDE USING btree (a WITH =)",
    ] {
        let schema = format!("CREATE TABLE t (a int NOT NULL -- df: int size=3\n);\n{constraint};");
        let folder = folder(&schema, &[]);
        let mut session = session(NEWEST, "refused_rows");
        let mut said = Vec::new();
        let target = target(&mut session);
        let loaded = open(&folder).load(&target, &mut session, &scaled(100.0), &mut |told| {
            if let InitProgress::Found(sentence) = told {
                said.push(sentence.to_owned());
            }
            ControlFlow::Continue(())
        });
        loaded.expect("the rows that the constraint accepts");
        assert_eq!(lines(&mut session, "select count(*) from t"), ["3"], "{constraint}");
        let said = said.join("\n");
        assert!(said.starts_with("public.t: only 3 of 100 rows; the server accepted "), "{said}");
        assert!(said.contains("because pgmeter cannot guarantee t_a. Directives for the columns"), "{said}");
    }
}

#[test]
fn tables_in_schemas_of_their_own_are_loaded_again() {
    let schema = "CREATE SCHEMA \"My.App\";\nCREATE TABLE \"My.App\".items (id int PRIMARY KEY);\n\
                  CREATE SCHEMA own;\nSET search_path = own;\n\
                  CREATE TABLE a (id int PRIMARY KEY, b int REFERENCES a);";
    let folder = folder(schema, &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "own_schemas");
        for size in [10.0, 20.0] {
            load(&own, &mut session, &scaled(size)).expect("the tables are its own");
        }
        assert_eq!(lines(&mut session, "select count(*) from \"My.App\".items"), ["20"]);
        assert_eq!(lines(&mut session, "select count(*) from own.a"), ["20"]);
    }
}

#[test]
fn rows_that_violate_the_schema_are_explained_with_its_line() {
    let check = |column: &str, expected: &str| {
        let schema =
            format!("CREATE TABLE u (a int);\nCREATE TABLE t (\n  id int PRIMARY KEY,\n  {column}\n);");
        let folder = folder(&schema, &[]);
        let own = open(&folder);
        let mut session = session(NEWEST, "invalid");
        let error = load(&own, &mut session, &scaled(10.0)).expect_err("invalid").to_string();
        assert!(error.contains("schema.sql:2: loading public.t: "), "{error}");
        assert!(error.contains(expected), "{error}");
        assert!(
            error.contains("Correct the schema") && error.contains("run `pgmeter init --workload"),
            "{error}"
        );
        assert!(!error.contains("Query was"), "{error}");
        let error = own.find_tables(&mut session).expect_err("incomplete").to_string();
        assert!(error.contains("not completely loaded; continue with `pgmeter init --workload"), "{error}");
    };
    check(
        "v int NOT NULL -- df: int size=3 offset=100\n, CONSTRAINT small CHECK (v < 5)",
        "violates check constraint \"small\" (Failing row contains (",
    );
    check("v int NOT NULL -- df: nogen\n", "violates not-null constraint (Failing row contains (");
    check("v int NOT NULL -- df: const=abc\n", "type integer: \"abc\" (COPY t, line 1");
}

#[test]
fn keys_that_cannot_be_postponed_stay_and_settings_of_a_dump_have_no_effect_elsewhere() {
    let schema = "\
        SET statement_timeout = 0;\n\
        SELECT pg_catalog.set_config('search_path', '', false);\n\
        CREATE SCHEMA app;\n\
        CREATE TABLE app.a (id int PRIMARY KEY, name text NOT NULL);\n\
        CREATE TABLE app.b (id int, a int REFERENCES app.a);\n\
        CREATE VIEW app.names AS SELECT id, name FROM app.a GROUP BY id;\n\
        ALTER TABLE ONLY app.b ADD CONSTRAINT b_key PRIMARY KEY (id);\n\
        CREATE INDEX by_name ON app.a USING btree (name);\n\
        COMMENT ON INDEX app.by_name IS 'names';\n";
    let folder = folder(schema, &[("indexes/none_at_all.sql", "ANALYZE app.a;")]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "dump");
        for _ in 0..2 {
            load(&own, &mut session, &InitOptions { jobs: 4, ..scaled(500.0) }).expect("it is loaded");
        }
        assert_eq!(lines(&mut session, "select count(*) from app.b"), ["500"]);
        assert_eq!(lines(&mut session, "select obj_description('app.by_name'::regclass)"), ["names"]);
        let kept = "select count(*) from pg_constraint where conname in ('a_pkey', 'b_key', 'b_a_fkey')";
        assert_eq!(lines(&mut session, kept), ["3"]);
        assert_eq!(loaded(&mut session, &own).expect("an answer").expect("tables").scale, 5);
        let other = InitOptions { indexes: Some("none_at_all".to_owned()), ..scaled(5.0) };
        load(&own, &mut session, &other).expect("another index set");
        assert_eq!(lines(&mut session, "select count(*) from pg_indexes where indexname = 'by_name'"), ["0"]);
    }
}

#[test]
fn a_schema_that_changes_tables_of_others_is_refused_before_it_runs() {
    let mut session = session(NEWEST, "schema_of_others");
    session.execute("create table precious(i int); insert into precious values (1)").expect("a table");
    for sql in [
        "DROP TABLE IF EXISTS precious;",
        "TRUNCATE precious;",
        "DELETE FROM precious;",
        "ALTER TABLE precious DROP COLUMN i;",
        "DO $$begin drop table precious; end$$;",
    ] {
        let folder = folder(&format!("{sql}\nCREATE TABLE a(id int PRIMARY KEY);"), &[]);
        let options = InitOptions { scale: Scale::from(3), ..InitOptions::default() };
        let error = load(&open(&folder), &mut session, &options).expect_err(sql).to_string();
        assert!(error.starts_with("public.precious exists already and was not made by `init`"), "{error}");
        assert_eq!(lines(&mut session, "select i from precious"), ["1"], "{sql}");
        assert_eq!(lines(&mut session, "select to_regclass('a') is null"), ["t"], "{sql}");
    }
}

/// What `pg_dump --schema-only` writes: partitions that are attached, keys and identities that are added, owners and
/// privileges of a materialized view, names without a search path, and lines for psql.
#[test]
fn the_schema_of_a_dump_is_loaded_and_checked() {
    let folder = folder(include_str!("dump.sql"), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "dumped");
    for indexes in [None, Some("none".to_owned())] {
        load(&own, &mut session, &InitOptions { indexes, ..scaled(30.0) }).expect("it is loaded");
        for table in ["only public.p", "public.part", "public.lp"] {
            assert_eq!(lines(&mut session, &format!("select count(*) from {table}")), ["30"], "{table}");
        }
        let workload: &dyn Workload = &own;
        workload.check_data(&mut session, &BTreeMap::new(), None).expect("sound");
    }
}

#[test]
fn a_sequence_that_several_tables_use_is_behind_all_their_rows() {
    let schema = "CREATE SEQUENCE \"Shared\";\n\
                  CREATE TABLE many (id int PRIMARY KEY DEFAULT nextval('\"Shared\"')); -- df: mult=2\n\
                  CREATE TABLE few (id int PRIMARY KEY DEFAULT nextval('\"Shared\"'));\n\
                  CREATE TABLE own (id serial PRIMARY KEY);\n";
    let folder = folder(schema, &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "shared_sequence");
        load(&own, &mut session, &scaled(20.0)).expect("it is loaded");
        let next = |table: &str, session: &mut Session| {
            lines(session, &format!("insert into {table} default values returning id")).remove(0)
        };
        let largest =
            lines(&mut session, "select max(id) from many").remove(0).parse::<i64>().expect("a number");
        assert_eq!(next("many", &mut session), (largest + 1).to_string(), "{major}");
        assert_eq!(next("few", &mut session), (largest + 2).to_string(), "{major}");
        assert_eq!(next("own", &mut session), "21", "{major}");
    }
}

#[test]
fn settings_and_roles_that_the_server_does_not_have_are_left_out_and_named() {
    let schema = "SET transaction_timeout = 0;\nSET no_such_setting = 1;\nSET check_function_bodies = false;\nSET seed = 0.5;\n\
                  \\restrict x\nDROP DATABASE no_such_database;\nCREATE TABLE own (id int PRIMARY KEY);\n\
                  ALTER TABLE own OWNER TO \"No One\";\nALTER TABLE own OWNER TO CURRENT_USER;\n\
                  CREATE INDEX own_id ON own (id);\nALTER INDEX own_id OWNER TO nobody_here;\n\
                  GRANT SELECT ON own TO PUBLIC;\nGRANT SELECT ON own TO nobody_here;\n";
    let folder = folder(schema, &[]);
    let own = open(&folder);
    let cases = [
        (NEWEST, 5, "no setting no_such_setting"),
        (OLDEST, 6, "no settings no_such_setting, transaction_timeout"),
    ];
    for (major, statements, settings) in Cluster::cases(cases, |case| case.0) {
        let mut session = session(major, "left_out");
        let target = target(&mut session);
        let mut found = Vec::new();
        let told = &mut |progress: InitProgress<'_>| {
            if let InitProgress::Found(sentence) = progress {
                found.push(sentence.to_owned());
            }
            ControlFlow::Continue(())
        };
        own.load(&target, &mut session, &scaled(20.0), told).expect("it is loaded");
        let expected = format!(
            "{statements} statements of the schema are left out: this server has {settings}; there are no roles No One, \
             nobody_here; databases are not part of a schema (--strict executes them)"
        );
        let skipped = "schema.sql: 1 command of psql is skipped (\\restrict); no row depends on it";
        assert!(found[0].ends_with(skipped), "{major}: {found:?}");
        assert_eq!(found[1..], [expected], "{major}");
        assert_eq!(lines(&mut session, "select count(*) from own"), ["20"]);
        let granted = "select has_table_privilege('pg_signal_backend', 'own', 'select')";
        assert_eq!(lines(&mut session, granted), ["t"], "to all roles");
        let strict = InitOptions { is_strict: true, ..scaled(20.0) };
        let error = load(&own, &mut session, &strict).expect_err("there is no such setting").to_string();
        assert!(error.contains("unrecognized configuration parameter"), "{error}");
    }
}

/// Texts of values mean the same for each role: also in a zone with daylight saving time, in which one time of a day does not
/// exist and another exists twice.
#[test]
fn rows_are_the_same_whatever_the_settings_of_the_database_are() {
    let schema = "-- df: size=7000\nCREATE TABLE moments (\n  at timestamptz PRIMARY KEY, \
                  -- df: timestamp start=2020-03-01 prec=3600\n  day date NOT NULL, span interval NOT NULL, \
                  price money NOT NULL, bytes bytea NOT NULL, word text NOT NULL);\n";
    let folder = folder(schema, &[]);
    let own = open(&folder);
    let sums = "select md5(string_agg(concat_ws(' ', extract(epoch from at), to_char(day, 'YYYY-MM-DD'), \
                extract(epoch from span), price::numeric, encode(bytes, 'hex'), word), ',' order by at)) from moments";
    let odd = [
        ("TimeZone", "America/New_York"),
        ("DateStyle", "SQL, DMY"),
        ("IntervalStyle", "sql_standard"),
        ("bytea_output", "escape"),
        ("client_encoding", "LATIN1"),
    ];
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut seen = Vec::new();
        let all = [&[][..], &odd, &[("TimeZone", "Asia/Kolkata")]];
        for settings in extent::choose(&all[..2], &all) {
            let mut first = session(major, "odd_settings");
            for (name, value) in *settings {
                let sql = format!(
                    "do $$ begin execute format('alter database %I set {name} = %L', current_database(), '{value}'); end $$"
                );
                first.execute(&sql).expect("a setting");
            }
            let mut session = Session::connect(&target(&mut first)).expect("a session");
            load(&own, &mut session, &scaled(100.0)).unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            let ends_later = "select max(at) > '2020-11-03 00:00+00' from moments";
            assert_eq!(lines(&mut session, ends_later), ["t"], "both changes of the clocks");
            seen.push(lines(&mut session, sums));
        }
        assert!(seen.iter().all(|sum| *sum == seen[0]), "{major}: {seen:?}");
    }
}

/// Objects of a schema on which others of it depend. All names differ, so that one schema can have all of them.
const CHAINED: [&str; 9] = [
    "create type pair as (a int, b int); create function of_pair(pair) returns int language sql as 'select $1.a'; \
     create cast (pair as int) with function of_pair(pair); create table own (id int)",
    "create function plus(int, text) returns int language sql as 'select $1'; \
     create operator ~~@ (procedure = plus, leftarg = int, rightarg = text); create table own2 (id int)",
    "create collation simple (locale = 'C'); create text search configuration words (copy = simple); \
     create table own3 (id int)",
    "create type span as range (subtype = float8); create table own4 (id int)",
    "create table own5 (id int); create function all_of_it() returns setof own5 language sql as 'select * from own5'",
    "create table own6 (id int); create type with_own as (a own6, b int); create table pairs (id int, p int)",
    "create function is_even(a int) returns boolean language sql as 'select a % 2 = 0'; \
     create domain even as int check (is_even(value * 2)); create table own7 (id int)",
    "create type first as (a int, b int); create type two as (a first, b first); create table own8 (id int)",
    "create sequence numbers; create function next_number() returns bigint language sql as \
     'select nextval(''numbers'')'; create table own9 (id int); alter table own9 add n bigint default next_number()",
];

#[test]
fn objects_that_depend_on_each_other_are_loaded_again() {
    // After a change, all in one schema.
    let schemas = extent::choose(vec![CHAINED.join(";\n")], CHAINED.map(str::to_owned).to_vec());
    for major in Cluster::versions([NEWEST, OLDEST]) {
        for schema in &schemas {
            let folder = folder(schema, &[]);
            let own = open(&folder);
            let mut session = session(major, "chained");
            for number in 0..2 {
                let loaded = load(&own, &mut session, &scaled(10.0));
                loaded.unwrap_or_else(|error| panic!("{major}, loading {number}, {schema}: {error}"));
            }
        }
    }
}

#[test]
fn functions_extensions_and_altered_tables_in_the_way_are_explained() {
    let function = "create function f(a int) returns int language sql as 'select 1'";
    let schema = format!("{function}; create table own (id int)");
    let own = folder(&schema, &[]);
    let mut session = session(NEWEST, "functions_in_the_way");
    load(&open(&own), &mut session, &scaled(10.0)).expect("it is loaded");
    let changed = "create or replace function f(a int) returns int language sql as 'select 2'";
    session.execute(changed).expect("a user changes it");
    let error = load(&open(&own), &mut session, &scaled(10.0)).expect_err("it is the user's").to_string();
    let told = "public.f(integer) was made by `init` and has been renamed or altered since: ";
    assert!(error.starts_with(told), "{error}");
    session.execute("drop function f(int); alter table own add mine int").expect("a user adds a column");
    let error = load(&open(&own), &mut session, &scaled(10.0)).expect_err("it is the user's").to_string();
    let told = "public.own was made by `init` and has been renamed or altered since";
    assert!(error.starts_with(told), "{error}");
    let other = folder("create extension plpgsql; create table other (id int)", &[]);
    session.execute("drop table own").expect("its objects");
    let error = load(&open(&other), &mut session, &scaled(10.0)).expect_err("it is there").to_string();
    assert!(error.contains("Write CREATE EXTENSION IF NOT EXISTS instead"), "{error}");
}
