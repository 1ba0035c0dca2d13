//! Charts before they have a format: series over time, percentiles, heat maps and bars, in the units of their figures.
//! One drawing of a chart serves the page, SVG and PNG.

mod bars;
mod colour;
mod gutter;
mod legend;
mod lines;
mod page;
mod picture;
mod plot;
mod png;
pub(crate) mod runs;
pub(crate) mod scale;
mod shapes;
mod svg;
mod values;

use crate::metrics::Quantity;

pub(crate) use page::markup;
pub use picture::{png, svg};
pub use png::PngError;
pub(crate) use runs::RunCharts;

/// What shows the values of charts at the pointer, by the arrow keys and as tables.
pub(crate) const SCRIPT: &str =
    concat!(include_str!("../../assets/words.js"), include_str!("../../assets/pointer.js"));

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// How to read it, such as `percentiles, logarithmic`.
    pub(crate) caption: String,
    pub(crate) is_low: bool,
    /// `Some` of charts below each other of which the page shows one: the reader chooses.
    pub(crate) choice: Option<Choice>,
    pub(crate) plot: Plot,
}

/// A chart among alternatives.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// What the reader chooses, such as `percentile`.
    pub(crate) of: &'static str,
    /// Such as `p95`.
    pub(crate) name: &'static str,
    /// Whether it is the first of them, which the page shows at first, and pictures show alone.
    pub(crate) is_first: bool,
}

/// The contents of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Plot {
    Lines { x: Axis, y: Axis, series: Vec<Series>, is_stacked: bool, bands: Vec<Band> },
    Heat { x: Axis, y: Axis, heat: Heat, bands: Vec<Band> },
    Bars { axis: Axis, groups: Vec<BarGroup>, legend: Vec<(String, Colour)> },
}

impl Plot {
    /// Lines that are neither stacked nor on bands.
    pub(crate) fn lines(x: Axis, y: Axis, series: Vec<Series>) -> Plot {
        Plot::Lines { x, y, series, is_stacked: false, bands: Vec::new() }
    }
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) quantity: Quantity,
    /// Behind figures that are read out at the pointer, such as `/s`: a unit that the quantity does not have.
    pub(crate) suffix: &'static str,
    pub(crate) is_logarithmic: bool,
    /// Marks with names of their own, such as percentiles or the levels of a factor; round values otherwise.
    pub(crate) marks: Vec<(f64, String)>,
    /// Names of positions that are read out at the pointer, and have no mark.
    pub(crate) names: Vec<(f64, String)>,
    /// The ends, if they do not follow from the points: several charts then share a scale.
    pub(crate) ends: Option<(f64, f64)>,
    /// Of a vertical axis, and of that of bars: values that are marked across the plot.
    pub(crate) thresholds: Vec<Threshold>,
    /// Values between which a difference does not matter: tinted.
    pub(crate) band: Option<(f64, f64)>,
}

/// A value that a dashed line marks, such as a latency limit or a goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Threshold {
    pub(crate) value: f64,
    /// In the legend.
    pub(crate) label: String,
}

/// A line, or a layer of stacked areas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Empty if it is the only one.
    pub(crate) label: String,
    pub(crate) colour: Colour,
    pub(crate) is_dashed: bool,
    /// Whether each point has a dot: where points are cells of an experiment.
    pub(crate) has_dots: bool,
    /// Whether the area below the line is tinted.
    pub(crate) is_filled: bool,
    /// Points alone, without a line from one to the next.
    pub(crate) has_no_line: bool,
    /// Whether the intervals of the points are one tinted area.
    pub(crate) has_band: bool,
    /// Of its dots.
    pub(crate) form: Form,
    pub(crate) points: Vec<Point>,
    /// Words that stand at some points, each with the point's number.
    pub(crate) words: Vec<(usize, String)>,
}

/// A point of a series; the line has a gap where `y` is not a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The 95 % interval of `y`.
    pub(crate) interval: Option<(f64, f64)>,
    /// The best of its line in some respect.
    pub(crate) signs: Vec<Sign>,
    /// Beside the point, such as the number of clients; empty for none.
    pub(crate) label: String,
}

/// Marks of points: most throughput, lowest latency, best compromise of both.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Up,
    Down,
    Diamond,
}

/// The form of a dot, so that what colours tell is told without them too.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Dot,
    Square,
    Triangle,
    /// A dot that is not filled.
    Ring,
    /// A rhombus that is not filled.
    Diamond,
}

/// A period that is marked in a gutter above the plot, one row for each kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    pub(crate) colour: Colour,
    /// The kind of event, for the legend.
    pub(crate) kind: String,
    pub(crate) detail: String,
    pub(crate) start: f64,
    /// `None` if it had not ended.
    pub(crate) end: Option<f64>,
    /// Whether the plot behind the series is tinted, too.
    pub(crate) is_shaded: bool,
    /// Of charts below each other that mark the same events, the first has their words, and has them in its legend.
    pub(crate) has_words: bool,
}

/// Counts in columns of time and rows of values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heat {
    /// The borders of the rows, ascending; one more than rows.
    pub(crate) edges: Vec<f64>,
    /// Start, end, and the count of each row.
    pub(crate) columns: Vec<(f64, f64, Vec<u64>)>,
    /// The count that has the darkest shade: of several charts the same.
    pub(crate) most: u64,
}

/// Bars with a name in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BarGroup {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// A bar of one part or of several, one behind the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bar {
    /// Empty if the group has only this one.
    pub(crate) label: String,
    pub(crate) parts: Vec<(f64, Colour)>,
    /// Names of the parts, which stand in those that have room; empty if only the legend has them.
    pub(crate) names: Vec<String>,
    pub(crate) interval: Option<(f64, f64)>,
    /// The figure as text, behind the bar.
    pub(crate) shown: String,
    pub(crate) signs: Vec<Sign>,
    pub(crate) bound: Bound,
    /// Of the dot on a logarithmic axis.
    pub(crate) form: Form,
    /// What the form means, for the pointer and for readers who do not see it.
    pub(crate) meaning: &'static str,
}

/// Whether the value of a bar is exact. On a logarithmic axis, a bound is an open dot with an arrow.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bound {
    #[default]
    Exact,
    AtLeast,
    AtMost,
}

/// A colour by its meaning, so that light and dark pages can differ.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// Of the run, line or part with this number.
    Run(usize),
    /// p50, p95, p99, p99.9, maximum.
    Quantile(usize),
    Quiet,
    /// Failures and losses.
    Bad,
    /// Of a class of wait events, such as `lwlock`, in one of three shades.
    Wait(&'static str, usize),
    Checkpoint,
    Autovacuum,
    LockQueue,
    Stall,
    Action,
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, caption: impl Into<String>, plot: Plot) -> Chart {
        Chart { title: title.into(), caption: caption.into(), is_low: false, choice: None, plot }
    }

    /// Whether any point has a value; the response times of a run in which nothing succeeded have none.
    pub(crate) fn has_points(&self) -> bool {
        match &self.plot {
            Plot::Lines { series, .. } => {
                series.iter().flat_map(|series| &series.points).any(|point| point.y.is_finite())
            }
            Plot::Heat { .. } | Plot::Bars { .. } => true,
        }
    }

    /// Whether it is drawn within two axes; bars are lists.
    pub(crate) fn has_axes(&self) -> bool {
        match self.plot {
            Plot::Lines { .. } | Plot::Heat { .. } => true,
            Plot::Bars { .. } => false,
        }
    }
}

impl Axis {
    /// Linear, from 0 or the least point to the greatest.
    pub(crate) fn new(name: impl Into<String>, quantity: Quantity) -> Axis {
        Axis {
            name: name.into(),
            quantity,
            suffix: "",
            is_logarithmic: false,
            marks: Vec::new(),
            names: Vec::new(),
            ends: None,
            thresholds: Vec::new(),
            band: None,
        }
    }

    #[must_use]
    pub(crate) fn logarithmic(self, is_logarithmic: bool) -> Axis {
        Axis { is_logarithmic, ..self }
    }

    #[must_use]
    pub(crate) fn with_marks(self, marks: Vec<(f64, String)>) -> Axis {
        Axis { marks, ..self }
    }

    #[must_use]
    pub(crate) fn with_thresholds(self, thresholds: Vec<Threshold>) -> Axis {
        Axis { thresholds, ..self }
    }

    #[must_use]
    pub(crate) fn with_ends(self, low: f64, high: f64) -> Axis {
        Axis { ends: Some((low, high)), ..self }
    }
}

impl Series {
    /// A solid line without dots.
    pub(crate) fn new(label: impl Into<String>, colour: Colour, points: Vec<Point>) -> Series {
        let label = label.into();
        Series {
            label,
            colour,
            is_dashed: false,
            has_dots: false,
            is_filled: false,
            has_no_line: false,
            has_band: false,
            form: Form::of(colour),
            points,
            words: Vec::new(),
        }
    }
}

impl Form {
    /// Series of different colours have different forms, as far as there are.
    fn of(colour: Colour) -> Form {
        const FORMS: [Form; 5] = [Form::Dot, Form::Square, Form::Triangle, Form::Diamond, Form::Ring];
        if let Colour::Run(number) = colour { FORMS[number % FORMS.len()] } else { Form::Dot }
    }
}

impl Point {
    pub(crate) fn new(x: f64, y: f64) -> Point {
        Point { x, y, interval: None, signs: Vec::new(), label: String::new() }
    }
}

/// The highest point of series that are stacked.
pub(crate) fn stacked_max(series: &[Series]) -> f64 {
    let top = lines::stacked(series);
    top.iter().flat_map(|series| &series.points).map(|point| point.y).fold(0.0, f64::max)
}
