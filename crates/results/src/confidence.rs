//! How sure the figures of a run are: intervals that would hold its true values, and whether it had settled.
//! Plain data; `stats` computes it, `report` shows it.

use serde::{Deserialize, Serialize};

/// 95 % confidence intervals that allow for autocorrelation; each `null` if the run was too short for one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// Of the transactions per second.
    pub tps: Option<Estimate>,
    /// Of the mean response time.
    pub response_mean_us: Option<Estimate>,
    /// Of the mean service time.
    pub service_mean_us: Option<Estimate>,
}

/// An estimate between its bounds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The lower bound of the 95 % interval.
    pub low: f64,
    /// The upper bound of the 95 % interval.
    pub high: f64,
    /// Batches whose means were compared.
    pub batches: u32,
    /// Autocorrelation of neighbouring batches, from −1 to 1; well above 0 the interval is too narrow.
    pub autocorrelation: f64,
}

/// Whether the run had settled when measuring began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// `null` if the run was too short to tell.
    pub settled: Option<bool>,
    /// From when on it was steady, in seconds since measuring began; 0 if from the start, `null` if never.
    pub steady_from_s: Option<f64>,
    /// In one sentence, with figures.
    pub evidence: String,
}
