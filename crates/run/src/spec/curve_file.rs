//! Files with curves of rates: a CSV file with the columns time and rate.
//! `stats` parses the text.

use std::path::Path;

use stats::rate::RateCurve;

/// Larger files are no curves: a rate for each second of a month has 40 MB at most.
const LENGTH_MAX: u64 = 64 << 20;

/// The curve in a file; `name` is its name in messages and reports.
///
/// # Errors
/// A sentence: the file cannot be read, or is no curve.
pub fn read_curve(name: &str, path: &Path) -> Result<RateCurve, String> {
    let text = config::text_of(path, LENGTH_MAX).map_err(|error| {
        format!("cannot read the curve {name}: {error}; it must be a CSV file with the columns time and rate")
    })?;
    RateCurve::from_csv(name, &text)
}
