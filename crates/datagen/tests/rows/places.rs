//! Directives in COMMENT ON and in another file than the schema, and numbers of rows that the caller sets.
//! Each column has the generator of one place only.

use std::collections::BTreeMap;

use pgmeter_datagen::{Generation, OwnDirective, Schema, Source};

use crate::table::{TestFiles, options, rows};

const SCHEMA: &str = "\
    -- df offers: word=:sale\n\
    CREATE TABLE shop.orders(\n\
      id int PRIMARY KEY,\n\
      status text NOT NULL, -- df: word=:here\n\
      kind text NOT NULL,\n\
      note text NOT NULL\n\
    );\n\
    COMMENT ON COLUMN shop.orders.status IS 'df: word=:elsewhere';\n\
    COMMENT ON COLUMN shop.orders.kind IS 'df: word=:first';\n\
    COMMENT ON COLUMN shop.orders.kind IS E'The kind of an order\\n  df: word='':it is''';\n\
    COMMENT ON COLUMN orders.note IS 'df: use=offers';\n\
    COMMENT ON TABLE shop.orders IS 'df: mult=2';\n";

fn own(object: &str, is_column: bool, text: &str) -> OwnDirective {
    let (object, text, key) = (object.to_owned(), text.to_owned(), format!("the key of {object}"));
    OwnDirective { object, is_column, text, line: 7, column: 3, key }
}

/// Generates the rows, with the directives of a file `own.toml`.
fn made(schema: &str, own: &[OwnDirective], rows: &[(&str, u64)]) -> Result<Generation, String> {
    let source = Source::new(schema, "schema.sql").with_directives("own.toml", own);
    let rows: BTreeMap<String, u64> = rows.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect();
    let generation = pgmeter_datagen::statements(&source)
        .and_then(|_| Schema::new(&crate::text::description(schema), &source))
        .and_then(|mut schema| schema.set_rows(&rows).map(|()| schema))
        .and_then(|schema| Generation::new(&schema, &options(5.0), &TestFiles));
    generation.map_err(|error| error.to_string())
}

/// The number of rows, and the texts of the first one.
fn shown(generation: &Generation) -> (u64, Vec<String>) {
    let all = rows(generation, "orders");
    let texts = all[0][1..].iter().map(|value| value.clone().expect("not NULL")).collect();
    (all.len() as u64, texts)
}

#[test]
fn a_comment_of_a_line_comes_before_comment_on_and_another_file_before_both() {
    let found = shown(&made(SCHEMA, &[], &[]).expect("rows"));
    assert_eq!(found, (10, ["here", "it is", "sale"].map(str::to_owned).into()));
    let own = [
        own("orders.status", true, "word=:first"),
        own("shop.orders.status", true, "word=:own"),
        own("orders", false, "mult=3"),
    ];
    let found = shown(&made(SCHEMA, &own, &[]).expect("rows"));
    assert_eq!(found, (15, ["own", "it is", "sale"].map(str::to_owned).into()));
}

#[test]
fn errors_name_the_place_of_the_directive() {
    let check = |schema: &str, own: &[OwnDirective], expected: &str| {
        assert_eq!(made(schema, own, &[]).expect_err(expected), expected);
    };
    for (object, is_column, text, expected) in [
        (
            "orders.statsu",
            true,
            "int",
            "the table shop.orders has no column statsu; the nearest known name is status",
        ),
        ("order.status", true, "int", "the schema has no table order; the nearest known name is orders"),
        ("status", true, "int", "write the name of a column as table.column"),
        ("ordres", false, "mult=2", "the schema has no table ordres; the nearest known name is orders"),
    ] {
        let expected = format!("own.toml:7:3: the key of {object}: {expected}");
        check(SCHEMA, &[own(object, is_column, text)], &expected);
    }
    let word = "unknown directive wrod; the nearest known name is word";
    check(
        SCHEMA,
        &[own("orders.kind", true, "wrod=x")],
        &format!("own.toml:7:3: the key of orders.kind: {word}"),
    );
    check(
        "CREATE TABLE t(a int);\nCOMMENT ON COLUMN t.a IS 'df: wrod=x';",
        &[],
        &format!("schema.sql:2:31: {word}"),
    );
    check(
        "CREATE TABLE t(a int);\n COMMENT ON COLUMN t.b IS 'df: int';",
        &[],
        "schema.sql:2:2: the table t has no column b; the nearest known name is a",
    );
    // An error that is found when the generators are compiled.
    let reason = "size and mult exclude each other; remove one";
    check(SCHEMA, &[own("orders", false, "size=1 mult=2")], &format!("own.toml:7:10: {reason}"));
}

#[test]
fn numbers_of_rows_of_the_caller_replace_those_of_directives() {
    assert_eq!(shown(&made(SCHEMA, &[], &[("shop.orders", 7)]).expect("rows")).0, 7);
    let check = |rows: &[(&str, u64)], expected: &str| {
        let schema = format!(
            "{SCHEMA}CREATE TABLE p(a int) PARTITION BY RANGE (a);\nCREATE TABLE p1(a int);\nALTER TABLE p ATTACH PARTITION p1 DEFAULT;"
        );
        assert_eq!(made(&schema, &[], rows).expect_err(expected), format!("schema.sql: {expected}"));
    };
    check(&[("order", 1)], "rows of order: the schema has no table order; the nearest known name is orders");
    check(&[("p1", 1)], "rows of p1: this table gets no generated rows of its own");
}
