//! All combinations of the levels, without those that are left out, and what each of them means. Called by `plan`.
//! Nothing is put in order here.

use std::path::Path;

use crate::configuration::Configuration;
use crate::experiment::Experiment;
use crate::keys;
use crate::workloads::Workloads;

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Factor and level, in the experiment's order.
    pub levels: Vec<(String, String)>,
    /// What it means.
    pub configuration: Configuration,
}

/// The combinations in the file's order, the last factor varying fastest. An error says what a workload lacks.
pub(crate) fn cells(experiment: &Experiment, folder: &Path) -> Result<Vec<Cell>, String> {
    let mut cells = vec![Cell { levels: Vec::new(), configuration: experiment.base.clone() }];
    for factor in &experiment.factors {
        let with = |cell: &Cell| {
            factor
                .levels
                .iter()
                .map(|level| {
                    let mut cell = cell.clone();
                    cell.levels.push((factor.name.clone(), level.label.clone()));
                    for (name, node) in &level.sets {
                        // Each was tried when the file was read.
                        let _ = keys::set(&mut cell.configuration, name, node, folder);
                    }
                    cell
                })
                .collect::<Vec<_>>()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    let is_left_out = |cell: &Cell| {
        experiment.exclude.iter().any(|pairs| pairs.iter().all(|pair| cell.levels.contains(pair)))
    };
    cells.retain(|cell| !is_left_out(cell));
    let mut workloads = Workloads::default();
    for Cell { configuration, .. } in &mut cells {
        workloads.complete(configuration)?;
        if configuration.times_loading() {
            // The tables are made by the trial itself.
            configuration.data.workload = None;
        }
    }
    Ok(cells)
}
