//! The design of an experiment for the store: the parts of the file and of the plan that its report needs, without the
//! configurations and without secrets.

use results::{ChartSpec, ContrastSpec, DesignCell, ExperimentDesign, SafeText};

use crate::experiment::{Combinations, Experiment};
use crate::plan::Plan;
use crate::secret_levels::{ShownLabels, shown_labels};

/// The design of an experiment with this plan.
pub fn design(experiment: &Experiment, plan: &Plan) -> ExperimentDesign {
    let shown = &shown_labels(experiment);
    let text = |text: &Option<String>| text.as_deref().map(SafeText::from);
    let levels = experiment.factors.iter().map(|factor| {
        let labels = factor.levels.iter().map(|level| shown_label(shown, &factor.name, &level.label));
        (factor.name.clone(), labels.collect())
    });
    let cells = plan.cells.iter().zip(&plan.data_of).map(|(cell, data)| DesignCell {
        levels: shown_pairs(shown, &cell.levels).into_iter().collect(),
        operations: cell.configuration.operations,
        data: *data,
    });
    ExperimentDesign {
        title: SafeText::from(experiment.title.as_str()),
        source: text(&experiment.source),
        description: text(&experiment.description),
        factors: levels.collect(),
        order: experiment.design.order,
        base: shown_pairs(shown, &experiment.design.base),
        screening_tolerance: match experiment.design.combinations {
            Combinations::All => None,
            Combinations::Screening { tolerance } => Some(tolerance),
        },
        has_steps: plan.cells.iter().any(|cell| !cell.configuration.steps.is_empty()),
        charts: experiment.charts.iter().map(shown_chart).collect(),
        differences: shown_contrasts(shown, &experiment.differences),
        ratios: shown_contrasts(shown, &experiment.ratios),
        cells: cells.collect(),
    }
}

fn shown_chart(chart: &ChartSpec) -> ChartSpec {
    ChartSpec { title: chart.title.as_deref().map(without_secrets), ..chart.clone() }
}

fn shown_contrasts(shown: &ShownLabels<'_>, contrasts: &[ContrastSpec]) -> Vec<ContrastSpec> {
    let contrast = |contrast: &ContrastSpec| ContrastSpec {
        name: without_secrets(&contrast.name),
        of: shown_pairs(shown, &contrast.of),
        reference: contrast.reference.as_ref().map(|pairs| shown_pairs(shown, pairs)),
        ..contrast.clone()
    };
    contrasts.iter().map(contrast).collect()
}

fn shown_pairs(shown: &ShownLabels<'_>, pairs: &[(String, String)]) -> Vec<(String, String)> {
    pairs.iter().map(|(factor, label)| (factor.clone(), shown_label(shown, factor, label))).collect()
}

fn without_secrets(text: &str) -> String {
    SafeText::from(text).into()
}

/// Cells may have the label that is shown already.
fn shown_label(shown: &ShownLabels<'_>, factor: &str, label: &str) -> String {
    shown.get(&(factor, label)).map_or(label, String::as_str).to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Profile;
    use crate::secret_levels::hide_levels;

    const FILE: &str = r#"
name = "keys"
description = "with password=abc"
[factors]
"variables.password" = ["first", "second"]
clients = [1, 8]
[design]
base = { "variables.password" = "second" }
[[chart]]
title = "password=abc"
x = "clients"
[[difference]]
name = "password=abc"
of = { "variables.password" = "first" }
minus = { "variables.password" = "second" }
"#;

    #[test]
    fn labels_are_those_of_the_trials_and_no_secret_is_kept() {
        let experiment = Experiment::parse(FILE, "keys.toml", Path::new(""), Profile::Full).unwrap();
        let mut plan = Plan::of(&experiment, "keys.toml", Path::new("")).unwrap();
        let before = design(&experiment, &plan);
        hide_levels(&experiment, &mut plan.cells);
        let design = design(&experiment, &plan);
        assert_eq!(design, before, "whether the labels of the cells are hidden makes no difference");
        assert_eq!(design.base, [("variables.password".to_owned(), design.factors[0].1[1].clone())]);
        for (cell, planned) in design.cells.iter().zip(&plan.cells) {
            assert_eq!(cell.levels, planned.levels.iter().cloned().collect());
            let is_known = |(factor, label): (&String, &String)| {
                design.factors.iter().any(|(name, labels)| name == factor && labels.contains(label))
            };
            assert!(cell.levels.iter().all(is_known), "{cell:?}");
        }
        let json = serde_json::to_string(&design).unwrap();
        assert!(["abc", "first", "second"].iter().all(|secret| !json.contains(secret)), "{json}");
        assert_eq!(serde_json::from_str::<ExperimentDesign>(&json).unwrap(), design);
    }
}
