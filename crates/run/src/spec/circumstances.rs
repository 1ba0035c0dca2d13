//! The circumstances of a run: decisions of its caller that its specification does not contain. `runner` and all later
//! modules read them.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use connect::Password;
use engine::{Compatibility, Tracer, WorkerIntro};
use results::{Annotation, Environment, SafeText};
use server::Locations;

/// Subdirectory of the cache for calibrations.
const CALIBRATIONS: &str = "calibrations";

/// Creates the tracer of each worker, which receives single transactions.
pub type Tracers<'a, 'w> = &'a dyn Fn(WorkerIntro) -> Box<dyn Tracer + 'w>;

/// Properties of the caller that are not part of the specification.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// Whether the run behaves as pgbench.
    pub compatibility: Compatibility,
    /// The run ends if no transaction ends for this long; `None`: no limit.
    pub silence_limit: Option<Duration>,
    /// Maximum time from the first transaction to the end of the run, for time budgets.
    pub deadline: Option<Duration>,
    /// Directory of calibrations; `None`: do not look for one.
    pub calibrations: Option<PathBuf>,
    /// Whether to query the server's settings, which takes several statements.
    pub asks_settings: bool,
    /// Directory of the record, whose disk is examined before the run; `None`: the record is not saved.
    pub records: Option<PathBuf>,
    /// The environment as an earlier run of the same load examined it; `None`: it is examined.
    pub environment: Option<Environment>,
    /// A run with a rate ends if its queue grows without end and a transaction waits for much longer than this; `None`:
    /// it continues.
    pub queue_limit: Option<Duration>,
    /// One-way delay of a simulated network between clients and server.
    pub relay_delay: Option<Duration>,
    /// Values given relative to the server's host: the keys with their descriptions.
    pub relative: BTreeMap<String, String>,
    /// A command that repeats the run.
    pub command_line: Option<SafeText>,
    /// The user's label and note.
    pub annotation: Annotation,
    /// Asks the user for a password if the server requires one.
    pub ask_password: Option<fn() -> io::Result<Password>>,
    /// Called before the load starts, so that the caller can protect the load from its own output.
    pub output: Option<fn() -> OutputLoss>,
}

/// Called when the load is over; returns how many messages were lost meanwhile.
pub type OutputLoss = Box<dyn FnOnce() -> u64>;

impl Default for Circumstances {
    fn default() -> Self {
        Self {
            compatibility: Compatibility::Pgmeter,
            silence_limit: None,
            deadline: None,
            calibrations: calibrations(),
            asks_settings: true,
            records: None,
            environment: None,
            queue_limit: None,
            relay_delay: None,
            relative: BTreeMap::new(),
            command_line: None,
            annotation: Annotation::default(),
            ask_password: None,
            output: None,
        }
    }
}

/// Directory of calibrations; `None` without a cache directory.
pub fn calibrations() -> Option<PathBuf> {
    let locations = Locations::from_environment(&server::Environment::of_process()).ok()?;
    Some(calibrations_in(&locations))
}

/// Directory of calibrations in these locations.
pub fn calibrations_in(locations: &Locations) -> PathBuf {
    locations.cache_dir.join(CALIBRATIONS)
}
