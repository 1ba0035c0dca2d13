//! The execution of a run, apart from the load: work beside the load and after it. `engine` executes the load itself.
//! Observation, pauses, actions at their times, checks and verification are here.

pub(crate) mod actions;
pub(crate) mod checks;
pub(crate) mod connection_places;
pub(crate) mod ending;
pub(crate) mod idle_transactions;
pub(crate) mod load_watch;
pub(crate) mod observing;
pub(crate) mod pauses;
pub(crate) mod verification;
