//! `pgmeter data`: prints rows of a schema, explains the generator of a column, or learns a schema from live tables.
//! `workload`, `datagen` and `learning` do the work; this module parses options and opens the output.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use learning::LearnError;
use workload::{Generation, RowFormat, SchemaText};

use crate::arguments::{ServerArguments, Word, places, words};
use crate::failure::Failure;
use crate::listener::listening;
use crate::output::{self, Output};
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// Draws of `--explain`.
const DRAWS: u64 = 10_000;

const FORMATS: [Word<RowFormat>; 2] = [
    ("copy", "Text format of COPY; several tables as a script for psql", RowFormat::Copy),
    ("csv", "CSV with a header, of one table", RowFormat::Csv),
];

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct DataArguments {
    #[command(subcommand)]
    command: Option<DataCommand>,
    /// SQL file with the tables, and directives (-- df: …) for their data; `-` is standard input
    #[arg(long, value_name = "FILE", required = true)]
    schema: Option<PathBuf>,
    /// Number of rows of each table, times its `mult`; `size` of a table replaces it [default: the schema's, or 100]
    #[arg(short, long, value_name = "N")]
    size: Option<f64>,
    /// Only this table [default: all tables, in loading order]
    #[arg(short, long, value_name = "NAME")]
    table: Option<String>,
    /// Show the generator of this column, and a histogram of at most 10,000 rows, instead of rows
    #[arg(long, value_name = "TABLE.COLUMN", conflicts_with_all = ["table", "format", "jobs", "output"])]
    explain: Option<String>,
    /// Format of the rows
    #[arg(long, value_name = "FORMAT", default_value = "copy", value_parser = words(&FORMATS))]
    format: RowFormat,
    /// Seed of the rows, any text: the same text gives the same rows [default: the schema's, or a fixed one]
    #[arg(long, value_name = "TEXT", alias = "random-seed")]
    seed: Option<String>,
    /// Share of NULL in columns that allow it, from 0 to 1 [default: the schema's, or 0.01]
    #[arg(long, value_name = "SHARE")]
    null: Option<f64>,
    /// First number of keys and other integers [default: the schema's, or 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    offset: Option<i64>,
    /// Number of threads that generate rows; the rows do not depend on it
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    jobs: u16,
    /// Permit directives to name files outside of the schema's directory
    #[arg(long)]
    allow_files: bool,
    /// Let this server read the schema, in a transaction that is rolled back [default: a temporary server]
    #[arg(long, value_name = "CONNECTION")]
    on: Option<String>,
    /// Write to this file, replacing it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// Write a schema whose rows have the statistics of live tables; it contains no values of them without --values
    Learn {
        #[command(flatten)]
        source: LearnSource,
        /// All tables of the database
        #[arg(long, required_unless_present = "tables", conflicts_with = "tables")]
        all: bool,
        /// Write the schema to this file, replacing it [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LearnSource {
    /// Names of tables, or patterns as of psql's \d: orders, ord*, sales.*; run ANALYZE first
    #[arg(value_name = "TABLE", value_parser = learning::table_name)]
    tables: Vec<String>,
    /// Include the most common values of the tables, and the bounds of their histograms
    #[arg(long)]
    values: bool,
    #[command(flatten)]
    server: ServerArguments,
}

impl LearnSource {
    pub(crate) fn learn(&self, terminal: &Terminal, signals: &Signals) -> Result<String, Failure> {
        let mut target = self.server.target_or(None)?;
        let mut session = connect_asking(&mut target, signals)?;
        let learned = learning::learn(&mut session, &self.tables, self.values);
        let learned = learned.map_err(|error| match error {
            LearnError::Connection(error) => error.into(),
            LearnError::Catalogs(error) => error.into(),
            error => Failure::Usage(error.to_string()),
        })?;
        learned.warnings.iter().for_each(|warning| terminal.warn(warning));
        Ok(learned.schema)
    }
}

pub(crate) fn run(arguments: &DataArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    match &arguments.command {
        Some(DataCommand::Learn { source, output, .. }) => {
            let schema = source.learn(terminal, signals)?;
            match output {
                None => terminal.print(&schema),
                Some(path) => return output::write(path, schema.as_bytes(), "schema", terminal),
            }
            Ok(())
        }
        None => {
            let generation = generation(arguments, terminal, signals)?;
            // Nothing has to be undone.
            signals.leave_at_once(|| write(&generation, arguments, terminal))?
        }
    }
}

fn generation(
    arguments: &DataArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<Generation, Failure> {
    let schema = arguments.schema.as_deref().unwrap_or("-".as_ref());
    let options = workload::DataOptions {
        size: arguments.size,
        seed: arguments.seed.clone(),
        null: arguments.null,
        offset: arguments.offset,
        ..workload::DataOptions::default()
    };
    let schema = signals.leave_at_once(|| SchemaText::open(schema, arguments.allow_files))??;
    listening(terminal, places(None, None)?, Output::default(), |listener| {
        Ok(::lab::rows_of_schema(&schema, &options, arguments.on.as_deref(), listener, signals)?)
    })
}

fn write(generation: &Generation, arguments: &DataArguments, terminal: &Terminal) -> Result<(), Failure> {
    if let Some(column) = &arguments.explain {
        terminal.print(&generation.explain(column, DRAWS).map_err(workload::DataError::from)?.text());
        return Ok(());
    }
    let place = arguments.output.as_deref().unwrap_or("standard output".as_ref());
    let unwritable = output::unwritable(place, "rows");
    let mut out: Box<dyn Write> = match &arguments.output {
        Some(path) => Box::new(::output::file::create_of(path, &arguments.schema).map_err(&unwritable)?),
        None => Box::new(ring::check_stdout().map(|()| io::stdout().lock()).map_err(&unwritable)?),
    };
    let (table, jobs) = (arguments.table.as_deref(), arguments.jobs.into());
    workload::write_rows(generation, table, arguments.format, jobs, &mut out).map_err(|error| match error {
        workload::DataError::Write(error) => unwritable(error),
        error => error.into(),
    })
}
