//! The search for the highest rate that keeps goals such as `p99 < 20ms`: which load to try next, and what the answer
//! is.
//!
//! Pure: a [`Search`] receives the outcome of each trial and the time that has passed, and returns the next [`Step`],
//! so that thousands of searches can be simulated. A caller runs the trials. In reading order: a [`Trial`] is an
//! outcome; a [`ShareCurve`] is the fitted share of transactions over the limit against the rate; [`Search`] decides;
//! [`Burst`]s find the upper end and the number of clients. docs/decisions/0043-search.md explains the method.

mod burst;
mod curve;
mod decision;
mod local;
mod trial;

pub use burst::{Burst, Bursts};
pub use curve::{CurveEstimate, ShareCurve};
pub use decision::{Answer, Confirmation, Search, SearchPlan, Step};
pub use trial::{GoalCount, Trial, TrialVerdict};
