//! The parts of a server's certificate that are looked at here: names, validity, key, and which hash identifies it.
//! Everything else about certificates is `webpki`'s; this reads what that does not give out. Total: any bytes are a
//! certificate or `None`.
//!
//! RFC 5280, section 4.1; X.690 (DER).

use std::net::IpAddr;

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// A certificate, as slices of its bytes.
pub(super) struct Certificate<'a> {
    /// What is signed.
    pub(super) signed: &'a [u8],
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// First and last second of its validity, Unix time.
    pub(super) validity: (i64, i64),
    /// SubjectPublicKeyInfo
    pub(super) key: &'a [u8],
    /// AlgorithmIdentifier, without its head: the object identifier and its parameters.
    algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    extensions: &'a [u8],
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
const OCTETS: u8 = 0x04;
const BITS: u8 = 0x03;
const INTEGER: u8 = 0x02;
const BOOLEAN: u8 = 0x01;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 17];

/// Elements one after the other.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag, its contents, and all of it.
    fn next(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let all = self.0;
        let (&tag, rest) = all.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            if digits.is_empty() || digits.len() > 4 {
                return None;
            }
            length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, contents, &all[..all.len() - after.len()]))
    }

    /// The contents of the next element, which must have this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|found| found.0 == tag).map(|found| found.1)
    }

    /// As [`Reader::expect`], but only if it is there.
    fn skip(&mut self, tag: u8) -> Option<()> {
        if self.0.first() == Some(&tag) { self.next().map(|_| ()) } else { Some(()) }
    }
}

impl<'a> Certificate<'a> {
    pub(super) fn read(der: &'a [u8]) -> Option<Certificate<'a>> {
        let mut outer = Reader(Reader(der).expect(SEQUENCE)?);
        let (tag, contents, signed) = outer.next()?;
        let algorithm = outer.expect(SEQUENCE)?;
        let (&unused, signature) = outer.expect(BITS)?.split_first()?;
        let mut inner = Reader(contents);
        inner.skip(0xa0)?;
        inner.expect(INTEGER)?;
        inner.expect(SEQUENCE)?;
        let issuer = inner.expect(SEQUENCE)?;
        let mut validity = Reader(inner.expect(SEQUENCE)?);
        let validity = (time(validity.next()?)?, time(validity.next()?)?);
        let subject = inner.expect(SEQUENCE)?;
        let (key_tag, _, key) = inner.next()?;
        inner.skip(0x81)?;
        inner.skip(0x82)?;
        let extensions = match inner.expect(0xa3) {
            Some(explicit) => Reader(explicit).expect(SEQUENCE)?,
            None => &[],
        };
        let is_sound = tag == SEQUENCE && key_tag == SEQUENCE && unused == 0;
        is_sound.then_some(Certificate {
            signed,
            issuer,
            subject,
            validity,
            key,
            algorithm,
            signature,
            extensions,
        })
    }

    /// libpq's rule: a name or address among the alternative names; the common name only if there is no alternative
    /// name of the host's kind. An error holds the names that the certificate is for.
    pub(super) fn check_host(&self, host: &str) -> Result<(), Vec<String>> {
        let ip: Option<IpAddr> = host.parse().ok();
        let mut names = Vec::new();
        let mut is_common_name_used = true;
        for (tag, value) in self.alternative_names() {
            is_common_name_used &= tag != if ip.is_some() { IP_ADDRESS } else { DNS_NAME };
            if tag == DNS_NAME {
                names.push(String::from_utf8_lossy(value).into_owned());
            } else if let Some(found) = address(value).filter(|_| tag == IP_ADDRESS) {
                if Some(found) == ip {
                    return Ok(());
                }
                names.push(found.to_string());
            }
        }
        if is_common_name_used {
            names.extend(self.common_name());
        }
        if names.iter().any(|name| fits(name, host)) { Ok(()) } else { Err(names) }
    }

    /// True if the signature was made by this algorithm: an object identifier and its parameters.
    pub(super) fn is_signed_with(&self, algorithm: &[u8]) -> bool {
        self.algorithm == algorithm
    }

    /// The general names of the extension, with their tags.
    fn alternative_names(&self) -> Vec<(u8, &'a [u8])> {
        let mut extensions = Reader(self.extensions);
        let mut names = Vec::new();
        while let Some(extension) = extensions.expect(SEQUENCE) {
            let mut extension = Reader(extension);
            if extension.expect(OBJECT) != Some(ALTERNATIVE_NAMES) {
                continue;
            }
            let value = extension.skip(BOOLEAN).and_then(|()| extension.expect(OCTETS));
            let list = value.and_then(|value| Reader(value).expect(SEQUENCE)).unwrap_or_default();
            let mut list = Reader(list);
            while let Some((tag, value, _)) = list.next() {
                names.push((tag, value));
            }
        }
        names
    }

    fn common_name(&self) -> Option<String> {
        let mut subject = Reader(self.subject);
        let mut found = None;
        while let Some(set) = subject.expect(SET) {
            let mut attribute = Reader(Reader(set).expect(SEQUENCE)?);
            if attribute.expect(OBJECT)? == COMMON_NAME {
                found = attribute.next().map(|(_, value, _)| String::from_utf8_lossy(value).into_owned());
            }
        }
        found
    }
}

/// The hash of a certificate that identifies the server's end of a TLS connection; `None` for an algorithm of
/// signatures that has no hash of its own, such as Ed25519, for then none is defined.
///
/// RFC 5929, section 4.1: the hash of the signature's algorithm, or SHA-256 where that is MD5 or SHA-1.
pub(super) fn end_point(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::read(der)?;
    let mut algorithm = Reader(certificate.algorithm);
    let object = algorithm.expect(OBJECT)?;
    let hash = match object {
        // RSA-PSS says it in its parameters; without a word, SHA-1.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10] => pss_hash(algorithm).unwrap_or(Hash::Sha256),
        // PKCS #1: MD5, SHA-1; SHA-224 to SHA-512.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4 | 5 | 11] => Hash::Sha256,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12] => Hash::Sha384,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13] => Hash::Sha512,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 14] => Hash::Sha224,
        // ECDSA: SHA-1; SHA-224 to SHA-512.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2] => Hash::Sha256,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 1] => Hash::Sha224,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3] => Hash::Sha384,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4] => Hash::Sha512,
        _ => return None,
    };
    Some(match hash {
        Hash::Sha224 => Sha224::digest(der).to_vec(),
        Hash::Sha256 => Sha256::digest(der).to_vec(),
        Hash::Sha384 => Sha384::digest(der).to_vec(),
        Hash::Sha512 => Sha512::digest(der).to_vec(),
    })
}

#[derive(Clone, Copy)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// RFC 4055, section 3.1: the hash is the first of the parameters.
fn pss_hash(mut algorithm: Reader<'_>) -> Option<Hash> {
    let parameters = algorithm.expect(SEQUENCE)?;
    let tagged = Reader(parameters).expect(0xa0)?;
    let identifier = Reader(tagged).expect(SEQUENCE)?;
    match Reader(identifier).expect(OBJECT)? {
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2] => Some(Hash::Sha384),
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3] => Some(Hash::Sha512),
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 4] => Some(Hash::Sha224),
        _ => Some(Hash::Sha256),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    four.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// Letter by letter, or with `*.` at the front, which stands for one label.
fn fits(pattern: &str, host: &str) -> bool {
    if pattern.contains('\0') {
        return false;
    }
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let (Some(domain), Some((label, of_host))) = (pattern.strip_prefix("*."), host.split_once('.')) else {
        return false;
    };
    !domain.is_empty() && !label.is_empty() && domain.eq_ignore_ascii_case(of_host)
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, as Unix time.
fn time((tag, text, _): (u8, &[u8], &[u8])) -> Option<i64> {
    let year_length = match tag {
        UTC_TIME => 2,
        GENERALIZED_TIME => 4,
        _ => return None,
    };
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if text.len() != year_length + 10 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, length: usize| text[from..from + length].parse::<i64>().ok();
    let two = |index: usize| number(year_length + 2 * index, 2);
    let year = match number(0, year_length)? {
        year @ 0..50 if tag == UTC_TIME => year + 2000,
        year if tag == UTC_TIME => year + 1900,
        year => year,
    };
    // Days since 1970 of the Gregorian calendar, years beginning in March.
    let month = two(0)?;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + two(1)? - 1 - 719_468;
    Some(((days * 24 + two(2)?) * 60 + two(3)?) * 60 + two(4)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        for (pattern, host, expected) in [
            ("db.example.com", "DB.example.com", true),
            ("*.example.com", "db.example.com", true),
            ("*.example.com", "a.db.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("*", "db", false),
            ("*.", "db.", false),
            ("d*.example.com", "db.example.com", false),
            ("db\0.example.com", "db\0.example.com", false),
        ] {
            assert_eq!(fits(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn times_are_seconds_since_1970() {
        let utc = |text: &str| time((UTC_TIME, text.as_bytes(), &[]));
        let generalized = |text: &str| time((GENERALIZED_TIME, text.as_bytes(), &[]));
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("260301120001Z"), Some(1_772_366_401));
        assert_eq!(generalized("20240229000000Z"), Some(1_709_164_800));
        assert_eq!(generalized("99991231235959Z"), Some(253_402_300_799));
        for rubbish in ["", "Z", "7001010000Z", "70010100000xZ", "700101000000", "ä00101000000Z"] {
            assert_eq!(utc(rubbish), None, "{rubbish}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_certificate_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let nested = [&[SEQUENCE, 0x82, 1, 0][..], &bytes].concat();
            for der in [&bytes, &nested] {
                if let Some(certificate) = Certificate::read(der) {
                    let _ = certificate.check_host("host");
                }
                let _ = end_point(der);
            }
        }
    }
}
