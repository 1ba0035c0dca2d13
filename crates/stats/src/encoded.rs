//! Statistics as text that other processes of the same run can read: lossless, compact, with times relative to a common
//! start. A distribution is its exact figures and its V2 histogram, in base64. What is read comes from outside: anything
//! inconsistent is an error, never a panic. The engine exchanges these texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::v2::{read_varint, write_varint};
use crate::{
    Completions, Counts, DecodeError, Distribution, DueSkips, Interval, Moments, ScriptStats, Timestamp,
    Traffic,
};

/// Larger counts are refused, so that the sums over a run cannot overflow. A machine makes fewer transactions in a year.
pub const COUNT_MAX: u64 = 1 << 48;

/// A distribution as text; empty if it has no values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedDistribution(String);

impl EncodedDistribution {
    /// Encodes it.
    pub fn new(distribution: &Distribution) -> EncodedDistribution {
        if distribution.is_empty() {
            return EncodedDistribution::default();
        }
        let mut bytes = Vec::with_capacity(1 << 13);
        write_moments(&mut bytes, &distribution.moments());
        bytes.extend(distribution.encode_v2());
        EncodedDistribution(STANDARD_NO_PAD.encode(bytes))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the values to an empty distribution.
    ///
    /// # Errors
    /// The text is not a distribution, or its parts do not match. The distribution may then have some of the values.
    fn decode_into(&self, distribution: &mut Distribution) -> Result<(), DecodeError> {
        if self.is_empty() {
            return Ok(());
        }
        let bytes = bytes_of(&self.0)?;
        let mut rest = bytes.as_slice();
        let moments = read_moments(&mut rest)?;
        distribution.fill_from_v2(rest, moments)
    }

    /// Decodes it.
    ///
    /// # Errors
    /// The text is not a distribution, or its parts do not match.
    pub fn decode(&self) -> Result<Distribution, DecodeError> {
        let mut distribution = Distribution::new();
        self.decode_into(&mut distribution).map(|()| distribution)
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EncodedDistribution::new(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution, D::Error> {
        EncodedDistribution::deserialize(deserializer)?.decode().map_err(de::Error::custom)
    }
}

/// Moments as text, for `#[serde(with = …)]`.
pub(crate) mod moments {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(moments: &Moments, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        write_moments(&mut bytes, moments);
        STANDARD_NO_PAD.encode(bytes).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Moments, D::Error> {
        let text = String::deserialize(deserializer)?;
        bytes_of(&text).and_then(|bytes| read_moments(&mut bytes.as_slice())).map_err(de::Error::custom)
    }
}

fn bytes_of(text: &str) -> Result<Vec<u8>, DecodeError> {
    STANDARD_NO_PAD.decode(text).map_err(|_| DecodeError::NotBase64)
}

fn write_moments(out: &mut Vec<u8>, moments: &Moments) {
    let Moments { count, sum_ns, sum_of_squares_ns2, min_ns, max_ns, overflow } = *moments;
    let low = |wide: u128| u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(u64::MAX);
    for number in [count, low(sum_ns), low(sum_ns >> 64)] {
        write_varint(out, number);
    }
    for number in [low(sum_of_squares_ns2), low(sum_of_squares_ns2 >> 64), min_ns, max_ns, overflow] {
        write_varint(out, number);
    }
}

fn read_moments(input: &mut &[u8]) -> Result<Moments, DecodeError> {
    let mut next = || read_varint(input);
    let count = next()?;
    let sum_ns = u128::from(next()?) | u128::from(next()?) << 64;
    let sum_of_squares_ns2 = u128::from(next()?) | u128::from(next()?) << 64;
    let moments =
        Moments { count, sum_ns, sum_of_squares_ns2, min_ns: next()?, max_ns: next()?, overflow: next()? };
    let is_empty = moments == Moments::default();
    let has_values = count > 0 && moments.min_ns <= moments.max_ns && moments.overflow <= count;
    if count > COUNT_MAX {
        Err(DecodeError::Corrupt)
    } else if is_empty || has_values {
        Ok(moments)
    } else {
        Err(DecodeError::Disagreement)
    }
}

/// The statistics of a script as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EncodedScript {
    counts: Counts,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    response: EncodedDistribution,
    /// `None` if all transactions started when they were scheduled: the same as the response times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<EncodedDistribution>,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    lag: EncodedDistribution,
    lag_max_ns: u64,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    failed: EncodedDistribution,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    skipped: EncodedDistribution,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    unfinished: EncodedDistribution,
    #[serde(default, skip_serializing_if = "EncodedDistribution::is_empty")]
    unknown: EncodedDistribution,
    traffic: Traffic,
}

impl EncodedScript {
    fn new(stats: &ScriptStats) -> EncodedScript {
        let ScriptStats {
            counts,
            response,
            service,
            lag,
            lag_max_ns,
            failed,
            skipped,
            unfinished,
            unknown,
            traffic,
        } = stats;
        let encoded = EncodedDistribution::new;
        let started_when_scheduled = lag.is_empty() && *lag_max_ns == 0;
        EncodedScript {
            counts: *counts,
            response: encoded(response),
            service: (!started_when_scheduled).then(|| encoded(service)),
            lag: encoded(lag),
            lag_max_ns: *lag_max_ns,
            failed: encoded(failed),
            skipped: encoded(skipped),
            unfinished: encoded(unfinished),
            unknown: encoded(unknown),
            traffic: *traffic,
        }
    }

    /// Fills empty statistics.
    fn decode_into(&self, stats: &mut ScriptStats) -> Result<(), DecodeError> {
        let EncodedScript {
            counts,
            response,
            service,
            lag,
            lag_max_ns,
            failed,
            skipped,
            unfinished,
            unknown,
            traffic,
        } = self;
        if !counts.is_balanced() || counts.scheduled > COUNT_MAX || counts.retries > COUNT_MAX {
            return Err(DecodeError::Unbalanced);
        }
        (stats.counts, stats.lag_max_ns, stats.traffic) = (*counts, *lag_max_ns, *traffic);
        response.decode_into(&mut stats.response)?;
        match service {
            Some(service) => service.decode_into(&mut stats.service)?,
            None => stats.service.merge(&stats.response),
        }
        let others = [
            (lag, &mut stats.lag),
            (failed, &mut stats.failed),
            (skipped, &mut stats.skipped),
            (unfinished, &mut stats.unfinished),
            (unknown, &mut stats.unknown),
        ];
        for (encoded, distribution) in others {
            encoded.decode_into(distribution)?;
        }
        if stats.is_recorded() { Ok(()) } else { Err(DecodeError::Unbalanced) }
    }
}

impl Serialize for ScriptStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EncodedScript::new(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScriptStats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ScriptStats, D::Error> {
        let mut stats = ScriptStats::new();
        let decoded = EncodedScript::deserialize(deserializer)?.decode_into(&mut stats);
        decoded.map(|()| stats).map_err(de::Error::custom)
    }
}

/// An interval as text, with times relative to a common start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedInterval {
    start_ns: u64,
    end_ns: u64,
    scripts: Vec<EncodedScript>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    completions: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unfinished_since_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    due_skips: Vec<EncodedDueSkips>,
}

/// Skipped transactions by the interval in which they were due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EncodedDueSkips {
    due_ns: u64,
    script: usize,
    delays: EncodedDistribution,
}

impl EncodedInterval {
    /// Encodes an interval of a run that started at `origin`.
    pub fn new(interval: &Interval, origin: Timestamp) -> EncodedInterval {
        let Interval { start, end, scripts, completions, due_skips } = interval;
        let since = |at: Timestamp| at.as_nanos().saturating_sub(origin.as_nanos());
        let mut bytes = Vec::new();
        completions.write(&mut bytes);
        EncodedInterval {
            start_ns: since(*start),
            end_ns: since(*end),
            scripts: scripts.iter().map(EncodedScript::new).collect(),
            completions: STANDARD_NO_PAD.encode(bytes),
            unfinished_since_ns: completions.unfinished_since().map(since),
            due_skips: due_skips
                .iter()
                .map(|DueSkips { due, script, delays }| EncodedDueSkips {
                    due_ns: since(*due),
                    script: *script,
                    delays: EncodedDistribution::new(delays),
                })
                .collect(),
        }
    }

    /// Begin and end, for a run that started at `origin`.
    pub fn span(&self, origin: Timestamp) -> (Timestamp, Timestamp) {
        let after = |ns: u64| Timestamp::from_nanos(ns.saturating_add(origin.as_nanos()));
        (after(self.start_ns), after(self.end_ns))
    }

    /// Decodes it into an empty interval, for a run that started at `origin`.
    ///
    /// # Errors
    /// It has another number of scripts, is damaged, or its parts do not match. `interval` is empty then.
    pub fn decode_into(&self, interval: &mut Interval, origin: Timestamp) -> Result<(), DecodeError> {
        let decoded = self.try_decode_into(interval, origin);
        if decoded.is_err() {
            // What was decoded so far may be inconsistent, so that its used part is not known.
            *interval = Interval::new(interval.scripts.len());
        }
        decoded
    }

    fn try_decode_into(&self, interval: &mut Interval, origin: Timestamp) -> Result<(), DecodeError> {
        let EncodedInterval { start_ns, end_ns, scripts, completions, unfinished_since_ns, due_skips } = self;
        if scripts.len() != interval.scripts.len() {
            return Err(DecodeError::OtherScripts { found: scripts.len(), expected: interval.scripts.len() });
        }
        if start_ns > end_ns {
            return Err(DecodeError::Corrupt);
        }
        (interval.start, interval.end) = self.span(origin);
        for (encoded, stats) in scripts.iter().zip(&mut interval.scripts) {
            encoded.decode_into(stats)?;
        }
        interval.completions.read(&bytes_of(completions)?)?;
        if let Some(since_ns) = unfinished_since_ns {
            let since = Timestamp::from_nanos(since_ns.saturating_add(origin.as_nanos()));
            interval.completions.leave_unfinished(since);
        }
        for EncodedDueSkips { due_ns, script, delays } in due_skips {
            let due = Timestamp::from_nanos(due_ns.saturating_add(origin.as_nanos()));
            interval.due_skips.push(DueSkips { due, script: *script, delays: delays.decode()? });
        }
        if interval.has_all_due_skips() { Ok(()) } else { Err(DecodeError::Unbalanced) }
    }
}

impl Completions {
    /// For each tick its value, or the number of empty ticks after a zero.
    fn write(&self, out: &mut Vec<u8>) {
        let mut empty = 0;
        for waited in self.waited() {
            if *waited == 0 {
                empty += 1;
                continue;
            }
            if empty > 0 {
                write_varint(out, 0);
                write_varint(out, empty);
                empty = 0;
            }
            write_varint(out, u64::from(*waited));
        }
    }

    /// Reads what [`Completions::write`] wrote, into empty ones.
    fn read(&mut self, mut bytes: &[u8]) -> Result<(), DecodeError> {
        let mut tick = 0;
        while !bytes.is_empty() {
            match u32::try_from(read_varint(&mut bytes)?).map_err(|_| DecodeError::Corrupt)? {
                0 => {
                    let empty = read_varint(&mut bytes)?;
                    let empty = usize::try_from(empty).map_err(|_| DecodeError::Corrupt)?;
                    tick = empty.checked_add(tick).ok_or(DecodeError::Corrupt)?;
                }
                waited => {
                    *self.waited_mut().get_mut(tick).ok_or(DecodeError::Corrupt)? = waited;
                    tick += 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, Failure, Recorder, Sample};

    fn ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// An interval of two scripts with every ending; the second script has a lag only if there is a rate.
    fn interval(rate: bool, transactions: u64) -> Interval {
        let mut recorder = Recorder::new(2, None).starting_at(ms(10_000));
        let endings = [
            Ending::Succeeded,
            Ending::Failed(Failure::Deadlock),
            Ending::Skipped,
            Ending::Unfinished,
            Ending::Unknown,
        ];
        for number in 0..transactions {
            let ending = endings[usize::try_from(number % 7).unwrap().min(4)];
            let scheduled = Timestamp::from_nanos(ms(10_000).as_nanos() + number * 1_234_567);
            let started =
                if rate { Timestamp::from_nanos(scheduled.as_nanos() + number % 3) } else { scheduled };
            let finished = Timestamp::from_nanos(started.as_nanos() + number * number * 10);
            let traffic = Traffic { round_trips: 1, sent_bytes: number, received_bytes: 3 };
            let script = usize::try_from(number % 2).unwrap();
            let tries = 1 + u32::from(number % 11 == 0);
            let sample = Sample { script, scheduled, started, finished, tries, business: 2, ending, traffic };
            recorder.record(&sample);
            if ending == Ending::Skipped {
                recorder.skip_due_in(&sample, ms(9_000 + number % 2 * 1_000));
            }
        }
        recorder.hand_over(ms(10_000), ms(11_000), Interval::new(2))
    }

    fn text(interval: &Interval) -> String {
        serde_json::to_string(&EncodedInterval::new(interval, ms(9_000))).unwrap()
    }

    fn read(text: &str, scripts: usize, origin: Timestamp) -> Result<Interval, String> {
        let encoded: EncodedInterval = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut interval = Interval::new(scripts);
        encoded.decode_into(&mut interval, origin).map_err(|error| error.to_string())?;
        Ok(interval)
    }

    #[test]
    fn an_interval_is_the_same_after_it_was_written_and_read() {
        for rate in [false, true] {
            let written = interval(rate, 500);
            assert_eq!(read(&text(&written), 2, ms(9_000)), Ok(written));
        }
        let empty = Interval { start: ms(10_000), end: ms(10_000), ..Interval::new(2) };
        assert_eq!(read(&text(&empty), 2, ms(9_000)), Ok(empty));
    }

    #[test]
    fn the_times_are_relative_to_the_start_of_the_run_on_each_side() {
        let written = interval(true, 500);
        let mut read = read(&text(&written), 2, ms(0)).unwrap();
        assert_eq!((read.start, read.end), (ms(1_000), ms(2_000)));
        let since = written.completions.unfinished_since().unwrap().since(ms(9_000));
        assert_eq!(read.completions.unfinished_since(), Some(Timestamp::ZERO + since));
        (read.start, read.end) = (written.start, written.end);
        assert_eq!(read.scripts, written.scripts);
    }

    #[test]
    fn an_interval_of_other_scripts_or_with_wrong_sums_is_refused() {
        let good = text(&interval(true, 500));
        assert_eq!(read(&good, 3, ms(0)).unwrap_err(), "the statistics are of 2 scripts, but the run has 3");
        let changed = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            read(&good.replacen(from, to, 1), 2, ms(0)).unwrap_err()
        };
        let sums = "the numbers of transactions do not add up";
        assert_eq!(changed("\"scheduled\":250", "\"scheduled\":251"), sums);
        assert_eq!(changed("\"failed\":36", "\"failed\":37"), sums);
        assert_eq!(changed("\"script\":1,\"delays\"", "\"script\":0,\"delays\""), sums);
        assert_eq!(changed("\"script\":1,\"delays\"", "\"script\":2,\"delays\""), sums);
        assert_eq!(changed("\"response\":", "\"skipped_response\":"), sums);
        assert_eq!(changed("\"lag\":\"", "\"lag\":\"!"), "a histogram is not in base64");
        assert_eq!(changed("\"end_ns\":2000000000", "\"end_ns\":1"), "the histogram's counts are damaged");
    }

    #[test]
    fn a_damaged_text_is_an_error_or_has_sums_that_add_up() {
        let written = interval(true, 30);
        let good = text(&written).into_bytes();
        let mut refused = 0;
        // A step of five has each of the three bytes in turn.
        let (mut tried, step) = (0, testkit::extent::choose(5, 1));
        for at in (0..good.len()).step_by(step) {
            tried += 1;
            let mut bytes = good.clone();
            bytes[at] = [b'0', b'A', b'"'][at % 3];
            match read(std::str::from_utf8(&bytes).unwrap(), 2, ms(9_000)) {
                Ok(interval) => interval.scripts.iter().for_each(ScriptStats::check_recorded),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > tried / 3, "{refused} of {tried}");
    }
}
