//! Finds a run by its number, by its distance from the newest run, or by the file of its record. `cli` uses this for
//! all commands on stored runs.

use std::path::{Path, PathBuf};

use super::{RunStatus, Store, directory_of, failed};
use crate::error::shown;
use crate::{Record, ResultsError};

/// Name of the newest run; `last-1` is the previous one.
const LAST: &str = "last";

/// Reference to a run in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Number(i64),
    /// Number of runs before the newest.
    Ago(i64),
}

/// The record of the run `which`: `12`, `last`, `last-1`, or the path of a record, which requires no store. `last`
/// counts only runs with a record, and not running, killed or failed ones.
///
/// # Errors
/// There is no such run, or its record cannot be read.
pub fn find(store: &Path, which: &str) -> Result<Record, ResultsError> {
    find_numbered(store, which).map(|(_, record)| record)
}

/// The record and the run's number; `None` if `which` is a path.
///
/// # Errors
/// As [`find`].
pub fn find_numbered(store: &Path, which: &str) -> Result<(Option<i64>, Record), ResultsError> {
    let Some(called) = called(which) else { return Ok((None, Record::read(Path::new(which))?)) };
    let (number, path) = Store::open(store)?.record_path(called, which)?;
    Ok((Some(number), Record::read(&path)?))
}

/// `None` for the path of a file.
fn called(which: &str) -> Option<Called> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits)
    };
    let ago = which.strip_prefix(LAST).and_then(|rest| match rest {
        "" => Some(0),
        rest => number(rest.strip_prefix('-')?),
    });
    number(which).map(Called::Number).or(ago.map(Called::Ago))
}

impl Store {
    /// The number of a stored run, and the path of its record.
    fn record_path(&self, called: Called, which: &str) -> Result<(i64, PathBuf), ResultsError> {
        let (sql, number) = match called {
            Called::Number(number) => ("SELECT run, status, record_path FROM runs WHERE run = ?1", number),
            Called::Ago(ago) => (
                "SELECT run, status, record_path FROM runs WHERE record_path IS NOT NULL \
                 ORDER BY run DESC LIMIT 1 OFFSET ?1",
                ago,
            ),
        };
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
        };
        let found = match self.connection.query_row(sql, [number], row) {
            Err(rusqlite::Error::QueryReturnedNoRows) => None,
            found => Some(found.map_err(failed(&self.path))?),
        };
        let store = shown(&self.path);
        Err(ResultsError::Refused(match found {
            Some((run, _, Some(place))) => return Ok((run, directory_of(&self.path).join(place))),
            Some((run, status, None)) => {
                let is_killed = self.gone().map_err(failed(&self.path))?.contains(&run);
                let status = if is_killed { RunStatus::Killed.name() } else { &status };
                format!("run {which} in the store {store} has no record: it is {status}")
            }
            None => {
                format!("there is no run {which} in the store {store}: `pgmeter runs` lists those that are")
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_called_by_number_by_how_long_ago_or_by_its_file() {
        assert_eq!(called("12"), Some(Called::Number(12)));
        let ago = [called("last"), called("last-0"), called("last-3")];
        assert_eq!(ago, [0, 0, 3].map(|ago| Some(Called::Ago(ago))));
        for file in ["./12", "+3", "-1", "last-", "last-x", "last1", "a/last", "99999999999999999999", ""] {
            assert_eq!(called(file), None, "{file}");
        }
    }
}
