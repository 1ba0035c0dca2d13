//! What the tests here share: targets, attempts, and what a server says about its connection.
//! Servers are made by `testkit`.

use pgmeter_connect::{Environment, Overrides, Session, Target, resolve};

/// A target that only this string decides about.
pub fn target(conninfo: &str) -> Target {
    let resolved = resolve(Some(conninfo), &Overrides::default(), &Environment::default());
    resolved.unwrap_or_else(|error| panic!("{conninfo}: {error}"))
}

/// A session, or the sentence that says why there is none.
pub fn enter(conninfo: &str) -> Result<Session, String> {
    Session::connect(&target(conninfo)).map_err(|error| error.to_string())
}

/// A session that must come about.
pub fn session(conninfo: &str) -> Session {
    enter(conninfo).unwrap_or_else(|error| panic!("{conninfo}: {error}"))
}

/// The sentence of an attempt that must fail.
pub fn refusal(conninfo: &str) -> String {
    match enter(conninfo) {
        Ok(_) => panic!("{conninfo}: connected"),
        Err(sentence) => sentence,
    }
}

/// The first column of the first row.
pub fn ask(session: &mut Session, sql: &str) -> String {
    let rows = session.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows[0].get(0).unwrap_or_default().to_owned()
}

/// Whether the server sees this connection encrypted; it must agree with what the session says.
pub fn is_encrypted(session: &mut Session) -> bool {
    let seen = ask(session, "select ssl from pg_stat_ssl where pid = pg_backend_pid()") == "t";
    assert_eq!(seen, session.transport().tls.is_some());
    seen
}
