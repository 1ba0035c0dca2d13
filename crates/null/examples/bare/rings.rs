//! The exchange over pgmeter's own io_uring, with the settings of its driver. It does not handle full or failed sockets
//! and TLS.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use ring::{Event, Options, Ring};
use sockets::thread_cpu_time;

use crate::exchange::{Exchanged, Setup};

/// As in the driver.
const BUFFERS: u16 = 256;
const BUFFER_BYTES: u32 = 8 * 1024;

pub fn over_ring(setup: &Setup) -> io::Result<Exchanged> {
    let slots = u32::try_from(setup.sockets.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut ring = Ring::new(Options { slots, buffers: BUFFERS, buffer_bytes: BUFFER_BYTES })?;
    for (slot, socket) in (0..).zip(&setup.sockets) {
        ring.attach(slot, socket.as_fd())?;
        ring.receive(slot)?;
        send(&mut ring, slot, &setup.request)?;
    }
    let (mut heard, mut count) = (vec![0; setup.sockets.len()], 0);
    let (started, cpu_before) = (Instant::now(), thread_cpu_time());
    while started.elapsed() < setup.duration {
        ring.wait(setup.duration)?;
        // Only available completions: later ones are handled by the next wait, which also submits the requests.
        for _ in 0..setup.sockets.len() {
            let Some((slot, event)) = ring.next_event() else { break };
            match event {
                Event::Received => heard[slot as usize] += ring.received().len(),
                Event::Ended(error) => return Err(error.unwrap_or(io::ErrorKind::UnexpectedEof.into())),
                Event::Writable => {}
            }
            if heard[slot as usize] == setup.reply_bytes {
                heard[slot as usize] = 0;
                count += 1;
                send(&mut ring, slot, &setup.request)?;
            }
        }
        all_was_taken(&mut ring)?;
    }
    // Removing thousands of sockets from the kernel costs as much as many exchanges, and is not measured.
    Ok(Exchanged { count, cpu: thread_cpu_time().saturating_sub(cpu_before) })
}

fn send(ring: &mut Ring, slot: u32, request: &[u8]) -> io::Result<()> {
    if ring.send(slot, request).is_err() {
        ring.submit()?;
        all_was_taken(ring)?;
        ring.send(slot, request).map_err(|_| io::Error::other("the kernel takes no more requests"))?;
    }
    Ok(())
}

/// A request is smaller than any socket's buffer, and each client has at most one.
fn all_was_taken(ring: &mut Ring) -> io::Result<()> {
    match ring.next_unsent() {
        None => Ok(()),
        Some(unsent) => Err(unsent.error.unwrap_or_else(|| io::Error::other("a socket is full"))),
    }
}
