//! Schemas in forms that others write, in words of the tests: each kind was found in a schema of a real project. All that
//! `psql` accepts is loaded, on the newest and the oldest server.

use std::ops::ControlFlow;
use std::time::Duration;

use connect::{Environment, Overrides, Session};
use pgmeter_workload::{InitOptions, InitProgress, Workload};
use tempfile::TempDir;
use testkit::cluster::Cluster;
use testkit::extent;

use crate::generated::{folder, open, scaled};
use crate::harness::{NEWEST, OLDEST, conninfo, lines, session, target};

/// Loads a schema, and returns what `init` says.
fn loaded(session: &mut Session, schema: &str, size: f64, jobs: u32) -> String {
    loaded_folder(session, &folder(schema, &[]), size, jobs)
}

fn loaded_folder(session: &mut Session, folder: &TempDir, size: f64, jobs: u32) -> String {
    let target = target(session);
    let mut said = Vec::new();
    let report = open(folder).load(&target, session, &InitOptions { jobs, ..scaled(size) }, &mut |told| {
        if let InitProgress::Found(sentence) = told {
            said.push(sentence.to_owned());
        }
        ControlFlow::Continue(())
    });
    report.unwrap_or_else(|error| panic!("{error}"));
    said.join("\n")
}

fn count(session: &mut Session, table: &str) -> String {
    lines(session, &format!("select count(*) from {table}")).concat()
}

#[track_caller]
fn check_counts(session: &mut Session, expected: &[(&str, &str)]) {
    for (table, rows) in expected {
        assert_eq!(count(session, table), *rows, "{table}");
    }
}

/// Word lists chosen by names, and keys that contain or share columns of others.
const KEYS: &str = "\
    create table roles (a text not null, account_type text not null, unique (a, account_type));\n\
    create table packages (id int primary key, pkg_name varchar(255), platform_type varchar(32),\n\
      unique (pkg_name, platform_type));\n\
    create table groups (id serial primary key, name varchar(128) not null, parent int references groups (id),\n\
      unique (name, parent));\n\
    create table cu (a int, b int, primary key (a, b));\n\
    create table o (a int not null, b int not null, id int not null, foreign key (a, b) references cu,\n\
      primary key (a, id), unique (id, a));\n\
    create table settings (lock char(1) default 'X' unique check (lock = 'X'));\n\
    create table version (id int not null default 0 primary key check (id = 0));\n\
    create table manager (id serial primary key, store int not null);\n\
    create table store (id serial primary key, manager int not null references manager);\n\
    alter table manager add foreign key (store) references store;\n";

#[test]
fn guesses_give_way_to_keys_and_cycles_are_cut() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "any_keys");
        let said = loaded(&mut session, KEYS, 300.0, 2);
        let all = ["roles", "packages", "groups", "cu", "o", "manager", "store"];
        check_counts(&mut session, &all.map(|table| (table, "300")));
        check_counts(&mut session, &[("settings", "1"), ("version", "1")]);
        assert!(said.contains("settings: 1 row; its key (lock) allows no more"), "{said}");
        let cycle = "select count(distinct store) > 1 from manager";
        assert_eq!(lines(&mut session, cycle), ["t"], "{major}");
    }
}

/// Statements that need what earlier ones have done, as in migrations one after the other.
const MIGRATIONS: &str = "\
    create table users (id serial primary key, login text, old int);\n\
    create index users_login on users (login);\n\
    drop index users_login;\n\
    create unique index users_login on users (login);\n\
    alter table users rename column old to age;\n\
    alter table users drop column age, add column plan text not null default 'free';\n\
    create table plans (code text primary key, title text not null);\n\
    insert into plans values ('free', 'Free'), ('paid', 'Paid');\n\
    update plans set title = 'Paid, monthly' where code = 'paid';\n\
    alter table users add foreign key (plan) references plans;\n\
    create or replace language plpgsql;\n\
    create function touch() returns trigger language plpgsql as $$ begin new.login := 'touched'; return new; end $$;\n\
    create trigger touch before insert on users for each row execute procedure touch();\n\
    drop trigger touch on users;\n\
    create trigger touch before insert on users for each row execute procedure touch();\n\
    do $$ begin create table made (id int primary key, note text); exception when duplicate_table then null; end $$;\n\
    create materialized view logins as select count(login) as found from users;\n\
    create table events (id int, at timestamptz);\n\
    alter table events rename to log;\n\
    create view shown as select u.id, u.login from users u group by u.id;\n\
    copy plans (code, title) from stdin with (delimiter '|');\n\
    trial|Trial, it's free\n\
    \\.\n";

#[test]
fn statements_are_executed_in_their_order_and_rows_of_the_file_stay() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "any_migrations");
        let folder = folder(MIGRATIONS, &[]);
        for _ in 0..2 {
            let said = loaded_folder(&mut session, &folder, 200.0, 2);
            let stays = "public.plans keeps the rows that are there, and gets no others";
            assert!(said.contains(stays), "{said}");
            check_counts(&mut session, &[("users", "200"), ("made", "200"), ("log", "200"), ("plans", "3")]);
            let plans = "select string_agg(distinct plan, ' ' order by plan) from users";
            assert_eq!(lines(&mut session, plans), ["free paid trial"], "{major}");
            // The trigger did not fire, and does again.
            assert_eq!(lines(&mut session, "select count(*) from users where login = 'touched'"), ["0"]);
            let enabled = "select tgenabled from pg_trigger where tgname = 'touch'";
            assert_eq!(lines(&mut session, enabled), ["O"]);
            assert_eq!(lines(&mut session, "select found > 100 from logins"), ["t"]);
            let index = "select indisunique from pg_index where indexrelid = 'users_login'::regclass";
            assert_eq!(lines(&mut session, index), ["t"]);
        }
    }
}

/// Conditions that a comparison with constants cannot express.
const CONDITIONS: &str = "\
    create domain slug as text check (value ~ '^[a-z]{3,8}$');\n\
    create table periods (id serial primary key, begins date not null, ends date not null, check (ends > begins));\n\
    create table owners (id serial primary key, person int, company int, check ((person is null) <> (company is null)));\n\
    create table flags (id int primary key, is_paid boolean not null, is_sent boolean not null,\n\
      check (is_paid or not is_sent));\n\
    create table shapes (id int primary key, hash bytea not null check (octet_length(hash) = 32),\n\
      label slug not null, tags text[] check (cardinality(tags) > 0), kind text check (kind = any ('{a,b}'::text[])));\n\
    create table mails (id int primary key, address text not null);\n\
    create unique index mails_address on mails (lower(address));\n\
    create table rooms (id int primary key, during int4range not null, exclude using gist (during with &&));\n\
    create table friends (a int references owners, b int references owners, primary key (a, b), check (a <> b));\n\
    create table visits (id serial primary key, period int not null references periods,\n\
      room int references rooms, owner int not null references owners);\n";

#[test]
fn conditions_are_met_or_judged_by_the_server() {
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut seen = Vec::new();
        for jobs in [1, 3] {
            let mut session = session(major, "any_conditions");
            let said = loaded(&mut session, CONDITIONS, 150.0, jobs);
            let all = ["periods", "owners", "flags", "shapes", "mails", "rooms", "visits"];
            assert!(!said.contains("only"), "{said}");
            check_counts(&mut session, &all.map(|table| (table, "150")));
            // It connects owners with owners.
            check_counts(&mut session, &[("friends", "300")]);
            seen.push(lines(&mut session, "select md5(string_agg(p::text, ',' order by id)) from periods p"));
            let parents = "select count(distinct period) between 20 and 149 from visits";
            assert_eq!(lines(&mut session, parents), ["t"], "{major}");
        }
        assert_eq!(seen[0], seen[1], "the same seed gives the same rows");
    }
}

#[test]
fn loaded_tables_and_their_indexes_are_sound() {
    let mut session = session(NEWEST, "any_sound");
    loaded(&mut session, &format!("{KEYS}{MIGRATIONS}{CONDITIONS}"), 300.0, 3);
    session.execute("create extension amcheck").expect("the extension");
    let indexes = "select count(bt_index_check(c.oid, true)) > 20 from pg_class c join pg_am a on a.oid = c.relam \
                   where a.amname = 'btree' and c.relkind = 'i' and c.oid >= 16384";
    assert_eq!(lines(&mut session, indexes), ["t"]);
    let tables = "select c.relname || ' ' || v.msg from pg_class c cross join lateral verify_heapam(c.oid) v \
                  where c.relkind in ('r', 'm') and c.oid >= 16384";
    assert_eq!(lines(&mut session, tables), Vec::<String>::new());
}

/// Causes of failures that random schemas have shown.
const SHOWN: &str = "\
    create table often (id int primary key, never int);\n\
    create table never (id int primary key, a int not null, other int references often, check (a <> a));\n\
    alter table often add foreign key (never) references never;\n\
    create table nothing (id int primary key, nobody int not null);\n\
    create table nobody (id int primary key, a int not null, other int not null references nothing, check (a <> a));\n\
    alter table nothing add foreign key (nobody) references nobody;\n\
    create table rarely (id int primary key, never int references never);\n\
    create table last (id int primary key, nothing int references nothing);\n\
    create domain lists as int[] check (value is not null);\n\
    create table shapes (list lists default null, key tsvector primary key, json jsonb check (jsonb_typeof(json) = 'array'),\n\
      hash bytea unique check (octet_length(hash) between 2 and 9), kind text check (kind in ('a', 'bcd')) check (length(kind) > 2),\n\
      code varchar(5) check (code = lower(code)) check (length(code) = 2));\n\
    create type base;\n\
    create function base_in(cstring) returns base language internal immutable strict as 'textin';\n\
    create function base_out(base) returns cstring language internal immutable strict as 'textout';\n\
    create type base (input = base_in, output = base_out, like = text);\n\
    create table empty (c base not null);\n";

#[test]
fn references_to_refused_rows_become_null_or_their_rows_are_deleted() {
    for (major, jobs) in Cluster::cases([(NEWEST, 1), (OLDEST, 3)], |case| case.0) {
        let mut session = session(major, "any_shown");
        let said = loaded(&mut session, SHOWN, 60.0, jobs);
        let full = ["often", "rarely", "last", "shapes"].map(|table| (table, "60"));
        check_counts(&mut session, &full);
        check_counts(&mut session, &["never", "nobody", "nothing", "empty"].map(|table| (table, "0")));
        for (table, column) in [("often", "never"), ("last", "nothing")] {
            let sentence = format!("public.{table}: (\"{column}\") is NULL in ");
            assert!(said.contains(&sentence), "{said}");
        }
        assert!(
            said.contains("public.nothing: 60 rows were deleted, because (\"nobody\") is NOT NULL and "),
            "{said}"
        );
        assert!(said.contains("empty: no rows; "), "{said}");
    }
}

/// Directives whose values violate a CHECK constraint, a unique constraint before the rows, and one after them.
const REFUSED: &str = "\
    create table t0 ( -- df: mult=16\n id int primary key, a int not null check (a < 5), -- df: int size=10\n {});\n\
    create table t1 (id int primary key, a numeric not null unique, -- df: word=:1,1.0,2,2.0,3,4\n {});\n\
    create table t2 (id int not null, a numeric not null, -- df: word=:1,1.0,2,2.0,3,4\n {});\n\
    create index t2_id on t2 (id);\nalter table t2 add unique (a), add primary key (id);";

/// The directive `direct` has COPY load the rows of a condition that only the server understands.
#[test]
fn the_server_judges_the_rows_of_which_it_has_refused_one() {
    const JUDGED: &str = "check (id is null or length(id::text || a::text) > 0)";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut rows = Vec::new();
        for condition in [JUDGED, "check (id > 0)"] {
            let mut session = session(major, "any_judged_again");
            let said = loaded(&mut session, &REFUSED.replace("{}", condition), 6.0, 2);
            let refused = "It checked them because it had rejected a row (";
            let expected = if condition == JUDGED { 0 } else { 3 };
            assert_eq!(said.matches(refused).count(), expected, "{major}: {said}");
            let all = [0, 1, 2].map(|table| format!("select concat(id, ' ', a) from t{table} order by id"));
            rows.push(all.map(|sql| lines(&mut session, &sql)));
        }
        assert!(rows[0].iter().all(|rows| rows.len() > 3), "{rows:?}");
        assert_eq!(rows[0], rows[1], "{major}");
    }
}

/// No row may reference the first ten, and each row must reference one of its table.
#[test]
fn a_row_that_must_reference_a_row_of_its_table_may_reference_itself() {
    let schemas = [
        "create domain d as bigint not null check (value > 10);\n\
         create table t (id bigserial unique, other d not null references t (id));",
        "create table t (id bigserial unique, other int not null check (other > 10) references t (id));",
    ];
    for major in Cluster::versions([NEWEST, OLDEST]) {
        for schema in schemas {
            let mut session = session(major, "any_itself");
            let said = loaded(&mut session, schema, 100.0, 2);
            assert!(said.contains("public.t: only "), "{major} {schema}: {said}");
            let rows = lines(&mut session, "select (count(*) > 80)::text from t");
            assert_eq!(rows, ["true"], "{major} {schema}");
        }
    }
}

/// Chunks of other connections are removed, and chunks that begin later are left out.
#[test]
fn all_chunks_of_a_table_are_judged_if_a_row_of_one_is_refused() {
    let schema =
        "create table t (id int primary key, a int not null check (a < 9999)); -- df: int size=10000\n";
    // Number and sums of the rows that one connection loads.
    let expected = ["100000 25048396818635 9998"];
    // After a change, several connections.
    for &jobs in extent::choose(&[3][..], &[1, 3]) {
        let mut session = session(NEWEST, "any_chunks_again");
        let said = loaded(&mut session, schema, 100_000.0, jobs);
        assert!(said.contains("because it had rejected a row ("), "{said}");
        let rows = "select concat(count(*), ' ', sum(id::bigint * a), ' ', max(a)) from t";
        assert_eq!(lines(&mut session, rows), expected, "{jobs} connections");
    }
}

#[test]
fn a_table_with_the_directive_direct_is_not_judged() {
    let schema = |direct: &str| {
        format!(
            "create table t (-- df: {direct}\n id int primary key, a text not null check (length(a || id::text) > 0));"
        )
    };
    let mut session = session(NEWEST, "any_direct");
    let advice = "public.t: all 50 rows; the server accepted 100 % of 50 generated rows. It checked them because pgmeter cannot \
                  guarantee t_check. It rejected none, so the directive `-- df: direct` after the name of the table is \
                  enough, and faster";
    assert_eq!(loaded(&mut session, &schema("mult=1"), 50.0, 1), advice);
    assert_eq!(loaded(&mut session, &schema("direct"), 50.0, 1), "");
    check_counts(&mut session, &[("t", "50")]);
}

#[test]
fn messages_about_rows_of_the_schema_do_not_speak_of_generated_rows() {
    let mut session = session(NEWEST, "any_own_rows");
    let mut refused = |rows: &str| {
        let folder = folder(&format!("create table t (a int primary key);\n{rows}"), &[]);
        refused(&mut session, &folder, &scaled(1.0))
    };
    let twice = refused("insert into t values (1), (1);");
    assert!(twice.contains("schema.sql:2: ERROR:  duplicate key value"), "{twice}");
    let csv = refused("copy t from stdin with (format csv);\n1\n\\.\n");
    assert!(csv.contains("schema.sql:2: of the rows after COPY"), "{csv}");
}

#[test]
fn a_table_whose_policies_apply_to_its_owner_is_loaded_without_copy() {
    let schema = "create schema own; set search_path = own;\n\
                  create table t (a int); alter table t enable row level security;\n\
                  alter table t force row level security; create policy p on t using (true);";
    let superuser = Cluster::shared(NEWEST).database("any_policies");
    let mut admin = Cluster::session(&superuser);
    let database = lines(&mut admin, "select quote_ident(current_database())").concat();
    let role = "do $$ begin create role any_owner login; exception when duplicate_object then null; end $$";
    admin.execute(role).expect("a role");
    admin
        .execute(&format!("grant create, temporary on database {database} to any_owner"))
        .expect("its rights");
    let mut session = Cluster::session(&superuser.replace("user=postgres", "user=any_owner"));
    assert_eq!(lines(&mut session, "select current_user"), ["any_owner"]);
    let said = loaded(&mut session, schema, 20.0, 1);
    assert!(
        said.contains("It checked them because it had rejected a row (COPY FROM not supported"),
        "{said}"
    );
    assert_eq!(lines(&mut admin, "select count(*) from own.t"), ["20"]);
}

#[test]
fn sequences_keep_their_limits_and_vacuum_is_left_out() {
    let schema = "create sequence low maxvalue 50 cycle; create sequence high minvalue 1000 start 2000;\n\
                  create sequence down increment -1;\n\
                  create table a (id int default nextval('low') primary key);\n\
                  create table b (id int default nextval('high') primary key);\n\
                  create table c (id int default nextval('down') primary key);\n\
                  create table d (id serial primary key);\n\
                  vacuum analyze a;";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "any_sequences");
        let said = loaded(&mut session, schema, 60.0, 1);
        assert!(
            said.contains("1 statement of the schema is left out: `init` executes VACUUM itself"),
            "{said}"
        );
        let next = "select concat(nextval('low'), ' ', nextval('high'), ' ', nextval('down'), ' ', nextval('d_id_seq'))";
        assert_eq!(lines(&mut session, next), ["1 2000 -1 61"], "{major}");
    }
}

#[test]
fn values_that_are_added_to_a_type_are_used_at_once() {
    let schema = "create type state as enum ('open'); alter type state add value 'done';\n\
                  create table job (id int primary key, state state not null default 'done' check (state = 'done'));";
    // Between 12 and 16 the server does not allow it in one transaction.
    for &major in extent::choose(&[NEWEST, "13"][..], &[NEWEST, "13", OLDEST]) {
        let mut session = session(major, "any_enum");
        loaded(&mut session, schema, 10.0, 1);
        let found =
            lines(&mut session, "select concat(count(*), min(state), enum_range(null::state)) from job");
        assert_eq!(found, ["10done{open,done}"], "{major}");
    }
}

#[test]
fn a_foreign_key_of_a_generated_column_is_met() {
    let schema = "create table a (made boolean unique);\n\
                  create table b (id int primary key, x int, check (x <> id),\n\
                    made boolean generated always as (x is null) stored references a (made));";
    let mut session = session(NEWEST, "any_generated");
    loaded(&mut session, schema, 40.0, 1);
    check_counts(&mut session, &[("a", "2"), ("b", "40")]);
}

#[test]
fn keys_of_narrow_types_and_with_equal_nulls_are_met() {
    let schema = "create table narrow (n numeric(2,0) primary key check (n between 1 and 1000), x int);\n\
                  create unique index narrow_x on narrow (x) where n > 5;\n\
                  create table nulls (id int primary key, x int, y text, z text, unique nulls not distinct (x));\n\
                  create unique index nulls_y on nulls (y, z) nulls not distinct;";
    let mut session = session(NEWEST, "any_narrow");
    loaded(&mut session, schema, 90.0, 1);
    check_counts(&mut session, &[("narrow", "90"), ("nulls", "90")]);
}

#[test]
fn foreign_keys_to_tables_of_others_draw_from_their_rows() {
    let schema = "create table orders (id int primary key, person text not null references people (name));\n\
                  create index orders_person on orders (person);\n\
                  create index dropped on orders (id);\n\
                  alter table \"orders\" add total int not null;\n\
                  drop index dropped;\n\
                  cluster orders using orders_person;";
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "any_others");
        session
            .execute(
                "create table people (name text unique); insert into people values ('Ada'), ('Ben'), (null)",
            )
            .expect("a table of others");
        loaded(&mut session, schema, 80.0, 2);
        check_counts(&mut session, &[("orders", "80"), ("people", "3")]);
        let people = "select string_agg(distinct person, ' ' order by person) from orders";
        assert_eq!(lines(&mut session, people), ["Ada Ben"], "{major}");
        let clustered = "select indisclustered from pg_index where indexrelid = 'orders_person'::regclass";
        assert_eq!(lines(&mut session, clustered), ["t"], "{major}");
    }
}

#[test]
fn tables_of_an_extension_get_no_rows() {
    let schema = "create extension citext;\ncreate table own (id int primary key, name citext);\n\
                  create table settings (id int);\nalter extension citext add table settings;";
    let mut session = session(NEWEST, "any_extension");
    loaded(&mut session, schema, 30.0, 1);
    check_counts(&mut session, &[("own", "30"), ("settings", "0")]);
}

#[test]
fn a_partitioned_table_without_partitions_stays_empty() {
    let schema = "create table p (id int not null, region boolean not null) partition by list (region);\n\
                  create table p_yes partition of p for values in (true);\n\
                  create table q (id int) partition by range (id);\n\
                  create table t (id int primary key);";
    let mut session = session(NEWEST, "any_partitions");
    let said = loaded(&mut session, schema, 50.0, 1);
    check_counts(&mut session, &[("p", "50"), ("q", "0"), ("t", "50")]);
    assert!(said.contains("q: no rows"), "{said}");
}

#[test]
fn a_statement_that_the_server_refuses_leaves_nothing_behind() {
    let folder = folder("create table a (id int);\ncreate table b (id nothing);", &[]);
    let mut session = session(NEWEST, "any_refused");
    let error = crate::generated::load(&open(&folder), &mut session, &scaled(5.0)).expect_err("no such type");
    assert!(error.to_string().contains("schema.sql:2: ERROR:  type \"nothing\" does not exist"), "{error}");
    assert_eq!(lines(&mut session, "select count(*) from pg_class where relname in ('a', 'b')"), ["0"]);
}

/// Loads a schema that is refused, and returns the message.
fn refused(session: &mut Session, folder: &TempDir, options: &InitOptions) -> String {
    crate::generated::load(&open(folder), session, options).expect_err("it is refused").to_string()
}

#[test]
fn included_files_are_part_of_the_schema() {
    let schema = "\\set ON_ERROR_STOP on\n\\i types.sql\n\\ir tables/all.sql\n\\echo done\n";
    let customers = "create table customers (id int primary key,\n  kind kind not null);";
    let files = [
        ("types.sql", "create type kind as enum ('a', 'b');"),
        ("tables/all.sql", "\\ir customers.sql\n\\ir ../orders.sql"),
        ("tables/customers.sql", customers),
        (
            "orders.sql",
            "create table orders ( -- df: mult=2\n  id int primary key, c int references customers)",
        ),
    ];
    let mut session = session(NEWEST, "any_included");
    let said = loaded_folder(&mut session, &folder(schema, &files), 40.0, 1);
    check_counts(&mut session, &[("customers", "40"), ("orders", "80")]);
    assert!(said.contains("schema.sql: 2 commands of psql are skipped (\\set, \\echo)"), "{said}");
    let wrong =
        [("types.sql", ""), ("tables/all.sql", "\\ir customers.sql"), ("tables/customers.sql", customers)];
    let mut session = crate::harness::session(NEWEST, "any_included_wrong");
    let error = refused(&mut session, &folder(schema, &wrong), &scaled(5.0));
    assert!(error.contains("tables/customers.sql:1: ERROR:  type \"kind\" does not exist"), "{error}");
}

#[test]
fn files_outside_of_the_folder_are_included_only_with_permission() {
    let outside = TempDir::new().expect("a folder");
    std::fs::write(outside.path().join("a.sql"), "create table outside (id int);").expect("a file");
    let schema = format!("create table inside (id int);\n\\i {}/a.sql\n", outside.path().display());
    let folder = folder(&schema, &[]);
    let mut session = session(NEWEST, "any_outside");
    let error = refused(&mut session, &folder, &scaled(5.0));
    assert!(error.contains("schema.sql:2:1: ") && error.contains("--allow-files"), "{error}");
    crate::generated::load(&open(&folder), &mut session, &InitOptions { allows_files: true, ..scaled(5.0) })
        .expect("it is allowed");
    check_counts(&mut session, &[("inside", "5"), ("outside", "5")]);
}

#[test]
fn directives_and_rows_of_workload_toml_come_first() {
    let schema = "create table t (id int primary key, kind text not null, -- df: word=:here\n  note text not null);\n\
                  comment on column t.note is 'df: word=:commented';\ncreate table u (id int);\ncreate table v (id int);";
    let manifest =
        "name = \"own\"\n[columns]\nt.kind = \"word=:own\"\n[tables]\nt = \"mult=3\"\n[rows]\nu = 7\nv = 8\n";
    let folder = folder(schema, &[]);
    let write = |text: &str| std::fs::write(folder.path().join("workload.toml"), text).expect("a file");
    write(manifest);
    let mut session = session(NEWEST, "any_directives");
    let rows = std::collections::BTreeMap::from([("v".to_owned(), 9)]);
    let options = InitOptions { rows, ..scaled(10.0) };
    crate::generated::load(&open(&folder), &mut session, &options).expect("it is loaded");
    check_counts(&mut session, &[("t", "30"), ("u", "7"), ("v", "9")]);
    assert_eq!(lines(&mut session, "select distinct kind || ' ' || note from t"), ["own commented"]);
    let mark = "select obj_description('t'::regclass) like '% rows.u=7 rows.v=9 state=loaded %'";
    assert_eq!(lines(&mut session, mark), ["t"]);
    let error = refused(&mut session, &folder, &InitOptions { resumes: true, ..scaled(10.0) });
    assert!(error.contains("--rows was u=7 --rows v=9 and is now u=7 --rows v=8"), "{error}");
    write(&manifest.replace("u = 7", "w = 7"));
    let error = refused(&mut session, &folder, &scaled(10.0));
    assert!(error.contains("rows of w: the schema has no table w"), "{error}");
    write(&manifest.replace("t.kind", "t.kinds"));
    let error = refused(&mut session, &folder, &scaled(10.0));
    let expected = "workload.toml:3:3: columns \"t.kinds\": the table t has no column kinds; the nearest known name is kind";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn what_needs_a_missing_extension_can_be_left_out() {
    let schema = "create extension nowhere;\n\
                  create table places (id int primary key, at nowhere_point, name text -- df: word=:a\n);\n\
                  create table plain (id int primary key, name text not null);\n\
                  create table visits (id int, place int references places);\n\
                  create index plain_name on plain using gin (name gin_nowhere_ops);\n\
                  comment on extension nowhere is 'x';\n\
                  create materialized view visited as select place from visits;\n\
                  create view named as select name from places;\n\
                  cluster places using places_pkey;";
    let folder = folder(schema, &[]);
    for major in Cluster::versions([NEWEST, OLDEST]) {
        let mut session = session(major, "any_missing");
        let error = refused(&mut session, &folder, &scaled(5.0));
        assert!(
            error.contains(
                "schema.sql:1: this server does not have nowhere; it is needed for 2 tables (places, visits)"
            ),
            "{error}"
        );
        assert!(error.ends_with("with --without-extension nowhere"), "{error}");
        let without =
            |name: &str| InitOptions { without_extensions: [name.to_owned()].into(), ..scaled(5.0) };
        let error = refused(&mut session, &folder, &without("nowher"));
        assert_eq!(error, "--without-extension nowher: the schema does not create it; did you mean nowhere?");
        crate::generated::load(&open(&folder), &mut session, &without("nowhere")).expect("it is left out");
        check_counts(&mut session, &[("plain", "5")]);
        assert_eq!(
            lines(&mut session, "select to_regclass('places') is null and to_regclass('visits') is null"),
            ["t"]
        );
    }
}

/// `while` is the condition of a loop that would be endless without a limit.
const ENDLESS: &str = "create function endless(wanted int) returns int language plpgsql as \
    $$ begin while wanted = 3 loop perform pg_sleep(0.01); end loop; return wanted; end $$;\n";

#[test]
fn an_endless_statement_of_the_schema_ends_loading() {
    let schema = format!("set statement_timeout = 0;\n{ENDLESS}create table t (id int);\nselect endless(3);");
    let mut session = session(NEWEST, "any_endless");
    let options = InitOptions { statement_limit: Duration::from_millis(300), ..scaled(5.0) };
    let error = refused(&mut session, &folder(&schema, &[]), &options);
    assert!(error.contains("schema.sql:4: ") && error.contains("SET statement_timeout"), "{error}");
    assert_eq!(lines(&mut session, "select count(*) from pg_class where relname = 't'"), ["0"]);
}

/// A signal cancels the statements of the session that the caller has given.
#[test]
fn the_schema_is_tried_on_the_session_of_the_caller() {
    let schema = "create table t (id int);\ndo $$ begin raise 'process %', pg_backend_pid(); end $$;";
    let mut session = session(NEWEST, "any_process");
    let error = refused(&mut session, &folder(schema, &[]), &scaled(5.0));
    assert!(error.contains(&format!("process {}", session.cancel_key().process_id)), "{error}");
}

#[test]
fn rows_that_the_server_does_not_accept_end_loading() {
    let generated = format!(
        "{ENDLESS}create table t (id int primary key, b int generated always as (endless_id(id)) stored);"
    )
    .replace("endless(", "endless_id(")
    .replace("language plpgsql", "language plpgsql immutable");
    let judged = format!("{ENDLESS}create table t (id int primary key check (endless(id) > 0));");
    for schema in [generated, judged] {
        let mut session = session(NEWEST, "any_endless_rows");
        let options = InitOptions { statement_limit: Duration::from_secs(2), ..scaled(5.0) };
        let error = refused(&mut session, &folder(&schema, &[]), &options);
        assert!(error.contains("loading t: the server has accepted no row for 2 s"), "{error}");
    }
}

/// The file is UTF-8, whatever the encodings of the database and of the user's sessions.
#[test]
fn a_database_in_another_encoding_gets_the_letters_of_the_schema() {
    let mut session = session(NEWEST, "encodings");
    let own = lines(&mut session, "select current_database()").remove(0);
    let sql = format!("create database {own}_latin1 template template0 encoding 'latin1' locale 'C'");
    session.execute(&sql).expect("a database");
    let user = lines(&mut session, "select session_user").remove(0);
    let conninfo = conninfo(&mut session, &user).replace(&own, &format!("{own}_latin1"));
    let conninfo = format!("{conninfo} client_encoding=latin1 options='-c client_encoding=latin1'");
    let target = connect::resolve(Some(&conninfo), &Overrides::default(), &Environment::default());
    let target = target.expect("a target");
    let mut session = Session::connect(&target).expect("a session");
    let folder = folder("create table t (b text not null check (b in ('caf\u{e9}')));\n", &[]);
    let go_on = &mut |_: InitProgress<'_>| ControlFlow::Continue(());
    open(&folder).load(&target, &mut session, &scaled(3.0), go_on).expect("it is loaded");
    let found = lines(&mut session, "select b from t where length(b) = 4 limit 1");
    assert_eq!(found, ["caf\u{e9}"]);
}
