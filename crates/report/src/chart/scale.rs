//! From values to pixels, linearly or by the logarithm, and the round values that an axis shows.
//! All axes of charts are of this kind.

use crate::metrics::Quantity;

/// One axis.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Pixels of `low` and `high`.
    from: f32,
    to: f32,
    logarithmic: bool,
}

/// The place of a plot's values: both axes, and the size of the plot in pixels.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) width: f32,
    pub(super) height: f32,
}

impl Scale {
    /// From the ends of an axis to pixels.
    pub(super) fn new(is_logarithmic: bool, (low, high): (f64, f64), (from, to): (f32, f32)) -> Scale {
        let of = if is_logarithmic { Scale::logarithmic } else { Scale::linear };
        of(low, high, from, to)
    }

    pub(crate) fn linear(low: f64, high: f64, from: f32, to: f32) -> Scale {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high > low && high.is_finite() { high } else { low + low.abs().max(1.0) };
        Scale { low, high, from, to, logarithmic: false }
    }

    /// Both above 0 and finite; otherwise they are made so.
    pub(crate) fn logarithmic(low: f64, high: f64, from: f32, to: f32) -> Scale {
        let low = if low > 0.0 && low.is_finite() { low } else { 1.0 };
        let high = if high > low && high.is_finite() { high } else { low * 10.0 };
        Scale { low, high, from, to, logarithmic: true }
    }

    /// The pixel of a value, which may lie outside.
    // Pixels need no more than an f32 has.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn at(&self, value: f64) -> f32 {
        let share = if self.logarithmic {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        // Far outside is as good as anywhere outside.
        let share = if share.is_nan() { 0.0 } else { share.clamp(-1e3, 1e3) };
        self.from + (self.to - self.from) * share as f32
    }

    /// Round values, about `most` of them: steps of 1, 2 or 5; of a logarithmic scale 1, 2 and 5 of each decade, or the
    /// decades alone where there is no room.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.logarithmic { self.logarithmic_ticks() } else { self.linear_ticks(most) }
    }

    /// The round values of an axis of this quantity.
    pub(crate) fn ticks_of(&self, quantity: Quantity, most: usize) -> Vec<f64> {
        if quantity == Quantity::Bytes { self.ticks_of_sizes(most) } else { self.ticks(most) }
    }

    /// The ends, and whether it is logarithmic.
    pub(super) fn ends(&self) -> (f64, f64, bool) {
        (self.low, self.high, self.logarithmic)
    }

    /// Round values of a linear axis of seconds: steps of a clock.
    pub(super) fn time_ticks(&self, most: usize) -> Vec<f64> {
        const STEPS_S: [f64; 12] =
            [15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 21_600.0];
        let rough = (self.high - self.low) / most.max(1) as f64;
        match STEPS_S.into_iter().find(|step| *step >= rough) {
            Some(step) if rough > 10.0 => self.ticks_of_step(step),
            _ => self.ticks(most),
        }
    }

    /// Round sizes: whole numbers of kB, MB or GB, which are powers of 1024.
    fn ticks_of_sizes(&self, most: usize) -> Vec<f64> {
        const STEPS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
        const EXPONENTS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];
        const KILO: f64 = 1024.0;
        if !self.logarithmic {
            let rough = ((self.high - self.low) / most.max(1) as f64).max(1.0);
            let unit = KILO.powf(rough.log(KILO).floor());
            let step = STEPS.into_iter().map(|step| step * unit).find(|step| *step >= rough);
            return self.ticks_of_step(step.unwrap_or(unit * KILO));
        }
        let doublings = (self.high / self.low).log2();
        let exponent = EXPONENTS.into_iter().find(|step| doublings / step <= most as f64).unwrap_or(10.0);
        let first = (self.low.log2() / exponent).ceil();
        let tick = |number: u32| 2f64.powf((first + f64::from(number)) * exponent);
        (0..100).map(tick).take_while(|tick| *tick <= self.high * (1.0 + 1e-9)).collect()
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= rough);
        self.ticks_of_step(step.unwrap_or(power * 10.0))
    }

    fn ticks_of_step(&self, step: f64) -> Vec<f64> {
        let first = (self.low / step).ceil();
        let tick = |number: u32| (first + f64::from(number)) * step;
        (0..100).map(tick).take_while(|tick| *tick <= self.high * (1.0 + 1e-9)).collect()
    }

    fn logarithmic_ticks(&self) -> Vec<f64> {
        // Between 1, 2, 5 and 10 there are three tenths of a decade, which have room for a word.
        const DECADE_MIN: f32 = 42.0;
        let decades = (self.high / self.low).log10();
        // At most some thousand pixels.
        #[allow(clippy::cast_possible_truncation)]
        let decade = (self.to - self.from).abs() / (decades as f32).max(1e-3);
        let steps: &[f64] = match decades {
            few if few <= 0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            _ if decade >= DECADE_MIN => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let first = self.low.log10().floor();
        let decade = |number: u32| 10f64.powf(first + f64::from(number));
        let ticks = (0..30).flat_map(|number| steps.iter().map(move |step| step * decade(number)));
        ticks.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends_as_they_should() {
        let linear = Scale::linear(0.0, 200.0, 10.0, 110.0);
        assert_eq!([0.0, 50.0, 200.0].map(|value| linear.at(value)), [10.0, 35.0, 110.0]);
        let logarithmic = Scale::logarithmic(1.0, 100.0, 100.0, 0.0);
        assert!((logarithmic.at(10.0) - 50.0).abs() < 1e-4);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Scale::linear(0.0, 2_600.0, 0.0, 1.0).ticks(5), [0.0, 1_000.0, 2_000.0]);
        assert_eq!(Scale::linear(0.0, 60.0, 0.0, 1.0).ticks(6), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let ticks = |pixels| Scale::logarithmic(90.0, 2_100.0, 0.0, pixels).ticks(5);
        assert_eq!(ticks(200.0), [100.0, 200.0, 500.0, 1_000.0, 2_000.0]);
        assert_eq!(ticks(20.0), [100.0, 1_000.0]);
    }

    #[test]
    fn a_scale_of_nothing_is_a_scale_all_the_same() {
        assert!(Scale::linear(5.0, 5.0, 0.0, 1.0).at(5.0).is_finite());
        assert!(Scale::logarithmic(0.0, 0.0, 0.0, 1.0).at(0.0).is_finite());
        assert!(Scale::linear(f64::NEG_INFINITY, f64::INFINITY, 0.0, 1.0).at(5.0).is_finite());
        assert!(Scale::linear(f64::NAN, f64::NAN, 0.0, 1.0).ticks(5).len() <= 100);
    }

    #[test]
    fn sizes_have_round_values_in_powers_of_1024() {
        let ticks = |scale: Scale| scale.ticks_of(Quantity::Bytes, 5);
        assert_eq!(ticks(Scale::linear(0.0, 2_600.0, 0.0, 1.0)), [0.0, 1_024.0, 2_048.0]);
        let in_mb = |ticks: Vec<f64>| ticks.iter().map(|tick| tick / 1_048_576.0).collect::<Vec<_>>();
        assert_eq!(
            in_mb(ticks(Scale::linear(0.0, 95.0 * 1_048_576.0, 0.0, 1.0))),
            [0.0, 20.0, 40.0, 60.0, 80.0]
        );
        assert_eq!(in_mb(ticks(Scale::logarithmic(1e6, 1e9, 0.0, 1.0))), [1.0, 4.0, 16.0, 64.0, 256.0]);
    }
}
