//! CPU time of the scripts' statements, and where their blocks were found, as pg_stat_kcache counts them. `server` shows it
//! after the statements as pg_stat_statements counts them.

use results::{BlockSources, Record, StatementCounters};

use crate::document::{Block, Cell, Column, TableOf};
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};

/// Characters of a statement that are shown.
pub(super) const QUERY_LEN_MAX: usize = 160;
const MICROSECONDS_PER_MILLISECOND: f64 = 1e3;

/// What the kernel counted of a statement; figures are means of a call.
struct KernelFigures {
    query: String,
    user_us: Option<f64>,
    system_us: Option<f64>,
    /// Of the CPU time of all these statements, from 0 to 1.
    share: Option<f64>,
    sources: Option<BlockSources>,
    disk_read_bytes: Option<f64>,
    disk_written_bytes: Option<f64>,
}

/// CPU time of all calls; `None` if it is not counted.
fn cpu_ms(statement: &StatementCounters) -> Option<f64> {
    Some(statement.values.get("user_cpu_ms")? + statement.values.get("system_cpu_ms")?)
}

impl KernelFigures {
    /// `None` if pg_stat_kcache has not counted the statement. `all_ms` is the CPU time of all statements.
    fn new(statement: &StatementCounters, all_ms: f64) -> Option<KernelFigures> {
        let calls = statement.values.get("calls").copied().filter(|calls| *calls > 0.0)?;
        let each = |name: &str| statement.values.get(name).map(|sum| sum / calls);
        let time_us = |name: &str| each(name).map(|ms| ms * MICROSECONDS_PER_MILLISECOND);
        let figures = KernelFigures {
            query: cut(&escaped_line(statement.query.as_str()), QUERY_LEN_MAX),
            user_us: time_us("user_cpu_ms"),
            system_us: time_us("system_cpu_ms"),
            share: cpu_ms(statement).filter(|_| all_ms > 0.0).map(|ms| ms / all_ms),
            sources: statement.block_sources(),
            disk_read_bytes: each("disk_read_bytes"),
            disk_written_bytes: each("disk_written_bytes"),
        };
        let is_counted = figures.user_us.is_some()
            || figures.disk_read_bytes.is_some()
            || figures.disk_written_bytes.is_some();
        is_counted.then_some(figures)
    }
}

fn counted(record: &Record) -> impl Iterator<Item = &StatementCounters> {
    record.observation.iter().flat_map(|observation| &observation.statements)
}

/// The table, and what disks delivered beyond the blocks in it; nothing without pg_stat_kcache.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let all_ms: f64 = counted(record).filter_map(cpu_ms).sum();
    let figures: Vec<KernelFigures> =
        counted(record).filter_map(|statement| KernelFigures::new(statement, all_ms)).collect();
    if figures.is_empty() {
        return Vec::new();
    }
    let time = |value| Cell::figure_if(Quantity::Microseconds, value);
    let share = |share: Option<f64>| {
        share.map_or_else(Cell::default, |share| Cell::figure(Quantity::Share, share).with_bar(share))
    };
    let part = |it: &KernelFigures, of: fn(&BlockSources) -> f64| {
        Cell::figure_if(Quantity::Share, it.sources.map(|sources| sources.share(of(&sources))))
    };
    let bytes = |value| Cell::figure_if(Quantity::Bytes, value);
    let has_reads = figures.iter().any(|figures| figures.disk_read_bytes.is_some());
    let mut table = TableOf::new(figures);
    table.column(Column::text("statement"), |it| Cell::code(it.query.clone()));
    table.figures("user CPU each", |it| time(it.user_us));
    table.figures("system CPU each", |it| time(it.system_us));
    table.figures("share of CPU", |it| share(it.share));
    if has_reads {
        table.figures("from shared buffers", |it| part(it, |sources| sources.shared_buffers));
        table.figures("from system cache", |it| part(it, |sources| sources.system_cache));
        table.figures("from disk", |it| part(it, |sources| sources.disk));
        table.figures("read from disk each", |it| bytes(it.disk_read_bytes));
    }
    table.figures("written each", |it| bytes(it.disk_written_bytes));
    let title = "CPU time of statements and sources of their blocks, as pg_stat_kcache counts them";
    let mut blocks = vec![Block::Heading(title.to_owned()), Block::Table(table.table)];
    blocks.extend(excess(record).map(Block::quiet));
    blocks
}

/// What disks delivered beyond the blocks that the statements read; `None` if that is nothing.
fn excess(record: &Record) -> Option<String> {
    let of_statement = |statement: &StatementCounters| {
        let of = |name: &str| statement.values.get(name).copied();
        let block_bytes = of("disk_read_bytes")? / of("disk_read_blks").filter(|blocks| *blocks > 0.0)?;
        Some(statement.block_sources()?.disk_excess * block_bytes)
    };
    let bytes: f64 = counted(record).filter_map(of_statement).sum();
    (bytes > 0.0).then(|| {
        format!(
            "Disks delivered {} beyond the blocks that these statements read, such as the kernel's read-ahead and \
             temporary files. This is in \"read from disk each\", but not in the shares.",
            Quantity::Bytes.shown(bytes)
        )
    })
}
