//! Fetches the server programs of one version into the cache. Called by `installation` alone, when neither the
//! cache nor the machine has them.

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
