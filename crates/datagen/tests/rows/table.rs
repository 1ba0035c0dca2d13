//! Runs a schema and reads its rows back as values.
//! Used by all tests of this folder.

use std::collections::HashMap;

use pgmeter_datagen::{Files, Generation, Options};

/// Files of the tests, by their names.
pub struct TestFiles;

impl Files for TestFiles {
    fn read(&self, pattern: &str) -> Result<Vec<Vec<u8>>, String> {
        match pattern {
            "words.txt" => Ok(vec![b"alpha\nbeta\r\ngamma\n".to_vec()]),
            "*.bin" => Ok(vec![vec![0, 255], vec![1, 2, 3]]),
            "*.txt" => Ok(vec![b"line 1\nline 2\t\\".to_vec()]),
            _ => Err(format!("there is no file {pattern}")),
        }
    }
}

/// A table's rows; `None` is NULL.
pub type Rows = Vec<Vec<Option<String>>>;

pub fn options(size: f64) -> Options {
    Options { size: Some(size), seed: Some("tests".to_owned()), ..Options::default() }
}

pub fn generation(schema: &str, size: f64) -> Generation {
    let parsed = crate::text::schema(schema, "schema.sql").unwrap_or_else(|error| panic!("{error}"));
    Generation::new(&parsed, &options(size), &TestFiles).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads COPY's text format.
pub fn read(text: &[u8]) -> Rows {
    let text = std::str::from_utf8(text).expect("UTF-8");
    let value = |field: &str| {
        if field == "\\N" {
            return None;
        }
        let mut out = String::new();
        let mut characters = field.chars();
        while let Some(character) = characters.next() {
            out.push(match character {
                '\\' => match characters.next().expect("an escaped character") {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                },
                other => other,
            });
        }
        Some(out)
    };
    text.lines().map(|line| line.split('\t').map(value).collect()).collect()
}

pub fn rows(generation: &Generation, table: &str) -> Rows {
    let table = generation.table(table).expect("a table");
    let mut out = Vec::new();
    table.write_copy(0..table.rows(), &mut out);
    let rows = read(&out);
    let columns = table.columns().count();
    assert!(rows.iter().all(|row| row.len() == columns), "a row of {} lacks columns", table.name());
    rows
}

/// Values of one column `c` of the type with the directives, NOT NULL.
pub fn column(kind: &str, directives: &str, size: f64) -> Vec<String> {
    column_in("", kind, directives, size)
}

/// The same with macros before the table.
pub fn column_in(before: &str, kind: &str, directives: &str, size: f64) -> Vec<String> {
    let schema = format!("{before}\nCREATE TABLE t(\n c {kind} NOT NULL -- df: {directives}\n);");
    let rows = rows(&generation(&schema, size), "t");
    rows.into_iter().map(|row| row.into_iter().next().flatten().expect("not NULL")).collect()
}

pub fn counts<T: std::hash::Hash + Eq>(values: impl IntoIterator<Item = T>) -> HashMap<T, u64> {
    let mut counts = HashMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

pub fn distinct(values: &[String]) -> usize {
    values.iter().collect::<std::collections::HashSet<_>>().len()
}

/// The message of the error that the schema gives.
pub fn error(schema: &str, size: f64) -> String {
    let parsed = match crate::text::schema(schema, "schema.sql") {
        Ok(parsed) => parsed,
        Err(error) => return error.to_string(),
    };
    match Generation::new(&parsed, &options(size), &TestFiles) {
        Ok(_) => panic!("no error: {schema}"),
        Err(error) => error.to_string(),
    }
}
