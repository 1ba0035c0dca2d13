//! The statistics of a whole run, made once from its intervals.
//! It is not what is stored (`results::Summary` is, in microseconds) nor what is shown.

use std::time::Duration;

use crate::{Interval, ScriptStats};

/// The statistics of a run, in all and per script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The measured time: without warm-up, until the last transaction that counts.
    pub duration: Duration,
    /// All scripts together.
    pub total: ScriptStats,
    /// One entry per script of the plan; empty if there was no interval.
    pub scripts: Vec<ScriptStats>,
}

impl Summary {
    /// Adds up the intervals of a run that was measured for `duration`.
    ///
    /// # Panics
    /// If the intervals are of different numbers of scripts, or a transaction was lost.
    pub fn of<'a>(intervals: impl IntoIterator<Item = &'a Interval>, duration: Duration) -> Summary {
        let mut all: Option<Interval> = None;
        for interval in intervals {
            match &mut all {
                Some(all) => all.merge(interval),
                None => all = Some(interval.clone()),
            }
        }
        let total = all.as_ref().map(Interval::total).unwrap_or_default();
        let scripts = all.map(|all| all.scripts).unwrap_or_default();
        Summary { duration, total, scripts }
    }

    /// Succeeded transactions per second of measured time; 0 if no time was measured.
    pub fn tps(&self) -> f64 {
        self.tps_of(&self.total)
    }

    /// The same for one script of this run.
    pub fn tps_of(&self, script: &ScriptStats) -> f64 {
        if self.duration.is_zero() {
            return 0.0;
        }
        // Counts stay far below 2⁵³, where f64 begins to round integers.
        #[allow(clippy::cast_precision_loss)]
        let succeeded = script.counts.succeeded as f64;
        succeeded / self.duration.as_secs_f64()
    }
}
