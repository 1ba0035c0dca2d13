//! Observation of the server during a run, done by `observe`. This module starts the observer, chooses its options,
//! and gives its connection to the load if the server has too few.

use std::cell::Cell;
use std::time::Duration;

use connect::{Address, Target};
use engine::{EngineError, LoadGate, Outcome, Progress, StopRequest, WorkerIntro};
use observe::{BackendFilter, Observer, ObserverOptions, Ran, RecentWaits, Script};
use results::{Missing, Observation, ObserveLevel, Record};
use script::{CommandKind, Program};

use crate::control::Control;
use crate::distributed::{Load, RankAbout};
use crate::plan::runner::Runner;
use crate::spec::circumstances::Tracers;
use crate::spec::fresh_seed;

/// How often and at which interval a run is started again after the observer has closed its connection.
const TRIES_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// The observer, if observation is enabled.
pub(crate) struct Observing {
    observer: Option<Observer>,
    level: ObserveLevel,
    /// Why the observer has given its connection to the load.
    given_way: Option<String>,
}

impl Observing {
    /// Starts the observer, and sets an application name by which it recognizes the run's sessions.
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
        Observing { observer, level, given_way: None }
    }

    /// The server's activity in the latest second, while the run lasts.
    pub(crate) fn recent_waits(&self) -> RecentWaits {
        self.observer.as_ref().map(Observer::recent_waits).unwrap_or_default()
    }

    /// Closes the observer's connection before the load, which needs it; false if it has none.
    pub(crate) fn give_way(&mut self, why: &str) -> bool {
        let Some(observer) = self.observer.take() else { return false };
        observer.disconnect();
        self.given_way = Some(why.to_owned());
        true
    }

    /// Runs the load under observation.
    pub(crate) fn run(
        &mut self,
        load: &Load,
        control: &Control,
        gate: Option<&LoadGate>,
        second: &mut dyn FnMut(&Progress<'_>),
        tracers: Tracers<'_, '_>,
    ) -> Result<(Outcome, Vec<RankAbout>), EngineError> {
        let begun = Cell::new(false);
        let introduce = |intro: WorkerIntro| {
            if !begun.replace(true)
                && let Some(observer) = &self.observer
            {
                observer.measure_from(Observer::now() + load.plan.warmup);
            }
            tracers(intro)
        };
        let stop = StopRequest { gate, ..control.stop_request() };
        let result = load.run(control, stop, second, &introduce);
        match (result, self.observer.take()) {
            // No load has started yet, and the observer may have taken the missing connection.
            (Err(error), Some(observer)) if !begun.get() && error.is_too_many_connections() => {
                observer.disconnect();
                self.given_way = error.too_many_connections().map(|message| {
                    let limit = connect::connection_limit(message);
                    format!(
                        "no connection was left for observing, because {limit} was reached ({message}); raise it by 1 or more"
                    )
                });
                let mut run = || load.run(control, stop, second, tracers);
                // The server takes a moment to close the sessions of the failed attempt.
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

    /// The observations, after the run.
    pub(crate) fn finish(self, outcome: &Outcome) -> Option<Observation> {
        let counts = &outcome.summary.total.counts;
        let ran = Ran {
            measured_s: (outcome.summary.duration + outcome.summary.tail).as_secs_f64(),
            transactions: counts.succeeded + counts.failed,
            warmup_transactions: outcome.warmup_transactions,
        };
        match (self.observer, self.given_way) {
            (Some(observer), _) => Some(observer.finish(ran)),
            (None, Some(why)) => Some(observe::nothing(self.level, vec![Missing::new("everything", why)])),
            (None, None) => None,
        }
    }
}

/// Adds the limits of throughput, calculated from the whole record and its verdict.
pub(crate) fn add_ceilings(record: &mut Record) {
    let (ceilings, missing) = observe::ceilings(record);
    if let Some(observation) = &mut record.observation {
        observation.ceilings = ceilings;
        observation.missing.extend(missing);
    }
}

/// Application name of the run's sessions, unless the user has set one.
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

/// A script for the observer; `None` for a script on another target.
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

/// Names the parts of the run that the observer cannot see.
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
        Missing::new(Missing::OTHER_HOSTS, why)
    });
    further.chain(spread).collect()
}
