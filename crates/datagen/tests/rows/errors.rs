//! Input that is wrong: one sentence with file, line and column, and the nearest known name.
//! Each check gives the beginning of the sentence that users read.

use crate::table::{error, generation};

/// Directives of a column `c int` on line 2.
fn check(directives: &str, expected: &str) {
    check_type("int", directives, expected);
}

fn check_type(kind: &str, directives: &str, expected: &str) {
    let message = error(&format!("CREATE TABLE t(\n  c {kind} -- df: {directives}\n);"), 100.0);
    assert!(message.starts_with("schema.sql:2:"), "{message}");
    assert!(message.contains(expected), "{message}\nlacks: {expected}");
}

#[test]
fn unknown_words_name_the_nearest_known_one() {
    check("itn", "unknown directive itn; the nearest known name is int");
    check("sise=3", "unknown directive sise; the nearest known name is size");
    check("sub=zipfan parameter=2", "unknown distribution sub=zipfan; the nearest known name is zipfian");
    check_type("float", "float=gaus", "unknown distribution float=gaus; the nearest known name is gauss");
    check("use=base", "use=base names no macro that is defined above");
    let near = error("-- df colour: word=:a,b\nCREATE TABLE t(c text -- df: text=color\n);", 10.0);
    assert!(near.contains("text=color names no macro; the nearest known name is colour"), "{near}");
    let table = error("CREATE TABLE book(a int);\n-- df t=bok a=a: size=3\n", 10.0);
    assert!(
        table.starts_with("schema.sql:2:1: the schema has no table bok; the nearest known name is book"),
        "{table}"
    );
    let column = error("CREATE TABLE book(title int);\n-- df t=book a=titel: size=3\n", 10.0);
    assert!(
        column.contains("the table book has no column titel; the nearest known name is title"),
        "{column}"
    );
}

#[test]
fn values_have_the_type_of_their_key() {
    check("size=many", "the directive size takes an integer; not \"many\"");
    check("size=1.5", "the directive size takes an integer; not \"1.5\"");
    check("sub=power alpha=x", "the directive alpha takes a number");
    check("size", "the directive size takes an integer; it has none");
    check("mangle=3", "the directive mangle takes no value");
    check_type("text", "chars", "the directive chars takes a value");
    check_type("date", "start=2024-02-30", "start must have the form YYYY-MM-DD, not 2024-02-30");
    check("null=1.5", "null is a share from 0 to 1, not 1.5");
    check("size=0", "size leaves no values");
}

#[test]
fn directives_that_do_not_fit_together_are_refused() {
    check("int float", "two generators for one column: int and float");
    check("int length=3", "the directive length is not used by the generator int");
    check("size=3 mult=2.0", "size and mult exclude each other");
    check("sub=zipfian", "sub=zipfian needs parameter from 1.001 to 1000");
    check("sub=uniform alpha=2.0", "the directive alpha is not used by sub=uniform");
    check("skip=0.1", "the directive skip is not for a column");
    check_type("int UNIQUE", "sub=power alpha=2.0", "sub=power repeats values, and the column is unique");
    check_type("text", "lenmin=5 lenmax=3", "lenmin 5 is more than lenmax 3");
    check_type("varchar(5)", "length=6", "varchar(5) holds 5");
    check_type("text", "pattern='a{'", "the pattern needs {n} or {n,m}");
    check_type("text", "pattern='(a'", "the pattern has a ( without its )");
    check_type("text", "pattern='[:int sise=3:]'", "unknown directive sise");
    check_type("text", "word=missing.txt", "there is no file missing.txt");
    check_type("text", "word=a,b,c", "there is no file a,b,c; did you mean word=:a,b,c?");
    check_type("text", "const='a'b", "a space is missing after the closing quote");
    check("size=5 -- a comment", "a directive ends with its line");
    check_type("smallint", "size=40000", "smallint holds at most 32767");
}

#[test]
fn levels_take_their_own_directives() {
    let table = error("CREATE TABLE t( -- df: sub=power\n c int);", 10.0);
    assert!(
        table.contains("the directive sub is not for a table, which takes mult, size, nogen, skip, null"),
        "{table}"
    );
    let schema = error("-- df: mult=3\nCREATE TABLE t(c int);", 10.0);
    assert!(schema.contains("the directive mult is not for the schema"), "{schema}");
    let name = error("-- df int: size=3\nCREATE TABLE t(c int);", 10.0);
    assert!(name.contains("int is the name of a generator"), "{name}");
}

#[test]
fn macros_that_use_themselves_are_refused() {
    let message = error("-- df a: cat=b,b\n-- df b: cat=a,a\nCREATE TABLE t(\nc text -- df: use=a\n);", 10.0);
    assert!(message.contains("nested too deeply; does one use itself?"), "{message}");
}

#[test]
fn columns_whose_types_have_no_values_are_named() {
    let check = |kind: &str, expected: &str| {
        let text = format!("CREATE TYPE mood AS ENUM ();\nCREATE TABLE t(\n a {kind} NOT NULL);");
        let notes = generation(&text, 10.0).notes().join("\n");
        assert!(notes.starts_with("t: no rows; the type "), "{notes}");
        assert!(notes.contains(expected), "{notes}");
    };
    check("mood", "of the column a has no values");
    check("tsvectr", "of the column a has no generator; the nearest known name is tsvector; correct it");
}

#[test]
fn not_null_and_isnull_contradict_each_other() {
    check_type("int NOT NULL", "isnull", "the column c is NOT NULL, and its generator gives NULL");
}

#[test]
fn numbers_are_no_points_in_time() {
    for kind in ["date", "timestamptz"] {
        let schema = format!("-- df m: int size=5\nCREATE TABLE t(\n  c {kind} -- df: value=m\n);");
        let message = error(&schema, 10.0);
        assert!(message.starts_with("schema.sql:3:"), "{message}");
        assert!(message.contains("value=m gives numbers, and the column is a point in time"), "{message}");
    }
}
