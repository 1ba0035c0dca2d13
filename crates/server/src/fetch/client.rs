//! Files from the network as bytes in memory: proxies, trusted certificates, retries, limits of time and size.
//! Knows nothing of PostgreSQL; `repository` says which files to ask for. The HTTP client is `ureq`;
//! docs/decisions/0002-embedded-servers.md compares it with others.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error, Proxy, ProxyProtocol, Timeout};

use crate::patience::Deadline;

/// How long name lookup may take, and after it connecting, with the negotiation of TLS and of a proxy.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long a download may go without a byte.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Before each further attempt, when the network or the other side failed for the moment.
const RETRY_PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// How often the caller hears of progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
/// What is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Why a file did not arrive.
#[derive(Debug)]
pub(super) enum Failure {
    /// The other side answered with this HTTP status.
    Status(u16),
    /// Nothing came for this long.
    Silent(Duration),
    /// The network, a proxy, TLS or the protocol failed.
    Unreachable(String),
    /// Nothing was asked, because something on this machine is missing or wrong.
    NotAsked(String),
}

/// One file.
pub(super) struct Request<'a> {
    pub(super) url: &'a str,
    /// An answer that is longer is refused.
    pub(super) limit_bytes: u64,
    /// For the whole answer, with all attempts; without it, only silence ends a download.
    pub(super) limit: Option<Duration>,
}

/// How the network is reached.
pub(super) struct Network {
    pub(super) proxy: Option<Proxy>,
    /// Certificates of the authorities that are trusted.
    pub(super) roots: Vec<Certificate<'static>>,
    /// Refuses to be redirected to a server that cannot prove who it is.
    pub(super) only_https: bool,
    /// How long a download may go without a byte.
    pub(super) stall_limit: Duration,
}

impl Network {
    /// The way to `host` that the environment names: a proxy, and the authorities of the system, or those of
    /// SSL_CERT_FILE and SSL_CERT_DIR.
    pub(super) fn from_environment(host: &str) -> Result<Network, Failure> {
        let proxy = proxy(host, |name| std::env::var(name).ok())?;
        let roots = rustls_native_certs::load_native_certs().certs;
        if roots.is_empty() {
            // As in small containers.
            let reason = "there are no trusted CA certificates; install the package ca-certificates, or set \
                          SSL_CERT_FILE to a file of certificates";
            return Err(Failure::NotAsked(reason.to_owned()));
        }
        let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        Ok(Network { proxy, roots, only_https: true, stall_limit: STALL_LIMIT })
    }
}

pub(super) struct Client {
    agent: Agent,
    stall_limit: Duration,
}

impl Client {
    pub(super) fn new(network: Network) -> Client {
        let Network { proxy, roots, only_https, stall_limit } = network;
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy)
            .https_only(only_https)
            .user_agent(concat!("pgmeter/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT_LIMIT))
            .timeout_connect(Some(CONNECT_LIMIT))
            .timeout_per_read(Some(stall_limit))
            .timeout_per_write(Some(stall_limit));
        Client { agent: config.build().new_agent(), stall_limit }
    }

    /// The bytes of a file; `progress` hears how many have come, and how many come in all, where the other side says.
    pub(super) fn get(
        &self,
        request: &Request<'_>,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<u8>, Failure> {
        let deadline = request.limit.map(Deadline::after);
        let mut pauses = RETRY_PAUSES.iter();
        loop {
            let error = match self.attempt(request, deadline, progress) {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error,
            };
            match pauses.next().filter(|_| may_pass(&error)) {
                Some(&pause) if deadline.is_none_or(|deadline| deadline.remaining() > pause) => {
                    std::thread::sleep(pause);
                }
                _ => return Err(failure(error, request.limit.unwrap_or(self.stall_limit))),
            }
        }
    }

    fn attempt(
        &self,
        request: &Request<'_>,
        deadline: Option<Deadline>,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<u8>, Error> {
        let asking = self.agent.get(request.url).config().timeout_global(deadline.map(Deadline::remaining));
        let mut response = asking.build().call()?;
        let total = response.body().content_length();
        let mut body = response.body_mut().with_config().limit(request.limit_bytes).reader();
        let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
        let mut pause = Deadline::after(PROGRESS_PAUSE);
        loop {
            let count = body.read(&mut chunk)?;
            bytes.extend_from_slice(&chunk[..count]);
            if count == 0 || pause.has_passed() {
                progress(bytes.len() as u64, total);
                pause = Deadline::after(PROGRESS_PAUSE);
            }
            if count == 0 {
                return Ok(bytes);
            }
        }
    }
}

/// Whether the same request may succeed a moment later.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::StatusCode(status) => matches!(status, 408 | 429 | 500..=599),
        // rustls reports a certificate that it does not trust as invalid data.
        Error::Io(error) => error.kind() != io::ErrorKind::InvalidData,
        Error::HostNotFound | Error::ConnectionFailed => true,
        Error::Timeout(limit) => matches!(limit, Timeout::Resolve | Timeout::Connect),
        _ => false,
    }
}

/// `limit` is what a silence exceeded that came after connecting.
fn failure(error: Error, limit: Duration) -> Failure {
    match error {
        Error::StatusCode(status) => Failure::Status(status),
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => Failure::Silent(CONNECT_LIMIT),
        Error::Timeout(_) => Failure::Silent(limit),
        Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => Failure::Unreachable(format!(
            "{error}; if this network has its own certificate authority, set SSL_CERT_FILE to a file with its \
             certificate"
        )),
        Error::Io(error) => Failure::Unreachable(error.to_string()),
        error => Failure::Unreachable(error.to_string()),
    }
}

/// The proxy for HTTPS that the environment names: HTTPS_PROXY, else ALL_PROXY, unless NO_PROXY lists the host.
pub(super) fn proxy(host: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>, Failure> {
    let first = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)))
    };
    let exempt = first(["NO_PROXY", "no_proxy"]).is_some_and(|(_, list)| lists(&list, host));
    let named = first(["HTTPS_PROXY", "https_proxy"]).or_else(|| first(["ALL_PROXY", "all_proxy"]));
    let Some((name, value)) = named.filter(|_| !exempt) else { return Ok(None) };
    // The value may hold a password, so no message shows it.
    let proxy = Proxy::new(&value).ok();
    let usable = |proxy: &Proxy| {
        matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) && !proxy.host().is_empty()
    };
    let reason = format!("the proxy in {name} is not supported; write it as http://HOST:PORT");
    proxy.filter(usable).map(Some).ok_or(Failure::NotAsked(reason))
}

/// Whether a list such as `localhost, .example.org` has the host, or a domain that the host is in. `*` has all.
fn lists(list: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let domain = entry.strip_prefix('.').unwrap_or(&entry);
        let rest = host.strip_suffix(domain).filter(|_| !domain.is_empty());
        entry == "*" || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
