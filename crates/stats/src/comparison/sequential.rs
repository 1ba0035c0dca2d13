//! One metric of a comparison: pairs come in one by one, and after each it can be said what is known by now, as often
//! as anybody cares to look. docs/statistics.md explains the method; `boundary` has its error rate, `signed_rank` its
//! estimate.
//!
//! Numbers here are log ratios turned so that above 0 is better for B.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::comparison::boundary::{Boundary, interval_after_crossing};
use crate::comparison::normal::upper_quantile;
use crate::comparison::signed_rank::{Tally, WalshAverages, critical_by_approximation};
use crate::quantiles::two_sided_t;

/// What a comparison may say at any moment.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonDecision {
    /// B is better than A.
    Better,
    /// Neither is better than the other by more than the tolerance.
    Equivalent,
    /// B is not worse than A by more than the tolerance. Whether it is better is not known yet, or it is worse within
    /// the tolerance: [`Estimate::different`] tells.
    NoWorse,
    /// B is worse than A by more than the tolerance.
    WorseThanTolerance,
    /// None of these is known yet.
    Undecided,
}

/// What is known after some pairs.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Numbers seen: pairs, or sequences of pairs.
    pub numbers: usize,
    /// ln(B ÷ A), positive where B is better: the Hodges–Lehmann estimate.
    pub centre: f64,
    /// The interval that holds the truth at all looks of 95 % of comparisons: what decisions are read from. `None`
    /// while no number of pairs like these would decide anything.
    pub at_all_looks: Option<(f64, f64)>,
    /// The 95 % interval at this look. Once a decision is made it allows for the time at which it was; before, it is
    /// the one above.
    pub interval: Option<(f64, f64)>,
    /// Standard deviation of a single pair, as far as the estimate is touched by it.
    pub deviation: f64,
    /// Whether the interval excludes 0: true if B is better.
    pub different: Option<bool>,
    /// What was said of it, as far as the interval agrees.
    pub decision: ComparisonDecision,
    /// The difference that would be found with 90 % probability in all pairs planned, or all there were at the
    /// close.
    pub smallest_of_all_planned: f64,
    /// The same, had these pairs been the plan.
    pub smallest_so_far: f64,
}

/// The probability with which the smallest difference would be found.
pub const POWER: f64 = 0.9;
/// Where the spread of the Walsh averages is taken: the quantile of a 90 % interval.
const SPREAD_Z: f64 = 1.645;
/// Beyond so many standard errors it makes no difference when the test stopped.
const PLAIN_Z: f64 = 30.0;

/// The sequential test of one metric.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    boundary: Arc<Boundary>,
    error_rate: f64,
    /// In natural logarithms, not negative.
    tolerance: f64,
    ln_ratios: Vec<f64>,
    is_closed: bool,
    at_zero: Crossing,
    at_minus_tolerance: Crossing,
    at_plus_tolerance: Crossing,
}

impl SequentialTest {
    /// A test with a look after each of at most so many pairs, which is wrong about a difference in at most the share
    /// `error_rate` of comparisons. A worsening by less than a factor of 1 + `tolerance` is not to matter.
    ///
    /// # Panics
    /// If the error rate is not between 0 and 1, or the tolerance negative or 1 and more.
    pub fn new(error_rate: f64, tolerance: f64, pairs: usize) -> SequentialTest {
        assert!(error_rate > 0.0 && error_rate < 1.0, "an error rate is between 0 and 1");
        SequentialTest::with_boundary(Arc::new(Boundary::new(error_rate, pairs)), error_rate, tolerance)
    }

    pub(crate) fn with_boundary(boundary: Arc<Boundary>, error_rate: f64, tolerance: f64) -> SequentialTest {
        assert!((0.0..1.0).contains(&tolerance), "a tolerance is a share below 1");
        let tolerance = tolerance.ln_1p();
        SequentialTest {
            boundary,
            error_rate,
            tolerance,
            ln_ratios: Vec::new(),
            is_closed: false,
            at_zero: Crossing::at(0.0),
            at_minus_tolerance: Crossing::at(-tolerance),
            at_plus_tolerance: Crossing::at(tolerance),
        }
    }

    /// One pair more: ln(B ÷ A), positive where B is better. Pairs beyond those planned, or after the close, are not
    /// looked at: the error rate is spent.
    ///
    /// # Panics
    /// If it is not finite.
    pub fn add(&mut self, ln_ratio: f64) {
        assert!(ln_ratio.is_finite(), "a pair without a ratio is left out by whoever counts it");
        let Some(critical) = self.boundary.critical(self.ln_ratios.len() + 1) else { return };
        if self.is_closed {
            return;
        }
        self.ln_ratios.push(ln_ratio);
        for crossing in [&mut self.at_zero, &mut self.at_minus_tolerance, &mut self.at_plus_tolerance] {
            crossing.tally.count_last(&self.ln_ratios);
            crossing.look(critical);
        }
    }

    /// The time is over, however many pairs were planned: a last look, with all of the error rate that is left. Only
    /// for this reason, never because of what was seen so far: nothing happens if it is settled.
    pub fn close(&mut self) {
        if self.is_settled() {
            return;
        }
        self.is_closed = true;
        let Some(critical) = self.critical() else { return };
        for crossing in [&mut self.at_zero, &mut self.at_minus_tolerance, &mut self.at_plus_tolerance] {
            crossing.look(critical);
        }
    }

    /// Of the look at the pairs there are.
    fn critical(&self) -> Option<f64> {
        let pairs = self.ln_ratios.len();
        if self.is_closed { self.boundary.critical_at_last(pairs) } else { self.boundary.critical(pairs) }
    }

    /// Pairs seen.
    pub fn pairs(&self) -> usize {
        self.ln_ratios.len()
    }

    /// Pairs planned.
    pub fn pairs_planned(&self) -> usize {
        self.boundary.pairs()
    }

    /// ln(B ÷ A) of the pairs seen.
    pub(crate) fn ln_ratios(&self) -> &[f64] {
        &self.ln_ratios
    }

    /// What can be said by now. What was once said stays said, whatever comes later.
    pub fn decision(&self) -> ComparisonDecision {
        let seen = |crossing: &Crossing| crossing.rejected;
        ComparisonDecision::of(
            seen(&self.at_zero),
            seen(&self.at_minus_tolerance),
            seen(&self.at_plus_tolerance),
        )
    }

    /// Whether more pairs could not change the answer: all but the undecided, and B that is no worse but may still
    /// turn out to be better.
    pub fn is_settled(&self) -> bool {
        self.decision().is_settled(self.at_zero.rejected)
    }

    /// Whether a difference was found, however small: true if B is better.
    pub fn different(&self) -> Option<bool> {
        self.at_zero.rejected.different()
    }

    /// What is known by now; `None` before the second pair. Takes time and memory with the square of the pairs.
    pub fn estimate(&self) -> Option<Estimate> {
        let pairs = self.ln_ratios.len();
        if pairs < 2 {
            return None;
        }
        let walsh = WalshAverages::of(&self.ln_ratios);
        let centre = walsh.median()?;
        let at_all_looks = walsh.not_rejected(self.critical()?);
        let deviation = deviation(&walsh, pairs)?;
        let standard_error = deviation / (pairs as f64).sqrt();
        // Early and by a hair, the interval that allows for the stop may hold what the test has rejected: it is not
        // shown then.
        let decision = self.decision();
        let interval = self
            .rejected()
            .map(|origin| Some(self.after_crossing(centre, standard_error, origin)))
            .filter(|interval| decision.as_far_as(*interval, self.tolerance) == decision)
            .unwrap_or(at_all_looks);
        let detectable = self.boundary.detectable(POWER);
        let all_pairs = if self.is_closed { pairs } else { self.boundary.pairs() };
        Some(Estimate {
            numbers: pairs,
            centre,
            at_all_looks,
            interval,
            deviation,
            different: different(interval),
            decision: decision.as_far_as(interval, self.tolerance),
            smallest_of_all_planned: detectable * deviation / (all_pairs as f64).sqrt(),
            smallest_so_far: detectable * standard_error,
        })
    }

    /// The value whose rejection made the decision.
    fn rejected(&self) -> Option<f64> {
        match self.decision() {
            ComparisonDecision::Better => Some(0.0),
            ComparisonDecision::WorseThanTolerance => Some(-self.tolerance),
            ComparisonDecision::NoWorse if self.at_zero.rejected.seen_below => Some(0.0),
            ComparisonDecision::Equivalent | ComparisonDecision::NoWorse | ComparisonDecision::Undecided => {
                None
            }
        }
    }

    fn after_crossing(&self, centre: f64, standard_error: f64, origin: f64) -> (f64, f64) {
        let z = (centre - origin).abs() / standard_error;
        let plain = upper_quantile(self.error_rate / 2.0);
        let (near, far) = if z < PLAIN_Z {
            interval_after_crossing(z, self.error_rate)
        } else {
            return (centre - plain * standard_error, centre + plain * standard_error);
        };
        // The standard error is an estimate too: Student's t instead of z.
        let degrees_of_freedom = (self.ln_ratios.len() - 1) as f64;
        let student = two_sided_t(1.0 - self.error_rate, degrees_of_freedom) / plain;
        let (short, long) = ((z - near) * student * standard_error, (far - z) * student * standard_error);
        if centre > origin { (centre - short, centre + long) } else { (centre - long, centre + short) }
    }
}

/// Standard deviation that a normal distribution would have whose Walsh averages scatter as much: from the width of
/// their interval (Lehmann, Nonparametric confidence intervals for a shift parameter, 1963).
pub(crate) fn deviation(walsh: &WalshAverages, count: usize) -> Option<f64> {
    let (low, high) = walsh
        .not_rejected(critical_by_approximation(count, SPREAD_Z))
        .or_else(|| walsh.not_rejected(count as f64 * (count + 1) as f64 / 2.0))?;
    Some((high - low) * (count as f64).sqrt() / (2.0 * SPREAD_Z))
}

/// Whether an interval excludes 0: true if all of it is above.
pub(crate) fn different(interval: Option<(f64, f64)>) -> Option<bool> {
    match interval? {
        (low, _) if low > 0.0 => Some(true),
        (_, high) if high < 0.0 => Some(false),
        _ => None,
    }
}

/// On which side of a value the truth was seen to be.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Rejected {
    /// The truth is above the value.
    pub(crate) seen_above: bool,
    /// The truth is below the value.
    pub(crate) seen_below: bool,
}

impl Rejected {
    /// Of the value 0: true if B is better.
    pub(crate) fn different(self) -> Option<bool> {
        match (self.seen_above, self.seen_below) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

impl ComparisonDecision {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonDecision::Better => "better",
            ComparisonDecision::Equivalent => "equivalent",
            ComparisonDecision::NoWorse => "no_worse",
            ComparisonDecision::WorseThanTolerance => "worse_than_tolerance",
            ComparisonDecision::Undecided => "undecided",
        }
    }

    /// From what was seen of the values 0 and ±tolerance.
    pub(crate) fn of(
        zero: Rejected,
        minus_tolerance: Rejected,
        plus_tolerance: Rejected,
    ) -> ComparisonDecision {
        if minus_tolerance.seen_below {
            ComparisonDecision::WorseThanTolerance
        } else if zero.seen_above {
            ComparisonDecision::Better
        } else if minus_tolerance.seen_above {
            if plus_tolerance.seen_below {
                ComparisonDecision::Equivalent
            } else {
                ComparisonDecision::NoWorse
            }
        } else {
            ComparisonDecision::Undecided
        }
    }

    /// What remains of it beside the interval that is shown. Whatever ends a comparison agrees with its interval, since
    /// both are of the same look; another metric may have crossed its boundary earlier, and come back.
    pub(crate) fn as_far_as(self, interval: Option<(f64, f64)>, tolerance: f64) -> ComparisonDecision {
        let Some((low, high)) = interval else { return ComparisonDecision::Undecided };
        let no_better = match (low > -tolerance, high < tolerance) {
            (true, true) => ComparisonDecision::Equivalent,
            (true, false) => ComparisonDecision::NoWorse,
            (false, _) => ComparisonDecision::Undecided,
        };
        match self {
            ComparisonDecision::Better if low <= 0.0 => no_better,
            ComparisonDecision::WorseThanTolerance if high >= -tolerance => ComparisonDecision::Undecided,
            ComparisonDecision::Equivalent | ComparisonDecision::NoWorse if low <= -tolerance => {
                ComparisonDecision::Undecided
            }
            ComparisonDecision::Equivalent if high >= tolerance => ComparisonDecision::NoWorse,
            ComparisonDecision::Better
            | ComparisonDecision::Equivalent
            | ComparisonDecision::NoWorse
            | ComparisonDecision::WorseThanTolerance
            | ComparisonDecision::Undecided => self,
        }
    }

    /// See [`SequentialTest::is_settled`].
    pub(crate) fn is_settled(self, zero: Rejected) -> bool {
        match self {
            ComparisonDecision::Better
            | ComparisonDecision::Equivalent
            | ComparisonDecision::WorseThanTolerance => true,
            ComparisonDecision::NoWorse => zero.seen_below,
            ComparisonDecision::Undecided => false,
        }
    }
}

/// A value, and whether it was rejected.
#[derive(Clone, Debug)]
struct Crossing {
    tally: Tally,
    rejected: Rejected,
}

impl Crossing {
    fn at(origin: f64) -> Crossing {
        Crossing { tally: Tally::new(origin), rejected: Rejected::default() }
    }

    fn look(&mut self, critical: f64) {
        self.rejected.seen_above |= self.tally.above() >= critical;
        self.rejected.seen_below |= self.tally.below() >= critical;
    }
}
