//! How experiments use the table of metrics: which they have, and what timed steps call them.
//! The table itself is in `metrics`.

use results::StoredRun;

pub(crate) use crate::metrics::Metric;

impl Metric {
    /// In CSV and JSON of timed steps, whose figures are sums and not of one transaction.
    pub(crate) fn column_of_steps(self) -> &'static str {
        if self.is_of_transaction() { self.row().name } else { self.column() }
    }

    /// In sentences about timed steps.
    pub(crate) fn title_of_steps(self) -> &'static str {
        if self.is_of_transaction() { self.row().label } else { self.title() }
    }

    /// Above the columns of the terminal's table.
    pub(crate) fn short(self, of_steps: bool) -> &'static str {
        if of_steps && self.is_of_transaction() { self.row().label } else { self.row().short }
    }

    /// The figure of a trial whose transactions are so many operations each.
    pub(crate) fn of_trial(self, run: &StoredRun, operations: f64) -> Option<f64> {
        let factor = if self == Metric::Operations { operations } else { 1.0 };
        self.of(run).map(|figure| figure * factor)
    }
}
