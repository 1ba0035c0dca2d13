//! Resolves the settings of TLS and authentication.
//! Reads no files: those are read for the first TLS connection.

use std::path::PathBuf;

use wire::{ChannelBinding, RequiredMethods};

use super::Settings;
use crate::environment::Environment;
use crate::error::ConnectError;
use crate::tls::{TlsFile, TlsMode, TlsNegotiation, TlsSettings, TlsVersion, TrustedRoots};

/// libpq's word for the system's trusted certificates.
const SYSTEM: &str = "system";

impl Settings {
    pub(super) fn tls(&self, environment: &Environment) -> Result<TlsSettings, ConnectError> {
        let usual = |name: &str| match &environment.home {
            Some(home) => TlsFile::Usual(home.join(".postgresql").join(name)),
            None => TlsFile::Nowhere,
        };
        let file = |keyword: &str, name: &str| match self.given(keyword) {
            Some(path) => TlsFile::Named(PathBuf::from(path)),
            None => usual(name),
        };
        let mode = self.tls_mode()?;
        self.refuse_nameless_hosts(mode)?;
        let revoked_directory = self.given("sslcrldir").map(PathBuf::from);
        let revoked = match revoked_directory {
            Some(_) if self.given("sslcrl").is_none() => TlsFile::Nowhere,
            _ => file("sslcrl", "root.crl"),
        };
        let shows_certificate =
            self.choice("sslcertmode", &[("allow", true), ("disable", false)])?.unwrap_or(true);
        let (version_min, version_max) = self.tls_versions()?;
        Ok(TlsSettings {
            mode,
            negotiation: self.tls_negotiation(mode)?,
            roots: match self.given("sslrootcert") {
                Some(SYSTEM) => TrustedRoots::System,
                _ => TrustedRoots::File(file("sslrootcert", "root.crt")),
            },
            revoked,
            revoked_directory,
            certificate: if shows_certificate { file("sslcert", "postgresql.crt") } else { TlsFile::Nowhere },
            key: self.tls_key(file("sslkey", "postgresql.key"))?,
            sends_name: self.choice("sslsni", &[("1", true), ("0", false)])?.unwrap_or(true),
            version_min,
            version_max,
        })
    }

    fn tls_mode(&self) -> Result<TlsMode, ConnectError> {
        let mode = self.choice("sslmode", &TlsMode::NAMES)?;
        let trusts_system = self.given("sslrootcert") == Some(SYSTEM);
        match mode {
            // Anyone can get a certificate that the system trusts, so it is useless without verification of the name.
            Some(mode) if trusts_system && mode != TlsMode::VerifyFull => {
                Err(self.wrong("sslmode", "sslrootcert=system requires sslmode=verify-full"))
            }
            None if trusts_system => Ok(TlsMode::VerifyFull),
            mode => Ok(mode.unwrap_or_default()),
        }
    }

    /// As in libpq: an address alone is not a name in a certificate.
    fn refuse_nameless_hosts(&self, mode: TlsMode) -> Result<(), ConnectError> {
        let (names, addresses) = (self.list("host"), self.list("hostaddr"));
        let is_nameless = |(index, address): (usize, &&str)| {
            !address.is_empty() && names.get(index).is_none_or(|name| name.is_empty())
        };
        if mode == TlsMode::VerifyFull && addresses.iter().enumerate().any(is_nameless) {
            let what = "sslmode=verify-full also requires host, the name in the certificate";
            return Err(self.wrong("hostaddr", what));
        }
        Ok(())
    }

    fn tls_negotiation(&self, mode: TlsMode) -> Result<TlsNegotiation, ConnectError> {
        let names = [("postgres", TlsNegotiation::Postgres), ("direct", TlsNegotiation::Direct)];
        let negotiation = self.choice("sslnegotiation", &names)?.unwrap_or_default();
        if negotiation == TlsNegotiation::Direct && !mode.is_required() {
            return Err(
                self.wrong("sslnegotiation", "this requires sslmode=require, verify-ca or verify-full")
            );
        }
        Ok(negotiation)
    }

    fn tls_key(&self, key: TlsFile) -> Result<TlsFile, ConnectError> {
        let is_in_hardware = |name: &str| name.starts_with("engine:") || name.starts_with("pkcs11:");
        if self.given("sslkey").is_some_and(is_in_hardware) {
            return Err(self.wrong("sslkey", "hardware keys are not supported; give a file"));
        }
        Ok(key)
    }

    fn tls_versions(&self) -> Result<(TlsVersion, TlsVersion), ConnectError> {
        const NAMES: [(&str, Option<TlsVersion>); 4] = [
            ("TLSv1", None),
            ("TLSv1.1", None),
            ("TLSv1.2", Some(TlsVersion::V12)),
            ("TLSv1.3", Some(TlsVersion::V13)),
        ];
        let least = self.choice("ssl_min_protocol_version", &NAMES)?.flatten().unwrap_or(TlsVersion::V12);
        let most = match self.choice("ssl_max_protocol_version", &NAMES)? {
            Some(None) => {
                return Err(
                    self.wrong("ssl_max_protocol_version", "versions below TLSv1.2 are not supported")
                );
            }
            most => most.flatten().unwrap_or(TlsVersion::V13),
        };
        if least > most {
            return Err(self.wrong("ssl_max_protocol_version", "this is lower than ssl_min_protocol_version"));
        }
        Ok((least, most))
    }

    pub(super) fn channel_binding(&self) -> Result<ChannelBinding, ConnectError> {
        let names = [
            ("disable", ChannelBinding::Disable),
            ("prefer", ChannelBinding::Prefer),
            ("require", ChannelBinding::Require),
        ];
        Ok(self.choice("channel_binding", &names)?.unwrap_or_default())
    }

    pub(super) fn required_methods(&self) -> Result<RequiredMethods, ConnectError> {
        match self.given("require_auth") {
            Some(text) => RequiredMethods::parse(text).map_err(|what| self.wrong("require_auth", &what)),
            None => Ok(RequiredMethods::default()),
        }
    }
}
