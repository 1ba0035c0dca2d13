//! What a transaction cost on average: CPU, WAL and blocks, a table each, without zeros and without figures that follow
//! from others. The memory of a backend, and the traffic between client and server, are lines beneath.

use results::Record;

use crate::document::{Block, Cell, Column, Fact, Table};
use crate::figures::{bytes, counted};
use crate::metrics::Metric;

/// A group's name and its figures, in the order in which they are shown.
type Group = (&'static str, &'static [Metric]);

const GROUPS: [Group; 3] = [
    (
        "CPU and time",
        &[
            Metric::ServerCpu,
            Metric::ServerUserCpu,
            Metric::ServerSystemCpu,
            Metric::PlanTime,
            Metric::ExecutionTime,
            Metric::PoolerCpu,
            Metric::ClientCpu,
        ],
    ),
    ("WAL", &[Metric::WalBytes, Metric::WalRecords, Metric::FullPageImages, Metric::FullPageImageBytes]),
    (
        "Blocks",
        &[
            Metric::BlocksHit,
            Metric::BlocksRead,
            Metric::BlockReadTime,
            Metric::SharedBuffersShare,
            Metric::SystemCacheShare,
            Metric::DiskShare,
            Metric::DiskBlocksRead,
            Metric::BlocksDirtied,
            Metric::BlocksWritten,
            Metric::BlockWriteTime,
            Metric::TempBytes,
            Metric::ReadBytes,
            Metric::WrittenBytes,
        ],
    ),
];

/// The tables beside each other, and the traffic.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let tables: Vec<Vec<Block>> = GROUPS.iter().filter_map(|group| table(record, *group)).collect();
    let mut blocks = Vec::new();
    let memory: Vec<Fact> = Fact::known([("backend memory", backend_memory(record))]).collect();
    if !tables.is_empty() {
        blocks.push(Block::Columns(tables));
    } else if memory.is_empty() {
        blocks.push(Block::quiet("The server was not observed."));
    }
    if !memory.is_empty() {
        blocks.push(Block::Facts(memory));
    }
    blocks.extend(traffic(record).map(Block::quiet));
    blocks
}

fn table(record: &Record, (name, metrics): Group) -> Option<Vec<Block>> {
    let shown = metrics.iter().filter(|metric| is_shown(record, **metric));
    let row = |metric: &Metric| {
        let text = metric.shown(record)?;
        let label =
            if *metric == Metric::ClientCpu { "client CPU (pgmeter itself)" } else { metric.row().label };
        Some(vec![Cell::text(label), Cell::text(text)])
    };
    let rows: Vec<Vec<Cell>> = shown.filter_map(row).collect();
    let columns = vec![Column::text(name), Column::figures("per transaction")];
    Table { columns, rows, ..Table::default() }.if_any().map(|table| vec![table])
}

/// What is above zero and does not follow from another figure.
fn is_shown(record: &Record, metric: Metric) -> bool {
    let is_above_zero = |metric: Metric| metric.of(record).is_some_and(|value| value > 0.0);
    let follows = match metric {
        // All blocks are in shared buffers where none was read.
        Metric::SharedBuffersShare | Metric::SystemCacheShare | Metric::DiskShare => {
            !is_above_zero(Metric::BlocksRead)
        }
        Metric::DiskBlocksRead => is_above_zero(Metric::ReadBytes),
        _ => false,
    };
    is_above_zero(metric) && !follows
}

/// `3174 kB each (2970 kB private, 204 kB page tables; 64 backends read)`
pub(super) fn backend_memory(record: &Record) -> Option<String> {
    let memory = record.observation.as_ref()?.backend_memory?;
    let each = Metric::BackendMemory.shown(record)?;
    Some(format!(
        "{each} each ({} private, {} page tables; {} read)",
        bytes(memory.private_mean_bytes),
        bytes(memory.page_tables_mean_bytes),
        counted(memory.backends, "backend", "backends")
    ))
}

/// `7 round trips, 1.21 kB sent to the server and 812 bytes received per transaction`
fn traffic(record: &Record) -> Option<String> {
    let [trips, sent, received] = [Metric::RoundTrips, Metric::SentBytes, Metric::ReceivedBytes]
        .map(|metric| metric.shown(record).filter(|_| metric.of(record) > Some(0.0)));
    let (trips, sent, received) = (trips?, sent?, received?);
    Some(format!("{trips} round trips, {sent} sent to the server and {received} received per transaction."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_of_a_transaction_has_a_group() {
        let grouped: Vec<Metric> = GROUPS.iter().flat_map(|(_, metrics)| metrics.iter().copied()).collect();
        for row in Metric::of_transaction() {
            let number = grouped.iter().filter(|metric| **metric == row.metric).count();
            assert_eq!(number, 1, "{}", row.name);
        }
    }
}
