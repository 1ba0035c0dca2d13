//! Certificates for tests of TLS: an authority that issues and revokes them, made anew each time. Nothing is trusted
//! beyond a test. Used by the tests of `connect` and of the engine.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType, IsCa,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

use crate::cluster::Cluster;

/// Whoever issues certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM form.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    serial: u64,
}

/// What a certificate says.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The common name: a client's role, for one.
    pub common_name: &'a str,
    /// The alternative names, host names or addresses.
    pub names: &'a [&'a str],
    /// The year in which it ends.
    pub until: i32,
    /// By which it is revoked.
    pub serial: u64,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Wanted { common_name: "test", names: &[], until: 4000, serial: 1 }
    }
}

impl Authority {
    /// An authority with this name.
    ///
    /// # Panics
    /// No key can be made.
    pub fn new(name: &str) -> Authority {
        let mut parameters = parameters(&Wanted { common_name: name, ..Wanted::default() });
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // The first lets it be a server's own certificate as well.
        parameters.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(parameters, key()).expect("an authority's certificate");
        Authority { issuer }
    }

    /// Its own certificate, in PEM form.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Its own certificate with its key: what a server has that nobody issued a certificate for.
    pub fn as_issued(&self) -> Issued {
        let key = self.issuer.key().serialize_pem();
        Issued { certificate: self.certificate(), key, serial: 0 }
    }

    /// Issues a certificate.
    ///
    /// # Panics
    /// A name is none.
    pub fn issue(&self, wanted: &Wanted<'_>) -> Issued {
        let key = key();
        let certificate = parameters(wanted).signed_by(&key, &self.issuer).expect("a certificate");
        Issued { certificate: certificate.pem(), key: key.serialize_pem(), serial: wanted.serial }
    }

    /// A list of revoked certificates, in PEM form.
    ///
    /// # Panics
    /// It cannot be signed.
    pub fn revoke(&self, revoked: &[&Issued]) -> String {
        let day = date_time_ymd(2020, 1, 1);
        let revoked_certs = revoked.iter().map(|issued| RevokedCertParams {
            serial_number: SerialNumber::from(issued.serial),
            revocation_time: day,
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: day,
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked_certs.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let signed = list.signed_by(&self.issuer).expect("a list of revoked certificates");
        signed.pem().expect("a list in PEM form")
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn parameters(wanted: &Wanted<'_>) -> CertificateParams {
    let names: Vec<String> = wanted.names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).expect("names");
    parameters.distinguished_name.push(DnType::CommonName, wanted.common_name);
    parameters.not_before = date_time_ymd(2000, 1, 1);
    parameters.not_after = date_time_ymd(wanted.until, 1, 1);
    parameters.serial_number = Some(SerialNumber::from(wanted.serial));
    parameters
}

/// A server with TLS, and a directory for the files of a test; both go away when dropped.
#[derive(Debug)]
pub struct SecuredCluster {
    /// The server.
    pub cluster: Cluster,
    directory: TempDir,
}

impl SecuredCluster {
    /// A server of this version that shows this certificate and takes clients' certificates of that authority.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(major: &str, shown: &Issued, clients: &Authority) -> SecuredCluster {
        SecuredCluster::start_with(major, shown, clients, &[])
    }

    /// The same with further settings, such as `ssl_ciphers`.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_with(
        major: &str,
        shown: &Issued,
        clients: &Authority,
        settings: &[(&str, &str)],
    ) -> SecuredCluster {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("our directory");
        // Root runs servers as somebody else, who must own the key.
        let data = Cluster::shared(major).directory().join("data");
        let owner = fs::metadata(data).expect("the data directory of a server");
        let write = |name: &str, content: &str| {
            let path = write_private(directory.path(), name, content);
            chown(&path, Some(owner.uid()), Some(owner.gid())).expect("our file");
            path.to_str().expect("a plain name").to_owned()
        };
        let certificate = write("server.crt", &shown.certificate);
        let key = write("server.key", &shown.key);
        let authority = write("clients.crt", &clients.certificate());
        let of_tls = [
            ("ssl", "on"),
            ("ssl_cert_file", certificate.as_str()),
            ("ssl_key_file", &key),
            ("ssl_ca_file", &authority),
        ];
        let settings = [&of_tls, settings].concat();
        SecuredCluster { cluster: Cluster::start_with(major, &settings), directory }
    }

    /// Writes a file that only its owner may read; its path.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        write_private(self.directory.path(), name, content)
    }
}

fn write_private(directory: &Path, name: &str, content: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, content).expect("our file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("our file");
    path
}
