//! The server's messages. Small bodies are checked and read when the message is found; large ones stay bytes
//! until someone asks. Nothing here is copied: a message borrows what was received.

use std::borrow::Cow;
use std::fmt;

use super::error::ErrorFields;
use super::rows::{DataRow, ParameterTypes, RowDescription};
use crate::protocol_error::ProtocolError;

/// One message of the server, named as in the protocol manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A demand for authentication, or its end.
    Authentication(Authentication<'a>),
    /// A setting that clients care for has this value now.
    ParameterStatus {
        /// The setting.
        name: &'a [u8],
        /// Its value; UTF-8 only if the client encoding is.
        value: &'a [u8],
    },
    /// What a cancel request must show.
    BackendKeyData {
        /// The server process.
        process_id: u32,
        /// 4 bytes in protocol 3.0; up to 256 later.
        secret_key: &'a [u8],
    },
    /// The server waits for the next query.
    ReadyForQuery(TransactionStatus),
    /// A statement has ended well.
    CommandComplete(CommandTag<'a>),
    /// An empty statement has ended well.
    EmptyQueryResponse,
    /// A statement, or the session, has failed.
    ErrorResponse(ErrorFields<'a>),
    /// A warning or remark.
    NoticeResponse(ErrorFields<'a>),
    /// The columns of the rows to come.
    RowDescription(RowDescription<'a>),
    /// One row, without its columns unless the decoder keeps rows.
    DataRow(DataRow<'a>),
    /// A Parse has succeeded.
    ParseComplete,
    /// A Bind has succeeded.
    BindComplete,
    /// A Close has succeeded.
    CloseComplete,
    /// What was described returns no rows.
    NoData,
    /// The types of a statement's parameters.
    ParameterDescription(ParameterTypes<'a>),
    /// An Execute reached its limit of rows.
    PortalSuspended,
    /// The server waits for CopyData.
    CopyInResponse(CopyFormat),
    /// CopyData is about to come.
    CopyOutResponse(CopyFormat),
    /// Both ways; replication only.
    CopyBothResponse(CopyFormat),
    /// A piece of a COPY stream; no bytes unless the decoder keeps rows.
    CopyData {
        /// The bytes, or none if the decoder does not keep rows.
        data: Option<&'a [u8]>,
        /// Their number.
        length: u32,
    },
    /// The end of a COPY stream.
    CopyDone,
    /// A NOTIFY of another session.
    NotificationResponse {
        /// The notifying server process.
        process_id: u32,
        /// The channel.
        channel: &'a [u8],
        /// The payload.
        payload: &'a [u8],
    },
    /// The server answers with an older protocol or does not know options asked for.
    NegotiateProtocolVersion {
        /// The newest version that it speaks.
        newest: u32,
        /// The unknown options: names, each ended by a zero byte.
        unknown_options: Mechanisms<'a>,
    },
    /// The result of a fast-path function call, which pgmeter never makes.
    FunctionCallResponse,
}

/// The server's demands on who wants in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The client is in.
    Ok,
    /// The password as it is.
    CleartextPassword,
    /// The password hashed with this salt.
    Md5Password {
        /// Four random bytes.
        salt: [u8; 4],
    },
    /// A SASL exchange, one of these mechanisms.
    Sasl(Mechanisms<'a>),
    /// The server's next words in a SASL exchange.
    SaslContinue(&'a [u8]),
    /// The server's last words in a SASL exchange.
    SaslFinal(&'a [u8]),
    /// Something that is not spoken here.
    Unsupported {
        /// The method's number in the protocol manual.
        code: u32,
    },
}

/// A list of names, each ended by a zero byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanisms<'a> {
    body: &'a [u8],
}

impl<'a> Mechanisms<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Mechanisms { body }
    }

    /// The names in order, up to the first empty one.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.body.split(|&byte| byte == 0).take_while(|name| !name.is_empty())
    }
}

/// Where a session stands between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside a transaction block.
    Idle,
    /// Inside a transaction block.
    InTransaction,
    /// Inside a transaction block that can only be rolled back.
    Failed,
}

/// What a statement did, such as `INSERT 0 1`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a>(pub(super) &'a [u8]);

impl<'a> CommandTag<'a> {
    /// The tag as sent.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The tag as text.
    pub fn to_text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// The number of rows, if the tag ends in one.
    pub fn rows(&self) -> Option<u64> {
        let last = self.0.rsplit(|&byte| byte == b' ').next()?;
        std::str::from_utf8(last).ok()?.parse().ok()
    }
}

impl fmt::Debug for CommandTag<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.to_text())
    }
}

/// The form of a COPY stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyFormat {
    /// True for the binary format.
    pub is_binary: bool,
    /// The number of columns.
    pub columns: u16,
}

/// Reads the parts of a body in order; each step fails if the body is too short.
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

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, ProtocolError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, ProtocolError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, ProtocolError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, ProtocolError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Up to the next zero byte, which is read too.
    pub(super) fn text(&mut self) -> Result<&'a [u8], ProtocolError> {
        let length = self.rest.iter().position(|&byte| byte == 0).ok_or(self.malformed())?;
        let (text, rest) = self.rest.split_at(length);
        self.rest = &rest[1..];
        Ok(text)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Nothing may be left.
    pub(super) fn finish(&self) -> Result<(), ProtocolError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.malformed()) }
    }
}
