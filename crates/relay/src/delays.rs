//! Random delays from mean, jitter and seed. Each direction of each connection has its own random numbers, so the
//! delays do not depend on the interleaving of connections.

use std::time::Duration;

use stats::SplitMix64;

use crate::config::{JitterShape, Network};

/// Truncation in standard deviations; a normal distribution exceeds it once in 16,000.
const DEVIATIONS_MAX: f64 = 4.0;

/// Generator of delays.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    delay_ns: f64,
    jitter_ns: f64,
    shape: JitterShape,
    random: SplitMix64,
    /// Delay of a fault, in addition.
    slow: Duration,
}

impl Delays {
    /// The generator for one direction (0 or 1) of the connection with this number.
    pub(crate) fn new(network: &Network, connection: u64, direction: usize) -> Self {
        let stream = SplitMix64::new(network.seed).bits() ^ ((connection << 1) | direction as u64);
        Self {
            delay_ns: network.delay.as_nanos() as f64,
            jitter_ns: network.jitter.as_nanos() as f64,
            shape: network.jitter_shape,
            // Hashed once, so that neighbouring seeds are uncorrelated.
            random: SplitMix64::new(SplitMix64::new(stream).bits()),
            slow: Duration::ZERO,
        }
    }

    /// Adds this much to each delay from now on.
    pub(crate) fn slow_down(&mut self, slow: Duration) {
        self.slow = slow;
    }

    /// Delay of the next piece.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and twice the longest delay"
    )]
    pub(crate) fn delay(&mut self) -> Duration {
        let off_ns = if self.jitter_ns == 0.0 { 0.0 } else { self.off_mean_ns() };
        Duration::from_nanos((self.delay_ns + off_ns).round().max(0.0) as u64) + self.slow
    }

    /// Deviation from the mean, at most the mean on either side, which keeps the distribution symmetric.
    fn off_mean_ns(&mut self) -> f64 {
        match self.shape {
            JitterShape::Uniform => self.jitter_ns * (2.0 * self.random.share() - 1.0),
            JitterShape::Normal => {
                let off_max_ns = (DEVIATIONS_MAX * self.jitter_ns).min(self.delay_ns);
                loop {
                    // The jitter is at most the delay, so at least two of three values are accepted.
                    let off_ns = self.jitter_ns * self.random.normal();
                    if off_ns.abs() <= off_max_ns {
                        return off_ns;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 100_000;

    fn network(jitter_us: u64, jitter_shape: JitterShape) -> Network {
        Network {
            delay: Duration::from_millis(10),
            jitter: Duration::from_micros(jitter_us),
            jitter_shape,
            seed: 7,
            ..Network::default()
        }
    }

    /// Mean, standard deviation, smallest and largest, in microseconds.
    fn drawn(network: &Network) -> (f64, f64, f64, f64) {
        let mut delays = Delays::new(network, 3, 1);
        let draws = (0..DRAWS).map(|_| delays.delay().as_nanos() as f64 / 1e3).collect::<Vec<_>>();
        let mean = draws.iter().sum::<f64>() / DRAWS as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / DRAWS as f64;
        let low = draws.iter().copied().fold(f64::INFINITY, f64::min);
        (mean, variance.sqrt(), low, draws.iter().copied().fold(0.0, f64::max))
    }

    #[test]
    fn without_jitter_every_delay_is_the_mean() {
        assert_eq!(drawn(&network(0, JitterShape::Normal)), (10_000.0, 0.0, 10_000.0, 10_000.0));
    }

    #[test]
    fn uniform_jitter_fills_its_range_and_keeps_the_mean() {
        let (mean, deviation, low, high) = drawn(&network(1000, JitterShape::Uniform));
        // The standard error of the mean is 1.8 µs; the standard deviation is 1000/√3.
        assert!((mean - 10_000.0).abs() < 10.0, "{mean}");
        assert!((deviation - 577.35).abs() < 5.0, "{deviation}");
        assert!((9000.0..9010.0).contains(&low) && (10_990.0..=11_000.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn normal_jitter_has_its_deviation_and_is_cut_at_four_of_them() {
        let (mean, deviation, low, high) = drawn(&network(1000, JitterShape::Normal));
        assert!((mean - 10_000.0).abs() < 15.0, "{mean}");
        assert!((deviation - 1000.0).abs() < 12.0, "{deviation}");
        assert!((6000.0..6500.0).contains(&low) && (13_500.0..=14_000.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn as_much_jitter_as_delay_gives_no_negative_delay_and_keeps_the_mean() {
        for shape in [JitterShape::Uniform, JitterShape::Normal] {
            let (mean, _, low, high) = drawn(&network(10_000, shape));
            assert!((mean - 10_000.0).abs() < 100.0, "{mean}");
            assert!(low >= 0.0 && high <= 20_000.0, "{low} {high}");
        }
    }

    #[test]
    fn one_seed_gives_each_direction_of_each_connection_the_same_draws_again_and_no_two_the_same() {
        let network = network(1000, JitterShape::Uniform);
        let draw = |connection, direction| Delays::new(&network, connection, direction).delay();
        assert_eq!(draw(5, 0), draw(5, 0));
        assert_ne!(draw(5, 0), draw(5, 1));
        assert_ne!(draw(5, 0), draw(6, 0));
        let other = Network { seed: 8, ..network };
        assert_ne!(draw(5, 0), Delays::new(&other, 5, 0).delay());
    }
}
