//! Names and units of the figures of a comparison. They are those of the table of metrics; percentiles that it does not
//! have are named alike.

use std::borrow::Cow;

use results::{ComparedFigure, ComparedMetric, ComparisonRecord};

use crate::metrics::{Metric, Quantity};
use crate::prose::escaped_line;

const NANOS_PER_MICRO: f64 = 1e3;

/// The row of the table; `None`: a percentile that a user named.
fn metric(of: ComparedMetric) -> Option<Metric> {
    match of {
        ComparedMetric::Tps => Some(Metric::Tps),
        ComparedMetric::P50 => Some(Metric::P50),
        ComparedMetric::P99 => Some(Metric::P99),
        ComparedMetric::ServerCpu => Some(Metric::ServerCpu),
        ComparedMetric::ClientCpu => Some(Metric::ClientCpu),
        ComparedMetric::Wal => Some(Metric::WalBytes),
        ComparedMetric::FullPageImages => Some(Metric::FullPageImages),
        ComparedMetric::BlocksRead => Some(Metric::BlocksRead),
        ComparedMetric::Percentile(_) => None,
    }
}

/// In tables and notes: `tps`, `p95`, `WAL/tx`.
pub(crate) fn short(of: ComparedMetric) -> Cow<'static, str> {
    metric(of).map_or_else(|| of.name(), |metric| metric.row().short.into())
}

/// The same with the script: `p95 of transfer.sql`.
pub(crate) fn of_figure(record: &ComparisonRecord, figure: ComparedFigure) -> String {
    let name = short(figure.metric);
    let Some(script) = figure.script else { return name.into_owned() };
    format!("{name} of {}", self::script(record, script))
}

/// The longest label that sentences have; longer ones are in the title.
const LABEL_LEN_MAX: usize = 28;

/// The labels of both sides, or A and B where the labels are too long for a sentence or do not differ.
pub(super) fn sides(record: &ComparisonRecord) -> [String; 2] {
    let labels = record.sides.each_ref().map(|side| escaped_line(&side.label));
    let is_fit = |label: &String| (1..=LABEL_LEN_MAX).contains(&label.chars().count());
    match labels[0] != labels[1] && labels.iter().all(is_fit) {
        true => labels,
        false => ["A", "B"].map(str::to_owned),
    }
}

/// The name of a script of a mix; files of others may lack it.
pub(super) fn script(record: &ComparisonRecord, script: usize) -> String {
    let name = record.method.scripts.get(script).map(|name| escaped_line(name));
    name.unwrap_or_else(|| format!("script {}", script.saturating_add(1)))
}

/// In sentences and titles: `throughput`, `p95 of the latency`.
pub(super) fn title(of: ComparedMetric) -> Cow<'static, str> {
    metric(of).map_or_else(|| format!("{} of the latency", of.name()).into(), |metric| metric.title().into())
}

/// In CSV: `tps`, `response_p95_us`.
pub(super) fn column(of: ComparedMetric) -> Cow<'static, str> {
    let percentile = || format!("response_{}_us", of.name().replace('.', "")).into();
    metric(of).map_or_else(percentile, |metric| metric.column().into())
}

fn quantity(of: ComparedMetric) -> Quantity {
    metric(of).map_or(Quantity::Microseconds, Metric::quantity)
}

/// A figure of a comparison, whose times are nanoseconds, as the table of metrics has it.
pub(super) fn in_unit(of: ComparedMetric, value: f64) -> f64 {
    match quantity(of) {
        Quantity::Microseconds => value / NANOS_PER_MICRO,
        Quantity::PerSecond
        | Quantity::Seconds
        | Quantity::Share
        | Quantity::Bytes
        | Quantity::Number
        | Quantity::Percentile
        | Quantity::Count => value,
    }
}

/// With its unit.
pub(super) fn shown(of: ComparedMetric, value: f64) -> String {
    quantity(of).shown(in_unit(of, value))
}
