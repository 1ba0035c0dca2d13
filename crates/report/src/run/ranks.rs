//! The load generators of a distributed run: a table with a line for each, and the evidence against those that were the
//! limit themselves. Empty for a run of one process.

use results::{Rank, RankClock, Record};

use crate::document::{Block, Cell, Column, Table, Tone};
use crate::figures::{TIE, count, counted, latency, rate};
use crate::prose::{cut, escaped_line};
use crate::wording;

/// Load generators that the terminal shows one by one.
const BRIEF_MAX: usize = 16;
/// Client-limited load generators whose evidence is told.
const EVIDENCE_MAX: usize = 4;
/// Characters of a host's name.
const HOST_LEN: usize = 24;

/// `4 load generators with 2 workers each`, or `3 load generators with 5 workers`; nothing for one process.
pub(super) fn in_words(record: &Record) -> Option<String> {
    let machines = record.plan.machines;
    let number = counted(machines.into(), "load generator", "load generators");
    let of = |workers: u64| counted(workers, "worker", "workers");
    let ranks = &record.summary.ranks;
    let is_equal = ranks.windows(2).all(|pair| pair[0].workers == pair[1].workers);
    let each = ranks.first().map_or(record.plan.workers, |rank| rank.workers);
    let workers = match is_equal {
        true => format!("{} each", of(each.into())),
        false => format!("{} in all", of(record.summary.workers(&record.plan))),
    };
    (machines > 1).then(|| format!("{number} with {workers}"))
}

/// For the terminal: the first load generators.
pub(super) fn brief(record: &Record) -> Vec<Block> {
    let ranks = &record.summary.ranks;
    let shown = &ranks[..ranks.len().min(BRIEF_MAX)];
    let others = ranks.len().saturating_sub(BRIEF_MAX) as u64;
    let others = (others > 0)
        .then(|| format!("and {}", counted(others, "more load generator", "more load generators")))
        .map(Block::quiet);
    table(shown).into_iter().chain(others).collect()
}

/// For documents: all load generators, and why some were the limit.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let ranks = &record.summary.ranks;
    let limited = ranks.iter().filter(|rank| rank.is_client_limited()).filter_map(|rank| {
        let evidence = wording::evidence(rank.verdict()?);
        Some(format!("Rank {} ({}): {evidence}", rank.rank, host(rank)))
    });
    let evidence: Vec<String> = limited.take(EVIDENCE_MAX).collect();
    let evidence = (!evidence.is_empty()).then_some(Block::List(Tone::Plain, evidence));
    table(ranks).into_iter().chain(evidence).collect()
}

fn table(ranks: &[Rank]) -> Option<Block> {
    let text_if = |text: Option<String>| text.map_or_else(Cell::default, Cell::text);
    let lateness = |rank: &Rank| rank.generator.as_ref()?.wakeup_lateness_us;
    let offset = |clock: RankClock| {
        let [offset_us, error_us] =
            [clock.offset_ms, clock.offset_error_ms].map(|ms| ms * MICROSECONDS_PER_MILLISECOND);
        with_error(offset_us, error_us)
    };
    let skew = |clock: RankClock| with_error(clock.start_skew_us, clock.start_skew_error_us);
    // The clock of rank 0 is the reference.
    let compared = |rank: &Rank, of: &dyn Fn(RankClock) -> String| match rank.rank {
        0 => Cell::text("reference"),
        _ => text_if(rank.clock.map(of)),
    };
    let limit = |rank: &Rank| {
        let tone = if rank.is_client_limited() { Tone::Bad } else { Tone::Plain };
        text_if(rank.verdict().map(|verdict| verdict.name().to_owned())).with_tone(tone)
    };
    let table = Table::of(
        ranks,
        &[
            (Column::text("rank"), &|rank| Cell::text(rank.rank.to_string())),
            (Column::text("host"), &|rank| Cell::text(host(rank))),
            (Column::figures("clients"), &|rank| Cell::text(count(rank.clients.into()))),
            (Column::figures("tps"), &|rank| Cell::text(rate(rank.tps))),
            (Column::figures("CPU per transaction"), &|rank| {
                text_if(rank.client_cpu_us_per_transaction.map(latency))
            }),
            (Column::figures("late wake-ups, p99"), &|rank| {
                text_if(lateness(rank).map(|late| latency(late.p99)))
            }),
            (Column::figures("clock offset"), &|rank| compared(rank, &offset)),
            (Column::text("limit"), &|rank| limit(rank)),
            (Column::figures("start skew"), &|rank| compared(rank, &skew)),
        ],
    );
    Table { optional_columns: 1, ..table }.if_any()
}

fn host(rank: &Rank) -> String {
    cut(&escaped_line(&rank.host.hostname), HOST_LEN)
}

/// `−1.50 ms ± 100 µs`
fn with_error(us: f64, error_us: f64) -> String {
    let sign = if us < 0.0 { "−" } else { "" };
    format!("{sign}{} ±{TIE}{}", latency(us.abs()), latency(error_us))
}

const MICROSECONDS_PER_MILLISECOND: f64 = 1e3;
