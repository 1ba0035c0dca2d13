//! The run over time in the record: intervals with mergeable histograms. Made from the engine's intervals and
//! convertible to them, to compute other quantiles or to merge runs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{Counts, DecodeError, DueSkips, Moments, ScriptStats, Timestamp};

/// An interval, usually a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start, in seconds since measuring began.
    pub start_s: f64,
    /// End, in seconds since measuring began.
    pub end_s: f64,
    /// Transactions that ended in it, over all scripts; of the skipped ones, those that were due in it.
    pub counts: Counts,
    /// The same per script, in the plan's order.
    pub scripts: Vec<IntervalScript>,
}

/// One script in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalScript {
    /// Its transactions by ending.
    pub counts: Counts,
    /// Response times of the succeeded transactions.
    pub response: EncodedDistribution,
    /// Service times of the succeeded transactions; `null` if they equal the response times, as without a rate: this
    /// halves the size of the record.
    pub service: Option<EncodedDistribution>,
    /// Maximum lag, from scheduled to started, of the succeeded transactions.
    pub lag_max_ns: u64,
    /// Response times of the failed transactions; `null` without any.
    pub failed: Option<EncodedDistribution>,
    /// Lateness of the skipped transactions when they were skipped; `null` without any.
    pub skipped: Option<EncodedDistribution>,
    /// Time since the scheduled start of the unfinished transactions; `null` without any.
    pub unfinished: Option<EncodedDistribution>,
    /// Time from the scheduled start to the loss of the connection, of the transactions with an unknown ending; absent
    /// without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<EncodedDistribution>,
}

/// A distribution, stored without loss: a histogram with exact sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EncodedDistribution {
    /// Number of values.
    pub count: u64,
    /// Their sum; a string in JSON, where numbers beyond 2⁵³ lose digits.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub sum_ns: u128,
    /// The sum of their squares; a string for the same reason.
    #[serde(with = "decimal")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+$"))]
    pub sum_of_squares_ns2: u128,
    /// The smallest value, exact; `null` without values.
    pub min_ns: Option<u64>,
    /// The largest value, exact; `null` without values.
    pub max_ns: Option<u64>,
    /// Values beyond the histogram's range of 24 hours.
    pub overflow: u64,
    /// HdrHistogram's V2 encoding, uncompressed, in base64; 1 ns to 24 h, three significant digits.
    pub histogram: String,
}

impl Interval {
    /// The interval for the record, with times since `origin`, the start of measuring.
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

    /// Appends an interval to those of a run, with times since `origin`. A skipped transaction counts in the interval in
    /// which it was due, also if that is an earlier one.
    pub fn append(earlier: &mut Vec<Interval>, interval: &stats::Interval, origin: Timestamp) {
        let mut new = Interval::of(interval, origin);
        if interval.due_skips.is_empty() || !interval.has_all_due_skips() {
            // Those of merged intervals count when they were noticed.
            return earlier.push(new);
        }
        let mut own: Vec<_> = new.scripts.iter().map(|_| stats::Distribution::new()).collect();
        for DueSkips { due, script, delays } in &interval.due_skips {
            let due_s = due.since(origin).as_secs_f64();
            let at = earlier.partition_point(|it| it.end_s <= due_s);
            match earlier.get_mut(at).filter(|_| *due < interval.start) {
                Some(target) => target.add_skips(*script, delays),
                None => own[*script].merge(delays),
            }
        }
        new.counts = Counts::default();
        for (script, own) in new.scripts.iter_mut().zip(&own) {
            script.counts.scheduled = script.counts.scheduled - script.counts.skipped + own.count();
            script.counts.skipped = own.count();
            script.skipped = (!own.is_empty()).then(|| EncodedDistribution::of(own));
            new.counts.merge(&script.counts);
        }
        earlier.push(new);
    }

    fn add_skips(&mut self, script: usize, delays: &stats::Distribution) {
        let stats = &mut self.scripts[script];
        for counts in [&mut self.counts, &mut stats.counts] {
            counts.scheduled += delays.count();
            counts.skipped += delays.count();
        }
        let mut all = delays.clone();
        if let Some(skipped) = &stats.skipped {
            all.merge(&skipped.decode().expect("it was encoded here"));
        }
        stats.skipped = Some(EncodedDistribution::of(&all));
    }

    /// The original interval, for merging and for other quantiles.
    ///
    /// # Errors
    /// The counts are inconsistent, or a histogram is damaged or inconsistent with them.
    pub fn to_stats(&self) -> Result<stats::Interval, DecodeError> {
        Ok(stats::Interval {
            start: timestamp(self.start_s),
            end: timestamp(self.end_s),
            scripts: self.scripts.iter().map(IntervalScript::to_stats).collect::<Result<_, _>>()?,
            // The record has the stalls derived from completions, but not the completions.
            completions: stats::Completions::new(),
            due_skips: Vec::new(),
        })
    }
}

impl IntervalScript {
    fn of(script: &ScriptStats) -> IntervalScript {
        let ScriptStats {
            counts,
            response,
            service,
            lag: _,
            lag_max_ns,
            failed,
            skipped,
            unfinished,
            unknown,
            traffic: _,
        } = script;
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
            unknown: others(unknown),
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
            unknown: others(&self.unknown, counts.unknown)?,
            // The summary has it.
            traffic: stats::Traffic::default(),
        })
    }
}

impl EncodedDistribution {
    /// The distribution for the record.
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

    /// The original distribution.
    ///
    /// # Errors
    /// The histogram is damaged or inconsistent with the sums.
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

/// Saturates, as casts from f64 do: a negative or excessive time in a file becomes the nearest valid one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * NANOSECONDS_PER_SECOND).round() as u64)
}

/// Integers as decimal strings, because JSON parsers commonly use f64 for numbers.
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

/// The same for an optional number.
pub(crate) mod optional_decimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(number: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => super::decimal::serialize(number, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let number = |text: String| {
            let error = || de::Error::custom(format_args!("\"{text}\" is not a whole number in range"));
            text.parse().map_err(|_| error())
        };
        text.map(number).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{Ending, Recorder, Sample, Traffic};

    #[test]
    fn a_skipped_transaction_counts_in_the_interval_in_which_it_was_due() {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let mut recorder = Recorder::new(1, None).starting_at(at(500));
        let record = |recorder: &mut Recorder, due_ms: u64, ended_ms: u64, ending: Ending| {
            let (scheduled, finished) = (at(due_ms), at(ended_ms));
            let started = if ending == Ending::Skipped { finished } else { scheduled };
            let traffic = Traffic::default();
            let sample =
                Sample { script: 0, scheduled, started, finished, tries: 1, business: 1, ending, traffic };
            recorder.record(&sample);
            if ending == Ending::Skipped {
                recorder.skip_due_in(&sample, at(500 + (due_ms - 500) / 1_000 * 1_000));
            }
        };
        let mut intervals = Vec::new();
        record(&mut recorder, 600, 700, Ending::Succeeded);
        record(&mut recorder, 800, 900, Ending::Skipped);
        let first = recorder.hand_over(at(500), at(1_500), stats::Interval::new(1));
        record(&mut recorder, 700, 2_100, Ending::Skipped);
        record(&mut recorder, 1_500, 2_200, Ending::Skipped);
        record(&mut recorder, 1_600, 2_300, Ending::Succeeded);
        let second = recorder.hand_over(at(1_500), at(2_500), stats::Interval::new(1));
        for interval in [&first, &second] {
            Interval::append(&mut intervals, interval, at(500));
        }
        // Without the whole list, nothing is moved and nothing is lost.
        let mut partial = second.clone();
        partial.due_skips.pop();
        let mut unmoved = Vec::new();
        Interval::append(&mut unmoved, &partial, at(500));
        assert_eq!((unmoved[0].counts.scheduled, unmoved[0].counts.skipped), (3, 2));
        let told = |interval: &Interval| {
            let stats = interval.to_stats().expect("it is consistent").total();
            assert_eq!(stats.counts, interval.counts);
            let Counts { scheduled, succeeded, skipped, .. } = interval.counts;
            let delays = stats.skipped.moments();
            (
                scheduled,
                succeeded,
                skipped,
                delays.count,
                delays.sum_ns / 1_000_000,
                delays.max_ns / 1_000_000,
            )
        };
        assert_eq!(
            intervals.iter().map(told).collect::<Vec<_>>(),
            [(3, 1, 2, 2, 1_500, 1_400), (2, 1, 1, 1, 700, 700)]
        );
    }
}
