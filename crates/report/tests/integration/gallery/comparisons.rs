//! Comparisons of the gallery. Pairs of blocks are made from a seed.
//! The statistics of a real comparison judge them.

use results::{
    ComparedBlock, ComparedMetric, ComparedPair, ComparisonMethod, ComparisonRecord, MetricFinding,
};
use stats::SplitMix64;
use stats::comparison::{Block, Comparison, Pair, Purpose, Question, order};

/// What a comparison is about.
struct Shape {
    sides: [&'static str; 2],
    factor: &'static str,
    pairs: usize,
    /// B ÷ A of the throughput.
    ratio: f64,
    /// Standard deviation of the throughput of a block, as a share.
    noise: f64,
}

/// B is a fifth faster, and that is certain.
pub fn clear() -> ComparisonRecord {
    let sides = ["simple", "prepared"];
    record(&Shape { sides, factor: "protocol", pairs: 60, ratio: 1.21, noise: 0.02 })
}

/// B is worse.
pub fn worse() -> ComparisonRecord {
    let sides = ["on", "remote_apply"];
    record(&Shape { sides, factor: "settings.synchronous_commit", pairs: 40, ratio: 0.93, noise: 0.02 })
}

/// B is 18 times as fast.
pub fn large() -> ComparisonRecord {
    let sides = ["none", "keys and foreign keys"];
    record(&Shape { sides, factor: "indexes", pairs: 20, ratio: 18.0, noise: 0.2 })
}

/// A machine on which a second differs from the next by half.
pub fn hopeless() -> ComparisonRecord {
    let sides = ["4MB", "64MB"];
    record(&Shape { sides, factor: "settings.work_mem", pairs: 24, ratio: 1.01, noise: 0.5 })
}

/// Two pairs give no answer.
pub fn few() -> ComparisonRecord {
    let sides = ["16.4", "18.1"];
    record(&Shape { sides, factor: "version", pairs: 2, ratio: 1.05, noise: 0.05 })
}

fn block(shape: &Shape, draws: &mut SplitMix64, is_b: bool) -> Block {
    let normal = |draws: &mut SplitMix64| {
        let unit = |draws: &mut SplitMix64| ((draws.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * unit(draws).ln()).sqrt() * (std::f64::consts::TAU * unit(draws)).cos()
    };
    let mut times = |of: f64, spread: f64| of * (spread * shape.noise * normal(draws)).exp();
    let ratio = if is_b { shape.ratio } else { 1.0 };
    Block {
        tps: Some(times(9_200.0 * ratio, 1.0)),
        p50_ns: Some(times(820_000.0 / ratio, 0.8)),
        p99_ns: Some(times(3_900_000.0 / ratio.sqrt(), 3.0)),
        cpu_ns_per_transaction: Some(times(96_000.0 / ratio.sqrt(), 0.5)),
        client_cpu_ns_per_transaction: Some(times(21_000.0, 0.5)),
        wal_bytes_per_transaction: Some(times(541.0, 0.2)),
        full_page_images_per_transaction: None,
        blocks_read_per_transaction: None,
        ..Block::default()
    }
}

fn record(shape: &Shape) -> ComparisonRecord {
    let question = Question {
        error_rate: 0.05,
        tolerance: 0.02,
        numbers: shape.pairs.div_ceil(2),
        decisive: ComparedMetric::Tps,
        scripts: 0,
    };
    let mut draws = SplitMix64::new(shape.pairs as u64);
    let mut pairs = Vec::new();
    let mut comparison = Comparison::new(&question);
    for number in 0..shape.pairs * 6 / 5 {
        // The noise floor is measured in whole sequences between the others.
        let is_noise_floor = number / 2 % 6 == 5;
        let sides = order(1, number, 1);
        let blocks: Vec<ComparedBlock> = sides
            .iter()
            .map(|side| {
                let is_b = *side == stats::comparison::Side::B;
                ComparedBlock::new(is_b, &block(shape, &mut draws, is_b && !is_noise_floor))
            })
            .collect();
        let start_s = number as f64 * 0.62;
        let pair = ComparedPair { is_noise_floor, start_s, blocks, merged: Vec::new() };
        let purpose = if is_noise_floor { Purpose::NoiseFloor } else { Purpose::Comparison };
        comparison.add(Pair { purpose, order: sides, ..pair.pair() });
        pairs.push(pair);
    }
    comparison.close();
    let findings: Vec<MetricFinding> =
        comparison.figures().filter_map(|figure| comparison.finding(figure)).collect();
    let noise_floor =
        comparison.figures().filter_map(|figure| comparison.noise_floor(figure.metric)).collect();
    let decision = comparison.decision();
    ComparisonRecord { decision, findings, noise_floor, ..with_pairs(shape, pairs) }
}

fn with_pairs(shape: &Shape, pairs: Vec<ComparedPair>) -> ComparisonRecord {
    let record = testkit::records::comparison(shape.factor, shape.sides);
    let method = ComparisonMethod { pairs_planned: shape.pairs, ..record.method };
    ComparisonRecord { method, elapsed_s: pairs.len() as f64 * 0.62, pairs, ..record }
}
