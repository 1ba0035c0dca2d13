//! `--metrics ADDRESS`: an HTTP server with the figures of a run in progress. One thread accepts connections; each
//! request has its own thread. `live_figures` makes the text once a second, and `cli` publishes it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::openmetrics::OPEN_METRICS_TYPE;

/// Time limit of reading a request, and of writing its response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Delay before the next attempt after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);
/// Limit of concurrent requests; far above the usual number of scrapers.
const REQUESTS_MAX: usize = 32;
/// Limit of a request's length, in bytes; requests of scrapers have a few hundred.
const REQUEST_LENGTH_MAX: usize = 16 * 1024;

/// The served text, and whether the server is still running.
#[derive(Default)]
struct Shared {
    text: Mutex<String>,
    over: AtomicBool,
}

/// A server of metrics; dropping it stops the thread.
pub struct MetricsServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on `HOST:PORT`; port 0 selects a free port.
    ///
    /// # Errors
    /// The address is invalid, or the system cannot listen on it.
    pub fn start(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || serve(&listener, &served))?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the served text.
    pub fn publish(&self, text: String) {
        *self.shared.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Connecting wakes the thread from `accept`. If connecting fails, the thread ends with the process.
        let mut to = self.address;
        if to.ip().is_unspecified() {
            to.set_ip(match to {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        if TcpStream::connect_timeout(&to, TIMEOUT).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.over.load(Ordering::SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            // Without a free descriptor, `accept` fails immediately; a loop without delay would take CPU time from the
            // load.
            thread::sleep(PAUSE);
            continue;
        };
        // References: one of the server, one of this thread, one per request.
        let asked = Arc::clone(shared);
        if Arc::strong_count(&asked) > 2 + REQUESTS_MAX || shared.over.load(Ordering::SeqCst) {
            continue;
        }
        // Errors are ignored: the client may have disconnected, and the next request can succeed if no thread is
        // available now.
        let _ = thread::Builder::new().name("metrics".to_owned()).spawn(move || answer(stream, &asked));
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
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
        ("GET" | "HEAD", "/metrics" | "/") => ("200 OK", OPEN_METRICS_TYPE, text.as_str()),
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
