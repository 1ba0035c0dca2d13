//! `--metrics ADDRESS`: serves the figures of the run that goes on, over HTTP, to whoever asks.
//! A thread of its own listens, and each request has one; the text is made once a second by `live`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::failure::Failure;

/// Nobody who asks takes longer than this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Before connections that could not be accepted are tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// More than these at once are hung up on: nobody has so many scrapers.
const ASKING_MAX: usize = 32;
/// Requests of scrapers are a few hundred bytes.
const REQUEST_LENGTH_MAX: usize = 16 * 1024;

/// The text that is served, and whether it still is.
#[derive(Default)]
struct Shared {
    text: Mutex<String>,
    over: AtomicBool,
    /// Requests under way.
    asking: AtomicUsize,
}

/// A server of metrics; dropping it ends it.
pub(crate) struct MetricsServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens at `HOST:PORT`; port 0 is a free one.
    pub(crate) fn start(address: &str) -> Result<Self, Failure> {
        let cannot = |error| Failure::System { what: format!("serve metrics at {address}"), error };
        let listener = TcpListener::bind(address).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || serve(&listener, &served)).map_err(cannot)?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is served from now on.
    pub(crate) fn publish(&self, text: String) {
        *self.shared.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // A connection of our own wakes the thread that waits for one. Where it cannot be made, the thread ends with
        // the process.
        let mut to = self.address;
        if to.ip().is_unspecified() {
            to.set_ip(match to {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        if TcpStream::connect_timeout(&to, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.over.load(Ordering::SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            // Without a descriptor every attempt fails at once; trying without a pause would take a processor away from
            // the load.
            thread::sleep(PAUSE);
            continue;
        };
        let under_way = shared.asking.fetch_add(1, Ordering::SeqCst);
        let asked = Arc::clone(shared);
        let answering = move || {
            if under_way < ASKING_MAX && !asked.over.load(Ordering::SeqCst) {
                // Whoever hangs up before the answer has no need of it.
                let _ = answer(stream, &asked);
            }
            asked.asking.fetch_sub(1, Ordering::SeqCst);
        };
        // Without a thread this one is not answered; the next may be.
        if thread::Builder::new().name("metrics".to_owned()).spawn(answering).is_err() {
            shared.asking.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..length]);
        if length == 0 || request.len() > REQUEST_LENGTH_MAX {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&request);
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let text = shared.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics" | "/") if text.is_empty() => {
            ("503 Service Unavailable", "text/plain", "the run has not begun yet\n")
        }
        ("GET" | "HEAD", "/metrics" | "/") => ("200 OK", report::OPEN_METRICS_TYPE, text.as_str()),
        ("GET" | "HEAD", _) => ("404 Not Found", "text/plain", "the metrics are at /metrics\n"),
        _ => ("405 Method Not Allowed", "text/plain", "ask with GET\n"),
    };
    let body_sent = if method == "HEAD" { "" } else { body };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body_sent}",
        body.len()
    )
}
