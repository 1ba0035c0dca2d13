//! Trials that are a pass over the queries of a workload: the keys of `[queries]`, how they are told, and the trial
//! itself. `queries` measures; the record of a trial is that of timed steps.

use std::time::Duration;

use config::{Complaint, Node, Value};
use connect::Target;
use queries::{QuerySet, QuerySetSpec, REPEATS_MAX, STREAMS_MAX};
use results::Status;
use run::options::{Kind, Value as OptionValue};
use run::{Control, OUT_OF_TIME, RunError, StorePlaces};
use stats::Scale;
use workload::Workload;

use crate::configuration::Configuration;
use crate::event::{Listener, TrialRecord};
use crate::keys::{Key, put};
use crate::matrix::Cell;
use crate::plan::Plan;
use crate::schema::count;
use crate::trial::Finished;

/// Assumed time of an execution for each gigabyte of tables, and at least; only for forecasts.
const ROUGHLY_PER_GB_S: f64 = 1.0;
const ROUGHLY_AT_LEAST_S: f64 = 0.02;
/// The assumed size of tables that is not known.
const ROUGH_GIGABYTES: f64 = 1.0;

/// The keys of `[queries]`.
pub(crate) const KEYS: [Key; 9] = [
    Key::new(
        "queries.streams",
        count(1, STREAMS_MAX as u64),
        (|it| seen(it).streams.into(), |it, value| put(&mut asked(it).streams, value.try_into())),
        "Number of concurrent streams: sessions that each run all queries, in different orders",
    ),
    Key::new(
        "queries.repeat",
        count(1, REPEATS_MAX as u64),
        (|it| seen(it).repeats.into(), |it, value| put(&mut asked(it).repeats, value.try_into())),
        "Executions of each query in each stream, one after the other; the first is the cold execution and is reported separately",
    ),
    Key::new(
        "queries.limit",
        Kind::Time { may_be_zero: true },
        (|it| OptionValue::Time(seen(it).limit.unwrap_or_default()), set_limit),
        "Time limit of an execution; one that exceeds it is cancelled and reported as longer than the limit; \"0s\": none",
    ),
    Key::new(
        "queries.text",
        Kind::Text,
        (|_| OptionValue::Unset, |it, value| put(&mut asked(it).text, value.optional())),
        "Version of the query texts, such as \"given\" or \"rewritten\"; default: the first of the workload",
    ),
    Key::other(
        "queries.select",
        "query_names",
        |it, node, _| put(&mut asked(it).select, names(node)),
        "Only these queries: a name, the beginning of names, or a list of them",
    ),
    Key::new(
        "queries.plans",
        Kind::Flag,
        (|it| seen(it).plans.into(), |it, value| put(&mut asked(it).plans, value.try_into())),
        "Execute each query once more with EXPLAIN (ANALYZE, BUFFERS), and store its plan",
    ),
    Key::new(
        "queries.answers",
        Kind::Flag,
        (|it| seen(it).answers.into(), |it, value| put(&mut asked(it).answers, value.try_into())),
        "Compare the results with the expected answers of the workload",
    ),
    Key::new(
        "queries.refresh",
        Kind::Flag,
        (|it| seen(it).refresh.into(), |it, value| put(&mut asked(it).refresh, value.try_into())),
        "Run the refresh functions too: before and after the queries with one stream, concurrently with several",
    ),
    Key::new(
        "queries.random_seed",
        count(0, i64::MAX.unsigned_abs()),
        (|_| OptionValue::Unset, |it, value| put(&mut asked(it).seed, value.optional())),
        "Seed of the parameters of queries and of their order in streams; default: the parameters with expected answers",
    ),
];

/// The specification of a configuration, or the default one.
fn seen(configuration: &Configuration) -> QuerySetSpec {
    configuration.queries.clone().unwrap_or_default()
}

fn asked(configuration: &mut Configuration) -> &mut QuerySetSpec {
    configuration.queries.get_or_insert_default()
}

fn set_limit(configuration: &mut Configuration, value: OptionValue) -> Result<(), String> {
    let limit: Duration = value.try_into()?;
    asked(configuration).limit = Some(limit).filter(|limit| !limit.is_zero());
    Ok(())
}

/// The key that a workload cannot do: without it, the specification is valid. `None`: the keys are not the reason.
pub(crate) fn refused_key(spec: &QuerySetSpec, workload: &dyn Workload) -> Option<&'static str> {
    type Reset = fn(&mut QuerySetSpec);
    const RESETS: [(&str, Reset); 4] = [
        ("queries.select", |spec| spec.select.clear()),
        ("queries.text", |spec| spec.text = None),
        ("queries.refresh", |spec| spec.refresh = false),
        ("queries.answers", |spec| spec.answers = false),
    ];
    let is_refused = |(_, reset): &&(&str, Reset)| {
        let mut without = spec.clone();
        reset(&mut without);
        without.count(workload).is_ok()
    };
    RESETS.iter().find(is_refused).map(|(key, _)| *key)
}

/// A text, or a list of texts.
fn names(node: &Node) -> Result<Vec<String>, Complaint> {
    let texts = match &node.value {
        Value::List(nodes) => nodes.iter().map(Node::text).collect::<Result<Vec<_>, _>>()?,
        _ => vec![node.text()?],
    };
    Ok(texts.into_iter().map(str::to_owned).collect())
}

/// Estimated time of a pass over this number of queries. `reports_late`: the server reports its counters with a delay,
/// for which the meter waits after each execution.
pub(crate) fn estimate(
    spec: &QuerySetSpec,
    queries: usize,
    gigabytes: Option<f64>,
    reports_late: bool,
) -> Duration {
    let each = (gigabytes.unwrap_or(ROUGH_GIGABYTES) * ROUGHLY_PER_GB_S).max(ROUGHLY_AT_LEAST_S);
    let each = Duration::try_from_secs_f64(each).unwrap_or(Duration::MAX);
    let each = spec.limit.map_or(each, |limit| limit.min(each));
    let is_metered = spec.streams == 1 && queries <= queries::METERED_QUERIES_MAX;
    let wait = if reports_late && is_metered { queries::REPORT_DELAY } else { Duration::ZERO };
    let each = each.saturating_add(wait);
    let executions = spec.repeats.saturating_add(u32::from(spec.plans));
    each.saturating_mul(executions).saturating_mul(u32::try_from(queries).unwrap_or(u32::MAX))
}

/// `22 queries in 2 streams, 3 times each, cancelled after 300s`: the parts that all cells share.
pub(crate) fn in_words(plan: &Plan) -> Option<String> {
    let first = plan.cells.first()?.configuration.queries.as_ref()?;
    let passes = || plan.cells.iter().filter_map(|cell| cell.configuration.queries.as_ref());
    let shared = |part: &dyn Fn(&QuerySetSpec) -> String| {
        let words = part(first);
        (!words.is_empty() && passes().all(|spec| part(spec) == words)).then_some(words)
    };
    let counts: Vec<usize> = plan.cells.iter().map(|cell| cell.configuration.query_count).collect();
    let count = counts.iter().all(|count| *count == counts[0]).then(|| format!("{} queries", counts[0]));
    let when = |is_so: bool, words: &str| if is_so { words.to_owned() } else { String::new() };
    let parts = [
        count,
        shared(&|spec| match spec.streams {
            1 => "one stream".to_owned(),
            streams => format!("{streams} streams"),
        }),
        shared(&|spec| if spec.repeats > 1 { format!("{} times each", spec.repeats) } else { String::new() }),
        shared(&|spec| spec.text.as_ref().map_or(String::new(), |text| format!("text {text}"))),
        shared(&|spec| spec.limit.map_or(String::new(), |limit| format!("cancelled after {limit:?}"))),
        shared(&|spec| when(spec.refresh, "with refresh functions")),
        shared(&|spec| when(spec.answers, "answers compared")),
        shared(&|spec| when(spec.plans, "plans of further executions")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Runs one trial of a cell. The measurements of a failed trial are stored too.
pub(crate) fn run(
    cell: &Cell,
    target: &Target,
    trial: i64,
    places: &StorePlaces,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Finished, RunError> {
    let Configuration { queries, data, server, .. } = &cell.configuration;
    let spec = queries.clone().unwrap_or_default();
    let workload = data.workload.clone().unwrap_or_default().open()?;
    let mut session = control.connect(target)?;
    // In place, the scale is that of the tables.
    let scale = Some(data.scale).filter(|scale| !server.in_place || *scale != Scale::ONE);
    let set = control.guard(&mut session, |session| {
        if data.checkpoint {
            session.execute("CHECKPOINT")?;
        }
        QuerySet::for_tables(workload, spec, scale, session)
    })?;
    drop(session);
    let mut busy = None;
    let measured = set.run(target, control, places.records(), &mut |event| {
        // The old text must end before the new one begins.
        drop(busy.take());
        busy = Some(listener.busy(event.to_string()));
    })?;
    drop(busy);
    for problem in &measured.problems {
        listener.warn(problem);
    }
    let is_out_of_time = control.is_out_of_time();
    let reason = match &measured.record.status {
        Status::Complete => None,
        Status::Interrupted if is_out_of_time => Some(OUT_OF_TIME.to_owned()),
        Status::Interrupted => {
            control.check()?;
            Some("interrupted".to_owned())
        }
        Status::Failed { reason } => Some(reason.as_str().to_owned()),
    };
    places.open()?.end_steps(trial, &measured.record, reason.as_deref())?;
    match reason {
        None => {
            let record = TrialRecord::Steps(Box::new(measured.record));
            Ok(Finished { run: None, figures: None, record })
        }
        Some(reason) => Err(RunError::Aborted(reason)),
    }
}
