//! Aborted clients: place and cause as data.
//! Effects on other clients are tested in `failures`.

use std::io;

use pgmeter_engine::{
    AbortCause, AbortedClient, CommandPosition, Compatibility, Limit, Plan, Protocol, ShellAnswer,
};
use testkit::fake::{FakeServer, FaultEffect, FaultTrigger, reply};

use super::support::{fault, faulty, plan, run};

fn aborted(plan: &Plan, server: FakeServer) -> AbortedClient {
    let mut ran = run(plan, server);
    assert_eq!((ran.outcome.aborted.len(), ran.counts().unfinished), (1, 1));
    ran.outcome.aborted.remove(0)
}

#[test]
fn an_error_tells_script_command_statement_and_the_text_that_was_sent() {
    let script = "\\set a 5\nSELECT 1\\; SELECT :a\\; SELECT 3;\n";
    let place = CommandPosition {
        script: 0,
        script_name: "script-0.sql".into(),
        command: 1,
        name: "SQL".into(),
        query: 0,
        rolling_back: false,
    };
    for (protocol, text) in [
        (Protocol::Simple, Some(&b"SELECT 1; SELECT 5; SELECT 3;"[..])),
        (Protocol::Extended, Some(b"SELECT 1; SELECT $1; SELECT 3;")),
        (Protocol::Prepared, None),
    ] {
        let error = FaultEffect::error("42601", "syntax error");
        let plan = Plan { protocol, ..plan(script) };
        let aborted = aborted(&plan, faulty(vec![fault(0, FaultTrigger::Statement(0), error)]));
        assert_eq!(aborted.place.as_ref(), Some(&place));
        let AbortCause::Sql { error, statement } = aborted.cause else { panic!("an error") };
        assert_eq!((error.message.as_str(), statement.as_deref()), ("syntax error", text));
    }
}

#[test]
fn a_parse_that_fails_tells_the_text_that_was_sent() {
    let error = FaultEffect::error("42601", "syntax error");
    let plan = Plan { protocol: Protocol::Prepared, ..plan("SELECT :client_id;\n") };
    let aborted = aborted(&plan, faulty(vec![fault(0, FaultTrigger::Parse(0), error)]));
    let AbortCause::Sql { statement, .. } = aborted.cause else { panic!("an error") };
    assert_eq!(statement.as_deref(), Some(&b"SELECT $1;"[..]));
}

#[test]
fn the_statement_of_a_command_that_failed_is_counted_by_those_before_it() {
    // The server answers with one good result and then an error.
    let mut messages = Vec::new();
    reply::command_complete(&mut messages, b"SELECT 1");
    reply::error(&mut messages, "ERROR", "22012", "division by zero");
    let faults = vec![fault(0, FaultTrigger::Statement(0), FaultEffect::Say(messages))];
    let aborted = aborted(&plan("SELECT 1\\; SELECT 1 / 0;\n"), faulty(faults));
    assert!(matches!(aborted.cause, AbortCause::Sql { .. }));
    // The fake server continues to answer, unlike a real one.
    assert!(aborted.place.is_some_and(|place| place.query >= 1));
}

#[test]
fn copy_is_refused_in_both_directions_in_pgbenchs_compatibility() {
    let mut out = Vec::new();
    reply::message(&mut out, b'H', |out| out.extend_from_slice(&[0, 0, 0]));
    for _ in 0..1000 {
        reply::message(&mut out, b'd', |out| out.extend_from_slice(&[b'x'; 5000]));
    }
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        for effect in [FaultEffect::CopyIn, FaultEffect::Say(out.clone())] {
            let plan =
                Plan { protocol, compatibility: Compatibility::Pgbench, ..plan("COPY t TO STDOUT;\n") };
            let aborted = aborted(&plan, faulty(vec![fault(0, FaultTrigger::Statement(0), effect)]));
            assert_eq!(aborted.cause, AbortCause::Copy);
            assert_eq!(aborted.place.map(|place| place.command), Some(0));
        }
    }
}

#[test]
fn a_server_that_closes_within_a_pipeline_ends_the_client_with_its_last_word() {
    let script = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        for (effect, word) in [(FaultEffect::fatal("57P01", "going down"), true), (FaultEffect::Close, false)]
        {
            let plan = Plan { protocol, ..plan(script) };
            let aborted = aborted(&plan, faulty(vec![fault(0, FaultTrigger::Statement(1), effect)]));
            assert_eq!(
                aborted.place.map(|place| (place.command, place.name)),
                Some((3, "endpipeline".into()))
            );
            let AbortCause::ConnectionLost { last_word, error: None } = aborted.cause else { panic!("lost") };
            assert_eq!(last_word.map(|word| word.message), word.then(|| "going down".to_owned()));
        }
    }
}

#[test]
fn notices_are_told_as_they_come_and_change_nothing() {
    let mut messages = Vec::new();
    reply::notice(&mut messages, "WARNING", "01000", "mind the gap");
    let faults = vec![fault(0, FaultTrigger::Statement(1), FaultEffect::Say(messages))];
    let limit = Limit::TransactionsPerClient(3);
    let ran = run(&Plan { limit, ..plan("SELECT 1;\n") }, faulty(faults));
    assert_eq!(ran.counts().succeeded, 3);
    let [told] = &ran.testimony.events[..] else { panic!("{:?}", ran.testimony.events) };
    assert!(told.starts_with("Notice { client: 0") && told.contains("mind the gap"), "{told}");
}

/// A server, with this result of shell commands.
fn shell(answer: fn(&[u8]) -> io::Result<ShellAnswer>) -> FakeServer {
    FakeServer { shell: answer, ..FakeServer::default() }
}

#[test]
fn a_shell_command_gets_its_variables_and_its_value_may_be_kept() {
    let script = "\\set a 5\n\\shell work :a ::b\n\\setshell x ask\nSELECT :x;\n";
    let limit = Limit::TransactionsPerClient(2);
    let server = shell(|command| match command {
        b"work 5 :b" => Ok(ShellAnswer { status: Some(0), output: Vec::new() }),
        // Only the output counts.
        b"ask" => Ok(ShellAnswer { status: Some(3), output: b"17\n".to_vec() }),
        _ => panic!("{}", String::from_utf8_lossy(command)),
    });
    let ran = run(&Plan { limit, ..plan(script) }, server);
    assert_eq!(ran.log.statements_of(0), ["SELECT 17;", "SELECT 17;"]);
    let commands = ran.outcome.commands.of_script(0);
    assert!(commands[1].completed.min_ns >= 1_000_000, "a shell command takes its time");
}

#[test]
fn a_shell_command_that_fails_ends_its_client() {
    let no_shell = |_: &[u8]| Err(io::Error::from(io::ErrorKind::NotFound));
    for (script, answer, reason) in [
        (
            "\\shell false\n",
            (|_| Ok(ShellAnswer { status: Some(1), output: Vec::new() })) as fn(&[u8]) -> _,
            "shell command \"false\" failed: exit status 1",
        ),
        (
            "\\shell sleep 9\n",
            |_| Ok(ShellAnswer { status: None, output: Vec::new() }),
            "shell command \"sleep\" failed: ended by a signal",
        ),
        ("\\setshell x y\n", no_shell, "shell command \"y\" failed: entity not found"),
        (
            "\\setshell x true\n",
            |_| Ok(ShellAnswer { status: Some(0), output: Vec::new() }),
            "true: could not read result of shell command",
        ),
        ("\\shell echo :nowhere\n", |_| panic!("it cannot be run"), "echo: undefined variable \":nowhere\""),
    ] {
        let sentence = aborted(&plan(script), shell(answer)).to_string();
        let name = if script.starts_with("\\shell") { "shell" } else { "setshell" };
        assert_eq!(
            sentence,
            format!("client 0 aborted in command 0 ({name}) of script script-0.sql: {reason}")
        );
    }
}

#[test]
fn a_statement_that_is_too_long_for_a_message_ends_its_client_and_not_the_run() {
    // The limit is reduced for the test; both cases are one byte apart.
    let text = "SELECT :filler;\n";
    let filler = "x".repeat(1000);
    for (protocol, length) in
        [(Protocol::Simple, 4 + 8 + 1000 + 1), (Protocol::Extended, 4 + 2 + 4 + 4 + 1000 + 2)]
    {
        let variables = vec![("filler".to_owned(), filler.clone())];
        let limit = Limit::TransactionsPerClient(3);
        let fitting = Plan { protocol, limit, variables, message_length_max: length, ..plan(text) };
        assert_eq!(run(&fitting, FakeServer::default()).counts().succeeded, 3, "{protocol:?}");
        let plan = Plan { message_length_max: length - 1, ..fitting };
        let aborted = aborted(&plan, FakeServer::default());
        assert!(matches!(aborted.cause, AbortCause::StatementTooLong(_)), "{protocol:?}: {aborted}");
        assert_eq!(aborted.place.as_ref().map(|place| (place.command, &*place.name)), Some((0, "SQL")));
        assert!(aborted.to_string().contains("longer than the 1 GiB"), "{aborted}");
    }
    // A value of one client only: the others continue.
    let script = "\\if :client_id = 1\nSELECT :filler;\n\\else\nSELECT 1;\n\\endif\n";
    let variables = vec![("filler".to_owned(), filler)];
    let limit = Limit::TransactionsPerClient(5);
    let plan = Plan { clients: 3, limit, variables, message_length_max: 500, ..plan(script) };
    let ran = run(&plan, FakeServer::default());
    assert_eq!((ran.counts().succeeded, ran.counts().unfinished), (10, 1));
    assert_eq!(ran.outcome.aborted.iter().map(|aborted| aborted.client).collect::<Vec<_>>(), [1]);
}
