//! The loads of a search on a real server: each is a run of its own, on connections of its own, from `Runner::new` like
//! any other.

use std::time::Duration;

use connect::{Stopwatch, Target};
use engine::{End, Grace, Limit, Outcome};
use results::{
    Environment, EventKind, LateGenerator, LimitedBy, LoadFigures, LoadWait, NearestLimit, Plan, Record,
    SearchGoal, SearchRecord, SearchResult, SearchTrial, UtcTime,
};
use run::{
    Circumstances, Control, Finished, RunError, RunRequest, RunSpec, Runner, StorePlaces, Surface, Vacuum,
    free_connections, provide_descriptors,
};

use super::loads::{Loads, MeasuredLoad, OpenLoad, counts, verdict};
use super::options::SearchOptions;
use crate::event::{Event, Listener};
use crate::seeds::load_seed;

/// Unmeasured load before each trial: backends fill their caches, and the first statements are prepared.
pub(crate) const WARMUP: Duration = Duration::from_millis(500);
/// Length of a closed loop, and the most of the budget that one takes.
const BURST_S: f64 = 2.0;
const BURST_SHARE: f64 = 0.04;
/// Connections of the server that are left to others: the observer's, control sessions and the user's own.
const CONNECTIONS_LEFT: u64 = 5;
/// Clients if the server does not tell the number of its connections.
const CLIENTS_DEFAULT_MAX: u64 = 64;
/// Transactions that are still queued at the end of a trial get so many limits to finish, within these bounds.
const GRACE_LIMITS: u32 = 2;
const GRACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// A queue that no goal limits.
const QUEUE_LIMIT: Duration = Duration::from_secs(1);
/// A load that does not end within this time after its planned end is ended.
const DEADLINE_MARGIN: Duration = Duration::from_secs(30);
/// A shorter load was ended early.
const WHOLE: f64 = 0.98;
/// Wait events that are kept of each load.
const WAITS_KEPT: usize = 8;

/// Facts about the search that its last load has.
#[derive(Clone)]
pub(crate) struct About {
    pub(crate) plan: Plan,
    pub(crate) environment: Environment,
    pub(crate) started_at: UtcTime,
}

/// A server and the load on it.
pub(crate) struct ServerLoads<'a> {
    spec: RunSpec,
    target: Target,
    goals: Vec<SearchGoal>,
    circumstances: Circumstances,
    listener: Listener<'a>,
    control: &'a Control,
    options: SearchOptions,
    clients_max: u32,
    /// The longest latency that a goal allows.
    limit: Duration,
    /// Number of started loads; each has its own random numbers.
    loads: u64,
    /// Time of loads that have ended, also of an earlier execution, and the one that runs.
    passed_s: f64,
    stopwatch: Option<Stopwatch>,
    overhead_s: f64,
    about: Option<About>,
    /// The load of an earlier execution, which this one continues.
    earlier: Option<Plan>,
}

impl<'a> ServerLoads<'a> {
    /// Connects, and asks the server for the number of its connections.
    pub(crate) fn new(
        spec: RunSpec,
        target: Target,
        options: &SearchOptions,
        goals: Vec<SearchGoal>,
        (places, circumstances): (&StorePlaces, &Circumstances),
        listener: Listener<'a>,
        control: &'a Control,
    ) -> Result<Self, RunError> {
        let mut target = target;
        // What is wrong with a load that has a rate is told before the bursts, which have none.
        let checked = RunSpec { rate_tps: Some(1.0), ..spec.clone() };
        drop(Runner::new(request(&target, checked))?);
        let mut session = run::connect(&mut target, circumstances.ask_password, control)?;
        let free = free_connections(&mut session);
        let most = free.map_or(CLIENTS_DEFAULT_MAX, |free| free.saturating_sub(CONNECTIONS_LEFT)).max(1);
        let limit_ns = goals.iter().filter_map(|goal| goal.goal.latency_limit_ns()).fold(0.0, f64::max);
        let limit = if limit_ns > 0.0 { Duration::from_secs_f64(limit_ns / 1e9) } else { QUEUE_LIMIT };
        Ok(Self {
            spec,
            target,
            goals,
            circumstances: Circumstances {
                records: Some(places.records().to_owned()),
                ..circumstances.clone()
            },
            listener,
            control,
            options: *options,
            clients_max: u32::try_from(most).unwrap_or(u32::MAX),
            limit,
            loads: 0,
            passed_s: 0.0,
            stopwatch: None,
            overhead_s: 0.0,
            about: None,
            earlier: None,
        })
    }

    /// Goes on after an earlier execution.
    pub(crate) fn resume(&mut self, earlier: &SearchRecord) {
        let SearchResult { elapsed_s, bursts, loads, confirmations, .. } = &earlier.search;
        let trials = loads.iter().map(|load| load.trials.len()).sum::<usize>();
        // More than there were: a load that failed and one that was repeated had random numbers too.
        self.loads = 4 * (bursts.len() + trials + confirmations.len()) as u64;
        self.passed_s = *elapsed_s;
        self.earlier = Some(earlier.plan.clone());
    }

    /// The largest number of clients that the server accepts.
    pub(crate) fn clients_max(&self) -> u32 {
        self.clients_max
    }

    /// The facts, once a load has ended.
    pub(crate) fn about(&self) -> Option<About> {
        self.about.clone()
    }

    /// Runs a load. Returns it with the indices of the goals' scripts, and when it began.
    fn run(&mut self, spec: RunSpec) -> Result<(Finished, Vec<Option<usize>>, f64), RunError> {
        let began_s = self.passed_s;
        self.stopwatch = Some(Stopwatch::start());
        let ran = self.run_timed(spec);
        self.passed_s = self.passed_s();
        self.stopwatch = None;
        let (finished, scripts) = ran?;
        self.overhead_s = (self.passed_s - began_s - finished.record.summary.duration_s).max(0.0);
        Ok((finished, scripts, began_s))
    }

    fn run_timed(&mut self, spec: RunSpec) -> Result<(Finished, Vec<Option<usize>>), RunError> {
        self.control.check()?;
        let seconds = match spec.limit {
            Limit::Duration(time) => time,
            Limit::TransactionsPerClient(_) => Duration::ZERO,
        };
        provide_descriptors(u64::from(spec.clients))
            .map_err(|too_few| too_few.for_what(&format!("{} clients", spec.clients)))?;
        let is_first = self.about.is_none();
        let spec = RunSpec {
            seed: Some(load_seed(self.options.seed, &mut self.loads)),
            warmup: WARMUP,
            // Once is enough.
            vacuum: if is_first { spec.vacuum } else { Vacuum::Nothing },
            ..spec
        };
        let circumstances = Circumstances {
            asks_settings: is_first,
            environment: self.about.as_ref().map(|about| about.environment.clone()),
            queue_limit: Some(self.limit),
            deadline: Some(WARMUP + seconds + self.grace() + DEADLINE_MARGIN),
            ..self.circumstances.clone()
        };
        let runner = Runner::new(request(&self.target, spec))?.under(circumstances);
        let scripts = runner.scripts_of_goals();
        let listener = self.listener;
        // The messages of the preparation are the same each time.
        let mut told = |event: run::Event<'_>| {
            if is_first {
                listener.tell(Event::Run(event));
            }
        };
        let prepared = runner.prepare(self.control, &mut told)?;
        if let Some(earlier) = &self.earlier {
            is_same_load(prepared.plan(), earlier)?;
        }
        let finished = prepared.run(self.control, &engine::no_tracer, &mut |_| ())?;
        check(&finished.outcome)?;
        let Record { plan, environment, started_at, .. } = &finished.record;
        let (environment, started_at) = match &self.about {
            Some(about) => (about.environment.clone(), about.started_at),
            None => (environment.clone(), *started_at),
        };
        self.about = Some(About { plan: plan.clone(), environment, started_at });
        Ok((finished, scripts))
    }

    fn grace(&self) -> Duration {
        (self.limit * GRACE_LIMITS).clamp(GRACE.0, GRACE.1)
    }
}

impl Loads for ServerLoads<'_> {
    fn burst(&mut self, clients: u32) -> Result<f64, RunError> {
        let seconds = BURST_S.min(BURST_SHARE * self.options.budget_s);
        let spec = RunSpec {
            clients,
            rate_tps: None,
            goals: Vec::new(),
            limit: Limit::Duration(Duration::from_secs_f64(seconds)),
            ..self.spec.clone()
        };
        let (finished, ..) = self.run(spec)?;
        if finished.record.everything_failed() {
            let first = finished.record.summary.errors.as_ref().and_then(|errors| errors.kinds.first());
            let first = first.map(|error| format!(": {}", error.message.as_str())).unwrap_or_default();
            return Err(RunError::Aborted(format!("every transaction of the first load failed{first}")));
        }
        Ok(finished.record.summary.tps)
    }

    fn open_loop(&mut self, load: OpenLoad) -> Result<MeasuredLoad, RunError> {
        let OpenLoad { rate_tps, seconds, clients } = load;
        let spec = RunSpec {
            clients,
            rate_tps: Some(rate_tps),
            limit: Limit::Duration(Duration::from_secs_f64(seconds)),
            grace: Grace::Fixed(self.grace()),
            ..self.spec.clone()
        };
        let (finished, scripts, start_s) = self.run(spec)?;
        let Finished { record, outcome, .. } = finished;
        let summary = outcome.summary;
        let duration_s = summary.duration.as_secs_f64();
        let is_ended_early = outcome.end == End::Complete && duration_s < WHOLE * seconds;
        let planned = if is_ended_early { rate_tps * seconds } else { 0.0 };
        let missing = (planned - summary.total.counts.scheduled as f64).max(0.0);
        let counts = counts(&summary, &self.goals, &scripts, missing);
        let quantile_us = |q| summary.total.response.quantile_ns(q).map(|ns| ns as f64 / 1e3);
        let figures = LoadFigures {
            rate_tps,
            verdict: verdict(&counts, &self.goals),
            goals: counts,
            achieved_tps: summary.tps(),
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            p999_us: quantile_us(0.999),
            nearest: NearestLimit::of(&record),
        };
        let late = LateGenerator::of(&record);
        let limited_by = match (record.summary.generator.as_ref().map(|it| it.verdict.limit), late) {
            // What takes the CPUs from pgmeter says nothing about its own limit.
            (_, Some(LateGenerator::Itself)) => LimitedBy::Generator,
            (Some(LimitedBy::Generator), Some(LateGenerator::Machine | LateGenerator::SharedCpus))
            | (None, _) => LimitedBy::Undecided,
            (Some(limit), _) => limit,
        };
        let trial =
            SearchTrial { figures, start_s, duration_s, is_ended_early, clients, limited_by, details: None };
        let response = summary.total.response;
        Ok(MeasuredLoad { trial, response, waits: waits(&record), events: events(&record), late })
    }

    fn passed_s(&self) -> f64 {
        self.passed_s + self.stopwatch.as_ref().map_or(0.0, |stopwatch| stopwatch.seconds())
    }

    fn overhead_s(&self) -> f64 {
        self.overhead_s
    }
}

/// Refuses to continue a search with another load.
fn is_same_load(plan: &Plan, earlier: &Plan) -> Result<(), RunError> {
    let scripts = |plan: &Plan| -> Vec<_> {
        plan.scripts.iter().map(|it| (it.name.clone(), it.text.clone(), it.weight)).collect()
    };
    let differs = [
        ("scripts", scripts(plan) == scripts(earlier)),
        ("connection", plan.connection == earlier.connection),
        ("variables", plan.variables == earlier.variables),
        ("protocol", plan.protocol == earlier.protocol),
    ];
    match differs.iter().find(|(_, is_same)| !is_same) {
        None => Ok(()),
        Some((what, _)) => Err(RunError::Usage(format!(
            "the search that was broken off had another load: its {what} differ; give the same command with --resume"
        ))),
    }
}

fn request(target: &Target, spec: RunSpec) -> RunRequest {
    RunRequest { surface: Surface::Flags, ..RunRequest::on(target.clone(), spec) }
}

/// Refuses a load that is none: it was stopped, or clients were aborted. A load with unfinished transactions counts.
fn check(outcome: &Outcome) -> Result<(), RunError> {
    match (&outcome.end, outcome.aborted.first()) {
        (End::Interrupted, _) => Err(RunError::Interrupted("interrupted".into())),
        (_, Some(first)) => {
            Err(RunError::Aborted(run::with_pooler_remedy(format!("a client was aborted: {first}"))))
        }
        (_, None) => Ok(()),
    }
}

fn waits(record: &Record) -> Vec<LoadWait> {
    let waits = record.observation.as_ref().and_then(|observation| observation.waits.as_ref());
    let top = waits.iter().flat_map(|waits| &waits.top).take(WAITS_KEPT);
    top.map(|wait| LoadWait {
        event_type: wait.event_type.clone(),
        event: wait.event.clone(),
        share: wait.share,
    })
    .collect()
}

/// Checkpoints and autovacuums that were at work in the measured time.
fn events(record: &Record) -> Option<[u32; 2]> {
    let observation = record.observation.as_ref()?;
    let of = |kind: EventKind| {
        let inside = observation.events.iter().filter(|event| {
            event.kind == kind
                && event.start_s < record.summary.duration_s
                && event.end_s.is_none_or(|end_s| end_s > 0.0)
        });
        u32::try_from(inside.count()).unwrap_or(u32::MAX)
    };
    Some([of(EventKind::Checkpoint), of(EventKind::Autovacuum)])
}
