//! `pgmeter init`: creates and fills the tables of a workload. `workload` does the
//! work; this module parses options and shows the progress.

use std::io::{self, IsTerminal};
use std::path::Path;

use ::lab::{LoadProgress, LoadText};
use clap::Args;
use run::Consent;
use stats::Scale;
use workload::{InitOptions, InitProgress, Logging, PartitionMethod, Partitioning, Step, WorkloadName};

use crate::arguments::{ConnectionArguments, Word, words};
use crate::failure::Failure;
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::{Bar, Terminal, Unit};

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Name of a built-in workload, a directory with a workload.toml or a schema.sql, or a file with a schema [default:
    /// tpcb, pgbench's tables]
    #[arg(long, value_name = "WORKLOAD", visible_alias = "schema")]
    workload: Option<String>,
    /// Set a parameter of the workload; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Scale; of tpcb, 1 is 100,000 accounts (about 15 MB); of tpch, 1 is about 1.6 GB; of a schema, 1 is 100 rows in
    /// each table, if its directives and its workload.toml have no other numbers [default: 1]
    #[arg(short, long, value_name = "N")]
    scale: Option<Scale>,
    /// Number of rows of a table of a schema, instead of that by the scale; may be repeated
    #[arg(long, value_name = "TABLE=N")]
    rows: Vec<String>,
    /// Initialization steps of tpcb, in order: d drop, t create tables, g generate data, G generate data on the server,
    /// v vacuum, p primary keys, f foreign keys
    #[arg(short = 'I', long, value_name = "STEPS", default_value = "dtgvp")]
    init_steps: String,
    /// Fillfactor of the tables of tpcb, in percent
    #[arg(short = 'F', long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(10..=100))]
    fillfactor: u8,
    /// Number of partitions of the accounts table of tpcb; 0: not partitioned
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(i32::MAX)))]
    partitions: u32,
    /// Partitioning method of the accounts table [default: range]
    #[arg(long, value_name = "METHOD", ignore_case = true, requires = "partitions", value_parser = words(&PARTITION_METHODS))]
    partition_method: Option<PartitionMethod>,
    /// Create the tables of tpcb as unlogged tables
    #[arg(long)]
    unlogged_tables: bool,
    /// Tablespace of the tables of tpcb
    #[arg(long, value_name = "NAME")]
    tablespace: Option<String>,
    /// Tablespace of the indexes of tpcb
    #[arg(long, value_name = "NAME")]
    index_tablespace: Option<String>,
    /// Create the foreign keys of tpcb at the end, as step f does
    #[arg(long)]
    foreign_keys: bool,
    /// Skip step v of tpcb
    #[arg(short, long)]
    no_vacuum: bool,
    /// Number of sessions that load in parallel [default: number of local CPU cores, between 2 and 8]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: Option<u32>,
    /// Index set of the workload, one of those that `pgmeter workload show` lists [default: the first]
    #[arg(long, value_name = "SET")]
    indexes: Option<String>,
    /// Seed of generated rows; the same seed gives the same rows [default: that of the workload]
    #[arg(long, value_name = "N", alias = "seed")]
    random_seed: Option<u64>,
    /// Also drop tables that have the names of the workload's tables, but that init did not create for this workload
    #[arg(long)]
    drop: bool,
    /// Permit directives of a schema to name files outside of the workload's directory
    #[arg(long)]
    allow_files: bool,
    /// Execute also statements of a schema with settings and roles that the server does not have
    #[arg(long)]
    strict: bool,
    /// Leave out an extension of a schema, with all tables and statements that need it; may be repeated
    #[arg(long, value_name = "NAME")]
    without_extension: Vec<String>,
    /// Continue an interrupted load: do only the missing parts; requires the same options as before, except --jobs
    #[arg(long)]
    resume: bool,
    /// Load also if it needs more space than the server has free, or more than 1 TB if that is not known; if the rows of a
    /// schema need more than 10 GB or 10 minutes; and where a subscriber of logical replication would get the rows
    #[arg(long)]
    yes: bool,
    /// Show the tables that a schema would get, with the number of rows and the generator of each column; change nothing
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,
    /// Do not show progress
    #[arg(short, long)]
    quiet: bool,
}

const PARTITION_METHODS: [Word<PartitionMethod>; 2] =
    [("range", "", PartitionMethod::Range), ("hash", "", PartitionMethod::Hash)];

pub(crate) fn run(arguments: &InitArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let workload = named(arguments.workload.as_deref())?.open()?;
    let options = options(arguments)?;
    workload.check_options(&options)?;
    let mut target = arguments.connection.target()?;
    let mut session = connect_asking(&mut target, signals)?;
    let mut view = LoadView::new(terminal, arguments.quiet);
    let told = &mut |progress: InitProgress<'_>| view.show(progress);
    if arguments.dry_run {
        terminal.print(&run::dry_run(&*workload, &mut session, &options, signals, told)?);
        return Ok(());
    }
    let can_ask = terminal.is_interactive() && io::stdin().is_terminal();
    let consent = can_ask.then(|| Consent::new(io::stdin().lock(), io::stderr()));
    let report =
        run::load_with_consent(&*workload, &target, &mut session, &options, signals, (consent, told));
    drop(view);
    terminal.say(report.map_err(run::RunError::with_advice)?.summary(options.scale));
    Ok(())
}

/// The workload of this name or in this directory.
pub(crate) fn named(workload: Option<&str>) -> Result<WorkloadName, Failure> {
    Ok(workload.map(|text| WorkloadName::find(text, Path::new(""))).transpose()?.unwrap_or_default())
}

fn options(arguments: &InitArguments) -> Result<InitOptions, Failure> {
    let method = arguments.partition_method.unwrap_or(PartitionMethod::Range);
    let partitions = arguments.partitions;
    if partitions == 0 && arguments.partition_method.is_some() {
        return Err(Failure::Usage("--partition-method requires --partitions above 0".to_owned()));
    }
    let mut options = InitOptions {
        scale: arguments.scale.unwrap_or_default(),
        steps: Step::parse_list(&arguments.init_steps)?,
        fillfactor: arguments.fillfactor,
        partitioning: (partitions > 0).then_some(Partitioning { method, partitions }),
        logging: if arguments.unlogged_tables { Logging::None } else { Logging::All },
        tablespace: arguments.tablespace.clone(),
        index_tablespace: arguments.index_tablespace.clone(),
        jobs: arguments.jobs.unwrap_or_else(run::loading_sessions),
        resumes: arguments.resume,
        parameters: run::options::parameters(&arguments.parameters)?,
        indexes: arguments.indexes.clone(),
        rows: run::options::table_rows(&arguments.rows)?,
        without_extensions: arguments.without_extension.iter().cloned().collect(),
        seed: arguments.random_seed,
        drops: arguments.drop,
        allows_files: arguments.allow_files,
        is_strict: arguments.strict,
        is_confirmed: arguments.yes,
        ..InitOptions::default()
    };
    options.steps.retain(|step| !arguments.no_vacuum || *step != Step::Vacuum);
    if arguments.foreign_keys {
        options.add_foreign_keys();
    }
    Ok(options)
}

/// Progress of loading: bars on a terminal, otherwise a line at intervals.
pub(crate) struct LoadView<'a> {
    terminal: &'a Terminal,
    progress: LoadProgress,
    bar: Option<Bar>,
}

impl<'a> LoadView<'a> {
    pub(crate) fn new(terminal: &'a Terminal, is_quiet: bool) -> Self {
        Self { terminal, progress: LoadProgress::new(terminal.is_interactive(), is_quiet), bar: None }
    }

    pub(crate) fn show(&mut self, progress: InitProgress<'_>) {
        for text in self.progress.after(progress) {
            match text {
                LoadText::Warning(text) => self.terminal.warn(text),
                LoadText::Message(text) => self.terminal.say(text),
                LoadText::Step(text) => self.bar = Some(self.terminal.waiting(text)),
                LoadText::Rows(label, (done, total), left) => {
                    let counting = self.bar.take().filter(Bar::counts);
                    let rows = counting.unwrap_or_else(|| self.terminal.bar(total, Unit::Rows));
                    rows.label(label);
                    rows.reached(done, total, left);
                    self.bar = Some(rows);
                }
                LoadText::Ended => self.bar = None,
            }
        }
    }
}
