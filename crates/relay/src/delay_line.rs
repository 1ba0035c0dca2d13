//! Delay line of one direction: received data that is not yet due, in order, and the end of the stream. The reader of
//! the socket limits its memory. Pure: `now` and the link are arguments.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Duration;

use stats::Timestamp;

use crate::delays::Delays;
use crate::link::Link;

/// Capacity that an empty delay line keeps.
const KEPT_BYTES: usize = 4096;

/// End of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The sender has closed this direction; the other may continue.
    Closed,
    /// The connection was reset.
    Reset,
}

/// Bytes that arrive together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: usize,
    due: Timestamp,
}

/// Data in transit in one direction.
#[derive(Clone, Debug)]
pub(crate) struct DelayLine {
    delays: Delays,
    bytes: VecDeque<u8>,
    pieces: VecDeque<Piece>,
    /// Due time of the last piece; later pieces are not due earlier.
    last_due: Timestamp,
    end: Option<(End, Timestamp)>,
}

impl DelayLine {
    pub(crate) fn new(delays: Delays) -> Self {
        Self { delays, bytes: VecDeque::new(), pieces: VecDeque::new(), last_due: Timestamp::ZERO, end: None }
    }

    /// Adds this much to the delays from now on.
    pub(crate) fn slow_down(&mut self, slow: Duration) {
        self.delays.slow_down(slow);
    }

    /// Delay of a signal without data: the request to connect, and its response.
    pub(crate) fn control_delay(&mut self) -> Duration {
        self.delays.delay()
    }

    /// Number of bytes in transit.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds the data of one read, with a common random delay. A link divides it into pieces that are sent one after
    /// another.
    pub(crate) fn put(&mut self, bytes: &[u8], now: Timestamp, link: Option<&mut Link>) {
        self.bytes.extend(bytes);
        let delay = self.delays.delay();
        let Some(link) = link else { return self.put_piece(bytes.len(), now + delay) };
        let mut left = bytes.len();
        while left > 0 {
            let piece = left.min(link.segment_bytes());
            left -= piece;
            let sent = link.send(piece, now);
            self.put_piece(piece, sent + delay);
        }
    }

    fn put_piece(&mut self, bytes: usize, due: Timestamp) {
        self.last_due = self.last_due.max(due);
        self.pieces.push_back(Piece { bytes, due: self.last_due });
    }

    /// Adds the end of the stream, which is due after all data. Later calls are ignored.
    pub(crate) fn end(&mut self, end: End, now: Timestamp) {
        if self.end.is_none() {
            self.last_due = self.last_due.max(now + self.delays.delay());
            self.end = Some((end, self.last_due));
        }
    }

    /// Discards the data, because the receiver has gone.
    pub(crate) fn abandon(&mut self) {
        self.bytes = VecDeque::new();
        self.pieces = VecDeque::new();
        self.end = None;
    }

    /// Next due time.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let piece = self.pieces.front().map(|piece| piece.due);
        piece.or(self.end.map(|(_, due)| due))
    }

    /// The due bytes, in contiguous slices.
    pub(crate) fn due(&self, now: Timestamp) -> [IoSlice<'_>; 2] {
        let due = self.pieces.iter().take_while(|piece| piece.due <= now).map(|piece| piece.bytes).sum();
        let (first, second) = self.bytes.as_slices();
        let of_first = first.len().min(due);
        [IoSlice::new(&first[..of_first]), IoSlice::new(&second[..second.len().min(due - of_first)])]
    }

    /// Removes forwarded bytes; calls `forwarded` with the due time of each completed piece.
    pub(crate) fn take(&mut self, count: usize, mut forwarded: impl FnMut(Timestamp)) {
        self.bytes.drain(..count);
        let mut left = count;
        while let Some(piece) = self.pieces.front_mut() {
            if piece.bytes > left {
                piece.bytes -= left;
                break;
            }
            left -= piece.bytes;
            forwarded(piece.due);
            self.pieces.pop_front();
        }
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes.shrink_to(KEPT_BYTES);
            self.pieces.shrink_to(KEPT_BYTES / size_of::<Piece>());
        }
    }

    /// The end of the stream, when all data has been forwarded and the end is due.
    pub(crate) fn due_end(&self, now: Timestamp) -> Option<End> {
        let (end, due) = self.end?;
        (self.pieces.is_empty() && due <= now).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{JitterShape, Network};

    fn us(us: u64) -> Timestamp {
        Timestamp::from_nanos(us * 1000)
    }

    fn line(network: &Network) -> DelayLine {
        DelayLine::new(Delays::new(network, 0, 0))
    }

    fn ms(delay: u64) -> Network {
        Network { delay: Duration::from_millis(delay), ..Network::default() }
    }

    /// Removes due data, at most `most` bytes.
    fn drain(line: &mut DelayLine, now: Timestamp, most: usize, into: &mut Vec<u8>) {
        let before = into.len();
        for slice in line.due(now) {
            into.extend_from_slice(&slice[..slice.len().min(most - (into.len() - before))]);
        }
        line.take(into.len() - before, |due| assert!(due <= now));
    }

    #[test]
    fn bytes_are_due_after_the_delay_and_not_before() {
        let (mut line, mut got) = (line(&ms(10)), Vec::new());
        line.put(b"ab", us(1000), None);
        line.put(b"c", us(3000), None);
        assert_eq!(line.next_due(), Some(us(11_000)));
        drain(&mut line, us(10_999), 9, &mut got);
        assert_eq!(got, b"");
        drain(&mut line, us(12_999), 9, &mut got);
        assert_eq!((got.as_slice(), line.next_due()), (&b"ab"[..], Some(us(13_000))));
    }

    #[test]
    fn the_end_comes_after_all_bytes_and_once() {
        let (mut line, mut got) = (line(&ms(10)), Vec::new());
        line.put(b"ab", us(0), None);
        line.end(End::Closed, us(0));
        line.end(End::Reset, us(0));
        drain(&mut line, us(10_000), 1, &mut got);
        assert_eq!(line.due_end(us(10_000)), None, "a byte is left");
        drain(&mut line, us(10_000), 1, &mut got);
        assert_eq!(line.due_end(us(10_000)), Some(End::Closed));
        line.abandon();
        assert_eq!((line.due_end(us(90_000)), line.next_due()), (None, None));
    }

    #[test]
    fn over_a_link_a_long_piece_comes_bit_by_bit() {
        let mut link = Link::new(8_000_000, 100_000);
        let (mut line, mut got) = (line(&ms(10)), Vec::new());
        line.put(&[7; 2000], us(0), Some(&mut link));
        drain(&mut line, us(11_448), 9999, &mut got);
        assert_eq!((got.len(), line.next_due()), (1448, Some(us(12_000))));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(Vec<u8>),
        Drain(usize),
        Pass(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 1..2500).prop_map(Step::Put),
            (1_usize..3000).prop_map(Step::Drain),
            (0_u64..15_000).prop_map(Step::Pass),
        ]
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out_whole_in_order_and_never_early(
            steps in prop::collection::vec(step(), 1..40),
            jitter_us in 0_u64..10_000,
            normal in any::<bool>(),
            bits_per_s in prop::option::of(100_000_u64..1_000_000_000),
            seed in any::<u64>(),
        ) {
            let shape = if normal { JitterShape::Normal } else { JitterShape::Uniform };
            let jitter = Duration::from_micros(jitter_us);
            let network = Network { jitter, jitter_shape: shape, seed, ..ms(10) };
            let least = match shape {
                JitterShape::Uniform => network.delay - jitter,
                JitterShape::Normal => network.delay.saturating_sub(4 * jitter),
            };
            let mut link = bits_per_s.map(|bits| Link::new(bits, 1 << 20));
            let (mut line, mut now) = (line(&network), us(0));
            let (mut sent, mut got, mut came) = (Vec::new(), Vec::new(), Vec::new());
            for step in steps {
                match step {
                    Step::Put(bytes) => {
                        line.put(&bytes, now, link.as_mut());
                        sent.extend_from_slice(&bytes);
                        came.resize(sent.len(), now);
                    }
                    Step::Drain(most) => {
                        let before = got.len();
                        drain(&mut line, now, most, &mut got);
                        prop_assert!(came[before..got.len()].iter().all(|came| now.since(*came) >= least));
                    }
                    Step::Pass(us) => now = now + Duration::from_micros(us),
                }
                prop_assert_eq!(line.len(), sent.len() - got.len());
            }
            drain(&mut line, us(u64::MAX / 2000), usize::MAX, &mut got);
            prop_assert_eq!(got, sent);
            prop_assert_eq!(line.next_due(), None);
        }
    }
}
