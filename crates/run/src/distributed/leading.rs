//! Rank 0's side of a distributed run: it orders the parts of the other ranks, starts all ranks together, and collects
//! the data of the record about each load generator.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{EngineError, Inbox, Peers, SharedEnd};
use results::{Host, RankClock};

use super::exchange::{Exchange, Run, State};
use super::message::Directive;
use super::order::Order;
use super::timing::sleep_until;
use crate::control::Control;

/// Interval at which waiting for other ranks checks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// Time for the other ranks to end a cancelled run.
const ENDING_LIMIT: Duration = Duration::from_secs(10);

/// A run on several ranks, led by this process.
pub(crate) struct Leading<'c> {
    exchange: Arc<Exchange>,
    control: &'c Control,
    number: u64,
    end: Arc<SharedEnd>,
    late: Duration,
}

/// The host and the clock of a load generator, for the record.
#[derive(Clone, Debug)]
pub struct RankAbout {
    /// Its host.
    pub host: Host,
    /// Its clock compared with that of rank 0; `None` for rank 0 itself.
    pub clock: Option<RankClock>,
}

impl<'c> Leading<'c> {
    /// Orders the parts of the other ranks, which prepare them at the same time as this process.
    ///
    /// # Errors
    /// The exchange has failed.
    pub(crate) fn begin(
        exchange: Arc<Exchange>,
        control: &'c Control,
        order: Order,
        planned: Option<Duration>,
    ) -> Result<Leading<'c>, EngineError> {
        exchange.check()?;
        let (number, end) = exchange.change(|state| {
            let number = state.begin(order);
            let run = state.run.as_mut();
            let end = run.map(|run| {
                run.planned = planned;
                Arc::clone(&run.end)
            });
            (number, end.unwrap_or_default())
        });
        Ok(Leading { exchange, control, number, end, late: Duration::ZERO })
    }

    /// The decisions about the end of the run, for the engine.
    pub(crate) fn end(&self) -> Arc<SharedEnd> {
        Arc::clone(&self.end)
    }

    /// Waits until the other ranks have ended the run; without an outcome, cancels it on them first.
    pub(crate) fn finish(self, has_outcome: bool) -> Vec<RankAbout> {
        if !has_outcome {
            self.exchange.change(|state| state.tell(Directive::Cancel { run: self.number }));
        }
        self.exchange.wait_until(ENDING_LIMIT, State::others_are_idle);
        let run = self.exchange.change(State::end_run);
        run.and_then(|run| abouts(run, self.late)).unwrap_or_default()
    }

    fn check(&self) -> Result<(), EngineError> {
        self.exchange.check()?;
        self.control.check().map_err(|_| EngineError::InterruptedBeforeStart)
    }
}

impl Peers for Leading<'_> {
    fn start(&mut self, inbox: Inbox) -> Result<Instant, EngineError> {
        loop {
            self.check()?;
            let state = self.exchange.state();
            let others = state.run.as_ref().map_or(&[][..], |run| &run.others);
            for (other, rank) in others.iter().zip(1..) {
                if let Some(reason) = &other.refusal {
                    return Err(EngineError::Rank { rank, reason: reason.as_str().into() });
                }
            }
            if others.iter().all(|other| other.host.is_some()) {
                break;
            }
            drop(self.exchange.wait(state, LOOK));
        }
        self.exchange.change(|state| {
            if let Some(run) = &mut state.run {
                run.inbox = Some(inbox);
            }
            state.tell(Directive::Start { run: self.number });
        });
        let start = self.exchange.await_start(self.number, || self.check())?;
        self.late = sleep_until(start);
        Ok(start)
    }
}

impl Exchange {
    /// # Errors
    /// The exchange has failed.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let state = self.state();
        let Some(failure) = &state.failure else { return Ok(()) };
        let rank = failure.ranks.first().copied().unwrap_or(0);
        Err(EngineError::Rank { rank, reason: failure.reason.as_str().into() })
    }

    /// The common start of a run on this rank's clock, once the ranks have agreed on it.
    pub(crate) fn await_start(
        &self,
        run: u64,
        check: impl Fn() -> Result<(), EngineError>,
    ) -> Result<Instant, EngineError> {
        loop {
            check()?;
            let state = self.state();
            let of_run = state.run.as_ref().filter(|known| known.number == run && !known.is_cancelled);
            let Some(of_run) = of_run else { return Err(EngineError::InterruptedBeforeStart) };
            if let Some((start, _)) = &of_run.start {
                return Ok(start.at);
            }
            drop(self.wait(state, LOOK));
        }
    }
}

/// Each rank of a run, from what it reported; `None` if one has not reported its host.
fn abouts(run: Run, late: Duration) -> Option<Vec<RankAbout>> {
    const NANOS_PER_MS: f64 = 1e6;
    const NANOS_PER_MICRO: f64 = 1e3;
    const MICROS_PER_SECOND: f64 = 1e6;
    let own = RankAbout { host: Host::detect(), clock: None };
    let offsets = run.start.map(|(_, offsets)| offsets).unwrap_or_default();
    let others = run.others.into_iter().zip(1..).map(|(other, rank): (_, usize)| {
        let clock = offsets.get(rank).and_then(|offset| {
            let wall = offset.wall?;
            Some(RankClock {
                offset_ms: wall.nanos as f64 / NANOS_PER_MS,
                offset_error_ms: wall.error_nanos as f64 / NANOS_PER_MS,
                start_skew_us: (other.late.as_secs_f64() - late.as_secs_f64()) * MICROS_PER_SECOND,
                start_skew_error_us: offset.monotonic.error_nanos as f64 / NANOS_PER_MICRO,
            })
        });
        Some(RankAbout { host: other.host?, clock })
    });
    std::iter::once(Some(own)).chain(others).collect()
}
