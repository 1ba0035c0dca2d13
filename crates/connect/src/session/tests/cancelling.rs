//! Cancelling many sessions: concurrent requests, their limit, and the time limit. The servers are listeners that
//! accept requests in groups, one by one, or not at all.

use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::CancelKey;
use crate::session::cancel::{CANCELS_AT_ONCE, CancelRequest, cancel_all};
use crate::{Address, Transport};

/// More than all tests take; less than sequential requests would take.
const GENEROUS: Duration = Duration::from_secs(60);

fn keys(count: u32) -> Vec<CancelKey> {
    (0..count).map(|process_id| CancelKey { process_id, secret_key: vec![1, 2, 3, 4] }).collect()
}

fn requests<'a>(
    address: &'a Address,
    transport: &'a Transport,
    keys: &'a [CancelKey],
) -> Vec<CancelRequest<'a>> {
    keys.iter().map(|key| CancelRequest { address, transport, key }).collect()
}

/// Accepts connections in groups of the maximum size, and closes a group only when it is complete.
fn serve_in_groups(listener: &UnixListener, mut left: usize) -> bool {
    let mut is_within_bounds = true;
    while left > 0 {
        let size = left.min(CANCELS_AT_ONCE);
        let group: Vec<UnixStream> = (0..size).map(|_| listener.accept().expect("a request").0).collect();
        listener.set_nonblocking(true).expect("a socket");
        is_within_bounds &= size < CANCELS_AT_ONCE || listener.accept().is_err();
        listener.set_nonblocking(false).expect("a socket");
        group.iter().for_each(hear);
        left -= group.len();
    }
    is_within_bounds
}

/// Reads a request to its end.
fn hear(mut stream: &UnixStream) {
    stream.read_exact(&mut [0; 16]).expect("a whole request");
}

fn listen(folder: &Path) -> (Address, UnixListener) {
    let path = folder.join(".s.PGSQL.5432");
    let listener = UnixListener::bind(&path).expect("a socket");
    (Address::Unix(path), listener)
}

#[test]
fn ten_thousand_sessions_are_cancelled_side_by_side_and_not_all_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, listener) = listen(folder.path());
    let keys = keys(10_000);
    let count = keys.len();
    let server = thread::spawn(move || serve_in_groups(&listener, count));
    let transport = Transport::default();
    assert_eq!(cancel_all(&requests(&address, &transport, &keys), GENEROUS), 0);
    assert!(server.join().expect("the server"), "more than {CANCELS_AT_ONCE} requests were open at once");
}

#[test]
fn a_silent_server_ends_cancelling_at_the_limit_and_holds_up_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let silent_folder = tempfile::tempdir().expect("a folder");
    let (silent, _never_accepts) = listen(silent_folder.path());
    let (address, listener) = listen(folder.path());
    let (transport, keys) = (Transport::default(), keys(200));
    let mut all = requests(&silent, &transport, &keys);
    all.extend(requests(&address, &transport, &keys));
    let (done, is_done) = mpsc::channel();
    let server = thread::spawn(move || {
        for _ in 0..200 {
            hear(&listener.accept().expect("a request").0);
        }
        done.send(()).expect("a listener");
    });
    let begun = Instant::now();
    assert_eq!(cancel_all(&all, Duration::from_secs(2)), 200);
    assert!(begun.elapsed() < GENEROUS);
    is_done.try_recv().expect("the other server has had all its requests");
    server.join().expect("the server");
}

#[test]
fn where_nobody_listens_nothing_is_left_to_cancel() {
    let gone = Address::Unix("/nowhere/.s.PGSQL.1".into());
    let (transport, keys) = (Transport::default(), keys(100));
    assert_eq!(cancel_all(&requests(&gone, &transport, &keys), GENEROUS), 0);
    assert_eq!(cancel_all(&[], GENEROUS), 0);
}
