//! TLS to a server of ours: a certificate of its own, made when its data directory is, and trusted by nobody but whoever
//! is told its path. Used by `running`; what clients do with it is their business.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};

use crate::ServerError;
use crate::account::Account;

/// Where a server looks if nothing else is said (`ssl_cert_file`, `ssl_key_file`), within its data directory.
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";
/// A server of ours lives for hours; whoever's clock is wrong by years should not be told of certificates.
const FIRST_YEAR: i32 = 2000;
const LAST_YEAR: i32 = 4000;

/// The certificate of the server with this data directory, which clients check against itself (`sslrootcert`).
pub(crate) fn certificate(data: &Path) -> PathBuf {
    data.join(CERTIFICATE)
}

/// Makes a key and the certificate for it: ECDSA on P-256, which every OpenSSL since 1.0 takes, and so every server.
pub(crate) fn make(data: &Path, account: &Account) -> Result<(), ServerError> {
    let failed = |error: rcgen::Error| ServerError::Certificate(error.to_string());
    let mut about = CertificateParams::new(vec!["localhost".to_owned()]).map_err(failed)?;
    about.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    about.distinguished_name.push(DnType::CommonName, "a server of pgmeter");
    about.not_before = date_time_ymd(FIRST_YEAR, 1, 1);
    about.not_after = date_time_ymd(LAST_YEAR, 1, 1);
    let key = KeyPair::generate().map_err(failed)?;
    let signed = about.self_signed(&key).map_err(failed)?;
    // A server refuses a key that others can read.
    write(&data.join(KEY), &key.serialize_pem(), 0o600, account)?;
    write(&certificate(data), &signed.pem(), 0o644, account)
}

/// Never for a moment more open than it should be.
fn write(path: &Path, text: &str, mode: u32, account: &Account) -> Result<(), ServerError> {
    let failed = || ServerError::io("write", path);
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed())?;
    account.give(path)
}
