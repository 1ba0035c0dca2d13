//! Query sets as fields, for JSON: a head with totals, streams and a list of queries; several sets as a list of such
//! documents. docs/queries.md documents the names. Durations are in milliseconds; unknown values are `null`.

use results::{AnswerCheck, StreamResult};

use super::comparison::{Compared, ComparedSet, QueryRatio};
use super::figures::{Figure, QueryFigures};
use super::{plans, regressions, said};
use crate::figures::with_ordinary_spaces;
use crate::values::{Fields, fields};

const US_PER_MS: f64 = 1e3;

/// The document of one query set, or `{"query_sets": […]}` of several.
pub(crate) fn fields<'a>(compared: &'a Compared<'_>) -> Fields<'a> {
    let warnings: Vec<String> =
        said::warnings(compared).iter().map(|text| with_ordinary_spaces(text)).collect();
    let sets = match compared.sets.as_slice() {
        [only] => of_set(compared, only),
        several => {
            let sets: Vec<Fields<'_>> = several.iter().map(|set| of_set(compared, set)).collect();
            fields! { "query_sets" => sets }
                .and("regressions", compared.regressions.as_ref().map(regressions::fields))
        }
    };
    sets.then(fields! { "warnings" => warnings })
}

/// `null` of a figure that is not a number.
fn value(figure: Option<Figure>) -> Option<f64> {
    figure.map(|figure| figure.value)
}

fn ms(us: f64) -> f64 {
    us / US_PER_MS
}

fn of_set<'a>(compared: &'a Compared<'_>, set: &'a ComparedSet<'_>) -> Fields<'a> {
    let figures = &set.figures;
    let record = figures.record;
    let plan = record.query_set.as_ref();
    let count = |of: fn(&QueryFigures) -> usize| figures.queries.iter().map(of).sum::<usize>();
    let ratios = compared.ratios_of(set);
    let query = |query: &'a QueryFigures| {
        let ratio = ratios.get(query.name.as_str()).copied();
        let is_base = compared.sets.first().is_some_and(|base| std::ptr::eq(base, set));
        let base =
            compared.sets.first().filter(|_| !is_base).and_then(|base| base.figures.query(&query.name));
        of_query(compared, query)
            .and("ratio", ratio.map(of_ratio))
            .and("plan_change", base.and_then(|base| plans::change_name(base, query)))
    };
    fields! {
        "name" => &set.name,
        "workload" => plan.map(|plan| &plan.workload),
        "notice" => plan.and_then(|plan| plan.notice.as_ref()),
        "scale" => plan.map(|plan| plan.scale.units()),
        "indexes" => plan.and_then(|plan| plan.indexes.as_ref()),
        "text" => plan.and_then(|plan| plan.text.as_ref()),
        // A string, as in the record: programs that read numbers as floating point would change it.
        "seed" => plan.and_then(|plan| plan.seed).map(|seed| seed.to_string()),
        "stream_count" => plan.map(|plan| plan.streams),
        "repeats" => plan.map(|plan| plan.repeats),
        "limit_ms" => plan.and_then(|plan| plan.limit_us).map(|us| ms(us as f64)),
        "refreshes" => plan.is_some_and(|plan| plan.refreshes),
        "server_version" => record.environment.server.as_ref().map(|server| &server.version),
        "started_at" => record.started_at.to_string(),
        "status" => &record.status,
        // Whether durations are means of the later executions, not of the first ones.
        "warm" => compared.is_warm,
        "total_ms" => value(set.total).map(ms),
        "geometric_mean_ms" => value(set.geometric_mean).map(ms),
        // Whether both are bounds: a query reached the limit.
        "at_least" => set.total.is_some_and(|total| total.is_bound),
        "left_out" => compared.left_out.as_slice(),
        "limited" => count(|query| query.limited),
        "failed" => count(|query| query.failed),
        "different_answers" => count(|query| {
            usize::from(matches!(query.answer, Some(AnswerCheck::Different { .. })))
        }),
        "elapsed_ms" => figures.elapsed_us.map(ms),
        // Of the longest session, without the time between its executions.
        "executing_ms" => figures.executing_us.map(ms),
        "queries_per_hour" => value(figures.queries_per_hour),
        "power" => value(figures.power),
        "queries_per_hour_times_scale" => value(figures.throughput),
    }
    .and("ratio", set.ratio.map(of_ratio))
    // Whether the ratio leaves out the queries that reached the limit in one of both sets.
    .and("ratio_without_limited", set.ratio.map(|_| set.is_without_limited))
    .then(fields! {
        "queries" => figures.queries.iter().map(query).collect::<Vec<_>>(),
        "streams" => record.streams.iter().map(of_stream).collect::<Vec<_>>(),
    })
}

/// A query; in JSON with its ratio and the change of its plan.
pub(super) fn of_query<'a>(compared: &Compared<'_>, query: &'a QueryFigures) -> Fields<'a> {
    let durations = compared.durations(query);
    let (low_us, high_us) = durations.and_then(|durations| durations.interval()).unzip();
    let (expected_rows, expected_checksum) = match &query.answer {
        Some(AnswerCheck::Different { expected_rows, expected_checksum }) => {
            (Some(*expected_rows), expected_checksum.as_ref())
        }
        _ => (None, None),
    };
    let costs = &query.costs;
    fields! {
        "query" => &query.name,
        "duration_ms" => durations.map(|durations| ms(durations.us.mean)),
        "rows" => query.rows(),
        "answer" => query.answer.as_ref().map(said::answer_name),
        "at_least" => durations.is_some_and(|durations| durations.limited > 0),
        "low_ms" => low_us.map(ms),
        "high_ms" => high_us.map(ms),
        "min_ms" => durations.map(|durations| ms(durations.min_us)),
        "first_ms" => query.first.as_ref().map(|first| ms(first.us.mean)),
        "executions" => query.executions,
        "limited" => query.limited,
        "failed" => query.failed,
        "error" => query.error.as_ref(),
        "checksum" => query.checksum(),
        "expected_rows" => expected_rows,
        "expected_checksum" => expected_checksum,
        "refresh" => query.is_refresh,
        "blocks_read" => costs.blocks_read,
        "blocks_hit" => costs.blocks_hit,
        "blocks_from_system_cache" => costs.blocks_from_system_cache,
        "blocks_from_disk" => costs.blocks_from_disk,
        "disk_excess_blocks" => costs.disk_excess_blocks,
        "temp_bytes" => costs.temp_bytes,
        "backend_user_cpu_ms" => costs.backend_user_us.map(ms),
        "backend_system_cpu_ms" => costs.backend_system_us.map(ms),
        "workers_cpu_ms" => costs.workers_cpu_us.map(ms),
        "wal_bytes" => costs.wal_bytes,
    }
}

/// `at_least` or `at_most` is the bound if a query reached the limit.
fn of_ratio(QueryRatio { value, interval, certainty, .. }: QueryRatio) -> Fields<'static> {
    let (low, high) = interval.unzip();
    fields! { "ratio" => value, "low" => low, "high" => high, "bound" => certainty.bound_name() }
}

/// The stream is `null` for the session of the refresh functions.
fn of_stream(StreamResult { stream, started_us, duration_us, order }: &StreamResult) -> Fields<'_> {
    let [started_ms, duration_ms] = [started_us, duration_us].map(|us| ms(*us as f64));
    fields! {
        "stream" => *stream,
        "started_ms" => started_ms,
        "duration_ms" => duration_ms,
        "order" => order.as_slice(),
    }
}
