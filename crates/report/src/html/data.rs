//! Numbers of the experiment's page, as compact JSON.
//! The charts of runs have theirs beside them.

pub(super) use crate::chart::{Number, numbers};
