//! A link of limited bandwidth with a queue: bytes of all connections are sent in order of arrival. While the queue is
//! full, the service reads no sender. Pure: `now` is an argument.

use std::time::Duration;

use stats::Timestamp;

const NS_PER_S: u128 = 1_000_000_000;
const BITS_PER_BYTE: u128 = 8;
/// TCP payload of an Ethernet packet (1500 bytes minus the headers of IP and TCP with timestamps).
const SEGMENT_BYTES: usize = 1448;
/// Maximum duration of a piece. On fast links, pieces are longer than a packet, up to this duration.
const SEGMENT_TIME: Duration = Duration::from_micros(50);

/// One direction of the link, shared by all connections.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    bits_per_s: u64,
    queue_time: Duration,
    segment_bytes: usize,
    /// Time at which the last accepted byte has been sent.
    free_at: Timestamp,
}

impl Link {
    /// A link with another bandwidth for the bytes from now on; those before keep their time.
    pub(crate) fn with_bandwidth(&self, bits_per_s: u64, queue_bytes: usize) -> Self {
        Self { free_at: self.free_at, ..Self::new(bits_per_s, queue_bytes) }
    }

    pub(crate) fn new(bits_per_s: u64, queue_bytes: usize) -> Self {
        let bytes = u128::from(bits_per_s) * SEGMENT_TIME.as_nanos() / (BITS_PER_BYTE * NS_PER_S);
        let segment_bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(SEGMENT_BYTES);
        Self {
            bits_per_s,
            queue_time: time_to_send(queue_bytes, bits_per_s),
            segment_bytes,
            free_at: Timestamp::ZERO,
        }
    }

    /// Maximum bytes of a piece; its first byte arrives with its last.
    pub(crate) fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// Time at which the queue has room; in the past if it has room now.
    pub(crate) fn room_at(&self) -> Timestamp {
        Timestamp::ZERO + self.free_at.since(Timestamp::ZERO + self.queue_time)
    }

    /// Adds bytes that arrived at `now`; returns the time at which the last of them has been sent.
    pub(crate) fn send(&mut self, bytes: usize, now: Timestamp) -> Timestamp {
        self.free_at = self.free_at.max(now) + time_to_send(bytes, self.bits_per_s);
        self.free_at
    }
}

/// Transmission time of `bytes`, rounded up to a nanosecond.
fn time_to_send(bytes: usize, bits_per_s: u64) -> Duration {
    let nanos = (bytes as u128 * BITS_PER_BYTE * NS_PER_S).div_ceil(u128::from(bits_per_s.max(1)));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    #[test]
    fn bytes_take_their_time_one_after_another() {
        // 8 Mbit/s: one byte per microsecond.
        let mut link = Link::new(8_000_000, 10_000);
        assert_eq!(link.send(1000, us(5000)), us(6000));
        assert_eq!(link.send(500, us(5100)), us(6500), "behind what was there before");
        assert_eq!(link.send(1, us(9000)), us(9001), "an idle link saves nothing up");
        let mut slower = link.with_bandwidth(800_000, 10_000);
        assert_eq!(slower.send(1, us(9000)), us(9011), "behind what was there before, ten times as long");
    }

    #[test]
    fn a_full_queue_says_when_there_is_room() {
        let mut link = Link::new(8_000_000, 10_000);
        assert_eq!(link.room_at(), Timestamp::ZERO);
        link.send(25_000, us(50_000));
        assert_eq!(link.room_at(), us(65_000));
    }

    #[test]
    fn pieces_are_packets_on_slow_links_and_longer_on_fast_ones() {
        assert_eq!(Link::new(1_000_000, 1500).segment_bytes(), 1448);
        assert_eq!(Link::new(10_000_000_000, 1500).segment_bytes(), 62_500);
    }

    #[test]
    fn the_slowest_and_the_fastest_link_overflow_nothing() {
        let end = Timestamp::from_nanos(u64::MAX);
        assert!(Link::new(1, usize::MAX).send(usize::MAX, us(1)) == end);
        assert!(Link::new(u64::MAX, 1500).send(1 << 20, us(1)) <= us(2));
    }
}
