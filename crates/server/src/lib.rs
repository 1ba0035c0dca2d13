//! Embedded PostgreSQL servers: find or download, initdb, configure, start, stop.
//!
//! [`obtain`] finds or downloads the programs; [`Server::start`] creates a data directory and runs them;
//! [`Server::standby`] makes a standby, and [`Server::promote`] a primary of it. When the
//! owning process ends for any reason, the server and its data are removed: by [`Drop`], by a guard process if the
//! owner is killed, and by [`sweep`] at the next start. Permanent servers have a name ([`named`]). Nothing here
//! prints or exits. Only [`Environment::of_process`] reads the environment, and the download its proxies and
//! certificates.

mod access;
mod account;
mod archives;
#[cfg(test)]
mod attacks;
mod cache;
mod copies;
mod digests;
mod error;
mod facts;
mod fetch;
mod files;
mod guard;
mod handle;
mod home;
mod installation;
mod launch;
mod locations;
mod memory;
pub mod named;
mod patience;
mod pooler;
mod postmaster;
mod process;
mod recovery;
mod removal;
mod running;
mod settings;
mod standby;
mod status;
mod sweep;
mod tablespaces;
mod tls;
mod trust;
mod unpack;
mod version;

pub use archives::Archive;
pub use cache::FetchProgress;
pub use digests::Checksum;
pub use error::ServerError;
pub use facts::{Build, Facts, facts};
pub use handle::{ServerHandle, Shutdown};
pub use installation::{Installation, Origin, obtain, obtain_verified};
pub use locations::{Environment, Locations};
pub use memory::available_memory;
pub use pooler::{
    Pooler, PoolerListens, PoolerOptions, PoolerProgram, PoolerVersion, check_pooler_setting, find_pooler,
};
pub use running::{Server, ServerOptions};
pub use settings::{Instrumentation, Setting, default_shared_buffers};
pub use standby::{StandbyOptions, SynchronousMethod, synchronous_standby_names};
pub use sweep::{Swept, sweep};
pub use trust::{Changeable, changeable, check_directory};
pub use version::{Major, Version, Wanted};
