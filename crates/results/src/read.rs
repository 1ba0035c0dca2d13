//! Reads a record: schema version first, then the document, then the consistency checks. `cli` calls this for all
//! commands on stored runs.

use std::io::Read;
use std::path::Path;

use crate::check::check;
use crate::error::shown;
use crate::safe_text::in_one_line;
use crate::upgrade::RECORD;
use crate::{Record, ResultsError};

/// Maximum length of a file: more than a day of one-second intervals of ten scripts.
const RECORD_LEN_MAX: u64 = 1 << 30;
/// Maximum length of a pipe or device, whose length is unknown: more than 100 runs of ten minutes.
const STREAM_LEN_MAX: u64 = 1 << 27;

/// Reads up to `len_max` bytes; stops early if the content is not a JSON object.
fn read_document(input: impl Read, len_max: u64) -> std::io::Result<Vec<u8>> {
    let (mut json, mut file) = (Vec::new(), input.take(len_max));
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

/// Bytes read first, to check the beginning.
const FIRST_READ: u64 = 4096;

impl Record {
    /// Reads and checks a record.
    ///
    /// # Errors
    /// The file does not exist, is not a record, has another schema, or is inconsistent.
    pub fn read(path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
        Self::read_opened(config::open_input(path).map_err(failed)?, path)
    }

    /// Reads and checks a record that only a regular file can be, such as one of the store. Another process may have put
    /// a named pipe there, and opening that would block.
    ///
    /// # Errors
    /// As [`Record::read`], and if the file is not a regular file.
    pub fn read_regular(path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
        let file = config::open_regular(path).map_err(failed)?;
        Self::read_opened(file, path)
    }

    fn read_opened(file: config::Input, path: &Path) -> Result<Record, ResultsError> {
        let failed = |source| ResultsError::Read { path: path.to_owned(), source };
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

    /// Reads a record from `json`; messages refer to it as `path`.
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
