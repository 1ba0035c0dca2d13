//! Hides secrets in the levels and variables of an experiment before anything is shown or stored. A level's label is
//! visible everywhere; its value stays in the configuration.

use std::collections::{BTreeMap, BTreeSet};

use results::SafeText;
use run::without_secret_values;

use crate::configuration::Cell;
use crate::experiment::Experiment;

/// The labels that may be shown, by factor and label.
pub(crate) type ShownLabels<'a> = BTreeMap<(&'a str, &'a str), String>;

/// Labels that are or contain secrets are replaced by distinct placeholders: `***`, `*** 2`.
pub(crate) fn shown_labels(experiment: &Experiment) -> ShownLabels<'_> {
    let mut shown = ShownLabels::new();
    for factor in &experiment.factors {
        let mut used = BTreeSet::new();
        for level in &factor.levels {
            let safe = SafeText::named(&factor.name, &level.label).as_str().to_owned();
            let numbered = (2..).map(|number| format!("{safe} {number}"));
            let label = std::iter::once(safe.clone()).chain(numbered).find(|label| !used.contains(label));
            let label = label.unwrap_or(safe);
            used.insert(label.clone());
            shown.insert((&factor.name, &level.label), label);
        }
    }
    shown
}

/// Replaces the labels of cells by those that may be shown.
pub fn hide_levels(experiment: &Experiment, cells: &mut [Cell]) {
    let shown = shown_labels(experiment);
    for (factor, label) in cells.iter_mut().flat_map(|cell| &mut cell.levels) {
        if let Some(safe) = shown.get(&(factor.as_str(), label.as_str())).cloned() {
            *label = safe;
        }
    }
}

/// Masks the values of secret variables in a text about an experiment.
pub fn hide_values(cells: &[Cell], text: &str) -> String {
    without_secret_values(text, secretly_named(cells))
}

/// Variables and settings with secret names.
fn secretly_named(cells: &[Cell]) -> BTreeSet<(&String, &String)> {
    let configurations = cells.iter().map(|cell| &cell.configuration);
    configurations.flat_map(|it| it.load.variables.iter().chain(it.settings())).collect()
}

/// Secret values of these combinations, which no message may show.
pub fn secret_values(cells: &[Cell]) -> Vec<String> {
    run::secret_values(secretly_named(cells)).into_iter().cloned().collect()
}
