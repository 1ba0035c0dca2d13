//! Shared helpers: targets, attempts, and the server's view of a connection.
//! `testkit` creates the servers.

use pgmeter_connect::{Environment, Overrides, Session, Target, resolve};

/// A target from this string only.
pub fn target(conninfo: &str) -> Target {
    let resolved = resolve(Some(conninfo), &Overrides::default(), &Environment::default());
    resolved.unwrap_or_else(|error| panic!("{conninfo}: {error}"))
}

/// A session, or the error message.
pub fn enter(conninfo: &str) -> Result<Session, String> {
    Session::connect(&target(conninfo)).map_err(|error| error.to_string())
}

/// A session; panics if the connection fails.
pub fn session(conninfo: &str) -> Session {
    enter(conninfo).unwrap_or_else(|error| panic!("{conninfo}: {error}"))
}

/// The message of an attempt that must fail.
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

/// Whether the connection is encrypted for the server; the session's state must agree.
pub fn is_encrypted(session: &mut Session) -> bool {
    let seen = ask(session, "select ssl from pg_stat_ssl where pid = pg_backend_pid()") == "t";
    assert_eq!(seen, session.transport().tls.is_some());
    seen
}
