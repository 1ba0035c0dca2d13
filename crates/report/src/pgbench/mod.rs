//! What pgbench 19 prints about a run and writes into its logs, line for line, so that whoever parses it
//! notices no difference. Made from the record and from samples; nothing is measured for it.
//!
//! In reading order: [`final_report`] shows a whole run, [`ProgressMeter`] its progress; [`transaction_line`] and
//! [`AggregateLog`] are the two kinds of log. [`Columns`] are the parts that depend on the run's options;
//! `c_numbers` writes numbers as C does. Called by the drop-in of `cli`, and by `bench` for logs.

mod columns;

mod final_report;

mod script_report;

mod progress;

mod transaction_log;

mod aggregate_log;

mod c_numbers;

pub use aggregate_log::AggregateLog;
pub use columns::Columns;
pub use final_report::{Presentation, final_report};
pub use progress::{ProgressClock, ProgressMeter, progress_line};
pub use transaction_log::{LogFormat, transaction_line};
