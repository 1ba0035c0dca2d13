//! A connection whose bytes the caller makes and reads, with a time limit for all of it. For tools that test how a server
//! answers, such as `pgmeter tls`.

use std::time::Duration;

use super::stream::{ReadPatience, Stream};
use crate::address::Address;
use crate::error::Cause;

/// A connected socket. Dropping it closes the connection.
#[derive(Debug)]
pub struct RawConnection {
    stream: Stream,
    patience: ReadPatience,
}

impl RawConnection {
    /// Connects. `limit` applies to connecting and all that follows.
    ///
    /// # Errors
    /// The system refuses, or the limit has passed.
    pub fn open(address: &Address, limit: Duration) -> Result<RawConnection, Cause> {
        let patience = ReadPatience::of(Some(limit));
        Ok(RawConnection { stream: Stream::connect(address, patience)?, patience })
    }

    /// Sends all bytes.
    ///
    /// # Errors
    /// The connection is broken, or the limit has passed.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.stream.write_all(bytes, self.patience)
    }

    /// Waits for bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// The connection is broken, or the limit has passed.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, Cause> {
        self.stream.read(buffer, self.patience)
    }
}
