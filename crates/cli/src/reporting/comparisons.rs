//! Reports of comparisons that were kept: which one is meant, and the form asked for. What is said of it is
//! `report::comparison`'s affair.

use std::path::Path;

use report::TextStyle;
use results::Store;

use crate::arguments::FormatName;
use crate::failure::Failure;

/// The newest, as with runs.
const LAST: &str = "last";

/// The comparison of this number, or the newest, in the form asked for.
pub(super) fn report(
    store: &Path,
    which: &str,
    format: FormatName,
    style: &TextStyle,
) -> Result<String, Failure> {
    let opened = Store::open(store)?;
    let Some(newest) = opened.newest_comparison()? else {
        return Err(Failure::Usage(format!(
            "the store {} has no comparison: make one with pgmeter compare",
            store.display()
        )));
    };
    let number = if which == LAST { Some(newest) } else { which.parse().ok() };
    let Some(number) = number.filter(|number| (1..=newest).contains(number)) else {
        return Err(Failure::Usage(format!(
            "the store {} has no comparison {which}: it has 1 to {newest}, of which the newest is \"{LAST}\"",
            store.display()
        )));
    };
    let record = opened.comparison(number)?;
    match format {
        FormatName::Text => Ok(report::comparison(&record, style)),
        FormatName::Json => Ok(results::escaped_json(record.to_json())),
        _ => Err(Failure::Usage(
            "a comparison can be had as text or json: choose one with --format".to_owned(),
        )),
    }
}
