//! Query sets as a table for other programs: a row for each query of each set, with the names and figures of the JSON.
//! docs/queries.md has the columns.

use super::comparison::{Compared, ComparedSet};
use super::fields::of_query;
use super::figures::QueryFigures;
use crate::values::{ValueTable, fields};

const COLUMNS: &str = "query_set,workload,scale,indexes,text,server_version,streams,repeats,query,refresh,\
                       duration_ms,at_least,low_ms,high_ms,min_ms,first_ms,executions,limited,failed,error,rows,\
                       checksum,answer,expected_rows,expected_checksum,blocks_read,blocks_hit,\
                       blocks_from_system_cache,blocks_from_disk,disk_excess_blocks,temp_bytes,backend_user_cpu_ms,\
                       backend_system_cpu_ms,workers_cpu_ms,wal_bytes,ratio,ratio_low,ratio_high,ratio_bound";

/// The queries of all sets.
pub(crate) fn rows<'a>(compared: &'a Compared<'_>) -> ValueTable<'a> {
    let of_set = |set: &'a ComparedSet<'_>| {
        let record = set.figures.record;
        let plan = record.query_set.as_ref();
        let set_fields = fields! {
            "query_set" => &set.name,
            "workload" => plan.map(|plan| &plan.workload),
            "scale" => plan.map(|plan| plan.scale.to_string()),
            "indexes" => plan.and_then(|plan| plan.indexes.as_ref()),
            "text" => plan.and_then(|plan| plan.text.as_ref()),
            "server_version" => record.environment.server.as_ref().map(|server| &server.version),
            "streams" => plan.map(|plan| plan.streams),
            "repeats" => plan.map(|plan| plan.repeats),
        };
        let ratios = compared.ratios_of(set);
        let row = move |query: &'a QueryFigures| {
            let ratio = ratios.get(query.name.as_str());
            let (low, high) = ratio.and_then(|ratio| ratio.interval).unzip();
            set_fields.clone().then(of_query(compared, query)).then(fields! {
                "ratio" => ratio.map(|ratio| ratio.value),
                "ratio_low" => low,
                "ratio_high" => high,
                "ratio_bound" => ratio.and_then(|ratio| ratio.certainty.bound_name()),
            })
        };
        set.figures.queries.iter().map(row)
    };
    ValueTable::of_fields(COLUMNS, compared.sets.iter().flat_map(of_set))
}
