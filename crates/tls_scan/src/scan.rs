//! A scan: its document, and the order of the questions. The versions come first, then each suite of the accepted
//! versions once, by each way. `probe` has the socket.

use std::time::Duration;

use calendar::UtcTime;
use connect::{Address, ConnectError, HostName, RawConnection, Target};
use rustls::pki_types::ServerName;
use serde::Serialize;

use crate::capture::capture;
use crate::certificate::Chain;
use crate::finding::{Outcome, SuiteFinding, VersionFinding, Way, WayScan};
use crate::probe::{Offer, Prober};
use crate::suite::Suite;
use crate::version::Version;
use crate::weakness::{Weakness, weaknesses};

/// Version of the layout of [`Scan`] as JSON.
pub const SCAN_SCHEMA_VERSION: u32 = 1;

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scan {
    /// [`SCAN_SCHEMA_VERSION`]
    pub schema_version: u32,
    /// Start of the scan; certificates are judged for this time.
    pub measured_at: UtcTime,
    /// The server's address, in words.
    pub server: String,
    /// The host name, if one was given; the certificate is compared with it.
    pub host: Option<String>,
    /// Each way to start TLS.
    pub ways: Vec<WayScan>,
    /// The different chains of certificates that were seen.
    pub chains: Vec<Chain>,
    /// What is weak, the worst first.
    pub weaknesses: Vec<Weakness>,
}

/// How to ask.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Ways to start TLS.
    pub ways: Vec<Way>,
    /// Time between two connections.
    pub pause: Duration,
    /// Time limit for connecting and answering, for each question.
    pub limit: Duration,
}

/// Asks the first address of the target that can be reached. `tell` gets the current step in words.
///
/// # Errors
/// No address can be reached.
pub fn scan(
    target: &Target,
    options: &ScanOptions,
    tell: &mut dyn FnMut(String),
) -> Result<Scan, ConnectError> {
    let measured_at = UtcTime::now();
    let address = reachable(target, options.limit)?;
    let host = match &target.host_of(&address).name {
        HostName::Network(name) => Some(name.as_str()),
        HostName::Usual | HostName::Directory(_) => None,
    };
    let server_name =
        host.filter(|_| target.tls.sends_name).map(|name| name.strip_suffix('.').unwrap_or(name));
    let server_name = server_name.filter(|name| is_name(name));
    let mut seen = Seen::default();
    let mut ways = Vec::new();
    for way in &options.ways {
        let mut prober = Prober::new(&address, *way, server_name, options.pause, options.limit);
        ways.push(seen.scan_way(&mut prober, tell)?);
    }
    let chains: Vec<Chain> = seen.chains.iter().map(|chain| Chain::new(chain, host)).collect();
    let weaknesses = weaknesses(&ways, &chains, measured_at);
    Ok(Scan {
        schema_version: SCAN_SCHEMA_VERSION,
        measured_at,
        server: address.to_string(),
        host: host.map(str::to_owned),
        ways,
        chains,
        weaknesses,
    })
}

/// For a service that did not answer SSLRequest as PostgreSQL does, with or without TLS.
fn other_service(prober: &Prober<'_>, outcome: &Outcome) -> ConnectError {
    let seen = match outcome {
        Outcome::Unreadable { reason } | Outcome::NotConnected { reason } => reason.clone(),
        Outcome::NoAnswer => format!("it did not answer SSLRequest within {} s", prober.limit.as_secs_f64()),
        _ => "it closed the connection after SSLRequest".to_owned(),
    };
    let address = prober.address;
    ConnectError::Settings(format!("no PostgreSQL server answers at {address}: {seen}; check host and port"))
}

/// The first address that accepts a connection, or the error of the last.
fn reachable(target: &Target, limit: Duration) -> Result<Address, ConnectError> {
    let mut failed = None;
    for address in target.addresses()? {
        match RawConnection::open(&address, limit) {
            Ok(_) => return Ok(address),
            Err(cause) => failed = Some(ConnectError::failed(target, &address, cause)),
        }
    }
    Err(failed.unwrap_or_else(|| ConnectError::Settings("the host names resolve to no address".to_owned())))
}

/// What is collected beside the outcomes.
#[derive(Default)]
struct Seen {
    chains: Vec<Vec<Vec<u8>>>,
    /// Of the current way.
    alpn: Option<Vec<u8>>,
    alpn_is_known: bool,
}

impl Seen {
    fn scan_way(
        &mut self,
        prober: &mut Prober<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<WayScan, ConnectError> {
        let suites = Suite::all();
        (self.alpn, self.alpn_is_known) = (None, false);
        let mut versions = Vec::new();
        for (version, _, name) in Version::ALL.into_iter().rev() {
            tell(format!("asking for {name}"));
            let offered = suites.iter().filter(|suite| match version {
                Version::V13 => suite.is_of_13(),
                older => suite.version_min() <= older,
            });
            let offered: Vec<u16> = offered.map(|suite| suite.code).collect();
            let outcome = self.ask(prober, Offer { version, suites: &offered, is_exact: true });
            if prober.way == Way::SslRequest && !prober.is_postgresql {
                return Err(other_service(prober, &outcome));
            }
            versions.push(VersionFinding { version, outcome });
        }
        let accepted = versions.iter().filter(|finding| finding.outcome.accepted().is_some());
        let accepted: Vec<Version> = accepted.map(|finding| finding.version).collect();
        let findings = self.scan_suites(prober, &suites, &accepted, tell);
        if accepted.contains(&Version::V13) {
            let captured = capture(prober);
            // The protocol comes before the certificates.
            self.alpn_is_known |= !captured.certificates.is_empty();
            self.keep(captured.certificates, captured.alpn);
        }
        let alpn = self.alpn.take().map(|name| String::from_utf8_lossy(&name).into_owned());
        Ok(WayScan {
            way: prober.way,
            connections: prober.connections,
            alpn,
            alpn_is_known: self.alpn_is_known,
            versions,
            suites: findings,
        })
    }

    /// One question for each suite, with the newest accepted version that has it.
    fn scan_suites(
        &mut self,
        prober: &mut Prober<'_>,
        suites: &[Suite],
        accepted: &[Version],
        tell: &mut dyn FnMut(String),
    ) -> Vec<SuiteFinding> {
        if accepted.is_empty() {
            return Vec::new();
        }
        let older = accepted.iter().copied().filter(|version| *version < Version::V13).max();
        let newest = accepted.iter().copied().find(|version| *version == Version::V13);
        let finding = |(index, suite): (usize, &Suite)| {
            let version = if suite.is_of_13() { newest } else { older };
            let outcome = match version.filter(|version| suite.version_min() <= *version) {
                None => Outcome::NotInVersions,
                Some(version) => {
                    tell(format!(
                        "asking for cipher suite {} of {}: {}",
                        index + 1,
                        suites.len(),
                        suite.name
                    ));
                    self.ask(prober, Offer { version, suites: &[suite.code], is_exact: false })
                }
            };
            SuiteFinding { code: suite.code, name: suite.name.clone(), outcome }
        };
        suites.iter().enumerate().map(finding).collect()
    }

    fn ask(&mut self, prober: &mut Prober<'_>, offer: Offer<'_>) -> Outcome {
        let (outcome, flight) = prober.ask(offer);
        if let Some(flight) = flight {
            let is_visible = flight.version < Version::V13.code();
            self.alpn_is_known |= is_visible && outcome.accepted().is_some();
            self.keep(flight.certificates, flight.alpn);
        }
        outcome
    }

    fn keep(&mut self, certificates: Vec<Vec<u8>>, alpn: Option<Vec<u8>>) {
        if !certificates.is_empty() && !self.chains.contains(&certificates) {
            self.chains.push(certificates);
        }
        self.alpn = alpn.or(self.alpn.take());
    }
}

/// Only names are sent: an address is no host name (RFC 6066, section 3).
fn is_name(text: &str) -> bool {
    matches!(ServerName::try_from(text), Ok(ServerName::DnsName(_)))
}
