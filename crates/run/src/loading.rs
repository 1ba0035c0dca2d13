//! Loading the tables of the built-in workloads, for `init`, `quickstart` and experiments: stopped from outside, and told
//! step by step. How tables are loaded is `workload`'s affair.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::{Session, Target};
use workload::{InitOptions, InitProgress, InitReport, Workload};

use crate::control::Control;
use crate::error::RunError;

/// Bounds of the sessions that load side by side unless they are named. More than a few only wait for each other
/// where WAL is written.
const SESSIONS_MIN: u32 = 2;
const SESSIONS_MAX: u32 = 8;

/// Sessions that load side by side where none were asked for: as many as this machine has processors, since that is
/// all that is known of the server; two where it has one, for the server is as a rule elsewhere then.
#[must_use]
pub fn loading_sessions() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    u32::try_from(processors).unwrap_or(SESSIONS_MAX).clamp(SESSIONS_MIN, SESSIONS_MAX)
}

/// Takes the steps of loading.
///
/// # Errors
/// A step failed; a statement that was cancelled because of an interruption is an interruption.
pub fn load(
    workload: &dyn Workload,
    target: &Target,
    session: &mut Session,
    options: &InitOptions,
    control: &Control,
    told: &mut dyn FnMut(InitProgress<'_>),
) -> Result<InitReport, RunError> {
    let mut step = |progress: InitProgress<'_>| {
        told(progress);
        if control.stop().load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let result = control.guard(session, |session| workload.load(target, session, options, &mut step));
    if result.is_err() && control.stop().load(Ordering::Relaxed) {
        return Err(workload.interrupted().into());
    }
    Ok(result?)
}
