//! HdrHistogram's V2 encoding: a 40-byte header, then zig-zag varints, each a count or (negative) a run of empty
//! buckets. Format: HdrHistogram 2.1, `AbstractHistogram.encodeIntoByteBuffer`, uncompressed. Implemented here
//! because the histogram crate's decoder trusts lengths and counts, and our input comes from files; the tests compare
//! it with that crate. Used by `Distribution`.

use std::ops::Range;

use thiserror::Error;

use crate::histogram::{BUCKETS, Bucket, HIGHEST_TRACKED_NS, Histogram, SIGNIFICANT_DIGITS};

/// Marks an uncompressed V2 histogram.
const COOKIE: u32 = 0x1c84_9313;
/// Cookie, payload length, index offset, digits (4 bytes each); lowest, highest, unit ratio (8 each).
const HEADER_LEN: usize = 40;
/// The longest varint of the format: eight groups of seven bits and one whole byte.
const VARINT_LEN_MAX: u32 = 9;

/// Why bytes cannot be decoded.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// They are too short or too long.
    #[error("the histogram has another length than it says")]
    Length,
    /// The first four bytes are not those of an uncompressed V2 histogram.
    #[error("not a histogram in HdrHistogram's uncompressed V2 encoding")]
    NotV2,
    /// The range, precision or unit differs from this crate's.
    #[error("the histogram is not of 1 ns to 24 h with 3 digits")]
    OtherLayout,
    /// A bucket is outside of the range, or counts overflow.
    #[error("the histogram's counts are damaged")]
    Corrupt,
    /// A histogram is not in base64.
    #[error("a histogram is not in base64")]
    NotBase64,
    /// Transactions are missing or counted twice.
    #[error("the numbers of transactions do not add up")]
    Unbalanced,
    /// The statistics are those of another plan.
    #[error("the statistics are of {found} scripts, but the run has {expected}")]
    OtherScripts {
        /// Number of scripts.
        found: usize,
        /// Number of scripts of the run.
        expected: usize,
    },
    /// The histogram and the exact figures stored with it do not match.
    #[error("the histogram and the figures beside it are not of the same values")]
    Disagreement,
}

/// The complete encoding, including the header, of a histogram whose values are all in `used`.
pub(crate) fn encode(histogram: &Histogram, used: Range<usize>) -> Vec<u8> {
    let mut out = header(0).to_vec();
    let mut next_index = 0;
    for (bucket, count) in histogram.recorded_in(used) {
        let index = i64::try_from(bucket.index()).expect("fewer than 2¹⁶ buckets");
        match index - next_index {
            0 => {}
            1 => write_varint(&mut out, zig_zag(0)),
            empty => write_varint(&mut out, zig_zag(-empty)),
        }
        // The format has no counts beyond i64::MAX; at 10⁶ tps this takes 292,000 years.
        write_varint(&mut out, zig_zag(i64::try_from(count).unwrap_or(i64::MAX)));
        next_index = index + 1;
    }
    if next_index == 0 {
        write_varint(&mut out, zig_zag(0));
    }
    let payload_len =
        u32::try_from(out.len() - HEADER_LEN).expect("fewer than 2¹⁶ buckets of at most 9 bytes");
    out[..HEADER_LEN].copy_from_slice(&header(payload_len));
    out
}

/// Figures of decoded contents.
pub(crate) struct Decoded {
    /// Number of values.
    pub(crate) count: u64,
    /// The first and the last non-empty bucket; `None` if there are no values.
    pub(crate) extremes: Option<(Bucket, Bucket)>,
}

/// Adds the values in these bytes to an empty histogram. After an error it may have some of them.
pub(crate) fn decode_into(bytes: &[u8], histogram: &mut Histogram) -> Result<Decoded, DecodeError> {
    let (head, mut payload) = bytes.split_at_checked(HEADER_LEN).ok_or(DecodeError::Length)?;
    check_header(head, payload.len())?;
    let mut decoded = Decoded { count: 0, extremes: None };
    let mut index = 0u64;
    while !payload.is_empty() {
        let number = un_zig_zag(read_varint(&mut payload)?);
        if let Ok(count) = u64::try_from(number) {
            if count > 0 {
                let bucket = Bucket::at(index).ok_or(DecodeError::Corrupt)?;
                histogram.record_many(bucket, count);
                decoded.count = decoded.count.checked_add(count).ok_or(DecodeError::Corrupt)?;
                decoded.extremes = Some((decoded.extremes.map_or(bucket, |(first, _)| first), bucket));
            }
            index += 1;
        } else {
            index = index.saturating_add(number.unsigned_abs());
        }
        if index > BUCKETS as u64 {
            return Err(DecodeError::Corrupt);
        }
    }
    Ok(decoded)
}

fn header(payload_len: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[0..4].copy_from_slice(&COOKIE.to_be_bytes());
    header[4..8].copy_from_slice(&payload_len.to_be_bytes());
    header[8..12].copy_from_slice(&0u32.to_be_bytes());
    header[12..16].copy_from_slice(&u32::from(SIGNIFICANT_DIGITS).to_be_bytes());
    header[16..24].copy_from_slice(&1u64.to_be_bytes());
    header[24..32].copy_from_slice(&HIGHEST_TRACKED_NS.to_be_bytes());
    header[32..40].copy_from_slice(&1f64.to_be_bytes());
    header
}

fn check_header(found: &[u8], payload_len: usize) -> Result<(), DecodeError> {
    let expected = header(u32::try_from(payload_len).map_err(|_| DecodeError::Length)?);
    if found[0..4] != expected[0..4] {
        Err(DecodeError::NotV2)
    } else if found[4..8] != expected[4..8] {
        Err(DecodeError::Length)
    } else if found[8..] != expected[8..] {
        Err(DecodeError::OtherLayout)
    } else {
        Ok(())
    }
}

fn zig_zag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn un_zig_zag(encoded: u64) -> i64 {
    (encoded >> 1).cast_signed() ^ -(encoded & 1).cast_signed()
}

/// LEB128 of at most nine bytes, the ninth of which is whole.
pub(crate) fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    for _ in 1..VARINT_LEN_MAX {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
    out.push(number.to_le_bytes()[0]);
}

pub(crate) fn read_varint(input: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut number = 0;
    for position in 0..VARINT_LEN_MAX {
        let (&byte, rest) = input.split_first().ok_or(DecodeError::Length)?;
        *input = rest;
        let last = position == VARINT_LEN_MAX - 1;
        let bits = if last { byte } else { byte & 0x7f };
        number |= u64::from(bits) << (7 * position);
        if last || byte & 0x80 == 0 {
            break;
        }
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Moments};

    fn sample() -> Distribution {
        let mut distribution = Distribution::new();
        [0, 1, 1, 2_047, 2_048, 123_456_789, HIGHEST_TRACKED_NS]
            .iter()
            .for_each(|&v| distribution.record_ns(v));
        distribution
    }

    #[test]
    fn varints_survive_at_every_length() {
        for bits in 0..=64 {
            let number = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let mut out = Vec::new();
            write_varint(&mut out, number);
            assert_eq!(read_varint(&mut out.as_slice()), Ok(number));
        }
        for number in [0, 1, -1, i64::MAX, i64::MIN] {
            assert_eq!(un_zig_zag(zig_zag(number)), number);
        }
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        let good = sample().encode_v2();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            Distribution::decode_v2_with(&bytes, sample().moments()).map(|_| ())
        };
        assert_eq!(with(0, 0), Err(DecodeError::NotV2));
        assert_eq!(with(7, 0), Err(DecodeError::Length));
        assert_eq!(with(15, 2), Err(DecodeError::OtherLayout));
        assert_eq!(with(31, 1), Err(DecodeError::OtherLayout));
        assert_eq!(Distribution::decode_v2_with(b"short", Moments::default()), Err(DecodeError::Length));
    }

    fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
        decode_into(bytes, &mut Histogram::new())
    }

    /// A payload of these numbers with a correct header.
    fn payload(numbers: &[i64]) -> Vec<u8> {
        let mut out = header(0).to_vec();
        numbers.iter().for_each(|&number| write_varint(&mut out, zig_zag(number)));
        let len = u32::try_from(out.len() - HEADER_LEN).unwrap();
        out[..HEADER_LEN].copy_from_slice(&header(len));
        out
    }

    #[test]
    fn absurd_counts_and_far_away_buckets_are_corrupt_not_a_panic() {
        let corrupt =
            |numbers: &[i64]| assert_eq!(decode(&payload(numbers)).err(), Some(DecodeError::Corrupt));
        corrupt(&[i64::MIN, 1]);
        corrupt(&[-1_000_000, 1]);
        corrupt(&[i64::MAX, i64::MAX, i64::MAX]);
        assert!(decode(&payload(&[i64::MAX, i64::MAX])).is_ok());
    }

    #[test]
    fn sums_of_other_values_are_not_accepted_beside_a_histogram() {
        let distribution = sample();
        let (bytes, moments) = (distribution.encode_v2(), distribution.moments());
        let refused = |moments| {
            assert_eq!(Distribution::decode_v2_with(&bytes, moments), Err(DecodeError::Disagreement))
        };
        refused(Moments { count: moments.count + 1, ..moments });
        refused(Moments { min_ns: 5, ..moments });
        refused(Moments { max_ns: 5, ..moments });
        refused(Moments { sum_ns: u128::MAX, ..moments });
        refused(Moments { overflow: 100, ..moments });
        let empty = Distribution::new();
        let beside_nothing = Distribution::decode_v2_with(&empty.encode_v2(), moments);
        assert_eq!(beside_nothing, Err(DecodeError::Disagreement));
        assert_eq!(Distribution::decode_v2_with(&empty.encode_v2(), Moments::default()), Ok(empty));
    }
}
