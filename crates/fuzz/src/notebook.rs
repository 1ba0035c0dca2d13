//! The file in which the working process notes each input before it tries it, so that the watching process can name
//! the one that ended it. Overwritten with each input; a write to the page cache, no more.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Number of the input and its length.
const HEADER_LENGTH: usize = 16;

/// The file, open.
pub struct Notebook {
    file: File,
    page: Vec<u8>,
}

impl Notebook {
    /// Opens the file, creates it if need be.
    pub fn open(path: &Path) -> io::Result<Notebook> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Notebook { file, page: Vec::new() })
    }

    /// Notes that `input`, the one with this number, is tried next.
    pub fn note(&mut self, number: u64, input: &[u8]) -> io::Result<()> {
        self.page.clear();
        self.page.extend_from_slice(&number.to_le_bytes());
        self.page.extend_from_slice(&(input.len() as u64).to_le_bytes());
        self.page.extend_from_slice(input);
        self.file.write_all_at(&self.page, 0)
    }

    /// The number that stands there; 0 in an empty notebook.
    pub fn number(&self) -> u64 {
        let mut number = [0; 8];
        self.file.read_exact_at(&mut number, 0).map_or(0, |()| u64::from_le_bytes(number))
    }

    /// The input that stands there.
    pub fn input(&self) -> io::Result<Vec<u8>> {
        let mut header = [0; HEADER_LENGTH];
        self.file.read_exact_at(&mut header, 0)?;
        let (_, length) = header.split_at(HEADER_LENGTH / 2);
        let length = u64::from_le_bytes(length.try_into().map_err(io::Error::other)?);
        let mut input = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut input, HEADER_LENGTH as u64)?;
        Ok(input)
    }
}
