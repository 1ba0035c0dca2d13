//! This process as a rank of a job: it joins the job, executes the orders of rank 0 unless it is rank 0 itself, and
//! leaves. The binary calls it once, around its command.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ranks::Job;

use super::exchange::{Exchange, Leave, PATIENCE, State};
use super::message::Directive;
use super::serving;
use crate::control::Control;
use crate::error::RunError;

/// Time for the exchange to end, on rank 0. The other ranks wait for rank 0, which may still write its report: if they
/// ended before it, the process manager would end the job.
const ENDING_LIMIT: Duration = Duration::from_secs(10);

/// This process as a rank of a job.
pub struct Machines {
    exchange: Arc<Exchange>,
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
