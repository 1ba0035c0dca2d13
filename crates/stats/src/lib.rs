//! Statistics of runs: samples, counters, histograms, intervals, summaries.
//!
//! Pure: no socket, file, thread, clock or terminal. The engine makes [`Sample`]s and owns the [`Recorder`]s;
//! `results` stores the results.
//! In reading order: a worker's [`Recorder`] counts a [`Sample`] and hands over an [`Interval`] of [`ScriptStats`]
//! each second ([`Counts`] and [`Distribution`]s). The intervals of a run become its [`Summary`], and its [`Gaps`],
//! in which nothing was completed. Series of them yield a [`RatioEstimate`] (a mean with its confidence interval) and
//! its [`Steadiness`] (whether it was in a steady state). A [`CommandTable`] counts the single commands of a run, and
//! a [`WorkerHealth`] describes the condition of the generator. [`comparison`] is independent: it decides from many
//! short runs whether one side is faster. A [`Factorial`] has the effects of an experiment's factors, a [`Screening`]
//! those of many. [`regressions`] are the queries that became slower. [`goals`] and [`rules`] judge a run. [`rate`] has loads
//! that change, and their arrivals.

mod timestamp;

mod sample;

mod counts;

mod histogram;

mod distribution;

mod v2;

mod encoded;

mod script_stats;

mod recorder;

mod completions;

mod gaps;

mod omission;

mod interval;

mod outages;

mod reconnecting;

mod command_table;

mod summary;

mod worker_health;

mod permutation;

mod quantiles;
mod queue_watch;

mod factorial;

mod screening;

mod sample_mean;
pub mod scalability;

mod series;

mod confidence;

mod steadiness;

mod time_law;

mod stored_as_text;

mod population;

mod until;

mod rate_ratio;

mod regression;

mod splitmix;

/// Types that describe a load and its tables.
pub mod load;
mod scale;

pub mod comparison;

pub mod goals;

pub mod rate;

pub mod rules;

pub use command_table::{CommandStats, CommandTable, Copied, TIMED_COMMANDS_MAX};
pub use completions::Completions;
pub use confidence::{INTERVALS_MIN, RatioEstimate};
pub use counts::{Counts, Failures};
pub use distribution::{Distribution, Moments};
pub use encoded::{COUNT_MAX, EncodedDistribution, EncodedInterval};
pub use factorial::{Averaged, Change, Factorial, Interaction, MainEffect, Measurements, Observation, found};
pub use gaps::{GAP_MIN, Gap, Gaps, LongGaps};
pub use histogram::HIGHEST_TRACKED_NS;
pub use interval::{DueSkips, Interval};
pub use load::{Limit, PartitionMethod, PoolMode, Protocol, ResultFormat};
pub use omission::{TimesOfAll, times_of_all, with_stalls};
pub use outages::{AttemptOutcome, Attempts, ClientOutage, LossCause, Outage, OutageLog, Outages};
pub use permutation::permutation_p;
pub use population::{
    ActiveClients, ActivityWalk, ClientCount, IdleTransactions, Population, ReconnectStorm, SessionLifetime,
    SlowReaders, Spell,
};
pub use queue_watch::QueueWatch;
pub use rate_ratio::{RateEstimate, RateRatio};
pub use reconnecting::{OnDisconnect, ReconnectPolicy};
pub use recorder::Recorder;
pub use regression::{
    FALSE_DISCOVERY_RATE, PairedQuery, Regression, RegressionVerdict, benjamini_hochberg, regressions,
    sequences_needed, sequences_usual,
};
pub use sample::{Ending, Failure, Sample, Traffic};
pub use sample_mean::{CONFIDENCE, SampleMean};
pub use scale::Scale;
pub use screening::{ErrorSource, SCREENED_MAX, Screening, in_stretches, screening_design, simultaneous};
pub use script_stats::ScriptStats;
pub use splitmix::SplitMix64;
pub use steadiness::Steadiness;
pub use summary::Summary;
pub use time_law::TimeLaw;
pub use timestamp::Timestamp;
pub use until::Until;
pub use v2::DecodeError;
pub use worker_health::WorkerHealth;
