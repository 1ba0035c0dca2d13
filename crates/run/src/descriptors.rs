//! The limit of open files, which every client's connection counts against.
//! Raised where the system allows it; called before a run with as many clients as were asked for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What every program has open: stdin, stdout, stderr.
const STANDARD_STREAMS: u64 = 3;
/// What a run has open besides: polls, timers, log files, and what libraries open for a moment.
const BESIDE_CONNECTIONS: u64 = 64;

/// There is no way to have so many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewDescriptors {
    /// Open files that are needed.
    pub needed: u64,
    /// Open files that are allowed.
    pub limit: u64,
}

/// Sees to it that there can be so many connections.
///
/// # Errors
/// The system does not allow so many.
pub fn provide_descriptors(connections: u64) -> Result<(), TooFewDescriptors> {
    let needed = connections + STANDARD_STREAMS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` is no limit.
    if let Some(limit) = maximum.filter(|maximum| *maximum < needed) {
        return Err(TooFewDescriptors { needed, limit });
    }
    let comfortable =
        maximum.map_or(needed + BESIDE_CONNECTIONS, |maximum| maximum.min(needed + BESIDE_CONNECTIONS));
    match current {
        Some(current) if current < comfortable => {
            let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(comfortable), maximum });
            match raised {
                Err(_) if current < needed => Err(TooFewDescriptors { needed, limit: current }),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// As many as the system allows, for a server that does not know how many clients will come.
pub fn raise_descriptors_to_maximum() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, later clients wait at the door.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
