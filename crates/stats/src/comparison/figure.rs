//! Figures that a comparison compares: metrics of all scripts, and the latencies of each script of a mix. Their list is
//! part of the comparison, because users may name a percentile of their own.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comparison::percentile::{NotAPercentile, Percentile};

/// A metric of a comparison.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Transactions per second.
    Tps,
    /// The median latency.
    P50,
    /// 99th percentile of latency.
    P99,
    /// CPU time of the server's backends per transaction.
    ServerCpu,
    /// CPU time of the load generator per transaction.
    ClientCpu,
    /// WAL bytes per transaction.
    Wal,
    /// Full-page images in the WAL per transaction.
    FullPageImages,
    /// Blocks that the server read per transaction.
    BlocksRead,
    /// Another percentile of latency, which decides.
    #[serde(untagged)]
    Percentile(Percentile),
}

impl ComparedMetric {
    /// Their names in options; any percentile is another one.
    pub const WORDS: [(&str, ComparedMetric); 8] = [
        ("tps", ComparedMetric::Tps),
        ("p50", ComparedMetric::P50),
        ("p99", ComparedMetric::P99),
        ("server-cpu", ComparedMetric::ServerCpu),
        ("client-cpu", ComparedMetric::ClientCpu),
        ("wal", ComparedMetric::Wal),
        ("full-page-images", ComparedMetric::FullPageImages),
        ("blocks-read", ComparedMetric::BlocksRead),
    ];

    /// Name in tables.
    pub fn name(self) -> Cow<'static, str> {
        let name = match self {
            ComparedMetric::Tps => "tps",
            ComparedMetric::P50 => "p50",
            ComparedMetric::P99 => "p99",
            ComparedMetric::ServerCpu => "server CPU/tx",
            ComparedMetric::ClientCpu => "client CPU/tx",
            ComparedMetric::Wal => "WAL/tx",
            ComparedMetric::FullPageImages => "full pages/tx",
            ComparedMetric::BlocksRead => "blocks read/tx",
            ComparedMetric::Percentile(percentile) => return percentile.to_string().into(),
        };
        name.into()
    }

    /// The percentile of latency, if it is one.
    pub fn percentile(self) -> Option<Percentile> {
        match self {
            ComparedMetric::P50 => Some(Percentile::P50),
            ComparedMetric::P99 => Some(Percentile::P99),
            ComparedMetric::Percentile(percentile) => Some(percentile),
            ComparedMetric::Tps
            | ComparedMetric::ServerCpu
            | ComparedMetric::ClientCpu
            | ComparedMetric::Wal
            | ComparedMetric::FullPageImages
            | ComparedMetric::BlocksRead => None,
        }
    }

    /// The metrics of every comparison, in the order of output.
    pub const ALL: [ComparedMetric; 8] = [
        ComparedMetric::Tps,
        ComparedMetric::P50,
        ComparedMetric::P99,
        ComparedMetric::ServerCpu,
        ComparedMetric::ClientCpu,
        ComparedMetric::Wal,
        ComparedMetric::FullPageImages,
        ComparedMetric::BlocksRead,
    ];

    /// 1 if more is better, −1 if less is better.
    pub(crate) fn sign(self) -> f64 {
        match self {
            ComparedMetric::Tps => 1.0,
            ComparedMetric::P50
            | ComparedMetric::P99
            | ComparedMetric::ServerCpu
            | ComparedMetric::ClientCpu
            | ComparedMetric::Wal
            | ComparedMetric::FullPageImages
            | ComparedMetric::BlocksRead
            | ComparedMetric::Percentile(_) => -1.0,
        }
    }
}

impl From<Percentile> for ComparedMetric {
    fn from(percentile: Percentile) -> ComparedMetric {
        match percentile {
            Percentile::P50 => ComparedMetric::P50,
            Percentile::P99 => ComparedMetric::P99,
            other => ComparedMetric::Percentile(other),
        }
    }
}

impl FromStr for ComparedMetric {
    type Err = NotAPercentile;

    fn from_str(text: &str) -> Result<ComparedMetric, NotAPercentile> {
        let row = ComparedMetric::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        row.map_or_else(|| text.parse::<Percentile>().map(ComparedMetric::from), |(_, metric)| Ok(*metric))
    }
}

/// A figure by which sides are compared.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ComparedFigure {
    /// The metric.
    pub metric: ComparedMetric,
    /// Of this script of a mix, from 0; `None`: of all scripts.
    pub script: Option<usize>,
}

impl From<ComparedMetric> for ComparedFigure {
    fn from(metric: ComparedMetric) -> ComparedFigure {
        ComparedFigure { metric, script: None }
    }
}

impl ComparedFigure {
    /// All figures of a comparison with this decisive metric, in the order of output: the metrics of every comparison,
    /// the percentile that decides, and for each script of a mix the median and that percentile, or p99.
    pub fn all(decisive: ComparedMetric, scripts: usize) -> Vec<ComparedFigure> {
        let mut metrics = ComparedMetric::ALL.to_vec();
        let mut tail = ComparedMetric::P99;
        if let ComparedMetric::Percentile(percentile) = decisive {
            let lower = [Percentile::P50, Percentile::P99].into_iter().filter(|known| *known < percentile);
            metrics.insert(1 + lower.count(), decisive);
            tail = decisive;
        }
        let of_scripts = (0..if scripts > 1 { scripts } else { 0 })
            .flat_map(|script| [ComparedMetric::P50, tail].map(|metric| (metric, script)))
            .map(|(metric, script)| ComparedFigure { metric, script: Some(script) });
        metrics.into_iter().map(ComparedFigure::from).chain(of_scripts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_read_from_its_name_or_as_a_percentile() {
        let p95: Percentile = "p95".parse().unwrap();
        for (text, metric) in [
            ("tps", ComparedMetric::Tps),
            ("P50", ComparedMetric::P50),
            ("p99.0", ComparedMetric::P99),
            ("server-cpu", ComparedMetric::ServerCpu),
            ("p95", ComparedMetric::Percentile(p95)),
        ] {
            assert_eq!(text.parse(), Ok(metric), "{text}");
        }
        assert_eq!("p100".parse::<ComparedMetric>(), Err(NotAPercentile));
        assert_eq!("server".parse::<ComparedMetric>(), Err(NotAPercentile));
    }

    #[test]
    fn a_metric_has_one_name_in_records() {
        for (metric, name) in [
            (ComparedMetric::P99, "\"p99\""),
            (ComparedMetric::FullPageImages, "\"full_page_images\""),
            ("p99.9".parse().unwrap(), "\"p99.9\""),
        ] {
            assert_eq!(serde_json::to_string(&metric).unwrap(), name);
            assert_eq!(serde_json::from_str::<ComparedMetric>(name).unwrap(), metric);
        }
        assert!(serde_json::from_str::<ComparedMetric>("\"p100\"").is_err());
    }

    #[test]
    fn the_figures_of_a_comparison_have_the_percentile_that_decides_and_those_of_each_script_of_a_mix() {
        assert_eq!(ComparedFigure::all(ComparedMetric::Wal, 1).len(), ComparedMetric::ALL.len());
        let p95 = "p95".parse().unwrap();
        let names: Vec<_> = ComparedFigure::all(p95, 2)
            .iter()
            .map(|figure| figure.metric.name() + figure.script.map_or("", |script| [" 0", " 1"][script]))
            .collect();
        let of_all = ["tps", "p50", "p95", "p99"];
        let of_scripts = ["p50 0", "p95 0", "p50 1", "p95 1"];
        assert_eq!((&names[..4], &names[9..]), (&of_all.map(Cow::from)[..], &of_scripts.map(Cow::from)[..]));
        assert_eq!(ComparedFigure::all("p99.9".parse().unwrap(), 0)[3].metric.name(), "p99.9");
    }
}
