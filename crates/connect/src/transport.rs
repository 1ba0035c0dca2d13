//! How a connection to an address is made, beside the address: through TLS or not, and how a dead peer is found out.
//! What a session has found to work; the engine's clients then connect in the same way.

use std::io;
use std::os::fd::AsFd;

use rustix::net::sockopt;

use crate::address::Address;
use crate::target::KeepAlive;
use crate::tls::Tls;

/// How a connection to an address is made.
#[derive(Clone, Debug, Default)]
pub struct Transport {
    /// Through TLS, like this; `None` for a plain connection.
    pub tls: Option<Tls>,
    /// How a silent TCP connection is found dead.
    pub keep_alive: KeepAlive,
}

impl KeepAlive {
    /// Prepares a connected socket: no delay for small packets, and keep-alive as asked for. Of no effect on a
    /// Unix socket.
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
