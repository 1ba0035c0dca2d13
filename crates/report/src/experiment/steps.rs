//! Trials of timed steps: each step of a cell over its repeats. A step that a trial takes several times counts there with
//! its mean, so that repeats stay what intervals are over.

use std::collections::HashSet;

use results::{StepResult, StepTime, StepsRecord};

use super::metric::Metric;
use super::repeats::{Known, Repeated};
use crate::prose::escaped_line;
use crate::queries::is_first;

/// A step of a cell.
#[derive(Clone, Debug)]
pub(crate) struct StepFigures {
    pub(crate) name: String,
    /// Its index in the cell; in other cells it is usually the same.
    pub(crate) place: usize,
    pub(crate) duration_us: Option<Repeated>,
    pub(crate) wal_bytes: Option<Repeated>,
    pub(crate) cpu_us: Option<Repeated>,
    pub(crate) table_bytes: Option<Repeated>,
    pub(crate) index_bytes: Option<Repeated>,
    /// Whether some of its trials have one of these and others lack it.
    pub(crate) is_partly_known: bool,
    /// Times that were cut off at the limit, and count as was agreed; of all times.
    pub(crate) limited: usize,
    pub(crate) times: usize,
    /// Whether one of these is in the duration.
    pub(crate) is_bound: bool,
}

type Figure = fn(&StepTime) -> Option<f64>;

const DURATION: Figure = |time| Some(time.duration_us as f64);
const WAL: Figure = |time| Some(time.wal_bytes? as f64);
/// With parallel workers. One stream whose workers are not known has the figures of pg_stat_kcache, which include them.
const CPU: Figure = |time| {
    let of_workers = time.workers_cpu_us.unwrap_or_default();
    Some(time.backend_user_us? as f64 + time.backend_system_us? as f64 + of_workers as f64)
};
const TABLES: Figure = |time| Some(time.table_bytes? as f64);
const INDEXES: Figure = |time| Some(time.index_bytes? as f64);

/// The mean over its times; `None` if one of them is not known. Of a query, over the later executions, if there are any.
fn mean(step: &StepResult, of: Figure) -> Option<f64> {
    let known: Vec<f64> = measured(step).map(of).collect::<Option<_>>()?;
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The times that figures are means of.
fn measured(step: &StepResult) -> impl Iterator<Item = &StepTime> {
    let succeeded = || step.times.iter().filter(|time| time.error.is_none());
    let has_later = succeeded().any(|time| !is_first(time));
    succeeded().filter(move |time| is_first(time) != has_later)
}

/// A figure of a whole trial: the sum over its steps; `None` if one of them is not known.
pub(super) fn sum(metric: Metric, record: &StepsRecord) -> Option<f64> {
    let of = match metric {
        Metric::Duration => DURATION,
        Metric::WalBytes => WAL,
        Metric::ServerCpu => CPU,
        _ => return None,
    };
    let is_known = metric != Metric::ServerCpu || is_cpu_whole(record);
    is_known.then(|| record.steps.iter().map(|step| mean(step, of)).sum())?
}

/// Whether CPU times include parallel workers: of several streams at a time, only the backends are known.
fn is_cpu_whole(record: &StepsRecord) -> bool {
    record.streams.len() <= 1
}

/// The steps of a cell, from repeat and record of its complete trials, in the order in which they are taken.
pub(super) fn of_cell<'r>(trials: &[(u32, &'r StepsRecord)]) -> Vec<StepFigures> {
    let has_cpu = trials.iter().all(|(_, record)| is_cpu_whole(record));
    let names = distinct(trials.iter().flat_map(|(_, record)| &record.steps).map(|step| step.name.as_str()));
    let step = |(place, name): (usize, &str)| {
        let all = || {
            let of_trial =
                |(repeat, record): &(u32, &'r StepsRecord)| Some((*repeat, record.step(name, place)?));
            trials.iter().filter_map(of_trial)
        };
        let figure = |of: Figure| Known::of(all().map(|(repeat, step)| (repeat, mean(step, of))));
        let cpu: Figure = if has_cpu { CPU } else { |_| None };
        let known = [DURATION, WAL, cpu, TABLES, INDEXES].map(figure);
        let is_partly_known = known.contains(&Known::Partly);
        let [duration_us, wal_bytes, cpu_us, table_bytes, index_bytes] = known.map(Known::into_figure);
        StepFigures {
            name: escaped_line(name),
            place,
            duration_us,
            wal_bytes,
            cpu_us,
            table_bytes,
            index_bytes,
            is_partly_known,
            limited: all().map(|(_, step)| step.limited()).sum(),
            times: all().map(|(_, step)| step.times.len()).sum(),
            is_bound: all().any(|(_, step)| measured(step).any(|time| time.limited)),
        }
    };
    names.into_iter().enumerate().map(step).collect()
}

/// Each name once, in the order in which they come.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(*name)).collect()
}

/// The step with the name of another one.
pub(super) fn same<'a>(steps: &'a [StepFigures], other: &StepFigures) -> Option<&'a StepFigures> {
    let near = steps.get(other.place).filter(|step| step.name == other.name);
    near.or_else(|| steps.iter().find(|step| step.name == other.name))
}

impl StepFigures {
    pub(super) fn figure(&self, metric: Metric) -> Option<&Repeated> {
        match metric {
            Metric::Duration => self.duration_us.as_ref(),
            Metric::WalBytes => self.wal_bytes.as_ref(),
            Metric::ServerCpu => self.cpu_us.as_ref(),
            _ => None,
        }
    }

    /// `2 of 3 at the limit`, if any were.
    pub(crate) fn limited_in_words(&self) -> String {
        if self.limited == 0 {
            String::new()
        } else {
            format!("{} of {} at the limit", self.limited, self.times)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_step_includes_its_parallel_workers() {
        let time = |workers_cpu_us| StepTime {
            backend_user_us: Some(300),
            backend_system_us: Some(20),
            workers_cpu_us,
            ..StepTime::default()
        };
        let mut step = StepResult::new("scan".to_owned(), None);
        step.times = vec![time(Some(580)), time(Some(780))];
        assert_eq!(mean(&step, CPU), Some(1000.0));
        // As pg_stat_kcache counts them.
        step.times = vec![time(None)];
        assert_eq!(mean(&step, CPU), Some(320.0));
    }
}
