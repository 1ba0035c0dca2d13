//! What a server accepts of TLS: versions, cipher suites, certificates, and what is weak of it by published
//! recommendations. One ClientHello per question; no handshake is completed.
//!
//! In reading order: [`Suite`] and `group` are the names of the registry, `hello` writes a question, [`answer`] reads the
//! server's bytes, `certificate` describes a chain, `weakness` judges. These are pure. `probe` and `capture` use a
//! socket, and `scan` decides which questions to ask and makes a [`Scan`].

pub mod answer;
mod capture;
mod certificate;
mod finding;
mod group;
mod hello;
mod key_exchange;
mod probe;
mod scan;
mod suite;
mod version;
mod weakness;

pub use certificate::{CertificateContents, CertificateFacts, Chain, Key};
pub use finding::{Accepted, Outcome, SuiteFinding, VersionFinding, Way, WayScan};
pub use key_exchange::KeyExchange;
pub use scan::{SCAN_SCHEMA_VERSION, Scan, ScanOptions, scan};
pub use suite::Suite;
pub use version::Version;
pub use weakness::{Level, Weakness, WeaknessKind};
