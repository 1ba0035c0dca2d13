//! Floating-point numbers in the format of PostgreSQL's `printf`: a decimal point in every locale, exact ties rounded
//! to the even digit, and words for NaN and infinity. Integers need no conversion.

/// `%.Nf`.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:.decimals$}"),
    }
}

/// `%.3f`: milliseconds and percentages.
pub(super) fn thousandths(value: f64) -> String {
    fixed(value, 3)
}

/// `%f`: rates.
pub(super) fn plain(value: f64) -> String {
    fixed(value, 6)
}

/// Converts microseconds to milliseconds, as pgbench shows them.
pub(super) fn milliseconds(us: f64) -> String {
    const MILLISECONDS_PER_MICROSECOND: f64 = 0.001;
    thousandths(us * MILLISECONDS_PER_MICROSECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are from glibc, which rounds exact binary ties to the even digit.
    #[test]
    fn rounding_is_that_of_c() {
        for (value, decimals, written) in [
            (0.0, 3, "0.000"),
            (-0.0, 3, "-0.000"),
            (0.0005, 3, "0.001"),
            (0.0015, 3, "0.002"),
            (0.0625, 3, "0.062"),
            (0.1875, 3, "0.188"),
            (1.0625, 3, "1.062"),
            (-1.0625, 3, "-1.062"),
            (0.5, 0, "0"),
            (1.5, 0, "2"),
            (2.5, 0, "2"),
            (0.25, 1, "0.2"),
            (0.35, 1, "0.3"),
            (0.15, 1, "0.1"),
            (99.9995, 3, "99.999"),
            (1e+22, 6, "10000000000000000000000.000000"),
            (123456789.12345679, 6, "123456789.123457"),
            (5e-07, 6, "0.000000"),
            (1.5e-06, 6, "0.000002"),
            (0.0078125, 6, "0.007812"),
            (9007199254740992.0, 6, "9007199254740992.000000"),
        ] {
            assert_eq!(fixed(value, decimals), written, "{value:?}");
        }
    }

    #[test]
    fn what_is_not_a_number_has_postgresqls_words() {
        let written = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(thousandths);
        assert_eq!(written, ["NaN", "NaN", "Infinity", "-Infinity"]);
    }

    #[test]
    fn microseconds_become_milliseconds() {
        assert_eq!([0.0, 0.4, 4_294.4, 1e9].map(milliseconds), ["0.000", "0.000", "4.294", "1000000.000"]);
    }
}
