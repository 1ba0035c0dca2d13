//! Query sets as a table for other programs: a line for each query of each set, with the names and figures of the JSON.
//! RFC 4180 with line feeds. docs/queries.md has the columns.

use super::QueryRun;
use super::comparison::{Compared, ComparedSet, QueryRatio};
use super::figures::QueryFigures;
use super::json::QueryJson;
use crate::csv::{inert, quoted};

const COLUMNS: [&str; 39] = [
    "query_set",
    "workload",
    "scale",
    "indexes",
    "text",
    "server_version",
    "streams",
    "repeats",
    "query",
    "refresh",
    "duration_ms",
    "at_least",
    "low_ms",
    "high_ms",
    "min_ms",
    "first_ms",
    "executions",
    "limited",
    "failed",
    "error",
    "rows",
    "checksum",
    "answer",
    "expected_rows",
    "expected_checksum",
    "blocks_read",
    "blocks_hit",
    "blocks_from_system_cache",
    "blocks_from_disk",
    "disk_excess_blocks",
    "temp_bytes",
    "backend_user_cpu_ms",
    "backend_system_cpu_ms",
    "workers_cpu_ms",
    "wal_bytes",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_bound",
];

/// The table with its header.
pub fn queries_csv(runs: &[QueryRun<'_>]) -> String {
    let compared = Compared::new(runs);
    let mut out = COLUMNS.join(",") + "\n";
    for set in &compared.sets {
        let ratios = compared.ratios_of(set);
        for query in &set.figures.queries {
            let ratio = ratios.get(query.name.as_str()).copied();
            let cells = line(&compared, set, query, ratio);
            let cells: Vec<String> = cells.iter().map(|cell| quoted(&inert(cell))).collect();
            out += &(cells.join(",") + "\n");
        }
    }
    out
}

fn line(
    compared: &Compared<'_>,
    set: &ComparedSet<'_>,
    query: &QueryFigures,
    ratio: Option<QueryRatio>,
) -> [String; COLUMNS.len()] {
    fn known<T: ToString>(value: Option<T>) -> String {
        value.map_or(String::new(), |value| value.to_string())
    }
    let record = set.figures.record;
    let plan = record.query_set.as_ref();
    let figures = QueryJson::new(compared, query);
    let (low, high) = ratio.and_then(|ratio| ratio.interval).unzip();
    [
        set.name.clone(),
        known(plan.map(|plan| &plan.workload)),
        known(plan.map(|plan| plan.scale)),
        known(plan.and_then(|plan| plan.indexes.as_ref())),
        known(plan.and_then(|plan| plan.text.as_ref())),
        known(record.environment.server.as_ref().map(|server| &server.version)),
        known(plan.map(|plan| plan.streams)),
        known(plan.map(|plan| plan.repeats)),
        figures.query.to_owned(),
        figures.refresh.to_string(),
        known(figures.duration_ms),
        figures.at_least.to_string(),
        known(figures.low_ms),
        known(figures.high_ms),
        known(figures.min_ms),
        known(figures.first_ms),
        figures.executions.to_string(),
        figures.limited.to_string(),
        figures.failed.to_string(),
        known(figures.error),
        known(figures.rows),
        known(figures.checksum),
        known(figures.answer),
        known(figures.expected_rows),
        known(figures.expected_checksum),
        known(figures.blocks_read),
        known(figures.blocks_hit),
        known(figures.blocks_from_system_cache),
        known(figures.blocks_from_disk),
        known(figures.disk_excess_blocks),
        known(figures.temp_bytes),
        known(figures.backend_user_cpu_ms),
        known(figures.backend_system_cpu_ms),
        known(figures.workers_cpu_ms),
        known(figures.wal_bytes),
        known(ratio.map(|ratio| ratio.value)),
        known(low),
        known(high),
        known(ratio.and_then(|ratio| ratio.certainty.bound_name())),
    ]
}
