//! The code of the workload `tpcds`, derived from TPC-DS: rows by the crate `tpcdsgen`, queries from an archive, expected
//! answers, checks. schema.sql has its tables; docs/tpc.md describes it for users.

mod answers;
mod checks;
mod queries;
mod rows;

use stats::Scale;

use loading::loader::generated::{OwnCode, OwnQueries, OwnRows};

/// Its code.
pub(super) const CODE: OwnCode = OwnCode {
    rows: Some(ROWS),
    queries: Some(OwnQueries { read: queries::read, answers: answers::expected }),
};

/// Its rows.
const ROWS: OwnRows = OwnRows {
    tables: |scale, _| rows::all(scale),
    refused,
    seed_refused: Some("its rows depend on the scale alone"),
    checks: |scale, _| checks::all(scale),
};

/// The smallest scale at which the tables of sales have customers of most kinds.
const SCALE_MIN: f64 = 0.01;
/// The largest scale of the specification.
const SCALE_MAX: f64 = 100_000.0;

fn refused(scale: Scale) -> Option<&'static str> {
    match scale.units() {
        small if small < SCALE_MIN => Some("the smallest scale is 0.01"),
        large if large > SCALE_MAX => Some("the largest scale is 100000"),
        _ => None,
    }
}
