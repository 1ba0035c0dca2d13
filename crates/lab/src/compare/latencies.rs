//! The latencies of a comparison: percentiles of each block, or, where blocks have too few transactions, of several
//! blocks together; of all scripts and of each script of a mix.

use experiment::Cell;
use stats::comparison::{
    Block, ComparedFigure, ComparedMetric, MergedPercentile, Merging, PAIRS_OF_SEQUENCE, Side, percentile_ns,
};
use stats::{Interval, ScriptStats};

/// Expected transactions of a block as a multiple of those that a percentile needs, from which on it is a figure of each
/// block. So hardly any block has fewer than it needs.
const EXPECTED_MIN: f64 = 1.5;

/// The scripts of a mix that both sides have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mix {
    pub(super) names: Vec<String>,
    /// Share of each in the transactions: that of the side that executes it less often.
    shares: Vec<f64>,
}

impl Mix {
    /// Empty if a side has one script, or the sides have different ones.
    pub(super) fn of(cells: &[Cell; 2]) -> Self {
        let [names, other_names] = cells.each_ref().map(|cell| {
            let scripts = &cell.configuration.load.scripts;
            scripts.iter().map(|script| script.source.name()).collect::<Vec<_>>()
        });
        if names.len() < 2 || names != other_names {
            return Self::default();
        }
        let [shares, other_shares] = cells.each_ref().map(|cell| {
            let weights = cell.configuration.load.scripts.iter().map(|script| f64::from(script.weight));
            let sum: f64 = weights.clone().sum();
            weights.map(move |weight| weight / sum).collect::<Vec<_>>()
        });
        let shares = shares.iter().zip(other_shares).map(|(one, other)| one.min(other)).collect();
        Self { names, shares }
    }
}

/// The latencies of the blocks so far.
pub(super) struct Latencies {
    /// Figures of each block.
    of_blocks: Vec<ComparedFigure>,
    /// Figures of several blocks, each with the transactions that a block is expected to have.
    of_several: Vec<(Merging, f64)>,
    /// All transactions of A and of B, by script.
    sides: [Vec<ScriptStats>; 2],
}

impl Latencies {
    /// For blocks with so many transactions of the slower side.
    pub(super) fn new(decisive: ComparedMetric, mix: &Mix, transactions: f64) -> Self {
        let (mut of_blocks, mut of_several) = (Vec::new(), Vec::new());
        for figure in ComparedFigure::all(decisive, mix.names.len()) {
            let Some(percentile) = figure.metric.percentile() else { continue };
            let share = figure.script.map_or(1.0, |script| mix.shares[script]);
            let expected = transactions * share;
            if expected >= EXPECTED_MIN * percentile.transactions_min() as f64 {
                of_blocks.push(figure);
            } else {
                of_several.extend(Merging::new(figure).map(|merging| (merging, expected)));
            }
        }
        Self { of_blocks, of_several, sides: Default::default() }
    }

    /// The figures of several blocks, with the number of observations that so many sequences are expected to give.
    pub(super) fn planned(&self, sequences: usize, blocks: usize) -> Vec<(ComparedFigure, usize)> {
        let numbers = |(merging, expected): &(Merging, f64)| {
            let of_sequence = expected * (PAIRS_OF_SEQUENCE * blocks) as f64;
            let least = merging.figure().metric.percentile().map_or(1, |it| it.transactions_min()) as f64;
            let needed = (least / of_sequence).ceil().max(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates, is above 0"
            )]
            let numbers = (sequences as f64 / needed) as usize;
            (merging.figure(), numbers)
        };
        self.of_several.iter().map(numbers).collect()
    }

    /// Adds a block of a side, at this place in arrays, and sets its figures.
    pub(super) fn take(&mut self, which: usize, interval: &Interval, block: &mut Block) {
        let total = interval.total();
        for figure in &self.of_blocks {
            let stats = figure.script.map_or(Some(&total), |script| interval.scripts.get(script));
            let percentile = figure.metric.percentile();
            block
                .set_latency(*figure, stats.zip(percentile).and_then(|(stats, it)| percentile_ns(stats, it)));
        }
        let side = &mut self.sides[which];
        side.resize_with(side.len().max(interval.scripts.len()), ScriptStats::new);
        side.iter_mut().zip(&interval.scripts).for_each(|(sum, script)| sum.merge(script));
    }

    /// Adds a block of a pair of A and B to the figures of several blocks.
    pub(super) fn merge(&mut self, side: Side, interval: &Interval) {
        self.of_several.iter_mut().for_each(|(merging, _)| merging.add(side, interval));
    }

    /// So many pairs have ended: the figures for which both sides now have enough transactions.
    pub(super) fn end(&mut self, pairs: usize) -> Vec<MergedPercentile> {
        self.of_several.iter_mut().filter_map(|(merging, _)| merging.end(pairs)).collect()
    }

    /// A percentile of all transactions of each side.
    pub(super) fn of_sides(&self, figure: ComparedFigure) -> [Option<f64>; 2] {
        self.sides.each_ref().map(|scripts| {
            let percentile = figure.metric.percentile()?;
            if let Some(script) = figure.script {
                return percentile_ns(scripts.get(script)?, percentile);
            }
            let mut total = ScriptStats::new();
            scripts.iter().for_each(|script| total.merge(script));
            percentile_ns(&total, percentile)
        })
    }
}

/// Parses the metric of a comparison.
///
/// # Errors
/// It is neither a metric nor a percentile.
pub fn compared_metric(text: &str) -> Result<ComparedMetric, String> {
    text.parse().map_err(|_| {
        let names = ComparedMetric::WORDS.map(|(name, _)| name);
        let nearest = config::nearest(text, &names).map(|name| format!("; did you mean {name}?"));
        format!(
            "expected {} or another percentile above 0 and below 100, such as p95 or p99.9{}",
            names.join(", "),
            nearest.unwrap_or_default()
        )
    })
}

#[cfg(test)]
mod tests {
    use run::{ScriptSource, ScriptSpec};
    use stats::{Ending, Recorder, Sample, Timestamp, Traffic};

    use super::*;
    use experiment::Configuration;

    fn cell(scripts: &[(&str, u32)]) -> Cell {
        let mut configuration = Configuration::default();
        let spec = |&(name, weight): &(&str, u32)| ScriptSpec {
            source: ScriptSource::OfWorkload(name.to_owned()),
            weight,
        };
        configuration.load.scripts = scripts.iter().map(spec).collect();
        Cell { levels: Vec::new(), configuration }
    }

    /// A block of one script with so many transactions of 4 ms, and as many that were skipped after a second.
    fn block(succeeded: u64, skipped: u64) -> Interval {
        let mut recorder = Recorder::new(1, None);
        let mut record = |number: u64, took_ms: u64, ending: Ending| {
            let finished = Timestamp::from_nanos(took_ms * 1_000_000);
            let (scheduled, traffic) = (Timestamp::ZERO, Traffic::default());
            let started = if ending == Ending::Skipped { finished } else { scheduled };
            let sample =
                Sample { script: 0, scheduled, started, finished, tries: 1, business: 1, ending, traffic };
            (0..number).for_each(|_| recorder.record(&sample));
        };
        record(succeeded, 4, Ending::Succeeded);
        record(skipped, 1_000, Ending::Skipped);
        recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, Interval::new(1))
    }

    fn taken(latencies: &mut Latencies, interval: &Interval) -> Block {
        let mut block = Block::default();
        latencies.take(0, interval, &mut block);
        block
    }

    #[test]
    fn percentiles_of_a_block_are_those_of_all_transactions_that_were_due() {
        let mut latencies = Latencies::new(ComparedMetric::Tps, &Mix::default(), 200.0);
        let block = taken(&mut latencies, &block(100, 10));
        assert!(block.p50_ns.is_some_and(|ns| (3.9e6..4.1e6).contains(&ns)), "{block:?}");
        assert!(block.p99_ns.is_some_and(|ns| ns >= 1e9), "{block:?}");
    }

    #[test]
    fn a_block_without_a_success_has_no_percentiles_and_a_short_one_no_p99() {
        let mut latencies = Latencies::new(ComparedMetric::Tps, &Mix::default(), 200.0);
        assert_eq!(taken(&mut latencies, &Interval::new(1)), Block::default());
        let block = taken(&mut latencies, &block(99, 0));
        assert!(block.p50_ns.is_some() && block.p99_ns.is_none(), "{block:?}");
    }

    #[test]
    fn a_percentile_that_no_block_has_enough_transactions_for_is_of_several_and_of_all_blocks() {
        let mut latencies = Latencies::new(ComparedMetric::Tps, &Mix::default(), 40.0);
        let p99 = ComparedFigure::from(ComparedMetric::P99);
        // 60 sequences with 80 transactions a side: two for each observation.
        assert_eq!(latencies.planned(60, 1), [(p99, 30)]);
        let interval = block(40, 0);
        for pair in 1..=6 {
            for (which, side) in [Side::A, Side::B].into_iter().enumerate() {
                let mut block = Block::default();
                latencies.take(which, &interval, &mut block);
                assert!(block.p50_ns.is_some() && block.p99_ns.is_none(), "{block:?}");
                latencies.merge(side, &interval);
            }
            let merged = latencies.end(1);
            assert_eq!(
                merged.iter().map(|it| it.pairs).collect::<Vec<_>>(),
                vec![3; usize::from(pair % 3 == 0)]
            );
            let all = latencies.of_sides(p99);
            assert_eq!(all.map(|ns| ns.is_some()), [pair >= 3; 2], "{pair}");
        }
    }

    #[test]
    fn a_mix_has_the_scripts_that_both_sides_have_with_the_rarer_share() {
        let mix = Mix::of(&[cell(&[("read", 3), ("write", 1)]), cell(&[("read", 1), ("write", 1)])]);
        assert_eq!((mix.names.join(" "), mix.shares), ("read write".to_owned(), vec![0.5, 0.25]));
        for other in [cell(&[("read", 1)]), cell(&[("read", 1), ("update", 1)])] {
            assert_eq!(Mix::of(&[cell(&[("read", 1), ("write", 1)]), other]), Mix::default());
        }
        assert_eq!(Mix::of(&[cell(&[("read", 1)]), cell(&[("read", 1)])]), Mix::default());
    }

    #[test]
    fn a_wrong_metric_is_told_with_the_nearest_name() {
        assert_eq!(compared_metric("tps"), Ok(ComparedMetric::Tps));
        assert_eq!(compared_metric("p95").map(|metric| metric.name().into_owned()), Ok("p95".to_owned()));
        let wrong = compared_metric("server-cpus").unwrap_err();
        assert!(wrong.ends_with("such as p95 or p99.9; did you mean server-cpu?"), "{wrong}");
        assert!(compared_metric("p100").is_err());
    }
}
