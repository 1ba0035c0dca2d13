//! A dry run and the limit of a load:
//! both know the rows of a schema before any row is loaded, and change nothing.

use std::ops::ControlFlow;

use connect::Session;
use pgmeter_workload::{
    DataOptions, InitOptions, LoadLimit, RowFormat, SchemaText, Workload, WorkloadError, write_rows,
};

use crate::generated::{folder, open, scaled};
use crate::harness::{NEWEST, lines, session, session as session_of, target};

const SCHEMA: &str = "\
    create table countries (code text primary key, name text not null);\n\
    insert into countries values ('de', 'Germany'), ('fr', 'France');\n\
    create table people (id serial primary key, country text references countries,\n\
      even int check (even % 2 = 0 and even::text like '%8'));\n\
    create table visits (id bigint primary key, person int not null references people, -- df: sub=scale alpha=2\n\
      at date); -- df: start=2024-01-01 end=2024-12-31\n\
    -- df t=visits: mult=10\n\
    prepare found as select count(*) from people;\n\
    create table settings (lock boolean primary key default true check (lock));\n";

fn tables(session: &mut Session) -> Vec<String> {
    lines(session, "select relname from pg_class where relnamespace = 'public'::regnamespace")
}

#[test]
fn a_dry_run_shows_rows_paths_and_generators_and_changes_nothing() {
    let mut session = session(NEWEST, "dry_run");
    let folder = folder(SCHEMA, &[]);
    let run = &mut |_: pgmeter_workload::InitProgress<'_>| ControlFlow::Continue(());
    let text = open(&folder).dry_run(&mut session, &scaled(200.0), run).expect("a dry run");
    let line = |start: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        found
            .unwrap_or_else(|| panic!("no line {start}: {text}"))
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let visits = line("visits  ");
    assert!(visits.starts_with("visits 2,000 "), "{text}");
    assert!(visits.ends_with("checked by the server: references such a table"), "{text}");
    assert!(line("people  ").starts_with("people 200 "), "{text}");
    assert!(line("people  ").ends_with("checked by the server: people_even_check"), "{text}");
    let settings = line("settings  ");
    assert!(settings.starts_with("settings 1 ") && settings.ends_with("COPY"), "{text}");
    assert_eq!(
        line("countries  "),
        "countries no generated rows: schema.sql inserts them, or the table exists"
    );
    assert_eq!(line("person  "), "person integer values of people.id sub=scale alpha=2 its foreign key");
    assert!(line("at  ").starts_with("at date date start=2024-01-01 end=2024-12-31 "), "{text}");
    assert_eq!(tables(&mut session), [""; 0]);
}

/// The limit holds before anything is dropped or made.
#[test]
fn a_load_beyond_its_limit_is_refused_with_its_forecast() {
    let mut session = session(NEWEST, "load_limit");
    let target = target(&mut session);
    let folder = folder(SCHEMA, &[]);
    let load = |session: &mut Session, size: f64, free_bytes: Option<u64>| {
        let options = InitOptions { limit: Some(LoadLimit { free_bytes }), ..scaled(size) };
        let run = &mut |_: pgmeter_workload::InitProgress<'_>| ControlFlow::Continue(());
        open(&folder).load(&target, session, &options, run)
    };
    let refused = |error: WorkloadError| match error {
        WorkloadError::LoadTooLarge { forecast } => forecast,
        other => panic!("{other}"),
    };
    let forecast = refused(load(&mut session, 300.0, Some(1_000)).expect_err("too large"));
    assert!(forecast.contains("3,301 rows (visits 3,000, people 300, settings 1)"), "{forecast}");
    let forecast = refused(load(&mut session, 1e9, None).expect_err("too large"));
    assert!(forecast.starts_with("loading needs about ") && forecast.contains(" h "), "{forecast}");
    assert_eq!(tables(&mut session), [""; 0]);
    load(&mut session, 300.0, Some(10_000_000)).expect("it fits");
    assert_eq!(lines(&mut session, "select count(*) from visits"), ["3000"]);
}

/// Text and catalogs give one model.
#[test]
fn a_schema_has_the_same_rows_on_all_versions() {
    let schema = "\
        -- df city: word=:Rome,Oslo,Lima sub=power rate=0.5\n\
        create type mood as enum ('sad', 'ok');\n\
        create domain percent as int check (value between 0 and 100);\n\
        create table people (id serial primary key, email text unique not null, city text, -- df: use=city\n\
          born date, mood mood not null, share percent, tags text[], price numeric(8,2) check (price > 0));\n\
        create table visits ( -- df: mult=3\n\
          person int not null references people, day date, place varchar(30),\n\
          primary key (person, day), check (place in ('a', 'b')));\n\
        create table parts (id bigint generated always as identity primary key, parent bigint references parts,\n\
          flags bit(5), ip inet, doc jsonb, at timestamptz default now());\n\
        create table kinds (id int primary key, mood mood, name varchar(20) not null unique);\n\
        create table kinds_of_people (kind int references kinds, person int references people,\n\
          primary key (kind, person));\n";
    let folder = folder(schema, &[]);
    let mut session = session(NEWEST, "same_rows");
    let options = DataOptions { size: Some(300.0), ..DataOptions::default() };
    let text = SchemaText::open(&folder.path().join("schema.sql"), false).expect("a schema");
    let run = &mut |_: pgmeter_workload::InitProgress<'_>| ControlFlow::Continue(());
    let described = text.rows(&options, &mut session, run).expect("a description");
    let written = |version| {
        let mut session = session_of(version, "same_rows");
        let run = &mut |_: pgmeter_workload::InitProgress<'_>| ControlFlow::Continue(());
        let rows = text.rows(&options, &mut session, run).expect("a description");
        let mut out = Vec::new();
        write_rows(&rows, None, RowFormat::Copy, 1, &mut out).expect("rows");
        String::from_utf8(out).expect("UTF-8")
    };
    assert_eq!(written(NEWEST), written("13"));
    let sizes = ["kinds", "kinds_of_people"].map(|name| described.table(name).expect("a table").rows());
    assert_eq!(sizes, [100, 600], "look-up tables stay small, and join tables grow");
    let run = &mut |_: pgmeter_workload::InitProgress<'_>| ControlFlow::Continue(());
    let text = open(&folder).dry_run(&mut session, &scaled(300.0), run).expect("a dry run");
    assert!(text.contains("COPY; a lookup table has at most 100 rows"), "{text}");
    assert!(text.contains("COPY; a join table has twice the rows of people"), "{text}");
    crate::generated::load(&open(&folder), &mut session, &scaled(300.0)).expect("the same rows");
    let counted = "select concat((select count(*) from kinds), ' ', (select count(*) from kinds_of_people))";
    assert_eq!(lines(&mut session, counted), ["100 600"]);
}
