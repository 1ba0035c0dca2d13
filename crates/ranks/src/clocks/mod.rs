//! Offsets between the clocks of ranks, from barriers. No rank leaves a barrier before every rank has entered it. So
//! for each barrier, the offset of a rank's clock to that of rank 0 lies between (its entry − exit of rank 0) and (its
//! exit − entry of rank 0). All barriers together give the narrowest such interval: an estimate with a maximum error.
//! The arithmetic is pure; `reading` reads the clocks.

mod reading;

pub(crate) use reading::{ClockPair, Moment, Timeout};

use std::time::{Duration, Instant};

/// Readings of one rank's clocks, in nanoseconds, at one barrier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Monotonic clock, before the rank entered.
    pub entered: i64,
    /// Monotonic clock, after it left.
    pub left: i64,
    /// Wall clock (since 1970), before the rank entered.
    pub entered_wall: i64,
    /// Wall clock, after it left.
    pub left_wall: i64,
}

/// A value between `nanos - error_nanos` and `nanos + error_nanos`. The bounds are certain for the time of measurement;
/// clocks of two machines drift apart by up to some 100 µs per second.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The middle.
    pub nanos: i64,
    /// Half of the width, rounded up.
    pub error_nanos: u64,
}

/// The clocks of a rank, minus those of rank 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Offset {
    /// Of the monotonic clocks. Machines that booted at other times differ by that time.
    pub monotonic: Estimate,
    /// Of the wall clocks; `None` if one of them was set during the measurement.
    pub wall: Option<Estimate>,
}

/// A moment that is the same on all ranks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The moment on this rank's clock. It has passed if the ranks needed longer than planned to agree on it.
    pub at: Instant,
    /// Largest deviation from rank 0's moment.
    pub error: Duration,
}

const SAME: Estimate = Estimate { nanos: 0, error_nanos: 0 };

impl Offset {
    /// The offset of rank 0 to itself.
    pub const ZERO: Offset = Offset { monotonic: SAME, wall: Some(SAME) };
}

/// The offset of a rank whose passages are `own`; `None` if the monotonic readings contradict each other.
pub fn offset(own: &[Passage], of_rank_0: &[Passage]) -> Option<Offset> {
    let pairs = || own.iter().zip(of_rank_0);
    let monotonic =
        estimate(pairs().map(|(own, zero)| ((own.entered, own.left), (zero.entered, zero.left))))?;
    let wall = estimate(
        pairs().map(|(own, zero)| ((own.entered_wall, own.left_wall), (zero.entered_wall, zero.left_wall))),
    );
    Some(Offset { monotonic, wall })
}

/// From pairs of (entry, exit) of a rank and of rank 0; `None` without a pair or if the intervals have no common part.
fn estimate(barriers: impl Iterator<Item = ((i64, i64), (i64, i64))>) -> Option<Estimate> {
    let (mut least, mut most) = (i128::MIN, i128::MAX);
    for ((entered, left), (entered_0, left_0)) in barriers {
        least = least.max(i128::from(entered) - i128::from(left_0));
        most = most.min(i128::from(left) - i128::from(entered_0));
    }
    if least == i128::MIN || least > most {
        return None;
    }
    let middle = least + (most - least) / 2;
    Some(Estimate {
        nanos: i64::try_from(middle).ok()?,
        error_nanos: u64::try_from((middle - least).max(most - middle)).ok()?,
    })
}

/// Bytes of a number in a message between ranks.
const NUMBER_BYTES: usize = 8;
/// Value in the place of the error if there is no estimate.
const NONE: i64 = -1;

/// Passages as a message.
pub(crate) fn passages_to_bytes(passages: &[Passage]) -> Vec<u8> {
    let numbers = passages.iter().flat_map(|one| [one.entered, one.left, one.entered_wall, one.left_wall]);
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// The passages of a message.
///
/// # Errors
/// It does not contain `count` of them.
pub(crate) fn passages_from_bytes(bytes: &[u8], count: usize) -> Result<Vec<Passage>, String> {
    let passage = |[entered, left, entered_wall, left_wall]: [i64; 4]| Passage {
        entered,
        left,
        entered_wall,
        left_wall,
    };
    Ok(quadruples(bytes, count)?.into_iter().map(passage).collect())
}

/// Offsets as a message.
pub(crate) fn offsets_to_bytes(offsets: &[Offset]) -> Vec<u8> {
    let error = |estimate: Estimate| i64::try_from(estimate.error_nanos).unwrap_or(i64::MAX);
    let numbers = offsets.iter().flat_map(|one| {
        let wall = one.wall.map_or([0, NONE], |wall| [wall.nanos, error(wall)]);
        [one.monotonic.nanos, error(one.monotonic), wall[0], wall[1]]
    });
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// The offsets of a message.
///
/// # Errors
/// It does not contain `count` of them.
pub(crate) fn offsets_from_bytes(bytes: &[u8], count: usize) -> Result<Vec<Offset>, String> {
    let estimate = |nanos, error: i64| Some(Estimate { nanos, error_nanos: u64::try_from(error).ok()? });
    let offset = |[nanos, error, wall, wall_error]: [i64; 4]| {
        let monotonic = estimate(nanos, error).ok_or("an error is negative")?;
        Ok(Offset { monotonic, wall: estimate(wall, wall_error) })
    };
    quadruples(bytes, count)?.into_iter().map(offset).collect()
}

fn quadruples(bytes: &[u8], count: usize) -> Result<Vec<[i64; 4]>, String> {
    let (quadruples, rest) = bytes.as_chunks::<{ 4 * NUMBER_BYTES }>();
    if quadruples.len() != count || !rest.is_empty() {
        return Err(format!("{} bytes instead of {}", bytes.len(), count * 4 * NUMBER_BYTES));
    }
    let numbers = |bytes: &[u8; 4 * NUMBER_BYTES]| {
        let mut numbers = [0; 4];
        let (chunks, _) = bytes.as_chunks::<NUMBER_BYTES>();
        for (number, chunk) in numbers.iter_mut().zip(chunks) {
            *number = i64::from_le_bytes(*chunk);
        }
        numbers
    };
    Ok(quadruples.iter().map(numbers).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passage(entered: i64, left: i64, wall: i64) -> Passage {
        Passage { entered, left, entered_wall: entered + wall, left_wall: left + wall }
    }

    #[test]
    fn the_interval_is_the_common_part_of_all_barriers() {
        let own = [passage(1000, 1300, 0), passage(2100, 2200, 5)];
        let zero = [passage(0, 200, 7), passage(1000, 1250, 7)];
        let offset = offset(&own, &zero).unwrap();
        // 800 to 1300, and 850 to 1200.
        assert_eq!(offset.monotonic, Estimate { nanos: 1025, error_nanos: 175 });
    }

    #[test]
    fn readings_that_contradict_each_other_give_no_estimate() {
        let zero = [passage(0, 10, 0), passage(100, 110, 0)];
        assert_eq!(offset(&[passage(0, 10, 0), passage(300, 310, 0)], &zero), None);
        let set = offset(&[passage(0, 10, 0), passage(100, 110, 1000)], &zero).unwrap();
        assert_eq!((set.monotonic.nanos, set.wall), (0, None));
        assert_eq!(offset(&[], &[]), None);
        let beyond_all_numbers = offset(&[passage(i64::MAX, i64::MAX, 0)], &[passage(i64::MIN, i64::MIN, 0)]);
        assert_eq!(beyond_all_numbers, None);
    }

    #[test]
    fn messages_of_other_lengths_are_refused() {
        let bytes = passages_to_bytes(&[passage(1, 2, 3), passage(-4, 5, 6)]);
        assert_eq!(passages_from_bytes(&bytes, 2).unwrap(), [passage(1, 2, 3), passage(-4, 5, 6)]);
        assert_eq!(passages_from_bytes(&bytes[1..], 2).unwrap_err(), "63 bytes instead of 64");
        assert!(passages_from_bytes(&bytes, 1).is_err());
        let offsets =
            [Offset::ZERO, Offset { monotonic: Estimate { nanos: -7, error_nanos: 9 }, wall: None }];
        assert_eq!(offsets_from_bytes(&offsets_to_bytes(&offsets), 2).unwrap(), offsets);
        assert!(offsets_from_bytes(&[0xff; 32], 1).is_err());
    }

    proptest! {
        // Simulated clocks: true times of entering, with the barrier's opening after the last one and a delay for each
        // rank to notice it.
        #[test]
        fn the_true_offset_lies_within_the_error(
            true_offset in -1_000_000_000_000_i64..1_000_000_000_000,
            barriers in proptest::collection::vec((0..5_000_000_i64, 0..5_000_000_i64, 0..900_000_i64, 0..900_000_i64), 1..20),
        ) {
            let mut time = 50_000_000_000;
            let (mut own, mut zero, mut narrowest) = (Vec::new(), Vec::new(), i64::MAX);
            for (wait_own, wait_zero, notice_own, notice_zero) in barriers {
                let (entered, entered_0) = (time + wait_own, time + wait_zero);
                let opened = entered.max(entered_0);
                let (left, left_0) = (opened + notice_own, opened + notice_zero);
                own.push(passage(entered + true_offset, left + true_offset, 77));
                zero.push(passage(entered_0, left_0, 0));
                narrowest = narrowest.min((left - entered_0) - (entered - left_0));
                time = left.max(left_0);
            }
            let found = offset(&own, &zero).unwrap();
            prop_assert!(found.monotonic.nanos.abs_diff(true_offset) <= found.monotonic.error_nanos);
            prop_assert!(found.monotonic.error_nanos <= narrowest.unsigned_abs() / 2 + 1);
            let wall = found.wall.unwrap();
            prop_assert_eq!(wall, Estimate { nanos: found.monotonic.nanos + 77, ..found.monotonic });
        }
    }
}
