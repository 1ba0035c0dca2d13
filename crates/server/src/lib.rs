//! PostgreSQL as a thing we manage: find or fetch, initdb, configure, start, stop.
//!
//! [`obtain`] finds the programs or fetches them, [`Server::start`] makes a data directory and runs them, and
//! whatever ends the process that asked, the server and its data go with it: by [`Drop`], by a guard process
//! once a killed owner is gone, and by [`sweep`] at the next start. Servers that are to stay have a name
//! ([`named`]). Nothing here prints or exits. Only [`Environment::of_process`] reads the environment, and the download
//! its proxies and certificates.

mod access;
mod account;
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
mod home;
mod installation;
mod launch;
mod locations;
mod memory;
pub mod named;
mod patience;
mod process;
mod removal;
mod running;
mod settings;
mod sweep;
mod tablespaces;
mod tls;
mod trust;
mod version;

pub use digests::Checksum;
pub use error::ServerError;
pub use facts::{Build, Facts, facts};
pub use fetch::FetchProgress;
pub use installation::{Installation, Origin, obtain, obtain_verified};
pub use locations::{Environment, Locations};
pub use memory::available_memory;
pub use running::{Server, ServerOptions};
pub use settings::{Instrumentation, Setting, default_shared_buffers};
pub use sweep::{Swept, sweep};
pub use version::{Major, Version, Wanted};
