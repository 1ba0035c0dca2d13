//! How a record comes back from the disk: schema first, then the document, then whether it adds up.
//! Called by `cli` for everything that works on stored runs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::check::check;
use crate::error::shown;
use crate::safe_text::in_one_line;
use crate::upgrade::RECORD;
use crate::{Record, ResultsError};

/// A day of one-second intervals of ten scripts is below it; anything above is some other file.
const RECORD_LEN_MAX: u64 = 1 << 30;
/// A pipe or a device does not say how much is to come: 100 runs of ten minutes are below it.
const STREAM_LEN_MAX: u64 = 1 << 27;

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
    /// If there is no such file, it is not a record, it is of another schema, or it does not add up.
    pub fn read(path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let len_max = if metadata.is_file() { RECORD_LEN_MAX } else { STREAM_LEN_MAX };
        let too_large = |len: u64| {
            ResultsError::Refused(format!(
                "{} is not a record: it has {len} bytes or more, and here records have at most {len_max}; name a file \
                 that pgmeter wrote",
                shown(path)
            ))
        };
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
        let record: Record = RECORD.read(json, path)?;
        match check(&record) {
            Ok(()) => Ok(record),
            Err(what) => Err(ResultsError::Refused(format!(
                "{} does not add up: {}; it was changed or damaged after it was written, use another copy",
                shown(path),
                in_one_line(&what)
            ))),
        }
    }
}
