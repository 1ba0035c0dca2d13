//! The closed loops of runs side by side that differ in their clients, as curves for models.
//! `models` fits them.

use super::Run;
use crate::models::{self, ModelledCurve};

/// A curve for each protocol, script and server.
pub(super) fn modelled(runs: &[Run<'_>]) -> Vec<ModelledCurve> {
    let mut curves = Vec::new();
    for run in runs {
        let record = run.record;
        let cpu_us = record.observation.as_ref().and_then(|it| it.per_transaction.cpu_us());
        let point = models::measurement(&record.plan, &record.summary, Some(&record.environment), cpu_us);
        if let Some(point) = point {
            let name = format!("{}, {}, {}", run.scripts(), record.plan.protocol.name(), run.server());
            models::add(&mut curves, name, point);
        }
    }
    curves
}
