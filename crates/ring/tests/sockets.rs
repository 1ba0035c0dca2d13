//! The ring over pairs of real sockets: what the kernel promises, and the ring with it. Sends that are taken whole,
//! in part or not at all; more requests than fit; buffers that run out; slots that change their socket. No timing.

#![cfg(target_os = "linux")]

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pgmeter_ring::{Event, Options, Refused, Ring};

/// Long enough for whatever is to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A ring, unless the system has none, which is said.
fn ring(options: Options) -> Option<Ring> {
    match Ring::new(options) {
        Ok(ring) => Some(ring),
        Err(error) => {
            let mut stderr = std::io::stderr();
            let _ = writeln!(stderr, "NOT TESTED: there is no io_uring here: {error}");
            None
        }
    }
}

fn options(slots: u32) -> Options {
    Options { slots, buffers: 8, buffer_bytes: 512 }
}

/// A socket for the ring and its peer.
fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    ours.set_nonblocking(true).expect("a socket that does not block");
    (ours, theirs)
}

/// Waits for the next event.
fn next(ring: &mut Ring) -> (u32, Event) {
    loop {
        if let Some(event) = ring.next_event() {
            return event;
        }
        ring.wait(PATIENCE).expect("a wait");
    }
}

/// Reads so many bytes that come to a slot.
fn read(ring: &mut Ring, slot: u32, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        let (from, event) = next(ring);
        assert_eq!(from, slot);
        assert!(matches!(event, Event::Received), "{event:?}");
        bytes.extend_from_slice(ring.received());
    }
    bytes
}

/// Bytes of which each place differs from its neighbours.
fn pattern(count: usize) -> Vec<u8> {
    (0..251).cycle().take(count).collect()
}

#[test]
fn what_is_sent_arrives_and_what_comes_is_heard_until_the_end() {
    let Some(mut ring) = ring(options(2)) else { return };
    let (ours, mut theirs) = pair();
    ring.attach(1, ours.as_fd()).expect("a slot");
    ring.receive(1).expect("room");
    ring.send(1, b"question").expect("room");
    ring.submit().expect("submitted");
    assert!(ring.next_unsent().is_none());
    let mut question = [0; 8];
    theirs.read_exact(&mut question).expect("what was sent");
    assert_eq!(&question, b"question");
    for answer in [&b"answer"[..], b"another"] {
        theirs.write_all(answer).expect("room");
        assert_eq!(read(&mut ring, 1, answer.len()), answer);
    }
    drop(theirs);
    assert!(matches!(next(&mut ring), (1, Event::Ended(None))));
    assert!(ring.next_event().is_none());
    assert_eq!(ring.received(), b"");
}

#[test]
fn what_a_full_socket_does_not_take_comes_back_from_the_first_byte_on() {
    let Some(mut ring) = ring(options(1)) else { return };
    let (ours, mut theirs) = pair();
    rustix::net::sockopt::set_socket_send_buffer_size(&ours, 1).expect("a small buffer");
    ring.attach(0, ours.as_fd()).expect("a slot");
    let sent = pattern(60_000);
    ring.send(0, &sent).expect("room");
    ring.submit().expect("submitted");
    let unsent = ring.next_unsent().expect("more than fits");
    assert!(unsent.error.is_none());
    let rest = unsent.rest.to_vec();
    assert!(rest.len() < sent.len(), "some of it fits");
    assert_eq!(rest, sent[sent.len() - rest.len()..]);
    // Nothing at all is taken now.
    ring.submit().expect("submitted");
    ring.send(0, b"more").expect("room");
    ring.submit().expect("submitted");
    assert_eq!(ring.next_unsent().expect("nothing fits").rest, b"more");
    // The kernel does not send by itself what it has said it did not.
    let mut arrived = vec![0; sent.len() - rest.len()];
    theirs.read_exact(&mut arrived).expect("what was taken");
    assert_eq!(arrived, sent[..arrived.len()]);
    ring.watch_writable(0).expect("room");
    assert!(matches!(next(&mut ring), (0, Event::Writable)));
    theirs.set_nonblocking(true).expect("a socket that does not block");
    assert_eq!(theirs.read(&mut [0]).expect_err("nothing more").kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_second_send_of_a_slot_waits_for_the_fate_of_the_first() {
    let Some(mut ring) = ring(options(2)) else { return };
    let (ours, _theirs) = pair();
    ring.attach(0, ours.as_fd()).expect("a slot");
    ring.send(0, b"first").expect("room");
    assert!(ring.has_queued(0));
    assert_eq!(ring.send(0, b"second"), Err(Refused));
    ring.submit().expect("submitted");
    assert!(!ring.has_queued(0));
    ring.send(0, b"second").expect("the first is done with");
}

/// A full batch is no reason to refuse for good: once its sends are seen, taken or not, the next batch begins.
#[test]
fn a_full_batch_makes_room_although_its_sockets_are_full_too() {
    const SLOTS: u32 = 200;
    for bytes in [400, 4_000, 40_000, Ring::SEND_BYTES_MAX] {
        let Some(mut ring) = ring(options(SLOTS)) else { return };
        let pairs: Vec<_> = (0..SLOTS).map(|_| pair()).collect();
        for (slot, (ours, _)) in (0..).zip(&pairs) {
            rustix::net::sockopt::set_socket_send_buffer_size(ours, 1).expect("a small buffer");
            ring.attach(slot, ours.as_fd()).expect("a slot");
        }
        let data = pattern(bytes);
        let mut unsent = 0;
        for slot in (0..SLOTS).cycle().take(3 * SLOTS as usize) {
            if ring.send(slot, &data).is_err() {
                ring.submit().expect("submitted");
                while let Some(one) = ring.next_unsent() {
                    assert!(one.error.is_none() && one.slot < SLOTS);
                    unsent += 1;
                }
                assert_eq!(ring.send(slot, &data), Ok(()), "slot {slot} of {bytes} bytes");
            }
        }
        assert!(unsent > 0 || bytes < 4_000, "{bytes} bytes do not fit");
    }
}

#[test]
fn a_broken_socket_says_so() {
    let Some(mut ring) = ring(options(1)) else { return };
    let (ours, theirs) = pair();
    ring.attach(0, ours.as_fd()).expect("a slot");
    drop(theirs);
    ring.send(0, b"to nobody").expect("room");
    ring.submit().expect("submitted");
    let unsent = ring.next_unsent().expect("nobody takes it");
    assert_eq!(unsent.error.map(|error| error.kind()), Some(ErrorKind::BrokenPipe));
}

#[test]
fn more_requests_than_fit_are_handed_over_in_between() {
    const SLOTS: u32 = 1000;
    let Some(mut ring) = ring(options(SLOTS)) else { return };
    let mut pairs: Vec<_> = (0..SLOTS).map(|_| pair()).collect();
    for (slot, (ours, _)) in (0..).zip(&pairs) {
        ring.attach(slot, ours.as_fd()).expect("a slot");
        ring.receive(slot).expect("room");
        ring.watch_writable(slot).expect("room");
        while ring.send(slot, &slot.to_be_bytes()).is_err() {
            ring.submit().expect("submitted");
        }
    }
    ring.submit().expect("submitted");
    assert!(ring.next_unsent().is_none());
    for (slot, (_, theirs)) in (0_u32..).zip(&mut pairs) {
        let mut bytes = [0; 4];
        theirs.read_exact(&mut bytes).expect("what was sent");
        assert_eq!(bytes, slot.to_be_bytes());
        theirs.write_all(&bytes).expect("room");
    }
    let mut heard = vec![false; SLOTS as usize];
    let mut writable = vec![false; SLOTS as usize];
    while heard.iter().chain(&writable).any(|done| !done) {
        match next(&mut ring) {
            (slot, Event::Received) => {
                assert_eq!(ring.received(), slot.to_be_bytes());
                assert!(!std::mem::replace(&mut heard[slot as usize], true), "once");
            }
            (slot, Event::Writable) => {
                assert!(!std::mem::replace(&mut writable[slot as usize], true), "once");
            }
            (slot, event) => panic!("{slot}: {event:?}"),
        }
    }
}

#[test]
fn what_comes_while_all_buffers_are_full_comes_later_and_in_order() {
    let Some(mut ring) = ring(options(1)) else { return };
    let (ours, mut theirs) = pair();
    ring.attach(0, ours.as_fd()).expect("a slot");
    ring.receive(0).expect("room");
    let sent = pattern(50_000);
    theirs.write_all(&sent).expect("room");
    drop(theirs);
    assert_eq!(read(&mut ring, 0, sent.len()), sent);
    assert!(matches!(next(&mut ring), (0, Event::Ended(None))));
}

#[test]
fn a_slot_forgets_its_last_socket_and_the_socket_is_let_go() {
    let Some(mut ring) = ring(options(1)) else { return };
    for round in 0..200_u8 {
        let (ours, mut theirs) = pair();
        ring.attach(0, ours.as_fd()).expect("a slot");
        drop(ours);
        ring.receive(0).expect("room");
        // The bytes of the one before, which nobody wanted, are not for this one.
        theirs.write_all(&[round; 3]).expect("room");
        assert_eq!(read(&mut ring, 0, 3), [round; 3]);
        theirs.write_all(b"unwanted").expect("room");
        ring.wait(PATIENCE).expect("a wait");
        ring.send(0, b"good-bye").expect("room");
        ring.detach(0).expect("detached");
        ring.wait(Duration::ZERO).expect("a wait");
        assert!(ring.next_event().is_none());
        let mut rest = Vec::new();
        // On a Unix socket, unread bytes make the end an error.
        let end = theirs.read_to_end(&mut rest).map_err(|error| error.kind());
        assert!(matches!(end, Ok(_) | Err(ErrorKind::ConnectionReset)), "{end:?}");
        assert_eq!(rest, b"good-bye");
    }
}

#[test]
fn what_is_queued_goes_out_before_a_ring_is_gone_and_its_sockets_with_it() {
    let Some(mut ring) = ring(options(1)) else { return };
    let (ours, mut theirs) = pair();
    ring.attach(0, ours.as_fd()).expect("a slot");
    drop(ours);
    ring.receive(0).expect("room");
    ring.send(0, b"last words").expect("room");
    drop(ring);
    let mut words = Vec::new();
    theirs.read_to_end(&mut words).expect("the end");
    assert_eq!(words, b"last words");
}

#[test]
fn nothing_happens_until_the_time_is_over() {
    let Some(mut ring) = ring(options(1)) else { return };
    let (ours, _theirs) = pair();
    ring.attach(0, ours.as_fd()).expect("a slot");
    ring.receive(0).expect("room");
    ring.wait(Duration::from_millis(1)).expect("a wait");
    ring.wait(Duration::ZERO).expect("a wait");
    assert!(!ring.has_events());
    assert!(ring.next_event().is_none());
}
