//! SHA-256 checksums of the archives that were known at pgmeter's release. The repository publishes checksums too,
//! but whoever changes an archive there can change those as well.

use std::fmt::Write as _;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::ServerError;

/// Hexadecimal digits of a SHA-256 sum.
const SUM_DIGITS: usize = 64;

/// SHA-256 of the archives (`.jar`) of `io.zonky.test.postgres:embedded-postgres-binaries-…`, by the
/// archive's version and by platform.
const PINNED: [(&str, &str, &str); 14] = [
    ("9.6.24", "linux-x86_64", "3d4bdb64d4bb0a8757f1efacfed3994aa4a0a37002d5222d7be6c3ddea95e474"),
    ("10.23.0", "linux-x86_64", "e55e42533e1c2f135a4ef0c9e2cde634ff891dc71160483c12951fd611d8bc7c"),
    ("11.22.1", "linux-x86_64", "89af78cc2c4dd05f7b7a665100b12cf9ec6c8d77e00e08c186e598730a0d4adf"),
    ("12.22.0", "linux-x86_64", "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4"),
    ("13.23.0", "linux-x86_64", "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2"),
    ("14.24.0", "linux-x86_64", "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4"),
    ("15.19.0", "linux-x86_64", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f"),
    ("16.15.0", "linux-x86_64", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2"),
    ("17.11.0", "linux-x86_64", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d"),
    ("18.6.0", "linux-x86_64", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1"),
    ("15.19.0", "linux-aarch64", "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911"),
    ("16.15.0", "linux-aarch64", "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c"),
    ("17.11.0", "linux-aarch64", "8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b"),
    ("18.6.0", "linux-aarch64", "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be"),
];

/// Checks an archive against this release's checksum, if it has one for the version.
pub(crate) fn check(version: &str, platform: &str, archive: &[u8]) -> Result<(), ServerError> {
    let found = sum_of(archive);
    match PINNED.iter().find(|(known, place, _)| (*known, *place) == (version, platform)) {
        Some((_, _, expected)) if *expected != found => {
            let (version, expected) = (version.to_owned(), (*expected).to_owned());
            Err(ServerError::WrongChecksum { version, expected, found })
        }
        _ => Ok(()),
    }
}

/// The SHA-256 checksum given by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum(String);

impl FromStr for Checksum {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Checksum, ServerError> {
        if text.len() == SUM_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Checksum(text.to_ascii_lowercase()));
        }
        Err(ServerError::NoChecksum { text: text.to_owned() })
    }
}

impl Checksum {
    /// Checks an archive against the given checksum.
    pub(crate) fn check(&self, version: &str, archive: &[u8]) -> Result<(), ServerError> {
        let (version, expected, found) = (version.to_owned(), self.0.clone(), sum_of(archive));
        if found == expected {
            return Ok(());
        }
        Err(ServerError::OtherChecksum { version, expected, found })
    }

    /// The hexadecimal digits.
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// Whether this is the checksum in the form of [`sum_of`].
    pub(crate) fn is(&self, sum: &str) -> bool {
        self.0 == sum.trim()
    }
}

/// The SHA-256 checksum of an archive, in hexadecimal digits.
pub(crate) fn sum_of(archive: &[u8]) -> String {
    hexadecimal(&Sha256::digest(archive))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn the_list_names_each_archive_once_by_a_whole_sum() {
        for (at, (known, platform, sum)) in PINNED.iter().enumerate() {
            assert!(
                sum.len() == 64 && sum.bytes().all(|byte| b"0123456789abcdef".contains(&byte)),
                "{known}"
            );
            assert_eq!(known.split('.').count(), 3);
            assert!(!PINNED[..at].iter().any(|earlier| (earlier.0, earlier.1) == (*known, *platform)));
        }
    }

    #[test]
    fn a_sum_that_the_user_gives_is_held_against_the_archive() {
        let sum: Checksum = OF_ABC.to_uppercase().parse().unwrap();
        assert!(sum.check("18.6.0", b"abc").is_ok() && sum.is(&format!("{OF_ABC}\n")));
        let error = sum.check("18.6.0", b"abd").unwrap_err().to_string();
        assert!(error.contains("--checksum") && error.contains(OF_ABC), "{error}");
        for text in ["", "abc", &OF_ABC[1..], &format!("{}g", &OF_ABC[1..])] {
            assert!(text.parse::<Checksum>().unwrap_err().to_string().contains("64 hexadecimal"), "{text}");
        }
    }

    #[test]
    fn an_archive_that_is_not_the_known_one_is_one_clear_error() {
        assert_eq!(sum_of(b"abc"), OF_ABC);
        let error = check("18.6.0", "linux-x86_64", b"abc").unwrap_err().to_string();
        assert!(error.contains("18.6.0") && error.contains(OF_ABC) && !error.contains('\n'), "{error}");
        assert!(check("18.99.0", "linux-x86_64", b"abc").is_ok(), "nothing is known of it");
    }
}
