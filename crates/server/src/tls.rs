//! TLS to a server of ours: a certificate of its own, made with its home. Clients trust it only if they are told its
//! path. Used by `running`.

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};

use crate::ServerError;
use crate::account::Account;
use crate::files::create;
use crate::home::{self, Home};

/// A server of ours lives for hours; a client whose clock is years off should still accept it.
const FIRST_YEAR: i32 = 2000;
const LAST_YEAR: i32 = 4000;

/// The settings that make a server offer TLS. Relative paths begin in the data directory.
pub(crate) const SETTINGS: [(&str, &str); 3] =
    [("ssl", "on"), ("ssl_cert_file", "../server.crt"), ("ssl_key_file", "../server.key")];

/// Makes a key and the certificate for it: ECDSA on P-256, which every OpenSSL since 1.0 takes, and so every server.
/// They stand in the home, not in the data directory, where the server's user could put links in their places.
pub(crate) fn make(home: &Home, account: &Account) -> Result<(), ServerError> {
    let failed = |error: rcgen::Error| ServerError::Certificate(error.to_string());
    let mut about = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    about.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    about.distinguished_name.push(DnType::CommonName, "a server of pgmeter");
    about.not_before = date_time_ymd(FIRST_YEAR, 1, 1);
    about.not_after = date_time_ymd(LAST_YEAR, 1, 1);
    let key = KeyPair::generate().map_err(failed)?;
    let signed = about.self_signed(&key).map_err(failed)?;
    create(&home.file(home::CERTIFICATE), 0o644, &signed.pem())?;
    // A server refuses a key that others can read.
    let file = create(&home.file(home::KEY), 0o600, &key.serialize_pem())?;
    account.give(&file, &home.file(home::KEY))
}
