//! The sentences about weaknesses of a server's TLS: what is weak, what it concerns, and who says so.
//! `tls_scan` judges.

use tls_scan::{Level, Scan, Weakness, WeaknessKind};

use crate::document::{Block, Tone};
use crate::prose::{enumerate, escaped_line};

/// The table of suites marks all of them.
const SUBJECTS_NAMED: usize = 4;

/// A list for each level.
pub(super) fn weaknesses(scan: &Scan) -> Vec<Block> {
    let levels = [
        (Level::Must, Tone::Bad, "Against a MUST"),
        (Level::Should, Tone::Caution, "Against a SHOULD"),
        (Level::Advice, Tone::Plain, "Not recommended"),
    ];
    let mut blocks = Vec::new();
    for (level, tone, title) in levels {
        let found = scan.weaknesses.iter().filter(|weakness| weakness.level == level);
        let sentences: Vec<String> = found.map(sentence).collect();
        if !sentences.is_empty() {
            blocks.extend([Block::Heading(title.to_owned()), Block::List(tone, sentences)]);
        }
    }
    blocks
}

/// What is weak, what it concerns, and who says so.
pub(crate) fn sentence(weakness: &Weakness) -> String {
    let Weakness { kind, subjects, source, .. } = weakness;
    let named = subjects.iter().take(SUBJECTS_NAMED).map(|subject| escaped_line(subject));
    let more = subjects.len().saturating_sub(SUBJECTS_NAMED);
    let named: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
    format!("{}: {} ({source})", explanation(*kind), enumerate(&named))
}

/// A few words.
pub(crate) fn weakness_name(kind: WeaknessKind) -> &'static str {
    match kind {
        WeaknessKind::ObsoleteVersion => "obsolete version",
        WeaknessKind::NoEncryption => "no encryption",
        WeaknessKind::Anonymous => "no certificate",
        WeaknessKind::Rc4 => "RC4",
        WeaknessKind::Below112Bits => "less than 112 bits",
        WeaknessKind::TripleDes => "triple DES",
        WeaknessKind::StaticRsa => "static RSA",
        WeaknessKind::StaticDiffieHellman => "static DH",
        WeaknessKind::FiniteField => "DHE",
        WeaknessKind::Cbc => "CBC",
        WeaknessKind::ShortFiniteField => "short DH prime",
        WeaknessKind::SmallCurve => "small curve",
        WeaknessKind::Compression => "compression",
        WeaknessKind::NoExtendedMasterSecret => "no extended master secret",
        WeaknessKind::NoSecureRenegotiation => "no secure renegotiation",
        WeaknessKind::NoVersion13 => "no TLS 1.3",
        WeaknessKind::Expired => "expired certificate",
        WeaknessKind::NotYetValid => "certificate not yet valid",
        WeaknessKind::ShortKey => "short key",
        WeaknessKind::SmallKeyCurve => "key on a small curve",
        WeaknessKind::WeakSignature => "weak signature",
        WeaknessKind::OtherHost => "certificate of another host",
        WeaknessKind::UnreadableCertificate => "unreadable certificate",
    }
}

fn explanation(kind: WeaknessKind) -> &'static str {
    match kind {
        WeaknessKind::ObsoleteVersion => "TLS 1.0 and 1.1 are deprecated",
        WeaknessKind::NoEncryption => "Suites without encryption",
        WeaknessKind::Anonymous => "Suites without a certificate, so that others can pose as the server",
        WeaknessKind::Rc4 => "RC4 is prohibited",
        WeaknessKind::Below112Bits => "Keys of less than 112 bits",
        WeaknessKind::TripleDes => "Triple DES has 112 bits, and blocks of 64 bits",
        WeaknessKind::StaticRsa => "Key exchange by static RSA has no forward secrecy",
        WeaknessKind::StaticDiffieHellman => "Static Diffie-Hellman has no forward secrecy",
        WeaknessKind::FiniteField => "Diffie-Hellman in a finite field instead of ECDHE",
        WeaknessKind::Cbc => "CBC instead of authenticated encryption, such as GCM",
        WeaknessKind::ShortFiniteField => "A Diffie-Hellman prime of less than 2048 bits",
        WeaknessKind::SmallCurve => "A curve of less than 224 bits",
        WeaknessKind::Compression => "Compression reveals contents by their length",
        WeaknessKind::NoExtendedMasterSecret => "No extended master secret",
        WeaknessKind::NoSecureRenegotiation => "No secure renegotiation",
        WeaknessKind::NoVersion13 => "The server refuses",
        WeaknessKind::Expired => "The certificate has expired",
        WeaknessKind::NotYetValid => "The certificate is not valid yet",
        WeaknessKind::ShortKey => "The certificate's key has less than 2048 bits",
        WeaknessKind::SmallKeyCurve => "The certificate's key is on a curve of less than 224 bits",
        WeaknessKind::WeakSignature => "The certificate is signed with MD5 or SHA-1",
        WeaknessKind::OtherHost => "The certificate is not for this host, so sslmode=verify-full fails",
        WeaknessKind::UnreadableCertificate => "A certificate cannot be read",
    }
}
