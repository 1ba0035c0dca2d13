//! Changes of others' objects that a load hides from the text of its statements, from the counters of rows, or until its
//! commit. On the oldest and the newest server.

use std::ops::ControlFlow;
use std::thread;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Workload};
use testkit::cluster::Cluster;
use testkit::condition::pause;
use testkit::extent;

use crate::generated::{folder, load, open, scaled};
use crate::harmless_steps::{EVIL, STAFF, steps, transactions};
use crate::harness::{NEWEST, OLDEST, conninfo, lines, session};

const ROWS_OF_STAFF: &str = "select count(*) from staff";

/// A function that deletes the rows of others, as a trigger or an event trigger.
fn deleting(returned: &str, when: &str, result: &str) -> String {
    format!(
        "create function zap() returns {returned} language plpgsql as $$ begin \
         if {when} then execute 'delete from public.staff'; end if; {result} end $$;"
    )
}

/// Objects of others, whose rows can be deleted.
fn others(session: &mut Session) {
    session.execute(STAFF).expect("objects of others");
    session.execute("drop rule r on staff").expect("a rule");
}

#[track_caller]
fn check_kept(session: &mut Session, sql: &str) {
    for is_transaction in [true, false] {
        let error = load(&steps(is_transaction, &[sql]), session, &InitOptions::default()).expect_err(sql);
        assert!(error.to_string().contains("public.staff"), "{sql}: {error}");
        assert_eq!(lines(session, ROWS_OF_STAFF), ["1"], "{sql}");
        session.execute("drop event trigger if exists zaps").expect("own objects");
        session
            .execute("drop table if exists own cascade; drop function if exists zap()")
            .expect("own objects");
    }
}

#[test]
fn what_runs_at_commit_or_for_a_mark_is_seen() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "at_commit");
        others(&mut session);
        let trigger = deleting("trigger", "true", "return null;");
        check_kept(
            &mut session,
            &format!(
                "create table own (a int); {trigger} create constraint trigger z after insert on own deferrable \
                 initially deferred for each row execute procedure zap(); insert into own values (1);"
            ),
        );
        let function = deleting("int", "true", "return 1;");
        let cursor = format!("{function} declare c cursor with hold for select zap();");
        load(&steps(true, &[&cursor]), &mut session, &InitOptions::default()).expect("it is closed");
        assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{major}");
    }
}

/// They see all DDL of the database, also that of pgmeter.
#[test]
fn event_triggers_of_a_load_change_no_rows_of_others() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "event_triggers");
        others(&mut session);
        let function = deleting("event_trigger", "tg_tag = 'COMMENT'", "");
        let event =
            format!("{function} create event trigger zaps on ddl_command_end execute procedure zap();");
        check_kept(&mut session, &format!("create table own (a int); {event}"));
        let schema = format!("create table own (a int primary key, b int);\n{event}");
        let error = load(&open(&folder(&schema, &[])), &mut session, &scaled(10.0)).expect_err("a mark");
        assert!(error.to_string().contains("public.staff"), "{error}");
        assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{major}");
        session.execute("drop event trigger if exists zaps").expect("own objects");
        session.execute("drop function if exists zap()").expect("own objects");
        let drop = deleting("event_trigger", "tg_tag = 'DROP TABLE'", "");
        let schema = format!(
            "create table own (a int primary key, b int);\n{drop} \
             create event trigger zaps on ddl_command_end execute procedure zap();"
        );
        let error = load(&open(&folder(&schema, &[])), &mut session, &scaled(10.0)).expect_err("the journal");
        assert!(error.to_string().contains("public.staff"), "{error}");
        assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{major}");
    }
}

#[test]
fn a_function_without_counted_rows_is_seen_by_its_lock() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "uncounted_rows");
        others(&mut session);
        let function =
            deleting("int", "true", "return 1;").replace("plpgsql as", "plpgsql set track_counts = off as");
        check_kept(&mut session, &format!("create table own (a int); {function} select zap();"));
        let schema = format!(
            "create table own (a int primary key, b int default 1);\n{function} \
             alter table own add constraint c check (zap() = 1);"
        );
        let error = load(&open(&folder(&schema, &[])), &mut session, &scaled(10.0)).expect_err("rows");
        assert!(error.to_string().contains("public.staff"), "{error}");
        assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{major}");
    }
}

#[test]
fn values_of_sequences_of_others_are_told() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "sequences");
        session.execute("create sequence mine; create sequence \"Other\" start 5").expect("sequences");
        session.execute("select nextval('mine'), nextval('mine')").expect("a value");
        let changes = [
            ("select setval('mine', 1, false);", "select setval('public.mine', 2, true)."),
            (
                "do $$ begin perform nextval('\"Other\"'); end $$;",
                "select setval('public.\"Other\"', 5, false).",
            ),
        ];
        for (case, (sql, restore)) in changes.into_iter().enumerate() {
            for &is_transaction in transactions(case) {
                let own = steps(is_transaction, &["create table if not exists own (id serial);", sql]);
                let error = load(&own, &mut session, &InitOptions::default()).expect_err(sql).to_string();
                assert!(error.contains(restore), "{major} {sql}: {error}");
                let (_, restore) = error.split_once("restore its value with: ").expect("a remedy");
                let (restore, _) = restore.split_once(". Remove").expect("a sentence");
                session.execute(restore).expect("its value");
            }
        }
        let restart = steps(true, &["alter sequence mine restart with 7;"]);
        let error = load(&restart, &mut session, &InitOptions::default()).expect_err("restart").to_string();
        let expected = if major == NEWEST { "nothing was changed" } else { "restore its value with" };
        assert!(error.contains(expected), "{major}: {error}");
        let reads =
            "select last_value from mine; create table own2 (a serial); insert into own2 values (default);";
        load(&steps(true, &[reads]), &mut session, &InitOptions::default()).expect("an own sequence");
    }
}

/// The statements of a schema are executed in a trial first.
#[test]
fn the_trial_of_a_schema_tells_values_of_sequences_of_others() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "trial_sequences");
        session.execute("create table theirs (id serial); select nextval('theirs_id_seq')").expect("theirs");
        let own = "create table own (id serial primary key);\n";
        load(&open(&folder(own, &[])), &mut session, &scaled(10.0)).expect("no sequence of others");
        load(&open(&folder(own, &[])), &mut session, &scaled(10.0)).expect("own sequences are replaced");
        let folder = folder(&format!("{own}select setval('theirs_id_seq', 7, false);"), &[]);
        let go_on = &mut |_: InitProgress<'_>| ControlFlow::Continue(());
        let error = open(&folder).dry_run(&mut session, &scaled(10.0), go_on).expect_err("setval");
        let restore = "select setval('public.theirs_id_seq', 1, true)";
        assert!(error.to_string().contains(restore), "{major}: {error}");
        session.execute(restore).expect("its value");
        let error = load(&open(&folder), &mut session, &scaled(10.0)).expect_err("setval");
        assert!(error.to_string().contains(restore), "{major}: {error}");
        let allowed = InitOptions { drops: true, ..scaled(10.0) };
        load(&open(&folder), &mut session, &allowed).expect("--drop allows it");
    }
}

/// ANALYZE calls the functions of indexes.
#[test]
fn the_statistics_of_an_index_change_no_rows_of_others() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "analyzed");
        others(&mut session);
        let function = EVIL.replace("begin delete", "begin if current_query() ~* ''analyze'' then delete");
        let function = function.replace("public.staff; return a", "public.staff; end if; return a");
        session.execute(&function).expect("a function");
        let schema = "create table own (a int primary key, b int);\ncreate index i on own (public.evil(b));";
        for &jobs in extent::choose(&[2][..], &[1, 2]) {
            let options = InitOptions { jobs, ..scaled(10.0) };
            let error = load(&open(&folder(schema, &[])), &mut session, &options).expect_err("statistics");
            assert!(error.to_string().contains("public.staff"), "{major}: {error}");
            assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{major}");
        }
    }
}

#[test]
fn a_setting_of_a_role_that_a_function_makes_without_counted_rows_is_seen() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "uncounted_settings");
        let sql = "create function quiet() returns int language plpgsql set track_counts = off as \
                   $$ begin alter role current_user set work_mem = '4321kB'; return 1; end $$; select quiet();";
        for is_transaction in [true, false] {
            let own = steps(is_transaction, &[sql]);
            let error = load(&own, &mut session, &InitOptions::default()).expect_err("a setting of a role");
            assert!(error.to_string().contains("a setting of a database or a role"), "{major}: {error}");
            session.execute("drop function if exists quiet()").expect("own objects");
        }
        let settings = "select count(*) from pg_db_role_setting where setconfig::text like '%4321kB%'";
        assert_eq!(lines(&mut session, settings), ["0"], "{major}");
    }
}

#[test]
fn a_foreign_key_to_a_table_of_others_is_no_change() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "references");
        others(&mut session);
        let own = "drop table if exists own; create table own (a int references staff); insert into own values (1); \
                   alter table own add foreign key (a) references staff (id) deferrable initially deferred";
        for _ in 0..2 {
            load(&steps(true, &[own]), &mut session, &InitOptions::default()).expect("references");
        }
        let more = "create table more (a int references own_keys); create type pair as (a int, b int); \
                    comment on column pair.a is 'x'; drop type pair;";
        let keys = "drop table if exists more, own_keys; create table own_keys (a int primary key); \
                    comment on constraint own_keys_pkey on own_keys is 'x'; comment on index own_keys_pkey is 'x';";
        load(&steps(true, &[keys, more]), &mut session, &InitOptions::default()).expect("own parts");
        load(&steps(true, &[keys, more]), &mut session, &InitOptions::default()).expect("own parts");
    }
}

/// Objects of others with parts that have rows of their own in the catalogs.
const PARTS: &str = "create table dept (id int primary key, head int references staff); \
    create index staff_name on staff (name); create materialized view frozen as select id from staff; \
    create unique index on frozen (id); create rule ru as on delete to dept do instead nothing; \
    comment on index staff_name is 'x'; comment on constraint staff_pkey on staff is 'x'; \
    comment on trigger keeps on staff is 'x'; comment on policy p on staff is 'x'; comment on rule ru on dept is 'x'; \
    comment on column names.name is 'x'; comment on large object 4711 is 'x'; \
    create operator family fam using btree; select lo_put(4711, 0, 'abc')";

/// The same for kinds that older servers do not have.
const FURTHER_PARTS: &str = "create publication pub for table staff, tables in schema private; \
    create index expression on dept ((id + 1)); \
    create function used() returns int language sql as 'select 1'; \
    alter function used() depends on extension plpgsql";

/// Changes of rows of which others are changed in any case.
const ALIKE: [(&str, &str); 6] = [
    ("alter table staff disable trigger all", "public.staff"),
    ("comment on index staff_pkey is 'y'", "public.staff"),
    ("comment on role boss is 'hacked'", "a comment on a database or a role"),
    ("revoke all on function pg_catalog.pg_sleep(float8) from public", "own objects"),
    ("comment on table pg_catalog.pg_class is 'hacked'", "own objects"),
    ("alter function keep() depends on extension plpgsql", "function public.keep()"),
];

#[test]
fn parts_of_the_objects_of_others_stay() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "parts");
        others(&mut session);
        session.execute(PARTS).expect("parts of them");
        let database = lines(&mut session, "select quote_ident(current_database())").remove(0);
        let mut checks = vec![
            ("alter table dept disable trigger all".to_owned(), "public.dept"),
            ("comment on index staff_name is null".to_owned(), "public.staff"),
            ("comment on constraint staff_pkey on staff is 'y'".to_owned(), "public.staff"),
            ("comment on trigger keeps on staff is null".to_owned(), "public.staff"),
            ("comment on policy p on staff is null".to_owned(), "public.staff"),
            ("comment on rule ru on dept is null".to_owned(), "public.dept"),
            ("comment on column names.name is null".to_owned(), "view public.names"),
            ("comment on large object 4711 is null".to_owned(), "a comment"),
            (format!("comment on database {database} is 'hacked'"), "a comment on a database"),
            ("grant boss to clerk".to_owned(), "the membership in a role"),
            ("select lo_put(4711, 50000, 'xyz')".to_owned(), "a large object"),
            ("refresh materialized view concurrently frozen".to_owned(), "materialized view public.frozen"),
            ("refresh materialized view frozen".to_owned(), "materialized view public.frozen"),
            ("revoke select on pg_catalog.pg_stat_activity from public".to_owned(), "own objects"),
            ("revoke all on language plpgsql from public".to_owned(), "own objects"),
            ("alter function pg_catalog.pg_sleep(float8) cost 7".to_owned(), "own objects"),
            ("comment on language plpgsql is 'hacked'".to_owned(), "own objects"),
            ("comment on function pg_catalog.pg_sleep(float8) is null".to_owned(), "own objects"),
            ("alter trigger keeps on staff depends on extension plpgsql".to_owned(), "public.staff"),
            ("alter index staff_name depends on extension plpgsql".to_owned(), "public.staff"),
            ("alter table staff set (toast.autovacuum_enabled = false)".to_owned(), "public.staff"),
            (
                "alter operator family fam using btree add operator 1 < (int,int8)".to_owned(),
                "operator family",
            ),
            ("alter extension plpgsql drop function plpgsql_call_handler()".to_owned(), "extension plpgsql"),
        ];
        if extent::is_all() {
            checks.extend(ALIKE.map(|(sql, told)| (sql.to_owned(), told)));
        }
        if major == NEWEST {
            session.execute(FURTHER_PARTS).expect("further parts");
            checks.push(("alter publication pub drop table staff".to_owned(), "public.staff"));
            checks.push(("alter publication pub add table dept".to_owned(), "public.dept"));
            checks.push(("alter publication pub drop tables in schema private".to_owned(), "schema private"));
            checks.push(("alter publication pub add table own".to_owned(), "the publication pub"));
            checks.push(("alter index expression alter column 1 set statistics 7".to_owned(), "public.dept"));
            checks.push(("create statistics s on id, name from staff".to_owned(), "public.staff"));
            checks.push(("grant set on parameter work_mem to clerk".to_owned(), "a parameter"));
            checks
                .push(("alter function used() no depends on extension plpgsql".to_owned(), "public.used()"));
            let of_all = "the new publication everything, which is FOR ALL TABLES";
            checks.push(("create publication everything for all tables".to_owned(), of_all));
            checks.push(("create publication here for tables in schema public".to_owned(), "schema public"));
        }
        session.execute("create role boss; create role clerk").expect("roles");
        for (sql, told) in checks {
            let quoted = sql.replace('\'', "''");
            let step = format!("create table own (a int); do $x$ begin execute '{quoted}'; end $x$;");
            let error = load(&steps(true, &[&step]), &mut session, &InitOptions::default());
            let error = error.expect_err(&step).to_string();
            assert!(error.contains(told) && error.contains("nothing was changed"), "{major} {sql}: {error}");
        }
        session.execute("drop role boss; drop role clerk").expect("roles");
    }
}

#[test]
fn a_word_in_a_comment_does_not_turn_the_protection_off() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "concurrently");
        others(&mut session);
        session.execute(EVIL).expect("a function");
        session.execute("create index staff_name on staff (name)").expect("an index of others");
        for statement in [
            "create materialized view omv as select public.deleted(1) as v /* built concurrently by hand */;",
            "alter index staff_name /* concurrently */ rename to gone;",
            "create index concurrently i on own (public.evil(a));",
        ] {
            let schema = format!("create table own (a int primary key, b int);\n{statement}");
            let error = load(&open(&folder(&schema, &[])), &mut session, &scaled(10.0)).expect_err(statement);
            assert!(error.to_string().contains("public.staff"), "{major} {statement}: {error}");
            assert_eq!(lines(&mut session, ROWS_OF_STAFF), ["1"], "{statement}");
            assert_eq!(
                lines(&mut session, "select to_regclass('staff_name')"),
                ["staff_name"],
                "{statement}"
            );
        }
        let schema = "create table own (a int primary key, b int);\ncreate index concurrently i on own (b);";
        load(&open(&folder(schema, &[])), &mut session, &scaled(10.0)).expect("an own index");
        assert_eq!(lines(&mut session, "select to_regclass('i')"), ["i"], "{major}");
    }
}

#[test]
fn a_table_that_others_make_between_two_steps_gets_no_mark() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "between");
        session
            .execute("create table later (id int); insert into later values (1)")
            .expect("a table of others");
        let wait = "create table own (a int); select pg_advisory_lock(4711);";
        let orders = "drop table if exists orders; create table if not exists orders (a int);";
        let own = steps(true, &[wait, orders]);
        let mut other = Cluster::session(&conninfo(&mut session, "postgres"));
        other.execute("select pg_advisory_lock(4711)").expect("a lock");
        let other = thread::spawn(move || {
            let waits = "select count(*) from pg_locks l join pg_database d on d.oid = l.database \
                         where locktype = 'advisory' and not granted and datname = current_database()";
            while lines(&mut other, waits) != ["1"] {
                pause();
            }
            other
                .execute("alter table later rename to orders; select pg_advisory_unlock(4711)")
                .expect("renamed");
        });
        load(&own, &mut session, &InitOptions::default()).expect_err("a table of others");
        other.join().expect("it has ended");
        let marked = "select count(*) from pg_description where objoid = 'orders'::regclass";
        assert_eq!(lines(&mut session, marked), ["0"], "{major}");
        assert_eq!(lines(&mut session, "select count(*) from orders"), ["1"], "{major}");
    }
}

/// A change of a user, its undo, and the object.
const ALTERED: [(&str, &str, &str); 9] = [
    ("alter domain d add constraint c check (value < 9)", "alter domain d drop constraint c", "public.d"),
    ("alter domain d set default 7", "alter domain d drop default", "public.d"),
    ("alter sequence s increment 3", "alter sequence s increment 2", "public.s"),
    (
        "create or replace function f(a int default 2) returns int language sql as 'select 1'",
        "create or replace function f(a int default 1) returns int language sql as 'select 1'",
        "public.f",
    ),
    ("alter table t owner to owner_of_altered", "alter table t owner to postgres", "public.t"),
    (
        "alter text search configuration tsc alter mapping for asciiword with english_stem",
        "alter text search configuration tsc alter mapping for asciiword with simple",
        "public.tsc",
    ),
    (
        "alter text search configuration tsc drop mapping for email",
        "alter text search configuration tsc add mapping for email with simple",
        "public.tsc",
    ),
    (
        "alter text search dictionary tsd (accept = false)",
        "alter text search dictionary tsd (accept = true)",
        "public.tsd",
    ),
    ("alter type m add value 'c'", "select 1", "public.m"),
];

#[test]
fn objects_that_a_user_has_altered_are_kept() {
    let create = "drop table if exists t; drop sequence if exists s; drop function if exists f(int); \
                  drop text search configuration if exists tsc; create text search configuration tsc (copy = simple); \
                  drop text search dictionary if exists tsd; \
                  create text search dictionary tsd (template = simple, accept = true); \
                  drop type if exists m; drop domain if exists d; create domain d as int check (value > 0); \
                  create type m as enum ('a', 'b'); create sequence s increment 2; \
                  create function f(a int default 1) returns int language sql as 'select 1'; create table t (a int);";
    let body =
        |number: u32| format!("function g() returns int language sql begin atomic select {number}; end");
    let (one, two) = (format!("create or replace {}", body(1)), format!("create or replace {}", body(2)));
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "altered");
        session.execute("create role owner_of_altered").expect("a role");
        let (mut steps_of_major, mut altered) = (vec![create.to_owned()], ALTERED.to_vec());
        if major == NEWEST {
            steps_of_major.push(format!("drop function if exists g(); create {};", body(1)));
            altered.insert(0, (&two, &one, "public.g"));
        }
        let files: Vec<&str> = steps_of_major.iter().map(String::as_str).collect();
        let own = steps(true, &files);
        load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
        session.execute("select nextval('s'); grant select on t to public").expect("it is used");
        load(&own, &mut session, &InitOptions::default()).expect("these are its own objects");
        for (altered, back, told) in altered {
            session.execute(altered).expect("a user changes it");
            let error = load(&own, &mut session, &InitOptions::default()).expect_err(altered).to_string();
            assert!(error.contains(told), "{major} {altered}: {error}");
            session.execute(back).expect("a user changes it back");
        }
        session.execute("drop role owner_of_altered").expect("a role");
    }
}

#[test]
fn own_composite_types_are_dropped_and_those_of_others_are_not() {
    let own = steps(
        true,
        &[
            "drop type if exists pair; create type pair as (a int, b int); comment on column pair.a is 'x'",
            "create type later as (a int)",
            "drop type later; alter type pair add attribute c int",
        ],
    );
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "composite_types");
        for _ in 0..2 {
            load(&own, &mut session, &InitOptions::default()).expect("own types");
        }
        session.execute("create type mine as (a int)").expect("a type");
        for change in
            ["drop type mine", "alter type mine add attribute b int", "comment on column mine.a is 'x'"]
        {
            let error = load(&steps(true, &[change]), &mut session, &InitOptions::default())
                .expect_err(change)
                .to_string();
            assert!(error.contains("public.mine"), "{major} {change}: {error}");
        }
        session.execute("alter type pair add attribute d int").expect("a user changes it");
        let error = load(&own, &mut session, &InitOptions::default()).expect_err("a change").to_string();
        assert!(error.contains("public.pair"), "{major}: {error}");
    }
}

#[test]
fn a_check_changes_nothing() {
    let manifest = "name = \"own\"\n[[load]]\nfile = \"a.sql\"\n[[scripts]]\nfile = \"a.sql\"\n[[checks]]\nfile = \"c.sql\"\n";
    let files = [("workload.toml", manifest), ("a.sql", "select 1;"), ("c.sql", "select lo_unlink(4711);")];
    let own = pgmeter_workload::Folder::embedded(&files).expect("a workload");
    let own: &dyn Workload = &own;
    let mut session = session(OLDEST, "lo_unlink");
    session.execute("select lo_create(4711)").expect("a large object");
    own.run_checks(&mut session, &std::collections::BTreeMap::new()).expect_err("it returns a row");
    assert_eq!(lines(&mut session, "select count(*) from pg_largeobject_metadata"), ["1"]);
}
