//! Time limits of statements: which waits end the session.
//! A fake server controls silence and answers.

use std::time::Duration;

use super::fake::Fake;
use crate::{ConnectError, Session};

/// Short for a fast test, long enough for a busy machine.
const LIMIT: Duration = Duration::from_millis(400);

fn given_up(error: &ConnectError, words: &[&str]) {
    let sentence = error.to_string();
    assert!(matches!(error, ConnectError::Lost(_)), "{error:?}");
    for word in words {
        assert!(sentence.contains(word), "no \"{word}\" in: {sentence}");
    }
}

#[test]
fn a_statement_that_is_not_answered_within_its_limit_ends_the_session_and_is_cancelled() {
    let mut fake = Fake::unix_twice(
        |mut peer| {
            peer.welcome();
            peer.hear_query("select 'a secret', 1");
            peer.hear_the_end();
        },
        |mut peer| {
            let request = peer.hear_first();
            assert_eq!(request[..8], [4, 210, 22, 46, 0, 0, 0, 7], "a cancel request for process 7");
        },
        2,
    );
    fake.target.control_timeout = Some(LIMIT);
    let mut session = Session::connect(&fake.target).unwrap();
    let error = session.execute("select 'a secret', 1").unwrap_err();
    given_up(&error, &["was closed: the server did not answer within 0.4 s", "PGMETER_CONTROL_TIMEOUT"]);
    assert!(session.is_lost() && session.is_given_up());
    drop(session);
    fake.finish();
}

#[test]
fn a_server_that_is_silent_to_others_too_ends_a_patient_session() {
    let mut fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_query(&format!("vacuum {}", "t".repeat(60)));
        peer.hear_the_end();
    });
    fake.target.control_timeout = Some(LIMIT);
    let mut session = Session::connect(&fake.target).unwrap();
    let error =
        session.patiently(|session| session.execute(&format!("vacuum {}", "t".repeat(60)))).unwrap_err();
    let shown = format!("(statement: vacuum {} …)", "t".repeat(30));
    given_up(&error, &["the server did not answer within 0.4 s", &shown]);
    drop(session);
    fake.finish();
}

#[test]
fn another_thread_closes_a_session_that_waits_and_says_why() {
    let (heard, was_heard) = std::sync::mpsc::channel();
    let fake = Fake::unix(move |mut peer| {
        peer.welcome();
        peer.hear_query("select 1");
        heard.send(()).unwrap();
        peer.hear_the_end();
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let closer = session.closer().expect("sockets can be duplicated");
    let closing = std::thread::spawn(move || {
        was_heard.recv().unwrap();
        closer.close("it was interrupted");
    });
    let error = session.execute("select 1").unwrap_err();
    given_up(&error, &["was lost: it was interrupted"]);
    assert!(session.is_given_up());
    closing.join().unwrap();
    drop(session);
    fake.finish();
}
