//! Reads the parts of a message's body. Input is untrusted: a body that is too short is an error, never a panic. Used by
//! `body` for whole messages, by `rows` for columns, and by `values` for binary values.

use crate::protocol_error::ProtocolError;

/// Reads the parts of a body in order; an error if the body is too short.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    message: &'static str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(rest: &'a [u8], message: &'static str) -> Self {
        Reader { rest, message }
    }

    pub(super) fn malformed(&self) -> ProtocolError {
        ProtocolError::Malformed { message: self.message }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], ProtocolError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.array().map(i32::from_be_bytes)
    }

    /// A string up to its zero byte, which is consumed.
    pub(super) fn text(&mut self) -> Result<&'a [u8], ProtocolError> {
        let length = self.rest.iter().position(|&byte| byte == 0).ok_or(self.malformed())?;
        let (text, rest) = self.rest.split_at(length);
        self.rest = &rest[1..];
        Ok(text)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Checks that nothing is left.
    pub(super) fn finish<T>(&self, read: T) -> Result<T, ProtocolError> {
        if self.rest.is_empty() { Ok(read) } else { Err(self.malformed()) }
    }
}
