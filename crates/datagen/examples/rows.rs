//! Rows of two tables that are described by hand, with one directive for a range of dates:
//! `cargo run -p pgmeter-datagen --example rows`.
#![allow(clippy::print_stdout, reason = "its output")]

use pgmeter_datagen::{
    ColumnDescription, Description, Error, Generation, KeyDescription, NoFiles, Options,
    ReferenceDescription, Schema, Source, TableDescription,
};

/// The text that the server has executed: it gives the directives, and the places in messages.
const SCHEMA: &str = "
CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE book (
    id int PRIMARY KEY,
    author_id int NOT NULL REFERENCES author,
    published date -- df: start=1950-01-01 end=2025-12-31
);
";

fn column(name: &str, type_name: &str, not_null: bool) -> ColumnDescription {
    let (name, type_name) = (name.to_owned(), type_name.to_owned());
    ColumnDescription { name, type_name, not_null, ..ColumnDescription::default() }
}

fn key(column: &str, primary: bool) -> KeyDescription {
    KeyDescription { columns: vec![column.to_owned()], primary, ..KeyDescription::default() }
}

fn main() -> Result<(), Error> {
    let author = TableDescription {
        name: "author".to_owned(),
        columns: vec![column("id", "integer", true), column("name", "text", true)],
        keys: vec![key("id", true), key("name", false)],
        ..TableDescription::default()
    };
    let reference = ReferenceDescription {
        columns: vec!["author_id".to_owned()],
        table: 0,
        referenced: vec!["id".to_owned()],
        ..ReferenceDescription::default()
    };
    let book = TableDescription {
        name: "book".to_owned(),
        columns: vec![
            column("id", "integer", true),
            column("author_id", "integer", true),
            column("published", "date", false),
        ],
        keys: vec![key("id", true)],
        foreign_keys: vec![reference],
        ..TableDescription::default()
    };
    let description = Description { tables: vec![author, book], types: Vec::new() };
    let schema = Schema::new(&description, &Source::new(SCHEMA, "books.sql"))?;
    let options = Options { size: Some(5.0), ..Options::default() };
    let generation = Generation::new(&schema, &options, &NoFiles)?;
    for table in generation.tables() {
        let mut out = Vec::new();
        table.write_copy(0..table.rows(), &mut out);
        println!("{}:\n{}", table.name(), String::from_utf8_lossy(&out));
    }
    Ok(())
}
