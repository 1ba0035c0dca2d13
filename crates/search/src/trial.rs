//! The outcome of a trial: a short load at a constant rate on connections of its own, and the verdict on it. A caller
//! makes trials, `decision` judges them.

/// Transactions of a trial under one goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GoalCount {
    /// Transactions over the limit, and those that failed, were skipped or did not finish.
    pub over: f64,
    /// Scheduled transactions.
    pub of: f64,
}

/// A trial that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The rate that was asked for, in transactions per second.
    pub rate_tps: f64,
    /// For each goal, in the order of the plan.
    pub counts: Vec<GoalCount>,
    /// Whether pgmeter or its machine was the limit, not the server.
    pub is_client_limited: bool,
}

/// Whether a load kept all goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialVerdict {
    /// All shares were below their limits.
    Kept,
    /// A share reached its limit, or there was no transaction that could have kept it.
    Broken,
}

/// A trial whose share is so many times over or under the limit decides alone about its load.
const CLEAR: f64 = 4.0;

impl GoalCount {
    /// The share over the limit; 0 without transactions.
    pub fn share(self) -> f64 {
        if self.of > 0.0 { self.over / self.of } else { 0.0 }
    }

    fn plus(self, other: GoalCount) -> GoalCount {
        GoalCount { over: self.over + other.over, of: self.of + other.of }
    }
}

impl Trial {
    /// The verdict under these limits of the shares.
    pub fn verdict(&self, limits: &[f64]) -> TrialVerdict {
        verdict(&self.counts, limits)
    }

    /// Whether the verdict is so clear that no second trial is needed before the next load.
    pub fn is_clear(&self, limits: &[f64]) -> bool {
        if is_empty(&self.counts) {
            return false;
        }
        let worst = self.counts.iter().zip(limits).map(|(count, limit)| count.share() / limit);
        let worst = worst.fold(0.0, f64::max);
        !(1.0 / CLEAR..=CLEAR).contains(&worst)
    }
}

fn is_empty(counts: &[GoalCount]) -> bool {
    counts.iter().all(|count| count.of <= 0.0)
}

/// The verdict on counts, of one trial or of several together. Nothing is known of a load without transactions, so it has not
/// kept the goals.
pub(crate) fn verdict(counts: &[GoalCount], limits: &[f64]) -> TrialVerdict {
    let is_broken = counts.iter().zip(limits).any(|(count, limit)| count.share() >= *limit);
    if is_empty(counts) || is_broken { TrialVerdict::Broken } else { TrialVerdict::Kept }
}

/// The counts of several trials together.
pub(crate) fn pooled<'a>(trials: impl Iterator<Item = &'a Trial>) -> Vec<GoalCount> {
    trials.fold(Vec::new(), |mut sum, trial| {
        sum.resize(trial.counts.len(), GoalCount::default());
        sum.iter_mut().zip(&trial.counts).for_each(|(sum, count)| *sum = sum.plus(*count));
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(shares: &[f64]) -> Trial {
        let counts = shares.iter().map(|share| GoalCount { over: share * 1000.0, of: 1000.0 }).collect();
        Trial { rate_tps: 1.0, counts, is_client_limited: false }
    }

    #[test]
    fn one_broken_goal_breaks_the_load_and_a_share_far_from_its_limit_is_clear() {
        let limits = [0.01, 0.1];
        assert_eq!(trial(&[0.009, 0.09]).verdict(&limits), TrialVerdict::Kept);
        assert_eq!(trial(&[0.009, 0.1]).verdict(&limits), TrialVerdict::Broken);
        assert!(!trial(&[0.009, 0.02]).is_clear(&limits));
        assert!(trial(&[0.05, 0.02]).is_clear(&limits) && trial(&[0.002, 0.02]).is_clear(&limits));
    }

    #[test]
    fn a_load_without_transactions_has_not_kept_its_goals_and_another_trial_follows() {
        let empty = Trial { counts: vec![GoalCount::default(); 2], ..trial(&[]) };
        assert_eq!(empty.verdict(&[0.01, 0.1]), TrialVerdict::Broken);
        assert!(!empty.is_clear(&[0.01, 0.1]));
        let half = Trial { counts: vec![GoalCount::default(), GoalCount { over: 0.0, of: 1.0 }], ..empty };
        assert_eq!(half.verdict(&[0.01, 0.1]), TrialVerdict::Kept, "a script may not be drawn");
    }

    #[test]
    fn pooled_trials_have_the_sums() {
        let both = [trial(&[0.01]), trial(&[0.03])];
        assert_eq!(pooled(both.iter()), [GoalCount { over: 40.0, of: 2000.0 }]);
    }
}
