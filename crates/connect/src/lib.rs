//! Connections to servers. A connection string, flags and the environment become a [`Target`], as in libpq; a target
//! has addresses; a [`Session`] is a blocking connection for control statements. The engine uses targets and addresses
//! with its own sockets.
//!
//! [`Tls`] uses rustls without sockets, so that sessions and the engine share it. Unsupported parameters of libpq are
//! refused by name: docs/connections.md lists them. Only `stopwatch.rs` and `session/stream.rs` read the clock.

mod address;
mod advice;
mod conninfo;
mod database_lock;
mod environment;
mod error;
mod keywords;
mod lock_wait;
mod password_file;
mod patience;
mod publications;
pub mod quote;
mod regular_file;
mod resolve;
mod service;
mod session;
mod stopwatch;
mod target;
mod tls;
mod transport;
mod uri;

pub use address::Address;
pub use advice::connection_limit;
pub use database_lock::{DatabaseUse, claim_database, database_holders, release_database};
pub use environment::Environment;
pub use error::{Cause, ConnectError};
pub use lock_wait::{
    LockHolder, LockNotGranted, LockWait, LockWaitLimit, Patience, TellLockWait, in_words as holders_in_words,
};
pub use patience::{IsOwn, LockFailure, LockTry, LockWaits, LockingStatements, Remains, StatementFailure};
pub use publications::{publications_of_new_tables, refuse_published_table, subscriber_of_new_tables};
pub use resolve::{DEFAULT_APPLICATION_NAME, Overrides, connection_text, resolve};
pub use session::{
    CANCELS_AT_ONCE, CancelRequest, Closer, Column, CopyIn, OwnSettings, RawConnection, ResultSet, Row,
    RowSink, Session, SessionSetting, StatementLimit, cancel, cancel_all, value_formats,
};
pub use stopwatch::Stopwatch;
pub use target::{CONTROL_TIMEOUT, Host, HostName, HostOrder, KeepAlive, SessionAttributes, Target};
pub use tls::{
    Tls, TlsChannel, TlsError, TlsFile, TlsMode, TlsNegotiation, TlsSettings, TlsVersion, TrustedRoots,
    certificate_fits, judge_certificates,
};
pub use transport::Transport;
pub use wire::{CancelKey, ChannelBinding, Password, ProtocolError, RequiredMethods, ServerError, SqlState};
