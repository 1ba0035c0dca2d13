//! What an experiment's file says of showing its results: charts, and differences that are told beside the table.
//! Read here and checked against the factors; drawn elsewhere.

use config::{Complaint, Node, Value, unknown_key};

use crate::experiment::{Factor, label, text};
use crate::schema;

/// Figures of a trial that charts and tables may show. Times are in microseconds; `failed` and `late` in percent;
/// `operations` is tps times the operations of a transaction; `cycle` is clients ÷ transactions ended per
/// second, by Little's law the mean time from one start of a client's to its next, connecting included.
pub const METRICS: [&str; 15] = [
    "tps",
    "operations",
    "mean",
    "stddev",
    "p50",
    "p90",
    "p95",
    "p99",
    "p999",
    "max",
    "cycle",
    "failed",
    "late",
    "wal_bytes",
    "server_cpu",
];

/// Figures of a trial of steps: the sum of its steps' mean `duration`, in microseconds, of their WAL, and of the CPU
/// time of their backends.
pub const METRICS_OF_STEPS: [&str; 3] = ["duration", "wal_bytes", "server_cpu"];

/// Stands in a chart of steps where a factor could: then each step is shown by itself.
pub const STEP: &str = "step";

/// Factors and levels.
pub(crate) type Combination = Vec<(String, String)>;

/// A chart of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Above it.
    pub title: Option<String>,
    /// The factor along the horizontal axis.
    pub x: String,
    /// The figure along the vertical axis.
    pub y: String,
    /// The factor that gives the lines.
    pub series: Option<String>,
    /// The factor that gives the panels.
    pub facet: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub x_log: bool,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
}

/// What something costs, by subtraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is that costs.
    pub name: String,
    /// Of which figure.
    pub metric: String,
    /// Factors and levels of the combinations that have it.
    pub of: Vec<(String, String)>,
    /// Of those that lack it; `None`: nothing is subtracted.
    pub minus: Option<Vec<(String, String)>>,
}

/// `[[chart]]`.
pub(crate) fn charts(
    node: Option<Node>,
    factors: &[Factor],
    has_steps: bool,
) -> Result<Vec<Chart>, Complaint> {
    listed(node).into_iter().map(|node| chart(node, factors, metrics(has_steps))).collect()
}

/// What charts may show of trials of this kind.
fn metrics(has_steps: bool) -> &'static [&'static str] {
    if has_steps { &METRICS_OF_STEPS } else { &METRICS }
}

/// `[[difference]]`.
pub(crate) fn differences(
    node: Option<Node>,
    factors: &[Factor],
    has_steps: bool,
) -> Result<Vec<Difference>, Complaint> {
    listed(node).into_iter().map(|node| difference(node, factors, metrics(has_steps))).collect()
}

fn listed(node: Option<Node>) -> Vec<Node> {
    match node {
        None => Vec::new(),
        Some(Node { value: Value::List(nodes), .. }) => nodes,
        Some(node) => vec![node],
    }
}

fn chart(node: Node, factors: &[Factor], metrics: &'static [&'static str]) -> Result<Chart, Complaint> {
    let place = node.place;
    let mut table = node.into_table()?;
    let mut known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    if metrics == METRICS_OF_STEPS {
        known.push(STEP);
    }
    let factor = |node: Option<Node>| -> Result<Option<String>, Complaint> {
        let Some(node) = node else { return Ok(None) };
        let name = node.text()?;
        if known.contains(&name) {
            return Ok(Some(name.to_owned()));
        }
        Err(Complaint::at(node.place, unknown_key(name, "the factors", &known)))
    };
    let x = factor(table.take("x"))?
        .ok_or_else(|| Complaint::at(place, "a chart needs x, the name of a factor"))?;
    let y = metric(table.take("y"), metrics, metrics[0])?;
    let scale =
        |node: Option<Node>| node.map_or(Ok(false), |node| node.one_of(&[("linear", false), ("log", true)]));
    let chart = Chart {
        title: text(table.take("title"))?,
        x,
        y,
        series: factor(table.take("series"))?,
        facet: factor(table.take("facet"))?,
        x_log: scale(table.take("x_scale"))?,
        y_log: scale(table.take("y_scale"))?,
    };
    let named: Vec<&String> =
        [Some(&chart.x), chart.series.as_ref(), chart.facet.as_ref()].into_iter().flatten().collect();
    if let Some(twice) =
        named.iter().enumerate().find_map(|(at, name)| named[..at].contains(name).then_some(name))
    {
        return Err(Complaint::at(
            place,
            format!("the chart names {twice} twice: x, series and facet are different factors"),
        ));
    }
    table.finish("[[chart]]", &schema::names(schema::CHART))?;
    Ok(chart)
}

/// One of `metrics`.
fn metric(node: Option<Node>, metrics: &[&str], if_absent: &str) -> Result<String, Complaint> {
    let Some(node) = node else { return Ok(if_absent.to_owned()) };
    match metrics.iter().find(|metric| node.text() == Ok(metric)) {
        Some(metric) => Ok((*metric).to_owned()),
        None => Err(node.expected(&format!("one of {}", metrics.join(", ")))),
    }
}

fn difference(
    node: Node,
    factors: &[Factor],
    metrics: &'static [&'static str],
) -> Result<Difference, Complaint> {
    let place = node.place;
    let mut table = node.into_table()?;
    let mut cell = |key: &str| -> Result<Option<Combination>, Complaint> {
        let Some(node) = table.take(key) else { return Ok(None) };
        let place = node.place;
        let pairs = combination(node)?;
        check_combination(&pairs, factors).map_err(|what| Complaint::at(place, what))?;
        Ok(Some(pairs))
    };
    let (of, minus) = (cell("of")?, cell("minus")?);
    let name = text(table.take("name"))?.ok_or_else(|| Complaint::at(place, "a difference needs a name"))?;
    let of = of.ok_or_else(|| {
        Complaint::at(place, "a difference needs of, a combination such as { case = \"first\" }")
    })?;
    let metric =
        metric(table.take("metric"), metrics, if metrics == METRICS { "cycle" } else { metrics[0] })?;
    table.finish("[[difference]]", &schema::names(schema::DIFFERENCE))?;
    Ok(Difference { name, metric, of, minus })
}

/// `{ network = "socket", clients = 1 }` as pairs of factor and label.
pub(crate) fn combination(node: Node) -> Result<Combination, Complaint> {
    let table = node.into_table()?;
    table.entries.into_iter().map(|entry| Ok((entry.key, label(&entry.node)?))).collect()
}

pub(crate) fn check_combination(pairs: &[(String, String)], factors: &[Factor]) -> Result<(), String> {
    for (name, label) in pairs {
        let known: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        let Some(factor) = factors.iter().find(|factor| factor.name == *name) else {
            return Err(unknown_key(name, "the factors", &known));
        };
        if !factor.levels.iter().any(|level| level.label == *label) {
            return Err(format!("the factor {name} has no level {label}"));
        }
    }
    Ok(())
}
