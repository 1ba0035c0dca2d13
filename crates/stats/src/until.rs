//! A sequential rule that ends a run when its estimates have reached a given relative precision. It keeps three
//! numbers per interval. docs/statistics.md explains it.

use crate::{Interval, RatioEstimate};

/// Minimum number of waves. With fewer, the estimate of the noise varies so much that a run would often end by
/// chance. Without autocorrelation this takes 55 intervals, with 0.8 about 200.
const DEGREES_OF_FREEDOM_MIN: u32 = 10;
/// Minimum number of intervals for this.
const FIRST_LOOK: usize = 56;
/// Growth of the number of intervals between two checks; few checks reduce the probability of ending by chance.
const GROWTH: f64 = 1.25;
/// Number of consecutive checks that must succeed.
const LOOKS: u32 = 2;
/// A shorter interval is a remainder and is ignored.
const SHORTEST_S: f64 = 0.5;

/// The fixed-width sequential procedure for relative precision: Chow and Robbins (Annals of Mathematical Statistics
/// 36, 1965), for correlated series Glynn and Whitt (Annals of Applied Probability 2, 1992). Its conditions hold: the
/// estimator of the variance is consistent, because the number of waves grows with the run, and there is a minimum
/// length.
#[derive(Clone, Debug)]
pub struct Until {
    half_width_share: f64,
    seconds: Vec<f64>,
    succeeded: Vec<f64>,
    response_ns: Vec<f64>,
    next_look: usize,
    content: u32,
}

impl Until {
    /// Ends when the half widths of the 95 % intervals of throughput and mean response time are at most this share of
    /// the estimates.
    pub fn new(half_width_share: f64) -> Until {
        Until {
            half_width_share,
            seconds: Vec::new(),
            succeeded: Vec::new(),
            response_ns: Vec::new(),
            next_look: FIRST_LOOK,
            content: 0,
        }
    }

    /// Adds the next measured interval; true if the precision is reached.
    pub fn take(&mut self, interval: &Interval) -> bool {
        let of_scripts = |figure: fn(&crate::ScriptStats) -> f64| interval.scripts.iter().map(figure).sum();
        let seconds = interval.end.since(interval.start).as_secs_f64();
        let succeeded = of_scripts(|script| script.counts.succeeded as f64);
        let response_ns = of_scripts(|script| script.response.moments().sum_ns as f64);
        self.take_figures(seconds, succeeded, response_ns)
    }

    /// The same from figures: length of the interval, number of succeeded transactions, and their total response
    /// time.
    pub fn take_figures(&mut self, seconds: f64, succeeded: f64, response_ns: f64) -> bool {
        if seconds < SHORTEST_S || self.is_reached() {
            return self.is_reached();
        }
        self.seconds.push(seconds);
        self.succeeded.push(succeeded);
        self.response_ns.push(response_ns);
        if self.seconds.len() >= self.next_look {
            self.next_look = next_look(self.next_look);
            self.content = if self.is_narrow() { self.content + 1 } else { 0 };
        }
        self.is_reached()
    }

    /// Whether the precision is reached.
    pub fn is_reached(&self) -> bool {
        self.content >= LOOKS
    }

    fn is_narrow(&self) -> bool {
        let ratios = [(&self.succeeded, &self.seconds), (&self.response_ns, &self.succeeded)];
        ratios.into_iter().all(|(sums, of)| {
            RatioEstimate::of(sums, of).is_some_and(|estimate| {
                let share = estimate.relative_half_width();
                estimate.degrees_of_freedom >= DEGREES_OF_FREEDOM_MIN
                    && share.is_some_and(|share| share <= self.half_width_share)
            })
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // of a length
fn next_look(look: usize) -> usize {
    (look as f64 * GROWTH).ceil() as usize
}
