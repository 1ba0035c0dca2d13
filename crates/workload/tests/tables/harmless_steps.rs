//! What load steps and checks of a folder cannot do to others: commit in hidden ways, change what a database shares, wait for
//! locks while others wait behind them. On the oldest and the newest server.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::thread;

use connect::Session;
use pgmeter_workload::{Folder, InitOptions, InitProgress, Workload};
use testkit::cluster::Cluster;
use testkit::condition::pause;
use testkit::extent;

use crate::generated::{folder, load, open, scaled};
use crate::harness::{NEWEST, OLDEST, conninfo, lines, session, target};

/// Whether the step of a case is a transaction. After a change, the cases of a test take turns.
pub(crate) fn transactions(case: usize) -> &'static [bool] {
    let turn = if case.is_multiple_of(2) { &[true] } else { &[false] };
    extent::choose(turn, &[true, false])
}

/// A folder whose only files are these steps.
pub(crate) fn steps(is_transaction: bool, sql: &[&str]) -> Folder {
    let mut manifest = "name = \"own\"\n[[scripts]]\nfile = \"s.sql\"\n".to_owned();
    let names: Vec<String> = (0..sql.len()).map(|at| format!("step{at}.sql")).collect();
    for name in &names {
        manifest.push_str(&format!("[[load]]\nfile = \"{name}\"\ntransaction = {is_transaction}\n"));
    }
    let mut files = vec![("workload.toml", &*manifest), ("s.sql", "select 1;")];
    files.extend(names.iter().map(String::as_str).zip(sql.iter().copied()));
    Folder::embedded(&files).expect("a workload")
}

#[track_caller]
/// Each loading has a session of its own: the server may still count the refused changes of one that was used before.
fn loading(session: &mut Session) -> Session {
    Session::connect(&target(session)).expect("a session")
}

fn check_refused(session: &mut Session, sql: &str, told: &str) {
    let error = load(&steps(true, &[sql]), &mut loading(session), &InitOptions::default());
    let error = error.expect_err(sql).to_string();
    assert!(error.contains(told), "{sql}: {error}");
}

/// A function for indexes that deletes rows.
pub(crate) const EVIL: &str = "create function deleted(a int) returns int language plpgsql as \
    'begin delete from public.staff; return a; end'; \
    create function evil(a int) returns int language plpgsql immutable as 'begin return public.deleted(a); end'";

/// A table with a row, and objects that belong to it.
pub(crate) const STAFF: &str = "create table staff (id int primary key, name text); insert into staff values (1, 'a'); \
    create view names as select name from staff; create sequence mine; \
    create table numbered (id serial); \
    create function keep() returns trigger language plpgsql as 'begin return new; end'; \
    create trigger keeps before update on staff for each row execute procedure keep(); \
    create policy p on staff using (id > 0); create rule r as on delete to staff do instead nothing; \
    create schema private; select lo_create(4711)";

#[test]
fn a_commit_that_only_the_server_sees_is_not_executed() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "hidden_commits");
        session
            .execute("create table staff (id int); insert into staff values (1)")
            .expect("a table of others");
        let hidden = "select '\\''; commit; delete from staff; commit; begin; select 1 --';";
        let set = format!("set local standard_conforming_strings = off;\n{hidden}");
        load(&steps(true, &[&set]), &mut session, &InitOptions::default()).expect_err("two statements");
        assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{major}");
        session.execute("set standard_conforming_strings = off").expect("a setting of the role");
        for is_transaction in [true, false] {
            let own = steps(is_transaction, &[hidden]);
            load(&own, &mut session, &InitOptions::default()).expect_err("two statements");
            assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{major} {is_transaction}");
        }
        let manifest = "name = \"own\"\n[[load]]\nfile = \"a.sql\"\n[[scripts]]\nfile = \"a.sql\"\n[[checks]]\nfile = \"c.sql\"\n";
        let files = [("workload.toml", manifest), ("a.sql", "select 1;"), ("c.sql", hidden)];
        let own = Folder::embedded(&files).expect("a workload");
        let own: &dyn Workload = &own;
        own.run_checks(&mut session, &BTreeMap::new()).expect_err("two statements");
        assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{major}, a check");
    }
}

#[test]
fn rows_are_counted_though_the_role_does_not_have_the_server_count_them() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "uncounted");
        session
            .execute("create table staff (id int); insert into staff values (1)")
            .expect("a table of others");
        session.execute("set track_counts = off").expect("a setting of the role");
        check_refused(&mut session, "do $$ begin delete from staff; end $$;", "public.staff");
        check_refused(&mut session, "set local track_counts = off; delete from staff;", "");
        assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{major}");
    }
}

#[test]
fn definitions_privileges_and_comments_of_others_stay() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "definitions");
        session.execute(STAFF).expect("objects of others");
        let database = lines(&mut session, "select quote_ident(current_database())").remove(0);
        // Others look at rows of the same catalogs: `hidden_changes` at comments, and at the settings of roles.
        let alike = [
            ("comment on column staff.name is 'x';", "public.staff"),
            // The object or its comment is named, whichever is seen first.
            ("comment on large object 4711 is 'x';", ""),
            ("alter role current_user set work_mem = '1MB';", "a setting of a database or a role"),
        ];
        for &(sql, told) in extent::choose(&[][..], &alike) {
            check_refused(&mut session, sql, told);
        }
        for (sql, told) in [
            ("do $$ begin alter table staff disable trigger keeps; end $$;", "public.staff"),
            ("alter policy p on staff using (true);", "public.staff"),
            ("create or replace rule r as on delete to staff do also nothing;", "public.staff"),
            ("comment on table staff is 'x';", "public.staff"),
            ("comment on view names is 'x';", "view public.names"),
            ("alter view names alter column name set default 'x';", "view public.names"),
            ("alter table staff rename constraint staff_pkey to k;", "public.staff"),
            ("alter index staff_pkey set (fillfactor = 50);", "public.staff"),
            ("grant usage on schema private to public;", "schema private"),
            ("alter sequence numbered_id_seq start with 7;", "numbered_id_seq"),
            ("select lo_unlink(4711);", "a large object"),
            (
                &format!("alter database {database} set work_mem = '1MB';"),
                "a setting of a database or a role",
            ),
            (&format!("revoke connect on database {database} from public;"), "a database"),
        ] {
            // Before version 10, no catalog has the properties of sequences.
            if major == OLDEST && sql.starts_with("alter sequence") {
                continue;
            }
            check_refused(&mut session, sql, told);
        }
        // Own objects of the same kinds are made and changed.
        let own = "create table own (id serial primary key, t text); comment on table own is 'x'; \
                   create policy p on own using (true); alter policy p on own using (id > 0); \
                   create schema own_schema; grant usage on schema own_schema to public; \
                   create table own_schema.a (id int references own (id)); select lo_create(4712)";
        let change = "alter table own add column more int; insert into own (t) values ('a'); \
                      alter index own_pkey set (fillfactor = 50); comment on table own is 'y'";
        let again = "alter table own drop column more; select lo_unlink(4712)";
        for &is_transaction in transactions(0) {
            let clean = "drop schema if exists own_schema cascade; drop table if exists own cascade";
            session.execute(clean).expect("own objects");
            let folder = steps(is_transaction, &[own, change, again]);
            let error = load(&folder, &mut loading(&mut session), &InitOptions::default())
                .expect_err("a large object has no owner among workloads")
                .to_string();
            assert!(error.contains("a large object"), "{major}: {error}");
            assert_eq!(lines(&mut session, "select count(*) from own"), ["1"], "{major}");
            session.execute("select lo_unlink(4712)").expect("it is there");
        }
    }
}

#[test]
fn statements_that_cannot_be_rolled_back_do_not_touch_others() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "alone");
        session.execute(STAFF).expect("objects of others");
        session
            .execute("drop rule r on staff; create index staff_name on staff (name)")
            .expect("an index of others");
        session.execute(EVIL).expect("a function");
        for (sql, told) in [
            ("drop database template_of_nobody;", "concerns more than this database"),
            ("alter system set work_mem = '1MB';", "concerns more than this database"),
            ("drop index concurrently staff_name;", "public.staff"),
            ("drop index concurrently U&\"staff\\005fname\";", "public.staff"),
            ("vacuum full U&\"st\\0061ff\";", "drops or rewrites"),
            ("create table \"vacuum\" (a int); vacuum full;", "drops or rewrites"),
            ("create table \"database\" (a int); reindex database postgres;", "drops or rewrites"),
            (
                "create table own_rows (a int); create index concurrently i on own_rows (evil(a))",
                "public.staff",
            ),
            ("vacuum full staff;", "public.staff"),
            ("vacuum full;", "drops or rewrites"),
            ("reindex database postgres;", "drops or rewrites"),
        ] {
            let sql = sql.replace("own_rows (a int);", "own_rows (a int); insert into own_rows values (1);");
            let error = load(&steps(false, &[&sql]), &mut session, &InitOptions::default()).expect_err(&sql);
            assert!(error.to_string().contains(told), "{sql}: {error}");
        }
        let own = "drop table if exists own; create table own (id int); create index concurrently own_id on own (id); \
                   vacuum full own; vacuum analyze staff; drop index concurrently own_id; vacuum own";
        load(&steps(false, &[own]), &mut session, &InitOptions::default()).expect("own tables");
    }
}

#[test]
fn tables_that_others_make_meanwhile_are_not_marked_and_not_changed() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "meanwhile");
        let place = conninfo(&mut session, "postgres");
        // The second step waits for the table that another session makes.
        let wait = "do $$ begin loop exit when to_regclass('app.invoices') is not null; perform pg_sleep(0.01); \
                    end loop; end $$;";
        let grant = "grant select on all tables in schema app to public;";
        let steps = steps(true, &["create schema app; create table app.own (id int);", wait, grant]);
        let other = thread::spawn(move || {
            let mut other = Cluster::session(&place);
            while lines(&mut other, "select count(*) from pg_namespace where nspname = 'app'") != ["1"] {
                pause();
            }
            other
                .execute("create table app.invoices (id int); insert into app.invoices values (1)")
                .expect("made");
        });
        let error =
            load(&steps, &mut session, &InitOptions::default()).expect_err("it is not own").to_string();
        other.join().expect("it has ended");
        assert!(error.contains("app.invoices"), "{major}: {error}");
        let marked = "select count(*) from pg_description where objoid = 'app.invoices'::regclass";
        assert_eq!(lines(&mut session, marked), ["0"], "{major}");
    }
}

#[test]
fn partitions_that_others_attach_are_not_dropped() {
    let mut session = session(NEWEST, "attached");
    let schema = "drop table if exists parts; create table parts (id int) partition by range (id); \
                  create table parts_a partition of parts for values from (0) to (10)";
    let own = steps(true, &[schema]);
    load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
    load(&own, &mut session, &InitOptions::default()).expect("own partitions are replaced");
    session
        .execute("create table mine (id int); alter table parts attach partition mine for values from (10) to (20); \
                  insert into mine values (15)")
        .expect("a partition of others");
    let error = load(&own, &mut session, &InitOptions::default()).expect_err("it is not own").to_string();
    assert!(error.contains("public.mine"), "{error}");
    assert_eq!(lines(&mut session, "select count(*) from mine"), ["1"]);
}

#[test]
fn a_step_does_not_make_others_wait_behind_it() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "behind");
        session
            .execute("create table staff (id int primary key); insert into staff values (1)")
            .expect("a table");
        let place = conninfo(&mut session, "postgres");
        let mut holder = Cluster::session(&place);
        holder.execute("begin; update staff set id = id").expect("a lock");
        let loading = thread::spawn(move || {
            let step = "drop table if exists own; create table own (id int references staff)";
            load(&steps(true, &[step]), &mut session, &InitOptions::default()).map(|_| session)
        });
        let mut application = Cluster::session(&place);
        // A busy machine needs more than the tries of a second; without them the statement would wait for the holder.
        application.execute("set statement_timeout = '20s'").expect("a setting");
        let waits = "select count(*) from pg_locks where not granted and relation = 'staff'::regclass";
        let mut seen = 0;
        while seen < 3 {
            assert!(!loading.is_finished(), "it does not wait for the lock");
            seen += i32::from(lines(&mut application, waits) == ["1"]);
            application
                .execute("insert into staff values (-1); delete from staff where id = -1")
                .expect("in time");
            pause();
        }
        holder.execute("commit").expect("it ends");
        loading.join().expect("it has ended").expect("it got its lock");
    }
}

#[test]
fn rows_of_others_that_change_while_rows_are_loaded_end_the_load() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "while_loading");
        session
            .execute(
                "create table staff (id int); insert into staff values (1); create function zap() returns int \
                 language plpgsql as 'begin delete from staff; return 1; end'",
            )
            .expect("objects of others");
        let schema = "create table own (id int primary key, n int default 1 check (zap() is not null));";
        let folder = folder(schema, &[]);
        let error =
            load(&open(&folder), &mut session, &scaled(10.0)).expect_err("rows of others").to_string();
        assert!(error.contains("public.staff"), "{major}: {error}");
        assert_eq!(lines(&mut session, "select count(*) from staff"), ["1"], "{major}");
    }
}

#[test]
fn a_function_or_view_that_a_user_has_replaced_is_kept() {
    let own = steps(
        true,
        &["drop view if exists v; drop function if exists f(); \
           create function f() returns int language sql as 'select 1'; create view v as select 1 as a; \
           drop type if exists t; create type t as enum ('a');"],
    );
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "replaced");
        load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
        load(&own, &mut session, &InitOptions::default()).expect("these are its own objects");
        for (replaced, told) in [
            ("create or replace function f() returns int language sql as 'select 2'", "function public.f()"),
            ("create or replace view v as select 2 as a", "view public.v"),
        ] {
            session.execute(replaced).expect("a user changes it");
            let error =
                load(&own, &mut session, &InitOptions::default()).expect_err("it is kept").to_string();
            assert!(error.contains(told), "{error}");
            let before = replaced.replace("select 2", "select 1");
            session.execute(&before).expect("a user changes it back");
        }
        load(&own, &mut session, &InitOptions::default()).expect("they are as it made them");
    }
}

#[test]
fn a_name_that_means_a_table_of_others_is_refused_before_a_run() {
    let schema = "create table orders (id int primary key);";
    let script = ("scripts/d.sql", "delete from orders where id = 1;");
    let qualified = ("scripts/d.sql", "delete from bench.orders where id = 1;");
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let conninfo = Cluster::shared(major).database("namesake");
        let mut session = Cluster::session(&conninfo);
        session
            .execute("create schema bench; create table orders (id int); insert into orders values (1)")
            .expect("a table of a user");
        let path = "do $$ begin execute format('alter database %I set search_path = bench', current_database()); end $$";
        session.execute(path).expect("a search path");
        let mut there = Cluster::session(&conninfo);
        let (unqualified, qualified) = (folder(schema, &[script]), folder(schema, &[qualified]));
        load(&open(&unqualified), &mut there, &scaled(2.0)).expect("it is loaded");
        let error = open(&unqualified).find_tables(&mut session).expect_err("another table").to_string();
        assert_eq!(
            error,
            "the name orders in the SQL of the workload own means public.orders here, which `init` did not make; the \
             workload's own table is bench.orders. Put its schema first in the search path, such as with \
             \"options=-csearch_path=bench\" in the connection string"
        );
        open(&unqualified).find_tables(&mut there).expect("its own table");
        open(&qualified).find_tables(&mut session).expect("its own table");
    }
}

/// An event trigger that notes each DDL statement in a table, which it finds by the search path.
const AUDIT: &str = "create table ddl_log (command text); create function audit() returns event_trigger language plpgsql as \
    'begin insert into ddl_log values (tg_tag); end'; \
    create event trigger audits on ddl_command_end execute procedure audit()";

#[test]
fn an_audit_of_ddl_is_named_and_works_if_it_is_permitted() {
    let own = steps(true, &["create table wt (id int);"]);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "audited");
        session.execute(AUDIT).expect("an event trigger");
        let error = load(&own, &mut session, &InitOptions::default()).expect_err("it is refused").to_string();
        assert!(error.contains("public.ddl_log") && error.contains("the event trigger audits of"), "{error}");
        load(&own, &mut session, &InitOptions { drops: true, ..InitOptions::default() })
            .expect("it is permitted");
        let noted = "select string_agg(distinct command, ', ' order by command) from ddl_log";
        assert_eq!(lines(&mut session, noted), ["COMMENT, CREATE TABLE"]);
    }
}

#[test]
fn with_permission_the_end_of_a_prepared_transaction_is_named() {
    let own = steps(false, &["rollback prepared 'nobody';"]);
    let mut session = session(NEWEST, "two_phases");
    let mut told = Vec::new();
    let options = InitOptions { drops: true, ..InitOptions::default() };
    let done = own.load(&target(&mut session), &mut session, &options, &mut |progress| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    });
    done.expect_err("no such transaction is prepared");
    assert_eq!(told, ["step0.sql drops or changes a prepared transaction (rollback prepared 'nobody')"]);
}
