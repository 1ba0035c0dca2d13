//! What is compared: blocks of load, the draws they belong to, and pairs of draws. Whoever runs the load fills these
//! in; the statistics see nothing else.

use serde::{Deserialize, Serialize};

/// One of the two that are compared. A is what B is held against.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The base.
    A,
    /// The candidate.
    B,
}

impl Side {
    /// The one that is not this one.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

/// A figure that two sides are compared by.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedMetric {
    /// Transactions per second.
    Tps,
    /// The median latency.
    P50,
    /// The latency that one transaction in a hundred exceeds.
    P99,
    /// Processor time of the server's backends for each transaction.
    ServerCpu,
    /// Processor time of the load generator for each transaction.
    ClientCpu,
    /// Bytes of write-ahead log for each transaction.
    Wal,
    /// Full-page images in it, for each transaction.
    FullPageImages,
}

impl ComparedMetric {
    /// What tables call it.
    pub fn words(self) -> &'static str {
        match self {
            ComparedMetric::Tps => "tps",
            ComparedMetric::P50 => "p50",
            ComparedMetric::P99 => "p99",
            ComparedMetric::ServerCpu => "server CPU/tx",
            ComparedMetric::ClientCpu => "client CPU/tx",
            ComparedMetric::Wal => "WAL/tx",
            ComparedMetric::FullPageImages => "full pages/tx",
        }
    }

    /// All of them, in the order in which they are shown.
    pub const ALL: [ComparedMetric; 7] = [
        ComparedMetric::Tps,
        ComparedMetric::P50,
        ComparedMetric::P99,
        ComparedMetric::ServerCpu,
        ComparedMetric::ClientCpu,
        ComparedMetric::Wal,
        ComparedMetric::FullPageImages,
    ];

    /// 1 where more is better, −1 where less is.
    pub(crate) fn sign(self) -> f64 {
        match self {
            ComparedMetric::Tps => 1.0,
            ComparedMetric::P50
            | ComparedMetric::P99
            | ComparedMetric::ServerCpu
            | ComparedMetric::ClientCpu
            | ComparedMetric::Wal
            | ComparedMetric::FullPageImages => -1.0,
        }
    }
}

/// The figures of one block: one side under load for a second or two, or much less. `None`: not known.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Median latency, in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of latency, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// Processor time of the server's backends, in nanoseconds for each transaction.
    pub cpu_ns_per_transaction: Option<f64>,
    /// Processor time of the load generator, in nanoseconds for each transaction.
    pub client_cpu_ns_per_transaction: Option<f64>,
    /// Write-ahead log, in bytes for each transaction.
    pub wal_bytes_per_transaction: Option<f64>,
    /// Full-page images in the write-ahead log, for each transaction.
    pub full_page_images_per_transaction: Option<f64>,
}

impl Block {
    /// A figure of it.
    pub fn figure(&self, metric: ComparedMetric) -> Option<f64> {
        match metric {
            ComparedMetric::Tps => self.tps,
            ComparedMetric::P50 => self.p50_ns,
            ComparedMetric::P99 => self.p99_ns,
            ComparedMetric::ServerCpu => self.cpu_ns_per_transaction,
            ComparedMetric::ClientCpu => self.client_cpu_ns_per_transaction,
            ComparedMetric::Wal => self.wal_bytes_per_transaction,
            ComparedMetric::FullPageImages => self.full_page_images_per_transaction,
        }
    }

    /// The natural logarithm of a figure; `None` if it is not known, not positive or not finite.
    pub(crate) fn ln(&self, metric: ComparedMetric) -> Option<f64> {
        self.figure(metric).map(f64::ln).filter(|ln| ln.is_finite())
    }
}

/// Everything that was drawn anew for these blocks: a set of connections and, where the sides differ in it, the start
/// of the server and the loading of its data. Its luck is one and the same in all of its blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draw {
    /// In the order in which they ran.
    pub blocks: Vec<Block>,
}

impl Draw {
    /// The known figures, as logarithms.
    pub(crate) fn lns(&self, metric: ComparedMetric) -> Vec<f64> {
        self.blocks.iter().filter_map(|block| block.ln(metric)).collect()
    }

    /// The mean of the logarithms of a figure: the logarithm of its geometric mean.
    pub(crate) fn mean_ln(&self, metric: ComparedMetric) -> Option<f64> {
        let lns = self.lns(metric);
        (!lns.is_empty()).then(|| lns.iter().sum::<f64>() / lns.len() as f64)
    }
}

/// What a pair is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// B beside A: the comparison.
    Comparison,
    /// A side beside itself: the differences that this machine shows today where there is none.
    NoiseFloor,
}

/// Two draws, made for each other and run in turns, so that whatever the machine does meanwhile it does to both.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Whether `candidate` is B, or A once more.
    pub purpose: Purpose,
    /// The sides of all blocks, in the order in which they ran; B stands for the candidate.
    pub order: Vec<Side>,
    /// A draw of A.
    pub base: Draw,
    /// A draw of B, or in a pair for the noise floor another draw of the same side.
    pub candidate: Draw,
}

impl Pair {
    /// ln(candidate ÷ base), the one number that a pair contributes to the comparison of a metric.
    pub fn ln_ratio(&self, metric: ComparedMetric) -> Option<f64> {
        Some(self.candidate.mean_ln(metric)? - self.base.mean_ln(metric)?)
    }

    /// The blocks in the order in which they ran, each with the logarithm of its figure, if that is known.
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
