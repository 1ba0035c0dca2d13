//! The sentences and short texts of reports of query sets: warnings, durations at their limit, ratios, answers.
//! They are made from figures alone; nothing is laid out here.

use std::collections::BTreeSet;

use results::{AnswerCheck, QuerySetPlan, Status};

use super::comparison::{Certainty, Compared, ComparedSet, QueryRatio};
use super::figures::{Figure, QueryFigures};
use crate::document::Fact;
use crate::figures::{TIE, asked_latency, count, counted, latency, measured_seconds};
use crate::metrics::Quantity;
use crate::prose::{enumerate, escaped_line, sentence};
use crate::ratios;

/// Queries that a sentence names.
const NAMED_MAX: usize = 12;

/// In JSON, CSV and tables.
pub(crate) fn answer_name(answer: &AnswerCheck) -> &'static str {
    match answer {
        AnswerCheck::Equal => "equal",
        AnswerCheck::Different { .. } => "different",
        AnswerCheck::Unknown => "unknown",
    }
}

/// `12.3 s`, or `> 300 s` of a bound.
pub(super) fn duration(figure: Figure) -> String {
    if figure.is_bound {
        // A limit is shown as it was given.
        let limit =
            if figure.value % 1e3 == 0.0 { asked_latency(figure.value) } else { latency(figure.value) };
        format!(">{TIE}{limit}")
    } else {
        latency(figure.value)
    }
}

/// A rate of queries; a bound is one from above.
pub(super) fn rate(figure: Figure) -> String {
    let shown = Quantity::PerSecond.shown(figure.value);
    if figure.is_bound { format!("<{TIE}{shown}") } else { shown }
}

/// Times and rates of a whole set, as far as they are known.
pub(super) fn rates(set: &ComparedSet<'_>) -> Vec<Fact> {
    let figures = &set.figures;
    let time = |label: &str, us: Option<f64>| us.map(|us| Fact::new(label, measured_seconds(us / 1e6)));
    let elapsed = time("elapsed", figures.elapsed_us);
    let executing = time("executing queries", figures.executing_us);
    let per_hour = |label: &str, figure: Option<_>| figure.map(|figure| Fact::new(label, rate(figure)));
    let queries = per_hour("queries per hour", figures.queries_per_hour);
    let power = per_hour("power", figures.power);
    let throughput = per_hour("throughput (queries per hour × scale)", figures.throughput);
    elapsed.into_iter().chain(executing).chain(queries).chain(power).chain(throughput).collect()
}

/// `×1.04`, `> 2.10`, `< 0.5`.
pub(crate) fn ratio(ratio: &QueryRatio) -> String {
    let value = ratios::value(ratio.value, ratio.interval);
    let bound = value.trim_start_matches('×');
    match ratio.certainty {
        Certainty::Exact => value,
        Certainty::AtLeast => format!(">{TIE}{bound}"),
        Certainty::AtMost => format!("<{TIE}{bound}"),
    }
}

/// `(0.98 … 1.11)`, or nothing.
pub(super) fn bounds(ratio: &QueryRatio) -> String {
    ratios::range(ratio.value, ratio.interval).map_or(String::new(), |range| format!("({range})"))
}

/// `q1, q2 and q3`, or the first ones and how many more there are.
pub(crate) fn named(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    if more == 0 {
        return enumerate(names);
    }
    format!("{} and {more} more", names[..NAMED_MAX].join(", "))
}

/// The notices of the workloads, each once.
pub(super) fn notices(compared: &Compared<'_>) -> Vec<String> {
    let mut notices: Vec<String> = Vec::new();
    for plan in compared.sets.iter().filter_map(|set| set.figures.record.query_set.as_ref()) {
        if let Some(notice) = plan.notice.as_deref().map(|notice| sentence(&escaped_line(notice)))
            && !notices.contains(&notice)
        {
            notices.push(notice);
        }
    }
    notices
}

/// `PostgreSQL 18.1: `, or nothing of a single set.
fn of_set(compared: &Compared<'_>, set: &ComparedSet<'_>) -> String {
    if compared.sets.len() > 1 { format!("{}: ", set.label) } else { String::new() }
}

/// Answers that are not what they should be: the gravest warnings.
pub(super) fn wrong_answers(compared: &Compared<'_>) -> Vec<String> {
    let mut told = Vec::new();
    for set in &compared.sets {
        let is_different =
            |query: &&QueryFigures| matches!(query.answer, Some(AnswerCheck::Different { .. }));
        let names: Vec<String> =
            set.figures.queries.iter().filter(is_different).map(|query| query.name.clone()).collect();
        if !names.is_empty() {
            told.push(format!(
                "{}Answers that differ from the expected ones: {}.",
                of_set(compared, set),
                named(&names)
            ));
        }
    }
    told.extend(answers_between(compared));
    told
}

/// `22 of 22 equal to the expected ones`; `None` if answers were not compared. Cancelled and failed queries have none.
pub(super) fn answers(set: &ComparedSet<'_>) -> Option<String> {
    let plan = set.figures.record.query_set.as_ref()?;
    let checked = set.figures.pure_queries();
    let checked = checked.filter_map(|query| Some((query.name.as_str(), query.answer.as_ref()?)));
    let checked: Vec<_> = checked.collect();
    let told = answers_in_short(&checked, &plan.scale.to_string())?;
    match set.figures.pure_queries().count() - checked.len() {
        0 => Some(told),
        1 => Some(format!("{told}; 1 query has no answer")),
        missing => Some(format!("{told}; {} queries have no answer", count(missing as u64))),
    }
}

/// Of queries with their answers, at this scale.
pub(crate) fn answers_in_short(checked: &[(&str, &AnswerCheck)], scale: &str) -> Option<String> {
    let (mut equal, mut unknown, mut different) = (0, 0, Vec::new());
    for (name, answer) in checked {
        match answer {
            AnswerCheck::Equal => equal += 1,
            AnswerCheck::Unknown => unknown += 1,
            AnswerCheck::Different { .. } => different.push((*name).to_owned()),
        }
    }
    let all = checked.len();
    if all == 0 {
        return None;
    }
    if unknown == all {
        return Some(format!("not known for these parameters at scale {scale}"));
    }
    let mut told = match different.as_slice() {
        [] => format!("{} of {} equal to the expected ones", count(equal), count(all as u64)),
        names => {
            format!("{} of {} differ: {}", count(names.len() as u64), count(all as u64), named(names))
        }
    };
    if unknown > 0 {
        told += &format!("; {} not known", count(unknown as u64));
    }
    Some(told)
}

/// The resolution of CPU times; `None` without such times.
pub(super) fn cpu_times(set: &ComparedSet<'_>) -> Option<String> {
    let has_cpu =
        |query: &QueryFigures| query.costs.backend_user_us.is_some() || query.costs.workers_cpu_us.is_some();
    let has_cpu = set.figures.queries.iter().any(has_cpu);
    has_cpu.then(|| format!("CPU times are counted in steps of 10{TIE}ms."))
}

/// Queries whose answers differ from those of the first set.
fn answers_between(compared: &Compared<'_>) -> Vec<String> {
    let Some((base, others)) = compared.sets.split_first() else { return Vec::new() };
    let told = |other: &ComparedSet<'_>| {
        if !are_comparable(base, other) {
            return None;
        }
        let difference = |name: &String| {
            let (a, b) = (base.figures.query(name)?, other.figures.query(name)?);
            answer_difference(a, b).map(|how| format!("{name} ({how})"))
        };
        let names: Vec<String> = compared.names.iter().filter_map(difference).collect();
        let both = format!("{} and {}", base.label, other.label);
        (!names.is_empty()).then(|| format!("The answers of {both} differ: {}.", named(&names)))
    };
    others.iter().filter_map(told).collect()
}

/// Whether the same query must have the same answer in both.
fn are_comparable(base: &ComparedSet<'_>, other: &ComparedSet<'_>) -> bool {
    let key = |set: &ComparedSet<'_>| {
        let plan = set.figures.record.query_set.as_ref()?;
        // Refresh functions change the data meanwhile.
        (!plan.refreshes).then(|| (plan.workload.clone(), plan.scale.to_string(), plan.seed))
    };
    key(base).is_some() && key(base) == key(other)
}

/// `10 and 11 rows`; `None` if the answers are the same, or no stream has both.
pub(crate) fn answer_difference(a: &QueryFigures, b: &QueryFigures) -> Option<String> {
    let differs = |stream: &Option<u32>| {
        let (a, b) = (a.answers.get(stream)?, b.answers.get(stream)?);
        (a != b).then(|| (rows_of(a), rows_of(b)))
    };
    let (a, b) = a.answers.keys().find_map(differs)?;
    Some(match (a, b) {
        (Some(a), Some(b)) if a != b => format!("{} and {} rows", count(a), count(b)),
        (Some(rows), Some(_)) => {
            format!("the same {}, but other values", counted(rows, "row", "rows"))
        }
        _ => "other rows".to_owned(),
    })
}

fn rows_of(answers: &BTreeSet<(Option<u64>, Option<String>)>) -> Option<u64> {
    let rows: BTreeSet<Option<u64>> = answers.iter().map(|(rows, _)| *rows).collect();
    if rows.len() == 1 { rows.first().copied().flatten() } else { None }
}

/// As sentences, the gravest first. The notice is not among them.
pub(super) fn warnings(compared: &Compared<'_>) -> Vec<String> {
    let mut told = wrong_answers(compared);
    for set in &compared.sets {
        told.extend(of_one(set).into_iter().map(|text| format!("{}{text}", of_set(compared, set))));
    }
    told.extend(differing_plans(compared));
    if !compared.left_out.is_empty() {
        told.push(format!(
            "The total and the geometric mean leave out queries without a duration: {}.",
            named(&compared.left_out)
        ));
    }
    let is_mixed = compared.sets.iter().any(|set| set.figures.is_repeated()) && !compared.is_warm;
    if is_mixed && compared.sets.len() > 1 {
        told.push(
            "Not all query sets executed their queries more than once, so the first executions are compared."
                .to_owned(),
        );
    }
    told
}

fn of_one(set: &ComparedSet<'_>) -> Vec<String> {
    let mut told = Vec::new();
    match &set.figures.record.status {
        Status::Complete => {}
        Status::Interrupted => told.push("The query set was interrupted.".to_owned()),
        Status::Failed { reason } => {
            told.push(sentence(&format!("The query set failed: {}", escaped_line(reason.as_str()))));
        }
    }
    let failed = || set.figures.queries.iter().filter(|query| query.failed > 0);
    for query in failed().take(NAMED_MAX) {
        let QueryFigures { name, failed, executions, error, .. } = query;
        let error = error.as_deref().unwrap_or_default();
        told.push(sentence(&format!("{name} failed in {failed} of {executions} executions: {error}")));
    }
    if let more @ 1.. = failed().skip(NAMED_MAX).count() {
        told.push(format!("{} failed too.", counted(more as u64, "more query", "more queries")));
    }
    let limited: Vec<String> = (set.figures.queries.iter().filter(|query| query.limited > 0))
        .map(|query| format!("{} ({} of {})", query.name, query.limited, query.executions))
        .collect();
    if !limited.is_empty() {
        told.push(format!(
            "Executions cancelled at the limit: {}. They count with the limit, so durations, totals and ratios with \
             them are bounds.",
            named(&limited)
        ));
    }
    let has_refreshes = set.figures.record.query_set.as_ref().is_some_and(|plan| plan.refreshes);
    let varying: Vec<String> =
        (set.figures.queries.iter().filter(|query| query.varies())).map(|query| query.name.clone()).collect();
    if !varying.is_empty() && !has_refreshes {
        told.push(format!(
            "Executions with the same parameters returned different answers: {}.",
            named(&varying)
        ));
    }
    told
}

/// What makes durations of two sets incomparable.
fn differing_plans(compared: &Compared<'_>) -> Vec<String> {
    type Aspect = (&'static str, fn(&QuerySetPlan) -> String);
    const ASPECTS: [Aspect; 4] = [
        ("workload differs", |plan| escaped_line(&plan.workload)),
        ("scale differs", |plan| plan.scale.to_string()),
        ("parameters differ", parameters),
        ("number of streams differs", |plan| plan.streams.to_string()),
    ];
    let plans: Vec<(&ComparedSet<'_>, &QuerySetPlan)> = (compared.sets.iter())
        .filter_map(|set| Some((set, set.figures.record.query_set.as_ref()?)))
        .collect();
    let aspect = |(name, of): &Aspect| {
        let values: Vec<String> = plans.iter().map(|(_, plan)| of(plan)).collect();
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        let each: Vec<String> =
            plans.iter().zip(&values).map(|((set, _), value)| format!("{value} ({})", set.label)).collect();
        Some(format!("The {name}: {}.", named(&each)))
    };
    ASPECTS.iter().filter_map(aspect).collect()
}

/// Nothing of a workload without drawn parameters, such as a folder: those with several versions of their texts have
/// validation parameters.
pub(super) fn shown_parameters(plan: &QuerySetPlan) -> Option<String> {
    (plan.seed.is_some() || plan.text.is_some()).then(|| parameters(plan))
}

/// Of the queries.
fn parameters(plan: &QuerySetPlan) -> String {
    plan.seed.map_or("validation parameters".to_owned(), |seed| format!("drawn with seed {seed}"))
}
