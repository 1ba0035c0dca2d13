//! How a record comes back from the disk: schema first, then the document, then whether it adds up.
//! Called by `cli` for everything that works on stored runs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::check::check;
use crate::safe_text::in_one_line;
use crate::upgrade;
use crate::{Record, ResultsError, SCHEMA_VERSION};

/// A day of one-second intervals of ten scripts is below it; anything above is some other file.
const RECORD_LEN_MAX: u64 = 1 << 30;
/// A pipe or a device does not say how much is to come: 100 runs of ten minutes are below it.
const STREAM_LEN_MAX: u64 = 1 << 27;

/// The one field that every schema has, whatever else it has.
#[derive(Deserialize)]
struct Schema {
    schema_version: u64,
}

/// Up to `len_max` bytes, and no further than it takes to see that they are no JSON object.
fn read_document(file: File, len_max: u64) -> std::io::Result<Vec<u8>> {
    let (mut json, mut file) = (Vec::new(), file.take(len_max));
    while json.iter().all(u8::is_ascii_whitespace) {
        if (&mut file).take(FIRST_READ).read_to_end(&mut json)? == 0 {
            return Ok(json);
        }
    }
    if json.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        file.read_to_end(&mut json)?;
    }
    Ok(json)
}

/// So much is read to see what a file begins with.
const FIRST_READ: u64 = 4096;

impl Record {
    /// Reads a record and checks it.
    ///
    /// # Errors
    /// If there is no such file, it is not a record, it is of a newer schema, or it does not add up.
    pub fn read(path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let len_max = if metadata.is_file() { RECORD_LEN_MAX } else { STREAM_LEN_MAX };
        let too_large = |len| ResultsError::TooLarge { path: path.to_owned(), len, len_max };
        if metadata.len() > len_max {
            return Err(too_large(metadata.len()));
        }
        let json = read_document(file, len_max + 1).map_err(failed)?;
        if json.len() as u64 > len_max {
            return Err(too_large(json.len() as u64));
        }
        Record::from_json(&json, path)
    }

    /// The record in `json`; `path` is what messages call it.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn from_json(json: &[u8], path: &Path) -> Result<Record, ResultsError> {
        // A parser quotes what it found.
        let not_a_record =
            |what: String| ResultsError::NotARecord { path: path.to_owned(), what: in_one_line(&what) };
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
        let does_not_add_up =
            |what: String| ResultsError::DoesNotAddUp { path: path.to_owned(), what: in_one_line(&what) };
        check(&record).map_err(does_not_add_up)?;
        Ok(record)
    }
}
