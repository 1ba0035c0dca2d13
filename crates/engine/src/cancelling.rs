//! Cancels the statements that still run on the server when a run is stopped: many at a time, and within a limit.
//! Called by `run` when all workers are done; the requests themselves are sent by `connect`.

use std::time::Duration;

use connect::{CancelKey, CancelRequest};

use crate::plan::Plan;

/// All cancel requests of a run together may take this long: a server that does not take them must not keep the
/// program from ending.
const CANCELLING_LIMIT: Duration = Duration::from_secs(5);

/// A session whose statement is running.
#[derive(Clone, Debug)]
pub(crate) struct RunningSession {
    pub(crate) target: usize,
    /// Which of the target's hosts.
    pub(crate) host: usize,
    pub(crate) key: CancelKey,
}

/// Cancels what runs in these sessions. Returns the number of those whose server did not take the request in time.
pub(crate) fn cancel_all<'s>(plan: &Plan, sessions: impl Iterator<Item = &'s RunningSession>) -> usize {
    let request = |session: &'s RunningSession| {
        let host = &plan.targets[session.target].hosts[session.host];
        CancelRequest { address: &host.address, transport: &host.transport, key: &session.key }
    };
    let requests: Vec<_> = sessions.map(request).collect();
    connect::cancel_all(&requests, CANCELLING_LIMIT)
}
