//! What an experiment's file says that its report needs: titles, factors, order, charts and contrasts. `experiment` makes it
//! from the file and its plan, and the store keeps it, so that a report need not parse the file again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::SafeText;

/// What the report of an experiment needs of its file. Labels of levels are as in the trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentDesign {
    /// Title in reports.
    pub title: SafeText,
    /// The publication that the experiment reproduces.
    pub source: Option<SafeText>,
    /// Description in reports.
    pub description: Option<SafeText>,
    /// The factors in the order of the file, each with the labels of its levels.
    pub factors: Vec<(String, Vec<String>)>,
    /// Order of the trials.
    pub order: TrialOrder,
    /// The baseline of ratios, as factors and levels; empty: none.
    pub base: Vec<(String, String)>,
    /// Of a screening: effects within ± this share do not matter.
    pub screening_tolerance: Option<f64>,
    /// Whether a trial executes timed steps.
    pub has_steps: bool,
    /// Charts of the report.
    pub charts: Vec<ChartSpec>,
    /// Named differences between combinations.
    pub differences: Vec<ContrastSpec>,
    /// Named ratios between combinations.
    pub ratios: Vec<ContrastSpec>,
    /// The combinations, in the order of the file.
    pub cells: Vec<DesignCell>,
}

/// A combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignCell {
    /// Factors and levels.
    pub levels: BTreeMap<String, String>,
    /// Operations of a transaction.
    pub operations: u32,
    /// Number of its data set; trials on one data set run together in each repeat.
    pub data: usize,
}

/// Order of the trials of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOrder {
    /// Each repeat runs all combinations in its own order: randomized blocks.
    Interleaved,
    /// In the order of the file, all repeats of a combination together.
    Sequential,
}

/// A chart of an experiment's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartSpec {
    /// Title of the chart.
    pub title: Option<String>,
    /// Factor on the horizontal axis.
    pub x: String,
    /// Metric on the vertical axis.
    pub y: String,
    /// Factor with one line per level.
    pub series: Option<String>,
    /// Factor with one panel per level.
    pub facet: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub x_log: bool,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
}

/// A named comparison of combinations in one figure: a difference or a ratio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContrastSpec {
    /// Such as `negotiating TLS`.
    pub name: String,
    /// The name of a metric.
    pub metric: String,
    /// Factors and levels of the combinations that are compared.
    pub of: Vec<(String, String)>,
    /// Levels in which the other combination differs; `None`, of a difference only: nothing is subtracted.
    pub reference: Option<Vec<(String, String)>>,
}
