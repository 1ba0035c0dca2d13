//! Specifications that are refused before anything is sent, and what is said about each.
//! Each case is a mistake that users make.

use std::time::Duration;

use pgmeter_run::{
    ActionKind, ActionSpec, ExitStatus, RunRequest, RunSpec, Runner, ScriptSource, ScriptSpec, TargetSpec,
};
use stats::OnDisconnect;
use stats::load::ResultFormat;

use crate::on_null::{run_on, script, spec, target};
use testkit::null::{NullOptions, NullServer};

/// What is said about a run; it must not have begun.
fn refusal(spec: RunSpec) -> String {
    let Err(error) = run_on(NullOptions::default(), spec) else { panic!("it was not refused") };
    assert_eq!(ExitStatus::from(&error), ExitStatus::NotStarted, "{error}");
    error.to_string()
}

#[track_caller]
fn assert_refused(spec: RunSpec, words: &[&str]) {
    let said = refusal(spec);
    for word in words {
        assert!(said.contains(word), "no \"{word}\" in: {said}");
    }
}

fn variables(name: &str, value: &str) -> RunSpec {
    RunSpec { variables: [(name.to_owned(), value.to_owned())].into(), ..spec("SELECT 1;") }
}

fn of_target(name: &str) -> TargetSpec {
    TargetSpec { name: name.to_owned(), connection: "host=/nowhere".to_owned() }
}

#[test]
fn scripts_that_cannot_run() {
    let unknown = ScriptSpec::new(ScriptSource::OfWorkload("nothing-like-it".to_owned()));
    assert_refused(RunSpec { scripts: vec![unknown], ..spec("") }, &["nothing-like-it"]);
    let missing = ScriptSpec::new(ScriptSource::File("/nowhere/a.sql".into()));
    assert_refused(RunSpec { scripts: vec![missing], ..spec("") }, &["/nowhere/a.sql"]);
    assert_refused(spec("\\if 1\nSELECT 1;"), &["one", "\\if"]);
    assert_refused(spec("SELECT :undefined_one;"), &["undefined_one", "one:1"]);
    assert_refused(spec("\\target elsewhere\nSELECT 1;"), &["undefined target \"elsewhere\"", "TargetSpec"]);
    assert_refused(variables("v", "a\0b"), &["variable v", "zero byte"]);
}

#[test]
fn targets_with_one_name() {
    let targets = vec![of_target("a"), of_target("a")];
    assert_refused(RunSpec { targets, ..spec("SELECT 1;") }, &["the target a is specified twice"]);
}

#[test]
fn options_that_contradict_each_other() {
    let binary = RunSpec { result_format: ResultFormat::Binary, ..spec("SELECT 1;") };
    assert_refused(binary, &["result_format: binary", "protocol: extended or prepared"]);
    let twice = RunSpec { reconnect: true, on_disconnect: OnDisconnect::Reconnect, ..spec("SELECT 1;") };
    assert_refused(twice, &["on_disconnect: reconnect", "with reconnect"]);
}

#[test]
fn goals_that_this_load_cannot_have() {
    let with = |goal: &str| RunSpec { goals: vec![goal.parse().expect("a goal")], ..spec("SELECT 1;") };
    assert_refused(with("late < 1%"), &["\"late < 1%\"", "(latency_limit)", "over(20ms)"]);
    assert_refused(with("skipped < 1%"), &["rate_tps", "latency_limit"]);
    assert_refused(with("script=other: p99 < 1s"), &["names a script that is not in the mix of \"one\""]);
    // A file is named with or without its folder and ending.
    let of_file = |goal: &str| RunSpec {
        scripts: vec![script("a/orders.sql", "SELECT 1;", 1)],
        goals: vec![goal.parse().expect("a goal")],
        ..spec("")
    };
    for name in ["orders", "orders.sql", "a/orders.sql"] {
        let finished = run_on(NullOptions::default(), of_file(&format!("script={name}: p99 < 1h")));
        assert!(finished.is_ok(), "{name}: {:?}", finished.err());
    }
    assert_refused(of_file("script=order: p99 < 1h"), &["a/orders.sql"]);
}

#[test]
fn more_load_generators_than_there_are() {
    let machines = Some(2);
    assert_refused(RunSpec { machines, ..spec("SELECT 1;") }, &["machines is 2", "there is one process"]);
}

#[test]
fn what_runs_in_turns_cannot_have() {
    let server = NullServer::on_unix_socket(NullOptions::default()).expect("a null server");
    let refused = |spec: RunSpec| {
        let request = RunRequest { in_turns: true, ..RunRequest::on(target(&server), spec) };
        Runner::new(request).err().expect("it is refused").to_string()
    };
    let at = Duration::from_secs(1);
    let actions = vec![ActionSpec { at, kind: ActionKind::Sql("SELECT 1".to_owned()) }];
    assert!(
        refused(RunSpec { actions, ..spec("SELECT 1;") }).starts_with("actions is not possible in turns")
    );
    assert!(
        refused(RunSpec { verify: true, ..spec("SELECT 1;") }).starts_with("verify is not possible in turns")
    );
    let pause_when = Some("SELECT false".to_owned());
    assert!(refused(RunSpec { pause_when, ..spec("SELECT 1;") }).starts_with("pause_when"));
}
