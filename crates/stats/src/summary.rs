//! The statistics of a whole run, calculated once from its intervals. `results::Summary` is the stored form, in
//! microseconds.

use std::time::Duration;

use crate::{Interval, ScriptStats};

/// The statistics of a run, total and per script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The measured time, without warm-up: until the planned end, or the last transaction if the run ended before it.
    pub duration: Duration,
    /// Time from the planned end until the last transaction.
    pub tail: Duration,
    /// All scripts together.
    pub total: ScriptStats,
    /// One entry per script of the plan; empty if there was no interval.
    pub scripts: Vec<ScriptStats>,
}

impl Summary {
    /// Sums up the intervals of a run that was measured for `duration`.
    ///
    /// # Panics
    /// If the intervals have different numbers of scripts, or a transaction was lost.
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
        Summary { duration, tail: Duration::ZERO, total, scripts }
    }

    /// Succeeded transactions per second of measured time; 0 if no time was measured. One that began
    /// before it or ended after it counts with the part of its service time within.
    pub fn tps(&self) -> f64 {
        self.tps_of(&self.total)
    }

    /// The same for one script of this run.
    pub fn tps_of(&self, script: &ScriptStats) -> f64 {
        if self.duration.is_zero() {
            return 0.0;
        }
        script.counts.succeeded_in_time() / self.duration.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, Recorder, Sample, Timestamp};

    #[test]
    fn the_rate_is_succeeded_transactions_over_measured_time() {
        let mut recorder = Recorder::new(2, None);
        for (script, ending) in [(0, Ending::Succeeded), (1, Ending::Succeeded), (1, Ending::Unfinished)] {
            let now = Timestamp::ZERO;
            recorder.record(&Sample {
                script,
                scheduled: now,
                started: now,
                finished: now,
                tries: 1,
                business: 1,
                ending,
                traffic: crate::Traffic::default(),
            });
        }
        let interval = recorder.hand_over(Timestamp::ZERO, Timestamp::from_nanos(1), Interval::new(2));
        let summary = Summary::of([&interval], Duration::from_millis(500));
        assert_eq!((summary.tps(), summary.tps_of(&summary.scripts[0])), (4.0, 2.0));
    }

    #[test]
    fn a_run_that_measured_nothing_has_no_transactions_and_no_infinite_rate() {
        let summary = Summary::of([], Duration::ZERO);
        assert_eq!((summary.tps(), summary.total.counts.scheduled, summary.scripts.len()), (0.0, 0, 0));
    }
}
