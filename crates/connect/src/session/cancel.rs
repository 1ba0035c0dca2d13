//! Cancel requests, each over a separate connection as the protocol requires. Sends a single request, or those of many
//! sessions with limited concurrency and time.
//!
//! Manual: "Message Flow", "Canceling Requests in Progress".

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use wire::{CancelKey, frontend};

use super::stream::{ReadPatience, Stream};
use crate::address::Address;
use crate::error::{Cause, ConnectError, in_words};
use crate::transport::Transport;

/// Time limit of a single cancel request.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of concurrent requests per server: it starts a process for each, and its queue of connections
/// (`listen`) must not overflow.
pub const CANCELS_AT_ONCE: usize = 32;

/// A session with a statement to cancel.
#[derive(Clone, Copy, Debug)]
pub struct CancelRequest<'a> {
    /// The server.
    pub address: &'a Address,
    /// The transport of the session.
    pub transport: &'a Transport,
    /// The session.
    pub key: &'a CancelKey,
}

/// Sends a cancel request for the session with this key, over a connection with the session's transport. The protocol
/// has no answer, so the effect is unknown.
pub fn cancel(address: &Address, transport: &Transport, key: &CancelKey) -> Result<(), ConnectError> {
    let patience = ReadPatience::of(Some(CANCEL_LIMIT));
    send(CancelRequest { address, transport, key }, patience).map_err(|cause| {
        let reason = match cause {
            Cause::Io(error) => in_words(&error),
            Cause::Tls(error) => error.to_string(),
            _ => format!("the server did not accept it within {} s", CANCEL_LIMIT.as_secs()),
        };
        ConnectError::Lost(format!("the request to cancel could not be sent to {address}: {reason}"))
    })
}

/// Cancels the statements of all these sessions: up to [`CANCELS_AT_ONCE`] requests at a time for each server, so that
/// a silent server does not delay others, and none after `limit`. Returns the number of requests that no server
/// accepted in time; their statements may still be running.
pub fn cancel_all(requests: &[CancelRequest<'_>], limit: Duration) -> usize {
    let patience = ReadPatience::of(Some(limit));
    let mut servers: HashMap<&Address, Vec<CancelRequest<'_>>> = HashMap::new();
    for request in requests {
        servers.entry(request.address).or_default().push(*request);
    }
    let queues: Vec<Queue<'_>> = servers.into_values().map(Queue::new).collect();
    thread::scope(|scope| {
        for queue in &queues {
            for _ in 1..queue.requests.len().min(CANCELS_AT_ONCE) {
                // If a thread cannot be started, the existing ones do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, move || queue.work(patience));
            }
        }
        let Some((last, others)) = queues.split_last() else { return };
        for queue in others {
            let elsewhere = thread::Builder::new().spawn_scoped(scope, move || queue.work(patience));
            if elsewhere.is_err() {
                queue.work(patience);
            }
        }
        last.work(patience);
    });
    queues.iter().map(Queue::failed).sum()
}

/// The requests for one server, shared by several threads.
struct Queue<'a> {
    requests: Vec<CancelRequest<'a>>,
    next: AtomicUsize,
    taken: AtomicUsize,
}

impl<'a> Queue<'a> {
    fn new(requests: Vec<CancelRequest<'a>>) -> Self {
        Self { requests, next: AtomicUsize::new(0), taken: AtomicUsize::new(0) }
    }

    /// Sends requests until none is left or the time limit has passed.
    fn work(&self, patience: ReadPatience) {
        while let Some(request) = self.requests.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if patience.is_over() {
                return;
            }
            let is_taken = match send(*request, patience) {
                Ok(()) => true,
                // Without a listening server there is no statement to cancel.
                Err(Cause::Io(error)) => {
                    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
                }
                Err(_) => false,
            };
            self.taken.fetch_add(usize::from(is_taken), Ordering::Relaxed);
        }
    }

    fn failed(&self) -> usize {
        self.requests.len() - self.taken.load(Ordering::Relaxed)
    }
}

/// Sends a request and waits until the server has accepted it.
fn send(request: CancelRequest<'_>, patience: ReadPatience) -> Result<(), Cause> {
    let CancelRequest { address, transport, key } = request;
    let mut message = Vec::new();
    frontend::cancel_request(&mut message, key.process_id, &key.secret_key);
    let mut stream = Stream::connect(address, patience)?;
    if let Some(tls) = &transport.tls {
        stream.encrypt(tls, address, patience)?;
    }
    stream.write_all(&message, patience)?;
    // The server closes the connection after processing the request; a reset has the same meaning.
    match stream.read(&mut [0; 1], patience) {
        Err(cause @ Cause::TimedOut(_)) => Err(cause),
        _ => Ok(()),
    }
}
