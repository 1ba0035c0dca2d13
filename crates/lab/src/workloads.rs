//! The workloads of a plan, each read once. Fills in values that a configuration leaves to its workload, and rejects
//! values that the workload does not support. Called by `matrix` for every combination.

use std::collections::BTreeMap;
use std::sync::Arc;

use run::{ScriptSource, ScriptSpec};
use workload::{Workload, WorkloadName};

use crate::configuration::Configuration;

/// Workloads read so far.
#[derive(Debug, Default)]
pub(crate) struct Workloads(BTreeMap<WorkloadName, Arc<dyn Workload>>);

impl Workloads {
    fn open(&mut self, name: &WorkloadName) -> Result<Arc<dyn Workload>, String> {
        if let Some(known) = self.0.get(name) {
            return Ok(Arc::clone(known));
        }
        let workload = name.open().map_err(|error| error.to_string())?;
        self.0.insert(name.clone(), Arc::clone(&workload));
        Ok(workload)
    }

    /// Uses the scripts of the workload's mix if none are given, and looks up the given ones.
    pub(crate) fn complete(&mut self, configuration: &mut Configuration) -> Result<(), String> {
        let is_timed = configuration.times_loading();
        let Configuration { data, load, scripts_only_read, .. } = configuration;
        // pgbench's scripts may run on tables that the experiment's own SQL creates.
        let workload = self.open(&data.workload.clone().unwrap_or_default())?;
        if data.workload.is_some() {
            let options = data.init_options().map_err(|error| error.to_string())?;
            workload.check_options(&options).map_err(|error| error.to_string())?;
            data.bytes_per_scale = workload.bytes_per_scale();
        } else if let Some(name) = data.parameters.keys().next() {
            return Err(format!("the parameter {name} requires a workload, and workload is \"none\""));
        }
        if is_timed && data.workload.as_ref().is_some_and(|name| *name != WorkloadName::default()) {
            return Err(format!(
                "a step with init times the loader's steps of the workload {}: SQL files of its own load {}",
                WorkloadName::default(),
                workload.name()
            ));
        }
        if load.scripts.is_empty() {
            let script = |script: &workload::Script| ScriptSpec {
                source: ScriptSource::OfWorkload(script.name.clone().into_owned()),
                weight: script.weight,
            };
            load.scripts = workload.mix().into_iter().map(script).collect();
        }
        *scripts_only_read = true;
        for ScriptSpec { source, .. } in &load.scripts {
            *scripts_only_read &= match source {
                ScriptSource::OfWorkload(name) => {
                    workload.script(name).map_err(|error| error.to_string())?.only_reads
                }
                ScriptSource::File(_) | ScriptSource::Text { .. } => false,
            };
        }
        Ok(())
    }
}
