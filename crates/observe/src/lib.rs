//! Observes the server during a run: an [`Observer`] samples it over a separate connection and thread, and returns a
//! [`results::Observation`]. Missing data and a lost connection are named there; they never fail the run.
//!
//! Reading order: `catalogue`, `probe`, `observer`; `waits`, `strata`, `profile`, `difference` and `series` count,
//! `processes` reads `/proc`, `account` creates the result. [`ceilings`] are computed from the whole record.

mod clock;

mod catalogue;

mod backend_filter;

mod normal_form;

mod relations;
mod scripts;
mod standbys;
mod states;

mod probe;

mod extension;

mod kcache;

mod session;

mod observer;

mod watch;

mod waits;

mod event_names;

mod strata;

mod profile;

mod difference;

mod series;

mod events;

mod statements;

mod pooler;

mod processes;

mod backends;

mod load_cpu;

mod memory;

mod one_backend;

mod account;

mod ceilings;

pub use account::{Ran, nothing};
pub use backend_filter::BackendFilter;
pub use ceilings::ceilings;
pub use extension::extension_schema;
pub use kcache::Kcache;
pub use load_cpu::LoadCpu;
pub use observer::{Observer, ObserverOptions};
pub use one_backend::{Backend, BackendCpu};
pub use pooler::{PoolerReadings, PoolerWatch};
pub use processes::cpu_s;
pub use processes::is_server_here;
pub use relations::{StatementText, relations};
pub use scripts::Script;
pub use states::{flush_statistics, tables_now};
pub use watch::RecentWaits;
