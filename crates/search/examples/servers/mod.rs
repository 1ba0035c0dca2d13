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
/// Length of the runs that the true rate is computed from.
const TRUTH_S: f64 = 60.0;

impl SimulatedServer {
    pub fn top_tps(&self) -> f64 {
        self.servers as f64 / self.service_s
    }

    /// Transactions over the limit of a trial, and all, with a fresh set.
    pub fn trial(&self, rate_tps: f64, seconds: f64, random: &mut SplitMix64) -> GoalCount {
        let set = random.normal();
        self.trial_of_set(rate_tps, seconds, set, random)
    }

    /// The pooled share of many sets, evenly spread over their distribution, each for a long time.
    fn pooled(&self, rate_tps: f64, sets: usize, random: &mut SplitMix64) -> f64 {
        let mut sum = GoalCount::default();
        for number in 0..sets {
            let set = normal_quantile((number as f64 + random.share()) / sets as f64);
            let one = self.trial_of_set(rate_tps, TRUTH_S, set, random);
            sum = GoalCount { over: sum.over + one.over, of: sum.of + one.of };
        }
        sum.share()
    }

    /// The rate at which the pooled share reaches the limit, by bisection with the same random numbers each time.
    pub fn truth(&self, sets: usize, seed: u64) -> f64 {
        let (mut low, mut high) = (self.top_tps() * 0.3, self.top_tps() * 1.05);
        for _ in 0..12 {
            let between = f64::midpoint(low, high);
            let share = self.pooled(between, sets, &mut SplitMix64::new(seed));
            if share < self.share { low = between } else { high = between }
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

/// The number below which a standard normal one is with this probability, by bisection of the distribution function
/// (Abramowitz and Stegun, 26.2.17; error below 10⁻⁷).
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..40 {
        let between = f64::midpoint(low, high);
        if below(between) < probability { low = between } else { high = between }
    }
    f64::midpoint(low, high)
}

fn below(number: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * number.abs());
    let sum = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let tail = (-number * number / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let tail = tail * sum.iter().fold(0.0, |all, factor| (all + factor) * t);
    if number < 0.0 { tail } else { 1.0 - tail }
}
