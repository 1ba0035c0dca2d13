//! Output and logs in the format of pgbench 19, line for line, so that programs that parse them work unchanged. Made
//! from the record and from samples.
//!
//! [`final_report`] formats a complete run, [`ProgressMeter`] its progress; [`transaction_line`] and [`AggregateLog`]
//! make the lines of both kinds of log, which `output` writes. Used by the drop-in in `cli`.

use results::Plan;

mod counts;

mod final_report;

mod script_report;

mod progress;

mod transaction_log;

mod aggregate_log;

mod c_numbers;

pub use aggregate_log::AggregateLog;
pub use final_report::final_report;
pub use progress::{ProgressClock, ProgressMeter, progress_line};
pub use transaction_log::{LogFormat, transaction_line};

/// Options of the report that the plan does not contain.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Presentation {
    /// Failures by kind (`--failures-detailed`).
    pub failures_detailed: bool,
    /// Statistics per command of each script (`-r`).
    pub report_per_command: bool,
    /// Progress was shown (`-P`): the average latency then covers succeeded transactions only.
    pub progress: bool,
}

/// Optional parts of a line; they depend on the options of the run only.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Schedule lag; with a rate.
    pub lag: bool,
    /// Transactions above the latency limit.
    pub latency_limit: bool,
    /// Retries; if a transaction may have more than one try.
    pub retries: bool,
    /// Failures by kind.
    pub failures_detailed: bool,
}

impl Columns {
    /// The columns for this plan, with or without `--failures-detailed`.
    pub fn of(plan: &Plan, failures_detailed: bool) -> Columns {
        Columns {
            lag: plan.rate_tps.is_some(),
            latency_limit: plan.latency_limit_us.is_some(),
            retries: plan.max_tries != Some(1),
            failures_detailed,
        }
    }

    /// Transactions are skipped only with both a rate and a latency limit.
    fn skipped(&self) -> bool {
        self.lag && self.latency_limit
    }
}
