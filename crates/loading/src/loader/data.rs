//! Rows of a schema as text: a server reads the schema, and several threads write the rows. The values do not depend on
//! the number of threads.

use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use connect::Session;
use datagen::{Generation, Options, Source, TableRows};

use crate::contract::load::{InitOptions, Progress};
use crate::contract::manifest::BeforeRows;
use crate::contract::marks::{Loaded, Mark};
use crate::contract::user_files;
use crate::loader::generated::GeneratedTables;
use crate::loader::schema_load::SchemaLoad;
use crate::{SchemaFiles, WorkloadError};

/// Longest schema.
const SCHEMA_BYTES_MAX: u64 = 16 << 20;

/// Rows of one piece: about 1 MB.
const ROWS_PER_PIECE: u64 = 10_000;

/// Pieces that a thread may be ahead of the output.
const PIECES_AHEAD: usize = 2;

/// Why rows cannot be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum DataError {
    /// A schema cannot be read.
    #[error("cannot read the schema {file}: {source}")]
    Read { file: String, source: io::Error },
    /// The schema is wrong.
    #[error(transparent)]
    Schema(#[from] datagen::Error),
    /// The schema is another kind of file; a complete message.
    #[error("{0}")]
    NotSql(String),
    /// CSV has one header.
    #[error("CSV has one table; select it with --table: {tables}")]
    SeveralTables { tables: String },
    /// Nothing to write.
    #[error("{file}: the schema creates no table that gets rows; write CREATE TABLE statements into it")]
    NoTables { file: String },
    /// The output failed.
    #[error("cannot write the rows: {0}")]
    Write(#[source] io::Error),
}

/// Format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowFormat {
    /// COPY's text format; several tables with their COPY statements, as a script for psql.
    #[default]
    Copy,
    /// CSV with a header, of one table.
    Csv,
}

/// The text of a schema.
#[derive(Clone, Debug)]
pub struct SchemaText {
    source: Source,
    files: SchemaFiles,
}

impl SchemaText {
    /// Reads a file; `-` is standard input. Files that it names are in its folder, or anywhere with `allow_files`.
    ///
    /// # Errors
    /// The file cannot be read, or is no UTF-8 text.
    pub fn open(path: &Path, allow_files: bool) -> Result<SchemaText, DataError> {
        let file = path.display().to_string();
        let failed = |source| DataError::Read { file: file.clone(), source };
        let (opened, name) = match path.as_os_str() == "-" {
            true => (config::open_stdin(), "standard input"),
            false => (config::open_input(path), file.as_str()),
        };
        let mut bytes = Vec::new();
        opened.and_then(|input| input.take(SCHEMA_BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(failed)?;
        if let Some(sentence) = user_files::not_sql(name, &bytes) {
            return Err(DataError::NotSql(sentence));
        }
        let text = limited(bytes).map_err(failed)?;
        let files = SchemaFiles::new(path.parent().unwrap_or(Path::new("")), allow_files);
        let source = Source::with_included(&text, name, &mut |included| files.included(included))?;
        match source.refused() {
            Some(refused) => Err(refused.clone().into()),
            None => {
                // Directives that no server can read either.
                datagen::statements(&source)?;
                Ok(SchemaText { source, files })
            }
        }
    }

    /// Compiles the generators of the tables. The server executes the statements, and its catalogs are read. Nothing is
    /// changed.
    ///
    /// # Errors
    /// The server refuses a statement; a table is there already; a directive is wrong.
    pub fn rows(
        &self,
        options: &Options,
        session: &mut Session,
        progress: &mut Progress<'_>,
    ) -> Result<Generation, WorkloadError> {
        let tables = GeneratedTables::new(self.source.clone(), &[], &BeforeRows::default(), (None, None))?;
        let init_options = &InitOptions::default();
        let loaded = Loaded::begun(init_options);
        let load = SchemaLoad {
            tables: &tables,
            mark: Mark { workload: "data".to_owned(), loaded, folder: String::new(), object: None },
            init: "pgmeter data".to_owned(),
            is_built_in: false,
            files: self.files.clone(),
            seed: None,
            options: init_options,
        };
        load.generation(options, session, progress)
    }
}

fn limited(bytes: Vec<u8>) -> io::Result<String> {
    if bytes.len() as u64 > SCHEMA_BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {} MiB", SCHEMA_BYTES_MAX >> 20)));
    }
    user_files::sql_text(bytes)
}

/// Writes the rows of one table, or of all tables in loading order.
///
/// # Errors
/// There is no such table; CSV of several tables; the output fails, unless its reader has closed it.
pub fn write_rows(
    generation: &Generation,
    table: Option<&str>,
    format: RowFormat,
    jobs: usize,
    out: &mut dyn Write,
) -> Result<(), DataError> {
    let mut out = BufWriter::new(out);
    let written = write_tables(generation, table, format, jobs, &mut out);
    match written.and_then(|()| out.flush().map_err(DataError::Write)) {
        Err(DataError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

fn write_tables(
    generation: &Generation,
    table: Option<&str>,
    format: RowFormat,
    jobs: usize,
    out: &mut dyn Write,
) -> Result<(), DataError> {
    match (table, generation.tables(), format) {
        (None, [], _) => Err(DataError::NoTables { file: generation.file().to_owned() }),
        (Some(name), ..) => write_table(generation.table(name)?, format, jobs, out),
        (None, [table], RowFormat::Csv) => write_table(table, format, jobs, out),
        (None, tables, RowFormat::Csv) => {
            let names: Vec<String> = tables.iter().map(TableRows::name).collect();
            Err(DataError::SeveralTables { tables: names.join(", ") })
        }
        (None, tables, RowFormat::Copy) => {
            for table in tables {
                writeln!(out, "COPY {} FROM stdin;", table.copy_target()).map_err(DataError::Write)?;
                write_table(table, format, jobs, out)?;
                writeln!(out, "\\.").map_err(DataError::Write)?;
                for sequence in table.sequences() {
                    writeln!(out, "{};", sequence.sql()).map_err(DataError::Write)?;
                }
            }
            Ok(())
        }
    }
}

/// Threads generate the pieces in turns; this thread writes them in their order.
fn write_table(
    table: &TableRows,
    format: RowFormat,
    jobs: usize,
    out: &mut dyn Write,
) -> Result<(), DataError> {
    if format == RowFormat::Csv {
        let mut header = Vec::new();
        table.write_csv_header(&mut header);
        out.write_all(&header).map_err(DataError::Write)?;
    }
    let pieces = table.rows().div_ceil(ROWS_PER_PIECE);
    let piece = |number: u64, out: &mut Vec<u8>| {
        let rows: Range<u64> = number * ROWS_PER_PIECE..(number + 1) * ROWS_PER_PIECE;
        match format {
            RowFormat::Copy => table.write_copy(rows, out),
            RowFormat::Csv => table.write_csv(rows, out),
        }
    };
    let jobs = jobs.max(1);
    thread::scope(|scope| {
        let start = |job: usize| -> Receiver<Vec<u8>> {
            let (sender, receiver) = sync_channel(PIECES_AHEAD);
            let piece = &piece;
            scope.spawn(move || {
                for number in (job as u64..pieces).step_by(jobs) {
                    let mut text = Vec::new();
                    piece(number, &mut text);
                    // The writer has failed: nobody needs the rest.
                    if sender.send(text).is_err() {
                        return;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<Receiver<Vec<u8>>> = (0..jobs).map(start).collect();
        for receiver in receivers.iter().cycle() {
            // The thread of the next piece has ended: it was the last.
            let Ok(text) = receiver.recv() else { break };
            out.write_all(&text).map_err(DataError::Write)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use datagen::{
        ColumnDescription, Description, KeyDescription, ReferenceDescription, Schema, TableDescription,
    };

    use super::*;

    fn generation(size: f64) -> Generation {
        let column = |name: &str, type_name: &str, sequence: bool| ColumnDescription {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            not_null: sequence || name == "a",
            sequence,
            ..ColumnDescription::default()
        };
        let key = |column: &str| KeyDescription {
            columns: vec![column.to_owned()],
            primary: true,
            ..KeyDescription::default()
        };
        let a = TableDescription {
            name: "a".to_owned(),
            columns: vec![column("id", "integer", true), column("t x", "text", false)],
            keys: vec![key("id")],
            ..TableDescription::default()
        };
        let reference = ReferenceDescription {
            columns: vec!["a".to_owned()],
            referenced: vec!["id".to_owned()],
            ..ReferenceDescription::default()
        };
        let b = TableDescription {
            name: "b".to_owned(),
            columns: vec![column("a", "integer", false)],
            foreign_keys: vec![reference],
            ..TableDescription::default()
        };
        let description = Description { tables: vec![a, b], types: Vec::new() };
        let schema = Schema::new(&description, &Source::new("", "schema.sql")).unwrap();
        let options = Options { size: Some(size), ..Options::default() };
        Generation::new(&schema, &options, &datagen::NoFiles).unwrap()
    }

    fn written(size: f64, table: Option<&str>, format: RowFormat, jobs: usize) -> Result<String, DataError> {
        let mut out = Vec::new();
        write_rows(&generation(size), table, format, jobs, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn all_tables_are_a_script_for_psql() {
        let text = written(2.0, None, RowFormat::Copy, 1).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "COPY \"a\" (\"id\", \"t x\") FROM stdin;");
        assert!(lines[1].starts_with("1\t") && lines[2].starts_with("2\t"), "{text}");
        assert_eq!(lines[3], "\\.");
        assert!(
            lines[4].starts_with("SELECT pg_catalog.setval(own, least(greatest(2, minimum_value)"),
            "{text}"
        );
        assert!(lines[4].contains("pg_catalog.pg_get_serial_sequence('\"a\"', 'id')"), "{text}");
        assert_eq!(lines[5], "COPY \"b\" (\"a\") FROM stdin;");
        assert_eq!(lines.len(), 9);
    }

    #[test]
    fn one_table_is_its_rows_alone_and_csv_has_a_header() {
        assert_eq!(written(3.0, Some("b"), RowFormat::Copy, 1).unwrap().lines().count(), 3);
        let csv = written(3.0, Some("a"), RowFormat::Csv, 1).unwrap();
        assert_eq!((csv.lines().next(), csv.lines().count()), (Some("id,t x"), 4));
        let refused = written(3.0, None, RowFormat::Csv, 1).unwrap_err().to_string();
        assert_eq!(refused, "CSV has one table; select it with --table: a, b");
        let unknown = written(3.0, Some("c"), RowFormat::Copy, 1).unwrap_err().to_string();
        assert!(unknown.starts_with("schema.sql: the schema has no table c that gets rows"), "{unknown}");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_rows() {
        let one = written(34_567.0, Some("a"), RowFormat::Copy, 1).unwrap();
        for jobs in [2, 3, 8] {
            assert!(written(34_567.0, Some("a"), RowFormat::Copy, jobs).unwrap() == one, "{jobs} threads");
        }
    }

    #[test]
    fn a_reader_that_ends_early_ends_the_threads() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let ended = write_rows(&generation(100_000.0), Some("a"), RowFormat::Copy, 4, &mut Full);
        assert!(ended.is_ok(), "it wants no more rows");
    }
}
