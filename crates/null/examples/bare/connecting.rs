//! Cost of accepting many connections for the server: clients connect and start up without a password, a limited number
//! at a time. The client only waits in system calls.

use std::collections::VecDeque;
use std::time::Instant;

use crate::Figures;
use crate::session::{Server, wait_for_ready};

/// Connects `clients` clients, at most `at_once` at a time.
pub fn run(clients: usize, at_once: usize, connection: &str) -> Result<Figures, String> {
    let server = Server::new(connection)?;
    let started = Instant::now();
    let (mut connecting, mut connected) = (VecDeque::new(), Vec::with_capacity(clients));
    for _ in 0..clients {
        if connecting.len() == at_once.max(1)
            && let Some(mut first) = connecting.pop_front()
        {
            wait_for_ready(&mut first)?;
            connected.push(first);
        }
        connecting.push_back(server.start_connect()?);
    }
    for socket in &mut connecting {
        wait_for_ready(socket)?;
    }
    Ok(vec![("seconds", started.elapsed().as_secs_f64())])
}
