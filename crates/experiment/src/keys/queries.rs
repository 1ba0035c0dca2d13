//! The keys of `[queries]`: a trial is a pass over the queries of a workload. `lab::query_pass` runs it; `workloads`
//! asks which key a workload refuses.

use std::time::Duration;

use config::{Complaint, Node, Value};
use queries::{QuerySetSpec, REPEATS_MAX, STREAMS_MAX};
use run::options::{Kind, Value as OptionValue};
use workload::Workload;

use super::key::{Key, put};
use crate::configuration::Configuration;
use crate::fields::count;

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
