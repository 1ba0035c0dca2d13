//! Simulated servers of known service laws, and searches on them. A set of connections has a speed of its own for as long
//! as it lives.

use pgmeter_search::{Answer, Confirmation, GoalCount, Search, SearchPlan, Step, Trial};
use stats::SplitMix64;

/// The law of the service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    Exponential,
    Fixed,
}

/// A server with one queue.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedServer {
    pub law: Law,
    pub servers: usize,
    /// Mean service time.
    pub service_s: f64,
    /// Standard deviation of the logarithm of a set's speed.
    pub spread: f64,
    /// A pause of this length, every so many seconds.
    pub pause: Option<(f64, f64)>,
    pub limit_s: f64,
    pub share: f64,
}

const SETTLE_S: f64 = 0.3;

impl SimulatedServer {
    pub fn top_tps(&self) -> f64 {
        self.servers as f64 / self.service_s
    }

    /// Transactions over the limit of a trial, and all, with a fresh set.
    pub fn trial(&self, rate_tps: f64, seconds: f64, random: &mut SplitMix64) -> GoalCount {
        let set = random.normal();
        self.trial_of_set(rate_tps, seconds, set, random)
    }

    pub fn stratified(&self, rate_tps: f64, sets: usize, seconds: f64, seed: u64) -> f64 {
        let mut random = SplitMix64::new(seed);
        let mut sum = GoalCount::default();
        for number in 0..sets {
            let p = (number as f64 + random.share()) / sets as f64;
            // inverse normal by bisection over erf-free logistic? use simple Newton on cdf
            let z = inverse_normal(p);
            let one = self.trial_of_set(rate_tps, seconds, z, &mut random);
            sum = GoalCount { over: sum.over + one.over, of: sum.of + one.of };
        }
        sum.share()
    }

    pub fn truth_long(&self, seed: u64) -> f64 {
        let (mut low, mut high) = (self.top_tps() * 0.3, self.top_tps() * 1.05);
        for _ in 0..12 {
            let between = f64::midpoint(low, high);
            if self.stratified(between, 400, 60.0, seed) < self.share {
                low = between
            } else {
                high = between
            }
        }
        f64::midpoint(low, high)
    }

    fn trial_of_set(&self, rate_tps: f64, seconds: f64, set: f64, random: &mut SplitMix64) -> GoalCount {
        let service_s = self.service_s * (self.spread * set).exp();
        let mut free = vec![0.0f64; self.servers];
        let phase = self.pause.map_or(0.0, |(_, every)| every * random.share());
        let (mut now, mut over, mut of) = (0.0, 0.0, 0.0);
        while now < SETTLE_S + seconds {
            now -= random.share().ln() / rate_tps;
            let next = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let mut start = free[next].max(now);
            if let Some((length, every)) = self.pause {
                let into = (start + phase) % every;
                if into < length {
                    start += length - into;
                }
            }
            let law = match self.law {
                Law::Exponential => -random.share().ln(),
                Law::Fixed => 1.0,
            };
            free[next] = start + service_s * law;
            if now >= SETTLE_S {
                of += 1.0;
                if free[next] - now > self.limit_s || free[next] > SETTLE_S + seconds + self.limit_s {
                    over += 1.0;
                }
            }
        }
        GoalCount { over, of }
    }

    /// The pooled share of many sets.
    fn pooled(&self, rate_tps: f64, sets: usize, random: &mut SplitMix64) -> f64 {
        let mut sum = GoalCount::default();
        for _ in 0..sets {
            let one = self.trial(rate_tps, 1.5, random);
            sum = GoalCount { over: sum.over + one.over, of: sum.of + one.of };
        }
        sum.share()
    }

    /// The rate at which the pooled share reaches the limit, by bisection with the same random numbers each time.
    pub fn truth(&self, sets: usize) -> f64 {
        let (mut low, mut high) = (self.top_tps() * 0.2, self.top_tps() * 1.1);
        for _ in 0..9 {
            let between = f64::midpoint(low, high);
            let share = self.pooled(between, sets, &mut SplitMix64::new(99));
            if share < self.share { low = between } else { high = between }
        }
        f64::midpoint(low, high)
    }

    /// Searches; the answer, the seconds it took, and the number of trials.
    pub fn search(&self, width: f64, budget_s: f64, seed: u64) -> (Answer, f64, usize) {
        let mut random = SplitMix64::new(seed);
        let mut search = Search::new(SearchPlan {
            limits: vec![self.share],
            top_tps: self.top_tps() * (self.spread * random.normal()).exp(),
            max_rate_tps: None,
            width,
            budget_s,
            confirmation_s: 0.0,
            overhead_s: 0.5,
        });
        let (mut spent_s, mut trials) = (4.0, 0);
        loop {
            match search.next(spent_s) {
                Step::Trial(rate_tps, seconds) => {
                    let count = self.trial(rate_tps, seconds, &mut random);
                    search.add(Trial { rate_tps, counts: vec![count], is_client_limited: false });
                    spent_s += SETTLE_S + seconds + 0.5;
                    trials += 1;
                }
                Step::Confirm(rate_tps, _) => search.confirm(Confirmation { rate_tps, is_kept: true }),
                Step::Done => return (search.answer(), spent_s, trials),
            }
        }
    }
}

/// Acklam's approximation of the inverse normal distribution.
fn inverse_normal(p: f64) -> f64 {
    let a = [
        -3.969683028665376e+01,
        2.209460984245205e+02,
        -2.759285104469687e+02,
        1.383577518672690e+02,
        -3.066479806614716e+01,
        2.506628277459239e+00,
    ];
    let b = [
        -5.447609879822406e+01,
        1.615858368580409e+02,
        -1.556989798598866e+02,
        6.680131188771972e+01,
        -1.328068155288572e+01,
    ];
    let c = [
        -7.784894002430293e-03,
        -3.223964580411365e-01,
        -2.400758277161838e+00,
        -2.549732539343734e+00,
        4.374664141464968e+00,
        2.938163982698783e+00,
    ];
    let d = [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00];
    let tail = |q: f64| {
        (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5])
            / ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1.0)
    };
    if p < 0.02425 {
        return tail((-2.0 * p.ln()).sqrt());
    }
    if p > 1.0 - 0.02425 {
        return -tail((-2.0 * (1.0 - p).ln()).sqrt());
    }
    let q = p - 0.5;
    let r = q * q;
    (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q
        / (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1.0)
}
