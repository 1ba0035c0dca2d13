//! Rates that change, and the gaps between arrivals: a [`RateCurve`] is the rate as a function of time, a [`GapLaw`] the
//! distribution of the gaps, and [`ArrivalTimes`] the arrivals of both. A [`LoadStage`] is a part of a run with a load of
//! its own. Pure: the caller supplies random numbers and the text of files.

mod arrival_times;
mod curve;
mod gap_law;
mod notation;
mod stage;

pub(crate) use curve::Seconds;
pub(crate) use notation::{arguments, number, seconds};

pub use arrival_times::{ArrivalTimes, Intensity};
pub use curve::{RateCurve, RatePoint, TPS_MAX};
pub use gap_law::GapLaw;
pub use notation::RateNotation;
pub use stage::{LoadStage, StageLoad, client_starts_s, clients_at};

#[cfg(test)]
mod tests;
