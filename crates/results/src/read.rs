//! How a record comes back from the disk: schema first, then the document, then whether it adds up.
//! Called by `cli` for everything that works on stored runs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::check::check;
use crate::upgrade;
use crate::{Record, ResultsError, SCHEMA_VERSION};

/// A day of one-second intervals of ten scripts is below it; anything above is some other file.
const RECORD_LEN_MAX: u64 = 4 << 30;

/// The one field that every schema has, whatever else it has.
#[derive(Deserialize)]
struct Schema {
    schema_version: u64,
}

impl Record {
    /// Reads a record and checks it.
    ///
    /// # Errors
    /// If there is no such file, it is not a record, it is of a newer schema, or it does not add up.
    pub fn read(path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len > RECORD_LEN_MAX {
            return Err(ResultsError::TooLarge { path: path.to_owned(), len, len_max: RECORD_LEN_MAX });
        }
        let mut json = Vec::new();
        file.take(RECORD_LEN_MAX).read_to_end(&mut json).map_err(failed)?;
        Record::from_json(&json, path)
    }

    /// The record in `json`; `path` is what messages call it.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn from_json(json: &[u8], path: &Path) -> Result<Record, ResultsError> {
        let not_a_record = |what: String| ResultsError::NotARecord { path: path.to_owned(), what };
        let Schema { schema_version } =
            serde_json::from_slice(json).map_err(|error| not_a_record(error.to_string()))?;
        if schema_version > u64::from(SCHEMA_VERSION) {
            let (path, found) = (path.to_owned(), schema_version);
            return Err(ResultsError::NewerSchema { path, found, supported: SCHEMA_VERSION });
        }
        if schema_version == 0 {
            return Err(not_a_record("no pgmeter ever wrote schema 0".to_owned()));
        }
        let record: Result<Record, _> = if schema_version < u64::from(SCHEMA_VERSION) {
            serde_json::from_slice(json).and_then(|document| upgrade::from_version(schema_version, document))
        } else {
            serde_json::from_slice(json)
        };
        let record = record.map_err(|error| not_a_record(error.to_string()))?;
        check(&record).map_err(|what| ResultsError::DoesNotAddUp { path: path.to_owned(), what })?;
        Ok(record)
    }
}
