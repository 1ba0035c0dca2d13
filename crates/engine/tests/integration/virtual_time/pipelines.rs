//! Pipelines: messages without waiting, synchronization, and assignment of errors (reference, section 12). Other
//! messages are tested in `protocols`.

use pgmeter_engine::{AbortCause, AbortedClient, Compatibility, Limit, Plan, Protocol};
use script::CaptureKind;
use stats::Traffic;
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, Received};

use super::support::{Ran, assert_close, fault, faulty, ms, plan, run, seconds};

const PIPELINE: &str = "\
\\set a 7
\\startpipeline
SELECT :a;
\\syncpipeline
UPDATE t SET c = :a;
SELECT 3;
\\endpipeline
SELECT 4;
";

const PROTOCOLS: [Protocol; 2] = [Protocol::Extended, Protocol::Prepared];

fn pipelined(script: &str, protocol: Protocol) -> Plan {
    Plan { protocol, limit: Limit::TransactionsPerClient(2), ..plan(script) }
}

fn messages(ran: &Ran) -> Vec<String> {
    let short = |message: &Received| match message {
        Received::Parse { name, sql } => Some(format!("parse {name} {sql}")),
        Received::Bind { statement, parameters } => {
            let values: Vec<_> = parameters.iter().flatten().map(String::as_str).collect();
            Some(format!("bind {statement} {}", values.join(",")))
        }
        Received::Execute(_) => Some("execute".to_owned()),
        Received::Sync => Some("sync".to_owned()),
        Received::Query(sql) => Some(format!("query {sql}")),
        _ => None,
    };
    ran.log.messages(0).iter().filter_map(short).collect()
}

#[test]
fn commands_of_a_pipeline_are_sent_at_once_and_each_sync_is_one() {
    let ran = run(&pipelined(PIPELINE, Protocol::Extended), FakeServer::default());
    assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
    let one = [
        "parse  SELECT $1;",
        "bind  7",
        "execute",
        "sync",
        "parse  UPDATE t SET c = $1;",
        "bind  7",
        "execute",
        "parse  SELECT 3;",
        "bind  ",
        "execute",
        "sync",
        "parse  SELECT 4;",
        "bind  ",
        "execute",
        "sync",
    ];
    assert_eq!(messages(&ran), [one, one].concat());
}

#[test]
fn a_pipeline_is_one_round_trip_and_preparing_its_statements_another_one() {
    for (protocol, expected) in [(Protocol::Extended, 4), (Protocol::Prepared, 5)] {
        let ran = run(&pipelined(PIPELINE, protocol), FakeServer::default());
        let Traffic { round_trips, sent_bytes, received_bytes } = ran.summary().total.traffic;
        assert_eq!((ran.counts().succeeded, round_trips), (2, expected), "{protocol:?}");
        assert!(sent_bytes > 100 && received_bytes > 100);
    }
}

#[test]
fn statements_of_a_pipeline_are_prepared_before_it_begins_each_with_a_sync_of_its_own() {
    let ran = run(&pipelined(PIPELINE, Protocol::Prepared), FakeServer::default());
    assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
    let ahead = [
        "parse P_0 SELECT $1;",
        "sync",
        "parse P_1 UPDATE t SET c = $1;",
        "sync",
        "parse P_2 SELECT 3;",
        "sync",
    ];
    let pipeline = ["bind P_0 7", "execute", "sync", "bind P_1 7", "execute", "bind P_2 ", "execute", "sync"];
    let last = ["bind P_3 ", "execute", "sync"];
    let first = [&ahead[..], &pipeline, &["parse P_3 SELECT 4;"], &last].concat();
    assert_eq!(messages(&ran), [&first[..], &pipeline, &last].concat());
}

#[test]
fn a_pipeline_takes_one_round_trip_and_its_end_is_what_waits() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\nSELECT 3;\n\\endpipeline\n";
    let server = FakeServer { network_delay: ms(10), ..FakeServer::default() };
    for protocol in PROTOCOLS {
        let ran = run(
            &Plan { limit: Limit::TransactionsPerClient(100), ..pipelined(script, protocol) },
            server.clone(),
        );
        let commands = ran.outcome.commands.of_script(0);
        // A reply takes the fake server 0.4 ms.
        assert_close("waiting", commands[4].completed.mean_ns().unwrap_or_default(), 20.4e6, 0.001);
        assert_eq!(commands[2].completed.max_ns, 0);
    }
}

#[test]
fn preparing_a_pipeline_does_not_keep_other_clients_waiting() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    let plan = Plan { clients: 5, ..pipelined(script, Protocol::Prepared) };
    let server = FakeServer { network_delay: ms(100), ..FakeServer::default() };
    let ran = run(&plan, server);
    assert_eq!(ran.counts().succeeded, 10);
    assert!(ran.summary().duration < seconds(1), "{:?}", ran.summary().duration);
}

#[test]
fn what_a_pipeline_does_not_allow_ends_the_client() {
    let (gset, aset) = (CaptureKind::Gset, CaptureKind::Aset);
    for (script, protocol, command, cause) in [
        (PIPELINE, Protocol::Simple, 1, AbortCause::PipelineInSimpleProtocol),
        ("\\startpipeline\n\\startpipeline\n", Protocol::Extended, 1, AbortCause::PipelineInPipeline),
        ("SELECT 1;\n\\endpipeline\n", Protocol::Extended, 1, AbortCause::NoPipeline),
        ("SELECT 1;\n\\endpipeline\n", Protocol::Simple, 1, AbortCause::NoPipeline),
        ("\\syncpipeline\n", Protocol::Prepared, 0, AbortCause::NoPipeline),
        ("\\startpipeline\nSELECT 1 \\gset\n", Protocol::Extended, 1, AbortCause::CaptureInPipeline(gset)),
        ("\\startpipeline\nSELECT 1 \\aset\n", Protocol::Prepared, 1, AbortCause::CaptureInPipeline(aset)),
    ] {
        let ran = run(&pipelined(script, protocol), FakeServer::default());
        let aborted = &ran.outcome.aborted[0];
        assert_eq!(aborted.cause, cause, "{script}");
        let place = aborted.place.as_ref().map(|place| (place.command, place.name.clone()));
        let name = match cause {
            AbortCause::PipelineInSimpleProtocol | AbortCause::PipelineInPipeline => "startpipeline",
            AbortCause::CaptureInPipeline(CaptureKind::Gset) => "gset",
            AbortCause::CaptureInPipeline(CaptureKind::Aset) => "aset",
            _ if script.starts_with("SELECT") => "endpipeline",
            _ => "syncpipeline",
        };
        assert_eq!(place, Some((command, name.into())), "{script}");
    }
}

#[test]
fn a_script_that_leaves_its_pipeline_open_ends_its_client() {
    for protocol in PROTOCOLS {
        let ran = run(&pipelined("\\startpipeline\nSELECT 1;\n", protocol), FakeServer::default());
        assert_eq!(ran.aborted(), [(0, "client 0 aborted: end of script reached with pipeline open")]);
    }
}

#[test]
fn an_error_in_a_pipeline_belongs_to_its_end() {
    for protocol in PROTOCOLS {
        let error = FaultEffect::error("22012", "division by zero");
        let ran =
            run(&pipelined(PIPELINE, protocol), faulty(vec![fault(0, FaultTrigger::Statement(1), error)]));
        assert_eq!(
            ran.aborted(),
            [(
                0,
                "client 0 aborted in command 6 (endpipeline) of script script-0.sql: ERROR:  division by zero"
            )]
        );
        let AbortedClient { place, cause, .. } = &ran.outcome.aborted[0];
        assert_eq!(place.as_ref().map(|place| place.query), Some(0));
        let AbortCause::Sql { statement, .. } = cause else { panic!("{cause:?}") };
        let sent = (protocol == Protocol::Extended).then_some(&b"UPDATE t SET c = $1;"[..]);
        assert_eq!(statement.as_deref(), sent);
    }
}

#[test]
fn a_pipeline_that_may_be_tried_again_is_read_to_its_end_and_begun_anew() {
    for protocol in PROTOCOLS {
        // The statement fails in the first of two series; the second one is still answered.
        let error = FaultEffect::error("40001", "could not serialize access");
        let plan = Plan { max_tries: None, ..pipelined(PIPELINE, protocol) };
        let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(0), error)]));
        assert_eq!(ran.aborted(), []);
        assert_eq!((ran.counts().succeeded, ran.counts().retries), (2, 1));
        assert_eq!(ran.outcome.commands.of_script(0)[6].retries, 1);
        assert!(!messages(&ran).contains(&"query ROLLBACK".to_owned()));
    }
}

#[test]
fn a_block_that_fails_in_a_pipeline_is_rolled_back() {
    let script = "\\startpipeline\nBEGIN;\nSELECT 1;\nEND;\n\\endpipeline\n";
    for protocol in PROTOCOLS {
        let error = FaultEffect::error("40001", "could not serialize access");
        let plan = Plan { max_tries: None, ..pipelined(script, protocol) };
        let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), error)]));
        assert_eq!((ran.counts().succeeded, ran.counts().retries), (2, 1));
        assert_eq!(messages(&ran).iter().filter(|message| *message == "query ROLLBACK").count(), 1);
    }
}

#[test]
fn a_pipeline_may_sleep_and_may_be_empty() {
    let script = "\\startpipeline\nSELECT 1;\n\\syncpipeline\n\\sleep 5 ms\nSELECT 2;\n\\sleep 5 ms\n\\endpipeline\n\
                  \\startpipeline\n\\endpipeline\n\\startpipeline\n\\syncpipeline\n\\syncpipeline\n\\endpipeline\n";
    for protocol in PROTOCOLS {
        let ran = run(&pipelined(script, protocol), FakeServer::default());
        assert_eq!((ran.aborted(), ran.counts().succeeded), (vec![], 2));
        assert_eq!(messages(&ran).iter().filter(|message| *message == "execute").count(), 4);
    }
}

#[test]
fn a_statement_that_cannot_be_prepared_ends_its_client_with_the_reason() {
    let error = FaultEffect::error("42P01", "relation \"t\" does not exist");
    let ran =
        run(&pipelined(PIPELINE, Protocol::Prepared), faulty(vec![fault(0, FaultTrigger::Parse(1), error)]));
    let sentence = "client 0 aborted in command 1 (startpipeline) of script script-0.sql: \
                    ERROR:  relation \"t\" does not exist";
    assert_eq!(ran.aborted(), [(0, sentence)]);
}

#[test]
fn as_pgbench_does_it_every_statement_that_cannot_be_prepared_is_told_with_its_text() {
    let faults =
        [0, 2].map(|parse| fault(0, FaultTrigger::Parse(parse), FaultEffect::error("42601", "wrong")));
    let plan = Plan { compatibility: Compatibility::Pgbench, ..pipelined(PIPELINE, Protocol::Prepared) };
    let ran = run(&plan, faulty(faults.into()));
    let told: Vec<_> = ran.testimony.events.iter().filter(|told| told.starts_with("Unprepared")).collect();
    assert_eq!(told.len(), 2);
    for (told, text) in told.iter().zip([&b"SELECT $1;"[..], b"SELECT 3;"]) {
        assert!(told.ends_with(&format!("statement: {text:?} }}")), "{told}");
    }
}

#[test]
fn as_pgbench_does_it_a_statement_that_cannot_be_prepared_is_executed_nonetheless() {
    let error = || FaultEffect::error("42P01", "relation \"t\" does not exist");
    for (script, parse, statement, command) in
        [(PIPELINE, 1, "P_1", 6), ("SELECT 1;\nSELECT 2;\n", 1, "P_1", 1), ("SELECT 1 \\gset\n", 0, "P_0", 0)]
    {
        let plan = Plan { compatibility: Compatibility::Pgbench, ..pipelined(script, Protocol::Prepared) };
        let ran = run(&plan, faulty(vec![fault(0, FaultTrigger::Parse(parse), error())]));
        assert!(
            ran.testimony.events[0].starts_with("Unprepared")
                && ran.testimony.events[0].contains("relation \\\"t\\\" does not exist"),
            "{:?}",
            ran.testimony.events
        );
        let place = ran.outcome.aborted[0].place.as_ref().map(|place| place.command);
        assert_eq!(place, Some(command), "{script}");
        let sentence = ran.aborted()[0].1.to_owned();
        let expected = format!("ERROR:  prepared statement \"{statement}\" does not exist");
        assert!(sentence.ends_with(&expected), "{sentence}");
    }
}
