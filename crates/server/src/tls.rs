//! TLS to a server started by pgmeter: a certificate, created with its home. Clients trust it only if its path is
//! specified. Used by `running`.

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};

use crate::ServerError;
use crate::account::Account;
use crate::files::create;
use crate::home::{self, Home};

/// Start of validity. The server lives for hours, but a client's clock may be wrong by years.
const FIRST_YEAR: i32 = 2000;
const LAST_YEAR: i32 = 4000;

/// Settings that enable TLS. Paths are relative to the data directory.
pub(crate) const SETTINGS: [(&str, &str); 3] =
    [("ssl", "on"), ("ssl_cert_file", "../server.crt"), ("ssl_key_file", "../server.key")];

/// Creates a key and its certificate: ECDSA on P-256, which OpenSSL supports since 1.0, and so do all servers. The
/// files are in the home and not in the data directory, where the server's user could replace them by links.
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
    // PostgreSQL refuses a key that other users can read.
    let file = create(&home.file(home::KEY), 0o600, &key.serialize_pem())?;
    account.give(&file, &home.file(home::KEY))
}
