//! The sentences on whether a run was in a steady state, with the drift of each metric. `sections` shows them; a warning
//! contains those of the metrics that drifted.

use results::{Drift, DriftMeaning, SteadyEvidence, SteadyMetric, SteadyState};

use super::share;
use crate::figures::{counted, measured_seconds};
use crate::prose::enumerate;

fn metric(metric: SteadyMetric) -> &'static str {
    match metric {
        SteadyMetric::Throughput => "throughput",
        SteadyMetric::MeanResponse => "the mean response time",
    }
}

/// `throughput drifted by 12 %, more than noise explains`.
fn drift(drift: &Drift) -> String {
    let Drift { metric: of, drift_share, meaning } = drift;
    let meaning = match meaning {
        DriftMeaning::Noise => "which is within its noise",
        DriftMeaning::Negligible => "too little to matter",
        DriftMeaning::Unclear => "but scatters too much to distinguish a drift from noise",
        DriftMeaning::Significant => "more than its noise explains",
    };
    format!("{} drifted by {}, {meaning}", metric(*of), share(*drift_share))
}

/// Of several metrics, as one sentence; empty if there is none.
pub(crate) fn drifts(drifts: &[Drift]) -> String {
    if drifts.is_empty() {
        return String::new();
    }
    let drifts: Vec<String> = drifts.iter().map(drift).collect();
    crate::prose::capitalised(&enumerate(&drifts))
}

/// Whether the run was steady, with the evidence. `dips` names seconds of low throughput.
pub(crate) fn steady(state: &SteadyState, dips: Option<String>) -> String {
    let SteadyState { settled, steady_from_s, evidence } = state;
    let (intervals, drifts) = match evidence {
        SteadyEvidence::TooShort { intervals, intervals_needed } => {
            return format!(
                "Whether the run was steady is unknown, because it has {}, and the test needs {intervals_needed}.",
                counted((*intervals).into(), "interval", "intervals")
            );
        }
        SteadyEvidence::EmptyIntervals => {
            return "Whether the run was steady is unknown, because no transaction succeeded in some intervals."
                .to_owned();
        }
        SteadyEvidence::Drifts { intervals, drifts } => (intervals, drifts),
    };
    let state = match (settled, steady_from_s) {
        (Some(true), _) => match dips {
            Some(dips) => format!("{dips}; otherwise the run was steady from the start."),
            None => "The run was steady from the start.".to_owned(),
        },
        (Some(false), Some(from_s)) => {
            format!("The run was steady only after {}.", measured_seconds(*from_s))
        }
        (Some(false), None) => "The run never became steady.".to_owned(),
        (None, _) => "Whether the run was steady is unknown.".to_owned(),
    };
    let intervals = counted((*intervals).into(), "interval", "intervals");
    format!("{state} Over {intervals}, {}", enumerate(&drifts.iter().map(drift).collect::<Vec<_>>()) + ".")
}
