//! The pooler of a run: what it was, what it cost, and how long clients waited for a connection to the server. Used by
//! `document`, `brief` and `load`.

use results::{Pooler, PoolerFigures, PoolerSample, Record};

use crate::chart::runs::{POINTS_MAX, neighbours};
use crate::chart::{Axis, Chart, Colour, Plot, Point, Series};
use crate::document::{Block, Fact};
use crate::figures::{TIE, as_asked, count, counted, latency};
use crate::metrics::{Metric, Quantity};
use crate::prose::{enumerate, escaped_line};

/// `PgBouncer 1.18.0, transaction pooling, at most 2 of 20 connections: 12.3 µs of CPU …`, for the terminal.
pub(super) fn brief(record: &Record) -> Option<String> {
    let pooler = record.summary.pooler.as_ref()?;
    let used = pooler.figures.as_ref().map(|figures| {
        format!(", up to {} of {} connections", figures.server_connections_max, pooler.pool_size)
    });
    let parts = [
        Metric::PoolerCpu.shown(record).map(|cpu| format!("{cpu} of CPU")),
        Metric::PoolerWait.shown(record).map(|wait| format!("{wait} of waiting for a connection")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let each =
        if parts.is_empty() { String::new() } else { format!("; {} per transaction", parts.join(" and ")) };
    let share = Metric::PoolerCpuShare.shown(record).map(|share| format!(", {share} of a CPU"));
    let (used, share) = (used.unwrap_or_default(), share.unwrap_or_default());
    Some(format!("{}{used}{each}{share}", name(pooler)))
}

/// `PgBouncer 1.18.0 with transaction pooling`
fn name(pooler: &Pooler) -> String {
    format!("PgBouncer{TIE}{} with {} pooling", escaped_line(&pooler.version), pooler.mode.name())
}

/// All of it, for the page and Markdown.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let Some(pooler) = &record.summary.pooler else { return Vec::new() };
    let mut blocks = vec![Block::Facts(facts(record, pooler))];
    if let Some(figures) = &pooler.figures {
        blocks.extend(charts(figures).into_iter().map(Block::chart));
    }
    let missing: Vec<String> = pooler
        .missing
        .iter()
        .map(|missing| format!("{} ({})", escaped_line(&missing.what), escaped_line(missing.why.as_str())))
        .collect();
    if !missing.is_empty() {
        blocks.push(Block::quiet(format!("Not observed: {}.", enumerate(&missing))));
    }
    blocks
}

fn facts(record: &Record, pooler: &Pooler) -> Vec<Fact> {
    let path = if pooler.behind_relay {
        "clients → relay → PgBouncer → server"
    } else {
        "clients → PgBouncer → server"
    };
    let statements = match pooler.max_prepared_statements {
        None => "not kept: PgBouncer 1.21 and newer can".to_owned(),
        Some(0) => "not kept".to_owned(),
        Some(most) => format!("up to {most} for each connection to the server"),
    };
    let settings = pooler
        .settings
        .iter()
        .map(|(name, value)| format!("{} = {}", escaped_line(name), escaped_line(value.as_str())));
    let settings: Vec<String> = settings.collect();
    let mut facts = vec![
        Fact::new("pooler", name(pooler)),
        Fact::new("path", path),
        Fact::new("pool", counted(u64::from(pooler.pool_size), "connection", "connections")),
        Fact::new("prepared statements", statements),
    ];
    if !settings.is_empty() {
        facts.push(Fact::new("settings", settings.join(", ")));
    }
    for metric in [Metric::PoolerCpu, Metric::PoolerCpuShare, Metric::PoolerWait] {
        facts.extend(metric.shown(record).map(|figure| Fact::new(metric.row().label, figure)));
    }
    if let Some(figures) = &pooler.figures {
        let mean = as_asked((figures.clients_waiting_mean * 100.0).round() / 100.0);
        let waiting = format!("{mean} on average, up to {}", figures.clients_waiting_max);
        facts.extend([
            Fact::new("connections used, at most", as_asked(f64::from(figures.server_connections_max))),
            Fact::new("clients waiting for one", waiting),
            Fact::new("longest wait seen", latency(figures.longest_wait_us as f64)),
            Fact::new("transactions, as it counts them", count(figures.transactions)),
        ]);
    }
    facts
}

type Line = (&'static str, Colour, fn(&PoolerSample) -> Option<f64>);

fn charts(figures: &PoolerFigures) -> Vec<Chart> {
    const COUNTS: [Line; 3] = [
        ("clients waiting", Colour::Bad, |sample| Some(f64::from(sample.clients_waiting))),
        ("connections used", Colour::Run(0), |sample| Some(f64::from(sample.servers_active))),
        ("connections idle", Colour::Run(7), |sample| Some(f64::from(sample.servers_idle))),
    ];
    const WAITS: [Line; 1] = [("mean wait", Colour::Run(0), |sample| {
        (sample.transactions > 0).then(|| sample.wait_us as f64 / sample.transactions as f64)
    })];
    const CPU: [Line; 1] = [("CPU time", Colour::Run(1), |sample| {
        let seconds = sample.end_s - sample.start_s;
        sample.cpu_s.filter(|_| seconds > 0.0).map(|cpu_s| cpu_s / seconds)
    })];
    let Some(last) = figures.samples.last() else { return Vec::new() };
    let time = Axis::new("", Quantity::Seconds).with_ends(0.0, last.end_s);
    let every = neighbours(figures.samples.len(), POINTS_MAX);
    let chart = |title: &str, caption: &str, quantity, lines: &[Line]| {
        let series = lines.iter().map(|(label, colour, of)| {
            let points = figures.samples.iter().step_by(every).filter_map(|sample| {
                Some(Point::new(f64::midpoint(sample.start_s, sample.end_s), of(sample)?))
            });
            Series::new(*label, *colour, points.collect())
        });
        let series = series.collect();
        let y = Axis::new("", quantity);
        let plot = Plot::lines(time.clone(), y, series);
        Chart { is_low: true, ..Chart::new(title, caption, plot) }
    };
    vec![
        chart("Pool", "clients and connections to the server", Quantity::Number, &COUNTS),
        chart("Wait for a connection", "mean of a transaction", Quantity::Microseconds, &WAITS),
        chart("CPU time of the pooler", "of one CPU; it has one thread", Quantity::Share, &CPU),
    ]
}
