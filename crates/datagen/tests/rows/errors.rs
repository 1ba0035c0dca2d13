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
    let reference =
        error("CREATE TABLE book(id int PRIMARY KEY);\nCREATE TABLE b(x int REFERENCES boook);", 10.0);
    assert!(
        reference.contains(
            "references the table boook, which the schema does not create; the nearest known name is book"
        ),
        "{reference}"
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
    check_type("varchar(5)", "length=6", "VARCHAR(5) holds 5");
    check_type("text", "pattern='a{'", "the pattern needs {n} or {n,m}");
    check_type("text", "pattern='(a'", "the pattern has a ( without its )");
    check_type("text", "pattern='[:int sise=3:]'", "unknown directive sise");
    check_type("text", "word=missing.txt", "there is no file missing.txt");
    check_type("text", "word=a,b,c", "there is no file a,b,c; did you mean word=:a,b,c?");
    check_type("text", "const='a'b", "a space is missing after the closing quote");
    check("size=5 -- a comment", "a directive ends with its line");
    check_type("smallint", "size=40000", "SMALLINT holds at most 32767");
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
fn statements_that_cannot_be_read_name_their_place() {
    let message = error("SELECT 1;\nCREATE TABLE t(\n  a int,\n  b,\n);", 10.0);
    assert!(message.starts_with("schema.sql:4:"), "{message}");
    assert!(message.contains("cannot read the statement CREATE TABLE t("), "{message}");
    let twice = error("CREATE TABLE t(a int);\nCREATE TABLE t(a int);", 10.0);
    assert!(twice.starts_with("schema.sql:2:14: the table t is created twice"), "{twice}");
    let unknown = error("CREATE TABLE t(\n a somewhere NOT NULL);", 10.0);
    assert!(
        unknown.starts_with("schema.sql:2:2: the type somewhere of the column a has no generator"),
        "{unknown}"
    );
}

#[test]
fn unknown_types_name_the_nearest_known_one() {
    let near = |kind: &str, expected: &str| {
        let message = error(&format!("CREATE TYPE mood AS ENUM ('a');\nCREATE TABLE t(\n a {kind});"), 10.0);
        assert!(message.starts_with("schema.sql:3:2: the type"), "{message}");
        assert!(message.contains(&format!("the nearest known name is {expected}; correct it")), "{message}");
    };
    near("intger", "integer");
    near("timestmptz", "timestamptz");
    near("moood", "mood");
    near("tsvectr", "tsvector");
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

#[test]
fn an_enumeration_without_labels_is_refused() {
    let message = error("CREATE TYPE mood AS ENUM ();\nCREATE TABLE t(m mood NOT NULL);", 10.0);
    assert!(message.contains("of the column m has no values"), "{message}");
}

#[test]
fn rows_that_a_schema_inserts_into_a_generated_table_are_refused() {
    let lost = |statement: &str, table: &str, kind: &str| {
        let schema = format!("CREATE TABLE a(id int);\nCREATE TABLE \"B.b\"(id int);\n {statement}");
        let expected = format!(
            "schema.sql:3:2: the table {table} gets generated rows, which replace those of this {kind}; \
             give the table the directive nogen, or remove the {kind}"
        );
        assert_eq!(error(&schema, 10.0), expected, "{statement}");
    };
    lost("INSERT INTO a VALUES (1);", "a", "INSERT");
    lost("insert into public.a (id) select 1", "public.a", "INSERT");
    lost("INSERT INTO \"B.b\" SELECT 1;", "B.b", "INSERT");
    lost("COPY a (id) FROM '/tmp/x';", "a", "COPY");
    lost("copy \"B.b\" from '/tmp/x';", "B.b", "COPY");
    for schema in [
        "CREATE TABLE a( -- df: nogen\n id int);CREATE TABLE b(id int); INSERT INTO a VALUES (1); COPY a FROM '/tmp/x';",
        "CREATE TABLE a(id int); COPY a TO '/tmp/x'; COPY (SELECT 1) TO STDOUT; INSERT INTO other VALUES (1);",
    ] {
        generation(schema, 10.0);
    }
}

#[test]
fn tables_that_are_dropped_renamed_or_moved_are_refused() {
    let check = |statement: &str, message: &str| {
        let schema = format!("CREATE TABLE a(id int);\nCREATE TABLE b(id int, x int);\n{statement};");
        let error = error(&schema, 10.0);
        assert!(error.starts_with(&format!("schema.sql:3:1: {message} ")), "{error}");
    };
    check("DROP TABLE b", "DROP TABLE after CREATE TABLE b is not supported");
    check(
        "drop table if exists other, public.b cascade",
        "DROP TABLE after CREATE TABLE public.b is not supported",
    );
    check("ALTER TABLE b RENAME TO c", "ALTER TABLE b RENAME TO is not supported");
    check("alter table only public.b rename x to y", "ALTER TABLE public.b RENAME COLUMN is not supported");
    check("ALTER TABLE IF EXISTS b SET SCHEMA s", "ALTER TABLE b SET SCHEMA is not supported");
    check("ALTER TABLE b DROP x", "ALTER TABLE b DROP COLUMN is not supported");
    let schema = "DROP TABLE IF EXISTS a; CREATE TABLE a(id int, CONSTRAINT c CHECK (id > 0)); ALTER TABLE a RENAME CONSTRAINT c TO d; \
        ALTER TABLE a DROP CONSTRAINT d; CREATE TEMP TABLE b(id int); DROP TABLE b;";
    assert_eq!(generation(schema, 10.0).tables().len(), 1);
}
