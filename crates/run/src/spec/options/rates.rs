//! Values of the options that say how the load changes: rates, which may be curves, and stages.
//! The options themselves are in `options`.

use engine::Limit;
use stats::rate::LoadStage;

use super::value::Value;
use crate::spec::RunSpec;

pub(super) fn rate(spec: &RunSpec) -> Value {
    spec.curve.clone().map_or_else(|| spec.rate_tps.into(), Value::Curve)
}

pub(super) fn set_rate(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    (spec.rate_tps, spec.curve) = match value {
        Value::Curve(curve) => (None, Some(curve)),
        value => (value.optional()?, None),
    };
    Ok(())
}

/// Stages set the length of the run, and at least as many clients as they need.
pub(super) fn set_stages(spec: &mut RunSpec, value: Value) -> Result<(), String> {
    spec.stages = match value {
        Value::Unset => Vec::new(),
        Value::Stages(stages) => stages,
        other => return Err(format!("{other:?} are no stages")),
    };
    if !spec.stages.is_empty() {
        spec.limit = Limit::Duration(LoadStage::total(&spec.stages));
    }
    spec.clients = spec.clients.max(LoadStage::clients_max(&spec.stages).unwrap_or(1));
    Ok(())
}
