//! A load that is ready to run, in this process alone or on several ranks, and the number of ranks that a run uses.
//! `preparation` makes it; `prepared` and comparisons run it.

use std::time::Duration;

use engine::{Limit, Outcome, Plan, Progress, StopRequest};

use super::exchange::State;
use super::leading::{Leading, RankAbout};
use super::order::Order;
use crate::control::Control;
use crate::error::RunError;
use crate::spec::RunSpec;
use crate::spec::circumstances::Tracers;

/// Time for all ranks to say who they are; the exchange gives up earlier.
const INTRODUCTION_LIMIT: Duration = Duration::from_secs(90);

/// A load that is ready to run: in this process alone, or on several ranks.
pub struct Load {
    /// The engine's plan of this process. What a caller changes between runs holds for all ranks: limit, warm-up, seed
    /// and application name.
    pub plan: Plan,
    order: Option<Order>,
}

impl Load {
    pub(crate) fn new(plan: Plan, order: Option<Order>) -> Load {
        Load { plan, order }
    }

    /// Runs the load. The observer receives the statistics of each second, over all ranks.
    ///
    /// # Errors
    /// As [`engine::run`], of any rank.
    pub fn run(
        &self,
        control: &Control,
        stop: StopRequest<'_>,
        observer: &mut dyn FnMut(&Progress<'_>),
        tracers: Tracers<'_, '_>,
    ) -> Result<(Outcome, Vec<RankAbout>), engine::EngineError> {
        let (Some(order), Some(exchange)) = (&self.order, control.exchange()) else {
            return Ok((engine::run(&self.plan, stop, observer, tracers)?, Vec::new()));
        };
        let planned = match self.plan.limit {
            Limit::Duration(limit) => Some(self.plan.warmup + limit),
            Limit::TransactionsPerClient(_) => None,
        };
        let mut leading = Leading::begin(exchange, control, order.for_plan(&self.plan), planned)?;
        let end = leading.end();
        let stop = StopRequest { shared: Some(&end), ..stop };
        let outcome = engine::run_with_peers(&self.plan, stop, observer, tracers, &mut leading);
        let abouts = leading.finish(outcome.is_ok());
        Ok((outcome?, abouts))
    }
}

/// Number of ranks that a run uses. Waits until all ranks have introduced themselves.
///
/// # Errors
/// The run asks for more ranks than there are.
pub(crate) fn machines(spec: &RunSpec, control: &Control) -> Result<u32, RunError> {
    let exchange = control.exchange();
    let size = exchange.as_ref().map_or(1, |exchange| exchange.size);
    let present = u32::try_from(size).unwrap_or(u32::MAX);
    let ranks = spec.load_generators(present)?;
    if let Some(exchange) = exchange.filter(|_| ranks > 1) {
        exchange.wait_until(INTRODUCTION_LIMIT, State::all_introduced);
        exchange.check()?;
    }
    Ok(ranks)
}
