//! `--metrics ADDRESS`: an HTTP server with the figures of a run in progress. One thread accepts connections; each
//! request has its own thread. `live_figures` makes the text once a second, and `cli` publishes it.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use report::OPEN_METRICS_TYPE;

/// Time limit of each wait: for a part of the request, and for the response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Delay before the next attempt after a failed `accept`.
const PAUSE: Duration = Duration::from_millis(100);
/// Limit of concurrent requests; far above the usual number of scrapers. A further request ends the oldest one, so that slow
/// clients cannot shut out others.
const REQUESTS_MAX: usize = 32;
/// Limit of the parts in which a request arrives, of at most 4 KiB each, and so of its length and its time; requests of
/// scrapers have a few hundred bytes.
const READS_MAX: usize = 4;

/// The served text, and whether the server is still running.
#[derive(Default)]
struct Shared {
    text: Mutex<String>,
    over: AtomicBool,
    /// The host to listen on, as the user named it.
    host: String,
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
        let host = host_of(address).to_ascii_lowercase();
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { host, ..Shared::default() });
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
    let mut requests = Requests::default();
    while !shared.over.load(Ordering::SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            // Without a free descriptor, `accept` fails immediately; a loop without delay would take CPU time from the
            // load.
            thread::sleep(PAUSE);
            continue;
        };
        if shared.over.load(Ordering::SeqCst) {
            continue;
        }
        let (shared, stream) = (Arc::clone(shared), Arc::new(stream));
        requests.add(&stream);
        // Errors are ignored: the client may have disconnected, and the next request can succeed if no thread is
        // available now.
        let _ = thread::Builder::new().name("metrics".to_owned()).spawn(move || answer(&stream, &shared));
    }
}

/// The requests in progress, the oldest first. The thread of a request owns its connection.
#[derive(Default)]
struct Requests(VecDeque<Weak<TcpStream>>);

impl Requests {
    /// Ends the oldest request if there are too many with this one.
    fn add(&mut self, stream: &Arc<TcpStream>) {
        self.0.retain(|request| request.strong_count() > 0);
        if self.0.len() >= REQUESTS_MAX
            && let Some(oldest) = self.0.pop_front().and_then(|request| request.upgrade())
        {
            // Its thread then reads the end of the connection.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        self.0.push_back(Arc::downgrade(stream));
    }
}

/// Reads a request up to the end of its head; `None` if it is too long, too slow, or incomplete.
fn read_request(mut stream: &TcpStream) -> io::Result<Option<String>> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    for _ in 0..READS_MAX {
        let length = stream.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..length]);
        if request.windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&request).into_owned()));
        }
        if length == 0 {
            break;
        }
    }
    Ok(None)
}

/// The host of `HOST:PORT`, without the brackets of an IPv6 address.
fn host_of(address: &str) -> &str {
    let end_of_host = address.rfind(']').unwrap_or_default();
    let host = match address.rfind(':') {
        Some(colon) if colon > end_of_host => &address[..colon],
        _ => address,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a request's `Host` may be answered. A page of another site can make a browser ask this server by a name that
/// the site lets resolve to this machine (DNS rebinding); such a name is neither an address nor the name in `--metrics`.
fn is_host_of_server(head: &str, host: &str) -> bool {
    let mut named = head.lines().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| host_of(value.trim()).to_ascii_lowercase())
    });
    // HTTP/1.0 needs no Host, and browsers always send one.
    named.all(|named| named.parse::<IpAddr>().is_ok() || named == "localhost" || named == host)
}

fn answer(mut stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let Some(head) = read_request(stream)? else { return Ok(()) };
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let text = shared.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (status, kind, body) = match (method, path) {
        _ if !is_host_of_server(&head, &shared.host) => (
            "403 Forbidden",
            "text/plain",
            "ask by an IP address, or by the host name that --metrics was given\n",
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_separated_from_its_port() {
        for (address, host) in [
            ("127.0.0.1:9187", "127.0.0.1"),
            ("[::1]:9187", "::1"),
            ("[::1]", "::1"),
            ("db1.example.com:80", "db1.example.com"),
            ("db1", "db1"),
            ("", ""),
        ] {
            assert_eq!(host_of(address), host);
        }
    }

    #[track_caller]
    fn check_host(lines: &str, expected: bool) {
        let head = format!("GET /metrics HTTP/1.1\r\n{lines}\r\n");
        assert_eq!(is_host_of_server(&head, "db1"), expected, "{lines:?}");
    }

    #[test]
    fn names_of_other_sites_are_refused() {
        check_host("Host: 127.0.0.1:9187\r\n", true);
        check_host("host:[::1]:9187\r\n", true);
        check_host("Host: LocalHost:9187\r\n", true);
        check_host("Host: DB1:9187\r\n", true);
        check_host("", true);
        check_host("Host: evil.example\r\n", false);
        check_host("Host: db1.evil.example:9187\r\n", false);
        check_host("Host: 127.0.0.1\r\nHost: evil.example\r\n", false);
        check_host("Host:\r\n", false);
    }

    #[test]
    fn slow_clients_do_not_shut_out_another_one() {
        let server = MetricsServer::start("127.0.0.1:0").expect("a free port");
        server.publish("# EOF\n".to_owned());
        let slow: Vec<TcpStream> = (0..REQUESTS_MAX + 8)
            .map(|_| {
                let mut stream = TcpStream::connect(server.address()).expect("it listens");
                stream.write_all(b"GET /metrics HTTP/1.1\r\n").expect("it takes the request");
                stream
            })
            .collect();
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it takes the request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("# EOF\n"), "{text}");
        // The first one was ended, or has reached its time limit.
        let mut rest = String::new();
        assert_eq!((&slow[0]).read_to_string(&mut rest).unwrap_or_default(), 0);
    }
}
