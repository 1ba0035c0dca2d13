//! Named differences and ratios of an experiment's file, resolved to cells: of which cell, relative to which, how much.
//! `document` and `json` show them.

use results::ContrastSpec;

use super::cells::ExperimentCell;
use super::metric::Metric;
use super::overview::{Contrast, ContrastOfCell, Overview};
use super::repeats::{Ratio, Repeated, Subtraction};
use crate::prose::escaped_line;

pub(super) fn differences(overview: &Overview, of_file: &[ContrastSpec]) -> Vec<Contrast<Subtraction>> {
    resolved(overview, of_file, |figure, reference| match reference {
        Some(reference) => Subtraction::of(figure, reference, overview.repeats_are_blocks),
        None => Some(Subtraction::of_nothing(figure)),
    })
}

pub(super) fn ratios(overview: &Overview, of_file: &[ContrastSpec]) -> Vec<Contrast<Ratio>> {
    resolved(overview, of_file, |figure, reference| {
        overview.ratio_of(reference?, figure, overview.repeats_are_blocks)
    })
}

/// Each of them, for all cells with the levels it is of; the reference has the same levels, except those it names.
fn resolved<T>(
    overview: &Overview,
    of_file: &[ContrastSpec],
    estimate: impl Fn(&Repeated, Option<&Repeated>) -> Option<T>,
) -> Vec<Contrast<T>> {
    let levels = |pairs: &[(String, String)]| -> Option<Vec<(usize, usize)>> {
        pairs.iter().map(|pair| overview.level_named(pair)).collect()
    };
    let contrast = |contrast: &ContrastSpec| {
        let metric = Metric::named(&contrast.metric)?;
        let of = levels(&contrast.of)?;
        let reference = match &contrast.reference {
            Some(pairs) => Some(levels(pairs)?),
            None => None,
        };
        let of_cell = |(number, cell): (usize, &ExperimentCell)| {
            let figure = cell.figure(metric)?;
            let reference = match &reference {
                Some(levels) => Some(overview.cell_with(cell, levels).filter(|it| *it != number)?),
                None => None,
            };
            let of_reference = match reference {
                Some(reference) => Some(overview.cells[reference].figure(metric)?),
                None => None,
            };
            Some(ContrastOfCell { cell: number, reference, value: estimate(figure, of_reference)? })
        };
        let is_meant =
            |cell: &ExperimentCell| of.iter().all(|(factor, level)| cell.levels[*factor] == Some(*level));
        let cells = overview.cells.iter().enumerate().filter(|(_, cell)| is_meant(cell));
        let cells = cells.filter_map(of_cell).collect();
        Some(Contrast { name: escaped_line(&contrast.name), metric, cells })
    };
    of_file.iter().filter_map(contrast).filter(|contrast| !contrast.cells.is_empty()).collect()
}
