//! Tables that exist before `init`: those that were restored or copied with their comments, those that others use, and
//! those that another `init` makes at the same time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use connect::Session;
use pgmeter_workload::{Folder, InitOptions, InitProgress, Tpcb, Truncation, Workload, loaded};
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, load, open, rows, scaled, sorted_schema};
use crate::harmless_steps::transactions;
use crate::harness::{LOCKS, NEWEST, OLDEST, conninfo, lines, make, prepare, session, target, without_rows};

/// The SQL of a dump of tables without their rows: the comments of this database.
fn comments(session: &mut Session) -> String {
    let sql = "select format('comment on table %s is %L', c.oid::regclass, obj_description(c.oid)) from pg_class c \
               where obj_description(c.oid) like '%pgmeter: %' and c.relkind = 'r'";
    lines(session, sql).join("; ")
}

fn refused(own: &Folder, session: &mut Session, options: &InitOptions) -> String {
    load(own, session, options).expect_err("it is refused").to_string()
}

#[test]
fn tables_that_were_restored_into_another_database_are_not_dropped() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut made = session(major, "dumped");
        load(&own, &mut made, &scaled(10.0)).expect("it is loaded");
        let mut restored = session(major, "restored");
        restored.execute("create table customer (id int); create table orders (id int)").expect("tables");
        restored.execute("insert into orders values (42)").expect("a row");
        restored.execute(&comments(&mut made)).expect("comments");
        for options in [scaled(10.0), scaled(20.0)] {
            let error = refused(&own, &mut restored, &options);
            let expected = "public.customer was restored or copied: its mark was made for another table or database; \
                            nothing was changed. Rename it, use another database, or let `pgmeter init --workload ";
            assert!(error.starts_with(expected) && error.ends_with(" --drop` drop it"), "{error}");
        }
        assert_eq!(lines(&mut restored, "select id from orders"), ["42"]);
        let found = loaded(&mut restored, &own).expect("an answer").expect("a mark");
        assert_eq!(found.scale, scaled(10.0).scale, "runs can use restored tables");
        load(&own, &mut restored, &InitOptions { drops: true, ..scaled(10.0) }).expect("it is permitted");
        load(&own, &mut restored, &scaled(10.0)).expect("these are its own tables");
        load(&own, &mut made, &scaled(10.0)).expect("its own tables");
    }
}

#[test]
fn a_table_with_a_copied_comment_is_not_dropped() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "copied");
    load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
    let comments = comments(&mut session);
    let copy =
        "alter table orders rename to mine; create table orders (x int); insert into orders values (42)";
    session.execute(&format!("{copy}; {comments}")).expect("a copy");
    let error = refused(&own, &mut session, &scaled(10.0));
    assert!(error.starts_with("public.orders was restored or copied: "), "{error}");
    assert_eq!(lines(&mut session, "select x from orders"), ["42"]);
    assert_eq!(lines(&mut session, "select count(*) from mine"), ["100"]);
}

#[test]
fn an_interrupted_loading_that_was_restored_is_not_resumed() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "resumed_copy");
    let target = target(&mut session);
    let stop = &mut |progress: InitProgress<'_>| match progress {
        InitProgress::Finished(step) if step.name == "rows" => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    own.load(&target, &mut session, &scaled(10.0), stop).expect_err("it was stopped");
    let comments = comments(&mut session);
    let copy = "create table other (like orders); drop materialized view if exists bad cascade; \
                drop view if exists good; drop table orders; alter table other rename to orders";
    session.execute(copy).expect("a copy");
    session.execute(&comments).expect("comments");
    for resumes in [true, false] {
        let error = refused(&own, &mut session, &InitOptions { resumes, ..scaled(10.0) });
        assert!(error.starts_with("public.orders was restored or copied: "), "{error}");
    }
}

#[test]
fn two_inits_of_a_workload_do_not_run_at_the_same_time() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for (major, resumes) in Cluster::cases([(NEWEST, false), (OLDEST, true)], |case| case.0) {
        let conninfo = Cluster::shared(major).database("at_once");
        let mut session = Cluster::session(&conninfo);
        let target = target(&mut session);
        let process = lines(&mut session, "select pg_backend_pid()").remove(0);
        let expected = format!(
            "another init of the workload own is running in this database (process {process}); wait until it ends, or \
             end that process with pg_terminate_backend"
        );
        let mut seen = 0;
        own.load(&target, &mut session, &scaled(10.0), &mut |progress| {
            if matches!(progress, InitProgress::Finished(step) if ["tables", "finish"].contains(&&*step.name))
            {
                let mut second = Cluster::session(&conninfo);
                let options = InitOptions { resumes, ..scaled(20.0) };
                assert_eq!(refused(&own, &mut second, &options), expected);
                seen += 1;
            }
            ControlFlow::Continue(())
        })
        .expect("the first is not disturbed");
        assert_eq!(seen, 2);
        assert_eq!(lines(&mut session, LOCKS), ["0"], "{major}");
        assert_eq!(lines(&mut session, "select count(*) from orders"), ["100"]);
        session.execute("drop table orders cascade; create table orders (x int)").expect("a table of others");
        refused(&own, &mut session, &scaled(10.0));
        assert_eq!(lines(&mut session, LOCKS), ["0"], "after an error");
    }
}

#[test]
fn tables_that_cannot_be_dropped_are_named_with_the_reason() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let drops = InitOptions { drops: true, ..scaled(10.0) };
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "cannot_drop");
        session
            .execute(
                "create table orders (id int); create view report as select * from orders; \
                 create view a as select * from orders; create view b as select * from orders; \
                 create view c as select * from orders",
            )
            .expect("tables of others");
        let error = refused(&own, &mut session, &drops);
        assert_eq!(
            error,
            "cannot drop table public.orders: view report depends on table orders, view a depends on table orders, view \
             b depends on table orders, and 1 more. Drop the dependent objects first, or use another database"
        );
        let user = "drop view report, a, b, c; drop role if exists pgmeter_stranger; \
                    create role pgmeter_stranger login; grant all on schema public to pgmeter_stranger";
        session.execute(user).expect("a user");
        let mut stranger = Cluster::session(&conninfo(&mut session, "pgmeter_stranger"));
        let error = refused(&own, &mut stranger, &drops);
        let noun = if major == OLDEST { "relation" } else { "table" };
        assert_eq!(
            error,
            format!(
                "cannot drop table public.orders: must be owner of {noun} orders. Connect as the owner or as a user with \
                 this privilege, or use another database"
            )
        );
        session.execute("drop owned by pgmeter_stranger; drop role pgmeter_stranger").expect("cleaned");
    }
}

#[test]
fn a_user_without_special_privileges_makes_marks_that_are_found_again() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "plain_user");
        session
            .execute("revoke execute on function pg_control_system() from public")
            .expect("a careful owner");
        session
            .execute("create role pgmeter_plain; grant all on schema public to pgmeter_plain")
            .expect("a user");
        session.execute("alter role pgmeter_plain login").expect("a user");
        let mut plain = Cluster::session(&conninfo(&mut session, "pgmeter_plain"));
        for _ in 0..2 {
            load(&own, &mut plain, &scaled(10.0)).expect("its own tables");
        }
        assert_eq!(lines(&mut plain, "select obj_description('orders'::regclass) like '% system=%'"), ["f"]);
        assert_eq!(rows(&mut plain).len(), 2);
        drop(plain);
        session.execute("drop owned by pgmeter_plain; drop role pgmeter_plain").expect("cleaned");
    }
}

/// Everything of the tables `mine` and `kept`.
fn of_others(session: &mut Session) -> Vec<String> {
    let columns = "select attrelid::regclass || '.' || attname || ' ' || atthasdef from pg_attribute \
                   where attrelid in ('mine'::regclass, 'kept'::regclass) and attnum > 0 order by attrelid, attnum";
    let counts = "select (select count(*) from mine) || ' ' || (select count(*) from pg_trigger \
                  where tgrelid = 'mine'::regclass) || ' ' || (select count(*) from pg_rewrite \
                  where ev_class = 'mine'::regclass) || coalesce(relacl::text, ' none') \
                  from pg_class where oid = 'mine'::regclass";
    [lines(session, columns), lines(session, counts)].concat()
}

/// Tables that `init` did not make, with objects that they depend on.
const OF_OTHERS: &str = "\
    create type mood as enum ('good'); create sequence numbers; \
    create table mine (id int primary key, mood mood, number int default nextval('numbers')); \
    insert into mine values (1, 'good'); create table kept (x int); \
    create function empty_mine() returns void language sql as 'delete from mine'";

#[test]
fn statements_that_change_tables_of_others_by_other_objects_are_rolled_back() {
    let statements = [
        "DROP TYPE mood CASCADE",
        "DROP SEQUENCE numbers CASCADE",
        "SELECT empty_mine()",
        "DO $$ BEGIN EXECUTE 'TRUNCATE mine'; END $$",
        "DO $$ BEGIN EXECUTE 'DROP TABLE mine'; END $$",
        "GRANT SELECT ON mine TO public",
        "CREATE RULE ignore AS ON INSERT TO mine DO INSTEAD NOTHING",
        "CREATE TRIGGER same BEFORE UPDATE ON mine FOR EACH ROW \
         EXECUTE PROCEDURE suppress_redundant_updates_trigger()",
    ];
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "of_others");
        session.execute(OF_OTHERS).expect("tables of others");
        let before = of_others(&mut session);
        for (case, statement) in statements.into_iter().enumerate() {
            let schema = format!("CREATE TABLE own (id int PRIMARY KEY);\n{statement};\n");
            let steps = format!("DROP TABLE IF EXISTS own;\n{schema}");
            let manifest = "name = \"own\"\ntitle = \"t\"\nload = [\"load.sql\"]\n";
            let stepwise = folder("", &[("load.sql", &steps)]);
            std::fs::write(stepwise.path().join("workload.toml"), manifest).expect("a file");
            // After a change, each in a schema or in a step.
            let both = [folder(&schema, &[]), stepwise];
            for own in extent::choose(&both[case % 2..][..1], &both) {
                let error = refused(&open(own), &mut session, &scaled(10.0));
                let expected = "the SQL of the workload own would drop or change public.mine";
                assert!(error.contains(expected), "{statement}: {error}");
                assert_eq!(of_others(&mut session), before, "{statement}");
            }
        }
        let own = folder("CREATE TABLE own (id int PRIMARY KEY);\nDROP TYPE mood CASCADE;", &[]);
        load(&open(&own), &mut session, &InitOptions { drops: true, ..scaled(10.0) })
            .expect("it is permitted");
        assert_ne!(of_others(&mut session), before);
    }
}

#[test]
fn a_load_step_may_reference_tables_of_others_and_change_its_own_partitions() {
    let steps = "DROP TABLE IF EXISTS own CASCADE; CREATE TABLE own (id int REFERENCES mine);\n\
                 DO $$ BEGIN EXECUTE 'CREATE TABLE part () INHERITS (own)'; END $$;\n\
                 INSERT INTO own VALUES (1);";
    let folder = folder("", &[("load.sql", steps)]);
    let manifest = "name = \"own\"\ntitle = \"t\"\nload = [\"load.sql\"]\n";
    std::fs::write(folder.path().join("workload.toml"), manifest).expect("a file");
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "references");
        session.execute(OF_OTHERS).expect("tables of others");
        load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
        session.execute("vacuum analyze").expect("others go on");
        load(&own, &mut session, &InitOptions::default()).expect("these are its own tables");
        assert_eq!(lines(&mut session, "select count(*) from own"), ["1"]);
    }
}

/// Objects of a user of each kind, and statements of a folder that would take them away.
const OBJECTS_OF_USER: &str = "create schema mine; create table staff (id int primary key, name text); \
    insert into staff values (1, 'a'); create view staff_names as select name from staff; \
    create materialized view staff_count as select count(*) from staff; create sequence numbers; \
    create type mood as enum ('good'); create domain positive as int check (value > 0); \
    create function two() returns int language sql as 'select 2'; \
    create function destroy() returns int language plpgsql as 'begin drop table staff cascade; return 1; end'; \
    create function empty() returns trigger language plpgsql as 'begin delete from staff; return new; end'; \
    create table mine.other (id int); create operator === (leftarg = int, rightarg = int, procedure = int4eq); \
    create table audited (command text); create function audit() returns event_trigger language plpgsql as \
    'begin insert into audited values (tg_tag); end'; create event trigger audits on ddl_command_end \
    execute procedure audit(); alter event trigger audits disable";

/// Each is refused, and the transaction is rolled back.
const DESTRUCTIVE: [(&str, &str); 20] = [
    ("drop schema mine cascade;", "mine"),
    ("drop operator ===(int, int);", "operator public.==="),
    ("drop event trigger audits;", "event trigger audits"),
    ("alter event trigger audits enable;", "event trigger audits"),
    ("drop function audit() cascade;", "event trigger audits"),
    ("drop view staff_names;", "view public.staff_names"),
    ("drop materialized view staff_count;", "materialized view public.staff_count"),
    ("drop sequence numbers;", "sequence public.numbers"),
    ("drop type mood;", "type public.mood"),
    ("drop domain positive;", "type public.positive"),
    ("drop function two();", "function public.two()"),
    ("create or replace function two() returns int language sql as 'select 3';", "function public.two()"),
    ("create or replace view staff_names as select name, id from staff;", "view public.staff_names"),
    ("alter type mood add value 'bad';", "type public.mood"),
    ("alter sequence numbers increment 2;", "sequence public.numbers"),
    ("select destroy();", "public.staff"),
    ("do $x$ begin execute 'tru' || 'ncate staff'; end $x$;", "public.staff"),
    ("set search_path = mine; do $x$ begin delete from public.staff; end $x$;", "public.staff"),
    (
        "create table own_a (id int); create trigger t before insert on own_a for each row execute procedure empty(); \
      insert into own_a values (1);",
        "public.staff",
    ),
    (
        "create table own_b (id int); create rule r as on insert to own_b do also delete from staff; \
      insert into own_b values (1);",
        "public.staff",
    ),
];

/// What a user would see of these objects.
fn objects_of_user(session: &mut Session) -> Vec<String> {
    let sql = "select concat(c.oid::regclass, ' ', relkind, ' ', relfilenode) from pg_class c \
               where relnamespace in ('public'::regnamespace, 'mine'::regnamespace) \
               union all select concat(oid::regprocedure, ' ', prosrc) from pg_proc \
               where pronamespace = 'public'::regnamespace \
               union all select concat(typname, ' ', (select string_agg(enumlabel, ',') from pg_enum \
               where enumtypid = t.oid)) from pg_type t where typnamespace = 'public'::regnamespace \
               union all select pg_get_viewdef('staff_names'::regclass) order by 1";
    lines(session, sql)
}

#[test]
fn objects_of_others_of_each_kind_stay_as_they_are() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "kinds");
        session.execute(OBJECTS_OF_USER).expect("objects");
        let before = objects_of_user(&mut session);
        for (case, (sql, object)) in DESTRUCTIVE.into_iter().enumerate() {
            // ALTER TYPE … ADD VALUE runs in a transaction from version 12 on; alone, it cannot be rolled back. Before
            // version 10, no catalog has the properties of sequences.
            if major == OLDEST && (sql.starts_with("alter type") || sql.starts_with("alter sequence")) {
                continue;
            }
            // Outside of a transaction, the statements before are committed.
            let all = if sql.contains("own_") { &[true] } else { transactions(case) };
            for &is_transaction in all {
                let manifest = format!(
                    "name = \"own\"\n[[load]]\nfile = \"step.sql\"\ntransaction = {is_transaction}\n[[scripts]]\nfile = \"s.sql\"\n"
                );
                let files = [("workload.toml", &*manifest), ("step.sql", sql), ("s.sql", "select 1;")];
                let own = Folder::embedded(&files).expect("a workload");
                let error = load(&own, &mut session, &InitOptions::default()).expect_err(sql).to_string();
                assert!(error.contains(object), "{major}, {sql}: {error}");
                assert_eq!(objects_of_user(&mut session), before, "{major}, {sql}");
            }
        }
        let kept = "select count(*) from staff, staff_names, staff_count where two() = 2 and 'good'::mood is not null";
        assert_eq!(lines(&mut session, kept), ["1"], "{major}");
    }
}

#[test]
fn a_load_step_cannot_leave_its_transaction() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "commits");
        session.execute(OBJECTS_OF_USER).expect("objects");
        let statements = [
            "commit; select destroy();",
            "select 1;\n/* now */ END; select destroy(); begin;",
            "select 1 \\; commit \\; select destroy();",
            "rollback; select destroy();",
            "prepare transaction 'a'; select destroy();",
        ];
        for (case, sql) in statements.into_iter().enumerate() {
            for &is_transaction in transactions(case) {
                let manifest = format!(
                    "name = \"own\"\n[[load]]\nfile = \"step.sql\"\ntransaction = {is_transaction}\n[[scripts]]\nfile = \"s.sql\"\n"
                );
                let files = [("workload.toml", &*manifest), ("step.sql", sql), ("s.sql", "select 1;")];
                let own = Folder::embedded(&files).expect("a workload");
                let error = refused(&own, &mut session, &InitOptions::default());
                assert!(error.contains("step.sql:") && error.contains("is not allowed"), "{sql}: {error}");
                assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{sql}");
            }
        }
    }
}

#[test]
fn a_table_that_was_renamed_or_got_a_column_is_not_dropped() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "renamed");
        load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
        session
            .execute("drop view if exists good; alter table orders add column note text")
            .expect("a column");
        let error = refused(&own, &mut session, &scaled(10.0));
        assert!(error.contains("public.orders"), "{error}");
        session.execute("alter table orders rename to orders_2025").expect("a name");
        let _ = load(&own, &mut session, &scaled(10.0));
        assert_eq!(lines(&mut session, "select count(*) from orders_2025"), ["100"], "{major}");
    }
}

#[test]
fn a_truncation_before_a_run_reaches_no_tables_of_others() {
    let manifest = "name = \"own\"\n[[load]]\nfile = \"step.sql\"\n[[scripts]]\nfile = \"s.sql\"\n\
                    [[tables]]\nname = \"log\"\nbefore_run = \"truncate\"\n";
    let files =
        [("workload.toml", manifest), ("step.sql", "create table log (id int);"), ("s.sql", "select 1;")];
    let own = Folder::embedded(&files).expect("a workload");
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "inherited");
        load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
        make(&mut session, &without_rows()).expect("tables");
        for (workload, table) in [(&own as &dyn Workload, "log"), (&Tpcb, "pgbench_history")] {
            let child = format!("kept_{table}");
            session
                .execute(&format!(
                    "create table middle_{table} () inherits ({table}); \
                     create table {child} () inherits (middle_{table}); insert into {child} default values"
                ))
                .expect("a table that inherits");
            let prepared = prepare(workload, &mut session, Truncation::OwnTables);
            let told = format!("did not make public.middle_{table}, which TRUNCATE would empty too");
            assert!(
                prepared.failed.iter().any(|error| error.to_string().contains(&told)),
                "{:?}",
                prepared.failed
            );
            assert_eq!(lines(&mut session, &format!("select count(*) from {child}")), ["1"], "{major}");
        }
    }
}

#[test]
fn only_own_tables_are_truncated_before_a_run() {
    let manifest = "name = \"own\"\n[[load]]\nfile = \"step.sql\"\n[[scripts]]\nfile = \"s.sql\"\n\
                    [[tables]]\nname = \"log\"\nbefore_run = \"truncate\"\n";
    let files =
        [("workload.toml", manifest), ("step.sql", "create table log (id int);"), ("s.sql", "select 1;")];
    let own = Folder::embedded(&files).expect("a workload");
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "truncated");
        session.execute("create table log (id int); insert into log values (1)").expect("a table");
        session
            .execute("create table pgbench_history (who text); insert into pgbench_history values ('a')")
            .expect("a table");
        let prepared = prepare(&own, &mut session, Truncation::OwnTables);
        assert!(
            prepared.failed[0].to_string().starts_with("public.log was not truncated"),
            "{:?}",
            prepared.failed
        );
        let prepared = prepare(&Tpcb, &mut session, Truncation::OwnTables);
        assert!(
            prepared
                .failed
                .iter()
                .any(|error| error.to_string().starts_with("public.pgbench_history was not"))
        );
        assert_eq!(lines(&mut session, "select id from log"), ["1"]);
        assert_eq!(lines(&mut session, "select who from pgbench_history"), ["a"]);
        session.execute("drop table log").expect("a table");
        load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
        session.execute("insert into log values (1)").expect("a row");
        let prepared = prepare(&own, &mut session, Truncation::OwnTables);
        assert_eq!(prepared.truncated, ["public.log"]);
        assert_eq!(lines(&mut session, "select count(*) from log"), ["0"]);
    }
}

#[test]
fn checks_change_nothing() {
    let mut session = session(NEWEST, "checks");
    session.execute("create table t (id int); insert into t values (1)").expect("a table");
    for check in
        ["delete from t where id = 2", "delete from t", "commit; delete from t", "end \\; delete from t"]
    {
        let manifest = "name = \"own\"\n[[load]]\nfile = \"step.sql\"\n[[scripts]]\nfile = \"s.sql\"\n[[checks]]\nfile = \"check.sql\"\n";
        let files = [
            ("workload.toml", manifest),
            ("step.sql", "select 1;"),
            ("s.sql", "select 1;"),
            ("check.sql", check),
        ];
        let own = Folder::embedded(&files).expect("a workload");
        let workload: &dyn Workload = &own;
        let error = workload.run_checks(&mut session, &BTreeMap::new()).expect_err(check).to_string();
        assert!(error.contains("read-only transaction"), "{check}: {error}");
        assert_eq!(lines(&mut session, "select count(*) from t"), ["1"], "{check}");
    }
}

#[test]
fn with_permission_changed_objects_are_named_before_the_commit() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "named");
        session.execute(OBJECTS_OF_USER).expect("objects");
        let manifest = "name = \"own\"\n[[load]]\nfile = \"step.sql\"\n[[scripts]]\nfile = \"s.sql\"\n";
        let files = [
            ("workload.toml", manifest),
            ("step.sql", "drop table staff cascade; drop type mood;"),
            ("s.sql", "select 1;"),
        ];
        let own = Folder::embedded(&files).expect("a workload");
        let target = target(&mut session);
        let conninfo = conninfo(&mut session, &target.user);
        let mut told = Vec::new();
        let progress = &mut |progress: InitProgress<'_>| {
            if let InitProgress::Dropping(sentence) = progress {
                let mut another = Cluster::session(&conninfo);
                told.push((
                    sentence.to_owned(),
                    lines(&mut another, "select count(*) from pg_type where typname = 'mood'"),
                ));
            }
            ControlFlow::Continue(())
        };
        let options = InitOptions { drops: true, ..InitOptions::default() };
        own.load(&target, &mut session, &options, progress).expect("it is permitted");
        let [(sentence, seen)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(seen, &["1"], "another session still sees the type");
        for object in [
            "public.staff",
            "view public.staff_names",
            "materialized view public.staff_count",
            "type public.mood",
        ] {
            assert!(
                sentence.starts_with("step.sql drops or changes ") && sentence.contains(object),
                "{sentence}"
            );
        }
    }
}

#[test]
fn what_an_init_drops_of_an_earlier_one_is_said_before() {
    let folder = folder(&sorted_schema(), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "said");
    load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
    let target = target(&mut session);
    let mut told = Vec::new();
    let progress = &mut |progress: InitProgress<'_>| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    };
    own.load(&target, &mut session, &scaled(10.0), progress).expect("it is loaded again");
    let [sentence] = told.as_slice() else { panic!("{told:?}") };
    assert!(
        sentence.starts_with("before loading: drop ") && sentence.contains("public.orders"),
        "{sentence}"
    );
}

#[test]
fn a_load_that_fails_and_is_rolled_back_leaves_the_tables_of_the_earlier_one_complete() {
    let mut session = session(NEWEST, "still_complete");
    let manifest = "name = \"own\"\n[[load]]\nfile = \"step.sql\"\n[[scripts]]\nfile = \"s.sql\"\n";
    let step = "drop table if exists a; create table a (id int);";
    let files = [("workload.toml", manifest), ("step.sql", step), ("s.sql", "select 1;")];
    let own = Folder::embedded(&files).expect("a workload");
    load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
    session.execute("create view of_user as select * from a").expect("a view");
    let error = refused(&own, &mut session, &InitOptions::default());
    assert!(error.contains("of_user depends on table a"), "{error}");
    assert!(loaded(&mut session, &own).expect("an answer").expect("tables").complete);
    session.execute("drop view of_user").expect("no view");
    let (target, mut told) = (target(&mut session), Vec::new());
    let progress = &mut |progress: InitProgress<'_>| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    };
    own.load(&target, &mut session, &InitOptions::default(), progress).expect("it is loaded again");
    assert_eq!(told, ["drops or changes tables of an earlier init: public.a"]);
}
