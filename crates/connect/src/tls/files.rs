//! Reads certificates, private keys and revocation lists from files, with libpq's checks. They are read once, for a
//! target's first TLS connection.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::error::TlsError;
use super::settings::{TlsFile, TlsSettings, TrustedRoots};
use crate::regular_file;

/// Maximum size of a file, above that of any certificate bundle.
const LENGTH_MAX: u64 = 16 * 1024 * 1024;

/// The trusted certificates; `None` if the server's certificate is not verified.
pub(super) fn roots(settings: &TlsSettings) -> Result<Option<Vec<CertificateDer<'static>>>, TlsError> {
    let file = match &settings.roots {
        TrustedRoots::System => return system().map(Some),
        TrustedRoots::File(file) => file,
    };
    let found = match file.place() {
        Some((path, _)) => read(path, "the file of trusted certificates")?.map(|content| (path, content)),
        None => None,
    };
    match (found, file.place()) {
        (Some((path, content)), _) => certificates(path, &content).map(Some),
        (None, Some((path, is_named))) if is_named || settings.mode.verifies() => Err(TlsError::new(
            format!("the file of trusted certificates {} does not exist", path.display()),
            "Give another file with sslrootcert, or use the system's certificates with sslrootcert=system",
        )),
        (None, None) if settings.mode.verifies() => Err(TlsError::new(
            "the server's certificate cannot be verified: no file of trusted certificates is given",
            "Give a file with sslrootcert, or use the system's certificates with sslrootcert=system",
        )),
        (None, _) => Ok(None),
    }
}

fn system() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err(TlsError::new(
            "the system has no trusted certificates",
            "Install the package ca-certificates, or give a file with sslrootcert",
        ));
    }
    Ok(found)
}

/// The revocation lists; empty without such files.
pub(super) fn revoked(
    settings: &TlsSettings,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let mut lists = Vec::new();
    if let Some((path, is_named)) = settings.revoked.place() {
        match read(path, "the certificate revocation list")? {
            Some(content) => lists.extend(lists_in(path, &content)?),
            None if is_named => return Err(missing("the certificate revocation list", path, "sslcrl")),
            None => {}
        }
    }
    let Some(directory) = &settings.revoked_directory else { return Ok(lists) };
    let entries = fs::read_dir(directory).map_err(|error| {
        TlsError::new(
            format!("the directory {} of sslcrldir cannot be read ({error})", directory.display()),
            "",
        )
    })?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        if let Some(content) = read(path, "the certificate revocation list")? {
            lists.extend(lists_in(path, &content)?);
        }
    }
    Ok(lists)
}

fn lists_in(path: &Path, content: &[u8]) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(content).collect();
    let lists = lists.ok().filter(|lists| !lists.is_empty());
    lists.ok_or_else(|| {
        TlsError::new(format!("{} contains no certificate revocation list in PEM format", path.display()), "")
    })
}

/// The client's certificate chain, its own first, and the private key.
pub(super) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The client's certificate and key; `None` without a certificate.
pub(super) fn identity(settings: &TlsSettings) -> Result<Option<Identity>, TlsError> {
    let Some((path, is_named)) = settings.certificate.place() else { return Ok(None) };
    let Some(content) = read(path, "the client's certificate")? else {
        return if is_named { Err(missing("the client's certificate", path, "sslcert")) } else { Ok(None) };
    };
    let chain = certificates(path, &content)?;
    let key = key(&settings.key)?;
    Ok(Some((chain, key)))
}

fn key(file: &TlsFile) -> Result<PrivateKeyDer<'static>, TlsError> {
    let Some((path, _)) = file.place() else {
        return Err(TlsError::new(
            "a client certificate is given, but no private key",
            "Give its file with sslkey",
        ));
    };
    let shown = path.display();
    let what = "the private key";
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absence(error.kind()) => return Err(missing(what, path, "sslkey")),
        Err(error) => return Err(TlsError::new(format!("{what} {shown} cannot be read ({error})"), "")),
    };
    if !metadata.is_file() {
        return Err(TlsError::new(
            format!("{what} {shown} is not a plain file"),
            "Give another file with sslkey",
        ));
    }
    // A key owned by root may be group-readable.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(TlsError::new(
            format!("{what} {shown} was not used, because other users can read it (mode {mode:04o})"),
            "Fix this with \"chmod 600\"",
        ));
    }
    let content = read(path, what)?.ok_or_else(|| missing(what, path, "sslkey"))?;
    if is_encrypted(&content) {
        return Err(TlsError::new(
            format!("{what} {shown} is encrypted, which is not supported (nor is sslpassword)"),
            "Remove its password with \"openssl pkey -in … -out …\"",
        ));
    }
    PrivateKeyDer::from_pem_slice(&content).map_err(|_| {
        TlsError::new(
            format!("{shown} contains no private key in PEM format"),
            "Give another file with sslkey",
        )
    })
}

fn is_encrypted(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

fn certificates(path: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| {
        TlsError::new(format!("{} contains no certificates in PEM format", path.display()), "")
    })
}

/// The contents of a file; `None` if it does not exist.
fn read(path: &Path, what: &str) -> Result<Option<Vec<u8>>, TlsError> {
    match regular_file::read(path, LENGTH_MAX) {
        Ok(content) => Ok(Some(content)),
        Err(error) if is_absence(error.kind()) => Ok(None),
        Err(error) => Err(TlsError::new(format!("{what} {} cannot be read ({error})", path.display()), "")),
    }
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn missing(what: &str, path: &Path, keyword: &str) -> TlsError {
    TlsError::new(format!("{what} {}, given by {keyword}, does not exist", path.display()), "")
}
