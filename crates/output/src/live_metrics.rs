//! Figures of a run in progress as metric families, for Prometheus and compatible systems. `metrics_server` serves them
//! over HTTP. Counters exclude the warm-up; the standard requires seconds as unit of time.

use std::time::Duration;

use stats::{Counts, Distribution, ScriptStats};

use report::OpenMetrics;

const NANOS_PER_SECOND: f64 = 1e9;

/// Totals of the measured window.
#[derive(Clone, Debug)]
pub struct Metrics<'a> {
    /// The version of pgmeter.
    pub version: &'a str,
    /// `simple`, `extended` or `prepared`.
    pub protocol: &'a str,
    /// Simulated users.
    pub clients: u32,
    /// Time since the start of the measured window; zero during the warm-up.
    pub measured: Duration,
    /// Whether the run is in its warm-up.
    pub warmup: bool,
    /// Succeeded transactions per second, in the newest second.
    pub tps: f64,
    /// Name and totals of each script.
    pub scripts: Vec<(&'a str, &'a ScriptStats)>,
    /// Wait events of the newest second: event type, event, mean number of backends.
    pub waits: Vec<(&'a str, &'a str, f64)>,
}

/// The complete text, `# EOF` included.
pub fn open_metrics(metrics: &Metrics<'_>) -> String {
    let Metrics { version, protocol, clients, measured, warmup, tps, scripts, waits } = metrics;
    let mut out = OpenMetrics::default();
    out.family("pgmeter_run", "info", "What runs.");
    out.sample("pgmeter_run_info", &[("version", version), ("protocol", protocol)], 1.0);
    out.gauge("pgmeter_clients", "Simulated users, each with its own connection.", f64::from(*clients));
    out.gauge("pgmeter_measured_seconds", "Time since measuring began.", measured.as_secs_f64());
    out.gauge("pgmeter_warming_up", "1 until measuring begins, then 0.", f64::from(u8::from(*warmup)));
    out.gauge("pgmeter_throughput", "Succeeded transactions per second, in the newest second.", *tps);
    transactions(&mut out, scripts);
    late_or_skipped(&mut out, scripts);
    latencies(&mut out, "response", "From when a transaction was scheduled to its end.", scripts, |s| {
        &s.response
    });
    latencies(&mut out, "service", "From when a transaction was started to its end.", scripts, |s| {
        &s.service
    });
    if !waits.is_empty() {
        out.family("pgmeter_backends", "gauge", "Backends of the run by what they waited for, on average.");
        for (event_type, event, backends) in waits {
            out.sample("pgmeter_backends", &[("event_type", event_type), ("event", event)], *backends);
        }
    }
    out.text()
}

/// A number among the counts of a script.
type Number = fn(&Counts) -> u64;

fn transactions(out: &mut OpenMetrics, scripts: &[(&str, &ScriptStats)]) {
    out.family("pgmeter_transactions", "counter", "Transactions by script and ending.");
    for (script, stats) in scripts {
        let counts = &stats.counts;
        let endings = [
            ("succeeded", counts.succeeded),
            ("failed", counts.failed),
            ("skipped", counts.skipped),
            ("unfinished", counts.unfinished),
            ("unknown", counts.unknown),
        ];
        for (ending, number) in endings {
            out.sample(
                "pgmeter_transactions_total",
                &[("script", script), ("ending", ending)],
                number as f64,
            );
        }
    }
    let counters: [(&str, &str, Number); 2] = [
        ("pgmeter_retries", "Tries after the first, by script.", |counts| counts.retries),
        ("pgmeter_late_transactions", "Succeeded above the latency limit, by script.", |counts| counts.late),
    ];
    for (name, help, number) in counters {
        out.family(name, "counter", help);
        for (script, stats) in scripts {
            out.sample(&format!("{name}_total"), &[("script", script)], number(&stats.counts) as f64);
        }
    }
}

/// Share of all scheduled transactions that were late or skipped; 0 without a latency limit.
fn late_or_skipped(out: &mut OpenMetrics, scripts: &[(&str, &ScriptStats)]) {
    let mut all = Counts::default();
    scripts.iter().for_each(|(_, script)| all.merge(&script.counts));
    let help = "Share of all transactions that were due that were skipped or above the latency limit.";
    out.gauge("pgmeter_late_or_skipped_ratio", help, all.late_or_skipped_share());
}

/// A summary: quantiles of the measured window, with three significant digits.
fn latencies(
    out: &mut OpenMetrics,
    kind: &str,
    help: &str,
    scripts: &[(&str, &ScriptStats)],
    of: fn(&ScriptStats) -> &Distribution,
) {
    const QUANTILES: [(&str, f64); 5] =
        [("0.5", 0.5), ("0.9", 0.9), ("0.95", 0.95), ("0.99", 0.99), ("0.999", 0.999)];
    let name = format!("pgmeter_{kind}_seconds");
    out.family(&name, "summary", help);
    for (script, stats) in scripts {
        let distribution = of(stats);
        for (label, q) in QUANTILES {
            if let Some(ns) = distribution.quantile_ns(q) {
                out.sample(&name, &[("script", script), ("quantile", label)], ns as f64 / NANOS_PER_SECOND);
            }
        }
        let moments = distribution.moments();
        out.sample(&format!("{name}_count"), &[("script", script)], moments.count as f64);
        out.sample(&format!("{name}_sum"), &[("script", script)], moments.sum_ns as f64 / NANOS_PER_SECOND);
    }
}
