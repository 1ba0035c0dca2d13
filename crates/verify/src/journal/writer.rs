//! Appends to one worker's file of a journal: entries are collected, and written in one block by one call of write(2).
//! Called by `tracer` on the worker's thread, before the commits are sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::format::{Entry, FILE_HEADER, begin_block, end_block, file_header};

/// Capacity kept between two blocks.
const RETAINED_MAX: usize = 256 * 1024;

/// One worker's file.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
    /// Length of the file.
    length: u64,
    block: Vec<u8>,
    /// A write has failed: what follows it could not be read.
    is_broken: bool,
}

impl JournalFile {
    /// Creates the file.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn create(path: &Path, worker: u32) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&file_header(worker))?;
        let mut block = Vec::new();
        begin_block(&mut block);
        Ok(Self { file, length: FILE_HEADER as u64, block, is_broken: false })
    }

    /// Adds an entry to the next block.
    pub fn add(&mut self, entry: &Entry) {
        entry.write(&mut self.block);
    }

    /// Writes the entries since the last call. The system keeps them even if this process is killed.
    ///
    /// # Errors
    /// The disk is full, or another error of the system. All later calls fail too.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier block could not be written"));
        }
        if !end_block(&mut self.block, self.length) {
            return Ok(());
        }
        let written = self.file.write_all(&self.block);
        self.length += self.block.len() as u64;
        self.is_broken = written.is_err();
        if self.block.capacity() > RETAINED_MAX {
            self.block = Vec::new();
        }
        begin_block(&mut self.block);
        written
    }
}
