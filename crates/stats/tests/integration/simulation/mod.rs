//! Simulated machines: pairs with given random effects and noise, from a seed. Used by the tests of comparisons and
//! by `examples/comparisons.rs`.

use pgmeter_stats::SplitMix64;
use pgmeter_stats::comparison::{Block, Draw, Pair, Purpose, Side};

/// Sources of noise; standard deviations of natural logarithms, so that 0.09 is about 9 %.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SimulatedMachine {
    /// Of draws, common to all blocks of a draw.
    pub draw_deviation: f64,
    /// Share of slow draws.
    pub unlucky_share: f64,
    /// Slowdown of those, as a share.
    pub unlucky_loss: f64,
    /// Of a single block.
    pub block_deviation: f64,
    /// Of disturbances that affect neighbouring blocks.
    pub wander_deviation: f64,
    /// Their correlation between one block and the next.
    pub wander_memory: f64,
    /// Of every block relative to the previous one: a drift, as a logarithm.
    pub drift_per_block: f64,
}

impl SimulatedMachine {
    /// A shared two-core machine as measured: pairs of 1-second blocks on new connections have a standard deviation
    /// of 9 %; one pair in eight is 17 % off because of its connections, within the others connections cause 1 %; and
    /// speed drifts by 3 % per minute.
    pub fn as_measured() -> SimulatedMachine {
        SimulatedMachine {
            draw_deviation: 0.01,
            unlucky_share: 1.0 / 16.0,
            unlucky_loss: 0.17,
            block_deviation: 0.046,
            wander_deviation: 0.03,
            wander_memory: 0.9,
            drift_per_block: 0.000_5,
        }
    }
}

/// A simulated machine.
#[derive(Clone, Debug)]
pub struct SimulatedRun {
    machine: SimulatedMachine,
    random: SplitMix64,
    wander: f64,
    blocks: f64,
}

impl SimulatedRun {
    /// From the start.
    pub fn new(machine: SimulatedMachine, seed: u64) -> SimulatedRun {
        let mut random = SplitMix64::new(seed);
        let wander = random.normal() * machine.wander_deviation;
        SimulatedRun { machine, random, wander, blocks: 0.0 }
    }

    /// One pair with its blocks in this order; B is faster by `effect`, a logarithm (ignored for the noise floor).
    pub fn pair(&mut self, purpose: Purpose, effect: f64, order: &[Side]) -> Pair {
        let effect = match purpose {
            Purpose::Comparison => effect,
            Purpose::NoiseFloor => 0.0,
        };
        let luck = [self.luck(), self.luck() + effect];
        let [mut base, mut candidate] = [Draw::default(), Draw::default()];
        for side in order {
            let (draw, luck) = match side {
                Side::A => (&mut base, luck[0]),
                Side::B => (&mut candidate, luck[1]),
            };
            draw.blocks.push(self.block(luck));
        }
        Pair { purpose, order: order.to_vec(), base, candidate, merged: Vec::new() }
    }

    fn luck(&mut self) -> f64 {
        let unlucky = self.random.chance(self.machine.unlucky_share);
        let loss = if unlucky { (1.0 - self.machine.unlucky_loss).ln() } else { 0.0 };
        loss + self.random.normal() * self.machine.draw_deviation
    }

    /// A block of about 10,000 transactions per second: eight clients that are always busy, one core, and the same
    /// WAL for each transaction.
    fn block(&mut self, luck: f64) -> Block {
        let memory = self.machine.wander_memory;
        let news = self.random.normal() * self.machine.wander_deviation;
        self.wander = memory * self.wander + (1.0 - memory * memory).sqrt() * news;
        self.blocks += 1.0;
        let noise = self.random.normal() * self.machine.block_deviation;
        let tps = 10_000.0 * (luck + noise + self.wander + self.machine.drift_per_block * self.blocks).exp();
        let tail = 4.0 * (self.random.normal() * self.machine.block_deviation).exp();
        Block {
            tps: Some(tps),
            p50_ns: Some(8e9 / tps),
            p99_ns: Some(8e9 / tps * tail),
            cpu_ns_per_transaction: Some(1e9 / tps),
            client_cpu_ns_per_transaction: Some(1e8 / tps),
            wal_bytes_per_transaction: Some(512.0),
            full_page_images_per_transaction: Some(0.0),
            blocks_read_per_transaction: None,
            percentile_ns: None,
            scripts: Vec::new(),
        }
    }
}
