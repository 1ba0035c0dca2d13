//! The data of a comparison: blocks of load, their draws, and pairs of draws. Filled in by the caller that runs the
//! load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A side of a comparison; A is the baseline.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl Side {
    /// The other side.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

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
}

impl ComparedMetric {
    /// Their names in options, with descriptions.
    pub const WORDS: [(&str, &str, ComparedMetric); 8] = [
        ("tps", "Transactions per second", ComparedMetric::Tps),
        ("p50", "Median latency", ComparedMetric::P50),
        ("p99", "99th percentile of latency", ComparedMetric::P99),
        ("server-cpu", "CPU time of the server's backends per transaction", ComparedMetric::ServerCpu),
        ("client-cpu", "CPU time of pgmeter per transaction", ComparedMetric::ClientCpu),
        ("wal", "WAL per transaction", ComparedMetric::Wal),
        ("full-page-images", "Full-page images in the WAL per transaction", ComparedMetric::FullPageImages),
        ("blocks-read", "Blocks read per transaction", ComparedMetric::BlocksRead),
    ];

    /// Name in tables.
    pub fn words(self) -> &'static str {
        match self {
            ComparedMetric::Tps => "tps",
            ComparedMetric::P50 => "p50",
            ComparedMetric::P99 => "p99",
            ComparedMetric::ServerCpu => "server CPU/tx",
            ComparedMetric::ClientCpu => "client CPU/tx",
            ComparedMetric::Wal => "WAL/tx",
            ComparedMetric::FullPageImages => "full pages/tx",
            ComparedMetric::BlocksRead => "blocks read/tx",
        }
    }

    /// All metrics in the order of output.
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
            | ComparedMetric::BlocksRead => -1.0,
        }
    }
}

/// The figures of one block: one side under load, usually for a fraction of a second. `None`: unknown.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Median latency, in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of latency, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// CPU time of the server's backends in nanoseconds per transaction.
    pub cpu_ns_per_transaction: Option<f64>,
    /// CPU time of the load generator in nanoseconds per transaction.
    pub client_cpu_ns_per_transaction: Option<f64>,
    /// WAL bytes per transaction.
    pub wal_bytes_per_transaction: Option<f64>,
    /// Full-page images in the WAL per transaction.
    pub full_page_images_per_transaction: Option<f64>,
    /// Blocks per transaction that were not in shared buffers.
    pub blocks_read_per_transaction: Option<f64>,
}

impl Block {
    /// The value of a metric.
    pub fn figure(&self, metric: ComparedMetric) -> Option<f64> {
        match metric {
            ComparedMetric::Tps => self.tps,
            ComparedMetric::P50 => self.p50_ns,
            ComparedMetric::P99 => self.p99_ns,
            ComparedMetric::ServerCpu => self.cpu_ns_per_transaction,
            ComparedMetric::ClientCpu => self.client_cpu_ns_per_transaction,
            ComparedMetric::Wal => self.wal_bytes_per_transaction,
            ComparedMetric::FullPageImages => self.full_page_images_per_transaction,
            ComparedMetric::BlocksRead => self.blocks_read_per_transaction,
        }
    }

    /// The natural logarithm of a value; `None` if it is unknown, not positive or not finite.
    pub(crate) fn ln(&self, metric: ComparedMetric) -> Option<f64> {
        self.figure(metric).map(f64::ln).filter(|ln| ln.is_finite())
    }
}

/// A draw: everything that was created anew for these blocks, namely a set of connections and, if the sides differ in
/// it, a started server with loaded data. Random effects of a draw are the same in all of its blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draw {
    /// In the order of execution.
    pub blocks: Vec<Block>,
}

impl Draw {
    /// The known values, as logarithms.
    pub(crate) fn lns(&self, metric: ComparedMetric) -> Vec<f64> {
        self.blocks.iter().filter_map(|block| block.ln(metric)).collect()
    }

    /// The mean of the logarithms of a metric: the logarithm of its geometric mean.
    pub(crate) fn mean_ln(&self, metric: ComparedMetric) -> Option<f64> {
        let lns = self.lns(metric);
        (!lns.is_empty()).then(|| lns.iter().sum::<f64>() / lns.len() as f64)
    }
}

/// Purpose of a pair.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// B and A: the comparison.
    Comparison,
    /// A side with itself: the differences that this machine shows without a real one.
    NoiseFloor,
}

/// Two draws that run in turns, so that disturbances of the machine affect both.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Whether `candidate` is B, or the same side again.
    pub purpose: Purpose,
    /// The sides of all blocks in the order of execution; B stands for the candidate.
    pub order: Vec<Side>,
    /// A draw of A.
    pub base: Draw,
    /// A draw of B, or in a pair for the noise floor another draw of the same side.
    pub candidate: Draw,
}

impl Pair {
    /// ln(candidate ÷ base), the pair's contribution to a metric.
    pub fn ln_ratio(&self, metric: ComparedMetric) -> Option<f64> {
        Some(self.candidate.mean_ln(metric)? - self.base.mean_ln(metric)?)
    }

    /// The blocks in the order of execution, with the logarithm of the metric, if known.
    pub(crate) fn in_order(&self, metric: ComparedMetric) -> impl Iterator<Item = (Side, Option<f64>)> {
        let (mut base, mut candidate) = (self.base.blocks.iter(), self.candidate.blocks.iter());
        self.order.iter().map(move |&side| {
            let block = match side {
                Side::A => base.next(),
                Side::B => candidate.next(),
            };
            (side, block.and_then(|block| block.ln(metric)))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::comparison::schedule::order;

    /// A draw whose blocks had these transactions per second.
    pub(crate) fn draw(tps: &[f64]) -> Draw {
        Draw { blocks: tps.iter().map(|&tps| Block { tps: Some(tps), ..Block::default() }).collect() }
    }

    fn pair(base: &[f64], candidate: &[f64]) -> Pair {
        Pair {
            purpose: Purpose::Comparison,
            order: order(0, 0, base.len()),
            base: draw(base),
            candidate: draw(candidate),
        }
    }

    #[test]
    fn the_ratio_of_a_pair_is_that_of_geometric_means() {
        let ratio = pair(&[100.0, 400.0], &[300.0]).ln_ratio(ComparedMetric::Tps).unwrap().exp();
        assert!((ratio - 1.5).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn a_pair_without_a_figure_has_no_ratio() {
        assert_eq!(pair(&[100.0], &[90.0]).ln_ratio(ComparedMetric::P99), None);
        assert_eq!(pair(&[100.0], &[]).ln_ratio(ComparedMetric::Tps), None);
        assert_eq!(pair(&[0.0], &[5.0]).ln_ratio(ComparedMetric::Tps), None);
        assert_eq!(pair(&[f64::NAN], &[5.0]).ln_ratio(ComparedMetric::Tps), None);
    }
}
