//! What reports are about: runs, experiments, query sets, comparisons, calibrations, self-tests, scans of TLS and anomalies
//! of isolation. `document` makes each a document; `format` and `junit` give it a format.

use ::isolation::IsolationReport;
use results::{Calibration, ComparisonRecord, Record, SelfTest, StepsRecord};
use tls_scan::Scan;

use crate::experiment::{self, Overview};
use crate::{Document, QueryRun, Run};

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
        Subject::Calibrations(all) => crate::calibration(all),
        Subject::SelfTest(test) => crate::self_test(test),
        Subject::Tls(scan) => crate::tls(scan),
        Subject::Isolation(report) => crate::isolation(report),
    }
}

/// The runs as reports take them.
pub(super) fn borrowed(runs: &[(String, Record)]) -> Vec<Run<'_>> {
    runs.iter().map(|(name, record)| Run { name, record }).collect()
}

/// The query sets as reports take them.
pub(super) fn query_runs(runs: &[(String, StepsRecord)]) -> Vec<QueryRun<'_>> {
    runs.iter().map(|(name, record)| QueryRun { name, record }).collect()
}
