//! The search: from the outcomes of trials and the time that has passed to the next load.
//!
//! First a bracket: the rate is halved or grows until one load is kept and one is broken, and their ratio is bisected.
//! Then two rates around the estimate alternate, so that drift of the server hits both, until the interval is narrow
//! enough or the time is over. Last, a longer load at the lower end of the interval confirms the answer or corrects
//! it.

use crate::curve::{CurveEstimate, ShareCurve, estimate_of};
use crate::trial::{Trial, TrialVerdict, pooled, verdict};

/// What a search is for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// For each goal, the share of transactions over its limit that it allows.
    pub limits: Vec<f64>,
    /// Throughput of the closed loop: where the search begins.
    pub top_tps: f64,
    /// The highest rate to try.
    pub max_rate_tps: Option<f64>,
    /// Half of the interval, relative to the rate, at which the search may end.
    pub width: f64,
    /// Time for the whole search, in seconds.
    pub budget_s: f64,
    /// Length of the confirmation, in seconds; 0: without one.
    pub confirmation_s: f64,
    /// Time of a trial beside its measured time: connecting, settling, ending.
    pub overhead_s: f64,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A trial at this rate, measured for so many seconds.
    Trial(f64, f64),
    /// A longer load at this rate, to confirm the answer.
    Confirm(f64, f64),
    /// Nothing: the search is over.
    Done,
}

/// A confirmation that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// Its rate.
    pub rate_tps: f64,
    /// Whether the goals were kept.
    pub is_kept: bool,
}

/// The answer, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Too few trials.
    Nothing,
    /// The rates of the bracket; the fit has too few trials.
    Between(f64, f64),
    /// A rate with its interval of 95 %.
    Sustains(CurveEstimate),
    /// The confirmation broke the goals, and a lower rate kept them: from this rate to that.
    Corrected(f64, f64),
    /// All confirmations broke the goals; the lowest of their rates.
    Unconfirmed(f64),
    /// The goals are broken at the lowest rate.
    BrokenAtLowest(f64),
    /// The goals are kept at the highest rate that the user allows.
    KeptAtHighest(f64),
    /// pgmeter or its machine was the limit; the highest rate that was kept. 0: none.
    ClientLimited(f64),
}

/// Step from the first rate upwards.
const GROW: f64 = std::f64::consts::SQRT_2;
/// The first rate, as a share of the throughput of the closed loop.
const FIRST_SHARE: f64 = 0.7;
/// Ratio of the rates of the bracket at which the fit begins.
const BRACKET_RATIO: f64 = 1.15;
/// The lowest rate that is tried, as a share of the throughput of the closed loop, and at least one transaction per
/// second.
const LOWEST_SHARE: f64 = 1.0 / 512.0;
/// Trials of a load of the bracket.
const TRIALS_OF_LOAD: usize = 3;
/// Trials at the highest rate before the answer is that it is kept.
const TRIALS_AT_HIGHEST: usize = 5;
/// Trials of the fit before there is an interval, and before the interval may end the search.
const ANSWER_MIN: usize = 14;
const FITTED_MIN: usize = 32;
/// Distances of the two rates from the estimate, in ln(rate), and as a share of half of the interval.
const DISTANCE_MIN: f64 = 0.05;
const DISTANCE_MAX: f64 = 0.07;
const DISTANCE_SHARE: f64 = 0.7;
/// Slope of the logit above which the load itself delays; below, the curve is flat, and pauses give it a floor.
const STEEP: f64 = 8.0;
/// Slope above which trials below the answer see next to nothing: the two distances are multiplied by these factors.
const VERY_STEEP: f64 = 11.0;
const DISTANCES_STEEP: (f64, f64) = (0.5, 2.0);
/// Measured seconds of a trial.
const TRIAL_S: (f64, f64) = (1.5, 10.0);
/// Measured seconds of a trial of the fit, at least: if the curve is steep, because it is the load that delays, and if
/// it is flat, because pauses of the server give it a floor. Then each trial should have a pause of those that come
/// often.
const FIT_TRIAL_S: f64 = 3.0;
const FLAT_TRIAL_S: f64 = 6.0;
/// Transactions that a trial should have at least: with fewer, it could have none by chance.
const TRANSACTIONS_WANTED: f64 = 5.0;
/// Transactions over the limit that a trial at the answer should have.
const OVER_WANTED: f64 = 10.0;
/// Time that is kept for confirmations, in lengths of one. A good load breaks a goal by chance now and then, so there is time
/// for a second, shorter one.
const CONFIRMATIONS_KEPT: f64 = 1.6;
/// Confirmations, the first included.
const CONFIRMATIONS_MAX: usize = 3;
/// Each further confirmation is lower by this share at least.
const CONFIRMATION_STEP: f64 = 0.05;
/// Trials of the bracket that are further away than this, in ln(rate), are not fitted: the curve has another slope
/// there.
const WINDOW: f64 = 0.3;
/// Client-limited trials that end the search.
const CLIENT_LIMITED_MAX: usize = 3;

/// A search that is under way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    trials: Vec<Trial>,
    /// Rate of the current load of the bracket.
    rate_tps: f64,
    kept: Option<f64>,
    broken: Option<f64>,
    /// The trials of the current load begin here.
    load_began: usize,
    curves: Vec<ShareCurve>,
    fitted: usize,
    /// What the curves say.
    estimate: Option<CurveEstimate>,
    /// Slope of the logit of the share against ln(rate) at the estimate.
    slope: f64,
    end: Option<Answer>,
    confirmations: Vec<Confirmation>,
}

impl Search {
    /// A search before its first trial.
    pub fn new(plan: SearchPlan) -> Search {
        let first = plan.top_tps * FIRST_SHARE;
        let rate_tps = plan.max_rate_tps.map_or(first, |highest| first.min(highest)).max(1.0);
        Search {
            plan,
            trials: Vec::new(),
            rate_tps,
            kept: None,
            broken: None,
            load_began: 0,
            curves: Vec::new(),
            fitted: 0,
            estimate: None,
            slope: 0.0,
            end: None,
            confirmations: Vec::new(),
        }
    }

    /// A search that goes on after these trials, in their order.
    pub fn resumed(plan: SearchPlan, trials: impl IntoIterator<Item = Trial>) -> Search {
        let mut search = Search::new(plan);
        trials.into_iter().for_each(|trial| search.add(trial));
        search
    }

    /// What to do next, after so many seconds of the budget.
    pub fn next(&self, spent_s: f64) -> Step {
        let left_s = self.plan.budget_s - spent_s;
        if matches!(self.end, Some(Answer::BrokenAtLowest(_) | Answer::ClientLimited(_))) {
            return Step::Done;
        }
        if self.end.is_none() && !self.is_narrow() {
            let rate_tps = self.next_rate();
            let trial_s = self.trial_s(rate_tps);
            if left_s - trial_s - self.plan.overhead_s >= CONFIRMATIONS_KEPT * self.plan.confirmation_s {
                return Step::Trial(rate_tps, trial_s);
            }
        }
        self.next_confirmation(left_s)
    }

    fn next_confirmation(&self, left_s: f64) -> Step {
        let first = match self.answer_of_trials() {
            Answer::Sustains(estimate) => estimate.low_tps,
            Answer::Between(kept, _) => kept,
            Answer::KeptAtHighest(rate) => rate,
            _ => return Step::Done,
        };
        let seconds = self.plan.confirmation_s;
        if seconds <= 0.0 {
            return Step::Done;
        }
        let step = 1.0 + self.plan.width.max(CONFIRMATION_STEP);
        match self.confirmations.last() {
            None if left_s > 1.0 && first > 0.0 => Step::Confirm(first, seconds.min(left_s)),
            Some(last)
                if !last.is_kept
                    && self.confirmations.len() < CONFIRMATIONS_MAX
                    && left_s >= seconds / 3.0 =>
            {
                Step::Confirm(last.rate_tps / step, seconds.min(left_s))
            }
            _ => Step::Done,
        }
    }

    /// Adds a trial that has ended.
    pub fn add(&mut self, trial: Trial) {
        let is_fitting = !self.curves.is_empty();
        self.fit(&trial);
        self.trials.push(trial);
        self.check_generator();
        if !is_fitting && self.end.is_none() {
            self.bracket();
        }
    }

    /// Adds a confirmation that has ended.
    pub fn confirm(&mut self, confirmation: Confirmation) {
        self.confirmations.push(confirmation);
    }

    /// Forgets the trials, because the load changes: it has more clients now.
    pub fn restart(&mut self) {
        let rate_tps = self.next_rate();
        *self = Search { rate_tps, ..Search::new(self.plan.clone()) };
    }

    /// The answer so far.
    pub fn answer(&self) -> Answer {
        let of_trials = self.answer_of_trials();
        let kept = self.confirmations.iter().find(|confirmation| confirmation.is_kept);
        let broken = self.confirmations.iter().rev().find(|confirmation| !confirmation.is_kept);
        match (kept, broken) {
            (Some(kept), Some(broken)) => Answer::Corrected(kept.rate_tps, broken.rate_tps),
            (None, Some(broken)) => Answer::Unconfirmed(broken.rate_tps),
            (_, None) => of_trials,
        }
    }

    fn answer_of_trials(&self) -> Answer {
        match (self.end, self.kept, self.broken) {
            (Some(end), ..) => end,
            _ if self.fitted >= ANSWER_MIN => self.estimate.map_or(Answer::Nothing, Answer::Sustains),
            (None, Some(kept), Some(broken)) => Answer::Between(kept, broken),
            (None, Some(kept), None) => Answer::Between(kept, f64::INFINITY),
            (None, None, Some(broken)) => Answer::Between(0.0, broken),
            (None, None, None) => Answer::Nothing,
        }
    }

    /// The fit, once there is one.
    pub fn fitted(&self) -> Option<CurveEstimate> {
        self.estimate
    }

    fn is_narrow(&self) -> bool {
        let is_narrow = |fit: CurveEstimate| fit.half_width() <= self.plan.width;
        self.fitted >= FITTED_MIN && self.estimate.is_some_and(is_narrow)
    }

    fn trial_s(&self, rate_tps: f64) -> f64 {
        let (shortest, longest) =
            (TRIAL_S.0.max(self.fit_trial_s()), TRIAL_S.1.min(self.plan.budget_s / 20.0));
        let least = self.plan.limits.iter().copied().fold(1.0, f64::min);
        let longest = longest.max(TRIAL_S.0).max(TRANSACTIONS_WANTED / rate_tps);
        (OVER_WANTED / (least * rate_tps)).max(shortest).min(longest)
    }

    /// The least that a trial of the fit lasts; 0 before the fit.
    fn fit_trial_s(&self) -> f64 {
        match self.estimate {
            None => 0.0,
            Some(_) if self.slope > STEEP => FIT_TRIAL_S,
            Some(_) => FLAT_TRIAL_S,
        }
    }

    fn next_rate(&self) -> f64 {
        let Some(estimate) = self.estimate else { return self.rate_tps };
        let distance = (estimate.half_width() * DISTANCE_SHARE).clamp(DISTANCE_MIN, DISTANCE_MAX);
        let (below, above) = if self.slope > VERY_STEEP { DISTANCES_STEEP } else { (1.0, 1.0) };
        // Pairs in mirrored order, low high high low, so that a steady drift cancels out.
        let is_low = matches!(self.fitted % 4, 0 | 3);
        let rate = estimate.rate_tps * (distance * if is_low { -below } else { above }).exp();
        self.plan.max_rate_tps.map_or(rate, |highest| rate.min(highest))
    }

    fn fit(&mut self, trial: &Trial) {
        if self.curves.is_empty() {
            return;
        }
        self.fitted += 1;
        for (curve, count) in self.curves.iter_mut().zip(&trial.counts) {
            curve.add(trial.rate_tps, count.over, count.of);
        }
        // Only whole pairs: an estimate between them would lean to one side.
        if self.fitted.is_multiple_of(2) {
            self.estimate_now();
        }
    }

    fn estimate_now(&mut self) {
        self.estimate = estimate_of(&self.curves);
        self.slope = self.estimate.map_or(0.0, |estimate| {
            let slopes = self.curves.iter().map(|curve| curve.slope_at(estimate.rate_tps));
            slopes.fold(0.0, f64::max)
        });
    }

    /// Decides on the current load of the bracket, and chooses the next one.
    fn bracket(&mut self) {
        let of_load = &self.trials[self.load_began..];
        // Of a search that goes on, the first rate may be another one than that of its plan.
        self.rate_tps = of_load.last().map_or(self.rate_tps, |trial| trial.rate_tps);
        let broken = of_load.iter().filter(|trial| trial.verdict(&self.plan.limits) == TrialVerdict::Broken);
        let (broken, all) = (broken.count(), of_load.len());
        let is_highest = self.plan.max_rate_tps.is_some_and(|highest| self.rate_tps >= highest);
        let planned = if is_highest { TRIALS_AT_HIGHEST } else { TRIALS_OF_LOAD };
        // The missing trials cannot change the majority.
        let is_decided = broken * 2 > planned || (all - broken) * 2 > planned || all >= planned;
        let is_clear = all == 1 && !is_highest && of_load[0].is_clear(&self.plan.limits);
        if !is_decided && !is_clear {
            return;
        }
        self.load_began = self.trials.len();
        if broken * 2 > all {
            self.broken = Some(self.broken.map_or(self.rate_tps, |rate| rate.min(self.rate_tps)));
        } else {
            self.kept = Some(self.kept.map_or(self.rate_tps, |rate| rate.max(self.rate_tps)));
            if is_highest {
                self.end = Some(Answer::KeptAtHighest(self.rate_tps));
                return;
            }
        }
        self.rate_tps = match (self.kept, self.broken) {
            (Some(kept), Some(broken)) if broken / kept <= BRACKET_RATIO => {
                self.begin_fit((kept * broken).sqrt());
                return;
            }
            (Some(kept), Some(broken)) => (kept * broken).sqrt(),
            (Some(kept), None) => {
                let next = kept * GROW;
                self.plan.max_rate_tps.map_or(next, |highest| next.min(highest))
            }
            (None, _) => {
                let lowest = (self.plan.top_tps * LOWEST_SHARE).max(1.0);
                if self.rate_tps <= lowest {
                    self.end = Some(Answer::BrokenAtLowest(self.rate_tps));
                    return;
                }
                (self.rate_tps / 2.0).max(lowest)
            }
        };
    }

    fn begin_fit(&mut self, rate_tps: f64) {
        self.curves = self.plan.limits.iter().map(|limit| ShareCurve::new(*limit)).collect();
        let is_near = |trial: &&Trial| (trial.rate_tps / rate_tps).ln().abs() < WINDOW;
        for trial in self.trials.iter().filter(is_near) {
            for (curve, count) in self.curves.iter_mut().zip(&trial.counts) {
                curve.add(trial.rate_tps, count.over, count.of);
            }
        }
        self.estimate_now();
    }

    /// Ends the search if broken loads are those of the generator's limit.
    fn check_generator(&mut self) {
        let limits = &self.plan.limits;
        let is_broken = |trial: &&Trial| trial.verdict(limits) == TrialVerdict::Broken;
        let recent = self.trials.iter().rev().filter(is_broken).take(CLIENT_LIMITED_MAX);
        let of_client = recent.filter(|trial| trial.is_client_limited).count();
        if of_client >= CLIENT_LIMITED_MAX {
            let kept = self.trials.iter().filter(|trial| {
                let at_rate = self.trials.iter().filter(|other| other.rate_tps == trial.rate_tps);
                verdict(&pooled(at_rate), limits) == TrialVerdict::Kept
            });
            let highest = kept.map(|trial| trial.rate_tps).fold(0.0, f64::max);
            self.end = Some(Answer::ClientLimited(highest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::GoalCount;

    fn plan() -> SearchPlan {
        SearchPlan {
            limits: vec![0.01],
            top_tps: 1000.0,
            max_rate_tps: None,
            width: 0.03,
            budget_s: 300.0,
            confirmation_s: 30.0,
            overhead_s: 0.5,
        }
    }

    /// A trial of a server that keeps the goal up to `capacity` for certain.
    fn trial(rate_tps: f64, capacity: f64) -> Trial {
        let over = if rate_tps < capacity { 0.0 } else { 900.0 };
        Trial { rate_tps, counts: vec![GoalCount { over, of: 1000.0 }], is_client_limited: false }
    }

    /// Runs a search to its end; returns it with the rates of the trials.
    fn ended(plan: SearchPlan, capacity: f64, confirmed_up_to: f64) -> (Search, Vec<f64>) {
        let (mut search, mut rates, mut spent_s) = (Search::new(plan), Vec::new(), 0.0);
        loop {
            match search.next(spent_s) {
                Step::Trial(rate_tps, seconds) => {
                    rates.push(rate_tps);
                    search.add(trial(rate_tps, capacity));
                    spent_s += seconds + 0.5;
                }
                Step::Confirm(rate_tps, seconds) => {
                    search.confirm(Confirmation { rate_tps, is_kept: rate_tps < confirmed_up_to });
                    spent_s += seconds;
                }
                Step::Done => return (search, rates),
            }
        }
    }

    #[test]
    fn a_certain_server_is_bracketed_and_fitted_and_its_answer_confirmed() {
        let (search, rates) = ended(plan(), 520.0, 520.0);
        assert_eq!(rates[..2], [700.0, 350.0]);
        let Answer::Sustains(estimate) = search.answer() else { panic!("{:?}", search.answer()) };
        assert!((490.0..530.0).contains(&estimate.rate_tps), "{estimate:?}");
        assert!(rates.len() < 140 && search.confirmations[0].is_kept, "{}", rates.len());
    }

    #[test]
    fn without_a_confirmation_the_search_ends_with_its_interval() {
        let (search, rates) = ended(SearchPlan { confirmation_s: 0.0, ..plan() }, 520.0, 0.0);
        assert!(matches!(search.answer(), Answer::Sustains(_)) && search.confirmations.is_empty());
        assert!(!rates.is_empty());
    }

    #[test]
    fn a_broken_confirmation_is_repeated_lower_and_corrects_the_answer() {
        let (search, _) = ended(plan(), 520.0, 480.0);
        let Answer::Corrected(kept, broken) = search.answer() else { panic!("{:?}", search.answer()) };
        assert!(kept < 480.0 && broken >= 480.0);
        let (search, _) = ended(plan(), 520.0, 0.0);
        assert!(matches!(search.answer(), Answer::Unconfirmed(_)));
        assert_eq!(search.confirmations.len(), CONFIRMATIONS_MAX);
    }

    #[test]
    fn the_ends_of_the_range_are_answers() {
        assert!(matches!(ended(plan(), 0.0, 0.0).0.answer(), Answer::BrokenAtLowest(rate) if rate < 3.0));
        let limited = SearchPlan { max_rate_tps: Some(800.0), ..plan() };
        let (search, rates) = ended(limited, 5000.0, 5000.0);
        assert_eq!(search.answer(), Answer::KeptAtHighest(800.0));
        assert!(rates.len() <= 6, "{rates:?}");
    }

    #[test]
    fn loads_broken_by_the_generator_end_the_search_with_a_lower_bound() {
        let mut search = Search::new(plan());
        while let Step::Trial(rate_tps, _) = search.next(0.0) {
            search.add(Trial { is_client_limited: true, ..trial(rate_tps, 800.0) });
        }
        assert!(matches!(search.answer(), Answer::ClientLimited(rate) if (600.0..800.0).contains(&rate)));
    }

    #[test]
    fn a_search_that_is_resumed_goes_on_as_if_it_had_never_ended() {
        let mut whole = Search::new(plan());
        let mut trials = Vec::new();
        for number in 0..40 {
            let Step::Trial(rate_tps, _) = whole.next(0.0) else { break };
            trials.push(trial(rate_tps, 520.0));
            whole.add(trials[number].clone());
            let resumed = Search::resumed(plan(), trials.clone());
            assert_eq!(resumed.next(0.0), whole.next(0.0), "after {} trials", number + 1);
            assert_eq!(resumed.answer(), whole.answer());
        }
        assert!(trials.len() > 20, "{}", trials.len());
        // More clients make another closed loop, but the trials began elsewhere.
        let other = Search::resumed(SearchPlan { top_tps: 900.0, ..plan() }, trials);
        assert_eq!(other.answer(), whole.answer());
    }

    /// The logit of the share is linear in ln(rate), without any scatter; returns the last two rates and their length.
    fn last_pair(slope: f64) -> ([f64; 2], f64) {
        let mut search = Search::new(plan());
        let (mut rates, mut length) = (Vec::new(), 0.0);
        while let Step::Trial(rate_tps, seconds) = search.next(0.0) {
            let odds = (0.01 / 0.99) * (rate_tps / 500.0).powf(slope);
            let of = rate_tps * seconds;
            let counts = vec![GoalCount { over: of * odds / (1.0 + odds), of }];
            search.add(Trial { rate_tps, counts, is_client_limited: false });
            (length, _) = (seconds, rates.push(rate_tps));
        }
        let mut last = rates.split_off(rates.len() - 4);
        last.sort_by(f64::total_cmp);
        ([last[0], last[3]], length)
    }

    #[test]
    fn a_flat_curve_gets_longer_trials_and_a_steep_one_loads_further_above_the_answer() {
        let ([low, high], flat_s) = last_pair(4.0);
        assert!((high / 500.0 - 500.0 / low).abs() < 0.02, "{low} {high}");
        let ([low, high], steep_s) = last_pair(40.0);
        assert!((high / 500.0).ln() > 2.0 * (500.0 / low).ln(), "{low} {high}");
        assert_eq!((flat_s, steep_s), (FLAT_TRIAL_S, FIT_TRIAL_S));
    }

    #[test]
    fn a_trial_at_a_low_rate_lasts_until_it_has_some_transactions() {
        // Otherwise, it would last a twentieth of the budget.
        let low = SearchPlan { budget_s: 30.0, confirmation_s: 0.0, ..plan() };
        let at = |rate_tps| SearchPlan { limits: vec![0.5], max_rate_tps: Some(rate_tps), ..low.clone() };
        assert_eq!(Search::new(at(1.0)).next(0.0), Step::Trial(1.0, 5.0));
        assert_eq!(Search::new(at(4.0)).next(0.0), Step::Trial(4.0, 1.5));
    }

    #[test]
    fn the_end_of_the_budget_leaves_the_bracket() {
        let short = SearchPlan { budget_s: 6.0, confirmation_s: 1.0, ..plan() };
        let (search, rates) = ended(short, 520.0, 520.0);
        assert_eq!(rates.len(), 2);
        assert_eq!(search.answer(), Answer::Between(350.0, 700.0));
    }
}
