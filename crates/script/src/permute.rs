//! `permute(i, size, seed)`: a keyed bijection of 0..size, bit for bit that of pgbench 15 and newer (14 has other
//! values). Six rounds of multiply, xor, rotate on a power-of-two range from below and from above, then a shift. Called
//! by the evaluator.

use crate::random::Random;

const ROUNDS: u32 = 6;

/// The image of `index` under the permutation of `0..size` selected by `seed`. A negative index is taken as unsigned
/// before the reduction modulo `size`; a size below 2 gives 0.
pub fn permute(index: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::from_seed(seed.cast_unsigned());
    let size = size.cast_unsigned();
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let mut value = index.cast_unsigned() % size;
    for _ in 0..ROUNDS {
        value = mix(value, bits, mask, &mut random);
        let from_above = size - 1 - value;
        value = size - 1 - mix(from_above, bits, mask, &mut random);
        let shift = random.range(size - 1);
        // size ≤ 2^63 − 1, so the sum of two smaller numbers fits.
        value = (value + shift) % size;
    }
    value.cast_signed()
}

/// Scrambles the numbers `0..=mask`; larger numbers are unchanged, but the random numbers are drawn in any case.
fn mix(value: u64, bits: u32, mask: u64, random: &mut Random) -> u64 {
    let multiplier = (random.next_u64() & mask) | 1;
    let pad = random.next_u64() & mask;
    if value > mask {
        return value;
    }
    let value = (value.wrapping_mul(multiplier) ^ pad) & mask;
    ((value << 1) & mask) | (value >> (bits - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_pgbench() {
        let images =
            |size: i64, seed: i64| (0..size).map(|index| permute(index, size, seed)).collect::<Vec<_>>();
        assert_eq!(images(10, 42), [1, 7, 0, 4, 3, 8, 6, 5, 9, 2]);
        assert_eq!(permute(-1, 10, 42), 8);
        assert_eq!(images(7, 0), [6, 2, 1, 3, 0, 4, 5]);
        let size = i64::MAX - 10;
        let last: Vec<_> = (1..=7).map(|k| permute(size - k, size, 5432)).collect();
        assert_eq!(
            last,
            [
                520_382_784_483_822_430,
                1_143_715_004_660_802_862,
                447_293_596_416_496_998,
                916_527_772_266_572_956,
                2_763_809_008_686_028_849,
                8_648_551_549_198_294_572,
                4_542_876_852_200_565_125,
            ]
        );
    }

    #[test]
    fn sizes_below_two_give_zero() {
        for size in [i64::MIN, -1, 0, 1] {
            assert_eq!(permute(12, size, 42), 0);
        }
    }

    #[test]
    fn it_is_a_permutation_of_every_small_size() {
        for size in 2..200 {
            let mut images: Vec<_> = (0..size).map(|index| permute(index, size, size * 7)).collect();
            images.sort_unstable();
            assert!(images.iter().copied().eq(0..size), "size {size}");
        }
    }
}
