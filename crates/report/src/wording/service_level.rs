//! The sentence that says whether a run kept its rate and its latency limit, and why not. `results` decides; the first
//! line of reports and the list of runs show it.

use results::{Counts, Plan, Record, ServiceLevel, Status, Summary};

use super::share;
use crate::figures::{as_asked, asked_latency, decimals_for, fixed, rate};

/// Significant digits of the throughput.
const TPS_DIGITS: usize = 3;

/// `NOT KEPT: 159 of 300 per second; 47 % skipped, the rest later than 20 ms.` `None` without a rate and a limit.
pub(crate) fn service_level(record: &Record) -> Option<(ServiceLevel, String)> {
    let level = record.summary.service_level?;
    let failed = matches!(record.status, Status::Failed { .. });
    let ended = if failed { "the run failed before its end" } else { "" };
    let reason = reason(level, &record.plan, &record.summary);
    let parts: Vec<&str> = [reason.as_str(), ended].into_iter().filter(|part| !part.is_empty()).collect();
    Some((level, format!("{}: {}.", kept_in_short(level.kept), parts.join("; "))))
}

/// `159 of 300 per second; 47 % skipped, the rest later than 20 ms`
pub(super) fn reason(level: ServiceLevel, plan: &Plan, summary: &Summary) -> String {
    let of_rate = scheduled(plan);
    let limit = plan.latency_limit_us.map(asked_latency);
    let missed = missed(&summary.counts, limit.as_deref()).join(", ");
    let parts: [String; 2] = if level.kept {
        let within = limit.map(|limit| format!(" within {limit}")).unwrap_or_default();
        let asked = of_rate.map_or_else(|| "transactions".to_owned(), |rate| format!("{rate} per second"));
        [asked + &within, missed]
    } else {
        let tps = fixed(summary.tps, decimals_for(summary.tps, TPS_DIGITS));
        let achieved = of_rate.map(|asked| format!("{tps} of {asked} per second"));
        [achieved.unwrap_or_default(), missed]
    };
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// `1,050 tps`, the mean if the rate changes; `None` in a closed loop.
pub(crate) fn scheduled(plan: &Plan) -> Option<String> {
    let mean = plan.rate_tps?;
    Some(if plan.rate_curve().is_some() { rate(mean) } else { as_asked(mean) })
}

/// In a column of a list.
pub(super) fn kept_in_short(kept: bool) -> &'static str {
    if kept { "KEPT" } else { "NOT KEPT" }
}

/// `47 % skipped`, `the rest later than 20 ms`
fn missed(counts: &Counts, limit: Option<&str>) -> Vec<String> {
    let &Counts { scheduled, succeeded, failed, skipped, unfinished, unknown, late, .. } = counts;
    let of_scheduled = |number: u64| share(number as f64 / scheduled.max(1) as f64);
    let named = [
        (skipped, "skipped"),
        (failed, "failed"),
        (unfinished, "unfinished at the end"),
        (unknown, "unknown"),
    ];
    let mut parts: Vec<String> = named
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", of_scheduled(*number)))
        .collect();
    if let Some(limit) = limit.filter(|_| late > 0) {
        let how_many = match (late == succeeded, parts.is_empty()) {
            (true, true) => "all".to_owned(),
            (true, false) => "the rest".to_owned(),
            (false, _) => of_scheduled(late),
        };
        parts.push(format!("{how_many} later than {limit}"));
    }
    parts
}
