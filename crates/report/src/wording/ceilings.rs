//! The names of ceilings, and the sentences with the figures of their formulas. `observe` computes them, and
//! docs/observing.md has the formulas.

use results::{CeilingBasis, CpuOwner, FlushSharing, FlushSource, LockEnd, ReadSource};

use super::{counted, share};
use crate::figures::{as_asked, count, fixed, latency};

/// What bounds the throughput.
pub(crate) fn ceiling_name(basis: &CeilingBasis) -> &'static str {
    match basis {
        CeilingBasis::HottestRow { .. } => "locks of contended rows",
        CeilingBasis::Flush { .. } | CeilingBasis::FlushWaits { .. } => "WAL flushes",
        CeilingBasis::RoundTrips { .. } => "round trips",
        CeilingBasis::OnTheWay { .. } => "the way (network or proxy)",
        CeilingBasis::Reads { .. } => "reads",
        CeilingBasis::Cpu { .. } => "CPUs",
    }
}

/// The figures that a ceiling follows from, in a sentence.
pub(crate) fn ceiling(basis: &CeilingBasis) -> String {
    match *basis {
        CeilingBasis::HottestRow { rows, locked_us, until } => {
            let until = match until {
                LockEnd::Transaction => "until the end of the transaction",
                LockEnd::CommitFlush => "through the flush of its commit",
            };
            format!(
                "Transactions compete for {}, each locked for {} {until}.",
                rows_of(rows),
                latency(locked_us)
            )
        }
        CeilingBasis::Flush { flush_us, source, transactions_per_flush, sharing } => {
            let source = match source {
                FlushSource::Server => "as measured by the server",
                FlushSource::BeforeRun => "as measured before the run",
            };
            let serves = match sharing {
                FlushSharing::Average => {
                    format!("{} transactions on average", figure(transactions_per_flush))
                }
                FlushSharing::One => "one transaction, since commits hardly ever coincided".to_owned(),
                FlushSharing::AllClients => {
                    format!("at most one transaction of each of {} clients", figure(transactions_per_flush))
                }
            };
            format!("A WAL flush takes {} ({source}) and serves {serves}.", latency(flush_us))
        }
        CeilingBasis::FlushWaits { busy_share } => {
            format!(
                "The backends waited for WAL (WalSync, WALWrite), which was flushed at least {} of the time.",
                share(busy_share)
            )
        }
        CeilingBasis::RoundTrips { clients, round_trips_per_transaction, round_trip_us } => format!(
            "Each of {} clients waits for {} network round trips per transaction, at least {} each.",
            figure(clients),
            figure(round_trips_per_transaction),
            latency(round_trip_us)
        ),
        CeilingBasis::OnTheWay { clients, round_trips_per_transaction, way_us } => format!(
            "Each of {} clients waits for {} {} per transaction; {} of each is on the way.",
            figure(clients),
            figure(round_trips_per_transaction),
            if figure(round_trips_per_transaction) == "1" { "round trip" } else { "round trips" },
            latency(way_us)
        ),
        CeilingBasis::Reads { clients, read_us, blocks_per_transaction, source } => {
            reads(clients, read_us, blocks_per_transaction, source)
        }
        CeilingBasis::Cpu { cpus, of, server_us, pgmeter_us, pooler_us } => {
            let cpus =
                if figure(cpus) == "1" { "1 CPU".to_owned() } else { format!("{} CPUs", figure(cpus)) };
            let (server, pgmeter) = (latency(server_us), latency(pgmeter_us));
            let pooler = pooler_us.map(|us| format!(", {} in the pooler", latency(us))).unwrap_or_default();
            let who = match of {
                CpuOwner::Host if pooler_us.is_some() => format!("Server, pooler and pgmeter share {cpus}"),
                CpuOwner::Host => format!("Server and pgmeter share {cpus}"),
                CpuOwner::Server => format!("The server may use {cpus}"),
                CpuOwner::Pgmeter => format!("pgmeter may use {cpus}"),
            };
            format!(
                "{who}. A transaction takes {server} of CPU time in the backends{pooler} and {pgmeter} in pgmeter."
            )
        }
    }
}

fn reads(clients: f64, read_us: f64, blocks: Option<f64>, source: ReadSource) -> String {
    let source = match source {
        ReadSource::Server => "as measured by the server",
        ReadSource::Waits => "by the wait events of the backends",
    };
    let each = |blocks: f64| format!(" for {} blocks, {} each", figure(blocks), latency(read_us / blocks));
    format!(
        "Each of {} clients waits {} per transaction for reads ({source}){}.",
        figure(clients),
        latency(read_us),
        blocks.map(each).unwrap_or_default()
    )
}

fn rows_of(rows: f64) -> String {
    // Rows are counted, and far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = rows.max(0.0) as u64;
    if rows.fract() == 0.0 { counted([whole], "row", "rows") } else { format!("{} rows", count(whole)) }
}

/// Whole numbers without a fraction, others with one digit, below 1 with two.
fn figure(value: f64) -> String {
    match value {
        value if value < 0.995 => fixed(value, 2),
        value if value.fract().abs() < 0.05 => as_asked(value.round()),
        value => fixed(value, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    #[test]
    fn ceilings_are_told_with_their_figures() {
        let flush = CeilingBasis::Flush {
            flush_us: 2_500.0,
            source: FlushSource::Server,
            transactions_per_flush: 4.02,
            sharing: FlushSharing::Average,
        };
        let cpu =
            |cpus, of| CeilingBasis::Cpu { cpus, of, server_us: 150.0, pgmeter_us: 50.0, pooler_us: None };
        let cases = [
            (
                CeilingBasis::HottestRow { rows: 1.0, locked_us: 500.0, until: LockEnd::CommitFlush },
                "Transactions compete for 1 row, each locked for 500 µs through the flush of its commit.",
            ),
            (
                flush,
                "A WAL flush takes 2.50 ms (as measured by the server) and serves 4 transactions on average.",
            ),
            (
                CeilingBasis::FlushWaits { busy_share: 0.83 },
                "The backends waited for WAL (WalSync, WALWrite), which was flushed at least 83 % of the time.",
            ),
            (
                CeilingBasis::RoundTrips {
                    clients: 8.0,
                    round_trips_per_transaction: 7.0,
                    round_trip_us: 1_000.0,
                },
                "Each of 8 clients waits for 7 network round trips per transaction, at least 1.00 ms each.",
            ),
            (
                CeilingBasis::OnTheWay { clients: 4.0, round_trips_per_transaction: 1.0, way_us: 10_000.0 },
                "Each of 4 clients waits for 1 round trip per transaction; 10.0 ms of each is on the way.",
            ),
            (
                CeilingBasis::Reads {
                    clients: 8.0,
                    read_us: 40_000.0,
                    blocks_per_transaction: Some(20.0),
                    source: ReadSource::Server,
                },
                "Each of 8 clients waits 40.0 ms per transaction for reads (as measured by the server) for 20 blocks, \
                 2.00 ms each.",
            ),
            (
                cpu(2.0, CpuOwner::Host),
                "Server and pgmeter share 2 CPUs. A transaction takes 150 µs of CPU time in the backends and 50.0 µs in \
                 pgmeter.",
            ),
            (
                cpu(0.5, CpuOwner::Server),
                "The server may use 0.50 CPUs. A transaction takes 150 µs of CPU time in the backends and 50.0 µs in \
                 pgmeter.",
            ),
        ];
        for (basis, expected) in cases {
            assert_eq!(with_ordinary_spaces(&ceiling(&basis)), expected);
        }
    }
}
