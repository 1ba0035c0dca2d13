//! Alternating rounds of two measurements, and what they come to: the best of each side, and the ratio of the
//! bests with the smallest and the largest ratio within a round.

use std::fmt;

/// Which of two figures is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Lower,
    Higher,
}

impl Better {
    fn of(self, values: impl Iterator<Item = f64>) -> f64 {
        match self {
            Better::Lower => values.fold(f64::INFINITY, f64::min),
            Better::Higher => values.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// The best of both sides, and their ratio, ours ÷ theirs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) ours: f64,
    pub(super) theirs: f64,
    pub(super) ratio: f64,
    /// The smallest ratio within a round.
    pub(super) low: f64,
    /// The largest.
    pub(super) high: f64,
}

impl Spread {
    /// Of rounds, each (ours, theirs).
    pub(super) fn of(rounds: &[(f64, f64)], better: Better) -> Self {
        let ours = better.of(rounds.iter().map(|round| round.0));
        let theirs = better.of(rounds.iter().map(|round| round.1));
        let ratios = || rounds.iter().map(|(ours, theirs)| ours / theirs);
        Self {
            ours,
            theirs,
            ratio: ours / theirs,
            low: Better::Lower.of(ratios()),
            high: Better::Higher.of(ratios()),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:.2} ({:.2} … {:.2})", self.ratio, self.low, self.high)
    }
}

/// Measures all of `sides` in each round, in this order and in the opposite one by turns; by round, then side.
///
/// # Errors
/// The first that any of them has.
pub(super) fn alternate<const SIDES: usize, T>(
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<T, String>,
) -> Result<Vec<[T; SIDES]>, String> {
    let mut all = Vec::new();
    for round in 0..rounds {
        let mut measured: [Option<T>; SIDES] = std::array::from_fn(|_| None);
        for turn in 0..SIDES {
            let side = if round % 2 == 0 { turn } else { SIDES - 1 - turn };
            measured[side] = Some(measure(side)?);
        }
        all.push(measured.map(|one| one.expect("each side had its turn")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_that_of_the_bests_and_its_spread_is_within_rounds() {
        let rounds = [(2.0, 4.0), (3.0, 5.0), (2.5, 3.0)];
        let lower = Spread::of(&rounds, Better::Lower);
        assert_eq!((lower.ours, lower.theirs), (2.0, 3.0));
        assert_eq!(lower.to_string(), "0.67 (0.50 … 0.83)");
        assert_eq!(Spread::of(&rounds, Better::Higher).to_string(), "0.60 (0.50 … 0.83)");
    }

    #[test]
    fn the_order_alternates() {
        let mut order = Vec::new();
        let rounds = alternate::<2, _>(3, |side| {
            order.push(side);
            Ok(side * 10)
        });
        assert_eq!(rounds, Ok(vec![[0, 10]; 3]));
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn a_measurement_that_fails_ends_the_rounds() {
        let failed = alternate::<2, ()>(3, |_| Err("no".to_owned()));
        assert_eq!(failed, Err("no".to_owned()));
    }
}
