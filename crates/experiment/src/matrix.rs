//! Builds all combinations of levels except the excluded ones, and the configuration of each. Called by `plan`, which
//! orders the trials.

use config::{Complaint, Folder};
use stats::screening_design;
use workload::WorkloadName;

use crate::configuration::{Cell, START};
use crate::experiment::{Combinations, Experiment};
use crate::keys;
use crate::relative::{FindHost, Hosts};
use crate::workloads::Workloads;

/// The levels of each combination, by their numbers.
fn combinations(experiment: &Experiment) -> Vec<Vec<usize>> {
    match experiment.design.combinations {
        Combinations::All => {
            experiment.factors.iter().fold(vec![Vec::new()], |known: Vec<Vec<usize>>, factor| {
                let with = |levels: &Vec<usize>| {
                    let levels = levels.clone();
                    (0..factor.levels.len()).map(move |level| [levels.clone(), vec![level]].concat())
                };
                known.iter().flat_map(with).collect()
            })
        }
        // The number of factors was checked when the file was read.
        Combinations::Screening { .. } => screening_design(experiment.factors.len())
            .unwrap_or_default()
            .into_iter()
            .map(|row| row.into_iter().map(usize::from).collect())
            .collect(),
    }
}

fn cell(experiment: &Experiment, levels: &[usize], folder: Folder<'_>) -> Cell {
    let mut cell = Cell { levels: Vec::new(), configuration: experiment.base.clone() };
    for (factor, level) in experiment.factors.iter().zip(levels) {
        let level = &factor.levels[*level];
        cell.levels.push((factor.name.clone(), level.label.clone()));
        for (name, node) in &level.sets {
            // All levels were checked when the file was read.
            let _ = keys::set(&mut cell.configuration, name, node, folder);
        }
    }
    cell
}

/// The combinations in the file's order; the last factor varies fastest. Errors: a workload lacks something, or a
/// relative value cannot be calculated.
pub(crate) fn cells(
    experiment: &Experiment,
    folder: Folder<'_>,
    find_host: Option<FindHost<'_>>,
) -> Result<Vec<Cell>, Complaint> {
    let mut cells: Vec<Cell> =
        combinations(experiment).iter().map(|levels| cell(experiment, levels, folder)).collect();
    let is_left_out = |cell: &Cell| {
        experiment.exclude.iter().any(|pairs| pairs.iter().all(|pair| cell.levels.contains(pair)))
    };
    cells.retain(|cell| !is_left_out(cell));
    let (mut workloads, mut hosts) = (Workloads::default(), find_host.map(Hosts::new));
    for Cell { configuration, .. } in &mut cells {
        // For an experiment from the store, the workload's files may be missing; nothing will be run.
        if !matches!(
            (folder, &configuration.data.workload),
            (Folder::Stored(_), Some(WorkloadName::Folder(_)))
        ) {
            workloads.complete(configuration).map_err(|what| Complaint::at(START, what))?;
            workloads.count_queries(configuration)?;
        }
        if let Some(hosts) = &mut hosts {
            hosts.resolve(configuration)?;
        }
        if configuration.times_loading() {
            // The trial itself creates the tables.
            configuration.loaded_by_step = configuration.data.workload.take();
            configuration.data.bytes_per_scale = None;
        }
    }
    Ok(cells)
}
