//! Runs as one long table: a row for each figure, so that tools can filter and group them.
//! `docs/reports.md` lists the columns and the metrics.

use std::borrow::Cow;

use results::{
    Counts, Latency, Observation, OtherEndings, Outage, Record, ScriptSummary, StageSummary, TablesAt,
};

use super::Run;
use crate::chart::runs::{LatencyRows, POINTS_MAX, Timeline};
use crate::metrics::Metric;
use crate::values::{Value, ValueTable};

const COLUMNS: &str = "run,part,script,item,start_s,end_s,metric,value";

/// A row without run, metric and value.
#[derive(Clone, Default)]
struct RowPlace<'a> {
    part: &'static str,
    script: &'a str,
    item: Cow<'a, str>,
    start_s: Option<f64>,
    end_s: Option<f64>,
}

impl<'a> RowPlace<'a> {
    fn new(part: &'static str) -> RowPlace<'a> {
        RowPlace { part, ..RowPlace::default() }
    }

    fn item(part: &'static str, item: impl Into<Cow<'a, str>>) -> RowPlace<'a> {
        RowPlace { part, item: item.into(), ..RowPlace::default() }
    }

    fn from(self, start_s: f64, end_s: impl Into<Option<f64>>) -> RowPlace<'a> {
        RowPlace { start_s: Some(start_s), end_s: end_s.into(), ..self }
    }
}

/// The figures of all runs.
pub(crate) fn rows<'a>(runs: &[Run<'a>]) -> ValueTable<'a> {
    let mut rows = Vec::new();
    for &Run { name, record } in runs {
        let mut figures = FigureRows { run: name, place: RowPlace::default(), rows };
        figures.summary(record);
        figures.over_time(record);
        let outages = record.summary.outages.iter().flat_map(|outages| &outages.outages);
        (1..).zip(outages).for_each(|(number, outage)| figures.outage(number, outage));
        figures.actions(record);
        figures.pooler(record);
        record.observation.iter().for_each(|observation| figures.observation(record, observation));
        rows = figures.rows;
    }
    ValueTable::new(COLUMNS, rows)
}

struct FigureRows<'a> {
    run: &'a str,
    /// Of the figures that are added.
    place: RowPlace<'a>,
    rows: Vec<Vec<Value<'a>>>,
}

impl<'a> FigureRows<'a> {
    fn at(&mut self, place: RowPlace<'a>) {
        self.place = place;
    }

    /// Adds a figure, if it is known and finite.
    fn add(&mut self, metric: impl Into<Cow<'a, str>>, value: impl Into<Value<'a>>) {
        let value = value.into();
        if matches!(value, Value::Unknown) || matches!(value, Value::Number(value) if !value.is_finite()) {
            return;
        }
        let RowPlace { part, script, item, start_s, end_s } = self.place.clone();
        let place = [self.run.into(), part.into(), script.into(), item.into(), start_s.into(), end_s.into()];
        self.rows.push(place.into_iter().chain([metric.into().into(), value]).collect());
    }

    fn latency(&mut self, kind: &str, figures: Option<Latency>) {
        let Some(figures) = figures else { return };
        for (row, of) in Metric::of_latency() {
            self.add(format!("{kind}_{}_us", row.name), of(&figures));
        }
    }

    fn counts(&mut self, counts: &Counts) {
        for (row, of) in Metric::of_counts() {
            self.add(row.name, of(counts));
        }
    }

    fn summary(&mut self, record: &'a Record) {
        let summary = &record.summary;
        self.at(RowPlace::new("summary"));
        self.add("duration_s", summary.duration_s);
        for row in Metric::of_run() {
            self.add(row.name, row.metric.of(record));
        }
        self.add("tps_low", summary.confidence.tps.map(|estimate| estimate.low));
        self.add("tps_high", summary.confidence.tps.map(|estimate| estimate.high));
        self.latency("response", summary.response_of_all_us());
        self.latency("succeeded_response", summary.response_us);
        self.latency("service", summary.service_us);
        self.latency("response_with_stalls", summary.response_with_stalls_us);
        let OtherEndings { failed_us, skipped_us, unfinished_us, unknown_us, all_us: _ } =
            summary.other_endings;
        self.latency("failed_response", failed_us);
        self.latency("skipped_response", skipped_us);
        self.latency("unfinished_response", unfinished_us);
        self.latency("unknown_response", unknown_us);
        for stall in summary.stalls.iter().flat_map(|stalls| &stalls.longest) {
            self.at(RowPlace::new("stall").from(stall.start_s, stall.end_s));
            self.add("length_s", stall.length_s());
        }
        self.ranks(record);
        (1..).zip(&summary.stages).for_each(|(number, stage)| self.stage(number, stage));
        summary.scripts.iter().for_each(|script| self.script(script));
    }

    fn stage(&mut self, number: u64, stage: &StageSummary) {
        let place = RowPlace::item("stage", number.to_string());
        self.at(place.from(stage.start_s, stage.start_s + stage.duration_s));
        self.add("scheduled_tps", stage.scheduled_tps);
        self.add("tps", stage.tps);
        self.add("tps_low", stage.confidence.tps.map(|estimate| estimate.low));
        self.add("tps_high", stage.confidence.tps.map(|estimate| estimate.high));
        self.add("late_or_skipped_share", stage.late_or_skipped_share);
        self.counts(&stage.counts);
        self.latency("response", stage.response_of_all_us());
        self.latency("service", stage.service_us);
    }

    /// The load generators of a distributed run.
    fn ranks(&mut self, record: &'a Record) {
        for rank in &record.summary.ranks {
            self.at(RowPlace::item("rank", format!("{}: {}", rank.rank, rank.host.hostname)));
            self.add("clients", rank.clients);
            self.add("workers", rank.workers);
            self.add("tps", rank.tps);
            self.counts(&rank.counts);
            self.latency("response", rank.response_us);
            self.add("client_cpu_us_per_transaction", rank.client_cpu_us_per_transaction);
            let lateness = rank.generator.as_ref().and_then(|generator| generator.wakeup_lateness_us);
            self.add("wakeup_lateness_p99_us", lateness.map(|lateness| lateness.p99));
            self.add("clock_offset_ms", rank.clock.map(|clock| clock.offset_ms));
            self.add("clock_offset_error_ms", rank.clock.map(|clock| clock.offset_error_ms));
            self.add("start_skew_us", rank.clock.map(|clock| clock.start_skew_us));
            self.add("start_skew_error_us", rank.clock.map(|clock| clock.start_skew_error_us));
        }
    }

    fn script(&mut self, script: &'a ScriptSummary) {
        let place = RowPlace { script: &script.name, ..RowPlace::new("script") };
        self.at(place.clone());
        self.add("tps", script.tps);
        self.counts(&script.counts);
        self.latency("response", script.response_of_all_us());
        self.latency("succeeded_response", script.response_us);
        self.latency("service", script.service_us);
        for command in &script.commands {
            let item = format!("{}: {}", command.line, command.text).into();
            self.at(RowPlace { part: "command", item, ..place.clone() });
            self.add("executions", command.executions);
            self.add("mean_us", command.mean_us);
            self.add("stddev_us", command.stddev_us);
            self.add("min_us", command.min_us);
            self.add("max_us", command.max_us);
            self.latency("latency", command.latency_us);
            self.add("failures", command.failures);
            self.add("retries", command.retries);
            self.add("copied_rows", command.copied.map(|copied| copied.rows));
            self.add("copied_bytes", command.copied.map(|copied| copied.bytes));
        }
    }

    fn over_time(&mut self, record: &Record) {
        let most = record.intervals.len().max(POINTS_MAX);
        let timeline = Timeline::of(record, most, LatencyRows::for_all(std::iter::empty()));
        for point in &timeline.points {
            self.at(RowPlace::new("interval").from(point.start_s, point.end_s));
            self.add("tps", point.tps);
            self.add("failed_or_skipped_tps", point.failed_tps + point.skipped_tps);
            if let Some(quantiles) = point.quantiles {
                self.add("response_p50_us", quantiles.p50);
                self.add("response_p95_us", quantiles.p95);
                self.add("response_p99_us", quantiles.p99);
                self.add("response_p999_us", quantiles.p999);
                self.add("response_max_us", quantiles.max);
            }
        }
    }

    /// One of the outages; the longest of them is in the summary.
    fn outage(&mut self, number: u64, outage: &Outage) {
        let place = RowPlace::item("outage", number.to_string());
        self.at(place.from(outage.first_error_s, outage.last_connect_s));
        self.add("first_error_s", outage.first_error_s);
        self.add("first_connect_s", outage.first_connect_s);
        self.add("last_connect_s", outage.last_connect_s);
        self.add("first_read_s", outage.first_read_s);
        self.add("first_write_s", outage.first_write_s);
        self.add("recovered_s", outage.recovered_s);
        self.add("recovery_s", outage.recovery_s());
        self.add("former_tps", outage.former_tps);
        self.add("clients", outage.clients);
        self.add("hung", outage.hung);
        self.add("never", outage.never);
        for attempts in &outage.attempts {
            self.add(format!("attempts_{}", attempts.outcome.name()), attempts.count);
        }
        self.latency("without_success", outage.without_success_us);
        let Some(window) = &outage.window else { return };
        self.add("window_start_s", window.start_s);
        self.add("window_end_s", window.end_s);
        self.add("window_length_s", window.length_s());
        self.add("window_arrivals", window.arrivals);
        self.add("window_succeeded", window.succeeded);
        self.add("window_failed", window.failed);
        self.add("window_skipped", window.skipped);
        self.add("window_unfinished", window.unfinished);
        self.add("window_unknown", window.unknown);
        self.latency("window_response", window.response_us);
    }

    /// Each action as a row named after its outcome, and the sizes and rows of the tables around it.
    fn actions(&mut self, record: &'a Record) {
        for result in &record.summary.actions {
            let place = RowPlace::item("action", super::action_detail(&result.action.work));
            let end_s = result.end_s.filter(|_| result.begin_s.is_some());
            self.at(RowPlace { start_s: result.begin_s, end_s, ..place });
            self.add(result.outcome.name(), 1_u32);
            [&result.before, &result.after].into_iter().flatten().for_each(|tables| self.tables(tables));
        }
    }

    fn tables(&mut self, tables: &'a TablesAt) {
        let part = |part, name| RowPlace::item(part, name).from(tables.at_s, tables.at_s);
        for table in &tables.tables {
            self.at(part("table", table.name.as_str()));
            self.add("bytes", table.bytes);
            self.add("live_rows", table.live_rows);
            self.add("dead_rows", table.dead_rows);
            self.add("inserted_rows", table.inserted_rows);
            self.add("updated_rows", table.updated_rows);
            self.add("deleted_rows", table.deleted_rows);
            self.add("cached_bytes", table.cached_bytes);
            for index in &table.indexes {
                self.at(part("index", index.name.as_str()));
                self.add("bytes", index.bytes);
                self.add("cached_bytes", index.cached_bytes);
            }
        }
    }

    /// The samples of the pooler; its figures are in the summary.
    fn pooler(&mut self, record: &Record) {
        let figures = record.summary.pooler.iter().filter_map(|pooler| pooler.figures.as_ref());
        for sample in figures.flat_map(|figures| &figures.samples) {
            self.at(RowPlace::new("pooler").from(sample.start_s, sample.end_s));
            self.add("cpu_s", sample.cpu_s);
            self.add("transactions", sample.transactions);
            self.add("wait_us", sample.wait_us);
            self.add("clients_active", sample.clients_active);
            self.add("clients_waiting", sample.clients_waiting);
            self.add("servers_active", sample.servers_active);
            self.add("servers_idle", sample.servers_idle);
            self.add("longest_wait_us", sample.longest_wait_us);
        }
    }

    fn observation(&mut self, record: &Record, observation: &'a Observation) {
        self.at(RowPlace::new("per_transaction"));
        for row in Metric::of_transaction() {
            self.add(row.name, row.metric.of(record));
        }
        for wait in observation.waits.iter().flat_map(|waits| &waits.top) {
            self.at(RowPlace::item("wait", wait_item(&wait.event_type, &wait.event)));
            self.add("share", wait.share);
            self.add("share_low", wait.interval.map(|interval| interval.low));
            self.add("share_high", wait.interval.map(|interval| interval.high));
        }
        for statement in &observation.statements {
            self.at(RowPlace::item("statement", statement.query.as_str()));
            statement.values.iter().for_each(|(metric, value)| self.add(metric, *value));
        }
        for table in &observation.counters {
            for row in &table.rows {
                self.at(RowPlace::item("counter", format!("{}:{}", table.view, row.key)));
                row.values.iter().for_each(|(metric, value)| self.add(metric, *value));
            }
        }
        for event in &observation.events {
            self.at(RowPlace::item("event", event.detail.as_str()).from(event.start_s, event.end_s));
            self.add(super::event_name(event.kind), 1_u32);
        }
        for sample in &observation.samples {
            let place = RowPlace::new("sample").from(sample.start_s, sample.end_s);
            for wait in &sample.waits {
                let item = wait_item(&wait.event_type, &wait.event).into();
                self.at(RowPlace { item, ..place.clone() });
                self.add("backends", wait.backends);
            }
            self.at(place);
            sample.values.iter().for_each(|(metric, value)| self.add(metric, *value));
        }
        self.standbys(observation);
        for ceiling in &observation.ceilings {
            self.at(RowPlace::item("ceiling", ceiling.basis.name()));
            self.add("tps", ceiling.tps);
            self.add("reached_share", ceiling.reached_share);
        }
    }

    fn standbys(&mut self, observation: &'a Observation) {
        for standby in &observation.standbys {
            for sample in &standby.samples {
                self.at(RowPlace::item("standby", standby.name.as_str()).from(sample.time_s, None));
                self.add("write_lag_bytes", sample.write_bytes);
                self.add("flush_lag_bytes", sample.flush_bytes);
                self.add("replay_lag_bytes", sample.replay_bytes);
                self.add("write_lag_us", sample.write_us);
                self.add("flush_lag_us", sample.flush_us);
                self.add("replay_lag_us", sample.replay_us);
            }
        }
        for session in observation.staleness.iter().flat_map(|it| &it.sessions) {
            self.at(RowPlace::item("staleness", session.reads_from.as_str()));
            self.add("reads", session.reads);
            self.add("stale_reads", session.stale_reads);
            self.add("backward_reads", session.backward_reads);
            self.add("commits_behind_max", session.commits_behind_max);
            self.add("staleness_mean_us", session.staleness_us.map(|us| us.mean));
            self.add("staleness_p99_us", session.staleness_us.map(|us| us.p99));
            self.add("staleness_max_us", session.staleness_us.map(|us| us.max));
        }
    }
}

/// The wait event in tables for programs: `Lock:transactionid`.
pub(crate) fn wait_item(event_type: &str, event: &str) -> String {
    format!("{event_type}:{event}")
}
