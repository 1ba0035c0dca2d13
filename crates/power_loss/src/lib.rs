//! For developers only: power loss, which no signal to a server can show, because the kernel keeps what the server wrote.
//!
//! [`file_system`] is a model of files that forget what was not flushed; [`pages`] is the content of one. [`mount`]
//! serves it to the kernel by FUSE, in a process of its own ([`service`]), which a [`disk`] starts. [`rounds`] runs a real
//! PostgreSQL on it under [`load`], cuts the power ([`crash`]), and looks for acknowledged transactions that are gone.
//! All mounts are in a [`namespace`] of their own.

pub mod crash;
pub mod disk;
pub mod draws;
pub mod file_system;
pub mod load;
pub mod mount;
pub mod namespace;
pub mod pages;
pub mod rounds;
pub mod service;
