//! Has the server observed while a run goes on. The observing is done by `observe`; here it is decided what it is told,
//! and a run that needs every connection gets the observer's too.

use std::cell::Cell;
use std::time::Duration;

use connect::{Address, Target};
use engine::{EngineError, Outcome, Plan, Progress, StopRequest, WorkerIntro};
use observe::{BackendFilter, Observer, ObserverOptions, Ran, RecentWaits, Script};
use results::{Missing, Observation, ObserveLevel, Record};
use script::{CommandKind, Program};

use crate::plan_record::fresh_seed;
use crate::runner::{Runner, Tracers};

/// How often a run is begun again after the observer has given its connection away, and what lies between.
const TRIES_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// An observer, if one was asked for.
pub(crate) struct Observing {
    observer: Option<Observer>,
    level: ObserveLevel,
    /// Why there is none although one was asked for.
    given_way: bool,
}

impl Observing {
    /// Starts it, and gives the run's sessions a name by which it knows them.
    pub(crate) fn start(runner: &mut Runner, places: &[&Address]) -> Observing {
        let level = runner.spec.observe;
        let place = places.first().filter(|_| level != ObserveLevel::Off);
        let observer = place.map(|place| {
            let filter = backend_filter(&mut runner.target);
            Observer::start(ObserverOptions {
                level,
                target: runner.target.single(place),
                filter,
                scripts: runner
                    .scripts
                    .iter()
                    .map(|(text, program)| script(runner, program, text.weight))
                    .collect(),
                reconnects: runner.spec.reconnect,
                elsewhere: elsewhere(runner, places),
            })
        });
        Observing { observer, level, given_way: false }
    }

    /// What the server was doing in the newest second, at any time of the run.
    pub(crate) fn recent_waits(&self) -> RecentWaits {
        self.observer.as_ref().map(Observer::recent_waits).unwrap_or_default()
    }

    /// Runs the plan, observed.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        stop: StopRequest<'_>,
        second: &mut dyn FnMut(&Progress<'_>),
        tracers: Tracers<'_, '_>,
    ) -> Result<Outcome, EngineError> {
        let begun = Cell::new(false);
        let introduce = |intro: WorkerIntro| {
            if !begun.replace(true)
                && let Some(observer) = &self.observer
            {
                observer.measure_from(Observer::now() + plan.warmup);
            }
            tracers(intro)
        };
        let result = engine::run(plan, stop, second, &introduce);
        match (result, self.observer.take()) {
            // Nothing has begun yet, and the connection that was missing may have been the observer's.
            (Err(error), Some(observer)) if !begun.get() && error.is_too_many_connections() => {
                observer.disconnect();
                self.given_way = true;
                let mut run = || engine::run(plan, stop, second, tracers);
                // The server needs a moment until it has closed what was opened in vain.
                for _ in 1..TRIES_MAX {
                    std::thread::sleep(PAUSE);
                    match run() {
                        Err(error) if error.is_too_many_connections() => {}
                        result => return result,
                    }
                }
                run()
            }
            (result, observer) => {
                self.observer = observer;
                result
            }
        }
    }

    /// What was seen, once the run is over.
    pub(crate) fn finish(self, outcome: &Outcome) -> Option<Observation> {
        let counts = &outcome.summary.total.counts;
        let ran = Ran {
            measured_s: outcome.summary.duration.as_secs_f64(),
            transactions: counts.succeeded + counts.failed,
            warmup_transactions: outcome.warmup_transactions,
        };
        match self.observer {
            Some(observer) => Some(observer.finish(ran)),
            None if self.given_way => Some(observe::nothing(
                self.level,
                vec![Missing::new(
                    "everything",
                    "the server had no connection left for observing; raise max_connections to have it",
                )],
            )),
            None => None,
        }
    }
}

/// What would bound the throughput, which the whole record says.
pub(crate) fn add_ceilings(record: &mut Record) {
    let ceilings = observe::ceilings(record);
    if let Some(observation) = &mut record.observation {
        observation.ceilings = ceilings;
    }
}

/// The mark of the run's sessions; a name of the user's own stays.
fn backend_filter(target: &mut Target) -> BackendFilter {
    match &target.application_name {
        Some(name) if name != connect::DEFAULT_APPLICATION_NAME => BackendFilter::Named {
            application_name: name.clone(),
            user: target.user.clone(),
            database: target.database.clone(),
        },
        _ => {
            let mark = format!("pgmeter {:016x}", fresh_seed());
            target.application_name = Some(mark.clone());
            BackendFilter::Marked(mark)
        }
    }
}

/// A script as the observer needs it: nothing of one that runs elsewhere.
fn script(runner: &Runner, program: &Program, weight: u32) -> Script {
    if runner.target_of(program) != Some(0) {
        return Script::default();
    }
    let text = |kind: &CommandKind| match kind {
        CommandKind::Sql(sql) => Some(String::from_utf8_lossy(sql.text_as_written()).into_owned()),
        _ => None,
    };
    Script { weight, commands: program.commands().iter().map(|command| text(&command.kind)).collect() }
}

/// What of the run is not where the observer looks.
fn elsewhere(runner: &Runner, places: &[&Address]) -> Vec<Missing> {
    let further = runner.targets.iter().map(|(name, _)| {
        Missing::new(
            &format!("target {name}"),
            "only the server of the connection itself is observed, not further targets",
        )
    });
    let spread = (places.len() > 1).then(|| {
        let why = format!(
            "connections are spread over {} servers, of which only the first is observed",
            places.len()
        );
        Missing::new("other hosts", why)
    });
    further.chain(spread).collect()
}
