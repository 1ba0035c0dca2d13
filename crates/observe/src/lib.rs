//! What the server was doing during a run: waits, counters, costs, events, ceilings.
//!
//! An [`Observer`] samples the server on a connection and a thread of its own, at the level that was asked for, and returns a
//! [`results::Observation`]. It never disturbs the run: its statements have limits, and whatever it cannot see, or the
//! loss of its connection, is named in the observation and fails nothing.
//!
//! In reading order: `catalogue` says what servers of each version can be asked, `probe` finds out what this one lets
//! us see, `observer` looks, `waits`, `strata`, `profile`, `difference` and `series` count, `processes` reads `/proc`, `account` puts
//! it together. [`ceilings`] are computed afterwards, from the whole record. docs/observing.md explains the figures.

mod clock;

mod catalogue;

mod backend_filter;

mod normal_form;

mod scripts;

mod probe;

mod extension;

mod session;

mod observer;

mod watch;

mod waits;

mod strata;

mod profile;

mod difference;

mod series;

mod events;

mod statements;

mod processes;

mod backends;

mod one_backend;

mod account;

mod ceilings;

pub use account::nothing;
pub use backend_filter::BackendFilter;
pub use ceilings::ceilings;
pub use extension::extension_schema;
pub use observer::{Observer, ObserverOptions, Ran, RecentWaits};
pub use one_backend::{Backend, BackendCpu};
pub use processes::cpu_s;
pub use processes::is_server_here;
pub use scripts::Script;
