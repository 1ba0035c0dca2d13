//! Query sets: each query of a workload is timed, several times and in several streams, under a time limit. Rows and a
//! checksum of each answer are kept, and compared with the expected ones.
//!
//! In reading order: a [`QuerySetSpec`] says what is asked; a [`QuerySet`] runs it and returns a record; `stream` is one
//! session, `rows` its answers; [`SideBySide`] runs two sets in turns; [`timed`] and [`Meter`] measure a single execution, also for `lab`.

mod answer;
mod answer_file;
mod checksum;
mod event;
mod limit;
mod meter;
mod plans;
mod query_set;
mod regress;
mod rows;
mod spec;
mod stream;

pub use answer::answer;
pub use checksum::{Checksum, ValueKind};
pub use event::{QueryEvent, QueryPhase};
pub use limit::{Outcome, WorkError, timed, with_cancel};
pub use meter::{Meter, REPORT_DELAY, Reading, micros};
pub use query_set::{Measured, QuerySet};
pub use regress::{
    MeasuredSets, QueriesRequest, RegressionSpec, SEQUENCES_MAX, SideBySide, regression_limit,
};
pub use spec::{LIMIT_DEFAULT, QuerySetSpec, REPEATS_MAX, STREAMS_MAX};
pub use stream::METERED_QUERIES_MAX;
