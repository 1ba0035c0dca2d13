//! Where a server is and how to get in.
//!
//! A connection string, flags and the environment become a [`Target`], as libpq has it; a target has addresses;
//! a [`Session`] is a blocking connection for everything that is not the load: detecting, loading, checking.
//! The engine takes the target and the addresses, and talks by itself.

mod address;
mod copy;
mod environment;
mod error;
mod resolve;
mod session;
mod target;

pub use address::Address;
pub use copy::CopyIn;
pub use environment::Environment;
pub use error::{Cause, ConnectError};
pub use resolve::{Overrides, resolve};
pub use session::{CancelKey, ResultSet, Row, Session, cancel};
pub use target::{Host, HostName, Target};
pub use wire::{Password, ServerError, SqlState};
