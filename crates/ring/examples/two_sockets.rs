//! Two pairs of sockets on one ring: both questions are sent with one system call, and the answers come as events.
//! `cargo run -p pgmeter-ring --example two_sockets`. Linux only.
#![allow(clippy::print_stdout, reason = "its output")]

#[cfg(target_os = "linux")]
fn main() -> std::io::Result<()> {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use pgmeter_ring::{Event, Options, Ring};

    let mut ring = match Ring::new(Options { slots: 2, buffers: 8, buffer_bytes: 4096 }) {
        Ok(ring) => ring,
        Err(error) => {
            println!("the kernel does not offer io_uring here: {error}");
            return Ok(());
        }
    };
    let mut pairs = [UnixStream::pair()?, UnixStream::pair()?];
    for (slot, (ours, _)) in (0..).zip(&pairs) {
        ours.set_nonblocking(true)?;
        ring.attach(slot, ours.as_fd())?;
        ring.receive(slot)?;
        ring.send(slot, b"question").map_err(|_| std::io::Error::other("too much for the ring"))?;
    }
    ring.submit()?;
    for (number, (_, theirs)) in pairs.iter_mut().enumerate() {
        let mut question = [0; 8];
        theirs.read_exact(&mut question)?;
        write!(theirs, "answer {number}")?;
    }
    let mut answers = 0;
    while answers < pairs.len() {
        ring.wait(Duration::from_secs(1))?;
        while let Some((slot, event)) = ring.next_event() {
            if matches!(event, Event::Received) {
                println!("socket {slot}: {}", String::from_utf8_lossy(ring.received()));
                answers += 1;
            }
        }
    }
    for slot in 0..2 {
        ring.detach(slot)?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("io_uring is a part of Linux");
}
