//! HdrHistogram's V2 encoding: a 40-byte header, then zig-zag varints, each a count or (negative) a
//! run of empty buckets. Format: HdrHistogram 2.1, `AbstractHistogram.encodeIntoByteBuffer`.
//! Not the compressed variant. Called by `Distribution` only.

use hdrhistogram::Histogram;

use crate::Moments;

/// Why bytes are not an encoded histogram of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// They end before the histogram does.
    Truncated,
    /// The first four bytes are not those of an uncompressed V2 histogram.
    NotV2,
    /// It is one, but for another range, precision or unit.
    OtherLayout,
    /// A bucket outside of the range, or counts that do not fit.
    Corrupt,
    /// The histogram and the exact sums stored beside it disagree.
    OtherCount {
        /// Values in the histogram.
        histogram: u64,
        /// Values that the sums are of.
        moments: u64,
    },
}

pub(crate) fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
    let _ = histogram;
    Vec::new()
}

pub(crate) fn decode(bytes: &[u8]) -> Result<(Histogram<u64>, Moments), DecodeError> {
    let _ = bytes;
    Err(DecodeError::Truncated)
}
