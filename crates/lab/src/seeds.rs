//! Seeds of the many short loads of a comparison or a search, from its one seed.
//! Each load has random numbers of its own.

/// The seed of the next load; counts it. Two loads never have the same random numbers, because the second would find the
/// first one's pages in memory, and already written since the last checkpoint.
pub(crate) fn load_seed(seed: u64, loads: &mut u64) -> u64 {
    *loads += 1;
    stats::SplitMix64::new(seed ^ loads.wrapping_mul(0x9fb2_1c65_1e98_df25)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_loads_draw_the_same_random_numbers() {
        let mut loads = 0;
        let mut seeds: Vec<u64> = (0..10_000).map(|_| load_seed(1, &mut loads)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!((seeds.len(), loads), (10_000, 10_000));
        assert_eq!(load_seed(7, &mut 0), load_seed(7, &mut 0), "one seed, one study");
        assert_ne!(load_seed(7, &mut 0), load_seed(8, &mut 0));
    }
}
