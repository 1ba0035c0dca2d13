//! Cancels the commands that still run on the server when a run is stopped: many at a time, and not for ever.
//! A server that does not take the requests keeps nobody from leaving.

use std::thread;
use std::time::Duration;

use connect::CancelKey;

use crate::clock::Clock;
use crate::plan::Plan;

/// Requests on their way at the same time. The server starts a process for each.
const CANCELLING_MAX: usize = 16;
/// No request is begun later than this after the first.
const CANCELLING_LIMIT: Duration = Duration::from_secs(5);

/// A session whose command is running.
#[derive(Clone, Debug)]
pub(crate) struct RunningSession {
    pub(crate) target: usize,
    /// Which of the target's places.
    pub(crate) host: usize,
    pub(crate) key: CancelKey,
}

/// Cancels what runs in these sessions.
pub(crate) fn cancel_all(plan: &Plan, sessions: &[RunningSession]) {
    let clock = Clock::start();
    let last = clock.now() + CANCELLING_LIMIT;
    let lanes = sessions.len().min(CANCELLING_MAX);
    let work = |lane: usize| {
        for RunningSession { target, host, key } in sessions.iter().skip(lane).step_by(CANCELLING_MAX) {
            if clock.now() >= last {
                return;
            }
            // A server that is gone has nothing left to cancel.
            let host = &plan.targets[*target].hosts[*host];
            let _ = connect::cancel(&host.address, &host.transport, key);
        }
    };
    thread::scope(|scope| {
        for lane in 1..lanes {
            let work = &work;
            // Where no thread can be had, the others' requests are still worth sending.
            let _ = thread::Builder::new().spawn_scoped(scope, move || work(lane));
        }
        work(0);
    });
}
