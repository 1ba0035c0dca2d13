//! Goals as shares of transactions over a limit.
//! For a search, which pools the transactions of many short loads.

use super::goal::{Goal, GoalFigure, GoalSide, LatencyStatistic};
use super::series::GoalBlock;
use crate::ScriptStats;

/// Why a goal is no share of transactions, as a part of a sentence.
const NO_UPPER_LIMIT: &str = "it sets a lower limit";
const NO_SHARE: &str = "it is not a share of the transactions";

impl Goal {
    /// The share of transactions over the limit that the goal allows: 0.01 for `p99 < 20ms`.
    ///
    /// # Errors
    /// It has none: a mean, a maximum, a throughput, a lower limit, or a share of 0 or 1. A part of a sentence.
    pub fn allowed_share(&self) -> Result<f64, &'static str> {
        if self.side == GoalSide::Above {
            return Err(NO_UPPER_LIMIT);
        }
        let share = match self.figure {
            GoalFigure::Latency(_, LatencyStatistic::Percentile(percent)) => {
                // Without the rounding errors of the subtraction.
                ((1.0 - percent / 100.0) * 1e12).round() / 1e12
            }
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => self.limit,
            GoalFigure::Latency(_, LatencyStatistic::Mean | LatencyStatistic::Max) | GoalFigure::Tps => {
                return Err(NO_SHARE);
            }
        };
        if share > 0.0 && share < 1.0 { Ok(share) } else { Err("it allows no share between 0 and 1") }
    }

    /// The transactions over the limit, and all scheduled ones; `None` if the goal is no share. Those that failed, were
    /// skipped or did not finish are over each latency.
    pub fn over(&self, stats: &ScriptStats) -> Option<(f64, f64)> {
        self.allowed_share().ok()?;
        let block = GoalBlock::new(self.figure, self.limit, stats, 0.0);
        Some((block.sum, block.of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_shares_allow_a_share_and_other_figures_do_not() {
        let share = |text: &str| text.parse::<Goal>().unwrap().allowed_share();
        assert_eq!(share("p99 < 20ms"), Ok(0.01));
        assert_eq!(share("over(20ms) < 5%"), Ok(0.05));
        assert_eq!(share("failed < 1%"), Ok(0.01));
        assert_eq!(share("mean < 20ms"), Err(NO_SHARE));
        assert_eq!(share("max < 20ms"), Err(NO_SHARE));
        assert_eq!(share("tps > 100"), Err(NO_UPPER_LIMIT));
        assert_eq!(share("p99 > 20ms"), Err(NO_UPPER_LIMIT));
    }

    #[test]
    fn transactions_that_did_not_succeed_are_over() {
        let mut stats = ScriptStats::new();
        for ms in [1, 30] {
            stats.response.record_ns(ms * 1_000_000);
            stats.service.record_ns(ms * 1_000_000);
        }
        stats.counts.succeeded = 2;
        (stats.counts.unfinished, stats.counts.skipped, stats.counts.failed) = (3, 4, 5);
        stats.counts.scheduled = 14;
        let over = |text: &str| text.parse::<Goal>().unwrap().over(&stats);
        assert_eq!(over("p99 < 20ms"), Some((13.0, 14.0)));
        assert_eq!(over("failed < 1%"), Some((5.0, 14.0)));
        assert_eq!(over("mean < 20ms"), None);
    }
}
