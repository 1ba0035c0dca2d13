//! What is weak of the findings by published recommendations: tables of rules with their sources. Pure; it
//! has kinds, no sentences.

use calendar::UtcTime;
use serde::Serialize;

use crate::certificate::{CertificateContents, Chain};
use crate::finding::{Accepted, WayScan};
use crate::key_exchange::KeyExchange;
use crate::suite::Suite;
use crate::version::Version;

/// Something weak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Weakness {
    /// How strong the recommendation is.
    pub level: Level,
    /// What is weak.
    pub kind: WeaknessKind,
    /// Versions, suites, groups or certificates that it concerns.
    pub subjects: Vec<String>,
    /// The recommendation.
    pub source: &'static str,
}

/// How strong a recommendation is, the strongest first. RFC 2119 defines the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// MUST or MUST NOT
    Must,
    /// SHOULD or SHOULD NOT
    Should,
    /// Not recommended.
    Advice,
}

/// Kinds of weaknesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WeaknessKind {
    /// TLS 1.0 or 1.1 is accepted.
    ObsoleteVersion,
    /// Suites without encryption.
    NoEncryption,
    /// Suites without a certificate.
    Anonymous,
    /// RC4
    Rc4,
    /// Keys of less than 112 bits: export suites and DES.
    Below112Bits,
    /// Triple DES, which has 112 bits.
    TripleDes,
    /// The client encrypts its secret with the server's RSA key: no forward secrecy.
    StaticRsa,
    /// The certificate has a Diffie-Hellman key: no forward secrecy.
    StaticDiffieHellman,
    /// Diffie-Hellman in a finite field.
    FiniteField,
    /// CBC with a MAC before the encryption.
    Cbc,
    /// A finite field of less than 2048 bits.
    ShortFiniteField,
    /// A curve of less than 224 bits.
    SmallCurve,
    /// The server would compress.
    Compression,
    /// TLS 1.2 or older without the extended master secret.
    NoExtendedMasterSecret,
    /// TLS 1.2 or older without secure renegotiation.
    NoSecureRenegotiation,
    /// TLS 1.3 is refused.
    NoVersion13,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// An RSA or DSA key of less than 2048 bits.
    ShortKey,
    /// A key on a curve of less than 224 bits.
    SmallKeyCurve,
    /// Signed with MD5 or SHA-1.
    WeakSignature,
    /// The certificate is for other hosts.
    OtherHost,
    /// The certificate cannot be read.
    UnreadableCertificate,
}

const GENERAL: &str = "RFC 9325, section 4.1";
const KEY_LENGTHS: &str = "RFC 9325, section 4.5";

/// A rule about suites.
struct SuiteRule {
    level: Level,
    kind: WeaknessKind,
    source: &'static str,
    applies: fn(&Suite) -> bool,
}

const SUITE_RULES: [SuiteRule; 9] = [
    SuiteRule {
        level: Level::Must,
        kind: WeaknessKind::NoEncryption,
        source: GENERAL,
        // RFC 9150 defines two suites of TLS 1.3 that are named by their hashes alone.
        applies: |suite| suite.cipher().starts_with("NULL") || matches!(suite.code, 0xc0b4 | 0xc0b5),
    },
    SuiteRule {
        level: Level::Must,
        kind: WeaknessKind::Anonymous,
        source: "RFC 5246, appendix A.5",
        applies: |suite| suite.key_exchange().contains("_anon"),
    },
    SuiteRule {
        level: Level::Must,
        kind: WeaknessKind::Rc4,
        source: "RFC 7465",
        applies: |suite| suite.cipher().starts_with("RC4"),
    },
    SuiteRule {
        level: Level::Must,
        kind: WeaknessKind::Below112Bits,
        source: GENERAL,
        applies: |suite| {
            let short = ["DES_CBC", "DES40", "RC2", "RC4_40", "RC4_56"];
            short.iter().any(|name| suite.cipher().starts_with(name))
                || suite.key_exchange().contains("EXPORT")
        },
    },
    SuiteRule {
        level: Level::Should,
        kind: WeaknessKind::TripleDes,
        source: GENERAL,
        applies: |suite| suite.cipher().starts_with("3DES"),
    },
    SuiteRule {
        level: Level::Should,
        kind: WeaknessKind::StaticRsa,
        source: GENERAL,
        applies: |suite| suite.key_exchange().split('_').next() == Some("RSA"),
    },
    SuiteRule {
        level: Level::Should,
        kind: WeaknessKind::StaticDiffieHellman,
        source: GENERAL,
        applies: |suite| {
            let exchange = suite.key_exchange();
            (exchange.starts_with("DH_") || exchange.starts_with("ECDH_")) && !exchange.contains("_anon")
        },
    },
    SuiteRule {
        level: Level::Should,
        kind: WeaknessKind::FiniteField,
        source: "RFC 9325, appendix A",
        applies: |suite| suite.key_exchange().starts_with("DHE_"),
    },
    SuiteRule {
        level: Level::Advice,
        kind: WeaknessKind::Cbc,
        source: "RFC 9325, section 4.2; RFC 7457, section 2.4",
        applies: |suite| suite.cipher().contains("_CBC_"),
    },
];

/// A rule about what the server chose for a suite.
struct ChoiceRule {
    level: Level,
    kind: WeaknessKind,
    source: &'static str,
    applies: fn(&Accepted) -> bool,
}

const CHOICE_RULES: [ChoiceRule; 5] = [
    ChoiceRule {
        level: Level::Must,
        kind: WeaknessKind::ShortFiniteField,
        source: KEY_LENGTHS,
        applies: |accepted| match accepted.key_exchange {
            Some(KeyExchange::FiniteField { bits }) => bits < 2048,
            Some(KeyExchange::Group { .. } | KeyExchange::ExplicitCurve) | None => false,
        },
    },
    ChoiceRule {
        level: Level::Must,
        kind: WeaknessKind::SmallCurve,
        source: KEY_LENGTHS,
        applies: |accepted| match accepted.key_exchange {
            Some(KeyExchange::Group { bits, .. }) => (1..224).contains(&bits),
            Some(KeyExchange::FiniteField { .. } | KeyExchange::ExplicitCurve) | None => false,
        },
    },
    ChoiceRule {
        level: Level::Should,
        kind: WeaknessKind::Compression,
        source: "RFC 9325, section 3.3",
        applies: |accepted| accepted.compression,
    },
    ChoiceRule {
        level: Level::Must,
        kind: WeaknessKind::NoExtendedMasterSecret,
        source: "RFC 7627; RFC 9325, appendix A",
        applies: |accepted| accepted.extended_master_secret == Some(false),
    },
    ChoiceRule {
        level: Level::Must,
        kind: WeaknessKind::NoSecureRenegotiation,
        source: "RFC 5746; RFC 9325, section 3.5",
        applies: |accepted| accepted.secure_renegotiation == Some(false),
    },
];

/// A rule about a certificate at a time.
struct CertificateRule {
    level: Level,
    kind: WeaknessKind,
    source: &'static str,
    applies: fn(&CertificateContents, UtcTime) -> bool,
}

const CERTIFICATE_RULES: [CertificateRule; 5] = [
    CertificateRule {
        level: Level::Must,
        kind: WeaknessKind::Expired,
        source: "RFC 5280, section 6.1.3",
        applies: |certificate, now| certificate.not_after < now,
    },
    CertificateRule {
        level: Level::Must,
        kind: WeaknessKind::NotYetValid,
        source: "RFC 5280, section 6.1.3",
        applies: |certificate, now| certificate.not_before > now,
    },
    CertificateRule {
        level: Level::Must,
        kind: WeaknessKind::ShortKey,
        source: KEY_LENGTHS,
        applies: |certificate, _| {
            let by_modulus = ["RSA", "RSA-PSS", "DSA"].contains(&certificate.key.algorithm.as_str());
            by_modulus && certificate.key.bits.is_some_and(|bits| bits < 2048)
        },
    },
    CertificateRule {
        level: Level::Must,
        kind: WeaknessKind::SmallKeyCurve,
        source: KEY_LENGTHS,
        applies: |certificate, _| {
            certificate.key.algorithm.starts_with("EC ")
                && certificate.key.bits.is_some_and(|bits| bits < 224)
        },
    },
    CertificateRule {
        level: Level::Must,
        kind: WeaknessKind::WeakSignature,
        source: KEY_LENGTHS,
        // Nobody verifies the signature of a root: it is trusted or not.
        applies: |certificate, _| {
            let signature = certificate.signature.to_ascii_lowercase();
            let is_root = certificate.self_issued && certificate.authority;
            !is_root && (signature.starts_with("md5") || signature.contains("sha1"))
        },
    },
];

/// All weaknesses, the worst first; the same one of several ways is one.
pub(crate) fn weaknesses(ways: &[WayScan], chains: &[Chain], now: UtcTime) -> Vec<Weakness> {
    let mut found = Found(Vec::new());
    for way in ways {
        of_versions(way, &mut found);
        for (suite, accepted) in way.accepted_suites() {
            for rule in SUITE_RULES.iter().filter(|rule| (rule.applies)(&suite)) {
                found.add(rule.level, rule.kind, rule.source, &suite.name);
            }
            for rule in CHOICE_RULES.iter().filter(|rule| (rule.applies)(accepted)) {
                found.add(rule.level, rule.kind, rule.source, &suite.name);
            }
        }
        // A server may compress in the answer to the question for a version alone.
        for accepted in way.versions.iter().filter_map(|finding| finding.outcome.accepted()) {
            for rule in CHOICE_RULES.iter().filter(|rule| (rule.applies)(accepted)) {
                found.add(rule.level, rule.kind, rule.source, &accepted.suite);
            }
        }
    }
    for chain in chains {
        of_chain(chain, now, &mut found);
    }
    let mut all = found.0;
    all.sort_by_key(|weakness| (weakness.level, weakness.kind));
    all
}

fn of_versions(way: &WayScan, found: &mut Found) {
    let versions: Vec<Version> = way.accepted_versions().collect();
    for version in versions.iter().filter(|version| **version < Version::V12) {
        found.add(Level::Must, WeaknessKind::ObsoleteVersion, "RFC 8996", version.name());
    }
    let refuses_13 =
        way.versions.iter().any(|finding| finding.version == Version::V13 && finding.outcome.is_refusal());
    if refuses_13 && !versions.is_empty() {
        found.add(Level::Should, WeaknessKind::NoVersion13, "RFC 9325, section 3.1.1", Version::V13.name());
    }
}

fn of_chain(chain: &Chain, now: UtcTime, found: &mut Found) {
    for certificate in &chain.certificates {
        let Some(contents) = &certificate.contents else {
            found.add(
                Level::Must,
                WeaknessKind::UnreadableCertificate,
                "RFC 5280, section 4.1",
                &certificate.sha256,
            );
            continue;
        };
        for rule in CERTIFICATE_RULES.iter().filter(|rule| (rule.applies)(contents, now)) {
            found.add(rule.level, rule.kind, rule.source, &contents.subject);
        }
    }
    let own = chain.certificates.first().and_then(|own| own.contents.as_ref());
    if let (Some(own), Some(_)) = (own, &chain.names_of_another_host) {
        found.add(Level::Should, WeaknessKind::OtherHost, "libpq, sslmode=verify-full", &own.subject);
    }
}

struct Found(Vec<Weakness>);

impl Found {
    fn add(&mut self, level: Level, kind: WeaknessKind, source: &'static str, subject: &str) {
        let known = self.0.iter_mut().find(|weakness| weakness.kind == kind);
        match known {
            Some(weakness) if weakness.subjects.iter().any(|known| known == subject) => {}
            Some(weakness) => weakness.subjects.push(subject.to_owned()),
            None => self.0.push(Weakness { level, kind, subjects: vec![subject.to_owned()], source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds that the rules for suites find.
    fn kinds(name: &str) -> Vec<WeaknessKind> {
        let suite = Suite::all().into_iter().find(|suite| suite.name == name).expect(name);
        SUITE_RULES.iter().filter(|rule| (rule.applies)(&suite)).map(|rule| rule.kind).collect()
    }

    #[test]
    fn suites_are_judged_by_their_names() {
        use WeaknessKind::*;
        for (name, expected) in [
            ("TLS_AES_256_GCM_SHA384", vec![]),
            ("TLS_CHACHA20_POLY1305_SHA256", vec![]),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", vec![]),
            ("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", vec![]),
            ("TLS_SHA256_SHA256", vec![NoEncryption]),
            ("TLS_RSA_WITH_NULL_SHA256", vec![NoEncryption, StaticRsa]),
            ("TLS_ECDHE_RSA_WITH_NULL_SHA", vec![NoEncryption]),
            ("TLS_ECDH_anon_WITH_AES_128_CBC_SHA", vec![Anonymous, Cbc]),
            ("TLS_DH_anon_WITH_AES_128_GCM_SHA256", vec![Anonymous]),
            ("TLS_RSA_WITH_RC4_128_SHA", vec![Rc4, StaticRsa]),
            ("TLS_RSA_EXPORT_WITH_RC4_40_MD5", vec![Rc4, Below112Bits, StaticRsa]),
            ("TLS_RSA_WITH_DES_CBC_SHA", vec![Below112Bits, StaticRsa, Cbc]),
            ("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", vec![TripleDes, Cbc]),
            ("TLS_RSA_PSK_WITH_AES_128_GCM_SHA256", vec![StaticRsa]),
            ("TLS_ECDH_RSA_WITH_AES_128_GCM_SHA256", vec![StaticDiffieHellman]),
            ("TLS_DH_DSS_WITH_AES_128_GCM_SHA256", vec![StaticDiffieHellman]),
            ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", vec![FiniteField]),
            ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", vec![Cbc]),
        ] {
            assert_eq!(kinds(name), expected, "{name}");
        }
    }

    #[test]
    fn every_kind_has_one_level() {
        let rules = SUITE_RULES.iter().map(|rule| (rule.kind, rule.level));
        let rules = rules.chain(CHOICE_RULES.iter().map(|rule| (rule.kind, rule.level)));
        let rules: Vec<_> =
            rules.chain(CERTIFICATE_RULES.iter().map(|rule| (rule.kind, rule.level))).collect();
        for (index, (kind, _)) in rules.iter().enumerate() {
            assert!(rules[..index].iter().all(|(other, _)| other != kind), "{kind:?}");
        }
    }

    fn accepted(key_exchange: Option<KeyExchange>) -> Accepted {
        Accepted {
            version: Version::V12,
            suite: "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256".to_owned(),
            key_exchange,
            extended_master_secret: Some(true),
            secure_renegotiation: Some(true),
            compression: false,
        }
    }

    #[test]
    fn choices_are_judged_at_their_limits() {
        let kinds = |accepted: &Accepted| -> Vec<WeaknessKind> {
            CHOICE_RULES.iter().filter(|rule| (rule.applies)(accepted)).map(|rule| rule.kind).collect()
        };
        let field = |bits| accepted(Some(KeyExchange::FiniteField { bits }));
        assert_eq!(kinds(&field(2047)), [WeaknessKind::ShortFiniteField]);
        assert_eq!(kinds(&field(2048)), []);
        let group = |bits| accepted(Some(KeyExchange::Group { name: "g".to_owned(), bits }));
        assert_eq!(kinds(&group(192)), [WeaknessKind::SmallCurve]);
        // A hybrid has no size.
        assert_eq!((kinds(&group(224)), kinds(&group(0))), (vec![], vec![]));
        let old = Accepted {
            extended_master_secret: Some(false),
            secure_renegotiation: Some(false),
            compression: true,
            ..accepted(None)
        };
        assert_eq!(kinds(&old).len(), 3);
        let of_13 = Accepted { extended_master_secret: None, secure_renegotiation: None, ..accepted(None) };
        assert_eq!(kinds(&of_13), []);
    }
}
