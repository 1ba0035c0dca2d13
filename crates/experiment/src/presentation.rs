//! Charts, and named differences and ratios of combinations, that an experiment file defines. They are read here and
//! checked against the factors, and drawn elsewhere.

use config::{Complaint, Node, Table, unknown_key};
use results::{ChartSpec, ContrastSpec};

use crate::factors::{Factor, checked_combination, names};
use crate::fields;

/// Metrics of a trial for charts and tables. Times are in microseconds, `failed`, `late` and shares in percent. `operations`
/// is tps times the operations of a transaction. `cycle` is clients ÷ transactions ended per second, by Little's law
/// the mean time from the start of a client's transaction to the start of its next one, connecting included.
pub const METRICS: [&str; 39] = [
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
    "server_user_cpu",
    "server_system_cpu",
    "shared_buffers_share",
    "system_cache_share",
    "disk_share",
    "client_cpu",
    "round_trips",
    "sent_bytes",
    "received_bytes",
    "pooler_cpu",
    "pooler_cpu_share",
    "pooler_wait",
    "plan_time",
    "execution_time",
    "replay_lag",
    "replay_lag_max",
    "replay_lag_bytes",
    "stale_reads",
    "staleness",
    "write_outage",
    "recovery",
    "renewed_sessions",
    "connecting_p99",
    "reconnect_storm",
];

/// Metrics of a trial of steps: the sums over its steps of the mean `duration` in microseconds, WAL, and backend CPU
/// time.
pub const METRICS_OF_STEPS: [&str; 3] = ["duration", "wal_bytes", "server_cpu"];

/// Can replace a factor in a chart of steps: each step is then shown separately.
pub const STEP: &str = "step";

/// The presentation that the file defines.
pub(crate) struct Presentation {
    pub(crate) charts: Vec<ChartSpec>,
    pub(crate) differences: Vec<ContrastSpec>,
    pub(crate) ratios: Vec<ContrastSpec>,
}

/// The table of a kind of [`ContrastSpec`].
struct ContrastKind {
    key: &'static str,
    title: &'static str,
    fields: &'static [fields::Field],
    /// The key of the other combination.
    reference: &'static str,
    needs_reference: bool,
    /// The metric if the file names none.
    metric: &'static str,
    metric_of_steps: &'static str,
}

const DIFFERENCE: ContrastKind = ContrastKind {
    key: "difference",
    title: "[[difference]]",
    fields: fields::DIFFERENCE,
    reference: "minus",
    needs_reference: false,
    metric: "cycle",
    metric_of_steps: "duration",
};

const RATIO: ContrastKind = ContrastKind {
    key: "ratio",
    title: "[[ratio]]",
    fields: fields::RATIO,
    reference: "to",
    needs_reference: true,
    metric: "tps",
    metric_of_steps: "duration",
};

/// `[[chart]]`, `[[difference]]` and `[[ratio]]`.
pub(crate) fn presentation(
    top: &mut Table,
    factors: &[Factor],
    has_steps: bool,
) -> Result<Presentation, Complaint> {
    let metrics: &[&str] = if has_steps { &METRICS_OF_STEPS } else { &METRICS };
    let charts = top.one_or_more("chart").into_iter().map(|node| chart(node, factors, metrics, has_steps));
    let charts = charts.collect::<Result<_, _>>()?;
    let mut contrasts = |kind: &ContrastKind| {
        let if_absent = if has_steps { kind.metric_of_steps } else { kind.metric };
        let nodes = top.one_or_more(kind.key).into_iter();
        nodes.map(|node| contrast(node, kind, factors, metrics, if_absent)).collect::<Result<_, _>>()
    };
    Ok(Presentation { charts, differences: contrasts(&DIFFERENCE)?, ratios: contrasts(&RATIO)? })
}

fn chart(node: Node, factors: &[Factor], metrics: &[&str], has_steps: bool) -> Result<ChartSpec, Complaint> {
    let mut table = node.into_table()?;
    table.check_keys("[[chart]]", &fields::names(fields::CHART))?;
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
    let x = factor("x")?.ok_or_else(|| Complaint::at(place, "a chart requires x, the name of a factor"))?;
    let (series, facet) = (factor("series")?, factor("facet")?);
    let mut is_log = |key: &str| {
        Ok(table.read(key, |node| node.one_of(&[("linear", false), ("log", true)]))?.unwrap_or_default())
    };
    let (x_log, y_log) = (is_log("x_scale")?, is_log("y_scale")?);
    let y = metric(&mut table, "y", metrics, metrics[0])?;
    let chart = ChartSpec { title: table.text("title")?, x, y, series, facet, x_log, y_log };
    let named: Vec<&String> =
        [Some(&chart.x), chart.series.as_ref(), chart.facet.as_ref()].into_iter().flatten().collect();
    if let Some(twice) =
        named.iter().enumerate().find_map(|(at, name)| named[..at].contains(name).then_some(name))
    {
        let what = format!("the chart uses {twice} twice: x, series and facet must be different factors");
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

fn contrast(
    node: Node,
    kind: &ContrastKind,
    factors: &[Factor],
    metrics: &[&str],
    metric_if_absent: &str,
) -> Result<ContrastSpec, Complaint> {
    let ContrastKind { key, title, fields, reference, needs_reference, .. } = kind;
    let mut table = node.into_table()?;
    table.check_keys(title, &fields::names(fields))?;
    let place = table.place;
    let mut cell = |key: &str| table.read(key, |node| checked_combination(node, factors));
    let (of, other) = (cell("of")?, cell(reference)?);
    let name = table.text("name")?.ok_or_else(|| Complaint::at(place, format!("a {key} requires a name")))?;
    let needs = |which: &str| {
        let what = format!("a {key} requires \"{which}\", a combination such as {{ case = \"first\" }}");
        Complaint::at(place, what)
    };
    let of = of.ok_or_else(|| needs("of"))?;
    if *needs_reference && other.is_none() {
        return Err(needs(reference));
    }
    Ok(ContrastSpec {
        name,
        metric: metric(&mut table, "metric", metrics, metric_if_absent)?,
        of,
        reference: other,
    })
}
