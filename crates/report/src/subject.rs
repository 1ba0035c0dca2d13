//! What reports are about: runs, experiments, query sets, comparisons, calibrations, self-tests, scans of TLS and anomalies
//! of isolation. Each is a document, rows and fields, and cases; `format` gives it a format.

use std::collections::BTreeMap;

use ::isolation::IsolationReport;
use results::{Calibration, ComparisonRecord, Record, SearchRecord, SelfTest, StepsRecord};
use tls_scan::Scan;

use crate::experiment::{self, Overview};
use crate::queries::{self, Compared};
use crate::{Document, QueryRun, Run, values};

/// What a report is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// Runs, each with its name.
    Runs(&'a [(String, Record)]),
    /// An experiment.
    Experiment(&'a Overview),
    /// Query sets, each with its name; the first is the base of the others.
    Queries(&'a [(String, StepsRecord)]),
    /// A comparison.
    Comparison(&'a ComparisonRecord),
    /// A search for the highest rate.
    Search(&'a SearchRecord),
    /// Calibrations, such as one for each event loop.
    Calibrations(&'a [Calibration]),
    /// A self-test.
    SelfTest(&'a SelfTest),
    /// What a server accepts of TLS.
    Tls(&'a Scan),
    /// Anomalies of an isolation level.
    Isolation(&'a IsolationReport),
}

/// For a reader, in any format.
pub(super) fn document(subject: Subject<'_>) -> Document {
    match subject {
        Subject::Runs(runs) => crate::document(&borrowed(runs)),
        Subject::Experiment(overview) => experiment::document(overview),
        Subject::Queries(runs) => crate::queries_document(&query_runs(runs)),
        Subject::Comparison(record) => crate::comparison(record),
        Subject::Search(record) => crate::search(record),
        Subject::Calibrations(all) => crate::calibration(all),
        Subject::SelfTest(test) => crate::self_test(test),
        Subject::Tls(scan) => crate::tls(scan),
        Subject::Isolation(report) => crate::isolation(report),
    }
}

/// For programs, complete: the record, or fields.
pub(super) fn json(subject: Subject<'_>) -> String {
    match subject {
        Subject::Runs([(_, only)]) => values::json(only),
        Subject::Runs(runs) => {
            let records: Vec<&Record> = runs.iter().map(|(_, record)| record).collect();
            values::json(&BTreeMap::from([("runs", records)]))
        }
        Subject::Experiment(overview) => values::json(&experiment::fields(overview)),
        Subject::Queries(runs) => values::json(&queries::fields(&Compared::new(&query_runs(runs)))),
        Subject::Comparison(record) => values::json(record),
        Subject::Search(record) => values::json(record),
        Subject::Calibrations(all) => values::json(&all),
        Subject::SelfTest(test) => values::json(&crate::self_test::graded(test)),
        Subject::Tls(scan) => values::json(scan),
        Subject::Isolation(report) => values::json(report),
    }
}

/// For programs, as one table.
pub(super) fn csv(subject: Subject<'_>) -> String {
    values::csv(&match subject {
        Subject::Runs(runs) => {
            // A column of the table has the number alone, which programs can read.
            let mut runs = borrowed(runs);
            runs.iter_mut().for_each(|run| run.name = run.name.strip_prefix("run ").unwrap_or(run.name));
            crate::run::rows(&runs)
        }
        Subject::Experiment(overview) => experiment::rows(overview),
        Subject::Queries(runs) => return values::csv(&queries::rows(&Compared::new(&query_runs(runs)))),
        Subject::Comparison(record) => crate::comparison::comparison_rows(record),
        Subject::Search(record) => crate::search::search_rows(record),
        Subject::Calibrations(all) => crate::calibration::calibration_rows(all),
        Subject::SelfTest(test) => crate::self_test::self_test_rows(test),
        Subject::Tls(scan) => crate::tls::tls_rows(scan),
        Subject::Isolation(report) => crate::isolation::isolation_rows(report),
    })
}

/// The runs as reports take them.
fn borrowed(runs: &[(String, Record)]) -> Vec<Run<'_>> {
    runs.iter().map(|(name, record)| Run { name, record }).collect()
}

/// The query sets as reports take them.
fn query_runs(runs: &[(String, StepsRecord)]) -> Vec<QueryRun<'_>> {
    runs.iter().map(|(name, record)| QueryRun { name, record }).collect()
}
