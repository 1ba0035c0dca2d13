//! Random choices from a seed: which unflushed pages and names survive a power loss, and when power is lost. The same seed
//! makes the same choices.

/// A source of random numbers: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Draws {
    /// A source that begins with this seed.
    pub fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `last`, both included.
    pub fn up_to(&mut self, last: u64) -> u64 {
        // The bias is below 2^-40 for the small ranges in use.
        let number = self.next_number();
        last.checked_add(1).map_or(number, |range| number % range)
    }

    /// True in half of the cases.
    pub fn coin(&mut self) -> bool {
        self.next_number() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_one_series_and_all_values_of_a_range_occur() {
        let series = |seed| {
            let mut draws = Draws::new(seed);
            (0..100).map(|_| draws.up_to(3)).collect::<Vec<_>>()
        };
        assert_eq!(series(7), series(7));
        assert_ne!(series(7), series(8));
        assert!((0..=3).all(|value| series(7).contains(&value)));
        assert!(series(7).iter().all(|value| *value <= 3));
    }

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        let mut draws = Draws::new(1_234_567);
        assert_eq!(draws.next_number(), 6_457_827_717_110_365_317);
        assert_eq!(draws.next_number(), 3_203_168_211_198_807_973);
    }
}
