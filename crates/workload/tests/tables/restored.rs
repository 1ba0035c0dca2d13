//! Objects of every kind with marks that were restored from a dump into another database: they are named, and dropped
//! with permission.

use std::ops::ControlFlow;
use testkit::cluster::Cluster;

use connect::Session;
use pgmeter_workload::{InitOptions, InitProgress, Workload};

use crate::generated::{folder, load, open, scaled};
use crate::harness::{NEWEST, OLDEST, lines, session, target};

const OBJECTS: &str = "create schema app; create type mood as enum ('good', 'bad'); create type app.pair as (a int, b int); \
    create domain price as numeric(8,2) check (value > 0); create sequence app.numbers; \
    create function half(a int) returns int language sql immutable as 'select a / 2'; \
    create collation mine (locale = 'C'); \
    create cast (app.pair as mood) with inout;";
const TABLES: &str = "create table orders(id serial primary key, mood mood, net price not null);";
const VIEWS: &str = "create materialized view bad as select * from orders where mood = 'bad'; \
    create view good as select * from orders where mood = 'good';";

/// What a dump has besides the definitions: the comments with marks.
fn comments(session: &mut Session) -> String {
    let sql = "select format('comment on %s %s is %L', o.type, o.identity, d.description) from pg_description d \
               cross join lateral pg_identify_object(d.classoid, d.objoid, 0) o \
               where d.objsubid = 0 and d.description like '%pgmeter: workload=%'";
    lines(session, sql).join("; ")
}

/// The drops that are told.
fn dropped(own: &dyn Workload, session: &mut Session) -> String {
    let mut told = Vec::new();
    let options = InitOptions { drops: true, ..scaled(10.0) };
    own.load(&target(session), session, &options, &mut |progress| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    })
    .expect("it is permitted");
    told.join("; ")
}

#[test]
fn restored_objects_of_every_kind_are_named_and_dropped_with_permission() {
    let folder = folder(&format!("{OBJECTS}\n{TABLES}\n{VIEWS}"), &[]);
    let own = open(&folder);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut made = session(major, "dumped_kinds");
        load(&own, &mut made, &scaled(10.0)).expect("it is loaded");
        let comments = comments(&mut made);
        let mut restored = session(major, "restored_kinds");
        restored.execute(&format!("{OBJECTS} {TABLES} {VIEWS} {comments}")).expect("a restored dump");
        let told = dropped(&own, &mut restored);
        for drop in [
            "drop view public.good",
            "drop materialized view public.bad",
            "drop table public.orders",
            "drop sequence app.numbers",
            "drop function public.half(integer)",
            "drop type public.price",
            "drop type public.mood",
            "drop type app.pair",
            "drop collation public.mine",
            "drop cast (app.pair AS public.mood)",
            "drop schema app",
        ] {
            assert!(told.contains(drop), "{major}: {drop} is not in {told}");
        }
        load(&own, &mut restored, &scaled(10.0)).expect("these are its own objects");
    }
}

#[test]
fn restored_objects_without_their_tables_are_refused_by_name() {
    let folder = folder(&format!("{OBJECTS}\n{TABLES}"), &[]);
    let own = open(&folder);
    let mut made = session(NEWEST, "dumped_types");
    load(&own, &mut made, &scaled(10.0)).expect("it is loaded");
    let comments = comments(&mut made);
    let marked = |kind: &str| comments.split("; ").find(|sql| sql.contains(kind));
    for (create, kind, name) in [
        ("create domain price as int", "comment on type public.price", "public.price"),
        (
            "create function half(a int) returns int language sql as 'select 1'",
            "comment on function public.half",
            "public.half(integer)",
        ),
        ("create schema app", "comment on schema app", "app"),
    ] {
        let mut restored = session(NEWEST, "restored_types");
        let comment = marked(kind).expect("it has a mark");
        restored.execute(&format!("{create}; {comment}")).expect("a restored object");
        let error = load(&own, &mut restored, &scaled(10.0)).expect_err("it is in the way").to_string();
        assert!(error.starts_with(&format!("{name} was restored or copied: ")), "{error}");
        assert!(error.ends_with(" --drop` drop it"), "{error}");
    }
}

#[test]
fn a_restored_function_with_other_arguments_is_not_in_the_way() {
    let folder = folder(&format!("{OBJECTS}\n{TABLES}"), &[]);
    let own = open(&folder);
    let mut session = session(NEWEST, "overloaded");
    load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
    let copy = "create function half(a text) returns int language sql as 'select 1'";
    let mark = "do $$ begin execute format('comment on function half(text) is %L', \
                obj_description('half(int)'::regprocedure)); end $$";
    session.execute(copy).expect("a function");
    session.execute(mark).expect("its comment");
    load(&own, &mut session, &scaled(10.0)).expect("the names differ");
    let functions = "select count(*) from pg_proc where proname = 'half'";
    assert_eq!(lines(&mut session, functions), ["2"]);
}
