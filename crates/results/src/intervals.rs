//! The run over time, as it is stored: each interval with histograms that can be merged again.
//! Made from the engine's intervals; turned back into them by whoever wants other quantiles than the
//! summary's, or several runs as one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Counts, DecodeError, Moments, ScriptStats, Timestamp};

/// A stretch of time, usually a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Where it begins, in seconds since the measured time began.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// Transactions that ended in it, all scripts together.
    pub counts: Counts,
    /// The same per script, in the plan's order.
    pub scripts: Vec<IntervalScript>,
}

/// One script in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalScript {
    /// Its transactions by ending.
    pub counts: Counts,
    /// Response times of the succeeded ones.
    pub response: EncodedDistribution,
    /// Service times of the succeeded ones; `null` if they are the response times, as without a rate,
    /// which halves the record.
    pub service: Option<EncodedDistribution>,
    /// The longest lag, from scheduled to started, of the succeeded ones.
    pub lag_max_ns: u64,
    /// Response times of the failed ones; `null` if none failed.
    pub failed: Option<EncodedDistribution>,
    /// How late the skipped ones were when they were skipped; `null` as for the failed ones.
    pub skipped: Option<EncodedDistribution>,
    /// For how long the unfinished ones had been due; `null` as for the failed ones.
    pub unfinished: Option<EncodedDistribution>,
}

/// A distribution that loses nothing by being stored: exact sums beside its histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EncodedDistribution {
    /// Number of values.
    pub count: u64,
    /// Their sum; a string in JSON, where numbers beyond 2⁵³ lose digits.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub sum_ns: u128,
    /// The sum of their squares; a string as well.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub sum_of_squares_ns2: u128,
    /// The smallest value, exact; `null` if there is none.
    pub min_ns: Option<u64>,
    /// The largest value, exact; `null` if there is none.
    pub max_ns: Option<u64>,
    /// Values beyond the histogram's range of 24 hours.
    pub overflow: u64,
    /// HdrHistogram's V2 encoding, not compressed, in base64; 1 ns to 24 h, three digits.
    pub histogram: String,
}

impl Interval {
    /// An interval as it is stored, its times counted from `origin`, where measuring began.
    pub fn of(interval: &stats::Interval, origin: Timestamp) -> Interval {
        let since_origin = |time: Timestamp| time.since(origin).as_secs_f64();
        let mut counts = Counts::default();
        interval.scripts.iter().for_each(|script| counts.merge(&script.counts));
        Interval {
            start_s: since_origin(interval.start),
            end_s: since_origin(interval.end),
            counts,
            scripts: interval.scripts.iter().map(IntervalScript::of).collect(),
        }
    }

    /// The interval as it was, to merge or to ask for other quantiles.
    ///
    /// # Errors
    /// If the counts do not add up, or a histogram is damaged or does not belong to them.
    pub fn to_stats(&self) -> Result<stats::Interval, DecodeError> {
        Ok(stats::Interval {
            start: timestamp(self.start_s),
            end: timestamp(self.end_s),
            scripts: self.scripts.iter().map(IntervalScript::to_stats).collect::<Result<_, _>>()?,
            // Only the stalls that were found with them are stored.
            completions: stats::Completions::new(),
        })
    }
}

impl IntervalScript {
    fn of(script: &ScriptStats) -> IntervalScript {
        let ScriptStats { counts, response, service, lag: _, lag_max_ns, failed, skipped, unfinished } =
            script;
        let others = |latencies: &stats::Distribution| {
            (!latencies.is_empty()).then(|| EncodedDistribution::of(latencies))
        };
        IntervalScript {
            counts: *counts,
            response: EncodedDistribution::of(response),
            service: (service != response).then(|| EncodedDistribution::of(service)),
            lag_max_ns: *lag_max_ns,
            failed: others(failed),
            skipped: others(skipped),
            unfinished: others(unfinished),
        }
    }

    fn to_stats(&self) -> Result<ScriptStats, DecodeError> {
        let counts = Some(self.counts).filter(Counts::is_balanced).ok_or(DecodeError::Corrupt)?;
        let response = self.response.decode()?;
        let service =
            self.service.as_ref().map_or_else(|| Ok(response.clone()), EncodedDistribution::decode)?;
        if response.count() != counts.succeeded || service.count() != counts.succeeded {
            return Err(DecodeError::Disagreement);
        }
        let others = |encoded: &Option<EncodedDistribution>, count: u64| {
            let Some(encoded) = encoded else { return Ok(stats::Distribution::new()) };
            let latencies = encoded.decode()?;
            let agrees = latencies.is_empty() || latencies.count() == count;
            if agrees { Ok(latencies) } else { Err(DecodeError::Disagreement) }
        };
        Ok(ScriptStats {
            counts,
            response,
            service,
            lag: stats::Distribution::new(),
            lag_max_ns: self.lag_max_ns,
            failed: others(&self.failed, counts.failed)?,
            skipped: others(&self.skipped, counts.skipped)?,
            unfinished: others(&self.unfinished, counts.unfinished)?,
        })
    }
}

impl EncodedDistribution {
    /// A distribution as it is stored.
    pub fn of(distribution: &stats::Distribution) -> EncodedDistribution {
        let Moments { count, sum_ns, sum_of_squares_ns2, overflow, .. } = distribution.moments();
        EncodedDistribution {
            count,
            sum_ns,
            sum_of_squares_ns2,
            min_ns: distribution.min_ns(),
            max_ns: distribution.max_ns(),
            overflow,
            histogram: BASE64.encode(distribution.encode_v2()),
        }
    }

    /// The distribution as it was.
    ///
    /// # Errors
    /// If the histogram is damaged, or is not the one that the sums are of.
    pub fn decode(&self) -> Result<stats::Distribution, DecodeError> {
        let bytes = BASE64.decode(&self.histogram).map_err(|_| DecodeError::Corrupt)?;
        let nothing = Moments::default();
        let moments = Moments {
            count: self.count,
            sum_ns: self.sum_ns,
            sum_of_squares_ns2: self.sum_of_squares_ns2,
            min_ns: self.min_ns.unwrap_or(nothing.min_ns),
            max_ns: self.max_ns.unwrap_or(nothing.max_ns),
            overflow: self.overflow,
        };
        stats::Distribution::decode_v2_with(&bytes, moments)
    }
}

const NANOSECONDS_PER_SECOND: f64 = 1e9;

/// Saturates, as casts from f64 do: a negative or absurd time in a file becomes the nearest real one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * NANOSECONDS_PER_SECOND).round() as u64)
}

/// Integers as decimal strings, since readers of JSON commonly hold numbers as f64.
pub(crate) mod decimal {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<T: Display, S: Serializer>(number: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(crate) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|_| de::Error::custom(format_args!("\"{text}\" is not a whole number in range")))
    }
}
