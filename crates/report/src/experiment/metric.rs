//! The figures of a trial that tables and charts of an experiment show, as a table: what each is called, its unit,
//! where it is found. Charts of the file name them as `lab::METRICS` has them.

use results::{Counts, Latency, StoredRun};

use crate::metrics::Quantity;

/// A figure of a trial. `Operations` are transactions times what each does, which the caller knows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    Tps,
    Operations,
    Mean,
    Stddev,
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
    Cycle,
    Failed,
    Late,
    WalBytes,
    ServerCpu,
    /// Of trials of steps, and of them alone.
    Duration,
}

struct Row {
    metric: Metric,
    /// As files name it.
    name: &'static str,
    /// With its unit, as tables for programs name it.
    column: &'static str,
    /// For people.
    title: &'static str,
    quantity: Quantity,
    of: fn(&StoredRun) -> Option<f64>,
}

const ROWS: [Row; 16] = {
    use Quantity::{Bytes, Microseconds, PerSecond, Share};
    const fn row(
        metric: Metric,
        name: &'static str,
        column: &'static str,
        title: &'static str,
        quantity: Quantity,
        of: fn(&StoredRun) -> Option<f64>,
    ) -> Row {
        Row { metric, name, column, title, quantity, of }
    }
    [
        row(Metric::Tps, "tps", "tps", "throughput", PerSecond, |run| Some(run.summary.as_ref()?.tps)),
        row(Metric::Operations, "operations", "operations_per_s", "operations", PerSecond, |run| {
            Some(run.summary.as_ref()?.tps)
        }),
        row(Metric::Mean, "mean", "mean_us", "mean latency", Microseconds, |run| Some(us(run)?.mean)),
        row(Metric::Stddev, "stddev", "stddev_us", "deviation of the latency", Microseconds, |run| {
            Some(us(run)?.stddev)
        }),
        row(Metric::P50, "p50", "p50_us", "median latency", Microseconds, |run| Some(us(run)?.p50)),
        row(Metric::P90, "p90", "p90_us", "p90 of the latency", Microseconds, |run| Some(us(run)?.p90)),
        row(Metric::P95, "p95", "p95_us", "p95 of the latency", Microseconds, |run| Some(us(run)?.p95)),
        row(Metric::P99, "p99", "p99_us", "p99 of the latency", Microseconds, |run| Some(us(run)?.p99)),
        row(Metric::P999, "p999", "p999_us", "p99.9 of the latency", Microseconds, |run| Some(us(run)?.p999)),
        row(Metric::Max, "max", "max_us", "longest latency", Microseconds, |run| Some(us(run)?.max)),
        // Little's law: A proof for the queuing formula L = λW, Operations Research 9, 1961.
        row(
            Metric::Cycle,
            "cycle",
            "cycle_us",
            "time from one transaction to the next",
            Microseconds,
            |run| {
                let clients = f64::from(run.plan.as_ref()?.clients);
                let Counts { succeeded, failed, .. } = *counts(run)?;
                // One that fails takes a client its time too.
                let ended_per_s =
                    run.summary.as_ref()?.tps / (1.0 - share(failed, succeeded.saturating_add(failed))?);
                Some(clients / ended_per_s * MICROSECONDS_PER_SECOND)
            },
        ),
        row(Metric::Failed, "failed", "failed_share", "failed", Share, |run| {
            let Counts { failed, scheduled, .. } = *counts(run)?;
            share(failed, scheduled)
        }),
        row(Metric::Late, "late", "late_share", "late or skipped", Share, |run| {
            counts(run).filter(|counts| counts.scheduled > 0).map(Counts::late_or_skipped_share)
        }),
        row(
            Metric::WalBytes,
            "wal_bytes",
            "wal_bytes_per_transaction",
            "WAL per transaction",
            Bytes,
            |run| run.costs.wal_bytes,
        ),
        row(
            Metric::ServerCpu,
            "server_cpu",
            "server_cpu_us_per_transaction",
            "server CPU per transaction",
            Microseconds,
            |run| Some(run.costs.backend_user_cpu_us? + run.costs.backend_system_cpu_us?),
        ),
        row(Metric::Duration, "duration", "duration_us", "duration", Microseconds, |_| None),
    ]
};

const MICROSECONDS_PER_SECOND: f64 = 1e6;

fn us(run: &StoredRun) -> Option<&Latency> {
    run.summary.as_ref()?.response_us.as_ref()
}

fn counts(run: &StoredRun) -> Option<&Counts> {
    Some(&run.summary.as_ref()?.counts)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Metric {
    /// In the order of their columns.
    pub(crate) fn all() -> impl Iterator<Item = Metric> {
        ROWS.iter().map(|row| row.metric)
    }

    /// The one that a file calls so.
    pub(crate) fn named(name: &str) -> Option<Metric> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.metric)
    }

    // Each has its row in the place of its number; a test sees to it.
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    pub(crate) fn column(self) -> &'static str {
        self.row().column
    }

    /// Of a trial of steps, where nothing is by transaction.
    pub(crate) fn column_of_steps(self) -> &'static str {
        match self {
            Metric::WalBytes => "wal_bytes",
            Metric::ServerCpu => "server_cpu_us",
            other => other.column(),
        }
    }

    pub(crate) fn title(self) -> &'static str {
        self.row().title
    }

    /// The same of a trial of steps.
    pub(crate) fn title_of_steps(self) -> &'static str {
        match self {
            Metric::WalBytes => "WAL",
            Metric::ServerCpu => "server CPU",
            other => other.title(),
        }
    }

    /// Above a column of a terminal.
    pub(crate) fn short(self, of_steps: bool) -> &'static str {
        match self {
            Metric::Operations => "operations/s",
            Metric::P999 => "p99.9",
            Metric::WalBytes if !of_steps => "WAL/tx",
            Metric::ServerCpu if !of_steps => "server CPU/tx",
            Metric::WalBytes | Metric::ServerCpu => self.title_of_steps(),
            other => other.row().name,
        }
    }

    pub(crate) fn quantity(self) -> Quantity {
        self.row().quantity
    }

    /// Of a run of which a transaction does so much of the users' work; not what is no number.
    pub(crate) fn of(self, run: &StoredRun, operations: f64) -> Option<f64> {
        let factor = if self == Metric::Operations { operations } else { 1.0 };
        (self.row().of)(run).map(|figure| figure * factor).filter(|figure| figure.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_its_row_and_files_can_name_it() {
        for (at, row) in ROWS.iter().enumerate() {
            assert_eq!(row.metric as usize, at, "{}", row.name);
        }
        for name in lab::METRICS.into_iter().chain(lab::METRICS_OF_STEPS) {
            assert!(Metric::named(name).is_some(), "{name}");
        }
    }
}
