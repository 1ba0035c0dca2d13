//! What pgbench 19 prints about a run and writes into its logs, line for line, so that programs that
//! parse it notice no difference. Made from the record and from samples; nothing is measured for it.
//!
//! In reading order: [`final_report`] shows a whole run, [`ProgressMeter`] its progress; [`transaction_line`] and
//! [`AggregateLog`] are the two kinds of log, which [`LogFiles`] writes. [`Columns`] are the parts that depend on the run's options;
//! `c_numbers` writes numbers as C does. Called by the drop-in of `cli`, and by `bench` for logs.

use results::Plan;

mod final_report;

mod script_report;

mod progress;

mod transaction_log;

mod aggregate_log;

mod log_files;

mod c_numbers;

pub use aggregate_log::AggregateLog;
pub use final_report::{Presentation, final_report};
pub use log_files::{LogFiles, LogOptions, OnLogError, Sampler, WorkerLog};
pub use progress::{ProgressClock, ProgressMeter, progress_line};
pub use transaction_log::{LogFormat, transaction_line};

/// The parts of a line that are not always there: they depend on the options of the run, not on what happened in it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// How late transactions started; under a rate.
    pub lag: bool,
    /// What the latency limit did.
    pub latency_limit: bool,
    /// Retries: wherever a transaction may have more than one try.
    pub retries: bool,
    /// Failures by kind.
    pub failures_detailed: bool,
}

impl Columns {
    /// Those of a run of this plan, with or without `--failures-detailed`.
    pub fn of(plan: &Plan, failures_detailed: bool) -> Columns {
        Columns {
            lag: plan.rate_tps.is_some(),
            latency_limit: plan.latency_limit_us.is_some(),
            retries: plan.max_tries != Some(1),
            failures_detailed,
        }
    }

    /// Only a rate makes transactions late before they begin, and only a limit says how late is too late.
    fn skipped(&self) -> bool {
        self.lag && self.latency_limit
    }
}
