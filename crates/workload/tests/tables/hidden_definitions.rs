//! Changes of others' definitions by functions that run while generated rows are loaded, and at the commit. On the oldest and
//! the newest server.

use connect::Session;
use pgmeter_workload::InitOptions;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, load, open, scaled};
use crate::harmless_steps::{steps, transactions};
use crate::harness::{NEWEST, OLDEST, lines, session};

/// A manifest with which triggers exist while rows are loaded.
const TRIGGERS: &str = "name = \"own\"\nbefore_rows = [\"triggers\"]\n";
/// Files, definitions and privileges of the table of others; nothing if it was dropped.
const STATE: &str = "select concat_ws(' ', relfilenode, relacl, relnatts, (select count(*) from public.staff)) \
    from pg_class where oid = to_regclass('public.staff')";

fn others(session: &mut Session) {
    session
        .execute("create table staff (id int primary key, name text); insert into staff values (1, 'a')")
        .expect("objects of others");
}

/// Loads generated rows whose schema must not change the table of others.
#[track_caller]
fn check_rolled_back(session: &mut Session, schema: &str, all_jobs: &[u32]) {
    let before = lines(session, STATE);
    for &jobs in all_jobs {
        let options = InitOptions { jobs, ..scaled(10.0) };
        let own = folder(schema, &[]);
        std::fs::write(own.path().join("workload.toml"), TRIGGERS).expect("a manifest");
        let error = load(&open(&own), session, &options).expect_err(schema).to_string();
        assert!(error.contains("public.staff") && error.contains("rolled back"), "{schema}: {error}");
        assert_eq!(lines(session, STATE), before, "{schema}");
    }
    session.execute("drop table if exists own, own2, own_pgmeter cascade").expect("own objects");
    session.execute("drop domain if exists odd; drop function if exists zap() cascade").expect("own objects");
}

#[test]
fn functions_that_run_for_generated_rows_change_no_definitions_of_others() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "definitions_by_rows");
        others(&mut session);
        let changes = [
            "truncate public.staff",
            "drop table public.staff",
            "alter table public.staff add if_new int",
            "grant select on public.staff to public",
        ];
        // After a change, each with one or with two connections.
        for (change, few) in changes.into_iter().zip([&[1], &[2]].into_iter().cycle()) {
            let all_jobs = extent::choose(&few[..], &[1, 2]);
            let once = format!(
                "begin begin execute ''{change}''; exception when undefined_table or duplicate_column then null; end;"
            );
            check_rolled_back(
                &mut session,
                &format!(
                    "create table own (a int primary key, b int);\n\
                     create function zap() returns trigger language plpgsql as '{once} return new; end';\n\
                     create trigger tg before insert on own for each row execute procedure zap();"
                ),
                all_jobs,
            );
        }
        let zap = "create function zap() returns boolean language plpgsql as \
                   'begin truncate public.staff; return true; end';";
        check_rolled_back(
            &mut session,
            &format!("{zap}\ncreate table own (a int primary key, b int, check (a < 0 or zap()));"),
            extent::choose(&[1][..], &[1, 2]),
        );
        check_rolled_back(
            &mut session,
            &format!(
                "{zap}\ncreate domain odd as int check (value < 0 or zap());\n\
                      create table own (a int primary key, b odd);"
            ),
            extent::choose(&[2][..], &[1, 2]),
        );
    }
}

#[test]
fn connections_that_load_rows_beside_each_other_do_not_disturb_each_other() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "definitions_beside");
        others(&mut session);
        let schema = "create function id() returns trigger language plpgsql as 'begin return new; end';\n\
                      create table own (a int primary key, b int);\n\
                      create table own2 (a int primary key, b int references own);\n\
                      create index own_b on own (b);\n\
                      create trigger tg before insert on own for each row execute procedure id();";
        let own = folder(schema, &[]);
        std::fs::write(own.path().join("workload.toml"), TRIGGERS).expect("a manifest");
        for _ in 0..2 {
            let options = InitOptions { jobs: 3, ..scaled(10.0) };
            load(&open(&own), &mut session, &options).expect("own tables only");
        }
    }
}

/// In a transaction, also those with CONCURRENTLY, and outside of one.
#[test]
fn indexes_of_others_are_not_rebuilt() {
    const FILES: &str = "select string_agg(relname || relfilenode, ' ' order by oid) from pg_class \
        where relkind in ('i', 't') and oid >= 16384";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "reindex");
        others(&mut session);
        session
            .execute(
                "create index staff_name on staff (name); create materialized view frozen as select id from staff; \
                 create unique index frozen_id on frozen (id)",
            )
            .expect("indexes of others");
        let toast = "select reltoastrelid::regclass from pg_class where relname = 'staff'";
        let toast = format!("reindex table {}", lines(&mut session, toast).remove(0));
        let mut checks = vec![
            ("reindex table staff", "public.staff"),
            ("reindex index staff_name", "public.staff"),
            ("reindex table frozen", "public.frozen"),
            ("reindex schema public", "public."),
            (&toast, "public.staff"),
        ];
        if major == NEWEST {
            checks.push(("reindex table concurrently staff", "public.staff"));
            checks.push(("reindex (concurrently) index staff_name", "public.staff"));
            checks.push(("reindex index concurrently frozen_id", "public.frozen"));
        }
        let before = lines(&mut session, FILES);
        for (case, (sql, told)) in checks.into_iter().enumerate() {
            for &is_transaction in transactions(case) {
                let own = steps(is_transaction, &[sql]);
                let error = load(&own, &mut session, &InitOptions::default()).expect_err(sql).to_string();
                let is_told = error.contains(told) || is_transaction && error.contains("transaction block");
                assert!(is_told, "{major} {sql}: {error}");
                assert_eq!(lines(&mut session, FILES), before, "{major} {sql}");
            }
        }
        let own = "create table own (a int primary key); reindex table own; reindex index own_pkey; \
                   analyze staff; create table own2 (a int references staff)";
        load(&steps(true, &[own]), &mut session, &InitOptions::default()).expect("own indexes");
    }
}

#[test]
fn the_servers_schema_gets_no_new_objects() {
    const NEW: &str =
        "select count(*) from pg_proc where oid >= 16384 and pronamespace = 'pg_catalog'::regnamespace";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "servers_schema");
        others(&mut session);
        let statements = [
            "create function pg_catalog.abs(text) returns text language sql as 'select $1';",
            "create operator pg_catalog.@@@@ (leftarg = int, rightarg = int, procedure = int4pl);",
            "create type pg_catalog.mine as enum ('a');",
            "create domain pg_catalog.odd as int;",
            "create function mine() returns int language sql as 'select 1'; alter function mine() set schema pg_catalog;",
        ];
        for (case, sql) in statements.into_iter().enumerate() {
            for &is_transaction in transactions(case) {
                let own = steps(is_transaction, &[sql]);
                let error = load(&own, &mut session, &InitOptions::default()).expect_err(sql).to_string();
                assert!(error.contains("the schema pg_catalog"), "{major} {sql}: {error}");
                assert_eq!(lines(&mut session, NEW), ["0"], "{major} {sql}");
                session.execute("drop function if exists public.mine()").expect("own objects");
            }
            // After a change, of each two statements one in a schema.
            if !extent::is_all() && !case.is_multiple_of(2) {
                continue;
            }
            let schema = format!("create table own (a int primary key, b int);\n{sql}");
            let error =
                load(&open(&folder(&schema, &[])), &mut session, &scaled(10.0)).expect_err(sql).to_string();
            assert!(error.contains("the schema pg_catalog"), "{major} {sql}: {error}");
        }
    }
}

/// A trigger that defers the constraints again and inserts a row fires once more, up to the level at which it changes others.
#[test]
fn triggers_that_defer_themselves_again_are_seen() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "deferred_again");
        others(&mut session);
        let before = lines(&mut session, STATE);
        let changes = ["delete from public.staff", "truncate public.staff"];
        for (change, few) in changes.into_iter().zip([&[2], &[5]]) {
            for level in extent::choose(&few[..], &[2, 5]) {
                let zap = format!(
                    "create function zap() returns trigger language plpgsql as 'begin if new.level >= {level} then \
                     {change}; else set constraints all deferred; insert into public.deep values (new.level + 1); \
                     end if; return null; end';\n\
                     create table deep (level int primary key);\n\
                     create constraint trigger z after insert on deep deferrable initially deferred \
                     for each row execute procedure zap();\n"
                );
                let step = format!("{zap} insert into deep values (1);");
                for is_transaction in [true, false] {
                    let own = steps(is_transaction, &[&step]);
                    let error =
                        load(&own, &mut session, &InitOptions::default()).expect_err(&step).to_string();
                    assert!(error.contains("public.staff"), "{major} {step}: {error}");
                    assert_eq!(lines(&mut session, STATE), before, "{major} {step}");
                    session
                        .execute("drop table if exists deep; drop function if exists zap()")
                        .expect("own objects");
                }
                let schema = format!(
                    "create table own (a int primary key, b int);\n{zap}\
                     create function add() returns trigger language plpgsql as 'begin \
                     insert into public.deep select 1 where not exists (select from public.deep); return new; end';\n\
                     create trigger tg before insert on own for each row execute procedure add();"
                );
                let own = folder(&schema, &[]);
                std::fs::write(own.path().join("workload.toml"), TRIGGERS).expect("a manifest");
                let error = load(&open(&own), &mut session, &scaled(10.0)).expect_err(&schema).to_string();
                assert!(error.contains("public.staff"), "{major} {schema}: {error}");
                assert_eq!(lines(&mut session, STATE), before, "{major} {schema}");
                session.execute("drop table if exists own, deep, own_pgmeter cascade").expect("own objects");
                session
                    .execute("drop function if exists zap(); drop function if exists add()")
                    .expect("own objects");
            }
        }
    }
}
