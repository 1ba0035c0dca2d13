//! The workloads of a plan, each read once. Fills in values that a configuration leaves to its workload, and rejects
//! values that the workload does not support. Called by `matrix` for every combination.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::Complaint;
use queries::QuerySetSpec;
use run::{ScriptSource, ScriptSpec};
use workload::{Workload, WorkloadName};

use crate::configuration::Configuration;
use crate::keys;

/// Workloads read so far.
#[derive(Debug, Default)]
pub(crate) struct Workloads {
    read: BTreeMap<WorkloadName, Arc<dyn Workload>>,
    /// The passes over queries that were counted. Most combinations have the same one, and some workloads draw
    /// thousands of queries to count them.
    counted: Vec<(WorkloadName, QuerySetSpec, usize)>,
}

impl Workloads {
    fn open(&mut self, name: &WorkloadName) -> Result<Arc<dyn Workload>, String> {
        if let Some(known) = self.read.get(name) {
            return Ok(Arc::clone(known));
        }
        let workload = name.open().map_err(|error| error.to_string())?;
        self.read.insert(name.clone(), Arc::clone(&workload));
        Ok(workload)
    }

    /// Uses the scripts of the workload's mix if none are given, and looks up the given ones.
    pub(crate) fn complete(&mut self, configuration: &mut Configuration) -> Result<(), String> {
        let Configuration { server, data, load, scripts_only_read, queries, .. } = configuration;
        // pgbench's scripts may run on tables that the experiment's own SQL creates.
        let workload = self.open(&data.workload.clone().unwrap_or_default())?;
        if data.workload.is_some() {
            let options = data.init_options().map_err(|error| error.to_string())?;
            workload.check_options(&options).map_err(|error| error.to_string())?;
            // In place, the scale is that of the tables.
            if !server.in_place {
                data.scale = options.scale;
            }
            data.bytes_per_scale = workload.bytes_per_scale();
            // Equal data are loaded once.
            data.scale_is_set = true;
        } else if let Some(name) = data.parameters.keys().next() {
            return Err(format!("the parameter {name} requires a workload, and workload is \"none\""));
        }
        if let Some(spec) = queries {
            spec.parameters.clone_from(&data.parameters);
            return Ok(());
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

    /// Counts the queries of a pass; nothing for other trials. An error is at the key of `[queries]` that the workload
    /// cannot do, otherwise at the workload.
    pub(crate) fn count_queries(&mut self, configuration: &mut Configuration) -> Result<(), Complaint> {
        let Configuration { data, queries: Some(spec), query_count, places, .. } = configuration else {
            return Ok(());
        };
        let name = data.workload.clone().unwrap_or_default();
        if let Some((.., count)) =
            self.counted.iter().find(|(known, counted, _)| *known == name && counted == spec)
        {
            *query_count = *count;
            return Ok(());
        }
        let workload = self.open(&name).map_err(|what| Complaint::at(places.of("workload"), what))?;
        *query_count = spec.count(&*workload).map_err(|error| {
            let key = keys::refused_key(spec, &*workload).unwrap_or("workload");
            Complaint::at(places.of(key), error.to_string())
        })?;
        self.counted.push((name, spec.clone(), *query_count));
        Ok(())
    }
}
