//! Numbers of rows: lookup tables and join tables, and what comes before these rules.
//! `dry_run` of `workload` compares them with those of a server.

use std::collections::BTreeMap;

use pgmeter_datagen::{Generation, NoFiles};

use crate::described::{Constraints as _, made, table};
use crate::table::options;

/// The number of rows of each table, and the reason for it.
fn sizes(generation: &Generation) -> Vec<String> {
    let size = |table: &pgmeter_datagen::TableRows| {
        let reason = table.size_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} {}{reason}", table.name(), table.rows())
    };
    generation.tables().iter().map(size).collect()
}

#[track_caller]
fn check(text: &str, size: f64, expected: &[&str]) {
    let schema = crate::text::schema(text, "s.sql").expect("a schema");
    let generation = Generation::new(&schema, &options(size), &NoFiles).expect("a generation");
    assert_eq!(sizes(&generation), expected);
}

const LOOK_UP: &str = "a lookup table has at most 100 rows";

#[test]
fn a_look_up_table_stays_small() {
    let orders = "create table orders (id int primary key, kind int references kinds);";
    let check = |columns: &str, size: f64, expected: &str| {
        let orders_rows = format!("orders {size}");
        check(&format!("create table kinds ({columns});\n{orders}"), size, &[expected, &orders_rows]);
    };
    let small = format!("kinds 100 {LOOK_UP}");
    check("id int primary key, name varchar(32) unique", 5000.0, &small);
    check("id int primary key, code char(2) not null unique, title text, place int", 5000.0, &small);
    check("id int primary key, name varchar(32) unique", 50.0, "kinds 50");
    for columns in [
        "id int primary key, name varchar(33) unique",
        "id int primary key, name text unique",
        "id int primary key, name varchar(32)",
        "id int primary key, name varchar(32) unique, a int, b int, c int",
        "id int primary key, name varchar(32) unique, parent int references kinds",
    ] {
        check(columns, 5000.0, "kinds 5000");
    }
}

#[test]
fn a_table_that_nothing_refers_to_is_no_look_up_table() {
    check("create table kinds (id int primary key, name varchar(32) unique);", 5000.0, &["kinds 5000"]);
}

#[test]
fn a_join_table_grows_with_the_larger_of_its_parents() {
    let text = "create table a (id int primary key); -- df t=a: mult=0.1\n\
                create table b (id int primary key); -- df t=b: mult=3\n\
                create table j (a int references a, b int references b, at date, primary key (a, b));\n\
                create table pairs (a int references a, other int references a, unique (a, other));\n\
                create table one (a int references a, b int, primary key (a, b));\n\
                create table told (a int references a, b int references b, primary key (a, b)); -- df t=told: mult=1\n\
                create table fewer (a int references a, -- df: size=2\n\
                  b int references b, primary key (a, b));";
    check(
        text,
        100.0,
        &[
            "a 10",
            "b 300",
            "j 600 a join table has twice the rows of b",
            "pairs 20 a join table has twice the rows of a",
            "one 100",
            "told 100",
            "fewer 100",
        ],
    );
    let all = "create table a (id int primary key); -- df t=a: size=1\n\
               create table b (id int primary key);\n\
               create table j (a int references a, b int references b, primary key (a, b));";
    let pairs = "j 100 a join table has at most all pairs of the rows that it connects";
    check(all, 100.0, &["a 1", "b 100", pairs]);
}

#[test]
fn foreign_keys_that_share_a_column_make_no_join_table() {
    let tables = vec![
        table("tenants", "id integer not null").key("id"),
        table("users", "tenant integer not null; id integer not null")
            .key("tenant, id")
            .references("tenant", 0, "id"),
        table("profiles", "tenant integer not null; person integer not null")
            .key("tenant, person")
            .references("tenant", 0, "id")
            .references("tenant, person", 1, "tenant, id"),
    ];
    assert_eq!(sizes(&made(tables, "", 50.0)), ["tenants 50", "users 50", "profiles 50"]);
}

/// As `--rows`, and `[rows]` of a workload.toml.
#[test]
fn numbers_of_rows_that_users_give_come_first() {
    let text = "create table kinds (id int primary key, name varchar(32) unique);\n\
                create table a (id int primary key, kind int references kinds);\n\
                create table j (a int references a, kind int references kinds, primary key (a, kind));";
    let mut schema = crate::text::schema(text, "s.sql").expect("a schema");
    let rows = [("kinds", 300), ("j", 7)].map(|(name, rows)| (name.to_owned(), rows));
    schema.set_rows(&BTreeMap::from(rows)).expect("tables");
    let generation = Generation::new(&schema, &options(200.0), &NoFiles).expect("a generation");
    assert_eq!(sizes(&generation), ["kinds 300", "a 200", "j 7"]);
}
