//! Query sets in turns: two databases of one server, in one of which a query reads ten times as many rows.
//! The statistics are tested in `stats`, the reports in `report`.

use std::sync::Arc;
use std::time::Duration;

use pgmeter_queries::{
    MeasuredSets, QueriesRequest, QueryEvent, QuerySetSpec, RegressionSpec, SideBySide, regression_limit,
};
use results::{RegressionSide, Regressions};
use run::{Control, ExitStatus, RunError};
use stats::{RegressionVerdict, Scale};
use workload::Query;

use crate::bench::{Bench, Small, fails};

/// Databases A and B: the table `more` is large in B, the table `less` in A.
fn databases(name: &str) -> [Bench; 2] {
    let [a, b] = ["a", "b"].map(|side| Bench::new("18", &format!("{name}_{side}")));
    for (bench, less, more) in [(&a, 60_000, 600), (&b, 600, 60_000)] {
        for (table, rows) in [("less", less), ("more", more)] {
            let sql = format!("create table {table} as select n from generate_series(1, {rows}) n");
            bench.session().execute(&sql).expect("a table");
        }
    }
    [a, b]
}

fn set() -> Vec<Query> {
    vec![
        Query::new("more", "select sum(n::bigint * n) from more"),
        Query::new("less", "select sum(n::bigint * n) from less"),
    ]
}

/// The same number of rows in both databases.
fn equal() -> Query {
    Query::new("equal", "select 1")
}

fn measure(
    [a, b]: &[Bench; 2],
    queries: Vec<Query>,
    spec: &QuerySetSpec,
    repeats: Option<u32>,
    listener: &mut dyn FnMut(QueryEvent),
) -> Result<MeasuredSets, RunError> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let regression = RegressionSpec { limit: 1.0, repeats, b: b.conninfo() };
    let workload: Arc<dyn workload::Workload> = Arc::new(Small::new(queries));
    let scale = Some(Scale::ONE);
    let request = QueriesRequest { spec: spec.clone(), scale, regression: Some(regression) };
    let ask = || Err(std::io::ErrorKind::Unsupported.into());
    request.run(workload, &mut a.target().clone(), ask, &Control::default(), place.path(), listener)
}

#[test]
fn a_query_that_is_slower_on_b_is_found_and_the_sides_take_turns() {
    let databases = databases("regress");
    let mut order = Vec::new();
    let mut listener = |event: QueryEvent| order.push((event.query, event.repeat, event.side));
    let spec = QuerySetSpec { plans: true, ..QuerySetSpec::default() };
    let measured = measure(&databases, set(), &spec, None, &mut listener).expect("two records");
    assert_eq!(measured.status, ExitStatus::GoalMissed, "{:?}", measured.problems);
    assert_eq!(measured.problems, ["slower on B by more than 100 %: more"]);
    let [a, b] = measured.records.as_slice() else { panic!("two records") };
    let regressions = Regressions::of(a, b).expect("they are the sides of one measurement");
    let verdicts: Vec<_> = regressions.queries.iter().map(|it| it.result.verdict).collect();
    assert_eq!(verdicts, [RegressionVerdict::Slower, RegressionVerdict::NotSlower]);
    assert_eq!(Regressions::of(b, a), None, "the sides are not exchanged");
    // Two queries need six sequences; three more are usual.
    assert_eq!(regressions.queries[0].sequences, 9);
    for record in [a, b] {
        assert!(record.steps.iter().all(|step| step.times.len() == 19 && step.plan.is_some()));
        assert_eq!(record.query_set.as_ref().map(|plan| plan.repeats), Some(19));
        // The servers are on this host.
        let mut times = record.steps.iter().flat_map(|step| &step.times);
        assert!(times.all(|time| time.backend_user_us.is_some() && time.workers_cpu_us.is_some()));
    }
    // After the first execution, each four executions of a query are mirrored: A B B A or B A A B.
    let sides: Vec<RegressionSide> = order
        .iter()
        .filter(|(query, repeat, _)| query == "more" && *repeat > 1)
        .filter_map(|(.., side)| *side)
        .collect();
    assert_eq!(sides.len(), 36);
    assert!(sides.chunks(4).all(|it| it[0] == it[3] && it[1] == it[2] && it[0] != it[1]), "{sides:?}");
    let begins = |side| sides.chunks(4).filter(|it| it[0] == side).count();
    assert!(begins(RegressionSide::A) > 0 && begins(RegressionSide::B) > 0, "{sides:?}");
}

#[test]
fn a_query_that_fails_or_reaches_the_limit_on_both_sides_is_left_out_and_undecided() {
    let databases = databases("regress_fails");
    let queries = vec![fails("bad"), Query::new("long", "select pg_sleep(600)"), equal()];
    let spec = QuerySetSpec { limit: Some(Duration::from_millis(200)), ..QuerySetSpec::default() };
    let measured = measure(&databases, queries, &spec, None, &mut |_| {}).expect("two records");
    assert_eq!(measured.status, ExitStatus::Incomplete);
    assert!(
        measured.problems.contains(&"B: 1 of 3 queries failed: bad".to_owned()),
        "{:?}",
        measured.problems
    );
    let [a, b] = measured.records.as_slice() else { panic!("two records") };
    let regressions = Regressions::of(a, b).expect("both sides");
    for query in &regressions.queries[..2] {
        assert_eq!(
            (query.result.verdict, query.sequences),
            (RegressionVerdict::Undecided, 0),
            "{}",
            query.query
        );
    }
    assert!(a.steps[..2].iter().chain(&b.steps[..2]).all(|step| step.times.len() == 1));
    assert_eq!(a.steps[2].times.len(), b.steps[2].times.len());
}

#[test]
fn options_that_do_not_fit_are_refused_before_a_query_runs() {
    let databases = databases("regress_refused");
    let default = QuerySetSpec::default;
    let refused = |spec: QuerySetSpec, repeats| {
        measure(&databases, set(), &spec, repeats, &mut |_| {}).expect_err("a refusal").to_string()
    };
    let streams = refused(QuerySetSpec { streams: 2, ..default() }, None);
    assert!(streams.ends_with("leave out --streams"), "{streams}");
    let results = refused(QuerySetSpec { results: Some("answers".into()), ..default() }, None);
    assert!(results.ends_with("leave out --results"), "{results}");
    let few = refused(default(), Some(4));
    assert_eq!(few, "--repeat: expected a number from 13 to 1001 for a verdict on each of 2 queries, not 4");
    let other = RegressionSpec { limit: 0.03, repeats: None, b: String::new() };
    let workload: Arc<dyn workload::Workload> = Arc::new(Small::new(set()));
    let [mut a, mut b] = [databases[0].session(), databases[1].session()];
    let sides = SideBySide::for_tables(&workload, &default(), &other, Some(Scale::ONE), [&mut a, &mut b]);
    assert!(sides.is_ok(), "{sides:?}");
}

#[test]
fn a_limit_is_a_percentage() {
    assert_eq!(regression_limit("3%"), Ok(0.03));
    assert_eq!(regression_limit(" 12.5 % "), Ok(0.125));
    assert_eq!(regression_limit("0%"), Ok(0.0));
    for wrong in ["", "3", "%", "-1%", "NaN%", "inf%", "10001%", "3%%"] {
        assert!(regression_limit(wrong).is_err(), "{wrong}");
    }
}
