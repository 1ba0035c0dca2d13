//! SplitMix64 random numbers from a seed: orders of trials and blocks, delays of the relay, simulated machines. The
//! random streams of scripts, which repeat pgbench's bit for bit, are in `script`.

use std::f64::consts::TAU;

/// SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014): one addition and a
/// finalizer; different seeds give unrelated streams.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform, above 0 and at most 1.
    pub fn share(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        self.share() <= share
    }

    /// Shuffles items (Fisher and Yates; Durstenfeld's algorithm 235, 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The modulus favours small numbers by less than 10⁻¹².
            let chosen = usize::try_from(self.bits() % (last as u64 + 1)).unwrap_or(0);
            items.swap(last, chosen);
        }
    }

    /// Standard normal (Box and Muller, A note on the generation of random normal deviates, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.share().ln()).sqrt();
        radius * (TAU * self.share()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_outputs_are_those_of_the_published_generator() {
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = SplitMix64::new(1);
        let numbers: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 20_000.0;
        let variance = numbers.iter().map(|number| number * number).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }
}
