//! `pgmeter queries`: times the queries of a workload one by one. `queries` measures; this module parses options, shows the
//! progress and the report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::queries::{
    LIMIT_DEFAULT, QueriesRequest, QueryEvent, QueryPhase, QuerySetSpec, RegressionSpec, regression_limit,
};
use clap::Args;
use report::Subject;
use run::ExitStatus;
use stats::Scale;
use workload::WorkloadName;

use crate::arguments::{self, AnnotationArguments, ConnectionArguments};
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::password::ask;
use crate::signals::Signals;
use crate::terminal::{Bar, Terminal};

#[derive(Debug, Args)]
pub(crate) struct QueriesArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Name of a workload with queries, or a directory that contains a workload.toml and queries/*.sql
    #[arg(long, value_name = "WORKLOAD")]
    workload: String,
    /// Set a parameter of the workload; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Scale of the tables, if `pgmeter init` did not load them [default: as they were loaded]
    #[arg(short, long, value_name = "N")]
    scale: Option<Scale>,
    /// Streams: sessions that execute all queries at the same time, each in its own order
    #[arg(long, value_name = "N", default_value_t = 1)]
    streams: u32,
    /// Executions of each query in each stream, one after the other; reports show the first one separately; confidence
    /// intervals need 4 in one stream [default: 1; with --regress, a number that depends on the queries]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Execute the queries in turns on CONNECTION (A) and on --b-dsn (B), and find those that are slower on B by more than
    /// this percentage, such as 3%; the exit status is 5 if there is one, 3 if one is undecided
    #[arg(long, value_name = "PERCENT", value_parser = regression_limit, requires = "b_dsn")]
    regress: Option<f64>,
    /// Side B of --regress: database name, conninfo string or URI; -h, -p, -U and -d are for side A alone
    #[arg(long, visible_alias = "b", value_name = "CONNECTION", requires = "regress")]
    b_dsn: Option<String>,
    /// Time limit of an execution, such as 90s; an execution that reaches it is cancelled and counts as the limit; 0 for
    /// none [default: 5min]
    #[arg(long, value_name = "TIME", value_parser = run::options::seconds)]
    limit: Option<f64>,
    /// Version of the query texts, such as given or rewritten of tpch [default: the first of the workload]
    #[arg(long, value_name = "NAME")]
    text: Option<String>,
    /// Only these queries, separated by commas; a word that is not the name of a query selects all names that begin
    /// with it
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    select: Vec<String>,
    /// Execute each query once more with EXPLAIN (ANALYZE, BUFFERS), and keep its plan
    #[arg(long)]
    plans: bool,
    /// Compare the answers with the expected ones, which tpch (scales 0.01 and 1), tpcds (scale 1) and fulltext have; the
    /// exit status is 6 if one differs
    #[arg(long)]
    answers: bool,
    /// Write the rows of each answer to a new file in this directory, such as q1.tsv
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Also execute the refresh functions, which insert rows and delete them again: before and after the queries of one
    /// stream, or in a session of their own during several streams
    #[arg(long)]
    refresh: bool,
    /// Seed of random query parameters, and of the order of the queries in several streams [default: the parameters
    /// with known answers]
    #[arg(long, visible_alias = "seed", value_name = "N")]
    random_seed: Option<u64>,
    /// Database of all results, or its directory [default: PGMETER_STORE; otherwise ./pgmeter-results if it exists;
    /// otherwise pgmeter in the user's data directory]
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    store: Option<PathBuf>,
    #[command(flatten)]
    annotation: AnnotationArguments,
    #[command(flatten)]
    output: OutputArguments,
    /// Do not show progress
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(
    arguments: &QueriesArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let request = arguments.request()?;
    let workload = WorkloadName::find(&arguments.workload, Path::new(""))?.open()?;
    request.spec.check(&*workload)?;
    let output = arguments.output.output(terminal)?;
    let places = arguments::places(arguments.store.as_deref(), None)?;
    terminal.say(places.line());
    places.check()?;
    let mut target = arguments.connection.target()?;
    let mut progress = Progress { terminal, is_quiet: arguments.quiet, bar: None };
    let listener = &mut |event: QueryEvent| progress.show(&event);
    let measured = request.run(workload, &mut target, ask, signals, places.records(), listener)?;
    drop(progress);
    // Stored before it is shown, and shown if it cannot be stored: neither failure must lose it.
    let (runs, not_stored) = places.add_query_sets(measured.records);
    output.show(Subject::Queries(&runs), terminal)?;
    not_stored.map_or(Ok(()), Err)?;
    terminal.say(report::stored_query_sets(&runs));
    for problem in &measured.problems {
        terminal.warn(problem);
    }
    Ok(signals.first().map_or(measured.status, ExitStatus::Interrupted))
}

impl QueriesArguments {
    fn request(&self) -> Result<QueriesRequest, Failure> {
        let sides = self.regress.zip(self.b_dsn.clone());
        let regression = sides.map(|(limit, b)| RegressionSpec { limit, repeats: self.repeat, b });
        Ok(QueriesRequest { spec: self.spec()?, scale: self.scale, regression })
    }

    fn spec(&self) -> Result<QuerySetSpec, Failure> {
        let limit = self.limit.map(Duration::from_secs_f64).filter(|limit| !limit.is_zero());
        Ok(QuerySetSpec {
            text: self.text.clone(),
            streams: self.streams,
            repeats: self.repeat.unwrap_or(1),
            limit: if self.limit.is_some() { limit } else { Some(LIMIT_DEFAULT) },
            select: self.select.clone(),
            plans: self.plans,
            answers: self.answers,
            results: self.results.clone(),
            refresh: self.refresh,
            seed: self.random_seed,
            data_seed: None,
            parameters: run::options::parameters(&self.parameters)?,
            annotation: self.annotation.annotation()?,
            command_line: Some(run::command_line(None)),
        })
    }
}

/// A line for each execution that has ended, and the running one on a terminal.
struct Progress<'a> {
    terminal: &'a Terminal,
    is_quiet: bool,
    bar: Option<Bar>,
}

impl Progress<'_> {
    fn show(&mut self, event: &QueryEvent) {
        if self.is_quiet {
            return;
        }
        let text = event.to_string();
        match event.phase {
            QueryPhase::Started | QueryPhase::Planning => match &self.bar {
                Some(bar) => bar.label(text),
                None => self.bar = Some(self.terminal.waiting(text)),
            },
            QueryPhase::Completed(_) | QueryPhase::Limited(_) | QueryPhase::Failed(_) => {
                if event.is_noteworthy() {
                    self.bar = None;
                    self.terminal.say(text);
                }
            }
        }
    }
}
