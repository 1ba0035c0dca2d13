//! Probes the load before the first pair, with blocks that do not count: whether blocks write, whether they may begin
//! with a checkpoint, the time to prepare a block, and the length that both sides need.

use results::Checkpoints;
use run::RunError;

use super::block::{BlockResult, BlockStart};
use super::layout::{Layout, ReadySides};
use super::state::{BlockLengths, CompareOptions};

/// Default length of a block and of its warm-up, if transactions are short.
const BLOCK_S: f64 = 0.25;
const WARMUP_S: f64 = 0.05;
/// Minimum number of transactions in a block: per client, and in total.
const TRANSACTIONS_EACH: f64 = 10.0;
/// Minimum per client if time is short.
const TRANSACTIONS_FEW: f64 = 3.0;
const TRANSACTIONS_MIN: f64 = 200.0;
/// Maximum share of the budget for a block, when lengthened for its number of transactions.
const BLOCKS_MIN: f64 = 80.0;
/// Maximum share of the budget for a block, when lengthened for its preparation and a few transactions: eight sequences,
/// with which the test can decide.
const BLOCKS_MIN_OF_SETUP: f64 = 32.0;
/// Ratio of the sides in the probe from which a difference is evident.
const EVIDENT_RATIO: f64 = 2.0;
/// Minimum length of a block, as a share of the time of a change of the schema. A sequence has four blocks and two or three
/// changes.
const SHARE_OF_SWITCH: f64 = 0.5;
/// Factor by which a probe's block is lengthened if it had no transaction, and the probe's maximum share of the
/// budget.
const LONGER: f64 = 2.0;
const PROBES_MIN: f64 = 8.0;
/// Maximum duration of a transaction, as a multiple of the given block length.
const BLOCKS_OF_TRANSACTION_MAX: f64 = 4.0;
/// WAL per transaction above which a load counts as writing: a commit record alone is larger, and background work
/// under read-only clients is smaller.
const WAL_BYTES_OF_WRITING: f64 = 10.0;
/// WAL that background work may write in a block with few transactions, such as a record of the running transactions.
const WAL_BYTES_OF_BACKGROUND: f64 = 100.0;

/// Results of the probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probe {
    pub(super) lengths: BlockLengths,
    pub(super) checkpoints: Checkpoints,
    /// Time to prepare a block.
    pub(super) setup_s: f64,
    /// Expected transactions in a block of the slower side.
    pub(super) transactions: f64,
}

impl Probe {
    /// Runs one block of each side and, if they write, another one after a checkpoint.
    pub(super) fn of(
        ready: &mut ReadySides<'_>,
        options: CompareOptions,
        layout: &Layout<'_>,
        mut seed: impl FnMut() -> u64,
    ) -> Result<Self, RunError> {
        let usual = options.block_s.unwrap_or(BLOCK_S);
        let lengths = BlockLengths { block_s: usual, warmup_s: WARMUP_S.max(usual / 10.0) };
        let mut probe =
            Self { lengths, checkpoints: Checkpoints::NotNeeded, setup_s: 0.0, transactions: 0.0 };
        // Writes what loading has left in the buffers before anything is measured.
        let may_checkpoint = options.checkpoints && may_checkpoint(ready, layout)?;
        let mut writes = false;
        let mut needs = BlockNeeds::default();
        for at in 0..ready.sides.len() {
            let ran = probe.block((ready, at), options, BlockStart::AtOnce, &mut seed, layout)?;
            needs.add(&ran);
            writes |= does_write(&ran);
        }
        if writes {
            probe.checkpoints = match (options.checkpoints, may_checkpoint) {
                (_, true) => Checkpoints::EachBlock,
                (true, false) => Checkpoints::NotAllowed,
                (false, false) => Checkpoints::NotWanted,
            };
        }
        if probe.checkpoints == Checkpoints::EachBlock {
            needs = BlockNeeds::default();
            for at in 0..ready.sides.len() {
                let start = BlockStart::AfterCheckpoint;
                let ran = probe.block((ready, at), options, start, &mut seed, layout)?;
                needs.add(&ran);
            }
        }
        probe.setup_s = needs.setup_s;
        needs.switch_s = ready.cost_of_schema().mean_s();
        if options.block_s.is_none() {
            probe.lengths = needs.lengths(options.budget_s);
        }
        probe.transactions = needs.tps.map_or(0.0, |(low, _)| low * probe.lengths.block_s);
        Ok(probe)
    }

    /// One block of a side with at least one transaction; lengthened if necessary.
    fn block(
        &mut self,
        (ready, at): (&mut ReadySides<'_>, usize),
        options: CompareOptions,
        start: BlockStart,
        seed: &mut impl FnMut() -> u64,
        layout: &Layout<'_>,
    ) -> Result<BlockResult, RunError> {
        let mut lengths = self.lengths;
        loop {
            let ran = ready.run_block(at, lengths, seed(), start, layout)?;
            match options.block_s {
                Some(block_s) if ran.transactions > 0 && ran.mean_s > BLOCKS_OF_TRANSACTION_MAX * block_s => {
                    return Err(RunError::Usage(format!(
                        "a transaction takes {:.1} s, but a block lasts {block_s} s: increase --block",
                        ran.mean_s
                    )));
                }
                _ if ran.transactions > 0 => return Ok(ran),
                _ if lengths.block_s * LONGER > options.budget_s / PROBES_MIN => {
                    return Err(RunError::Usage(format!(
                        "no transaction succeeded in a block of {} s: increase --block or --budget",
                        lengths.block_s
                    )));
                }
                _ => lengths.block_s *= LONGER,
            }
        }
    }
}

/// Whether the transactions of a block write.
fn does_write(ran: &BlockResult) -> bool {
    let transactions = ran.transactions as f64;
    let wal_bytes = ran.block.wal_bytes_per_transaction.map_or(0.0, |bytes| bytes * transactions);
    wal_bytes >= WAL_BYTES_OF_WRITING * transactions + WAL_BYTES_OF_BACKGROUND
}

/// Needs of the slower side in the probe's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct BlockNeeds {
    /// For enough transactions.
    transactions_s: f64,
    /// For three transactions per client.
    few_s: f64,
    setup_s: f64,
    /// Time of a change of the schema between the sides.
    switch_s: f64,
    /// Transactions per second of the slower and of the faster side.
    tps: Option<(f64, f64)>,
}

impl BlockNeeds {
    fn add(&mut self, ran: &BlockResult) {
        let each_s = ran.block.tps.map_or(f64::INFINITY, f64::recip);
        let (low, high) = self.tps.unwrap_or((f64::INFINITY, 0.0));
        self.tps = Some((low.min(each_s.recip()), high.max(each_s.recip())));
        let enough_s = (TRANSACTIONS_EACH * ran.mean_s).max(TRANSACTIONS_MIN * each_s);
        self.transactions_s = self.transactions_s.max(enough_s);
        self.few_s = self.few_s.max(TRANSACTIONS_FEW * ran.mean_s);
        self.setup_s = self.setup_s.max(ran.setup_s);
    }

    /// Length of blocks: enough transactions, and at least the time to prepare a block. For an evident difference, few
    /// transactions are enough.
    fn lengths(self, budget_s: f64) -> BlockLengths {
        let is_evident = self.tps.is_some_and(|(low, high)| high > low * EVIDENT_RATIO);
        let enough_s = if is_evident { self.few_s } else { self.transactions_s };
        let for_transactions = enough_s.min(budget_s / BLOCKS_MIN);
        let prepared_s = self.setup_s.max(self.switch_s * SHARE_OF_SWITCH);
        let at_least = prepared_s.max(self.few_s).min(budget_s / BLOCKS_MIN_OF_SETUP);
        let block_s = for_transactions.max(at_least).max(BLOCK_S);
        BlockLengths { block_s, warmup_s: (block_s / 5.0).max(WARMUP_S) }
    }
}

/// Whether the roles of both sides may request a checkpoint; requests one.
fn may_checkpoint(ready: &ReadySides<'_>, layout: &Layout<'_>) -> Result<bool, RunError> {
    for side in &ready.sides {
        if !side.may_checkpoint(layout.control)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_at_least_as_long_as_its_set_up_and_has_time_for_its_transactions() {
        let block_s = |budget_s, transactions_s, few_s, setup_s| {
            BlockNeeds { transactions_s, few_s, setup_s, ..BlockNeeds::default() }.lengths(budget_s).block_s
        };
        assert_eq!(block_s(300.0, 0.01, 0.003, 0.03), BLOCK_S);
        assert_eq!(block_s(300.0, 1.5, 0.45, 0.03), 1.5);
        assert_eq!(block_s(300.0, 0.01, 0.003, 0.8), 0.8);
        assert_eq!(block_s(300.0, 99.0, 3.0, 0.1), 3.75, "transactions that take long");
        assert_eq!(block_s(60.0, 10.0, 1.5, 0.1), 1.5, "transactions of half a second, in little time");
        assert_eq!(block_s(30.0, 10.0, 1.5, 0.1), 30.0 / 32.0, "there must be time for eight sequences");
        assert_eq!(
            block_s(30.0, 0.01, 0.003, 60.0),
            30.0 / 32.0,
            "a checkpoint that takes as long as all of the time"
        );
        assert_eq!(block_s(1.0, 0.01, 0.003, 0.01), BLOCK_S);
        // 107 ms against 1.35 ms: an answer in seconds.
        let index = BlockNeeds {
            transactions_s: 21.4,
            few_s: 0.321,
            setup_s: 0.03,
            switch_s: 0.0,
            tps: Some((9.3, 740.0)),
        };
        assert_eq!(index.lengths(300.0).block_s, 0.321);
        assert_eq!(BlockNeeds { switch_s: 2.0, ..index }.lengths(300.0).block_s, 1.0);
    }
}
