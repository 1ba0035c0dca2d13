//! Connections to real servers, PostgreSQL 18 and 9.6: TLS in all its modes, authentication, several hosts.
//! What a server can get wrong is tested with servers that are played, in `src/session/tests.rs`.

mod authentication;
mod cases;
mod certificates;
mod forge;
mod hosts;
mod support;
mod tls;
mod tls_server;
