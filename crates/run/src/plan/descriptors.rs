//! The limit of open files, which counts each client's connection.
//! It is raised before a run if the system allows it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::RunError;

/// Standard input, output and error.
const STANDARD_STREAMS: u64 = 3;
/// Other open files of a run: polls, timers, log files, and temporary files of libraries.
const BESIDE_CONNECTIONS: u64 = 64;

/// The limit is too low for this many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewDescriptors {
    /// Required open files.
    pub needed: u64,
    /// The hard limit of open files.
    pub limit: u64,
}

impl TooFewDescriptors {
    /// The error for what requires them, such as `-c 5000`.
    pub fn for_what(self, what: &str) -> RunError {
        let Self { needed, limit } = self;
        RunError::Usage(format!(
            "{what} requires {needed} open files, but the limit is {limit}: raise it with ulimit -n"
        ))
    }
}

/// Raises the limit for this many connections.
///
/// # Errors
/// The hard limit is too low.
pub fn provide_descriptors(connections: u64) -> Result<(), TooFewDescriptors> {
    let needed = connections + STANDARD_STREAMS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means no limit.
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

/// The hard limit of open files; `None`: there is none.
pub(crate) fn hard_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Raises the limit to the maximum, for a server with an unknown number of clients.
pub fn raise_descriptors_to_maximum() {
    let limit = getrlimit(Resource::Nofile);
    // If this fails, clients beyond the limit have to wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
