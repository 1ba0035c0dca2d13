//! What an experiment's file says of showing its results: charts, and differences that are told beside the table.
//! Read here and checked against the factors; drawn elsewhere.

use config::{Complaint, Node, Table, unknown_key};

use crate::experiment::{Factor, label};
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

/// `[[chart]]` and `[[difference]]`.
pub(crate) fn presentation(
    top: &mut Table,
    factors: &[Factor],
    has_steps: bool,
) -> Result<(Vec<Chart>, Vec<Difference>), Complaint> {
    let metrics: &[&str] = if has_steps { &METRICS_OF_STEPS } else { &METRICS };
    let charts = top.one_or_more("chart").into_iter().map(|node| chart(node, factors, metrics, has_steps));
    let charts = charts.collect::<Result<_, _>>()?;
    let of = if has_steps { metrics[0] } else { "cycle" };
    let differences = top.one_or_more("difference").into_iter();
    let differences = differences.map(|node| difference(node, factors, metrics, of));
    Ok((charts, differences.collect::<Result<_, _>>()?))
}

fn chart(node: Node, factors: &[Factor], metrics: &[&str], has_steps: bool) -> Result<Chart, Complaint> {
    let mut table = node.into_table()?;
    table.check_keys("[[chart]]", &schema::names(schema::CHART))?;
    let place = table.place;
    let mut known = names(factors);
    if has_steps {
        known.push(STEP);
    }
    let mut factor = |key: &str| {
        table.read(key, |node| match node.text()? {
            name if known.contains(&name) => Ok(name.to_owned()),
            name => Err(Complaint::at(node.place, unknown_key(name, "the factors", &known))),
        })
    };
    let x = factor("x")?.ok_or_else(|| Complaint::at(place, "a chart needs x, the name of a factor"))?;
    let (series, facet) = (factor("series")?, factor("facet")?);
    let mut is_log = |key: &str| {
        Ok(table.read(key, |node| node.one_of(&[("linear", false), ("log", true)]))?.unwrap_or_default())
    };
    let (x_log, y_log) = (is_log("x_scale")?, is_log("y_scale")?);
    let y = metric(&mut table, "y", metrics, metrics[0])?;
    let chart = Chart { title: table.text("title")?, x, y, series, facet, x_log, y_log };
    let named: Vec<&String> =
        [Some(&chart.x), chart.series.as_ref(), chart.facet.as_ref()].into_iter().flatten().collect();
    if let Some(twice) =
        named.iter().enumerate().find_map(|(at, name)| named[..at].contains(name).then_some(name))
    {
        let what = format!("the chart names {twice} twice: x, series and facet are different factors");
        return Err(Complaint::at(place, what));
    }
    Ok(chart)
}

/// One of `metrics`.
fn metric(table: &mut Table, key: &str, metrics: &[&str], if_absent: &str) -> Result<String, Complaint> {
    let metric = table.read(key, |node| match metrics.iter().find(|metric| node.text() == Ok(metric)) {
        Some(metric) => Ok((*metric).to_owned()),
        None => Err(node.expected(&format!("one of {}", metrics.join(", ")))),
    });
    Ok(metric?.unwrap_or_else(|| if_absent.to_owned()))
}

fn difference(node: Node, factors: &[Factor], metrics: &[&str], of: &str) -> Result<Difference, Complaint> {
    let mut table = node.into_table()?;
    table.check_keys("[[difference]]", &schema::names(schema::DIFFERENCE))?;
    let place = table.place;
    let mut cell = |key: &str| table.read(key, |node| checked_combination(node, factors));
    let (of_cell, minus) = (cell("of")?, cell("minus")?);
    let name = table.text("name")?.ok_or_else(|| Complaint::at(place, "a difference needs a name"))?;
    let needed = "a difference needs of, a combination such as { case = \"first\" }";
    let of_cell = of_cell.ok_or_else(|| Complaint::at(place, needed))?;
    Ok(Difference { name, metric: metric(&mut table, "metric", metrics, of)?, of: of_cell, minus })
}

fn names(factors: &[Factor]) -> Vec<&str> {
    factors.iter().map(|factor| factor.name.as_str()).collect()
}

/// `{ network = "socket", clients = 1 }` as pairs of factor and label.
pub(crate) fn combination(node: &Node) -> Result<Combination, Complaint> {
    let table = node.clone().into_table()?;
    table.entries.into_iter().map(|entry| Ok((entry.key, label(&entry.node)?))).collect()
}

/// The same of factors and levels that there are.
pub(crate) fn checked_combination(node: &Node, factors: &[Factor]) -> Result<Combination, Complaint> {
    let pairs = combination(node)?;
    check_combination(&pairs, factors).map_err(|what| Complaint::at(node.place, what))?;
    Ok(pairs)
}

pub(crate) fn check_combination(pairs: &[(String, String)], factors: &[Factor]) -> Result<(), String> {
    for (name, label) in pairs {
        let Some(factor) = factors.iter().find(|factor| factor.name == *name) else {
            return Err(unknown_key(name, "the factors", &names(factors)));
        };
        if !factor.levels.iter().any(|level| level.label == *label) {
            return Err(format!("the factor {name} has no level {label}"));
        }
    }
    Ok(())
}
