//! The cipher suites: their names in IANA's registry, from `rustls`, and what the name says of key exchange, encryption
//! and version. Pure.

use rustls::CipherSuite;

use crate::version::Version;

/// Suites that `rustls` has no name for.
const FURTHER: [(u16, &str); 10] = [
    // RFC 8998, RFC 9150
    (0x00c6, "TLS_SM4_GCM_SM3"),
    (0x00c7, "TLS_SM4_CCM_SM3"),
    (0xc0b4, "TLS_SHA256_SHA256"),
    (0xc0b5, "TLS_SHA384_SHA384"),
    // RFC 9189
    (0xc100, "TLS_GOSTR341112_256_WITH_KUZNYECHIK_CTR_OMAC"),
    (0xc101, "TLS_GOSTR341112_256_WITH_MAGMA_CTR_OMAC"),
    (0xc102, "TLS_GOSTR341112_256_WITH_28147_CNT_IMIT"),
    // RFC 8442
    (0xd001, "TLS_ECDHE_PSK_WITH_AES_128_GCM_SHA256"),
    (0xd002, "TLS_ECDHE_PSK_WITH_AES_256_GCM_SHA384"),
    (0xd005, "TLS_ECDHE_PSK_WITH_AES_128_CCM_SHA256"),
];

/// Signalling values and the empty suite, which no connection can use.
const NO_SUITES: [u16; 3] = [0x0000, 0x00ff, 0x5600];

/// A cipher suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its number in the registry.
    pub code: u16,
    /// Its name there.
    pub name: String,
}

impl Suite {
    /// Every registered suite, by number.
    pub fn all() -> Vec<Suite> {
        let known = (0..=u16::MAX).filter(|code| !NO_SUITES.contains(code));
        known.filter_map(|code| Some(Suite { code, name: name(code)? })).collect()
    }

    /// Those of TLS 1.3 name no key exchange.
    pub fn is_of_13(&self) -> bool {
        !self.name.contains("_WITH_")
    }

    /// The oldest version that defines it: authenticated encryption and the newer hashes came with 1.2.
    pub(crate) fn version_min(&self) -> Version {
        let of_12 = ["_GCM_", "_CCM", "_POLY1305", "_OMAC", "_SHA256", "_SHA384"];
        match () {
            () if self.is_of_13() => Version::V13,
            () if of_12.iter().any(|part| self.name.contains(part)) => Version::V12,
            () => Version::V10,
        }
    }

    /// Such as `ECDHE_RSA`; empty for TLS 1.3.
    pub(crate) fn key_exchange(&self) -> &str {
        self.parts().0
    }

    /// Encryption and hash, such as `AES_128_CBC_SHA`.
    pub(crate) fn cipher(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        let name = self.name.strip_prefix("TLS_").unwrap_or(&self.name);
        name.split_once("_WITH_").unwrap_or(("", name))
    }
}

/// The name in the registry. Suites that only a draft defines have none.
pub(crate) fn name(code: u16) -> Option<String> {
    let further = FURTHER.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
    let known = further.or_else(|| CipherSuite::from(code).as_str())?;
    // Suites of SSL are named `SSL_…`.
    if known.ends_with("_draft") || !known.starts_with("TLS") {
        return None;
    }
    let known = known.split("_or_").next().unwrap_or(known);
    Some(known.replacen("TLS13_", "TLS_", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_a_name_of_the_registry_and_a_version() {
        let all = Suite::all();
        assert!(all.len() > 330, "{}", all.len());
        for suite in &all {
            assert!(suite.name.starts_with("TLS_") && !suite.name.ends_with("SCSV"), "{}", suite.name);
            assert!(!suite.cipher().is_empty(), "{}", suite.name);
        }
        let of_13: Vec<_> = all.iter().filter(|suite| suite.is_of_13()).map(|suite| suite.code).collect();
        assert_eq!(of_13, [0xc6, 0xc7, 0x1301, 0x1302, 0x1303, 0x1304, 0x1305, 0xc0b4, 0xc0b5]);
    }

    #[test]
    fn a_name_says_which_version_and_key_exchange_a_suite_has() {
        let check = |code, exchange, cipher, version| {
            let suite = Suite { code, name: name(code).unwrap() };
            assert_eq!((suite.key_exchange(), suite.cipher()), (exchange, cipher));
            assert_eq!(suite.version_min(), version, "{}", suite.name);
        };
        check(0x000a, "RSA", "3DES_EDE_CBC_SHA", Version::V10);
        check(0x001e, "KRB5", "DES_CBC_SHA", Version::V10);
        check(0x0034, "DH_anon", "AES_128_CBC_SHA", Version::V10);
        check(0xc02f, "ECDHE_RSA", "AES_128_GCM_SHA256", Version::V12);
        check(0xc09c, "RSA", "AES_128_CCM", Version::V12);
        check(0xc027, "ECDHE_RSA", "AES_128_CBC_SHA256", Version::V12);
        check(0x1303, "", "CHACHA20_POLY1305_SHA256", Version::V13);
    }
}
