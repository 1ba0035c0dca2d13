//! PostgreSQL's protocol, version 3.0, as bytes in and messages out.
//!
//! Pure: no socket, no clock, no thread. The engine's clients and `connect`'s control sessions hand over the
//! bytes that they read, act on the messages that come out, and send what was written into their buffer.
//! In reading order: what the client says, what the server says, how a session begins.

pub mod backend;
pub mod frontend;
mod password;
mod protocol_error;
mod startup;

pub use backend::{Decoder, Message, ServerError, SqlState, TransactionStatus};
pub use password::Password;
pub use protocol_error::ProtocolError;
pub use startup::{
    CancelKey, ChannelBinding, Method, Progress, RequiredMethods, Startup, StartupError, StartupParameters,
};
