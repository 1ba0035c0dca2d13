//! The archives of server programs: a Maven repository with an artifact for each platform. Finds the newest matching
//! release and downloads its archive, verified against the published checksum. Layout:
//! <https://maven.apache.org/repository/layout.html>.

use std::time::Duration;

use sha2::{Digest, Sha512};

use super::client::{Client, Failure, Network, Request};
use crate::digests::hexadecimal;
use crate::{Version, Wanted};

const HOST: &str = "repo1.maven.org";
const GROUP: &str = "maven2/io/zonky/test/postgres";
/// Time limit for the small files, the list of releases and a checksum, with all attempts.
const LOOKUP_LIMIT: Duration = Duration::from_secs(20);
/// The list of releases has 4 kB today.
const LIST_LIMIT_BYTES: u64 = 1 << 20;
/// Archives have 8 to 15 MB; they stay in memory until they are checked.
const ARCHIVE_LIMIT_BYTES: u64 = 256 << 20;

/// Why there is no archive.
#[derive(Debug)]
pub(super) enum Missing {
    /// No release matches, or there is none for this platform.
    NoRelease,
    /// Its checksum is not the published one.
    Damaged,
    NotFetched(Failure),
}

impl From<Failure> for Missing {
    /// A reachable repository without the file has no such release.
    fn from(failure: Failure) -> Missing {
        if matches!(failure, Failure::Status(404)) {
            Missing::NoRelease
        } else {
            Missing::NotFetched(failure)
        }
    }
}

/// A release of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// PostgreSQL's version.
    pub(super) version: Version,
    /// The archive's own number: 18.6.0 for 18.6, 11.22.1 for a second build of 11.22, 9.6.24 for 9.6.24.
    pub(super) number: String,
    parts: [u32; 3],
}

impl Release {
    /// `None` unless it has three numbers, as opposed to a trial build (10.5.0-1).
    pub(super) fn parse(number: &str) -> Option<Release> {
        let parts: Vec<u32> = number.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        let parts = <[u32; 3]>::try_from(parts).ok()?;
        let [first, second, third] = parts;
        let version =
            if first < 10 { format!("{first}.{second}.{third}") } else { format!("{first}.{second}") };
        Some(Release { version: Version::parse(&version)?, number: number.to_owned(), parts })
    }
}

pub(super) struct Repository {
    client: Client,
    /// Address of the artifact's directory.
    base: String,
    artifact: String,
}

impl Repository {
    /// The public repository, with the network access of the environment.
    pub(super) fn maven_central() -> Result<Repository, Failure> {
        Ok(Repository::at(&format!("https://{HOST}/{GROUP}"), Network::from_environment(HOST)?))
    }

    pub(super) fn at(group: &str, network: Network) -> Repository {
        let artifact = artifact(std::env::consts::OS, std::env::consts::ARCH);
        Repository { client: Client::new(network), base: format!("{group}/{artifact}"), artifact }
    }

    /// The newest matching release.
    pub(super) fn newest(&self, wanted: &Wanted) -> Result<Release, Missing> {
        let list = self.small_file(&format!("{}/maven-metadata.xml", self.base))?;
        let fitting = releases(&list).filter(|release| wanted.fits(&release.version));
        fitting.max_by_key(|release| release.parts).ok_or(Missing::NoRelease)
    }

    /// The archive of a release.
    pub(super) fn archive(
        &self,
        release: &Release,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<Vec<u8>, Missing> {
        let number = &release.number;
        let url = format!("{}/{number}/{}-{number}.jar", self.base, self.artifact);
        let published = self.small_file(&format!("{url}.sha512"))?;
        let request = Request { url: &url, limit_bytes: ARCHIVE_LIMIT_BYTES, limit: None };
        let archive = self.client.get(&request, progress)?;
        // Some repositories append the name of the file to its checksum.
        let published = published.split_whitespace().next().unwrap_or_default();
        if published.eq_ignore_ascii_case(&hexadecimal(&Sha512::digest(&archive))) {
            Ok(archive)
        } else {
            Err(Missing::Damaged)
        }
    }

    fn small_file(&self, url: &str) -> Result<String, Missing> {
        let request = Request { url, limit_bytes: LIST_LIMIT_BYTES, limit: Some(LOOKUP_LIMIT) };
        let bytes = self.client.get(&request, &mut |_, _| {})?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The name of a platform's artifact, from Rust's names of system and processor.
fn artifact(system: &str, processor: &str) -> String {
    let system = if system == "macos" { "darwin" } else { system };
    let processor = match processor {
        "arm" => "arm32v7",
        "x86_64" => "amd64",
        "aarch64" => "arm64v8",
        "powerpc64" => "ppc64le",
        "x86" => "i386",
        other => other,
    };
    format!("embedded-postgres-binaries-{system}-{processor}")
}

/// The releases in a `maven-metadata.xml`.
fn releases(list: &str) -> impl Iterator<Item = Release> + '_ {
    let elements = list.split("<version>").skip(1);
    elements.filter_map(|text| Release::parse(text.split_once("</version>")?.0.trim()))
}
