//! Answers of the workload tpcds: loads it on servers of the given versions, executes its queries, and compares the rows at
//! scale 1 with those in the archive of its queries. Numbers may differ by rounding. `--show` prints checksums of equal
//! answers for answers.txt. At all scales, the answers of the versions must be equal. The archive must be prepared: `pgmeter
//! workload prepare tpcds`.
//!
//! `cargo run -p pgmeter-workload --example tpcds_answers -- [--scale SCALE] [--limit SECONDS] [--show] VERSION …`
#![allow(clippy::print_stdout, reason = "a chore talks to those who run it")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use connect::{Column, Environment, Overrides, RowSink, Session, resolve};
use pgmeter_workload::{InitOptions, Query, QueryChoice, Workload, WorkloadName};
use queries::{Checksum, ValueKind};
use stats::Scale;
use testkit::cluster::Cluster;

/// The answers in the archive.
const ANSWERS: &str = "duckdb-2.0.0/external/duckdb/extension/tpcds/dsdgen/answers/sf1";
/// The largest difference of numbers by rounding, in proportion to the number: the archive's are double precision.
const PROPORTION: f64 = 1e-6;
/// The query that rounds a quotient to two digits, and the difference that this can make.
const ROUNDED: (&str, f64) = ("q78", 0.010_001);

fn main() -> ExitCode {
    let (mut scale, mut limit, mut shows, mut versions) = (Scale::ONE, 300, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value follows the option");
        match argument.as_str() {
            "--scale" => scale = value().parse().expect("--scale SCALE"),
            "--limit" => limit = value().parse().expect("--limit SECONDS"),
            "--show" => shows = true,
            _ => versions.push(argument),
        }
    }
    let mut first = BTreeMap::new();
    let measured = |version: &String| measure(version, scale, limit, shows, &mut first);
    let succeeded: Vec<bool> = versions.iter().map(measured).collect();
    if succeeded.iter().all(|succeeded| *succeeded) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The first checksum of each query, with the version that answered so.
type FirstAnswers = BTreeMap<String, (String, String)>;

/// Whether no query fails, apart from the time limit, and no answer differs.
fn measure(version: &str, scale: Scale, limit: u32, shows: bool, first: &mut FirstAnswers) -> bool {
    let workload = WorkloadName::find("tpcds", Path::new("")).expect("built in").open().expect("it is sound");
    let cluster = Cluster::start_with(version, &[("max_wal_size", "4GB"), ("work_mem", "32MB")]);
    let conninfo = cluster.database("answers");
    let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target");
    let mut session = Cluster::session(&conninfo);
    let options = InitOptions { scale, ..InitOptions::default() };
    let report =
        workload.load(&target, &mut session, &options, &mut |_| ControlFlow::Continue(())).expect("loading");
    println!("PostgreSQL {version}: {}", report.summary(scale));
    workload.check_data(&mut session, &BTreeMap::new(), Some(scale)).expect("sound data");
    compare(&mut session, &workload, (scale, limit), shows, (version, first))
}

/// Executes all queries, and prints how many answers are equal.
fn compare(
    session: &mut Session,
    workload: &Arc<dyn Workload>,
    (scale, limit): (Scale, u32),
    shows: bool,
    (version, first): (&str, &mut FirstAnswers),
) -> bool {
    let choice = QueryChoice::new(scale);
    let queries = workload.queries(&choice).expect("`pgmeter workload prepare tpcds` unpacks the queries");
    let archive = workload.archives().first().expect("an archive");
    let answers = archive.archive.unpacked().expect("a cache").expect("prepared").join(ANSWERS);
    session.execute(&format!("set statement_timeout = '{limit}s'")).expect("a setting");
    let (mut equal, mut ended, mut different, mut unfinished, mut failed) =
        (0, 0, Vec::new(), Vec::new(), Vec::new());
    for query in &queries {
        match rows(session, query) {
            Err(error) if error.contains("statement timeout") => unfinished.push(query.name.as_str()),
            Err(error) => failed.push(format!("{}: {error}", query.name)),
            Ok((rows, checksum)) => {
                ended += 1;
                let answer = checksum.to_string();
                let before =
                    first.entry(query.name.clone()).or_insert_with(|| (answer.clone(), version.to_owned()));
                if before.0 != answer {
                    different.push(format!("{}: not the answer of {}", query.name, before.1));
                }
                if scale != Scale::ONE {
                    continue;
                }
                match difference(&rows, query, &answers) {
                    None => {
                        equal += 1;
                        if shows {
                            println!("{scale} {} {} {checksum}", query.name, rows.len());
                        }
                    }
                    Some(difference) => different.push(format!("{}: {difference}", query.name)),
                }
            }
        }
    }
    println!("  {ended} of {} queries ended, {equal} answers are equal", queries.len());
    println!("  different: {}", different.join("\n  "));
    println!("  over the limit: {}\n  failed: {}", unfinished.join(" "), failed.join("\n  "));
    different.is_empty() && failed.is_empty()
}

fn place(answers: &Path, query: &Query) -> PathBuf {
    answers.join(format!("{:0>2}.csv", query.name.trim_start_matches('q')))
}

/// The values of an answer, `NULL` as in the files, and its checksum.
#[derive(Default)]
struct Rows(Vec<Vec<String>>, Checksum);

impl RowSink for Rows {
    fn columns(&mut self, columns: Vec<Column>) {
        self.1 = Checksum::new(columns.iter().map(|column| ValueKind::new(column.type_oid)).collect());
    }

    fn row(&mut self, values: &[Option<&[u8]>]) {
        let text = |value: &Option<&[u8]>| {
            value.map_or("NULL".to_owned(), |value| String::from_utf8_lossy(value).into_owned())
        };
        self.0.push(values.iter().map(text).collect());
        self.1.add(values.iter().copied());
    }
}

fn rows(session: &mut Session, query: &Query) -> Result<(Vec<Vec<String>>, Checksum), String> {
    let mut rows = Rows::default();
    let streamed = session.patiently(|session| session.stream_rows(&query.sql, &mut rows));
    streamed.map_err(|error| error.to_string())?;
    Ok((rows.0, rows.1))
}

/// A sentence if these are not the rows of the query's file, in any order.
fn difference(found: &[Vec<String>], query: &Query, answers: &Path) -> Option<String> {
    let text = std::fs::read_to_string(place(answers, query)).expect("a file of the archive");
    let mut expected: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('|').collect()).collect();
    if found.len() != expected.len() {
        return Some(format!("{} rows, expected {}", found.len(), expected.len()));
    }
    let rounding = if query.name == ROUNDED.0 { ROUNDED.1 } else { 0.0 };
    let is_same = |found: &[String], expected: &[&str]| {
        let mut pairs = found.iter().zip(expected);
        found.len() == expected.len() && pairs.all(|(one, other)| is_equal(one, other, rounding))
    };
    for row in found {
        match expected.iter().position(|expected| is_same(row, expected)) {
            Some(at) => drop(expected.swap_remove(at)),
            None => return Some(format!("no partner of {row:?}; one of those left is {:?}", expected[0])),
        }
    }
    None
}

fn is_equal(found: &str, expected: &str, rounding: f64) -> bool {
    // Empty texts are quoted in the files.
    if found.trim_end() == expected.trim_matches('"').trim_end() {
        return true;
    }
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) => {
            (found - expected).abs() <= rounding.max(PROPORTION * expected.abs().max(1.0))
        }
        _ => false,
    }
}
