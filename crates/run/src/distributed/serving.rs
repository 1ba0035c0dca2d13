//! The side of the ranks from 1 on: each waits for orders of rank 0, prepares and runs its part of every run, and sends
//! the statistics of each second and its outcome. It prints nothing and stores nothing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use engine::{EngineError, Inbox, Part, Peers, Progress, RankMessage, StopRequest};
use results::Host;

use super::exchange::{END_BY_RANK_0, Exchange};
use super::message::Report;
use super::order::Order;
use super::timing::sleep_until;
use crate::control::Control;
use crate::descriptors::provide_descriptors;
use crate::error::RunError;

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
    let mut plan = order.plan(control)?;
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
