//! Runs as one long table: a line per figure, so that tools can filter and group them. RFC 4180 with line feeds.
//! `docs/reports.md` lists the columns and the metrics.

use results::{Counts, Latency, OtherEndings, Record};

use crate::Run;
use crate::chart::runs::{LatencyRows, POINTS_MAX, Timeline};
use crate::metrics::Metric;
use crate::prose::escaped_line;

/// The names of the columns.
pub const CSV_COLUMNS: [&str; 8] = ["run", "part", "script", "item", "start_s", "end_s", "metric", "value"];

/// A line without run and value.
#[derive(Copy, Clone, Default)]
struct Place<'a> {
    part: &'a str,
    script: &'a str,
    item: &'a str,
    time_s: Option<(f64, Option<f64>)>,
}

/// The table with its header.
pub fn csv(runs: &[Run<'_>]) -> String {
    let mut out = CSV_COLUMNS.join(",") + "\n";
    for run in runs {
        let mut lines = Lines { out: &mut out, run: run.name };
        summary(&mut lines, run.record);
        over_time(&mut lines, run.record);
        outages(&mut lines, run.record);
        actions(&mut lines, run.record);
        pooler(&mut lines, run.record);
        observation(&mut lines, run.record);
    }
    out
}

struct Lines<'a> {
    out: &'a mut String,
    run: &'a str,
}

impl Lines<'_> {
    fn add(&mut self, place: Place<'_>, metric: &str, value: f64) {
        if !value.is_finite() {
            return;
        }
        let (start_s, end_s) = match place.time_s {
            None => (String::new(), String::new()),
            Some((start_s, end_s)) => {
                (start_s.to_string(), end_s.map(|end_s| end_s.to_string()).unwrap_or_default())
            }
        };
        let value = value.to_string();
        let [run, script, item, metric] = [self.run, place.script, place.item, metric].map(inert);
        let cells = [&run, place.part, &script, &item, &start_s, &end_s, &metric, &value].map(quoted);
        *self.out += &(cells.join(",") + "\n");
    }

    fn add_some(&mut self, place: Place<'_>, metric: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.add(place, metric, value);
        }
    }

    fn latency(&mut self, place: Place<'_>, kind: &str, figures: Option<Latency>) {
        let Some(figures) = figures else { return };
        for (row, of) in Metric::of_latency() {
            self.add(place, &format!("{kind}_{}_us", row.name), of(&figures));
        }
    }

    fn counts(&mut self, place: Place<'_>, counts: &Counts) {
        let Counts {
            scheduled,
            succeeded,
            failed,
            skipped,
            unfinished,
            unknown,
            reserved,
            late,
            retried,
            retries,
            ..
        } = *counts;
        for (metric, number) in [
            ("scheduled", scheduled),
            ("succeeded", succeeded),
            ("failed", failed),
            ("skipped", skipped),
            ("unfinished", unfinished),
            ("unknown", unknown),
            ("reserved", reserved),
            ("late", late),
            ("retried", retried),
            ("retries", retries),
        ] {
            self.add(place, metric, number as f64);
        }
    }
}

/// The load generators of a distributed run.
fn ranks(lines: &mut Lines<'_>, record: &Record) {
    for rank in &record.summary.ranks {
        let item = format!("{}: {}", rank.rank, rank.host.hostname);
        let place = Place { part: "rank", item: &item, ..Place::default() };
        lines.add(place, "clients", rank.clients.into());
        lines.add(place, "workers", rank.workers.into());
        lines.add(place, "tps", rank.tps);
        lines.counts(place, &rank.counts);
        lines.latency(place, "response", rank.response_us);
        lines.add_some(place, "client_cpu_us_per_transaction", rank.client_cpu_us_per_transaction);
        let lateness = rank.generator.as_ref().and_then(|generator| generator.wakeup_lateness_us);
        lines.add_some(place, "wakeup_lateness_p99_us", lateness.map(|lateness| lateness.p99));
        if let Some(clock) = rank.clock {
            lines.add(place, "clock_offset_ms", clock.offset_ms);
            lines.add(place, "clock_offset_error_ms", clock.offset_error_ms);
            lines.add(place, "start_skew_us", clock.start_skew_us);
            lines.add(place, "start_skew_error_us", clock.start_skew_error_us);
        }
    }
}

fn summary(lines: &mut Lines<'_>, record: &Record) {
    let summary = &record.summary;
    let place = Place { part: "summary", ..Place::default() };
    lines.add(place, "duration_s", summary.duration_s);
    for row in Metric::of_run() {
        lines.add_some(place, row.name, row.metric.of(record));
    }
    lines.add_some(place, "tps_low", summary.confidence.tps.map(|estimate| estimate.low));
    lines.add_some(place, "tps_high", summary.confidence.tps.map(|estimate| estimate.high));
    lines.latency(place, "response", summary.response_of_all_us());
    lines.latency(place, "succeeded_response", summary.response_us);
    lines.latency(place, "service", summary.service_us);
    lines.latency(place, "response_with_stalls", summary.response_with_stalls_us);
    let OtherEndings { failed_us, skipped_us, unfinished_us, unknown_us, all_us: _ } = summary.other_endings;
    lines.latency(place, "failed_response", failed_us);
    lines.latency(place, "skipped_response", skipped_us);
    lines.latency(place, "unfinished_response", unfinished_us);
    lines.latency(place, "unknown_response", unknown_us);
    if let Some(stalls) = &summary.stalls {
        for stall in &stalls.longest {
            let time_s = Some((stall.start_s, Some(stall.end_s)));
            lines.add(Place { part: "stall", time_s, ..Place::default() }, "length_s", stall.length_s());
        }
    }
    ranks(lines, record);
    for script in &summary.scripts {
        let place = Place { part: "script", script: &script.name, ..Place::default() };
        lines.add(place, "tps", script.tps);
        lines.counts(place, &script.counts);
        lines.latency(place, "response", script.response_of_all_us());
        lines.latency(place, "succeeded_response", script.response_us);
        lines.latency(place, "service", script.service_us);
        for command in &script.commands {
            let item = format!("{}: {}", command.line, command.text);
            let place = Place { part: "command", item: &item, ..place };
            lines.add(place, "executions", command.executions as f64);
            lines.add_some(place, "mean_us", command.mean_us);
            lines.add_some(place, "stddev_us", command.stddev_us);
            lines.add_some(place, "min_us", command.min_us);
            lines.add_some(place, "max_us", command.max_us);
            lines.latency(place, "latency", command.latency_us);
            lines.add(place, "failures", command.failures as f64);
            lines.add(place, "retries", command.retries as f64);
            lines.add_some(place, "copied_rows", command.copied.map(|copied| copied.rows as f64));
            lines.add_some(place, "copied_bytes", command.copied.map(|copied| copied.bytes as f64));
        }
    }
}

fn over_time(lines: &mut Lines<'_>, record: &Record) {
    let most = record.intervals.len().max(POINTS_MAX);
    let timeline = Timeline::of(record, most, LatencyRows::for_all(std::iter::empty()));
    for point in &timeline.points {
        let time_s = Some((point.start_s, Some(point.end_s)));
        let place = Place { part: "interval", time_s, ..Place::default() };
        lines.add(place, "tps", point.tps);
        lines.add(place, "failed_or_skipped_tps", point.lost_tps);
        if let Some(quantiles) = point.quantiles {
            lines.add(place, "response_p50_us", quantiles.p50);
            lines.add(place, "response_p95_us", quantiles.p95);
            lines.add(place, "response_p99_us", quantiles.p99);
            lines.add(place, "response_p999_us", quantiles.p999);
            lines.add(place, "response_max_us", quantiles.max);
        }
    }
}

/// The outages one by one; the longest of them is in the summary.
fn outages(lines: &mut Lines<'_>, record: &Record) {
    let outages = record.summary.outages.iter().flat_map(|outages| &outages.outages);
    for (number, outage) in (1..).zip(outages) {
        let item = number.to_string();
        let time_s = Some((outage.first_error_s, outage.last_connect_s));
        let place = Place { part: "outage", item: &item, time_s, ..Place::default() };
        for (metric, seconds) in [
            ("first_error_s", Some(outage.first_error_s)),
            ("first_connect_s", outage.first_connect_s),
            ("last_connect_s", outage.last_connect_s),
            ("first_read_s", outage.first_read_s),
            ("first_write_s", outage.first_write_s),
            ("recovered_s", outage.recovered_s),
            ("recovery_s", outage.recovery_s()),
            ("former_tps", outage.former_tps),
        ] {
            lines.add_some(place, metric, seconds);
        }
        lines.add(place, "clients", outage.clients as f64);
        lines.add(place, "hung", outage.hung as f64);
        lines.add(place, "never", outage.never as f64);
        for attempts in &outage.attempts {
            lines.add(place, &format!("attempts_{}", attempts.outcome.name()), attempts.count as f64);
        }
        lines.latency(place, "without_success", outage.without_success_us);
        let Some(window) = &outage.window else { continue };
        lines.add(place, "window_start_s", window.start_s);
        lines.add(place, "window_end_s", window.end_s);
        lines.add(place, "window_length_s", window.length_s());
        for (metric, number) in [
            ("window_arrivals", window.arrivals),
            ("window_succeeded", window.succeeded),
            ("window_failed", window.failed),
            ("window_skipped", window.skipped),
            ("window_unfinished", window.unfinished),
            ("window_unknown", window.unknown),
        ] {
            lines.add(place, metric, number as f64);
        }
        lines.latency(place, "window_response", window.response_us);
    }
}

/// Each action as a line named after its outcome, and the sizes and rows of the tables around it.
fn actions(lines: &mut Lines<'_>, record: &Record) {
    for result in &record.summary.actions {
        let item = crate::run::action_detail(&result.action.work);
        let time_s = result.begin_s.map(|begin_s| (begin_s, result.end_s));
        lines.add(
            Place { part: "action", item: &item, time_s, ..Place::default() },
            result.outcome.name(),
            1.0,
        );
        for tables in [&result.before, &result.after].into_iter().flatten() {
            let time_s = Some((tables.at_s, Some(tables.at_s)));
            for table in &tables.tables {
                let place = Place { part: "table", item: table.name.as_str(), time_s, ..Place::default() };
                for (metric, number) in [
                    ("bytes", table.bytes),
                    ("live_rows", table.live_rows),
                    ("dead_rows", table.dead_rows),
                    ("inserted_rows", table.inserted_rows),
                    ("updated_rows", table.updated_rows),
                    ("deleted_rows", table.deleted_rows),
                    ("cached_bytes", table.cached_bytes),
                ] {
                    lines.add_some(place, metric, number.map(|number| number as f64));
                }
                for index in &table.indexes {
                    let place = Place { part: "index", item: index.name.as_str(), ..place };
                    lines.add_some(place, "bytes", index.bytes.map(|bytes| bytes as f64));
                    lines.add_some(place, "cached_bytes", index.cached_bytes.map(|bytes| bytes as f64));
                }
            }
        }
    }
}

/// The samples of the pooler; its figures are in the summary.
fn pooler(lines: &mut Lines<'_>, record: &Record) {
    let figures = record.summary.pooler.iter().filter_map(|pooler| pooler.figures.as_ref());
    for sample in figures.flat_map(|figures| &figures.samples) {
        let time_s = Some((sample.start_s, Some(sample.end_s)));
        let place = Place { part: "pooler", time_s, ..Place::default() };
        lines.add_some(place, "cpu_s", sample.cpu_s);
        for (metric, number) in [
            ("transactions", sample.transactions),
            ("wait_us", sample.wait_us),
            ("clients_active", u64::from(sample.clients_active)),
            ("clients_waiting", u64::from(sample.clients_waiting)),
            ("servers_active", u64::from(sample.servers_active)),
            ("servers_idle", u64::from(sample.servers_idle)),
            ("longest_wait_us", sample.longest_wait_us),
        ] {
            lines.add(place, metric, number as f64);
        }
    }
}

// Long because: a list of the figures of the observation.
fn observation(lines: &mut Lines<'_>, record: &Record) {
    let Some(observation) = &record.observation else { return };
    let place = Place { part: "per_transaction", ..Place::default() };
    for row in Metric::of_transaction() {
        lines.add_some(place, row.name, row.metric.of(record));
    }
    for wait in observation.waits.iter().flat_map(|waits| &waits.top) {
        let item = wait_item(&wait.event_type, &wait.event);
        let place = Place { part: "wait", item: &item, ..Place::default() };
        lines.add(place, "share", wait.share);
        lines.add_some(place, "share_low", wait.interval.map(|interval| interval.low));
        lines.add_some(place, "share_high", wait.interval.map(|interval| interval.high));
    }
    for statement in &observation.statements {
        let place = Place { part: "statement", item: statement.query.as_str(), ..Place::default() };
        statement.values.iter().for_each(|(metric, value)| lines.add(place, metric, *value));
    }
    for table in &observation.counters {
        for row in &table.rows {
            let item = format!("{}:{}", table.view, row.key);
            let place = Place { part: "counter", item: &item, ..Place::default() };
            row.values.iter().for_each(|(metric, value)| lines.add(place, metric, *value));
        }
    }
    for event in &observation.events {
        let time_s = Some((event.start_s, event.end_s));
        let place = Place { part: "event", item: event.detail.as_str(), time_s, ..Place::default() };
        lines.add(place, crate::run::event_name(event.kind), 1.0);
    }
    for sample in &observation.samples {
        let time_s = Some((sample.start_s, Some(sample.end_s)));
        let place = Place { part: "sample", time_s, ..Place::default() };
        for wait in &sample.waits {
            let item = wait_item(&wait.event_type, &wait.event);
            lines.add(Place { item: &item, ..place }, "backends", wait.backends);
        }
        for (metric, value) in &sample.values {
            lines.add(place, metric, *value);
        }
    }
    for standby in &observation.standbys {
        for sample in &standby.samples {
            let time_s = Some((sample.time_s, None));
            let place = Place { part: "standby", item: standby.name.as_str(), time_s, ..Place::default() };
            lines.add_some(place, "write_lag_bytes", sample.write_bytes);
            lines.add_some(place, "flush_lag_bytes", sample.flush_bytes);
            lines.add_some(place, "replay_lag_bytes", sample.replay_bytes);
            lines.add_some(place, "write_lag_us", sample.write_us);
            lines.add_some(place, "flush_lag_us", sample.flush_us);
            lines.add_some(place, "replay_lag_us", sample.replay_us);
        }
    }
    for session in observation.staleness.iter().flat_map(|it| &it.sessions) {
        let place = Place { part: "staleness", item: session.reads_from.as_str(), ..Place::default() };
        lines.add(place, "reads", session.reads as f64);
        lines.add(place, "stale_reads", session.stale_reads as f64);
        lines.add(place, "backward_reads", session.backward_reads as f64);
        lines.add(place, "commits_behind_max", session.commits_behind_max as f64);
        if let Some(us) = &session.staleness_us {
            lines.add(place, "staleness_mean_us", us.mean);
            lines.add(place, "staleness_p99_us", us.p99);
            lines.add(place, "staleness_max_us", us.max);
        }
    }
    for ceiling in &observation.ceilings {
        let item = ceiling.basis.name();
        let place = Place { part: "ceiling", item, ..Place::default() };
        lines.add(place, "tps", ceiling.tps);
        lines.add(place, "reached_share", ceiling.reached_share);
    }
}

/// The wait event in tables for programs: `Lock:transactionid`.
pub(crate) fn wait_item(event_type: &str, event: &str) -> String {
    format!("{event_type}:{event}")
}

/// Text from outside on one line, escaped. An apostrophe precedes characters that a spreadsheet would interpret as the
/// start of a formula (OWASP, CSV Injection).
pub(crate) fn inert(words: &str) -> String {
    let words = escaped_line(words);
    if words.trim_start().starts_with(['=', '+', '-', '@']) { format!("'{words}") } else { words }
}

/// Quoted if the cell contains a comma, a quote or a line end.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
