//! What one transaction cost: the server in log, pages and processor time, and pgmeter itself. What was not seen is
//! not there.

use results::{PerTransaction, Record};

use super::Fact;
use crate::figures::{as_asked, decimals_for, fixed, latency};

/// Cost per transaction.
pub(crate) fn costs(record: &Record) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(observation) = &record.observation {
        let PerTransaction {
            wal_bytes,
            wal_records,
            wal_full_page_images,
            wal_full_page_image_bytes,
            blocks_hit,
            blocks_read,
            block_read_us,
            block_write_us,
            blocks_dirtied,
            blocks_written,
            temp_bytes,
            backend_user_cpu_us,
            backend_system_cpu_us,
            backend_read_bytes,
            backend_written_bytes,
        } = observation.per_transaction;
        let rows = [
            ("WAL", wal_bytes.map(bytes)),
            ("WAL records", wal_records.map(number)),
            ("full-page images", wal_full_page_images.map(number)),
            ("WAL of full-page images", wal_full_page_image_bytes.map(bytes)),
            ("buffers found in memory", blocks_hit.map(number)),
            ("buffers read", blocks_read.map(number)),
            ("waiting for buffers to be read", block_read_us.map(latency)),
            ("buffers dirtied", blocks_dirtied.map(number)),
            ("buffers written by backends", blocks_written.map(number)),
            ("waiting for buffers to be written", block_write_us.map(latency)),
            ("temporary files", temp_bytes.map(bytes)),
            ("server CPU, user", backend_user_cpu_us.map(latency)),
            ("server CPU, system", backend_system_cpu_us.map(latency)),
            ("read from disk", backend_read_bytes.map(bytes)),
            ("made dirty by its backends (the kernel's count)", backend_written_bytes.map(bytes)),
        ];
        facts.extend(rows.into_iter().filter_map(|(label, value)| Some(Fact::new(label, value?))));
    }
    let client_us = record.summary.client_cpu_us_per_transaction;
    facts.extend(client_us.map(|us| Fact::new("client CPU (pgmeter itself)", latency(us))));
    facts
}

/// Three digits: `0.0123`, `4.56`.
pub(crate) fn number(value: f64) -> String {
    if value > 0.0 && value < 0.001 {
        return "< 0.001".to_owned();
    }
    fixed(value, decimals_for(value, 3))
}

/// `512 bytes`, `1.21 kB`, `3.40 MB`.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match UNITS.iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{}{}{unit}", number(value / size), crate::figures::TIE),
        None if value > 0.0 && value < 10.0 => format!("{}{}bytes", number(value), crate::figures::TIE),
        None => format!("{}{}bytes", as_asked(value.round()), crate::figures::TIE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        for (value, shown) in [
            (0.0, "0 bytes"),
            (0.25, "0.250 bytes"),
            (612.4, "612 bytes"),
            (1_214.0, "1.21 kB"),
            (8.4e7, "84.0 MB"),
        ] {
            assert_eq!(with_ordinary_spaces(&bytes(value)), shown);
        }
    }

    #[test]
    fn what_is_next_to_nothing_is_not_nothing() {
        assert_eq!(
            (number(0.0).as_str(), number(0.0001).as_str(), number(12.345).as_str()),
            ("0", "< 0.001", "12.3")
        );
    }
}
