//! PostgreSQL's protocol, version 3.0: decodes bytes into messages, and encodes messages.
//!
//! Pure: no socket, clock or thread. A caller passes received bytes, handles the decoded messages, and sends the contents of
//! its buffers. Reading order: `frontend` (the client's messages),
//! `backend` (the server's messages), `startup`.

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
