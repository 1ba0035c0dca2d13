//! COPY … FROM STDIN as a writer: sends rows, and returns a server's error as soon as it arrives. Used by the loaders
//! of workloads.

use std::io::{self, Write};

use wire::frontend;

use super::Session;
use super::results::Answer;
use crate::error::ConnectError;

/// Bytes per CopyData message and system call; larger values have no measurable effect.
const PIECE_LENGTH: usize = 64 * 1024;

/// A COPY in progress. Dropping it without [`CopyIn::finish`] makes it fail on the server, without storing rows. A
/// server's error ends writing early; `finish` then returns it.
#[derive(Debug)]
pub struct CopyIn<'a> {
    session: &'a mut Session,
    answer: Answer,
    piece: Vec<u8>,
    is_over: bool,
}

impl<'a> CopyIn<'a> {
    pub(super) fn new(session: &'a mut Session, answer: Answer) -> CopyIn<'a> {
        CopyIn { session, answer, piece: Vec::with_capacity(PIECE_LENGTH), is_over: false }
    }

    /// Ends the stream; returns the number of copied rows.
    pub fn finish(mut self) -> Result<u64, ConnectError> {
        if self.answer.error.is_none() {
            // A server's error is read completely below; an error that ended the session is stored there.
            if self.send_piece().is_ok() {
                frontend::copy_done(&mut self.session.out);
            }
        }
        self.close()
    }

    /// Sends the rest of the buffer and reads the complete answer.
    fn close(&mut self) -> Result<u64, ConnectError> {
        self.is_over = true;
        if let Some(reason) = &self.session.ended {
            let lost = ConnectError::Lost(reason.clone());
            return Err(self.answer.error.take().map_or(lost, ConnectError::Server));
        }
        self.session.send(&mut self.answer)?;
        while !self.answer.is_complete {
            self.session.listen(&mut self.answer)?;
        }
        self.answer.error.take().map_or(Ok(self.answer.rows), |error| Err(ConnectError::Server(error)))
    }

    /// Sends the collected data, and checks for an error of the server.
    fn send_piece(&mut self) -> Result<(), ConnectError> {
        if let Some(reason) = &self.session.ended {
            return Err(ConnectError::Lost(reason.clone()));
        }
        if !self.piece.is_empty() {
            frontend::copy_data(&mut self.session.out, &self.piece);
            self.piece.clear();
            self.session.send(&mut self.answer)?;
        }
        match self.session.stream.is_readable() {
            Ok(true) => self.session.listen(&mut self.answer)?,
            Ok(false) => {}
            Err(cause) => return Err(self.answer.explain(self.session.end(cause))),
        }
        match &self.answer.error {
            Some(error) => Err(ConnectError::Server(error.clone())),
            None => Ok(()),
        }
    }
}

impl Write for CopyIn<'_> {
    /// Fails with the server's error, wrapped in a [`ConnectError`].
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.piece.len() >= PIECE_LENGTH {
            self.send_piece().map_err(io::Error::other)?;
        }
        let taken = data.len().min(PIECE_LENGTH.saturating_sub(self.piece.len()));
        self.piece.extend_from_slice(&data[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_piece().map_err(io::Error::other)
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            if self.answer.error.is_none() {
                frontend::copy_fail(&mut self.session.out, b"the client gave up");
            }
            // The COPY is discarded, and so is its error.
            let _ = self.close();
        }
    }
}
