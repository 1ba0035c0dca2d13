//! Rows of two tables from their CREATE TABLE statements, with one directive for a range of dates:
//! `cargo run -p pgmeter-datagen --example rows`.
#![allow(clippy::print_stdout, reason = "its output")]

use pgmeter_datagen::{Error, Generation, NoFiles, Options, Schema};

const SCHEMA: &str = "
CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE book (
    id int PRIMARY KEY,
    author_id int NOT NULL REFERENCES author,
    title text NOT NULL,
    published date -- df: start=1950-01-01 end=2025-12-31
);
";

fn main() -> Result<(), Error> {
    let schema = Schema::parse(SCHEMA, "books.sql")?;
    let options = Options { size: Some(5.0), ..Options::default() };
    let generation = Generation::new(&schema, &options, &NoFiles)?;
    for table in generation.tables() {
        let mut out = Vec::new();
        table.write_copy(0..table.rows(), &mut out);
        println!("{}:\n{}", table.name(), String::from_utf8_lossy(&out));
    }
    Ok(())
}
