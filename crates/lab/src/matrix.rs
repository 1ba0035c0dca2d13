//! All combinations of the levels, without those that are left out, and what each of them means. Called by `plan`.
//! Nothing is put in order here.

use config::{Complaint, Folder, Place};
use workload::WorkloadName;

use crate::configuration::Configuration;
use crate::experiment::Experiment;
use crate::keys;
use crate::relative::{FindHost, Hosts};
use crate::workloads::Workloads;

/// Where messages about the whole file point to.
pub(crate) const START: Place = Place { line: 1, column: 1 };

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Factor and level, in the experiment's order.
    pub levels: Vec<(String, String)>,
    /// What it means.
    pub configuration: Configuration,
}

/// The combinations in the file's order, the last factor varying fastest. An error says what a workload lacks, or which
/// relative value has no number.
pub(crate) fn cells(
    experiment: &Experiment,
    folder: Folder<'_>,
    find_host: Option<FindHost<'_>>,
) -> Result<Vec<Cell>, Complaint> {
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
    let (mut workloads, mut hosts) = (Workloads::default(), find_host.map(Hosts::new));
    for Cell { configuration, .. } in &mut cells {
        // The files of a workload that is stored cannot be read, and nothing will be run.
        if !matches!(
            (folder, &configuration.data.workload),
            (Folder::Stored(_), Some(WorkloadName::Folder(_)))
        ) {
            workloads.complete(configuration).map_err(|what| Complaint::at(START, what))?;
        }
        if let Some(hosts) = &mut hosts {
            hosts.resolve(configuration)?;
        }
        if configuration.times_loading() {
            // The tables are made by the trial itself.
            (configuration.data.workload, configuration.data.bytes_per_scale) = (None, None);
        }
    }
    Ok(cells)
}
