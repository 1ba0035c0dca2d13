//! What the server says: the decoder that finds messages in bytes, the messages, and the bodies that are read
//! only on demand (rows, errors). Knows nothing of who asked what: that is the client's state.

mod body;
mod decoder;
mod error;
mod message;
mod report;
mod rows;
mod sqlstate;

pub use decoder::Decoder;
pub use error::{ErrorFields, ServerError};
pub use message::{Authentication, CommandTag, Message, Names, TransactionStatus};
pub use rows::{DataRow, Parts, RowDescription};
pub use sqlstate::SqlState;
