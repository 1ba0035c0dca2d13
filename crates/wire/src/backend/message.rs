//! The server's messages, named as in the protocol manual. A message borrows the received bytes. Created by the decoder
//! (`body.rs` parses them) and read by its caller.

use std::borrow::Cow;
use std::fmt;

use super::error::ErrorFields;
use super::rows::{DataRow, RowDescription};

/// One message of the server, named as in the protocol manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A request for authentication, or its end.
    Authentication(Authentication<'a>),
    /// Value of a reported parameter.
    ParameterStatus {
        /// Name of the parameter.
        name: &'a [u8],
        /// Its value; UTF-8 only if the client encoding is.
        value: &'a [u8],
    },
    /// Key for cancel requests.
    BackendKeyData {
        /// PID of the backend.
        process_id: u32,
        /// 4 bytes in protocol 3.0; up to 256 in later versions.
        secret_key: &'a [u8],
    },
    /// The server waits for the next query.
    ReadyForQuery(TransactionStatus),
    /// A statement has succeeded.
    CommandComplete(CommandTag<'a>),
    /// An empty statement has succeeded.
    EmptyQueryResponse,
    /// A statement, or the session, has failed.
    ErrorResponse(ErrorFields<'a>),
    /// A warning or notice.
    NoticeResponse(ErrorFields<'a>),
    /// The columns of the following rows.
    RowDescription(RowDescription<'a>),
    /// One row, without its columns unless the decoder keeps rows.
    DataRow(DataRow<'a>),
    /// A Parse has succeeded.
    ParseComplete,
    /// A Bind has succeeded.
    BindComplete,
    /// A Close has succeeded.
    CloseComplete,
    /// The described statement or portal returns no rows.
    NoData,
    /// The types of a statement's parameters.
    ParameterDescription,
    /// An Execute reached its row limit.
    PortalSuspended,
    /// The server waits for CopyData of this form.
    CopyInResponse(CopyForm),
    /// CopyData follows.
    CopyOutResponse,
    /// COPY in both directions; replication only.
    CopyBothResponse,
    /// A piece of a COPY stream.
    CopyData {
        /// The bytes; `None` if the decoder does not keep rows.
        data: Option<&'a [u8]>,
        /// Number of bytes.
        length: u32,
    },
    /// The end of a COPY stream.
    CopyDone,
    /// A NOTIFY.
    NotificationResponse {
        /// PID of the notifying backend.
        process_id: u32,
        /// The channel.
        channel: &'a [u8],
        /// The payload.
        payload: &'a [u8],
    },
    /// The server does not support the requested minor version or options.
    NegotiateProtocolVersion {
        /// The newest version that the server supports.
        newest: u32,
        /// The unsupported options.
        unknown_options: Names<'a>,
    },
    /// The result of a fast-path function call, which this crate cannot call.
    FunctionCallResponse,
}

/// Authentication requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Authentication was successful.
    Ok,
    /// A password in clear text.
    CleartextPassword,
    /// A password hashed with this salt.
    Md5Password {
        /// Four random bytes.
        salt: [u8; 4],
    },
    /// A SASL exchange with one of these mechanisms.
    Sasl(Names<'a>),
    /// The server's next message in a SASL exchange.
    SaslContinue(&'a [u8]),
    /// The server's final message in a SASL exchange.
    SaslFinal(&'a [u8]),
    /// A method that is not implemented.
    Unsupported {
        /// The method's number in the protocol manual.
        code: u32,
    },
}

/// A list of names, each terminated by a zero byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    body: &'a [u8],
}

impl<'a> Names<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Names { body }
    }

    /// The names in order, up to the first empty one.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.body.split(|&byte| byte == 0).take_while(|name| !name.is_empty())
    }
}

/// Form of the data of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyForm {
    /// Binary; otherwise text or CSV.
    pub is_binary: bool,
    /// Number of columns.
    pub columns: u16,
}

/// Transaction status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside a transaction block.
    Idle,
    /// Inside a transaction block.
    InTransaction,
    /// Inside a failed transaction block.
    Failed,
}

/// Command tag, such as `INSERT 0 1`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a>(pub(super) &'a [u8]);

impl<'a> CommandTag<'a> {
    /// The tag as sent.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The tag as text.
    pub fn to_text(&self) -> Cow<'a, str> {
        encoding::decode(self.0)
    }

    /// The number of rows, if the tag ends with one.
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

impl Message<'_> {
    /// The message's name in the protocol manual, for error messages.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Authentication(_) => "Authentication",
            Message::ParameterStatus { .. } => "ParameterStatus",
            Message::BackendKeyData { .. } => "BackendKeyData",
            Message::ReadyForQuery(_) => "ReadyForQuery",
            Message::CommandComplete(_) => "CommandComplete",
            Message::EmptyQueryResponse => "EmptyQueryResponse",
            Message::ErrorResponse(_) => "ErrorResponse",
            Message::NoticeResponse(_) => "NoticeResponse",
            Message::RowDescription(_) => "RowDescription",
            Message::DataRow(_) => "DataRow",
            Message::ParseComplete => "ParseComplete",
            Message::BindComplete => "BindComplete",
            Message::CloseComplete => "CloseComplete",
            Message::NoData => "NoData",
            Message::ParameterDescription => "ParameterDescription",
            Message::PortalSuspended => "PortalSuspended",
            Message::CopyInResponse(_) => "CopyInResponse",
            Message::CopyOutResponse => "CopyOutResponse",
            Message::CopyBothResponse => "CopyBothResponse",
            Message::CopyData { .. } => "CopyData",
            Message::CopyDone => "CopyDone",
            Message::NotificationResponse { .. } => "NotificationResponse",
            Message::NegotiateProtocolVersion { .. } => "NegotiateProtocolVersion",
            Message::FunctionCallResponse => "FunctionCallResponse",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_counts_the_rows_of_the_commands_that_have_them() {
        assert_eq!(CommandTag(b"INSERT 0 12").rows(), Some(12));
        assert_eq!(CommandTag(b"COPY 100000").rows(), Some(100_000));
        assert_eq!(CommandTag(b"UPDATE 0").rows(), Some(0));
        assert_eq!(CommandTag(b"CREATE TABLE").rows(), None);
        assert_eq!(CommandTag(b"").rows(), None);
        assert_eq!(CommandTag(b"\xff \xff").rows(), None);
    }
}
