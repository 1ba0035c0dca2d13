//! Primary keys, unique constraints and foreign keys of all kinds.
//! The rows are read back and compared with the keys that they must have.

use std::collections::HashSet;

use pgmeter_datagen::Reference;

use crate::table::{error, generation, rows};

#[test]
fn foreign_keys_take_existing_keys_of_any_type() {
    let schema = "CREATE TABLE a(k text PRIMARY KEY, v int);\nCREATE TABLE c(d date PRIMARY KEY);\nCREATE TABLE u(id uuid PRIMARY KEY);\n\
        CREATE TABLE b(a text REFERENCES a, d date NOT NULL REFERENCES c, u uuid REFERENCES u(id));";
    let generation = generation(schema, 300.0);
    let keys =
        |table: &str| rows(&generation, table).into_iter().map(|row| row[0].clone()).collect::<HashSet<_>>();
    let tables = [keys("a"), keys("c"), keys("u")];
    let mut nulls = 0;
    for row in rows(&generation, "b") {
        for (value, keys) in row.iter().zip(&tables) {
            nulls += usize::from(value.is_none());
            assert!(value.is_none() || keys.contains(value), "{value:?}");
        }
    }
    assert!(nulls < 30, "the NULL rate is 1 %");
}

#[test]
fn compound_foreign_keys_take_a_whole_row() {
    let schema = "CREATE TABLE a(x int, y text, PRIMARY KEY (x, y));\nCREATE TABLE b(id serial, y text NOT NULL, x int NOT NULL, FOREIGN KEY (x, y) REFERENCES a);";
    let generation = generation(schema, 500.0);
    let keys: HashSet<_> =
        rows(&generation, "a").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(keys.len(), 500);
    let taken: HashSet<_> =
        rows(&generation, "b").into_iter().map(|row| (row[2].clone(), row[1].clone())).collect();
    assert!(taken.is_subset(&keys) && taken.len() > 250, "{}", taken.len());
}

#[test]
fn a_column_may_be_in_a_compound_key_that_implies_its_own_reference() {
    let schema = "CREATE TABLE part(p int PRIMARY KEY);\nCREATE TABLE partsupp(p int REFERENCES part, s int, PRIMARY KEY (p, s));\n\
        CREATE TABLE line(n int PRIMARY KEY, p int REFERENCES part, s int, FOREIGN KEY (p, s) REFERENCES partsupp);";
    let generation = generation(schema, 100.0);
    let pairs: HashSet<_> = rows(&generation, "partsupp").into_iter().collect();
    assert_eq!(pairs.len(), 100);
    let nullable = |row: &Vec<Option<String>>| row[1].is_some() && row[2].is_some();
    assert!(
        rows(&generation, "line").iter().filter(|row| nullable(row)).all(|row| pairs.contains(&row[1..]))
    );
}

/// The distinct values of each column.
fn distinct(schema: &str, size: f64) -> Vec<usize> {
    let rows = rows(&generation(schema, size), "m");
    assert_eq!(rows.iter().collect::<HashSet<_>>().len(), rows.len(), "{schema}");
    let columns = 0..rows[0].len();
    columns.map(|column| rows.iter().map(|row| &row[column]).collect::<HashSet<_>>().len()).collect()
}

#[test]
fn weighted_columns_of_a_compound_key_have_all_their_values_whatever_factors_the_numbers_share() {
    let column =
        |name: &str, size: u32| format!("{name} int NOT NULL, -- df: int size={size} sub=weighted\n");
    let two = |a, b| format!("CREATE TABLE m(\n{}{} PRIMARY KEY (a, b));", column("a", a), column("b", b));
    for (a, b, rows) in [(9000, 9000, 20_000.0), (9000, 10, 20_000.0), (50, 60, 2900.0), (50, 60, 3000.0)] {
        assert_eq!(distinct(&two(a, b), rows), [a as usize, b as usize], "{rows} rows");
    }
    assert_eq!(distinct(&two(9000, 9000), 100.0), [100, 100]);
    let four = ["a", "b", "c", "d"].map(|name| column(name, 970)).concat();
    let four = format!("CREATE TABLE m(\n{four} PRIMARY KEY (a, b, c, d));");
    assert_eq!(distinct(&four, 2000.0), [970; 4]);
}

#[test]
fn a_weighted_column_with_a_value_for_each_row_leaves_the_others_their_shares() {
    let schema = "CREATE TABLE m(\na int NOT NULL, -- df: int size=1000 sub=weighted correlation=1\n\
        b int NOT NULL, -- df: int size=4 sub=weighted weights=0.7,0.1,0.1,0.1\n PRIMARY KEY (a, b));";
    assert_eq!(distinct(schema, 1000.0), [1000, 4]);
    let rows = rows(&generation(schema, 1000.0), "m");
    assert_eq!(rows.iter().filter(|row| row[1].as_deref() == Some("1")).count(), 700);
}

#[test]
fn junction_tables_have_each_pair_once() {
    let schema = "CREATE TABLE a(id serial PRIMARY KEY);\nCREATE TABLE b(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);\n\
        CREATE TABLE ab( -- df: mult=50\n a int REFERENCES a, b bigint REFERENCES b, PRIMARY KEY (a, b));";
    let pairs = rows(&generation(schema, 100.0), "ab");
    assert_eq!((pairs.len(), pairs.iter().collect::<HashSet<_>>().len()), (5000, 5000));
    let firsts: HashSet<_> = pairs.iter().map(|pair| &pair[0]).collect();
    assert_eq!(firsts.len(), 100);
}

#[test]
fn compound_uniques_use_all_of_their_values() {
    let schema = "CREATE TABLE t(\n a int, -- df: size=10 null=0.0\n b text, -- df: word=:x,y,z null=0.0\n c bool, -- df: null=0.0\n UNIQUE (a, b, c));";
    let rows = rows(&generation(schema, 60.0), "t");
    assert_eq!(rows.iter().collect::<HashSet<_>>().len(), 60);
}

#[test]
fn unique_constraints_that_cannot_be_met_say_what_is_possible() {
    let compound = "CREATE TABLE t(\n a int NOT NULL, -- df: size=10\n b bool,\n UNIQUE (a, b));";
    assert_eq!(
        error(compound, 21.0),
        "schema.sql:2:2: the unique constraint (a, b) of t needs 21 different values, and only 20 are possible; give the columns more values, or the table fewer rows"
    );
    let single = "CREATE TABLE t(a text PRIMARY KEY -- df: word=:a,b,c\n);";
    assert!(
        error(single, 4.0)
            .contains("the primary key (a) of t needs 4 different values, and only 3 are possible")
    );
    let notes = generation("CREATE TABLE t(a smallint PRIMARY KEY);", 40_000.0).notes().to_vec();
    assert_eq!(notes, ["t: 32767 rows; its key (a) allows no more"]);
    let reference =
        "CREATE TABLE a(id int PRIMARY KEY);\nCREATE TABLE b( -- df: mult=2\n a int UNIQUE REFERENCES a);";
    assert!(error(reference, 100.0).contains("needs 200 different values, and only 100"));
}

#[test]
fn a_table_may_reference_itself() {
    let schema = "CREATE TABLE t(id int PRIMARY KEY, parent int REFERENCES t);\nCREATE TABLE s(id int PRIMARY KEY, parent int NOT NULL REFERENCES s);";
    let generation = generation(schema, 200.0);
    let number = |value: &Option<String>| value.as_ref().map(|value| value.parse::<i64>().expect("a number"));
    let optional = rows(&generation, "t");
    assert_eq!(optional[0][1], None);
    assert!(optional.iter().all(|row| number(&row[1]).is_none_or(|parent| Some(parent) < number(&row[0]))));
    let required = rows(&generation, "s");
    assert_eq!(required[0][1], required[0][0]);
    assert!(required[1..].iter().all(|row| number(&row[1]) < number(&row[0])));
}

#[test]
fn tables_come_after_the_tables_that_they_reference() {
    let schema = "CREATE TABLE a(id int PRIMARY KEY, b int);\nCREATE TABLE b(id int PRIMARY KEY);\nALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b;";
    let names: Vec<String> = generation(schema, 10.0).tables().iter().map(|table| table.name()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn sequences_are_set_behind_the_last_value() {
    let schema = "CREATE TABLE t(id serial PRIMARY KEY, n bigint GENERATED BY DEFAULT AS IDENTITY, x int);";
    let generation = generation(schema, 50.0);
    let sql: Vec<String> = generation.tables()[0].sequences().iter().map(|sequence| sequence.sql()).collect();
    assert!(sql[0].contains("greatest(50, minimum_value)"), "{}", sql[0]);
    assert!(sql[0].contains("pg_catalog.pg_get_serial_sequence('\"t\"', 'id')"), "{}", sql[0]);
    assert_eq!(sql.len(), 2);
}

#[test]
fn skip_leaves_out_its_share_but_not_the_last_row() {
    let schema = "CREATE TABLE t( -- df: skip=0.25\n id int PRIMARY KEY);";
    let rows = rows(&generation(schema, 4000.0), "t");
    assert!(rows.len().abs_diff(3000) < 140, "{}", rows.len());
    assert_eq!(rows.last(), Some(&vec![Some("4000".to_owned())]));
    assert!(error(&format!("{schema}\nCREATE TABLE b(t int REFERENCES t);"), 10.0).contains("skip"));
}

#[test]
fn nogen_leaves_columns_and_tables_to_the_server() {
    let schema = "CREATE TABLE a( -- df: nogen\n id int PRIMARY KEY);\nCREATE TABLE b(a int NOT NULL REFERENCES a, d int DEFAULT 3, -- df: nogen\n g int GENERATED ALWAYS AS (d * 2) STORED);";
    let generation = generation(schema, 20.0);
    assert_eq!(generation.tables().len(), 1);
    assert_eq!(generation.tables()[0].columns().collect::<Vec<_>>(), ["a"]);
    let numbers = rows(&generation, "b");
    assert!(
        numbers.iter().all(
            |row| (1..=20).contains(&row[0].as_ref().expect("a value").parse::<i64>().expect("a number"))
        )
    );
}

#[test]
fn skewed_references_follow_their_distribution() {
    let schema = "CREATE TABLE a(id int PRIMARY KEY);\nCREATE TABLE b( -- df: mult=50\n a int NOT NULL REFERENCES a -- df: sub=zipfian parameter=2\n);";
    let rows = rows(&generation(schema, 100.0), "b");
    let first = rows.iter().filter(|row| row[0].as_deref() == Some("1")).count();
    // 1 / ζ(2), nearly, as the tail beyond 100 is missing: 0.6116 · 5000.
    assert!(first.abs_diff(3058) < 180, "{first}");
}

#[test]
fn references_are_those_of_the_schema_with_quoted_names() {
    let schema = "CREATE TABLE \"A b\"(x int, y int, UNIQUE (y, x));\n\
                  CREATE TABLE c(p int, q int);\n\
                  ALTER TABLE c ADD CONSTRAINT k FOREIGN KEY (p, q) REFERENCES \"A b\" (y, x);";
    let references = crate::text::schema(schema, "s.sql").expect("a schema").references();
    let own = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    assert_eq!(
        references,
        [Reference {
            table: "\"c\"".to_owned(),
            rows: "only \"c\"".to_owned(),
            columns: own(["\"p\"", "\"q\""]),
            referenced: "\"A b\"".to_owned(),
            referenced_rows: "only \"A b\"".to_owned(),
            referenced_columns: own(["\"y\"", "\"x\""]),
            full: false,
            nullable: true,
        }]
    );
}

#[test]
fn referenced_keys_are_never_null() {
    let schema = "CREATE TABLE a( -- df: null=0.5\n id int PRIMARY KEY, code text UNIQUE, x int, y int, UNIQUE (x, y));\n\
        CREATE TABLE b(id int PRIMARY KEY, c text NOT NULL REFERENCES a(code), d text REFERENCES a(code), x int, y int, FOREIGN KEY (x, y) REFERENCES a (x, y));";
    let generation = generation(schema, 300.0);
    let keys = rows(&generation, "a");
    let codes: HashSet<_> = keys.iter().map(|row| &row[1]).collect();
    let pairs: HashSet<_> = keys.iter().map(|row| (&row[2], &row[3])).collect();
    assert_eq!((codes.len(), pairs.len()), (300, 300));
    for row in &rows(&generation, "b") {
        assert!(codes.contains(&row[1]) && (row[2].is_none() || codes.contains(&row[2])), "{row:?}");
        let is_null = row[3].is_none() || row[4].is_none();
        assert!(is_null || pairs.contains(&(&row[3], &row[4])), "{row:?}");
    }
    let schema = "CREATE TABLE a(id int PRIMARY KEY, code text UNIQUE -- df: null=0.1\n);\nCREATE TABLE b(c text REFERENCES a(code));";
    assert_eq!(
        error(schema, 10.0),
        "schema.sql:1:60: a foreign key references the column code, so it cannot have NULL; remove null or give it 0"
    );
}

#[test]
fn match_full_has_null_in_all_columns_or_in_none() {
    for (types, share) in [("int", 10..90), ("int NOT NULL", 0..1)] {
        let schema = format!(
            "CREATE TABLE a(x int, y int, PRIMARY KEY (x, y));\n\
             CREATE TABLE b(id int PRIMARY KEY, x int, -- df: null=0.1\n y {types}, FOREIGN KEY (x, y) REFERENCES a MATCH FULL);"
        );
        let rows = rows(&generation(&schema, 400.0), "b");
        assert!(rows.iter().all(|row| row[1].is_none() == row[2].is_none()), "{types}");
        let nulls = rows.iter().filter(|row| row[1].is_none()).count();
        assert!(share.contains(&nulls), "{types}: {nulls}");
    }
}

#[test]
fn temporal_keys_have_no_overlaps_and_are_referenced_as_a_whole() {
    let schema = "CREATE TABLE a(id int, v daterange, period int, PRIMARY KEY (id, v WITHOUT OVERLAPS));\n\
        CREATE TABLE b(id int PRIMARY KEY, a int NOT NULL, during daterange NOT NULL, FOREIGN KEY (a, PERIOD during) REFERENCES a (id, PERIOD v));\n\
        CREATE TABLE c(a int NOT NULL, during daterange NOT NULL);\nALTER TABLE c ADD CONSTRAINT k FOREIGN KEY (a, PERIOD during) REFERENCES public.a;";
    let generation = generation(schema, 200.0);
    let keys = rows(&generation, "a");
    assert_eq!(keys.iter().map(|row| &row[0]).collect::<HashSet<_>>().len(), 200);
    let keys: HashSet<_> = keys.iter().map(|row| row[..2].to_vec()).collect();
    assert!(rows(&generation, "b").iter().all(|row| keys.contains(&row[1..])));
    assert!(rows(&generation, "c").iter().all(|row| keys.contains(row)));
}
