//! Gives texts to psql and compares the statements that it sends with those of `statements`. Without psql, the tests
//! say so and compare nothing.

use std::io::Write;
use std::process::{Command, Stdio};

use pgmeter_sql::{Lexer, statements};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use testkit::extent::choose;
use testkit::null::{NullOptions, NullServer};
use testkit::request_log::RequestLog;

/// Where Debian has the program, and the one on the path. Before version 14, psql knows no bodies of routines.
const PSQL: [&str; 2] = ["/usr/lib/postgresql/15/bin/psql", "psql"];

#[allow(clippy::print_stderr, reason = "a test that compares nothing says so")]
fn find_psql() -> Option<&'static str> {
    let found = PSQL.into_iter().find(|path| Command::new(path).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("NOT COMPARED: there is no psql");
    }
    found
}

/// The statements that psql sends of a text.
fn sent_by(psql: &str, text: &str) -> Vec<String> {
    let log = RequestLog::default();
    let options = NullOptions { on_request: log.recorder(), ..NullOptions::default() };
    let server = NullServer::on_tcp(options).expect("a null server");
    let mut child = Command::new(psql)
        .args(["-X", "-q", "-f", "-", &server.conninfo()])
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("psql was there a moment ago");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("psql reads");
    assert!(child.wait().expect("psql ends").success(), "{text}");
    let requests = log.requests();
    requests.iter().filter_map(|(_, request)| Some(request.statement()?.trim_end().to_owned())).collect()
}

fn ours(text: &str) -> Vec<String> {
    statements(text.as_bytes()).map(|range| text[range].trim_end().to_owned()).collect()
}

#[test]
fn statements_are_those_of_psql() {
    let Some(psql) = find_psql() else { return };
    for text in [
        "select 1; select 2;select ';';\n-- no; statement\n  select 3 -- a; b\n, 4;\n/* a ; /* b */ ; */ select 5",
        "select $$;$$, $a$ $$ ; $a$, $1;select a$b$; select $b$;",
        "select E'\\';', '\\', U&'\\', b'1', n';'; select \"a;\"\"b\"; select U&\"d;\";",
        "select E'a'\r'\\';'; select 'a'--;\n'b;';",
        "create rule r as on insert to t do (select 1; select (2);); select 3;",
        "create function f() returns int begin atomic select 1; select case when true then 1 end; end; select 2;",
        "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC BEGIN; END; SELECT 1; END; begin; end;",
        "create function begin(a int) as 'x'; end; create table begin (a int); end;",
        "create or function begin; end; create function f(begin int) as 'x'; end;",
        "select 1+--;\n2; select 1*/*;*/2; select 1 /*/ ; */; select 2;",
        "select :a, :'b;', :\"c;\", a::b, c[1:2], :; select 1e'a\\'; select 1.;",
        "select 1); select (2;\n); select 3; ;;",
        "select 'not closed; select 2;\n",
        "select $a$ not closed; $a; select 2;",
        " \n\t-- nothing\n",
    ] {
        assert_eq!(ours(text), sent_by(psql, text), "{text}");
    }
}

/// Pieces of texts. A line has no end, because psql reads lines, and does not see that a string is continued on the next one.
const PIECES: [&str; 46] = [
    "a",
    "é",
    "1",
    ".",
    "_",
    " ",
    "  ",
    "\r",
    ";",
    ";",
    ";",
    "(",
    ")",
    "'",
    "'",
    "''",
    "\"",
    "E'",
    "e'",
    "U&'",
    "U&\"",
    "B'",
    "x'",
    "n'",
    "$",
    "$$",
    "$a$",
    "$1",
    "--",
    "/*",
    "*/",
    "-",
    "+",
    "*",
    "=",
    "?",
    ":",
    "::",
    ":a",
    "\\",
    "\\'",
    "create function f() ",
    "create or replace procedure p() ",
    "begin ",
    "case ",
    "end ",
];

#[test]
fn statements_of_random_texts_are_those_of_psql() {
    let Some(psql) = find_psql() else { return };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: choose(50, 150), failure_persistence: None, ..Config::default() },
        rng,
    );
    let texts = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..120)
        .prop_map(|pieces| pieces.concat());
    let compare = |text: String| {
        // A backslash begins a command of psql.
        let command = Lexer::new(text.as_bytes()).find(|token| token.is(text.as_bytes(), b'\\'));
        let text = command.map_or(text.as_str(), |token| &text[..token.start]);
        prop_assert_eq!(ours(text), sent_by(psql, text), "{}", text);
        Ok(())
    };
    runner.run(&texts, compare).unwrap_or_else(|failure| panic!("{failure}"));
}
