//! The random seed, given by `--random-seed` or `PGBENCH_RANDOM_SEED`.
//! Called while options are processed.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;

use rustix::time::{ClockId, clock_gettime};

use crate::message::{Level, Stop};
use crate::numbers;

/// The seed for this text: `time`, `rand` or a number. `origin` is the source of the text, for the message.
pub(crate) fn named(text: &OsStr, origin: &str) -> Result<u64, Stop> {
    match text.as_bytes() {
        b"time" => Ok(of_time()),
        // The keys of the hasher are random numbers of the system.
        b"rand" => Ok(RandomState::new().hash_one("pgbench")),
        other => numbers::unsigned(other).ok_or_else(|| {
            Stop::error(format_args!(
                "unrecognized random seed option \"{}\"",
                encoding::decode(text.as_bytes())
            ))
            .and(Level::Detail, "Expecting an unsigned integer, \"time\" or \"rand\".")
            .and(Level::Error, format_args!("error while setting random seed from {origin}"))
        }),
    }
}

/// The default seed: microseconds of the monotonic clock.
pub(crate) fn of_time() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let microseconds = time.tv_sec.wrapping_mul(1_000_000).wrapping_add(time.tv_nsec / 1_000);
    microseconds.cast_unsigned()
}
