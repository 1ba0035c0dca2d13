//! Contents of an experiment's charts: panels with lines of cells, bars of steps, and curves of runs. `charts` and
//! `curves` choose them, `drawn` makes charts of them.

use super::metric::Metric;

/// A chart of one figure along one factor.
#[derive(Clone, Debug)]
pub(crate) struct CellChart {
    pub(crate) title: String,
    /// The factor along the axis.
    pub(crate) x: usize,
    pub(crate) metric: Metric,
    /// Positions of the levels of `x` if they are numbers; `None` if they are names.
    pub(crate) positions: Option<Vec<f64>>,
    pub(crate) x_log: bool,
    pub(crate) y_log: bool,
    pub(crate) panels: Vec<Panel>,
}

/// A part of a chart with its own axes.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// Levels of the other factors; empty for a single panel.
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
}

/// A line of a panel.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The level of the series; empty for a single line.
    pub(crate) label: String,
    /// Index of the colour: that of the level.
    pub(crate) colour: usize,
    /// Index of the store of the cells.
    pub(crate) host: usize,
    /// Cells with this figure, in the order of the axis.
    pub(crate) points: Vec<CellPoint>,
}

/// A cell on a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellPoint {
    /// Index of the level on the axis.
    pub(crate) level: usize,
    pub(crate) cell: usize,
    pub(crate) marks: Marks,
}

/// The criteria by which a cell is the best of its line.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Highest throughput.
    pub(crate) throughput: bool,
    /// Lowest mean latency.
    pub(crate) latency: bool,
    /// Best compromise: the greatest throughput ÷ mean latency.
    pub(crate) compromise: bool,
}

/// A chart of bars, one of each cell, of which each step is a part.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) title: String,
    pub(crate) metric: Metric,
    pub(crate) steps: Vec<String>,
    /// Cell, and a figure of each step; 0 where it is not known.
    pub(crate) rows: Vec<(usize, Vec<f64>)>,
}

/// The throughput of a cell over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) cell: usize,
    /// Seconds, and succeeded transactions per second.
    pub(crate) points: Vec<(f64, f64)>,
    /// When faults and other actions began and ended, with their text.
    pub(crate) actions: Vec<(f64, Option<f64>, String)>,
}
