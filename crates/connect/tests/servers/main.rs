//! Connections to real servers, PostgreSQL 18 and 9.6: all TLS modes, authentication, several hosts.
//! `src/session/tests.rs` tests invalid behaviour with fake servers.

mod authentication;
mod cases;
mod certificates;
mod forge;
mod hosts;
mod lock_waits;
mod password_files;
mod repeated_queries;
mod service_files;
mod session_state;
mod support;
mod tls;
mod tls_server;
