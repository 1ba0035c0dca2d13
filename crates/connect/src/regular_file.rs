//! Opens files of connections: passwords, services, keys and certificates. Others may have put a pipe in the place of one:
//! opening never waits for its writer.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file to read, with what it is. The caller refuses what is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    let about = file.metadata()?;
    Ok((file, about))
}

/// The content of a regular file of at most `length_max` bytes.
pub(crate) fn read(path: &Path, length_max: u64) -> io::Result<Vec<u8>> {
    let (file, about) = open(path)?;
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
    }
    let mut content = Vec::new();
    file.take(length_max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > length_max {
        let reason = format!("it is larger than {} MiB", length_max >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(content)
}
