//! What one transaction cost: the server in log, pages and processor time, and pgmeter itself. What was not seen is
//! not there.

use results::Record;

use super::Fact;
use crate::figures::{as_asked, decimals_for, fixed, latency};
use crate::metrics::Metric;

/// Cost per transaction.
pub(crate) fn costs(record: &Record) -> Vec<Fact> {
    let facts =
        Metric::of_transaction().filter_map(|row| Some(Fact::new(row.label, row.metric.shown(record)?)));
    let client_us = record.summary.client_cpu_us_per_transaction;
    facts.chain(client_us.map(|us| Fact::new("client CPU (pgmeter itself)", latency(us)))).collect()
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
