//! What DROP TABLE drops without naming it, before `init` drops tables: objects that users have added to the workload's tables,
//! tables of another folder with the same name, partitions and sequences of others. On the oldest and the newest server.

use std::ops::ControlFlow;

use connect::Session;
use pgmeter_workload::{Folder, InitOptions, InitProgress, Workload, read_folder};
use tempfile::TempDir;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, load, open, scaled};
use crate::harmless_steps::{steps, transactions};
use crate::harness::{NEWEST, OLDEST, conninfo, lines, session, target};

const SCHEMA: &str = "create table own (id serial primary key, b int default 1 check (b < 1000000));\n\
    create index own_b on own (b);\n\
    create view seen as select id, b from own;\n\
    create function same() returns trigger language plpgsql as 'begin return new; end';\n\
    create trigger kept before update on own for each row execute procedure same();";

/// The sentences about drops.
fn told(workload: &dyn Workload, session: &mut Session, options: &InitOptions) -> Vec<String> {
    let mut told = Vec::new();
    let target = target(session);
    let report = workload.load(&target, session, options, &mut |progress| {
        if let InitProgress::Dropping(sentence) = progress {
            told.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    });
    report.unwrap_or_else(|error| panic!("{error}"));
    told
}

/// A statement of a user, the statement that takes it back, and the description.
fn additions(major: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut additions = vec![
        ("create index mine on own (b desc)", "drop index mine", "the index public.mine of public.own"),
        (
            "alter table own add constraint few check (b < 2000000)",
            "alter table own drop constraint few",
            "the table constraint few on public.own",
        ),
        (
            "create trigger audit after insert on own for each row execute procedure same()",
            "drop trigger audit on own",
            "the trigger audit on public.own",
        ),
        (
            "create rule r as on delete to own do also nothing",
            "drop rule r on own",
            "the rule r on public.own",
        ),
        ("create policy p on own using (true)", "drop policy p on own", "the policy p on public.own"),
        (
            "alter view seen alter column b set default 7",
            "alter view seen alter column b drop default",
            "the default value for public.seen.b",
        ),
        (
            "alter table own alter column b set default 2",
            "alter table own alter column b set default 1",
            "the default value for public.own.b",
        ),
        ("create sequence s owned by own.b", "drop sequence s", "the sequence public.s of public.own"),
    ];
    if major == NEWEST {
        additions.extend([
            (
                "create statistics st on id, b from own",
                "drop statistics st",
                "the statistics object public.st of public.own",
            ),
            (
                "create publication pub for table own",
                "drop publication pub",
                "the membership public.own in publication pub",
            ),
        ]);
    }
    additions
}

#[test]
fn what_users_add_to_the_workloads_tables_is_named_and_kept() {
    let folder = folder(SCHEMA, &[]);
    let own = open(&folder);
    let drops = InitOptions { drops: true, ..scaled(10.0) };
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "added");
        load(&own, &mut session, &scaled(10.0)).expect("it is loaded");
        load(&own, &mut session, &scaled(10.0)).expect("these are its own objects");
        // Each is refused alone; after a change, several are taken back and dropped together.
        for group in additions(major).chunks(extent::choose(10, 1)) {
            for (add, back, described) in group {
                session.execute(add).expect(add);
                let error = load(&own, &mut session, &scaled(10.0)).expect_err(add).to_string();
                assert!(
                    error.starts_with(&format!(
                        "to drop its tables, `init` would also drop {described}, which"
                    )),
                    "{major}: {error}"
                );
                session.execute(back).expect(back);
            }
            load(&own, &mut session, &scaled(10.0)).unwrap_or_else(|error| panic!("{group:?}: {error}"));
            for (add, ..) in group {
                session.execute(add).expect(add);
            }
            let told = told(&own, &mut session, &drops);
            for (.., described) in group {
                assert!(told.iter().any(|sentence| sentence.contains(described)), "{described}: {told:?}");
            }
        }
        // An index of a comparison, and what a run leaves.
        session
            .execute(
                "create index compared on own (b); comment on index compared is 'pgmeter compare: index'; \
                 analyze own; grant select on own to public; alter table own set (fillfactor = 90)",
            )
            .expect("use of the tables");
        load(&own, &mut session, &scaled(10.0)).expect("it belongs to pgmeter");
    }
}

/// Refuses a change of a user, also if it is made again, until it is taken back.
#[track_caller]
fn check_kept(
    own: &Folder,
    session: &mut Session,
    options: &InitOptions,
    change: [&str; 2],
    described: &str,
) {
    let [add, back] = change;
    load(own, session, options).expect("it is loaded");
    load(own, session, options).expect("these are its own objects");
    session.execute(add).expect(add);
    let error = load(own, session, options).expect_err(add).to_string();
    assert!(error.contains(described), "{error}");
    session.execute(back).expect(back);
    load(own, session, options).unwrap_or_else(|error| panic!("{back}: {error}"));
}

#[test]
fn a_membership_of_a_loaded_schema_in_a_publication_is_named_and_kept() {
    let mut session = session(NEWEST, "schema_in_publication");
    let (add, back) = ("create publication pub for tables in schema app", "drop publication pub");
    let described = "the membership of the schema app in publication pub";
    let folder = folder("create schema app; create table app.own (id int primary key);", &[]);
    check_kept(&open(&folder), &mut session, &scaled(10.0), [add, back], described);
    session.execute("drop schema app cascade").expect("own objects");
    let step = "drop schema if exists app cascade; create schema app; create table app.own (id int)";
    for &is_transaction in transactions(1) {
        let own = steps(is_transaction, &[step]);
        check_kept(&own, &mut session, &InitOptions::default(), [add, back], described);
    }
    // A publication of the workload itself is in the way of nothing.
    let own = steps(
        true,
        &["drop publication if exists mine", step, "create publication mine for tables in schema app"],
    );
    session.execute("drop schema app cascade").expect("own objects");
    load(&own, &mut session, &InitOptions::default()).expect("it is loaded");
    session.execute("drop publication mine").expect("own objects");
    load(&own, &mut session, &InitOptions::default()).expect("its own objects");
}

#[test]
fn a_membership_of_a_loaded_table_in_a_subscription_is_named_and_kept() {
    let mut session = session(NEWEST, "subscribed");
    let add = "create subscription sub connection 'host=127.0.0.1' publication pub with (connect = false, slot_name = none); \
               insert into pg_subscription_rel (srsubid, srrelid, srsubstate) \
               select s.oid, 'own'::regclass, 'r' from pg_subscription s where subname = 'sub'";
    let described = "the membership public.own in subscription sub";
    let folder = folder("create table own (id int primary key);", &[]);
    check_kept(&open(&folder), &mut session, &scaled(10.0), [add, "drop subscription sub"], described);
    session.execute("drop table own").expect("own objects");
    let step = "drop table if exists own; create table own (id int)";
    for &is_transaction in transactions(0) {
        let own = steps(is_transaction, &[step]);
        check_kept(&own, &mut session, &InitOptions::default(), [add, "drop subscription sub"], described);
    }
    session.execute(add).expect("a subscription");
    let own = steps(true, &[step]);
    let told = told(&own, &mut session, &InitOptions { drops: true, ..InitOptions::default() });
    session.execute("drop subscription sub").expect("it is there");
    assert!(told.iter().any(|sentence| sentence.contains(described)), "{told:?}");
}

/// A user adds an index when the rows are there; the loading then creates its own keys and indexes, or is broken off.
fn load_with_an_addition(own: &dyn Workload, session: &mut Session, is_broken_off: bool) {
    let (target, place) = (target(session), conninfo(session, "postgres"));
    let mut is_added = false;
    let loaded = own.load(&target, session, &scaled(10.0), &mut |progress| {
        match progress {
            InitProgress::Finished(step) if step.name == "tables" => {
                let mut user = Cluster::session(&place);
                user.execute("create index mine on own (b desc)").expect("a user adds an index");
                is_added = true;
            }
            InitProgress::Waiting if is_added && is_broken_off => return ControlFlow::Break(()),
            InitProgress::Finished(_) if is_added && is_broken_off => return ControlFlow::Break(()),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(loaded.is_err(), is_broken_off, "{loaded:?}");
}

#[test]
fn what_users_add_while_tables_are_loaded_is_named_and_kept() {
    let folder = folder(SCHEMA, &[]);
    let own = open(&folder);
    for (major, is_broken_off) in
        Cluster::cases([(NEWEST, false), (OLDEST, false), (NEWEST, true)], |case| case.0)
    {
        let mut session = session(major, "added_meanwhile");
        load_with_an_addition(&own, &mut session, is_broken_off);
        let refused = |session: &mut Session| {
            let error = load(&own, session, &scaled(10.0)).expect_err("it would be dropped").to_string();
            let told =
                "to drop its tables, `init` would also drop the index public.mine of public.own, which";
            assert!(error.starts_with(told), "{major}: {error}");
        };
        refused(&mut session);
        if is_broken_off {
            load(&own, &mut session, &InitOptions { resumes: true, ..scaled(10.0) }).expect("the rest");
            refused(&mut session);
        }
        session.execute("drop index mine").expect("the user drops it");
        load(&own, &mut session, &scaled(10.0)).expect("the others are its own");
    }
}

#[test]
fn load_steps_keep_what_users_add() {
    let create = "drop table if exists own; create table own (a int); create index own_a on own (a)";
    let keep = "create table if not exists own (a int); truncate own; insert into own values (1)";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "added_to_steps");
        for is_transaction in [true, false] {
            let own = steps(is_transaction, &[create]);
            session.execute("drop table if exists own").expect("own table");
            for _ in 0..2 {
                load(&own, &mut session, &InitOptions::default()).expect("its own objects");
            }
            session.execute("create index mine on own (a)").expect("an index");
            // The index is not taken over by a loading that keeps it.
            load(&steps(is_transaction, &[keep]), &mut session, &InitOptions::default()).expect("it is kept");
            let error = load(&own, &mut session, &InitOptions::default()).expect_err("an index").to_string();
            assert!(error.contains("drop or change the index public.mine of public.own"), "{major}: {error}");
            assert_eq!(lines(&mut session, "select to_regclass('mine')"), ["mine"]);
            let drops = InitOptions { drops: true, ..InitOptions::default() };
            let told = told(&own, &mut session, &drops);
            assert!(told.iter().any(|sentence| sentence.contains("the index public.mine")), "{told:?}");
        }
    }
}

#[test]
fn what_users_add_between_load_steps_is_theirs() {
    let create = "drop table if exists own; create table own (a int); create index own_a on own (a)";
    for (major, is_transaction) in
        Cluster::cases([(NEWEST, true), (NEWEST, false), (OLDEST, true)], |case| case.0)
    {
        let mut session = session(major, "added_between");
        let (target, place) = (target(&mut session), conninfo(&mut session, "postgres"));
        let own =
            steps(is_transaction, &[create, "insert into own values (1); create index later on own (a)"]);
        let add = &mut |progress: InitProgress<'_>| {
            if matches!(progress, InitProgress::Finished(step) if step.name == "step0") {
                Cluster::session(&place)
                    .execute("create index mine on own (a)")
                    .expect("a user adds an index");
            }
            ControlFlow::Continue(())
        };
        own.load(&target, &mut session, &InitOptions::default(), add).expect("it is loaded");
        let error = load(&own, &mut session, &InitOptions::default()).expect_err("an index").to_string();
        assert!(error.contains("drop or change the index public.mine of public.own"), "{major}: {error}");
        session.execute("drop index mine").expect("the user drops it");
        load(&own, &mut session, &InitOptions::default()).expect("the others are its own");
    }
}

#[test]
fn tables_of_another_folder_with_the_same_name_are_kept() {
    let first =
        folder("create table a (id int primary key);\ncreate table common (id int primary key);", &[]);
    let second = folder("create table common (id int primary key);", &[]);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "two_folders");
        load(&open(&first), &mut session, &scaled(10.0)).expect("it is loaded");
        let error =
            load(&open(&second), &mut session, &scaled(10.0)).expect_err("another folder").to_string();
        assert!(
            error.starts_with("public.a was made by `init` for the workload own of another folder"),
            "{error}"
        );
        assert_eq!(lines(&mut session, "select count(*) from a"), ["10"]);
        let database = lines(&mut session, "select quote_ident(current_database())").remove(0);
        let path = format!("alter database {database} set search_path");
        session.execute(&format!("create schema other; {path} = other")).expect("a schema");
        let mut other = Session::connect(&target(&mut session)).expect("a session");
        load(&open(&second), &mut other, &scaled(10.0)).expect("in another schema");
        session.execute(&format!("{path} = public")).expect("a path");
        // A folder with a moved copy, then an edited schema.
        let moved =
            folder("create table a (id int primary key);\ncreate table common (id int primary key);", &[]);
        load(&open(&moved), &mut session, &scaled(10.0)).expect("the same tables");
        std::fs::write(moved.path().join("schema.sql"), "create table common (id int primary key);")
            .expect("a schema");
        load(&open(&moved), &mut session, &scaled(10.0)).expect("an edited schema");
        assert_eq!(lines(&mut session, "select to_regclass('public.a')"), ["NULL"]);
        load(&open(&first), &mut session, &scaled(10.0)).expect("all tables");
        let told = told(&open(&second), &mut session, &InitOptions { drops: true, ..scaled(10.0) });
        assert!(told[0].contains("public.a"), "{told:?}");
    }
}

/// Objects of one folder that another folder with the same name does not create, and statements that drop them.
const OF_ANOTHER: [(&str, &str, &str); 3] = [
    ("create type kind as enum ('a')", "drop type if exists kind", "public.kind"),
    ("create sequence numbers", "drop sequence if exists numbers", "public.numbers"),
    (
        "create function f(a int) returns int language sql as 'select 1'",
        "drop function if exists f(int)",
        "public.f(integer)",
    ),
];

#[test]
fn types_sequences_and_functions_of_another_folder_with_the_same_name_are_kept() {
    let common = "create table common (id int primary key);";
    // The schema without one of the objects, or with all of them.
    let folder_without = |left_out: &str| {
        let kept = OF_ANOTHER.iter().filter(|(_, _, object)| *object != left_out);
        let statements: String = kept.map(|(create, ..)| format!("{create};\n")).collect();
        folder(&format!("{common}\n{statements}"), &[])
    };
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "objects_of_two_folders");
        load(&open(&folder_without("")), &mut session, &scaled(10.0)).expect("it is loaded");
        for (_, drop, object) in OF_ANOTHER {
            let second = folder_without(object);
            let error = load(&open(&second), &mut session, &scaled(10.0)).expect_err(object).to_string();
            let told = format!("{object} was made by `init` for the workload own of another folder");
            assert!(error.starts_with(&told), "{major}: {error}");
            let step = folder_of_steps(drop);
            let step = read_folder(step.path()).expect("a workload");
            let error = load(&step, &mut session, &InitOptions::default()).expect_err(object).to_string();
            assert!(error.contains(&format!("{object}, which `init` did not create")), "{major}: {error}");
        }
        load(&open(&folder_without("")), &mut session, &scaled(10.0)).expect("the same objects");
    }
}

/// A folder with a load step.
fn folder_of_steps(sql: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let manifest = "name = \"own\"\n[[scripts]]\nfile = \"s.sql\"\n[[load]]\nfile = \"load.sql\"\n";
    for (name, text) in [("workload.toml", manifest), ("s.sql", "select 1;"), ("load.sql", sql)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn partitions_and_sequences_of_others_are_named_before_their_drop() {
    let own = folder("create table own (id int primary key);", &[]);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "named_children");
        let tables = if major == NEWEST {
            "create table own (id serial) partition by range (id); \
             create table low partition of own for values from (0) to (100) partition by range (id); \
             create table lowest partition of low for values from (0) to (10)"
        } else {
            "create table own (id serial); create table low () inherits (own); create table lowest () inherits (low)"
        };
        session.execute(tables).expect("tables of others");
        session.execute("create sequence s owned by lowest.id").expect("a sequence");
        let options = InitOptions { drops: true, ..scaled(10.0) };
        if major == OLDEST {
            // DROP TABLE without CASCADE drops no inheriting tables.
            load(&open(&own), &mut session, &options).expect_err("others depend on it");
            continue;
        }
        assert_eq!(
            told(&open(&own), &mut session, &options),
            [
                "before loading: drop table public.own; with them, PostgreSQL drops the table public.low, the table \
              public.lowest, the sequence public.own_id_seq of public.own, the sequence public.s of public.lowest"
            ]
        );
    }
}
