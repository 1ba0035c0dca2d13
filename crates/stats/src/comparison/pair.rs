//! The data of a comparison: blocks of load, their draws, and pairs of draws. Filled in by the caller that runs the
//! load. `figure` names what is compared.

use serde::{Deserialize, Serialize};

use crate::comparison::figure::{ComparedFigure, ComparedMetric};
use crate::comparison::percentile::Percentile;

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

/// The figures of one block: one side under load, usually for a fraction of a second. `None`: unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Median latency, in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of latency, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// The percentile of latency that decides, in nanoseconds; not stored if another metric decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile_ns: Option<f64>,
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
    /// The latencies of each script of a mix, in the order of the scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptLatencies>,
}

/// The latencies of one script of a mix in a block.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptLatencies {
    /// Median latency, in nanoseconds.
    pub p50_ns: Option<f64>,
    /// The percentile that decides, or the 99th, in nanoseconds.
    pub tail_ns: Option<f64>,
}

impl ScriptLatencies {
    fn set(&mut self, percentile: Percentile, ns: Option<f64>) {
        match percentile {
            Percentile::P50 => self.p50_ns = ns,
            _ => self.tail_ns = ns,
        }
    }

    fn figure(&self, percentile: Percentile) -> Option<f64> {
        match percentile {
            Percentile::P50 => self.p50_ns,
            _ => self.tail_ns,
        }
    }
}

impl Block {
    /// The value of a figure.
    pub fn figure(&self, figure: impl Into<ComparedFigure>) -> Option<f64> {
        let ComparedFigure { metric, script } = figure.into();
        if let Some(script) = script {
            return self.scripts.get(script)?.figure(metric.percentile()?);
        }
        match metric {
            ComparedMetric::Tps => self.tps,
            ComparedMetric::P50 => self.p50_ns,
            ComparedMetric::P99 => self.p99_ns,
            ComparedMetric::Percentile(_) => self.percentile_ns,
            ComparedMetric::ServerCpu => self.cpu_ns_per_transaction,
            ComparedMetric::ClientCpu => self.client_cpu_ns_per_transaction,
            ComparedMetric::Wal => self.wal_bytes_per_transaction,
            ComparedMetric::FullPageImages => self.full_page_images_per_transaction,
            ComparedMetric::BlocksRead => self.blocks_read_per_transaction,
        }
    }

    /// Sets a percentile; no effect on other figures.
    pub fn set_latency(&mut self, figure: ComparedFigure, ns: Option<f64>) {
        let Some(percentile) = figure.metric.percentile() else { return };
        let Some(script) = figure.script else {
            match percentile {
                Percentile::P50 => self.p50_ns = ns,
                Percentile::P99 => self.p99_ns = ns,
                _ => self.percentile_ns = ns,
            }
            return;
        };
        if self.scripts.len() <= script {
            self.scripts.resize(script + 1, ScriptLatencies::default());
        }
        self.scripts[script].set(percentile, ns);
    }

    /// The natural logarithm of a value; `None` if it is unknown, not positive or not finite.
    pub(crate) fn ln(&self, figure: impl Into<ComparedFigure>) -> Option<f64> {
        self.figure(figure).map(f64::ln).filter(|ln| ln.is_finite())
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
    pub(crate) fn lns(&self, figure: impl Into<ComparedFigure>) -> Vec<f64> {
        let figure = figure.into();
        self.blocks.iter().filter_map(|block| block.ln(figure)).collect()
    }

    /// The mean of the logarithms of a figure: the logarithm of its geometric mean.
    pub fn mean_ln(&self, figure: impl Into<ComparedFigure>) -> Option<f64> {
        let lns = self.lns(figure);
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
    /// Percentiles of the blocks of this pair and the ones before it, if single blocks have too few transactions.
    pub merged: Vec<MergedPercentile>,
}

/// A percentile of the transactions of several blocks of each side together, because a single block has too few.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedPercentile {
    /// The percentile.
    pub metric: ComparedMetric,
    /// Of this script of a mix, from 0; absent if it is of all scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<usize>,
    /// Consecutive pairs whose blocks are merged.
    pub pairs: usize,
    /// Of A, in nanoseconds.
    pub a_ns: f64,
    /// Of B.
    pub b_ns: f64,
}

impl MergedPercentile {
    /// The figure.
    pub fn figure(&self) -> ComparedFigure {
        ComparedFigure { metric: self.metric, script: self.script }
    }

    /// The logarithms of both sides, if they are finite.
    pub(crate) fn lns(&self) -> Option<[f64; 2]> {
        let lns = [self.a_ns.ln(), self.b_ns.ln()];
        lns.iter().all(|ln| ln.is_finite()).then_some(lns)
    }
}

impl Pair {
    /// ln(candidate ÷ base), the pair's contribution to a figure; of several pairs, the last one has it.
    pub fn ln_ratio(&self, figure: impl Into<ComparedFigure>) -> Option<f64> {
        let figure = figure.into();
        if let Some(merged) = self.merged(figure) {
            return merged.lns().map(|[a, b]| b - a);
        }
        Some(self.candidate.mean_ln(figure)? - self.base.mean_ln(figure)?)
    }

    /// The figure of several pairs that end with this one.
    pub(crate) fn merged(&self, figure: ComparedFigure) -> Option<&MergedPercentile> {
        self.merged.iter().find(|merged| merged.figure() == figure)
    }

    /// The blocks in the order of execution, with the logarithm of the figure, if known.
    pub(crate) fn in_order(&self, figure: ComparedFigure) -> impl Iterator<Item = (Side, Option<f64>)> {
        let (mut base, mut candidate) = (self.base.blocks.iter(), self.candidate.blocks.iter());
        self.order.iter().map(move |&side| {
            let block = match side {
                Side::A => base.next(),
                Side::B => candidate.next(),
            };
            (side, block.and_then(|block| block.ln(figure)))
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
            merged: Vec::new(),
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
