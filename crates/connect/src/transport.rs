//! Encryption and keep-alive of a connection.
//! Detected by a session; the engine's clients then connect in the same way.

use std::io;
use std::os::fd::AsFd;

use rustix::net::sockopt;

use crate::address::Address;
use crate::target::KeepAlive;
use crate::tls::Tls;

/// Encryption and keep-alive of a connection.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// TLS configuration; `None` for a plain connection.
    pub tls: Option<Tls>,
    /// Detection of dead TCP connections.
    pub keep_alive: KeepAlive,
}

impl KeepAlive {
    /// Sets socket options: no delay for small packets, and keep-alive. No effect on a Unix socket.
    pub fn prepare_socket(&self, address: &Address, socket: impl AsFd) -> io::Result<()> {
        if matches!(address, Address::Unix(_)) {
            return Ok(());
        }
        let KeepAlive { is_on, idle, interval, count, user_timeout_ms } = *self;
        sockopt::set_tcp_nodelay(&socket, true)?;
        sockopt::set_socket_keepalive(&socket, is_on)?;
        if let Some(idle) = idle.filter(|_| is_on) {
            sockopt::set_tcp_keepidle(&socket, idle)?;
        }
        if let Some(interval) = interval.filter(|_| is_on) {
            sockopt::set_tcp_keepintvl(&socket, interval)?;
        }
        if let Some(count) = count.filter(|_| is_on) {
            sockopt::set_tcp_keepcnt(&socket, count)?;
        }
        if let Some(limit) = user_timeout_ms {
            sockopt::set_tcp_user_timeout(&socket, limit)?;
        }
        Ok(())
    }
}
