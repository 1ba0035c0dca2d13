//! A distribution of latencies: an HDR histogram for the quantiles, and exact integers for everything else. Values
//! beyond the histogram's range are clamped, counted in `overflow`, and exact in `max`. Filled by the recorder.

use std::ops::Range;
use std::time::Duration;

use crate::histogram::{Bucket, HIGHEST_TRACKED_NS, Histogram};
use crate::timestamp::saturating_nanos;
use crate::v2::{self, DecodeError, Decoded};

/// A distribution of latencies in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    histogram: Histogram,
    moments: Moments,
}

/// The exact figures of a distribution, without its histogram.
///
/// `min_ns` is `u64::MAX` and `max_ns` 0 while `count` is 0, so that merging needs no special case.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Sum of the values.
    pub sum_ns: u128,
    /// Sum of their squares; saturates only for values that no run produces (10¹⁰ of a whole day).
    pub sum_of_squares_ns2: u128,
    /// The smallest value.
    pub min_ns: u64,
    /// The largest value, exact even beyond the histogram's range.
    pub max_ns: u64,
    /// Values above [`HIGHEST_TRACKED_NS`].
    pub overflow: u64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { count: 0, sum_ns: 0, sum_of_squares_ns2: 0, min_ns: u64::MAX, max_ns: 0, overflow: 0 }
    }
}

impl Moments {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        let wide = u128::from(value_ns);
        self.count += 1;
        self.sum_ns += wide;
        self.sum_of_squares_ns2 = self.sum_of_squares_ns2.saturating_add(wide * wide);
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.overflow += u64::from(value_ns > HIGHEST_TRACKED_NS);
    }

    /// Adds `other` to `self`.
    pub fn merge(&mut self, other: &Moments) {
        let Moments { count, sum_ns, sum_of_squares_ns2, min_ns, max_ns, overflow } = *other;
        self.count += count;
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.sum_of_squares_ns2 = self.sum_of_squares_ns2.saturating_add(sum_of_squares_ns2);
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
        self.overflow += overflow;
    }

    /// The arithmetic mean, from exact sums.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The standard deviation of these values (of the population, as pgbench's), from exact sums.
    pub fn stddev_ns(&self) -> Option<f64> {
        self.variance_ns2().map(f64::sqrt)
    }

    /// Σ(x−q)², where q is the integer part of the mean, in integer arithmetic; subtracting two large floating-point
    /// sums would leave only rounding errors. With Σx = nq + r it is Σx² − q(Σx + r), and the variance is that over
    /// n, less (r/n)² (the shift theorem).
    // The results estimate a spread; they are not counts.
    fn variance_ns2(&self) -> Option<f64> {
        let count = u128::from(self.count);
        let quotient = self.sum_ns.checked_div(count)?;
        let remainder = self.sum_ns % count;
        let around_quotient = self
            .sum_of_squares_ns2
            .saturating_sub(quotient.saturating_mul(self.sum_ns.saturating_add(remainder)));
        let shift = remainder as f64 / count as f64;
        Some((around_quotient as f64 / count as f64 - shift * shift).max(0.0))
    }
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution::new()
    }
}

impl Distribution {
    /// An empty distribution; takes about 300 kB.
    pub fn new() -> Distribution {
        Distribution { histogram: Histogram::new(), moments: Moments::default() }
    }

    /// Its histogram alone.
    pub(crate) fn into_histogram(self) -> Histogram {
        self.histogram
    }

    /// A distribution from parts that were counted elsewhere; both must contain the same values.
    pub(crate) fn from_parts(histogram: &Histogram, moments: Moments) -> Distribution {
        let mut copy = Histogram::new();
        copy.add(histogram, used(&moments));
        Distribution { histogram: copy, moments }
    }

    /// Records one value of any length; see [`Distribution::overflow`].
    pub fn record(&mut self, value: Duration) {
        self.record_ns(saturating_nanos(value));
    }

    /// Records the same value several times.
    pub fn record_times(&mut self, value: Duration, times: u64) {
        if times == 0 {
            return;
        }
        let value_ns = saturating_nanos(value);
        let (wide, many) = (u128::from(value_ns), u128::from(times));
        self.moments.merge(&Moments {
            count: times,
            sum_ns: wide.saturating_mul(many),
            sum_of_squares_ns2: (wide * wide).saturating_mul(many),
            min_ns: value_ns,
            max_ns: value_ns,
            overflow: if value_ns > HIGHEST_TRACKED_NS { times } else { 0 },
        });
        self.histogram.record_many(bucket_of(value_ns), times);
    }

    /// Records one value in nanoseconds. Does not allocate.
    #[inline]
    pub fn record_ns(&mut self, value_ns: u64) {
        self.record_in(bucket_of(value_ns), value_ns);
    }

    /// Records one value whose bucket is known.
    #[inline(always)]
    fn record_in(&mut self, bucket: Bucket, value_ns: u64) {
        self.moments.record(value_ns);
        self.histogram.record(bucket);
    }

    /// Records the same value in two distributions, for little more than the cost of one.
    #[inline]
    pub(crate) fn record_in_both(first: &mut Distribution, second: &mut Distribution, value_ns: u64) {
        let bucket = bucket_of(value_ns);
        first.record_in(bucket, value_ns);
        second.record_in(bucket, value_ns);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Distribution) {
        let Distribution { histogram, moments } = other;
        self.moments.merge(moments);
        self.histogram.add(histogram, used(moments));
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.moments.count == 0
    }

    /// All exact figures, for storing.
    pub fn moments(&self) -> Moments {
        self.moments
    }

    /// The arithmetic mean, from exact sums.
    pub fn mean_ns(&self) -> Option<f64> {
        self.moments.mean_ns()
    }

    /// The standard deviation of these values (of the population, as pgbench's), from exact sums.
    pub fn stddev_ns(&self) -> Option<f64> {
        self.moments.stddev_ns()
    }

    /// The smallest value, exact.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.moments.min_ns)
    }

    /// The largest value, exact, also beyond the histogram's range.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.moments.max_ns)
    }

    /// The smallest value that at least the share `q` of the values does not exceed, to three digits, within `min_ns
    /// ..= max_ns`. `q` is clamped to 0 ..= 1.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        if q >= 1.0 {
            return self.max_ns();
        }
        // A non-negative rank below 2⁶⁴, rounded as in HdrHistogram.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rank = (q.max(0.0) * self.moments.count as f64).ceil() as u64;
        let bucket = self.histogram.bucket_of_rank(rank.max(1), used(&self.moments))?;
        let value_ns = if q > 0.0 { bucket.highest() } else { bucket.lowest() };
        Some(value_ns.clamp(self.moments.min_ns, self.moments.max_ns))
    }

    /// The non-empty buckets in order, with lowest and highest value and count; for charts.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let buckets = self.histogram.recorded_in(used(&self.moments));
        buckets.map(|(bucket, count)| (bucket.lowest(), bucket.highest(), count))
    }

    /// Number of values above [`HIGHEST_TRACKED_NS`].
    pub fn overflow(&self) -> u64 {
        self.moments.overflow
    }

    /// Empties it, keeping the memory; costs nothing if it is already empty.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.histogram.clear(used(&self.moments));
            self.moments = Moments::default();
        }
    }

    /// The histogram in HdrHistogram's V2 encoding, not compressed. It does not carry the exact sums;
    /// store [`Distribution::moments`] beside it.
    pub fn encode_v2(&self) -> Vec<u8> {
        v2::encode(&self.histogram, used(&self.moments))
    }

    /// Restores a distribution from its encoded histogram and its moments.
    ///
    /// # Errors
    /// The bytes are not a V2 histogram with this crate's bounds, or the two do not match.
    pub fn decode_v2_with(bytes: &[u8], moments: Moments) -> Result<Distribution, DecodeError> {
        let mut distribution = Distribution::new();
        distribution.fill_from_v2(bytes, moments).map(|()| distribution)
    }

    /// The same for an empty distribution. After an error it may have some of the values.
    pub(crate) fn fill_from_v2(&mut self, bytes: &[u8], moments: Moments) -> Result<(), DecodeError> {
        let Decoded { count, extremes } = v2::decode_into(bytes, &mut self.histogram)?;
        let (wide, min_ns, max_ns) = (u128::from(count), moments.min_ns, moments.max_ns);
        let together = match extremes {
            None => moments == Moments::default(),
            Some(extremes) => {
                moments.count == count
                    && extremes == (bucket_of(min_ns), bucket_of(max_ns))
                    && min_ns <= max_ns
                    && (wide * u128::from(min_ns)..=wide * u128::from(max_ns)).contains(&moments.sum_ns)
                    && moments.overflow <= count
            }
        };
        if !together {
            return Err(DecodeError::Disagreement);
        }
        self.moments = moments;
        Ok(())
    }
}

/// The used part of a histogram with these moments.
pub(crate) fn used(moments: &Moments) -> Range<usize> {
    if moments.count == 0 {
        return 0..0;
    }
    bucket_of(moments.min_ns).index()..bucket_of(moments.max_ns).index() + 1
}

/// The bucket of any value; values beyond the range are in the last one.
#[inline(always)]
pub(crate) fn bucket_of(value_ns: u64) -> Bucket {
    Bucket::of(value_ns.min(HIGHEST_TRACKED_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values_ns: &[u64]) -> Distribution {
        let mut distribution = Distribution::new();
        values_ns.iter().for_each(|&value_ns| distribution.record(Duration::from_nanos(value_ns)));
        distribution
    }

    #[test]
    fn a_value_recorded_several_times_is_as_several_values() {
        let mut at_once = of(&[5]);
        at_once.record_times(Duration::from_nanos(7), 3);
        at_once.record_times(Duration::from_nanos(9), 0);
        assert_eq!(at_once, of(&[5, 7, 7, 7]));
    }

    #[test]
    fn nothing_has_no_mean_and_no_quantile() {
        let nothing = Distribution::new();
        assert!(nothing.is_empty());
        assert_eq!((nothing.mean_ns(), nothing.stddev_ns()), (None, None));
        assert_eq!((nothing.min_ns(), nothing.max_ns(), nothing.quantile_ns(0.5)), (None, None, None));
    }

    #[test]
    fn the_deviation_is_the_populations() {
        assert_eq!(of(&[2, 4, 4, 4, 5, 5, 7, 9]).stddev_ns(), Some(2.0));
        assert_eq!(of(&[7]).stddev_ns(), Some(0.0));
    }

    #[test]
    fn a_small_spread_far_from_zero_is_not_rounded_away() {
        let hour_ns = 3_600_000_000_000;
        assert_eq!(of(&[hour_ns, hour_ns + 2]).stddev_ns(), Some(1.0));
    }

    #[test]
    fn a_value_beyond_the_range_is_clamped_in_quantiles_counted_and_exact_as_maximum() {
        let mut distribution = of(&[1_000, 1_000, HIGHEST_TRACKED_NS + 1]);
        distribution.record(Duration::MAX);
        assert_eq!(distribution.overflow(), 2);
        assert_eq!(distribution.max_ns(), Some(u64::MAX));
        assert!(distribution.quantile_ns(0.75).is_some_and(|ns| ns >= HIGHEST_TRACKED_NS));
        assert_eq!(distribution.count(), 4);
    }

    #[test]
    fn quantiles_stay_between_the_extremes() {
        let distribution = of(&[1_000_001]);
        for q in [-1.0, 0.0, 0.5, 0.999, 1.0, 7.0] {
            assert_eq!(distribution.quantile_ns(q), Some(1_000_001));
        }
    }

    #[test]
    fn a_cleared_distribution_equals_a_new_one() {
        let mut distribution = of(&[1, 2, u64::MAX]);
        distribution.clear();
        assert_eq!(distribution, Distribution::new());
        assert_eq!(distribution.encode_v2(), Distribution::new().encode_v2());
    }
}
