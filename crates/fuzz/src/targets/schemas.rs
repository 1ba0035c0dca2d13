//! Schemas with directives: any text is a schema or an error with a place in it, and a schema gives rows with as many
//! values as columns, in bounded time and memory. The tests of `datagen` read the tables from the text, as no server
//! executes it. Files that a directive names do not exist.

use std::io;

use datagen::{Error, Generation, NoFiles, Options, Source, TableRows};

#[path = "../../../datagen/tests/rows/text.rs"]
mod text;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "schemas",
    words: &[
        b"CREATE TABLE t(",
        b"CREATE TYPE m AS ENUM ('a', 'b');",
        b"CREATE DOMAIN d AS int CHECK (VALUE > 0);",
        b"PRIMARY KEY",
        b"UNIQUE",
        b"NOT NULL",
        b"REFERENCES t",
        b"CHECK (a IN (1, 2))",
        b"PARTITION BY RANGE (a)",
        b"GENERATED ALWAYS AS IDENTITY",
        b"serial",
        b"text",
        b"numeric(8,2)",
        b"timestamptz",
        b"int[]",
        b"-- df: ",
        b"-- df m: ",
        b"-- df T=t A=a: ",
        b"\n",
        b"sub=power rate=0.5 ",
        b"sub=zipfian parameter=1.1 ",
        b"sub=weighted weights=0.5,0.2 correlation=0.9 ",
        b"sub=growth growth=100 ",
        b"float=gamma alpha=0.1 ",
        b"float=vonmises alpha=1e9 ",
        b"size=9223372036854775807 ",
        b"mult=0.5 ",
        b"offset=-5 ",
        b"mangle ",
        b"pattern='[a-z]{3,9}(x|y)*[:count format=08X:]' ",
        b"chars='\\x41-z' length=5 lenvar=2 ",
        b"cat=m,m ",
        b"alt=m:3,m ",
        b"tuple=m,m ",
        b"array=m ",
        b"repeat=m extent=1-9 ",
        b"reduce=m,m op=* ",
        b"value=m ",
        b"share=m ",
        b"use=m ",
        b"list='a\\x2c,b' ",
        b"inet=;fd00::/64 ",
        b"ean prefix=978 ",
        b"luhn length=2 ",
        b"linear=a slope=1e300 noise=3 ",
        b"string ordered lenmax=3 ",
        b"int decimals=18 prec=9 ",
        b"timestamp start=0001-01-01 end=9999-12-31 prec=1 ",
        b"interval unit=mon ",
        b"null=1.0 ",
        b"nogen ",
        b"skip=0.5 ",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    // Macros may multiply to thousands of generators.
    short_round_divisor: 4,
    memory: |input| allowance(64 * 1024, 64 * 1024, input),
    prepare: || Ok::<Attempt, io::Error>(Box::new(attempt)),
};

/// Rows of each table that are generated.
const ROWS: u64 = 4;

/// Tables with longer rows are not generated: a directive may ask for a text of 10 MB.
const ROW_BYTES_MAX: u64 = 64 * 1024;

fn attempt(input: &[u8]) -> Result<u64, String> {
    let Ok(text) = str::from_utf8(input) else { return Ok(0) };
    let mut kind = Digest::new();
    let statements = datagen::statements(&Source::new(text, "schema.sql"));
    let schema = match statements.and_then(|_| text::schema(text, "schema.sql")) {
        Ok(schema) => schema,
        Err(error) => return checked(text, &error, kind),
    };
    let options = Options { size: Some(20.0), ..Options::default() };
    let generation = match Generation::new(&schema, &options, &NoFiles) {
        Ok(generation) => generation,
        Err(error) => return checked(text, &error, kind),
    };
    for table in generation.tables().iter().filter(|table| table.row_bytes_max() <= ROW_BYTES_MAX) {
        kind.debug(&(table.columns().count().min(8), table.sequences().len().min(2)));
        rows_are_sound(table)?;
    }
    Ok(kind.value())
}

/// The first and the last rows have a value for each column, twice the same.
fn rows_are_sound(table: &TableRows) -> Result<(), String> {
    for start in [0, table.rows().saturating_sub(ROWS)] {
        let mut written = Vec::new();
        table.write_copy(start..start + ROWS, &mut written);
        let mut again = Vec::new();
        table.write_copy(start..start + ROWS, &mut again);
        if written != again {
            return Err(format!("the rows of {:?} from {start} on differ", table.name()));
        }
        let columns = table.columns().count();
        let lines: Vec<&[u8]> = written.split(|byte| *byte == b'\n').collect();
        let Some((end, lines)) = lines.split_last() else { continue };
        let fields = |line: &&[u8]| line.split(|byte| *byte == b'\t').count();
        if !end.is_empty() || lines.len() as u64 > ROWS || lines.iter().any(|line| fields(line) != columns) {
            return Err(format!("rows without {columns} columns: {:?}", String::from_utf8_lossy(&written)));
        }
        table.write_csv(start..start + ROWS, &mut written);
    }
    Ok(())
}

/// The outcome of an error: its place is in the text.
fn checked(text: &str, error: &Error, mut kind: Digest) -> Result<u64, String> {
    let lines = text.split('\n').count() + 1;
    if error.line as usize > lines {
        return Err(format!("a place that is not in the file: {error}"));
    }
    if error.message.is_empty() {
        return Err(format!("not a sentence: {error}"));
    }
    let words = error.message.split(|c: char| !c.is_ascii_lowercase()).take(6);
    kind.show(&words.collect::<Vec<_>>().join(" "));
    Ok(kind.value())
}
