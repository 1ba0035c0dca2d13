//! Where a server is and how to get in.
//!
//! A connection string, flags and the environment become a [`Target`], as libpq has it; a target has addresses;
//! a [`Session`] is a blocking connection for everything that is not the load: detecting, loading, checking.
//! The engine takes the target and the addresses, and talks by itself.
//!
//! There is no TLS yet. `sslmode` disable, allow and prefer connect without it, as libpq does to a server that has
//! none; require, verify-ca and verify-full are refused, so that asking for TLS never ends in a plain connection.
//! `Instant::now` is read in one place, `session/stream.rs`, for the limits of waiting.

mod address;
mod conninfo;
mod environment;
mod error;
mod keywords;
mod password_file;
mod resolve;
mod session;
mod target;
mod uri;

pub use address::Address;
pub use environment::Environment;
pub use error::{Cause, ConnectError};
pub use resolve::{Overrides, resolve};
pub use session::{CancelKey, CopyIn, ResultSet, Row, Session, cancel};
pub use target::{Host, HostName, KeepAlive, Target};
pub use wire::{Password, ServerError, SqlState};
