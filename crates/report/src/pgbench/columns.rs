//! Which parts of a line there are: they depend on the options of the run, not on what happened in it.
//! Used by the report, the progress lines and both logs.

use results::Plan;

/// The parts that are not always there.
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
    pub(super) fn skipped(&self) -> bool {
        self.lag && self.latency_limit
    }
}
