//! The same seed gives the same rows, in any chunks; a later column changes no earlier one.
//! The golden rows may change only with an entry in the changelog.

use crate::table::{generation, options, rows};
use pgmeter_datagen::{Generation, NoFiles, Options};

const SCHEMA: &str = "-- df w: word=:red,green,blue\nCREATE TABLE a(id serial PRIMARY KEY, name text UNIQUE, born date);\n\
    CREATE TABLE b(id serial PRIMARY KEY, -- df: mult=2\n a int REFERENCES a, note text, -- df: text=w lenmin=1 lenmax=3\n at timestamp, price numeric(7,2));";

#[test]
fn any_chunks_give_the_same_rows() {
    let generation = generation(SCHEMA, 1000.0);
    for table in generation.tables() {
        let mut whole = Vec::new();
        table.write_copy(0..table.rows(), &mut whole);
        for chunk in [1, 7, 999, 5000] {
            let mut parts = Vec::new();
            // Backwards, so that no state can help.
            let starts: Vec<u64> = (0..table.rows()).step_by(chunk).collect();
            for start in starts.into_iter().rev() {
                let mut part = Vec::new();
                table.write_copy(start..start + chunk as u64, &mut part);
                part.extend(std::mem::take(&mut parts));
                parts = part;
            }
            assert_eq!(whole, parts, "{} in chunks of {chunk}", table.name());
        }
    }
}

#[test]
fn a_later_column_or_table_changes_no_earlier_one() {
    let before = rows(&generation(SCHEMA, 200.0), "b");
    let later = SCHEMA.replace("price numeric(7,2)", "price numeric(7,2), extra uuid, more int UNIQUE");
    let after = rows(&generation(&format!("CREATE TABLE zero(x int);{later}"), 200.0), "b");
    assert_eq!(after[0].len(), before[0].len() + 2);
    assert!(before.iter().zip(&after).all(|(before, after)| *before == after[..before.len()]));
}

#[test]
fn another_seed_gives_other_rows() {
    let schema = crate::text::schema(SCHEMA, "s").expect("a schema");
    let rows = |seed: &str| {
        let options = Options { seed: Some(seed.to_owned()), ..options(50.0) };
        let generation = Generation::new(&schema, &options, &NoFiles).expect("a generation");
        rows(&generation, "b")
    };
    assert_eq!(rows("x"), rows("x"));
    assert_ne!(rows("x"), rows("y"));
}

#[test]
fn the_first_rows_of_a_seed_stay_as_they_are() {
    let generation = generation(SCHEMA, 100.0);
    let mut out = Vec::new();
    generation.table("b").expect("b").write_copy(0..4, &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        "1\t86\tred green blue\t2025-10-02 08:08:04\t26.09\n\
         2\t55\tblue\t2021-03-09 04:05:29\t20.73\n\
         3\t56\tgreen\t2024-06-26 06:35:59\t4.36\n\
         4\t87\tred blue green\t2023-04-13 00:25:04\t2.27\n"
    );
}
