//! Percentiles of a comparison. A percentile of one block, if the block has enough transactions; otherwise that of the
//! transactions of several blocks of a side together. docs/statistics.md explains why this keeps the error rate.

use crate::comparison::figure::ComparedFigure;
use crate::comparison::pair::{MergedPercentile, Side};
use crate::comparison::percentile::Percentile;
use crate::{Interval, ScriptStats, times_of_all};

/// A percentile of all transactions that were due, however they ended, as reports have it. `None` if too few succeeded.
pub fn percentile_ns(stats: &ScriptStats, percentile: Percentile) -> Option<f64> {
    let is_enough = stats.counts.succeeded >= percentile.transactions_min();
    let [ns] = times_of_all(stats, [percentile.share()]).filter(|_| is_enough)?.quantiles_ns;
    Some(ns as f64)
}

/// The transactions of consecutive blocks, until both sides have enough for a percentile. Whether they have enough does
/// not depend on which side is A, so swapping identical sides only changes the sign of ln(B ÷ A).
#[derive(Clone, Debug)]
pub struct Merging {
    figure: ComparedFigure,
    percentile: Percentile,
    /// A, then B.
    sides: [ScriptStats; 2],
    pairs: usize,
}

impl Merging {
    /// `None` if the figure is not a percentile.
    pub fn new(figure: ComparedFigure) -> Option<Merging> {
        let percentile = figure.metric.percentile()?;
        Some(Merging { figure, percentile, sides: Default::default(), pairs: 0 })
    }

    /// The figure.
    pub fn figure(&self) -> ComparedFigure {
        self.figure
    }

    /// Adds a block.
    pub fn add(&mut self, side: Side, interval: &Interval) {
        let sum = match side {
            Side::A => &mut self.sides[0],
            Side::B => &mut self.sides[1],
        };
        match self.figure.script {
            None => interval.scripts.iter().for_each(|script| sum.merge(script)),
            Some(script) => interval.scripts.get(script).into_iter().for_each(|script| sum.merge(script)),
        }
    }

    /// So many more pairs have ended, each side first equally often: the percentiles, if both sides have enough
    /// transactions. The next block then begins anew.
    pub fn end(&mut self, pairs: usize) -> Option<MergedPercentile> {
        self.pairs += pairs;
        let [a, b] = self.sides.each_ref().map(|side| percentile_ns(side, self.percentile));
        let ComparedFigure { metric, script } = self.figure;
        let merged = MergedPercentile { metric, script, pairs: self.pairs, a_ns: a?, b_ns: b? };
        (self.sides, self.pairs) = (Default::default(), 0);
        Some(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ComparedMetric;
    use crate::{Ending, Recorder, Sample, Timestamp, Traffic};

    /// A block of two scripts with so many transactions of the second one that took so long.
    fn block(number: u64, took_ms: u64) -> Interval {
        let mut recorder = Recorder::new(2, None);
        let finished = Timestamp::from_nanos(took_ms * 1_000_000);
        let zero = Timestamp::ZERO;
        let sample = Sample {
            script: 1,
            scheduled: zero,
            started: zero,
            finished,
            tries: 1,
            business: 1,
            ending: Ending::Succeeded,
            traffic: Traffic::default(),
        };
        (0..number).for_each(|_| recorder.record(&sample));
        recorder.hand_over(zero, zero, Interval::new(2))
    }

    #[test]
    fn blocks_are_merged_until_both_sides_have_a_transaction_beyond_the_percentile() {
        for script in [None, Some(1)] {
            let mut merging = Merging::new(ComparedFigure { metric: ComparedMetric::P99, script }).unwrap();
            merging.add(Side::A, &block(150, 2));
            merging.add(Side::B, &block(60, 4));
            assert_eq!(merging.end(2), None, "B has too few");
            merging.add(Side::B, &block(40, 8));
            let merged = merging.end(2).expect("both have a hundred");
            assert_eq!((merged.figure(), merged.pairs), (merging.figure(), 4));
            assert!(
                (1.9e6..2.1e6).contains(&merged.a_ns) && (7.9e6..8.1e6).contains(&merged.b_ns),
                "{merged:?}"
            );
            assert_eq!(merging.end(2), None, "it begins anew");
        }
        let mut other =
            Merging::new(ComparedFigure { metric: ComparedMetric::P50, script: Some(0) }).unwrap();
        other.add(Side::A, &block(150, 2));
        other.add(Side::B, &block(150, 2));
        assert_eq!(other.end(2), None, "the first script had no transaction");
        assert!(Merging::new(ComparedMetric::Wal.into()).is_none());
    }
}
