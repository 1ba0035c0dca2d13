//! Downloads files into memory, with proxies, trusted certificates, retries, and limits of time and size.
//! `repository` selects the files. The HTTP client is `ureq`; docs/decisions/0002-embedded-servers.md compares it
//! with others.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error, Proxy, ProxyProtocol, Timeout};

use crate::patience::Deadline;

/// Time limit of the name lookup, and then of connecting, including TLS and proxy.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Time limit of a download without a received byte.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// Pauses before further attempts after temporary errors.
const RETRY_PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// Interval of progress reports.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);
/// Bytes per read.
const CHUNK_BYTES: usize = 64 << 10;

/// Why a download failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server returned this HTTP status.
    Status(u16),
    /// Nothing was received for this long.
    Silent(Duration),
    /// The network, a proxy, TLS or the protocol failed.
    Unreachable(String),
    /// No request was sent, because something on this machine is missing or wrong.
    NotAsked(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(out, "HTTP status {status}"),
            Failure::Silent(limit) => write!(out, "no answer for {} s", limit.as_secs()),
            Failure::Unreachable(reason) | Failure::NotAsked(reason) => out.write_str(reason),
        }
    }
}

/// One file.
pub(super) struct Request<'a> {
    pub(super) url: &'a str,
    /// A longer response is rejected.
    pub(super) limit_bytes: u64,
    /// Time limit for the whole response, with all attempts; without it, only silence ends a download.
    pub(super) limit: Option<Duration>,
}

/// Access to the network.
pub(super) struct Network {
    pub(super) proxy: Option<Proxy>,
    /// Trusted CA certificates.
    pub(super) roots: Vec<Certificate<'static>>,
    /// Rejects redirects to a server that cannot be authenticated.
    pub(super) only_https: bool,
    /// Time limit of a download without a received byte.
    pub(super) stall_limit: Duration,
}

impl Network {
    /// Access to `host` according to the environment: a proxy, and the system's CA certificates, or those of
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

    /// The bytes of a file; `progress` receives the bytes so far, and the total if the server reports it.
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

/// `limit` is the time that a silence after connecting exceeded.
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

/// The proxy for HTTPS from the environment: HTTPS_PROXY, otherwise ALL_PROXY, unless NO_PROXY lists the host.
pub(super) fn proxy(host: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>, Failure> {
    let first = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)))
    };
    let exempt = first(["NO_PROXY", "no_proxy"]).is_some_and(|(_, list)| lists(&list, host));
    let named = first(["HTTPS_PROXY", "https_proxy"]).or_else(|| first(["ALL_PROXY", "all_proxy"]));
    let Some((name, value)) = named.filter(|_| !exempt) else { return Ok(None) };
    // The value may contain a password, so no message shows it.
    let proxy = Proxy::new(&value).ok();
    let usable = |proxy: &Proxy| {
        matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) && !proxy.host().is_empty()
    };
    let reason = format!("the proxy in {name} is not supported; write it as http://HOST:PORT");
    proxy.filter(usable).map(Some).ok_or(Failure::NotAsked(reason))
}

/// Whether a list such as `localhost, .example.org` contains the host or a domain of it. `*` matches all.
fn lists(list: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    list.split(',').map(|entry| entry.trim().to_ascii_lowercase()).any(|entry| {
        let domain = entry.strip_prefix('.').unwrap_or(&entry);
        let rest = host.strip_suffix(domain).filter(|_| !domain.is_empty());
        entry == "*" || rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
