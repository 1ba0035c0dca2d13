//! The figures of one query set: durations of its queries, costs, answers, streams. A duration at its limit is known only
//! to be at least that, and counts so in means and totals. docs/queries.md has the definitions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use results::{AnswerCheck, BlockSources, StepBuffers, StepResult, StepTime, StepsRecord, StreamResult};

use crate::experiment::Repeated;
use crate::prose::escaped_line;

/// Executions that an interval needs.
const EXECUTIONS_MIN: usize = 3;

const US_PER_S: f64 = 1e6;
const S_PER_HOUR: f64 = 3_600.0;

/// A figure, or a bound of it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// Whether an execution at its limit is in it. A duration then is at least the value, a rate at most.
    pub(crate) is_bound: bool,
}

/// Durations of a query's executions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Durations {
    /// In µs; an execution at its limit counts with the limit.
    pub(crate) us: Repeated,
    pub(crate) min_us: f64,
    /// Executions at the limit.
    pub(crate) limited: usize,
}

/// Costs of a query: means of the executions that its duration is of. `None` if an execution lacks the figure.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(crate) struct Costs {
    pub(crate) blocks_read: Option<f64>,
    pub(crate) blocks_hit: Option<f64>,
    /// Blocks read that the system's cache had.
    pub(crate) blocks_from_system_cache: Option<f64>,
    /// Blocks read that came from disk.
    pub(crate) blocks_from_disk: Option<f64>,
    /// What disks delivered beyond that, in blocks.
    pub(crate) disk_excess_blocks: Option<f64>,
    pub(crate) temp_bytes: Option<f64>,
    pub(crate) backend_user_us: Option<f64>,
    pub(crate) backend_system_us: Option<f64>,
    pub(crate) workers_cpu_us: Option<f64>,
    pub(crate) wal_bytes: Option<f64>,
}

/// The answers of a query: numbers of rows and checksums, by stream, since streams may have parameters of their own.
pub(crate) type Answers = BTreeMap<Option<u32>, BTreeSet<(Option<u64>, Option<String>)>>;

/// A query, or a refresh function.
#[derive(Clone, Debug)]
pub(crate) struct QueryFigures {
    pub(crate) name: String,
    pub(crate) is_refresh: bool,
    /// The first execution in each stream, which may find cold caches.
    pub(crate) first: Option<Durations>,
    /// All later ones.
    pub(crate) later: Option<Durations>,
    pub(crate) executions: usize,
    pub(crate) limited: usize,
    pub(crate) failed: usize,
    /// The first error.
    pub(crate) error: Option<String>,
    pub(crate) answer: Option<AnswerCheck>,
    pub(crate) answers: Answers,
    pub(crate) costs: Costs,
    /// As EXPLAIN returned it.
    pub(crate) plan: Option<String>,
}

/// A query set.
#[derive(Clone, Debug)]
pub(crate) struct SetFigures<'a> {
    pub(crate) record: &'a StepsRecord,
    /// Queries in their order, then refresh functions.
    pub(crate) queries: Vec<QueryFigures>,
    /// The index of each name in `queries`.
    places: HashMap<String, usize>,
    /// From the start of the first stream to the end of the last one.
    pub(crate) elapsed_us: Option<f64>,
    /// The longest session: the sum of the measured times of its executions. The time between executions, in which
    /// pgmeter reads counters and hashes rows, is not in it.
    pub(crate) executing_us: Option<f64>,
    pub(crate) queries_per_hour: Option<Figure>,
    /// Of a single stream with refresh functions.
    pub(crate) power: Option<Figure>,
    /// Of several streams with refresh functions: queries per hour × scale.
    pub(crate) throughput: Option<Figure>,
}

impl Durations {
    fn of<'a>(step: &StepResult, times: impl Iterator<Item = &'a StepTime>) -> Option<Durations> {
        let times: Vec<&StepTime> = times.filter(|time| time.error.is_none()).collect();
        let values = (1..).zip(times.iter().map(|time| counted_us(step, time))).collect();
        let us = Repeated::of(values)?;
        let min_us = us.values.iter().map(|(_, us)| *us).fold(f64::INFINITY, f64::min);
        Some(Durations { us, min_us, limited: times.iter().filter(|time| time.limited).count() })
    }

    pub(crate) fn mean(&self) -> Figure {
        Figure { value: self.us.mean, is_bound: self.limited > 0 }
    }

    /// The 95 % interval of the mean; nothing of fewer than three executions, nor if one was cancelled.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        self.us.interval.filter(|_| self.has_interval())
    }

    pub(crate) fn has_interval(&self) -> bool {
        self.limited == 0 && self.us.values.len() >= EXECUTIONS_MIN
    }
}

/// An execution that was cancelled took at least its limit, whatever an experiment counts it as.
fn counted_us(step: &StepResult, time: &StepTime) -> f64 {
    match step.limit_us.filter(|_| time.limited) {
        Some(limit) => time.duration_us.min(limit) as f64,
        None => time.duration_us as f64,
    }
}

/// Whether an execution is the first one in its stream. The steps of an experiment are in none, nor are refresh functions,
/// whose executions are all of equal rank.
pub(crate) fn is_first(time: &StepTime) -> bool {
    time.stream.is_none() || time.repeat.is_none_or(|repeat| repeat <= 1)
}

impl Costs {
    fn of(times: &[&StepTime]) -> Costs {
        let mean = |of: fn(&StepTime) -> Option<f64>| {
            let known: Vec<f64> = times.iter().map(|time| of(time)).collect::<Option<_>>()?;
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        Costs {
            blocks_read: mean(|time| Some(time.buffers.read? as f64)),
            blocks_hit: mean(|time| Some(time.buffers.hit? as f64)),
            blocks_from_system_cache: mean(|time| sources(time).map(|found| found.system_cache)),
            blocks_from_disk: mean(|time| sources(time).map(|found| found.disk)),
            disk_excess_blocks: mean(|time| sources(time).map(|found| found.disk_excess)),
            temp_bytes: mean(|time| Some(time.temp_bytes? as f64)),
            backend_user_us: mean(|time| Some(time.backend_user_us? as f64)),
            backend_system_us: mean(|time| Some(time.backend_system_us? as f64)),
            workers_cpu_us: mean(|time| Some(time.workers_cpu_us? as f64)),
            wal_bytes: mean(|time| Some(time.wal_bytes? as f64)),
        }
    }
}

/// Where an execution found its blocks. One that accessed no block found none anywhere.
fn sources(time: &StepTime) -> Option<BlockSources> {
    let StepBuffers { hit, read, disk, .. } = &time.buffers;
    match (hit, read, disk) {
        (Some(0), Some(0), Some(disk)) => Some(BlockSources {
            shared_buffers: 0.0,
            system_cache: 0.0,
            disk: 0.0,
            disk_excess: *disk as f64,
        }),
        _ => time.buffers.sources(),
    }
}

impl QueryFigures {
    pub(crate) fn new(step: &StepResult, is_refresh: bool) -> QueryFigures {
        let first = Durations::of(step, step.times.iter().filter(|time| is_first(time)));
        let later = Durations::of(step, step.times.iter().filter(|time| !is_first(time)));
        let of_later = later.is_some();
        let succeeded = || step.times.iter().filter(|time| time.error.is_none());
        let measured: Vec<&StepTime> = succeeded().filter(|time| is_first(time) != of_later).collect();
        let mut answers = Answers::new();
        for time in succeeded().filter(|time| time.rows.is_some() || time.checksum.is_some()) {
            answers.entry(time.stream).or_default().insert((time.rows, time.checksum.clone()));
        }
        let error = step.times.iter().find_map(|time| time.error.as_ref());
        QueryFigures {
            name: escaped_line(&step.name),
            is_refresh,
            first,
            later,
            executions: step.times.len(),
            limited: step.limited(),
            failed: step.times.iter().filter(|time| time.error.is_some()).count(),
            error: error.map(|error| escaped_line(error.as_str())),
            answer: step.answer.clone(),
            answers,
            costs: Costs::of(&measured),
            plan: step.plan.as_ref().map(|plan| plan.as_str().to_owned()),
        }
    }

    /// The durations by which it is compared: of the later executions, or of the first ones where there are no others.
    pub(crate) fn durations(&self) -> Option<&Durations> {
        self.later.as_ref().or(self.first.as_ref())
    }

    /// The number of rows, if all executions returned as many.
    pub(crate) fn rows(&self) -> Option<u64> {
        let rows: BTreeSet<Option<u64>> = self.answers.values().flatten().map(|(rows, _)| *rows).collect();
        if rows.len() == 1 { rows.first().copied().flatten() } else { None }
    }

    /// The checksum, if all executions had the same.
    pub(crate) fn checksum(&self) -> Option<&str> {
        let sums: BTreeSet<Option<&str>> =
            self.answers.values().flatten().map(|(_, sum)| sum.as_deref()).collect();
        if sums.len() == 1 { sums.first().copied().flatten() } else { None }
    }

    /// Whether executions of one stream, which have the same parameters, returned different answers.
    pub(crate) fn varies(&self) -> bool {
        self.answers.values().any(|answers| answers.len() > 1)
    }
}

impl<'a> SetFigures<'a> {
    pub(crate) fn new(record: &'a StepsRecord) -> SetFigures<'a> {
        let has_refreshes = record.query_set.as_ref().is_some_and(|plan| plan.refreshes);
        // Refresh functions run in a session of their own, or between the queries of none of the streams.
        let is_of_no_stream =
            |step: &StepResult| !step.times.is_empty() && step.times.iter().all(|time| time.stream.is_none());
        let is_refresh = |step: &StepResult| has_refreshes && is_of_no_stream(step);
        let mut queries: Vec<QueryFigures> =
            record.steps.iter().map(|step| QueryFigures::new(step, is_refresh(step))).collect();
        queries.sort_by_key(|query| query.is_refresh);
        let elapsed_us = elapsed_us(&record.streams);
        let mut set = SetFigures {
            record,
            places: places(&queries),
            queries,
            elapsed_us,
            executing_us: executing_us(record),
            queries_per_hour: None,
            power: None,
            throughput: None,
        };
        set.queries_per_hour = set.queries_per_hour();
        let Some(plan) = record.query_set.as_ref().filter(|plan| plan.refreshes) else { return set };
        let scale = plan.scale.units();
        if plan.streams == 1 {
            set.power = set.power(scale);
        } else {
            let times_scale = |figure: Figure| Figure { value: figure.value * scale, ..figure };
            set.throughput = set.queries_per_hour.map(times_scale);
        }
        set
    }

    /// Without the refresh functions.
    pub(crate) fn pure_queries(&self) -> impl Iterator<Item = &QueryFigures> {
        self.queries.iter().filter(|query| !query.is_refresh)
    }

    pub(crate) fn query(&self, name: &str) -> Option<&QueryFigures> {
        self.places.get(name).map(|place| &self.queries[*place])
    }

    /// The later executions of a query, to replace their mean.
    pub(super) fn later_mut(&mut self, name: &str) -> Option<&mut Durations> {
        let place = *self.places.get(name)?;
        self.queries[place].later.as_mut()
    }

    /// With these queries alone, in this order.
    pub(super) fn only(&self, names: &[&str]) -> SetFigures<'a> {
        let queries: Vec<QueryFigures> = names.iter().filter_map(|name| self.query(name).cloned()).collect();
        let SetFigures { record, elapsed_us, executing_us, queries_per_hour, power, throughput, .. } = *self;
        let places = places(&queries);
        SetFigures { record, queries, places, elapsed_us, executing_us, queries_per_hour, power, throughput }
    }

    /// Whether any query was executed more than once in a stream.
    pub(crate) fn is_repeated(&self) -> bool {
        self.queries.iter().any(|query| query.later.is_some())
    }

    /// Executions that succeeded, and those cancelled at the limit, per hour of the longest session.
    fn queries_per_hour(&self) -> Option<Figure> {
        let executed: usize = self.pure_queries().map(|query| query.executions - query.failed).sum();
        let executing_s = self.executing_us.filter(|us| *us > 0.0)? / US_PER_S;
        let is_bound = self.pure_queries().any(|query| query.limited > 0);
        (executed > 0).then(|| Figure { value: executed as f64 * S_PER_HOUR / executing_s, is_bound })
    }

    /// 3600 × scale ÷ geometric mean of the first executions of all queries and refresh functions, in seconds. `None` if
    /// one of them failed or is missing.
    fn power(&self, scale: f64) -> Option<Figure> {
        let first = |query: &QueryFigures| {
            let first = query.first.as_ref().filter(|_| query.failed == 0)?;
            Some(Figure { value: first.us.mean / US_PER_S, is_bound: first.limited > 0 })
        };
        let seconds: Vec<Figure> = self.queries.iter().map(first).collect::<Option<_>>()?;
        let mean = geometric_mean(&seconds)?;
        Some(Figure { value: S_PER_HOUR * scale / mean.value, is_bound: mean.is_bound })
    }
}

fn places(queries: &[QueryFigures]) -> HashMap<String, usize> {
    // Of equal names, the first one counts.
    queries.iter().enumerate().rev().map(|(place, query)| (query.name.clone(), place)).collect()
}

fn elapsed_us(streams: &[StreamResult]) -> Option<f64> {
    let start = streams.iter().map(|stream| stream.started_us).min()?;
    let end = streams.iter().map(|stream| stream.started_us.saturating_add(stream.duration_us)).max()?;
    Some((end - start) as f64)
}

/// A single stream executes the refresh functions too; beside several streams, they have a session of their own. Failed
/// executions take time as well. `None` without executions.
fn executing_us(record: &StepsRecord) -> Option<f64> {
    let is_single = record.streams.len() == 1;
    let mut sessions: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for time in record.steps.iter().flat_map(|step| &step.times) {
        let sum = sessions.entry(time.stream.filter(|_| !is_single)).or_default();
        *sum = sum.saturating_add(time.measured_us);
    }
    Some(sessions.into_values().max()? as f64)
}

/// `None` without figures.
pub(crate) fn total(figures: &[Figure]) -> Option<Figure> {
    let value = figures.iter().map(|figure| figure.value).sum();
    (!figures.is_empty()).then(|| Figure { value, is_bound: figures.iter().any(|figure| figure.is_bound) })
}

/// `None` without figures, or if one of them is 0.
pub(crate) fn geometric_mean(figures: &[Figure]) -> Option<Figure> {
    if figures.is_empty() || figures.iter().any(|figure| figure.value <= 0.0) {
        return None;
    }
    let logarithms: f64 = figures.iter().map(|figure| figure.value.ln()).sum();
    let value = (logarithms / figures.len() as f64).exp();
    Some(Figure { value, is_bound: figures.iter().any(|figure| figure.is_bound) })
}
