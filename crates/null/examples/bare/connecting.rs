//! What it takes the server to let many in: all connect and say hello, so many at once, and nobody has to prove
//! anything. The client waits in its system calls, and does nothing in between.

use std::collections::VecDeque;
use std::time::Instant;

use crate::Figures;
use crate::session::{Server, wait_for_ready};

/// With at most `at_once` connecting at a time.
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
