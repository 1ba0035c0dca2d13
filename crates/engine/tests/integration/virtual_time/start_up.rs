//! Connecting of clients, and the errors: client, address, reason.
//! Authentication itself is tested in `wire`.

use std::io::ErrorKind;

use pgmeter_engine::{Limit, Plan};
use testkit::fake::{FakeServer, Fault, FaultEffect, FaultTrigger, Pieces, Reach, Received, Stall, reply};
use wire::{Password, StartupParameters};

use super::support::{at_ms, at_us, fault, faulty, ms, plan, run, seconds, target, try_run, us};

/// Eight clients.
fn eight() -> Plan {
    Plan { clients: 8, limit: Limit::Duration(ms(100)), ..plan("SELECT 1;") }
}

/// The error message of the run.
fn refusal(plan: &Plan, server: FakeServer) -> String {
    match try_run(plan, server, seconds(0)) {
        Err(error) => error.to_string(),
        Ok(ran) => panic!("the run had an outcome: {:?} {:?}", ran.outcome.end, ran.aborted()),
    }
}

/// The error message for client 5, whose start-up has this fault.
fn refusal_of_client_5(effect: FaultEffect) -> String {
    let sentence = refusal(&eight(), faulty(vec![fault(5, FaultTrigger::StartUp, effect)]));
    let place = "could not create connection for client 5 to socket \"/nowhere/.s.PGSQL.5432\": ";
    sentence.strip_prefix(place).unwrap_or_else(|| panic!("{sentence}")).to_owned()
}

#[test]
fn a_server_that_refuses_a_client_is_quoted() {
    for (sqlstate, message) in [
        ("28P01", "password authentication failed for user \"tester\""),
        ("53300", "sorry, too many clients already"),
        ("3D000", "database \"tester\" does not exist"),
    ] {
        assert_eq!(refusal_of_client_5(FaultEffect::fatal(sqlstate, message)), format!("FATAL:  {message}"));
    }
}

#[test]
fn an_authentication_that_is_not_spoken_is_named() {
    assert_eq!(
        refusal_of_client_5(FaultEffect::AskFor(reply::GSSAPI)),
        "the server requires GSSAPI authentication, which is not supported"
    );
}

#[test]
fn a_server_that_closes_during_start_up_is_reported() {
    assert_eq!(
        refusal_of_client_5(FaultEffect::Close),
        "the server closed the connection during start-up; see the server's log"
    );
    assert_eq!(refusal_of_client_5(FaultEffect::Reset), "connection reset");
}

#[test]
fn a_server_that_is_no_postgresql_is_reported() {
    assert_eq!(
        refusal_of_client_5(FaultEffect::Rubbish(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec())),
        "a message of type 'H' has the invalid length 1414811695"
    );
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_longer_than_allowed() {
    let plan = Plan { connect_timeout: ms(2500), ..eight() };
    let server = faulty(vec![fault(2, FaultTrigger::StartUp, FaultEffect::Silence)]);
    assert_eq!(
        refusal(&plan, server),
        "could not create connection for client 2 to socket \"/nowhere/.s.PGSQL.5432\": no answer within 2.5 s"
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_reported() {
    for reach in [Reach::RefusedAtOnce(ErrorKind::NotFound), Reach::RefusedLater(ErrorKind::NotFound)] {
        let server = FakeServer { reach, ..FakeServer::default() };
        assert_eq!(
            refusal(&eight(), server),
            "could not create connection for client 0 to socket \"/nowhere/.s.PGSQL.5432\": entity not found"
        );
    }
}

#[test]
fn a_server_whose_queue_is_full_is_asked_again() {
    let server = FakeServer { reach: Reach::Busy(50), ..FakeServer::default() };
    let ran = run(&eight(), server);
    assert_eq!(ran.outcome.aborted, []);
    assert!(ran.outcome.connect_time > ms(90), "{:?}", ran.outcome.connect_time);
}

#[test]
fn a_server_whose_queue_stays_full_is_not_waited_for_longer_than_allowed() {
    let plan = Plan { connect_timeout: seconds(3), ..eight() };
    let server = FakeServer { reach: Reach::Busy(u32::MAX), patience: seconds(60), ..FakeServer::default() };
    assert_eq!(
        refusal(&plan, server),
        "could not create connection for client 0 to socket \"/nowhere/.s.PGSQL.5432\": no answer within 3 s"
    );
}

#[test]
fn hundreds_of_clients_get_in_also_when_answers_come_byte_by_byte() {
    let pieces = Pieces::Random { longest: 1, gap: us(1) };
    let server = FakeServer { pieces, ..FakeServer::default() };
    let limit = Limit::TransactionsPerClient(1);
    let ran = run(&Plan { clients: 300, limit, ..eight() }, server);
    assert_eq!(ran.outcome.aborted, []);
    for client in 0..300 {
        assert!(!ran.log.statements_of(client).is_empty(), "client {client} did nothing");
    }
}

#[test]
fn each_client_says_who_it_is() {
    let startup = StartupParameters {
        user: "tester".to_owned(),
        database: Some("shop".to_owned()),
        application_name: Some("pgmeter".to_owned()),
        ..StartupParameters::default()
    };
    let mut targets = vec![target("")];
    targets[0].hosts[0].startup = startup;
    let ran = run(&Plan { targets, ..eight() }, FakeServer::default());
    let pairs = [("user", "tester"), ("database", "shop"), ("application_name", "pgmeter")];
    let hello = Received::StartUp(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    for client in 0..8 {
        assert_eq!(ran.log.messages(client)[0], hello);
        assert_eq!(ran.log.messages(client).last(), Some(&Received::Terminate));
    }
}

#[test]
fn a_password_is_given_when_asked_for_and_only_then() {
    let server = FakeServer { password: Some("secret".to_owned()), ..FakeServer::default() };
    let with = |password: &str| {
        let mut target = target("");
        target.hosts[0].startup.password = Some(Password::new(password));
        Plan { targets: vec![target], ..eight() }
    };
    let ran = run(&with("secret"), server.clone());
    assert_eq!(ran.log.messages(3)[1], Received::Password("secret".to_owned()));
    let ran = run(&with("secret"), FakeServer::default());
    assert!(!ran.log.messages(3).contains(&Received::Password("secret".to_owned())));
    let wrong = refusal(&with("guess"), server.clone());
    assert!(wrong.ends_with("FATAL:  password authentication failed"), "{wrong}");
    assert!(!wrong.contains("guess"), "{wrong}");
    let none = refusal(&eight(), server);
    assert!(none.ends_with("the server requires a password, but none is given"), "{none}");
}

#[test]
fn what_the_server_says_to_those_who_are_in_while_others_are_coming_is_not_lost() {
    // Replies arrive in small pieces, so that connecting takes seconds; the first client receives bytes all the time,
    // so that the run begins within a message.
    let mut notice = Vec::new();
    reply::notice(&mut notice, "WARNING", "01000", "the server is about to be restarted");
    let faults = (700..6000)
        .step_by(50)
        .map(|ms| fault(0, FaultTrigger::Time(at_ms(ms)), FaultEffect::Say(notice.clone())));
    let server = FakeServer {
        pieces: Pieces::Random { longest: 9, gap: ms(10) },
        faults: faults.collect(),
        ..FakeServer::default()
    };
    let ran = run(&Plan { clients: 200, limit: Limit::Duration(seconds(5)), ..eight() }, server);
    assert!((seconds(2)..seconds(5)).contains(&ran.outcome.connect_time), "{:?}", ran.outcome.connect_time);
    assert_eq!(ran.aborted(), []);
}

#[test]
fn a_word_of_farewell_to_those_who_are_in_while_others_are_coming_is_the_reason_given() {
    // The others wait in a stall.
    let fatal = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    for pieces in [Pieces::Whole, Pieces::Random { longest: 9, gap: us(10) }] {
        let server = FakeServer {
            pieces,
            stalls: vec![Stall { from: at_us(200), until: at_ms(1000) }],
            ..faulty(vec![fault(0, FaultTrigger::Time(at_ms(500)), fatal.clone())])
        };
        let sentence = refusal(&Plan { clients: 200, ..eight() }, server);
        assert!(sentence.starts_with("could not create connection for client 0 to "), "{sentence}");
        assert!(
            sentence.ends_with("FATAL:  terminating connection due to administrator command"),
            "{sentence}"
        );
    }
}

#[test]
fn a_run_without_clients_scripts_or_sense_is_refused_before_anything_is_connected() {
    let none = |plan: &Plan| refusal(plan, FakeServer::default());
    assert_eq!(none(&Plan { clients: 0, ..eight() }), "a run requires at least one client and one worker");
    assert_eq!(none(&Plan { scripts: Vec::new(), ..eight() }), "total script weight must not be zero");
    assert_eq!(
        none(&Plan { rate_per_s: Some(f64::NAN), ..eight() }),
        "the rate must be a positive number of transactions per second"
    );
    assert_eq!(none(&Plan { workers: 2, ..eight() }), "one driver serves one worker");
}

#[test]
fn all_clients_are_refused_alike_when_the_server_lets_nobody_in() {
    let effect = FaultEffect::fatal("57P03", "the database system is starting up");
    let faults = vec![Fault { connection: None, trigger: FaultTrigger::StartUp, effect }];
    let sentence = refusal(&eight(), faulty(faults));
    assert!(sentence.ends_with("FATAL:  the database system is starting up"), "{sentence}");
}
