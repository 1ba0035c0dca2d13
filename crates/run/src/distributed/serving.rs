//! The side of the ranks from 1 on: each waits for orders of rank 0, prepares and runs its part of every run, and sends
//! the statistics of each second and its outcome. It prints nothing and stores nothing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use connect::{Environment, Overrides, Target};
use engine::{EngineError, Inbox, Part, Peers, Plan, Progress, RankMessage, StopRequest};
use results::Host;

use super::exchange::{END_BY_RANK_0, Exchange};
use super::message::Report;
use super::order::Order;
use super::timing::sleep_until;
use crate::control::Control;
use crate::error::RunError;
use crate::plan::descriptors::provide_descriptors;
use crate::plan::runner::Runner;
use crate::spec::RunSpec;
use crate::spec::circumstances::Circumstances;
use crate::spec::request::RunRequest;
use crate::spec::scripts::Scripts;

/// Interval at which waiting for orders looks at the state.
const LOOK: Duration = Duration::from_millis(100);

/// Executes the orders of rank 0 until the job is over.
pub(super) fn serve(exchange: &Arc<Exchange>, control: &Control) -> Result<(), RunError> {
    while let Some((run, order)) = next_order(exchange)? {
        if exchange.rank >= order.machines() {
            continue;
        }
        let outcome = part(exchange, run, order, control);
        exchange.change(|state| {
            if let Err(error) = outcome {
                let message = Box::new(RankMessage::Done(Err(error.to_string())));
                state.report(Report::Of { run, message });
            }
            state.report(Report::Idle { run });
        });
    }
    Ok(())
}

/// `None`: the job is over. An interruption ends the rank's part of the run; rank 0 reports it and ends the job.
fn next_order(exchange: &Exchange) -> Result<Option<(u64, Order)>, RunError> {
    loop {
        let mut state = exchange.state();
        if let Some(failure) = state.failure.clone() {
            drop(state);
            if failure.leaves_rank_0() {
                thread::sleep(END_BY_RANK_0);
            }
            return Err(RunError::Aborted(failure.reason));
        }
        if let Some(order) = state.take_order() {
            return Ok(Some(order));
        }
        if state.is_over() {
            return Ok(None);
        }
        drop(exchange.wait(state, LOOK));
    }
}

/// Runs this rank's part of a run. An error is that of the preparation or of the engine.
fn part(exchange: &Arc<Exchange>, run: u64, order: Order, control: &Control) -> Result<(), RunError> {
    let machines = order.machines();
    let mut plan = plan(order, control)?;
    plan.part = Part { rank: exchange.rank, ranks: machines };
    let connections = plan.part.clients(plan.clients).saturating_mul(plan.targets.len());
    let what = || format!("-c {}", plan.clients);
    provide_descriptors(connections as u64).map_err(|too_few| too_few.for_what(&what()))?;
    let end = exchange.state().run.as_ref().map(|run| Arc::clone(&run.end)).unwrap_or_default();
    let stop = StopRequest { stop: control.stop(), time_is_up: None, shared: Some(&end), gate: None };
    let send = |message: RankMessage| {
        exchange.change(|state| state.report(Report::Of { run, message: Box::new(message) }));
    };
    let mut second = |progress: &Progress<'_>| send(RankMessage::interval(progress));
    let mut peers = Serving { exchange, run, control };
    let outcome = engine::run_rank(&plan, stop, &mut second, &engine::no_tracer, &mut peers)?;
    send(RankMessage::Done(Ok(Box::new(outcome))));
    Ok(())
}

/// The engine's plan on this rank. Its connections have the passwords of this rank's environment.
///
/// # Errors
/// The server is unreachable from this host, or a file of the scripts differs from that of rank 0.
fn plan(order: Order, control: &Control) -> Result<Plan, RunError> {
    let environment = Environment::of_process();
    let resolve = |connection: &str| connect::resolve(Some(connection), &Overrides::default(), &environment);
    let target = Target { application_name: order.application_name, ..resolve(&order.connection)? };
    let targets = order.targets.iter().map(|(name, connection)| Ok((name.clone(), resolve(connection)?)));
    let targets = targets.collect::<Result<_, RunError>>()?;
    let mut scripts = Scripts::in_pgmeters_dialect();
    order
        .scripts
        .into_iter()
        .try_for_each(|script| scripts.add(script.into_text()))
        .map_err(RunError::Script)?;
    scripts.compare_files(&order.files)?;
    let circumstances = Circumstances { asks_settings: false, ..Circumstances::default() };
    // They are in the order of rank 0, which has resolved them.
    let spec = RunSpec { targets: Vec::new(), ..order.spec };
    let request = RunRequest {
        others: targets,
        scripts: Some(scripts),
        in_turns: true,
        ..RunRequest::on(target, spec)
    };
    Ok(Runner::new(request)?.under(circumstances).load(control, &mut |_| ())?.plan)
}

/// The start of this rank's part, together with the other ranks.
struct Serving<'a> {
    exchange: &'a Exchange,
    run: u64,
    control: &'a Control,
}

impl Peers for Serving<'_> {
    fn start(&mut self, _: Inbox) -> Result<Instant, EngineError> {
        let run = self.run;
        let ready = Report::Ready { run, host: Box::new(Host::detect()) };
        self.exchange.change(|state| state.report(ready));
        let start = self.exchange.await_start(run, || {
            self.exchange.check()?;
            self.control.check().map_err(|_| EngineError::InterruptedBeforeStart)
        })?;
        let late_ns = u64::try_from(sleep_until(start).as_nanos()).unwrap_or(u64::MAX);
        self.exchange.change(|state| state.report(Report::Began { run, late_ns }));
        Ok(start)
    }
}
