//! One load from several machines. A process manager (MPICH's `mpiexec`, Slurm's `srun`) starts this program on each,
//! and they become the ranks of a job. Rank 0 prepares runs, observes the server and stores the records; it orders a
//! part of the load from each other rank. `order` describes this part, `message` defines the messages, `exchange` is
//! the thread that sends and receives them, `leading` is the side of rank 0, `serving` that of the other ranks,
//! `timing` the clock.

mod exchange;
mod leading;
mod message;
mod order;
mod serving;
mod timing;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{Limit, Outcome, Part, Plan, Progress, StopRequest};
use ranks::Job;

pub use leading::RankAbout;

pub(crate) use exchange::Exchange;
pub(crate) use order::Order;

use crate::control::Control;
use crate::error::RunError;
use crate::runner::{Runner, Tracers};
use crate::spec::RunSpec;
use exchange::{Leave, PATIENCE, State};
use leading::Leading;
use message::Directive;

/// Time for all ranks to say who they are; the exchange gives up earlier.
const INTRODUCTION_LIMIT: Duration = Duration::from_secs(90);
/// Time for the exchange to end, on rank 0. The other ranks wait for rank 0, which may still write its report: if they
/// ended before it, the process manager would end the job.
const ENDING_LIMIT: Duration = Duration::from_secs(10);

/// This process as a rank of a job.
pub struct Machines {
    exchange: Arc<Exchange>,
}

/// A load that is ready to run: in this process alone, or on several ranks.
pub struct Load {
    /// The engine's plan of this process. What a caller changes between runs holds for all ranks: limit, warm-up, seed
    /// and application name.
    pub plan: Plan,
    order: Option<Order>,
}

impl Machines {
    /// This process as one of several ranks, if a process manager started it so. Call it once, at the program's start.
    ///
    /// # Errors
    /// The process manager is not usable.
    pub fn join(control: &Control) -> Result<Option<Machines>, RunError> {
        let Some(job) = Job::from_environment(PATIENCE).map_err(RunError::ranks)? else { return Ok(None) };
        if job.size() == 1 {
            // Otherwise the process manager takes the closed connection for a failure.
            job.finalize().map_err(RunError::ranks)?;
            return Ok(None);
        }
        let exchange = Exchange::new(job.rank(), job.size());
        let own = Arc::clone(&exchange);
        let begun = thread::Builder::new().name("exchange".to_owned()).spawn(move || own.run(job));
        begun.map_err(|error| RunError::System { what: "start a thread".to_owned(), error })?;
        if exchange.rank == 0 {
            control.lead(Arc::clone(&exchange));
        }
        Ok(Some(Machines { exchange }))
    }

    /// Whether this is rank 0, which executes the command.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.exchange.rank == 0
    }

    /// Executes the orders of rank 0 until the job is over. For the other ranks.
    ///
    /// # Errors
    /// The exchange failed, or the user asked to stop.
    pub fn serve(&self, control: &Control) -> Result<(), RunError> {
        serving::serve(&self.exchange, control).map_err(|error| match error {
            RunError::Aborted(reason) => RunError::Aborted(format!("rank {}: {reason}", self.exchange.rank)),
            other => other,
        })
    }

    /// Ends this rank. Rank 0 ends the job; if the exchange has failed, it also ends the processes that are left.
    pub fn leave(self, exit_status: u8) {
        let Machines { exchange } = self;
        let is_first = exchange.rank == 0;
        exchange.change(|state| {
            let has_failed = state.failure.is_some();
            state.leave(if has_failed { Leave::Abort(exit_status.max(1)) } else { Leave::Alone });
            if is_first {
                state.tell(Directive::Quit);
            }
        });
        exchange.wait_until(if is_first { ENDING_LIMIT } else { Duration::MAX }, State::is_over);
    }
}

impl Load {
    /// The load of a runner that has resolved its server; `plan` makes the engine's plan.
    pub(crate) fn of(
        runner: Runner,
        scale: stats::Scale,
        plan: impl FnOnce(Runner) -> Plan,
    ) -> Result<Load, RunError> {
        let ranks = runner.spec.machines.map_or(1, |machines| machines as usize);
        let order = (ranks > 1).then(|| Order::of(&runner, scale, ranks)).transpose()?;
        let plan = Plan { part: Part { rank: 0, ranks }, ..plan(runner) };
        Ok(Load { plan, order })
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
