//! COPY … FROM STDIN as a writer: rows in, messages out, the server's error as soon as it comes.
//! Used by the loaders of workloads.

use std::io::{self, Write};

use wire::frontend;

use super::Session;
use super::results::Answer;
use crate::error::ConnectError;

/// Bytes collected for one CopyData message and one system call; more gains nothing measurable.
const PIECE_LENGTH: usize = 64 * 1024;

/// A COPY under way. Dropped without [`CopyIn::finish`], it fails on the server and nothing is kept.
/// An error of the server ends the writing early; `finish` then returns it.
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

    /// Ends the stream; returns the number of rows that the server took.
    pub fn finish(mut self) -> Result<u64, ConnectError> {
        if self.answer.error.is_none() {
            // An error of the server's is heard to its end below; one that ended the session is kept there.
            if self.send_piece().is_ok() {
                frontend::copy_done(&mut self.session.out);
            }
        }
        self.close()
    }

    /// Sends what is left in the session's buffer and hears the answer to its end.
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

    /// Sends what was collected, and listens whether the server has an objection.
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
    /// Fails with the server's error (a [`ConnectError`] inside) once it has one.
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
            // The COPY is thrown away; so is the error that says so.
            let _ = self.close();
        }
    }
}
