//! How people call a run: by its number, by how many runs ago it was, or by its record's file.
//! Called by `cli` for everything that shows or compares stored runs.

use std::path::{Path, PathBuf};

use super::{RunStatus, Store, directory_of, failed};
use crate::error::shown;
use crate::{Record, ResultsError};

/// How the newest run is called; `last-1` is the one before.
const LAST: &str = "last";

/// How a run in the store is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Number(i64),
    /// So many runs before the newest.
    Ago(i64),
}

/// The record of the run that `which` calls: `12`, `last`, `last-1`, or the path of a record, which needs no store.
/// `last` counts runs that have a record only, not those that go on, were killed or came to nothing.
///
/// # Errors
/// If there is no such run, or its record cannot be read.
pub fn find(store: &Path, which: &str) -> Result<Record, ResultsError> {
    find_numbered(store, which).map(|(_, record)| record)
}

/// The same, and the number of the run; `None` of a record that is called by its path.
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
    /// The number of a stored run, and where its record is.
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
