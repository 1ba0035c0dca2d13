//! Answers of the workload tpch: loads it on servers of the given versions, executes all queries with the validation
//! parameters in both versions of their texts, and compares the answers with the expected ones. `--show` prints them.
//!
//! `cargo run -p pgmeter-workload --example tpch_answers -- [--scale SCALE] [--show] VERSION …`
#![allow(clippy::print_stdout, reason = "a chore talks to those who run it")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;

use connect::{Environment, Overrides, Session, resolve};
use pgmeter_workload::{Answer, InitOptions, Query, QueryChoice, Tpch, Workload};
use queries::answer;
use stats::Scale;
use testkit::cluster::Cluster;

fn main() -> ExitCode {
    let (mut scale, mut shows, mut versions) = (Scale::ONE, false, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--scale" => scale = arguments.next().and_then(|text| text.parse().ok()).expect("--scale SCALE"),
            "--show" => shows = true,
            _ => versions.push(argument),
        }
    }
    let equal: Vec<bool> = versions.iter().map(|version| measure(version, scale, shows)).collect();
    if equal.iter().all(|equal| *equal) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether all answers on a server of this version are as expected.
fn measure(version: &str, scale: Scale, shows: bool) -> bool {
    let cluster = Cluster::start_with(version, &[("max_wal_size", "4GB"), ("work_mem", "32MB")]);
    let conninfo = cluster.database("answers");
    let target = resolve(Some(&conninfo), &Overrides::default(), &Environment::default()).expect("a target");
    let mut session = Cluster::session(&conninfo);
    let options = InitOptions { scale, ..InitOptions::default() };
    let report =
        Tpch.load(&target, &mut session, &options, &mut |_| ControlFlow::Continue(())).expect("loading");
    println!("PostgreSQL {version}: {}", report.summary(scale));
    let workload: &dyn Workload = &Tpch;
    workload.run_checks(&mut session, &workload.variables(&BTreeMap::new(), scale)).expect("sound data");
    let texts = Tpch.query_texts().iter();
    let equal: Vec<bool> = texts.map(|text| equal(&mut session, scale, text, shows)).collect();
    equal.iter().all(|equal| *equal)
}

/// Whether all answers with this text are as expected.
fn equal(session: &mut Session, scale: Scale, text: &str, shows: bool) -> bool {
    let choice = QueryChoice {
        scale,
        text: Some(text.to_owned()),
        seed: None,
        data_seed: None,
        stream: 0,
        parameters: BTreeMap::new(),
    };
    let expected = Tpch.answers(&choice);
    let queries = Tpch.queries(&choice).expect("queries");
    let mut different = Vec::new();
    for query in &queries {
        let found = execute(session, query);
        if shows {
            println!(
                "{scale} {} {} {}",
                found.query,
                found.rows,
                found.checksum.as_deref().unwrap_or_default()
            );
        }
        if !expected.contains(&found) {
            different.push(query.name.as_str());
        }
    }
    let equal = queries.len() - different.len();
    println!("  {text}: {equal} of {} answers are equal {}", queries.len(), different.join(" "));
    different.is_empty()
}

fn execute(session: &mut Session, query: &Query) -> Answer {
    session.patiently(|session| {
        for sql in &query.before {
            session.execute(sql).expect("a statement before a query");
        }
        let found = answer(session, &query.sql).expect("a query");
        for sql in &query.after {
            session.execute(sql).expect("a statement after a query");
        }
        Answer {
            query: query.name.clone().into(),
            rows: found.rows(),
            checksum: Some(found.to_string().into()),
        }
    })
}
