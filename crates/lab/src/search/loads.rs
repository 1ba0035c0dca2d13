//! The loads of a search and what is measured of them.
//! `on_server` runs them on a real server; tests simulate one.

use results::{LateGenerator, LoadVerdict, LoadWait, OverCount, SearchGoal, SearchTrial, TrialDetails};
use run::RunError;
use search::{GoalCount, Trial, TrialVerdict};
use stats::{DecodeError, Distribution, EncodedDistribution, Summary};

/// A load with a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenLoad {
    pub(crate) rate_tps: f64,
    /// Planned length.
    pub(crate) seconds: f64,
    pub(crate) clients: u32,
}

/// What came out of one.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredLoad {
    pub(crate) trial: SearchTrial,
    /// Response times of its measured transactions.
    pub(crate) response: Distribution,
    pub(crate) waits: Vec<LoadWait>,
    /// Checkpoints and autovacuums inside; `None` if the server was not observed.
    pub(crate) events: Option<[u32; 2]>,
    /// Why pgmeter was late, if it was the limit.
    pub(crate) late: Option<LateGenerator>,
}

impl MeasuredLoad {
    /// The trial with all that it takes to continue the search.
    pub(crate) fn detailed(&self) -> SearchTrial {
        let details =
            TrialDetails { response: EncodedDistribution::new(&self.response), waits: self.waits.clone() };
        SearchTrial { details: Some(details), ..self.trial.clone() }
    }

    /// A trial of a search that is continued.
    ///
    /// # Errors
    /// Its response times cannot be read.
    pub(crate) fn restored(trial: &SearchTrial) -> Result<MeasuredLoad, DecodeError> {
        let details = trial.details.as_ref();
        let response = details.map(|details| details.response.decode()).transpose()?.unwrap_or_default();
        Ok(MeasuredLoad {
            trial: SearchTrial { details: None, ..trial.clone() },
            response,
            waits: details.map(|details| details.waits.clone()).unwrap_or_default(),
            events: None,
            late: None,
        })
    }
}

/// A server under load.
pub(crate) trait Loads {
    /// Throughput of a short closed loop.
    fn burst(&mut self, clients: u32) -> Result<f64, RunError>;

    /// Runs a load with a rate on fresh connections.
    fn open_loop(&mut self, load: OpenLoad) -> Result<MeasuredLoad, RunError>;

    /// Seconds that the search has taken.
    fn passed_s(&self) -> f64;

    /// Time of the last load beside its measured time.
    fn overhead_s(&self) -> f64;
}

/// The counts of a load under the goals, each of which has the index of its script or is about all. If the load was ended
/// early, `missing` transactions were not run; they count as over.
pub(crate) fn counts(
    summary: &Summary,
    goals: &[SearchGoal],
    scripts: &[Option<usize>],
    missing: f64,
) -> Vec<OverCount> {
    let all = summary.total.counts.scheduled.max(1) as f64;
    let count = |(at, goal): (usize, &SearchGoal)| {
        let script = scripts.get(at).copied().flatten();
        let stats = script.and_then(|script| summary.scripts.get(script)).unwrap_or(&summary.total);
        let (over, of) = goal.goal.over(stats).unwrap_or_default();
        // Failed and skipped transactions are counted as such, whatever the queue does.
        let is_latency = goal.goal.latency_limit_ns().is_some();
        let missing = if is_latency { missing * stats.counts.scheduled as f64 / all } else { 0.0 };
        OverCount { over: over + missing, of: of + missing }
    };
    goals.iter().enumerate().map(count).collect()
}

/// Whether all shares are below those that the goals allow.
pub(crate) fn verdict(counts: &[OverCount], goals: &[SearchGoal]) -> LoadVerdict {
    let limits: Vec<f64> = goals.iter().map(|goal| goal.allowed_share).collect();
    match as_trial(0.0, counts, false).verdict(&limits) {
        TrialVerdict::Kept => LoadVerdict::Kept,
        TrialVerdict::Broken => LoadVerdict::Broken,
    }
}

/// As the decisions take it.
pub(crate) fn as_trial(rate_tps: f64, counts: &[OverCount], is_client_limited: bool) -> Trial {
    let counts = counts.iter().map(|count| GoalCount { over: count.over, of: count.of }).collect();
    Trial { rate_tps, counts, is_client_limited }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn goal(text: &str, allowed_share: f64) -> SearchGoal {
        SearchGoal { goal: text.parse().unwrap(), allowed_share }
    }

    #[test]
    fn transactions_that_were_not_run_are_over_a_latency_and_have_not_failed() {
        let goals = [goal("p99 < 20ms", 0.01), goal("failed < 1%", 0.01)];
        let mut summary = Summary::of([], Duration::ZERO);
        (summary.total.counts.scheduled, summary.total.counts.skipped) = (100, 100);
        let counts = counts(&summary, &goals, &[None, None], 50.0);
        assert_eq!(counts, [OverCount { over: 150.0, of: 150.0 }, OverCount { over: 0.0, of: 100.0 }]);
        assert_eq!(verdict(&counts, &goals), LoadVerdict::Broken);
        assert_eq!(verdict(&counts[1..], &goals[1..]), LoadVerdict::Kept);
    }
}
