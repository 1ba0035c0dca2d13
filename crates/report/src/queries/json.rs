//! Query sets as JSON: a head with totals, streams and a list of queries; several sets as a list of such documents.
//! docs/queries.md documents the names. Durations are in milliseconds; unknown values are `null`.

use results::{AnswerCheck, Status, StreamResult};
use serde::Serialize;

use super::QueryRun;
use super::comparison::{Compared, ComparedSet, QueryRatio};
use super::figures::{Figure, QueryFigures};
use super::regressions::RegressionsJson;
use super::{plans, said};
use crate::figures::with_ordinary_spaces;

const US_PER_MS: f64 = 1e3;

#[derive(Serialize)]
struct Several<'a> {
    query_sets: Vec<SetJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regressions: Option<RegressionsJson<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct One<'a> {
    #[serde(flatten)]
    set: SetJson<'a>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct SetJson<'a> {
    name: &'a str,
    workload: Option<&'a str>,
    notice: Option<&'a str>,
    scale: Option<f64>,
    indexes: Option<&'a str>,
    text: Option<&'a str>,
    /// A string, as in the record: programs that read numbers as floating point would change it.
    seed: Option<String>,
    stream_count: Option<u32>,
    repeats: Option<u32>,
    limit_ms: Option<f64>,
    refreshes: bool,
    server_version: Option<&'a str>,
    started_at: String,
    status: &'a Status,
    /// Whether durations are means of the later executions, not of the first ones.
    warm: bool,
    total_ms: Option<f64>,
    geometric_mean_ms: Option<f64>,
    /// Whether both are bounds: a query reached the limit.
    at_least: bool,
    /// Queries that are not in the totals.
    left_out: &'a [String],
    limited: usize,
    failed: usize,
    different_answers: usize,
    elapsed_ms: Option<f64>,
    /// Of the longest session, without the time between its executions.
    executing_ms: Option<f64>,
    queries_per_hour: Option<f64>,
    power: Option<f64>,
    queries_per_hour_times_scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<RatioJson>,
    /// Whether the ratio leaves out the queries that reached the limit in one of both sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_without_limited: Option<bool>,
    queries: Vec<QueryJson<'a>>,
    streams: Vec<StreamJson<'a>>,
}

#[derive(Serialize)]
struct RatioJson {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// `at_least` or `at_most` if a query reached the limit.
    bound: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct QueryJson<'a> {
    pub(super) query: &'a str,
    pub(super) duration_ms: Option<f64>,
    pub(super) rows: Option<u64>,
    pub(super) answer: Option<&'static str>,
    pub(super) at_least: bool,
    pub(super) low_ms: Option<f64>,
    pub(super) high_ms: Option<f64>,
    pub(super) min_ms: Option<f64>,
    pub(super) first_ms: Option<f64>,
    pub(super) executions: usize,
    pub(super) limited: usize,
    pub(super) failed: usize,
    pub(super) error: Option<&'a str>,
    pub(super) checksum: Option<&'a str>,
    pub(super) expected_rows: Option<u64>,
    pub(super) expected_checksum: Option<&'a str>,
    pub(super) refresh: bool,
    pub(super) blocks_read: Option<f64>,
    pub(super) blocks_hit: Option<f64>,
    pub(super) blocks_from_system_cache: Option<f64>,
    pub(super) blocks_from_disk: Option<f64>,
    pub(super) disk_excess_blocks: Option<f64>,
    pub(super) temp_bytes: Option<f64>,
    pub(super) backend_user_cpu_ms: Option<f64>,
    pub(super) backend_system_cpu_ms: Option<f64>,
    pub(super) workers_cpu_ms: Option<f64>,
    pub(super) wal_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<RatioJson>,
    /// In what the plan differs from that of the base: `shape`, `row_estimates`, `actual_rows` or `nothing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_change: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamJson<'a> {
    /// `null` for the session of the refresh functions.
    stream: Option<u32>,
    started_ms: f64,
    duration_ms: f64,
    order: &'a [String],
}

/// The JSON document of one query set, or `{"query_sets": […]}` of several; ends with a line end.
pub fn queries_json(runs: &[QueryRun<'_>]) -> String {
    let compared = Compared::new(runs);
    let warnings = said::warnings(&compared).iter().map(|text| with_ordinary_spaces(text)).collect();
    let set = |set| SetJson::new(&compared, set);
    let json = match compared.sets.as_slice() {
        [only] => serde_json::to_string_pretty(&One { set: set(only), warnings }),
        several => {
            let query_sets = several.iter().map(set).collect();
            let regressions = compared.regressions.as_ref().map(RegressionsJson::from);
            serde_json::to_string_pretty(&Several { query_sets, regressions, warnings })
        }
    };
    let mut json = json.expect("the document has string keys only");
    json.push('\n');
    results::escaped_json(json)
}

/// `null` of a figure that is not a number.
fn value(figure: Option<Figure>) -> Option<f64> {
    figure.map(|figure| figure.value)
}

fn ms(us: f64) -> f64 {
    us / US_PER_MS
}

impl<'a> SetJson<'a> {
    fn new(compared: &'a Compared<'a>, set: &'a ComparedSet<'a>) -> SetJson<'a> {
        let figures = &set.figures;
        let plan = figures.record.query_set.as_ref();
        let server = figures.record.environment.server.as_ref();
        let count = |of: fn(&QueryFigures) -> usize| figures.queries.iter().map(of).sum();
        let ratios = compared.ratios_of(set);
        let query = |query: &'a QueryFigures| {
            let ratio = ratios.get(query.name.as_str()).copied();
            let is_base = compared.sets.first().is_some_and(|base| std::ptr::eq(base, set));
            let base =
                compared.sets.first().filter(|_| !is_base).and_then(|base| base.figures.query(&query.name));
            QueryJson {
                ratio: ratio.map(RatioJson::from),
                plan_change: base.and_then(|base| plans::change_name(base, query)),
                ..QueryJson::new(compared, query)
            }
        };
        SetJson {
            name: &set.name,
            workload: plan.map(|plan| plan.workload.as_str()),
            notice: plan.and_then(|plan| plan.notice.as_deref()),
            scale: plan.map(|plan| plan.scale.units()),
            indexes: plan.and_then(|plan| plan.indexes.as_deref()),
            text: plan.and_then(|plan| plan.text.as_deref()),
            seed: plan.and_then(|plan| plan.seed).map(|seed| seed.to_string()),
            stream_count: plan.map(|plan| plan.streams),
            repeats: plan.map(|plan| plan.repeats),
            limit_ms: plan.and_then(|plan| plan.limit_us).map(|us| ms(us as f64)),
            refreshes: plan.is_some_and(|plan| plan.refreshes),
            server_version: server.map(|server| server.version.as_str()),
            started_at: figures.record.started_at.to_string(),
            status: &figures.record.status,
            warm: compared.is_warm,
            total_ms: value(set.total).map(ms),
            geometric_mean_ms: value(set.geometric_mean).map(ms),
            at_least: set.total.is_some_and(|total| total.is_bound),
            left_out: &compared.left_out,
            limited: count(|query| query.limited),
            failed: count(|query| query.failed),
            different_answers: count(|query| {
                usize::from(matches!(query.answer, Some(AnswerCheck::Different { .. })))
            }),
            elapsed_ms: figures.elapsed_us.map(ms),
            executing_ms: figures.executing_us.map(ms),
            queries_per_hour: value(figures.queries_per_hour),
            power: value(figures.power),
            queries_per_hour_times_scale: value(figures.throughput),
            ratio: set.ratio.map(RatioJson::from),
            ratio_without_limited: set.ratio.map(|_| set.is_without_limited),
            queries: figures.queries.iter().map(query).collect(),
            streams: figures.record.streams.iter().map(StreamJson::from).collect(),
        }
    }
}

impl<'a> QueryJson<'a> {
    pub(super) fn new(compared: &Compared<'_>, query: &'a QueryFigures) -> QueryJson<'a> {
        let durations = compared.durations(query);
        let (low_us, high_us) = durations.and_then(|durations| durations.interval()).unzip();
        let (expected_rows, expected_checksum) = match &query.answer {
            Some(AnswerCheck::Different { expected_rows, expected_checksum }) => {
                (Some(*expected_rows), expected_checksum.as_deref())
            }
            _ => (None, None),
        };
        let costs = &query.costs;
        QueryJson {
            query: &query.name,
            duration_ms: durations.map(|durations| ms(durations.us.mean)),
            rows: query.rows(),
            answer: query.answer.as_ref().map(said::answer_name),
            at_least: durations.is_some_and(|durations| durations.limited > 0),
            low_ms: low_us.map(ms),
            high_ms: high_us.map(ms),
            min_ms: durations.map(|durations| ms(durations.min_us)),
            first_ms: query.first.as_ref().map(|first| ms(first.us.mean)),
            executions: query.executions,
            limited: query.limited,
            failed: query.failed,
            error: query.error.as_deref(),
            checksum: query.checksum(),
            expected_rows,
            expected_checksum,
            refresh: query.is_refresh,
            blocks_read: costs.blocks_read,
            blocks_hit: costs.blocks_hit,
            blocks_from_system_cache: costs.blocks_from_system_cache,
            blocks_from_disk: costs.blocks_from_disk,
            disk_excess_blocks: costs.disk_excess_blocks,
            temp_bytes: costs.temp_bytes,
            backend_user_cpu_ms: costs.backend_user_us.map(ms),
            backend_system_cpu_ms: costs.backend_system_us.map(ms),
            workers_cpu_ms: costs.workers_cpu_us.map(ms),
            wal_bytes: costs.wal_bytes,
            ratio: None,
            plan_change: None,
        }
    }
}

impl From<QueryRatio> for RatioJson {
    fn from(QueryRatio { value, interval, certainty, .. }: QueryRatio) -> RatioJson {
        let (low, high) = interval.unzip();
        RatioJson { ratio: value, low, high, bound: certainty.bound_name() }
    }
}

impl<'a> From<&'a StreamResult> for StreamJson<'a> {
    fn from(StreamResult { stream, started_us, duration_us, order }: &'a StreamResult) -> StreamJson<'a> {
        let [started_ms, duration_ms] = [started_us, duration_us].map(|us| ms(*us as f64));
        StreamJson { stream: *stream, started_ms, duration_ms, order }
    }
}
