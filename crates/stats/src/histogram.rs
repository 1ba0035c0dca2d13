//! Counts by buckets in HdrHistogram's layout for 1 ns to 24 h with three significant digits: each of the first 2¹¹
//! values has its own bucket, each later power of two is divided into 2¹⁰. `distribution` clamps values beyond the
//! range, `v2` encodes. Implemented here because the layout should be a constant on the hot path; the tests compare
//! it with the `hdrhistogram` crate.

use std::ops::Range;

/// The longest latency that the histogram resolves: 24 hours, in nanoseconds.
pub const HIGHEST_TRACKED_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// Significant decimal digits of quantiles.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 3;

/// Three digits need 2·10³ sub-buckets, rounded up to 2¹¹; all buckets except the first use only the upper half.
const SUB_BUCKET_BITS: u32 = 11;
const HALF_BITS: u32 = SUB_BUCKET_BITS - 1;
const HALF: usize = 1 << HALF_BITS;
/// Number of buckets.
pub(crate) const BUCKETS: usize = Bucket::of(HIGHEST_TRACKED_NS).0 + 1;

/// A range of values that are counted together.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bucket(usize);

impl Bucket {
    /// The bucket of a value that is at most [`HIGHEST_TRACKED_NS`].
    #[inline(always)]
    // A sub-bucket has 11 bits.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) const fn of(value: u64) -> Bucket {
        let highest_bit = (value | ((1 << SUB_BUCKET_BITS) - 1)).ilog2();
        let shift = highest_bit + 1 - SUB_BUCKET_BITS;
        Bucket(((shift as usize) << HALF_BITS) + (value >> shift) as usize)
    }

    /// The bucket at a place in the counts, if there is one.
    pub(crate) fn at(index: u64) -> Option<Bucket> {
        usize::try_from(index).ok().filter(|index| *index < BUCKETS).map(Bucket)
    }

    /// Its index in the counts.
    pub(crate) fn index(self) -> usize {
        self.0
    }

    fn shift(self) -> u32 {
        // A quotient below 2⁶, as there are fewer than 2¹⁶ buckets.
        u32::try_from((self.0 >> HALF_BITS).saturating_sub(1)).unwrap_or(0)
    }

    /// Its lowest value.
    pub(crate) fn lowest(self) -> u64 {
        let sub_bucket = if self.0 < 2 * HALF { self.0 } else { (self.0 & (HALF - 1)) + HALF };
        (sub_bucket as u64) << self.shift()
    }

    /// Its highest value; for the last bucket beyond [`HIGHEST_TRACKED_NS`].
    pub(crate) fn highest(self) -> u64 {
        self.lowest() + (1 << self.shift()) - 1
    }
}

/// The counts. The owner knows the smallest and the largest value, and therefore the used part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Histogram {
    counts: Box<[u64]>,
}

impl Histogram {
    pub(crate) fn new() -> Histogram {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice() }
    }

    #[inline(always)]
    pub(crate) fn record(&mut self, bucket: Bucket) {
        self.counts[bucket.0] += 1;
    }

    /// Counts several values of one bucket.
    pub(crate) fn record_many(&mut self, bucket: Bucket, count: u64) {
        self.counts[bucket.0] = self.counts[bucket.0].saturating_add(count);
    }

    /// Adds the counts of `other`, whose values are all in `used`.
    pub(crate) fn add(&mut self, other: &Histogram, used: Range<usize>) {
        for (ours, theirs) in self.counts[used.clone()].iter_mut().zip(&other.counts[used]) {
            *ours = ours.saturating_add(*theirs);
        }
    }

    /// Removes all values, which are all in `used`.
    pub(crate) fn clear(&mut self, used: Range<usize>) {
        self.counts[used].fill(0);
    }

    /// The non-empty buckets, in order, if all values are in `used`.
    pub(crate) fn recorded_in(&self, used: Range<usize>) -> impl Iterator<Item = (Bucket, u64)> {
        let first = used.start;
        let buckets = self.counts[used].iter().enumerate().filter(|(_, count)| **count > 0);
        buckets.map(move |(index, count)| (Bucket(first + index), *count))
    }

    /// The bucket of the value with this rank among all values, counted from 1; `None` if there are fewer.
    pub(crate) fn bucket_of_rank(&self, rank: u64, used: Range<usize>) -> Option<Bucket> {
        let mut seen = 0u64;
        let reaches = |count: &u64| {
            seen = seen.saturating_add(*count);
            seen >= rank
        };
        let first = used.start;
        self.counts[used].iter().position(reaches).map(|index| Bucket(first + index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_begins_behind_the_one_before_it_and_its_values_lead_back_to_it() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let bucket = Bucket(index);
            assert_eq!(bucket.lowest(), next);
            for value in [bucket.lowest(), bucket.lowest().midpoint(bucket.highest()), bucket.highest()] {
                assert_eq!(Bucket::of(value), bucket);
            }
            next = bucket.highest() + 1;
        }
        assert_eq!((Bucket::at(BUCKETS as u64), Bucket::at(u64::MAX)), (None, None));
        assert_eq!(Bucket::at(5), Some(Bucket(5)));
    }

    #[test]
    fn a_rank_beyond_the_values_has_no_bucket() {
        let mut histogram = Histogram::new();
        histogram.record(Bucket(3));
        histogram.record_many(Bucket(7), 2);
        let of_rank = |rank| histogram.bucket_of_rank(rank, 3..8).map(Bucket::index);
        assert_eq!([1, 2, 3, 4].map(of_rank), [Some(3), Some(7), Some(7), None]);
        assert_eq!(histogram.recorded_in(0..BUCKETS).collect::<Vec<_>>(), [(Bucket(3), 1), (Bucket(7), 2)]);
    }
}
