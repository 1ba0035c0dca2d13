//! The figures that every format of a report shows, a row each: the name in CSV, with its unit; the title for people; and
//! where it is found in a record. The figures of experiments are made of them too.

use results::{Latency, PerTransaction};

use crate::figures::{as_asked, asked_latency, asked_seconds, latency, measured_seconds, percent, rate};
use crate::sections::{bytes, number};

/// A figure of a distribution of times, in microseconds.
pub(crate) struct LatencyFigure {
    /// As a record has it.
    pub(crate) name: &'static str,
    /// Above a column.
    pub(crate) title: &'static str,
    pub(crate) of: fn(&Latency) -> f64,
}

/// All of them.
pub(crate) const LATENCY: [LatencyFigure; 9] = {
    const fn row(name: &'static str, title: &'static str, of: fn(&Latency) -> f64) -> LatencyFigure {
        LatencyFigure { name, title, of }
    }
    [
        row("mean", "mean", |us| us.mean),
        row("stddev", "stddev", |us| us.stddev),
        row("min", "min", |us| us.min),
        row("p50", "p50", |us| us.p50),
        row("p90", "p90", |us| us.p90),
        row("p95", "p95", |us| us.p95),
        row("p99", "p99", |us| us.p99),
        row("p999", "p99.9", |us| us.p999),
        row("max", "max", |us| us.max),
    ]
};

/// What a transaction costs the server on average.
pub(crate) struct Cost {
    /// As a record has it.
    pub(crate) name: &'static str,
    /// Beside the figure.
    pub(crate) title: &'static str,
    pub(crate) quantity: Quantity,
    pub(crate) of: fn(&PerTransaction) -> Option<f64>,
}

/// All of them, in the order in which they are shown.
pub(crate) const COSTS: [Cost; 15] = {
    use Quantity::{Bytes, Microseconds, Number};
    const fn row(
        name: &'static str,
        title: &'static str,
        quantity: Quantity,
        of: fn(&PerTransaction) -> Option<f64>,
    ) -> Cost {
        Cost { name, title, quantity, of }
    }
    [
        row("wal_bytes", "WAL", Bytes, |cost| cost.wal_bytes),
        row("wal_records", "WAL records", Number, |cost| cost.wal_records),
        row("wal_full_page_images", "full-page images", Number, |cost| cost.wal_full_page_images),
        row("wal_full_page_image_bytes", "WAL of full-page images", Bytes, |cost| {
            cost.wal_full_page_image_bytes
        }),
        row("blocks_hit", "shared buffers hit", Number, |cost| cost.blocks_hit),
        row("blocks_read", "blocks read", Number, |cost| cost.blocks_read),
        row("block_read_us", "time reading blocks", Microseconds, |cost| cost.block_read_us),
        row("blocks_dirtied", "blocks dirtied", Number, |cost| cost.blocks_dirtied),
        row("blocks_written", "blocks written by backends", Number, |cost| cost.blocks_written),
        row("block_write_us", "time writing blocks", Microseconds, |cost| cost.block_write_us),
        row("temp_bytes", "temporary files", Bytes, |cost| cost.temp_bytes),
        row("backend_user_cpu_us", "server CPU, user", Microseconds, |cost| cost.backend_user_cpu_us),
        row("backend_system_cpu_us", "server CPU, system", Microseconds, |cost| cost.backend_system_cpu_us),
        row("backend_read_bytes", "read from disk", Bytes, |cost| cost.backend_read_bytes),
        row("backend_written_bytes", "dirtied by backends, counted by the kernel", Bytes, |cost| {
            cost.backend_written_bytes
        }),
    ]
};

/// What a figure is a number of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    PerSecond,
    Microseconds,
    Share,
    Bytes,
    Number,
    #[allow(dead_code)] // until charts use it
    Seconds,
}

impl Quantity {
    /// With its unit: `6.48 ms`, `1.21 kB`, `0.3 %`.
    pub(crate) fn shown(self, figure: f64) -> String {
        match self {
            Quantity::PerSecond => rate(figure),
            Quantity::Microseconds => latency(figure),
            Quantity::Share => percent(figure, 1.0),
            Quantity::Bytes => bytes(figure),
            Quantity::Number => number(figure),
            Quantity::Seconds => measured_seconds(figure),
        }
    }

    /// As an axis has it: without digits that say nothing.
    pub(crate) fn tick(self, figure: f64) -> String {
        match self {
            Quantity::PerSecond => as_asked(figure),
            Quantity::Microseconds => asked_latency(figure),
            Quantity::Share => percent(figure, 1.0),
            Quantity::Bytes => bytes(figure),
            Quantity::Number => number(figure),
            Quantity::Seconds => asked_seconds(figure),
        }
    }

    /// As the page's script calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::PerSecond => "rate",
            Quantity::Microseconds => "latency",
            Quantity::Share => "share",
            Quantity::Bytes => "bytes",
            Quantity::Number => "number",
            Quantity::Seconds => "time",
        }
    }
}
