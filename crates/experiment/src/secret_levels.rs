//! Hides secrets in the levels and variables of an experiment before anything is shown or stored. A level's label is
//! visible everywhere; its value stays in the configuration.

use std::collections::{BTreeMap, BTreeSet};

use results::SafeText;
use run::without_secret_values;

use crate::configuration::Cell;
use crate::experiment::Experiment;

/// Replaces labels that are or contain secrets by distinct placeholders: `***`, `*** 2`.
pub fn hide_levels(experiment: &Experiment, cells: &mut [Cell]) {
    let mut shown: BTreeMap<(&str, &str), String> = BTreeMap::new();
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
    for (factor, label) in cells.iter_mut().flat_map(|cell| &mut cell.levels) {
        if let Some(safe) = shown.get(&(factor.as_str(), label.as_str())).cloned() {
            *label = safe;
        }
    }
}

/// Masks the values of secret variables in a text about an experiment.
#[must_use]
pub fn hide_values(cells: &[Cell], text: &str) -> String {
    without_secret_values(text, secretly_named(cells))
}

/// Variables and settings with secret names.
fn secretly_named(cells: &[Cell]) -> BTreeSet<(&String, &String)> {
    let configurations = cells.iter().map(|cell| &cell.configuration);
    configurations.flat_map(|it| it.load.variables.iter().chain(it.settings())).collect()
}

/// Secret values of these combinations, which no message may show.
#[must_use]
pub fn secret_values(cells: &[Cell]) -> Vec<String> {
    run::secret_values(secretly_named(cells)).into_iter().cloned().collect()
}
