//! Random numbers, each a function of a key and a number alone, so that rows can be made in any order. `draw` maps them to
//! the values of generators.

use script::Random;

/// Increment of splitmix64 (Steele, Lea and Flood 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits: the output function of splitmix64.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A key from a parent key and a name (FNV-1a over its bytes, then mixed).
pub(crate) fn key_of(parent: u64, name: &str) -> u64 {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    mix(name.bytes().fold(parent ^ 0xcbf2_9ce4_8422_2325, hash).wrapping_add(GOLDEN))
}

/// The random stream of a draw.
#[inline]
pub(crate) fn random(key: u64, index: u64) -> Random {
    Random::from_seed(mix(key ^ index.wrapping_mul(GOLDEN)))
}

/// 64 random bits of a draw; different indexes give different bits.
#[inline]
pub(crate) fn bits(key: u64, index: u64) -> u64 {
    mix(mix(index.wrapping_add(GOLDEN)) ^ key)
}

/// Uniform in [0, 1).
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
