//! What is wrong when bytes are not PostgreSQL's protocol. Made by the decoder and by the message bodies when
//! they are read; a connection that gave one of these is of no further use.

use std::fmt;

/// The bytes received are not what the protocol allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The length word of a message is below 4 or above what the kind of message may have.
    #[error("a message of type {} has the invalid length {length}", Tag(*tag))]
    Length {
        /// The message's type byte.
        tag: u8,
        /// The length as sent, which counts itself.
        length: u32,
    },
    /// No message of the server begins with this byte.
    #[error("unknown message type {}", Tag(*tag))]
    UnknownMessage {
        /// The byte found where a message's type was expected.
        tag: u8,
        /// What stands where its length would, which counts itself.
        length: u32,
    },
    /// The message's body does not have the parts that the protocol manual gives it.
    #[error("the body of a {message} message is invalid")]
    Malformed {
        /// The message's name in the protocol manual.
        message: &'static str,
    },
    /// An error without a length, which a server sends when it cannot start a process for the connection.
    #[error(
        "the server could not start a process for the connection (see the server's log: memory, or a limit of \
         processes)"
    )]
    UnframedError,
    /// The columns of a row were asked for, but rows are skipped unless `Decoder::keep_rows` says otherwise.
    #[error("the columns of a row were asked for, but its bytes were skipped")]
    RowNotKept,
}

/// A type byte as a reader can recognise it: the character where there is one, the number where not.
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
