//! What a completion says about its request: 64 bits that the kernel hands back unseen. Two bits of kind, thirty of
//! generation, thirty-two of slot; for a send the number within its batch instead of the slot.

/// Generations wrap around here; a completion is never so late.
pub(crate) const GENERATIONS: u32 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Receive,
    Send,
    Writable,
    Cancel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) kind: Kind,
    /// Below [`GENERATIONS`].
    pub(crate) generation: u32,
    pub(crate) slot: u32,
}

impl Tag {
    pub(crate) fn to_bits(self) -> u64 {
        let kind = match self.kind {
            Kind::Receive => 0,
            Kind::Send => 1,
            Kind::Writable => 2,
            Kind::Cancel => 3,
        };
        debug_assert!(self.generation < GENERATIONS);
        kind << 62 | u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    #[expect(clippy::cast_possible_truncation, reason = "cut into its parts")]
    pub(crate) fn from_bits(bits: u64) -> Self {
        let kind = match bits >> 62 {
            0 => Kind::Receive,
            1 => Kind::Send,
            2 => Kind::Writable,
            _ => Kind::Cancel,
        };
        Self { kind, generation: (bits >> 32) as u32 % GENERATIONS, slot: bits as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_as_it_went() {
        for kind in [Kind::Receive, Kind::Send, Kind::Writable, Kind::Cancel] {
            for (generation, slot) in [(0, 0), (1, 2), (GENERATIONS - 1, u32::MAX), (0, u32::MAX)] {
                let tag = Tag { kind, generation, slot };
                assert_eq!(Tag::from_bits(tag.to_bits()), tag);
            }
        }
    }
}
