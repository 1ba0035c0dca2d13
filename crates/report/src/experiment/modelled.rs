//! The closed loops of an experiment over clients, as curves for models: one for each combination of the other factors.
//! `models` fits them.

use super::overview::Overview;
use crate::models::{self, ModelledCurve};
use crate::prose::escaped_line;

/// Nothing without a factor of clients.
pub(super) fn modelled(overview: &Overview) -> Vec<ModelledCurve> {
    let is_of_clients = |name: &str| name.rsplit('.').next() == Some("clients");
    let factor = overview.factors.iter().position(|factor| is_of_clients(&factor.name));
    let Some(factor) = factor else { return Vec::new() };
    let mut curves = Vec::new();
    for cell in 0..overview.cells.len() {
        for (_, run) in overview.complete(cell) {
            let (Some(plan), Some(summary)) = (&run.plan, &run.summary) else { continue };
            if let Some(point) =
                models::measurement(plan, summary, run.environment.as_ref(), run.costs.cpu_us())
            {
                models::add(&mut curves, others(overview, cell, factor), point);
            }
        }
    }
    curves
}

/// The levels of the other factors: `protocol simple, network tcp`.
fn others(overview: &Overview, cell: usize, clients: usize) -> String {
    let others = overview.levels(cell).enumerate();
    let others = others.filter(|(at, (factor, _))| *at != clients && factor.levels.len() > 1);
    let others: Vec<String> = others.map(|(_, (factor, level))| format!("{} {level}", factor.name)).collect();
    escaped_line(&others.join(", "))
}
