//! Numbers as C's `printf` writes them, in PostgreSQL's variant of it: points in every locale, exact halves to the
//! even digit, and words for what is not a number. Integers need nothing of it.

/// `%.Nf`.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:.decimals$}"),
    }
}

/// `%.3f`: all milliseconds and percentages.
pub(super) fn thousandths(value: f64) -> String {
    fixed(value, 3)
}

/// `%f`: rates.
pub(super) fn plain(value: f64) -> String {
    fixed(value, 6)
}

/// Microseconds as the milliseconds that pgbench shows.
pub(super) fn milliseconds(us: f64) -> String {
    const MILLISECONDS_PER_MICROSECOND: f64 = 0.001;
    thousandths(us * MILLISECONDS_PER_MICROSECOND)
}
