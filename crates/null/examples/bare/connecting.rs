//! What it takes the server to let many in: all connect and say hello, so many at once, and nobody has to prove
//! anything. The client waits in its system calls, and does nothing in between.

use std::collections::VecDeque;
use std::time::Instant;

use crate::Figures;
use crate::session::{Door, wait_for_ready};

/// With at most `at_once` on their way in.
pub fn run(clients: usize, at_once: usize, connection: &str) -> Result<Figures, String> {
    let door = Door::of(connection)?;
    let started = Instant::now();
    let (mut on_their_way, mut inside) = (VecDeque::new(), Vec::with_capacity(clients));
    for _ in 0..clients {
        if on_their_way.len() == at_once.max(1)
            && let Some(mut first) = on_their_way.pop_front()
        {
            wait_for_ready(&mut first)?;
            inside.push(first);
        }
        on_their_way.push_back(door.knock()?);
    }
    for socket in &mut on_their_way {
        wait_for_ready(socket)?;
    }
    Ok(vec![("seconds", started.elapsed().as_secs_f64())])
}
