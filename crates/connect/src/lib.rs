//! Where a server is and how to get in.
//!
//! A connection string, flags and the environment become a [`Target`], as libpq has it; a target has addresses;
//! a [`Session`] is a blocking connection for everything that is not the load: detecting, loading, checking.
//! The engine takes the target and the addresses, and talks by itself.
//!
//! TLS is rustls; [`Tls`] and its channels know no socket, so that sessions and the engine share them. What libpq
//! takes and is not supported is refused by name, never dropped in silence: docs/connections.md lists it all.
//! `Instant::now` is read in one place, `session/stream.rs`, for the limits of waiting.

mod address;
mod conninfo;
mod environment;
mod error;
mod keywords;
mod password_file;
pub mod quote;
mod resolve;
mod service;
mod session;
mod target;
mod tls;
mod transport;
mod uri;

pub use address::Address;
pub use environment::Environment;
pub use error::{Cause, ConnectError};
pub use resolve::{DEFAULT_APPLICATION_NAME, Overrides, resolve};
pub use session::{
    CANCELS_AT_ONCE, CancelRequest, Closer, CopyIn, ResultSet, Row, Session, StatementLimit, cancel,
    cancel_all,
};
pub use target::{CONTROL_TIMEOUT, Host, HostName, HostOrder, KeepAlive, SessionAttributes, Target};
pub use tls::{
    Tls, TlsChannel, TlsError, TlsFile, TlsMode, TlsNegotiation, TlsSettings, TlsVersion, TrustedRoots,
    judge_certificates,
};
pub use transport::Transport;
pub use wire::{CancelKey, ChannelBinding, Password, ProtocolError, RequiredMethods, ServerError, SqlState};
