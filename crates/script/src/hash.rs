//! The hash functions of the language, bit for bit those of pgbench: MurmurHash2 (64A) of eight bytes, and FNV-1a.
//! Called by the evaluator.

const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x100_0000_01b3;
const MURMUR2_MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
/// Length of the key (eight) times the multiplier.
const MURMUR2_LENGTH: u64 = MURMUR2_MULTIPLIER.wrapping_mul(8);

/// FNV-1a of the eight bytes of `value`, least significant first; the offset basis is XORed with the seed.
pub fn hash_fnv1a(value: i64, seed: i64) -> i64 {
    let hash = value.to_le_bytes().iter().fold(FNV_OFFSET_BASIS ^ seed.cast_unsigned(), |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    });
    hash.cast_signed()
}

/// MurmurHash2 of the eight bytes of `value`.
pub fn hash_murmur2(value: i64, seed: i64) -> i64 {
    let mut key = value.cast_unsigned().wrapping_mul(MURMUR2_MULTIPLIER);
    key ^= key >> 47;
    key = key.wrapping_mul(MURMUR2_MULTIPLIER);
    let mut hash = (seed.cast_unsigned() ^ MURMUR2_LENGTH) ^ key;
    hash = hash.wrapping_mul(MURMUR2_MULTIPLIER);
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(MURMUR2_MULTIPLIER);
    hash ^= hash >> 47;
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn murmur2_agrees_with_pgbench() {
        assert_eq!(MURMUR2_LENGTH, 0x3525_3c9a_de8f_4ca8);
        assert_eq!(hash_murmur2(0, 0), 8_217_090_173_679_840_641);
        assert_eq!(hash_murmur2(1, 0), -8_089_716_718_896_805_586);
        assert_eq!(hash_murmur2(-1, 0), 4_219_408_603_045_787_357);
        assert_eq!(hash_murmur2(10, 5432), -5_817_877_081_768_721_676);
    }

    #[test]
    fn fnv1a_agrees_with_pgbench() {
        assert_eq!(hash_fnv1a(0, 0), -6_284_781_860_667_377_211);
        assert_eq!(hash_fnv1a(1, 0), -8_517_097_267_634_966_620);
        assert_eq!(hash_fnv1a(-1, 0), -8_289_690_350_564_177_859);
        assert_eq!(hash_fnv1a(10, 5432), -7_793_829_335_365_542_153);
    }
}
