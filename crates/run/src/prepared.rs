//! A run that is ready to start, and its record. `engine` measures; this module collects the intervals and builds the
//! record. `preparation` prepares the run.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use connect::Target;
use engine::{Compatibility, EngineError, Outcome, Progress, WorkerIntro};
use observe::{Observer, PoolerReadings, PoolerWatch};
use results::{
    ActionResult, Annotation, Calibration, Environment, Interval, LoadPauses, LoadStop, Measured, Outages,
    ProcessorTimes, Record, SafeText, Status, UtcTime, Warning,
};
use server::ServerError;
use stats::{QueueWatch, Timestamp, Until};
use workload::WorkloadError;

use crate::check::goal_meters::GoalMeters;
use crate::control::Control;
use crate::distributed::{Load, RankAbout};
use crate::error::RunError;
use crate::event::Event;
use crate::execution::actions::Actions;
use crate::execution::checks::{Checked, Checks, Rules};
use crate::execution::ending::{after_run, checks_failed, explain, overload, status, uncancelled};
use crate::execution::idle_transactions::IdleSessions;
use crate::execution::load_watch::{Watch, Watching};
use crate::execution::observing::{self, Observing};
use crate::execution::pauses::PauseDetector;
use crate::execution::verification::{self, Planned, Verifying};
use crate::record::environment;
use crate::record::generator;
use crate::record::plan_record;
use crate::record::transaction_errors;
use crate::spec::ActionSpec;
use crate::spec::circumstances::{Circumstances, Tracers};
use crate::spec::pooler::PoolerInUse;
use crate::spec::site::FaultSite;

/// Pauses that the warning about them lists.
const PAUSES_WARNED_MAX: usize = 3;

/// A run that is ready to start.
pub struct Prepared {
    pub(crate) load: Load,
    pub(crate) plan_record: results::Plan,
    pub(crate) environment: Environment,
    pub(crate) tables: results::Tables,
    pub(crate) relations: Option<results::Relations>,
    pub(crate) settings_error: Option<ServerError>,
    pub(crate) observing: Observing,
    pub(crate) until: Option<Until>,
    pub(crate) goals: GoalMeters,
    pub(crate) queue: Option<QueueWatch>,
    pub(crate) actions: PlannedActions,
    pub(crate) circumstances: Circumstances,
    pub(crate) pooler: Option<PoolerInUse>,
    pub(crate) watch: Option<Watch>,
    pub(crate) checks: Option<Checks>,
    pub(crate) rules: Option<Rules>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) verification: Option<Planned>,
    pub(crate) started_at: UtcTime,
}

/// The actions of a run, their server, and the tables of the scripts, whose state is recorded.
pub(crate) struct PlannedActions {
    pub(crate) specs: Vec<ActionSpec>,
    pub(crate) target: Target,
    pub(crate) tables: Vec<String>,
    pub(crate) site: Option<Arc<dyn FaultSite>>,
}

/// A run that has ended.
pub struct Finished {
    /// The record of the run.
    pub record: Record,
    /// Details of the engine's outcome that the record lacks: each aborted client, and the reason for the end.
    pub outcome: Outcome,
    /// Error of the verification or of the checks, if they were requested and failed.
    pub checked: Result<(), RunError>,
}

impl Prepared {
    /// The plan as it will be recorded.
    pub fn plan(&self) -> &results::Plan {
        &self.plan_record
    }

    /// The environment as it will be recorded.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The label and the note as they will be recorded.
    pub fn annotation(&self) -> &Annotation {
        &self.circumstances.annotation
    }

    /// The start time as it will be recorded.
    pub fn started_at(&self) -> UtcTime {
        self.started_at
    }

    /// Runs the load under observation and builds its record.
    ///
    /// # Errors
    /// The clients cannot connect, or the user asked to stop before the first transaction.
    // Long because: the steps of a run in their order.
    pub fn run(
        mut self,
        control: &Control,
        tracers: Tracers<'_, '_>,
        events: &mut dyn FnMut(Event<'_>),
    ) -> Result<Finished, RunError> {
        let verifying = self.begin_verification(control)?;
        let idle = self.hold_transactions()?;
        let processors = ProcessorTimes::now();
        let recent_waits = self.observing.recent_waits();
        let mut intervals = Intervals::default();
        let (until, goals, queue) = (&mut self.until, &mut self.goals, &mut self.queue);
        let mut second = |progress: &Progress<'_>| {
            if !progress.warmup {
                intervals.add(progress);
            }
            events(Event::Second { progress, waits: &recent_waits.waits() });
            if !progress.warmup {
                let is_precise = until.as_mut().is_some_and(|until| until.take(progress.interval));
                let is_missed = goals.take(progress.interval);
                let is_overloaded = queue.as_mut().is_some_and(|queue| queue.take(progress.interval));
                progress.enough.set(is_precise || is_missed || is_overloaded);
            }
        };
        // The drop-in does not catch SIGCONT, as pgbench does not.
        let pauses = (self.circumstances.compatibility == Compatibility::Pgmeter).then(PauseDetector::begin);
        let output = self.circumstances.output.map(|begin| begin());
        let PlannedActions { specs, target, tables, site } = &self.actions;
        let mut actions = Actions::start(specs, target, tables, site.clone())?;
        let watching = self.watch.take().map(|watch| Watching::start(watch, target)).transpose()?;
        let watch = self.pooler.as_ref().map(PoolerInUse::watch);
        let (is_begun, warmup) = (Cell::new(false), self.load.plan.warmup);
        let no_journal = Cell::new(None);
        let introduce = |intro: WorkerIntro| {
            if !is_begun.replace(true) {
                let origin = Observer::now() + warmup;
                actions.measure_from(origin);
                watching.iter().for_each(|watching| watching.measure_from(origin));
                watch.iter().for_each(|watch| watch.measure_from(origin));
            }
            match &verifying {
                None => tracers(intro),
                Some(verifying) => verifying.tracer(intro, tracers).unwrap_or_else(|error| {
                    control.stop().store(true, Ordering::SeqCst);
                    no_journal.set(Some(error));
                    Box::new(())
                }),
            }
        };
        let gate = watching.as_ref().map(Watching::gate);
        let run = self.observing.run(&self.load, control, gate, &mut second, &introduce);
        let run = no_journal.take().map_or(Ok(()), Err).map_err(RunError::from).and(
            run.map_err(|error| explain(error, self.load.plan.clients, self.circumstances.compatibility)),
        );
        actions.close();
        let idle = idle.and_then(IdleSessions::finish);
        let watched = watching.map_or((None, None), Watching::finish);
        let readings = watch.map(PoolerWatch::finish);
        let (outcome, ranks) = match run {
            Ok(ended) => ended,
            Err(RunError::Engine(error @ EngineError::Rank { .. })) if is_begun.get() => {
                return Err(RunError::Aborted(error.to_string()));
            }
            Err(error) => {
                // After the first transaction, the table and the journal are evidence.
                let unused = verifying.filter(|_| !is_begun.get());
                unused.into_iter().for_each(|verifying| verifying.discard(control));
                return Err(error);
            }
        };
        let lost = output.map(|end| end()).filter(|&messages| messages > 0);
        let disturbances =
            [pauses.and_then(PauseDetector::end), lost.map(|messages| Warning::MessagesLost { messages })];
        environment::look_back(&mut self.environment, processors);
        let (checks, rules) = (self.checks.take(), self.rules.take());
        let pooler = self.pooler.clone().zip(readings);
        let mut record = self.record((&outcome, ranks), intervals, disturbances, (actions, watched), pooler);
        record.summary.population = plan_record::population(&record.plan, &outcome, idle);
        let verified = verifying.map_or(Ok(()), |verifying| {
            verification::verify_record(&mut record, &verifying, control, events)
        });
        let checks = checks.filter(|_| matches!(verified, Ok(()) | Err(RunError::WorkLost { .. })));
        let Checked { checked, findings } =
            checks.map_or_else(Checked::default, |checks| checks.run(control, events));
        if let Err(RunError::Workload(WorkloadError::ChecksFailed { workload, failed })) = &checked {
            record.warnings.push(checks_failed(workload, failed));
        }
        if let Some(rules) = &rules {
            record.judge(rules.rules(), &outcome.summary, findings.as_ref());
        }
        Ok(Finished { record, outcome, checked: verified.and(checked).map_err(after_run) })
    }

    /// Creates what the verification needs, if there is one.
    fn begin_verification(&mut self, control: &Control) -> Result<Option<Verifying>, RunError> {
        let Some(planned) = self.verification.take() else { return Ok(None) };
        let (verifying, tokens) = planned.begin(&self.started_at.to_string(), control)?;
        self.load.plan.tokens = Some(tokens);
        Ok(Some(verifying))
    }

    /// Starts the sessions that hold a transaction open, if the plan has some.
    fn hold_transactions(&self) -> Result<Option<IdleSessions>, RunError> {
        let results::Plan { population, clients, seed, .. } = &self.plan_record;
        IdleSessions::start(
            population.idle_in_transaction,
            population.idle_transactions(*clients),
            &self.actions.target,
            *seed,
        )
    }

    fn record(
        self,
        (outcome, ranks): (&Outcome, Vec<RankAbout>),
        intervals: Intervals,
        disturbances: [Option<Warning>; 2],
        (actions, watched): (Actions, (Option<LoadPauses>, Option<LoadStop>)),
        pooler: Option<(PoolerInUse, PoolerReadings)>,
    ) -> Record {
        let Self { load, plan_record, environment, tables, observing, circumstances, .. } = self;
        let plan = &load.plan;
        let observation = observing.finish(outcome);
        // After the observer's last reading, because the state of the tables is read a second later.
        let (actions, of_actions) = actions.finish();
        let loop_name = generator::event_loop(&outcome.event_loop).name;
        let kept = |dir: PathBuf| Calibration::kept(&dir, &environment.host, loop_name);
        let calibration = circumstances.calibrations.and_then(kept);
        let (intervals, origin) = (intervals.0, intervals.1);
        let rank_measures = outcome.ranks.iter().zip(ranks);
        let rank_measures = rank_measures
            .map(|(rank, about)| generator::rank(rank, about, plan, circumstances.relay_delay))
            .collect();
        let measured = Measured {
            summary: &outcome.summary,
            gaps: Some(&outcome.gaps),
            intervals,
            elapsed: outcome.elapsed.saturating_sub(plan.warmup),
            commands: plan_record::commands(plan, &outcome.commands),
            connecting: plan.reconnect.then(|| plan_record::connecting(&outcome.reconnects)),
            client_cpu: Some(outcome.client_cpu),
            connection_time: Some(outcome.connect_time),
            introspection: Some(generator::of(
                outcome,
                plan,
                circumstances.relay_delay,
                calibration.as_ref(),
            )),
            ranks: rank_measures,
        };
        let errors = transaction_errors::of(plan, &outcome.errors);
        let status = status(outcome, plan);
        let workers = plan_record.workers;
        let mut record = Record::new(self.started_at, status, plan_record, environment, tables, measured);
        record.annotation = circumstances.annotation;
        record_watch(&mut record, watched);
        record.relations = self.relations;
        record.summary.errors = Some(errors);
        let outages = outcome.outages.as_ref().filter(|outages| !outages.is_empty());
        record.summary.outages =
            outages.zip(origin).map(|(outages, origin)| Outages::new(outages, origin, &record.intervals));
        let mut goals = self.goals;
        goals.close(Duration::from_secs_f64(record.summary.duration_s));
        (record.summary.goals, record.summary.goal_stop) = (goals.evaluate(), goals.stop());
        record.summary.until_reached = self.until.map(|until| until.is_reached());
        let counts = record.summary.counts;
        record.summary.pooler =
            pooler.map(|(pooler, readings)| pooler.seen(readings, counts.succeeded + counts.failed));
        record.observation = observation;
        let of_rank = outcome.ranks.first().map_or(outcome.workers, |rank| rank.workers);
        record.plan.workers = u32::try_from(of_rank).unwrap_or(workers);
        let unread =
            self.settings_error.map(|error| Warning::SettingsUnread { error: error.to_string().into() });
        let warnings = [unread, overload(outcome, plan.clients), uncancelled(outcome)];
        record.warnings.extend(actions.iter().filter_map(ActionResult::warning));
        record.summary.actions = actions;
        record.warnings.extend(self.warnings);
        record.warnings.extend(warnings.into_iter().flatten().chain(of_actions));
        record.warnings.extend(disturbances.into_iter().flatten());
        record.warn();
        observing::add_ceilings(&mut record);
        record
    }
}

/// Adds the pauses of the load, and its end by a condition.
fn record_watch(record: &mut Record, (pauses, stop): (Option<LoadPauses>, Option<LoadStop>)) {
    record.warnings.extend(pauses.as_ref().map(|LoadPauses { count, total_s, first }| Warning::LoadPaused {
        pauses: *count,
        total_s: *total_s,
        first: first.iter().take(PAUSES_WARNED_MAX).cloned().collect(),
    }));
    if let (Some(stop), Status::Complete) = (&stop, &record.status) {
        record.status = Status::Failed { reason: SafeText::from(stop.to_string()) };
    }
    record.summary.watch_stop = stop;
    pauses.into_iter().for_each(|pauses| record.summary.add_pauses(pauses));
}

#[derive(Default)]
struct Intervals(Vec<Interval>, Option<Timestamp>);

impl Intervals {
    fn add(&mut self, progress: &Progress<'_>) {
        let origin = *self.1.get_or_insert(progress.interval.start);
        Interval::append(&mut self.0, progress.interval, origin);
    }
}
