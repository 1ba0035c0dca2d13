//! The server's messages: the decoder, the messages, and bodies that are parsed on demand (rows, errors). Independent
//! of the requests, which are the client's state.

mod body;
mod decoder;
mod error;
mod message;
mod reader;
mod report;
mod rows;
mod sqlstate;
mod values;

pub use decoder::Decoder;
pub use error::{ErrorFields, ServerError};
pub use message::{Authentication, CommandTag, CopyForm, Message, Names, TransactionStatus};
pub use rows::{DataRow, Parts, RowDescription};
pub use sqlstate::SqlState;
pub use values::{RowParser, Value};
