//! Violations of the protocol.
//! Returned by the decoder and by message bodies; the connection cannot be used any more.

use std::fmt;

/// The received bytes violate the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The length of a message is below 4 or above the limit of its kind.
    #[error("a message of type {} has the invalid length {length}", Tag(*tag))]
    Length {
        /// The message's type byte.
        tag: u8,
        /// The length as sent, which includes itself.
        length: u32,
    },
    /// No server message has this type byte.
    #[error("unknown message type {}", Tag(*tag))]
    UnknownMessage {
        /// The byte at the position of a message's type.
        tag: u8,
        /// The value at the position of its length, which includes itself.
        length: u32,
    },
    /// The message's body does not match the layout in the protocol manual.
    #[error("the body of a {message} message is invalid")]
    Malformed {
        /// The message's name in the protocol manual.
        message: &'static str,
    },
    /// An error without a length, which a server sends if it cannot start a process for the connection.
    #[error(
        "the server could not start a process for the connection (see the server's log: memory, or a limit of \
         processes)"
    )]
    UnframedError,
    /// The columns of a row were requested, but rows are skipped without `Decoder::keep_rows`.
    #[error("the columns of a row were asked for, but its bytes were skipped")]
    RowNotKept,
}

/// Shows a type byte as a character if it is printable, otherwise as a number.
struct Tag(u8);

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_ascii_graphic() {
            write!(formatter, "'{}'", char::from(self.0))
        } else {
            write!(formatter, "byte 0x{:02x}", self.0)
        }
    }
}
