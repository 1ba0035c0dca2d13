//! What a run leaves behind, counted: samples, counters, histograms, intervals, summaries.
//!
//! Pure: no socket, file, thread, clock or terminal. The engine makes [`Sample`]s and owns the
//! [`Recorder`]s; `results` stores what comes out of them; nothing here knows how it is shown.
//!
//! In reading order: a [`Sample`] is recorded by a worker's [`Recorder`], handed over each second as
//! an [`Interval`] of [`ScriptStats`] ([`Counts`] and two [`Distribution`]s), and the intervals of a
//! run become its [`Summary`], and its [`Gaps`]: where nothing was completed. From series of them come a [`RatioEstimate`] (how sure a mean is) and its [`Steadiness`]
//! (whether it had settled). Beside them a [`CommandTable`] counts the single commands of a whole run,
//! and a [`WorkerHealth`] says how the generator itself fared.
//! [`comparison`] stands by itself: it tells from many short runs whether one thing is faster than another.

mod timestamp;

mod sample;

mod counts;

mod histogram;

mod distribution;

mod v2;

mod script_stats;

mod recorder;

mod completions;

mod gaps;

mod omission;

mod interval;

mod command_table;

mod summary;

mod worker_health;

mod permutation;

mod quantiles;

mod sample_mean;

mod series;

mod confidence;

mod steadiness;

mod until;

mod splitmix;

/// How a load and its tables are described.
pub mod load;

pub mod comparison;

pub use command_table::{CommandStats, CommandTable, TIMED_COMMANDS_MAX};
pub use completions::Completions;
pub use confidence::{INTERVALS_MIN, RatioEstimate};
pub use counts::{Counts, Failures};
pub use distribution::{Distribution, HIGHEST_TRACKED_NS, Moments};
pub use gaps::{GAP_MIN, Gap, Gaps, LongGaps};
pub use interval::Interval;
pub use load::{Limit, PartitionMethod, Protocol};
pub use omission::{quantiles_of_all, with_stalls};
pub use permutation::permutation_p;
pub use recorder::Recorder;
pub use sample::{Ending, Failure, Sample};
pub use sample_mean::{CONFIDENCE, SampleMean};
pub use script_stats::ScriptStats;
pub use splitmix::SplitMix64;
pub use steadiness::Steadiness;
pub use summary::Summary;
pub use timestamp::Timestamp;
pub use until::Until;
pub use v2::DecodeError;
pub use worker_health::WorkerHealth;
