//! The session together with `wire`: it accepts messages of `wire`,
//! replies like PostgreSQL, and implements each fault.

use pgmeter_null::session::{FaultEffect, FaultTrigger, Rows, Session, SessionConfig, Step, reply};
use testkit::request_log::Received;
use wire::{Decoder, Startup, StartupParameters, TransactionStatus, frontend};

/// A session with its input and output.
struct Conversation {
    session: Session,
    config: SessionConfig,
    heard: Vec<Received>,
}

impl Conversation {
    fn with(faults: Vec<(FaultTrigger, FaultEffect)>) -> Self {
        let rows = Rows { count: 2, bytes: 3 };
        Self { session: Session::new(7, faults), config: SessionConfig::new(rows, None), heard: Vec::new() }
    }

    /// A conversation after the start-up.
    fn begun(faults: Vec<(FaultTrigger, FaultEffect)>) -> Self {
        let mut conversation = Self::with(faults);
        let mut hello = Vec::new();
        frontend::startup(&mut hello, &[("user", "u")]);
        conversation.say(&hello);
        conversation
    }

    /// Sends bytes and returns the messages of the answer, and the last step.
    fn say(&mut self, bytes: &[u8]) -> (Vec<String>, Step) {
        let (out, step) = self.say_raw(bytes);
        (names(&out), step)
    }

    fn say_raw(&mut self, bytes: &[u8]) -> (Vec<u8>, Step) {
        let mut bytes = bytes;
        let (mut out, mut last) = (Vec::new(), Step::Idle);
        loop {
            let heard = &mut self.heard;
            let step = self
                .session
                .next(&mut bytes, &self.config, &mut out, &mut |request| heard.push(request.into()));
            if step == Step::Idle {
                return (out, last);
            }
            last = step;
        }
    }
}

/// Names of the messages with their main contents.
fn names(bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut decoder = Decoder::new();
    decoder.keep_rows(true);
    decoder
        .decode(bytes, &mut |message| {
            use wire::Message;
            names.push(match message {
                Message::ReadyForQuery(TransactionStatus::Idle) => "ready".to_owned(),
                Message::ReadyForQuery(TransactionStatus::InTransaction) => "ready in transaction".to_owned(),
                Message::ReadyForQuery(TransactionStatus::Failed) => "ready, failed".to_owned(),
                Message::CommandComplete(tag) => tag.to_text().into_owned(),
                Message::ErrorResponse(fields) => format!("{} {}", fields.sqlstate(), fields.message()),
                other => other.name().to_owned(),
            });
        })
        .expect("the session speaks the protocol");
    assert!(decoder.is_between_messages(), "half a message was sent");
    names
}

fn query(sql: &str) -> Vec<u8> {
    let mut out = Vec::new();
    frontend::query(&mut out, sql.as_bytes()).unwrap();
    out
}

/// Parse (if there is a text), Bind, Describe, Execute, Sync.
fn series(name: &str, sql: Option<&str>, parameters: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    if let Some(sql) = sql {
        frontend::parse(&mut out, name.as_bytes(), sql.as_bytes()).unwrap();
    }
    let mut bind = frontend::bind(&mut out, b"", name.as_bytes());
    for value in parameters {
        bind.parameter(Some(value.as_bytes()));
    }
    bind.finish().unwrap();
    frontend::describe_portal(&mut out, b"");
    frontend::execute(&mut out, b"");
    frontend::sync(&mut out);
    out
}

#[test]
fn a_start_up_is_one_that_our_own_start_up_accepts() {
    let parameters =
        StartupParameters { user: "u".into(), options: Some(String::new()), ..Default::default() };
    let mut out = Vec::new();
    let mut startup = Startup::new(&parameters, &mut out).unwrap();
    let mut conversation = Conversation::with(Vec::new());
    let (answer, step) = conversation.say_raw(&out);
    assert_eq!(step, Step::Told);
    let (mut key, mut settings) = (None, Vec::new());
    Decoder::new()
        .decode(&answer, &mut |message| {
            if let wire::Message::ParameterStatus { name, value } = message {
                settings.push((name.to_vec(), value.to_vec()));
            }
            if let Ok(wire::Progress::Ready(ready)) = startup.message(&message, &mut out) {
                key = Some(ready);
            }
        })
        .expect("the session speaks the protocol");
    let key = key.expect("the start-up ends in ReadyForQuery");
    assert_eq!((key.process_id, key.secret_key.len()), (7, 4));
    assert!(settings.contains(&(b"server_version".into(), b"18.0 (pgmeter null server)".into())));
    let pairs = [("user", "u"), ("options", "")].map(|(name, value)| (name.into(), value.into()));
    assert_eq!(conversation.heard, [Received::StartUp(pairs.to_vec())]);
}

#[test]
fn more_parameters_than_the_protocol_can_describe_are_an_error_of_the_statement() {
    let mut conversation = Conversation::begun(Vec::new());
    let mut out = Vec::new();
    for number in ["65535", "65536", "99999999999999999999999"] {
        let sql = format!("SELECT ${number}");
        frontend::parse(&mut out, b"", sql.as_bytes()).unwrap();
        frontend::describe_statement(&mut out, b"");
        frontend::sync(&mut out);
    }
    let (answer, _) = conversation.say_raw(&out);
    let names = names(&answer);
    let refused = |name: &&String| name.starts_with("54000") && name.contains("at most 65535 parameters");
    assert_eq!(names.iter().filter(refused).count(), 2, "{names:?}");
    assert_eq!(names.iter().filter(|name| *name == "ParameterDescription").count(), 1, "{names:?}");
}

#[test]
fn what_only_a_real_server_has_is_refused_and_what_pgmeter_asks_of_it_is_answered() {
    let mut conversation = Conversation::begun(Vec::new());
    for sql in [
        "select o.n, p.partstrat, pg_catalog.count(i.inhparent) from pg_class",
        "select name, setting from pg_config",
    ] {
        let (said, _) = conversation.say(&query(sql));
        assert!(said[0].starts_with("42P01 the null server has no catalogs"), "{said:?}");
        assert_eq!(said[1..], ["ready"]);
    }
    let identity =
        "select version(), current_setting('server_version'), current_setting('server_version_num'), 1";
    let (said, _) = conversation.say_raw(&query(identity));
    assert!(String::from_utf8_lossy(&said).contains("pgmeter null server"));
    for settings in [
        "select name, current_setting(name) from pg_settings where true",
        "select name, pg_catalog.current_setting(name) from pg_catalog.pg_settings where true",
    ] {
        assert_eq!(conversation.say(&query(settings)).0, ["RowDescription", "SELECT 0", "ready"]);
    }
    let path = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); ";
    let (said, _) = conversation.say_raw(&query(&format!("{path}{identity}")));
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("pg_catalog, pg_temp") && said.contains("pgmeter null server"), "{said}");
}

#[test]
fn a_password_is_asked_for_and_checked() {
    for (given, expected) in [("right", Step::Told), ("wrong", Step::Closed)] {
        let mut conversation = Conversation::with(Vec::new());
        conversation.config = SessionConfig::new(Rows::default(), Some("right".into()));
        let mut out = Vec::new();
        frontend::startup(&mut out, &[("user", "u")]);
        assert_eq!(conversation.say(&out), (vec!["Authentication".to_owned()], Step::Told));
        out.clear();
        frontend::password(&mut out, given.as_bytes());
        assert_eq!(conversation.say(&out).1, expected, "{given}");
    }
}

#[test]
fn transactions_follow_the_words_that_begin_and_end_them() {
    let mut conversation =
        Conversation::begun(vec![(FaultTrigger::Statement(4), FaultEffect::error("40001", "no"))]);
    for (sql, expected) in [
        ("BEGIN;", &["BEGIN", "ready in transaction"][..]),
        ("SELECT 1;", &["RowDescription", "DataRow", "DataRow", "SELECT 2", "ready in transaction"]),
        ("END;", &["COMMIT", "ready"]),
        ("begin; update t set a = ';'", &["BEGIN", "UPDATE 1", "ready in transaction"]),
        ("DELETE FROM t", &["40001 no", "ready, failed"]),
        (
            "INSERT INTO t VALUES (1)",
            &[
                "25P02 current transaction is aborted, commands ignored until end of transaction block",
                "ready, failed",
            ],
        ),
        ("COMMIT", &["ROLLBACK", "ready"]),
        ("", &["EmptyQueryResponse", "ready"]),
        ("vacuum t", &["VACUUM", "ready"]),
    ] {
        assert_eq!(conversation.say(&query(sql)).0, expected, "{sql}");
    }
}

#[test]
fn a_series_is_answered_at_its_sync_and_never_before() {
    let mut conversation = Conversation::begun(Vec::new());
    let bytes = series("P_0", Some("SELECT $1, $2"), &["a", "b"]);
    let (all_but_sync, sync) = bytes.split_at(bytes.len() - 5);
    assert_eq!(conversation.say(all_but_sync), (Vec::new(), Step::Idle));
    let (answer, step) = conversation.say(sync);
    let expected =
        ["ParseComplete", "BindComplete", "RowDescription", "DataRow", "DataRow", "SELECT 2", "ready"];
    assert_eq!((answer.as_slice(), step), (&expected.map(str::to_owned)[..], Step::Answered));
    let bind =
        Received::Bind { statement: "P_0".into(), parameters: vec![Some("a".into()), Some("b".into())] };
    assert_eq!(conversation.heard[2..4], [bind, Received::Describe(true, String::new())]);
    assert_eq!(conversation.heard[4].statement(), Some("SELECT $1, $2"));
}

#[test]
fn an_error_in_a_series_skips_to_its_sync() {
    let mut conversation =
        Conversation::begun(vec![(FaultTrigger::Parse(1), FaultEffect::error("40P01", "dead"))]);
    assert_eq!(conversation.say(&series("", Some("BEGIN"), &[])).0.last().unwrap(), "ready in transaction");
    assert_eq!(conversation.say(&series("", Some("SELECT 1"), &[])).0, ["40P01 dead", "ready, failed"]);
    assert_eq!(conversation.say(&query("ROLLBACK")).0, ["ROLLBACK", "ready"]);
}

#[test]
fn mistakes_of_the_client_are_found() {
    let mut conversation = Conversation::begun(Vec::new());
    conversation.say(&series("a", Some("SELECT $1"), &["1"]));
    for (bytes, expected) in [
        (series("a", Some("SELECT 1"), &[]), "42P05 prepared statement \"a\" already exists"),
        (series("b", None, &[]), "26000 prepared statement \"b\" does not exist"),
        (
            series("a", None, &[]),
            "08P01 bind message supplies 0 parameters, but prepared statement \"a\" requires 1",
        ),
    ] {
        assert_eq!(conversation.say(&bytes).0, [expected, "ready"]);
    }
    let (answer, step) = conversation.say(b"z\0\0\0\x04");
    assert_eq!((answer[0].as_str(), step), ("08P01 invalid message format", Step::Closed));
    assert_eq!(conversation.say(&query("SELECT 1")), (Vec::new(), Step::Idle));
}

#[test]
fn any_split_of_the_bytes_is_understood() {
    let mut bytes = Vec::new();
    frontend::startup(&mut bytes, &[("user", "u"), ("database", "d")]);
    bytes.extend(query("BEGIN"));
    bytes.extend(series("s", Some("SELECT $1"), &["x"]));
    frontend::terminate(&mut bytes);
    let mut whole = Conversation::with(Vec::new());
    let expected = whole.say_raw(&bytes);
    assert_eq!(expected.1, Step::Closed);
    for size in 1..bytes.len() {
        let mut cut = Conversation::with(Vec::new());
        let out: Vec<u8> = bytes.chunks(size).flat_map(|piece| cut.say_raw(piece).0).collect();
        assert_eq!((&out, &cut.heard), (&expected.0, &whole.heard), "in pieces of {size} bytes");
    }
}

#[test]
fn each_trouble_befalls_the_statement_that_it_is_meant_for() {
    let mut notice = Vec::new();
    reply::notice(&mut notice, "WARNING", "01000", "mind the gap");
    let fatal = FaultEffect::fatal("57P01", "terminating connection");
    let last_answer = FaultEffect::LastAnswer { sqlstate: "57P01".into(), message: "good-bye".into() };
    for (effect, bytes, step) in [
        (FaultEffect::Close, Some(0), Step::Closed),
        (FaultEffect::Reset, Some(0), Step::Reset),
        (FaultEffect::Truncate(9), Some(9), Step::Closed),
        (last_answer, None, Step::Closed),
        (FaultEffect::Rubbish(vec![1, 2, 3]), Some(3), Step::Answered),
        (FaultEffect::Silence, Some(0), Step::Answered),
        (fatal, None, Step::Closed),
        (FaultEffect::CopyIn, Some(10), Step::Answered),
        (FaultEffect::Say(notice), None, Step::Answered),
    ] {
        for bytes_sent in [query("SELECT 1"), series("", Some("SELECT 1"), &[])] {
            let mut conversation = Conversation::begun(vec![(FaultTrigger::Statement(1), effect.clone())]);
            assert_eq!(conversation.say(&bytes_sent).1, Step::Answered);
            let (answer, end) = conversation.say_raw(&bytes_sent);
            assert_eq!(end, step, "{effect:?}");
            if let Some(bytes) = bytes.filter(|_| bytes_sent[0] == b'Q') {
                assert_eq!(answer.len(), bytes, "{effect:?}");
            }
        }
    }
}

#[test]
fn something_may_befall_a_session_that_asks_nothing() {
    let mut conversation = Conversation::begun(Vec::new());
    let mut out = Vec::new();
    let fatal = FaultEffect::fatal("57P01", "terminating connection due to administrator command");
    assert_eq!(conversation.session.inject(&fatal, &mut out), Step::Closed);
    assert_eq!(names(&out), ["57P01 terminating connection due to administrator command"]);
    assert_eq!(conversation.say(&query("SELECT 1")), (Vec::new(), Step::Idle));
}

#[test]
fn a_request_to_cancel_has_a_connection_of_its_own() {
    let mut conversation = Conversation::with(Vec::new());
    let mut out = Vec::new();
    frontend::ssl_request(&mut out);
    assert_eq!(conversation.say_raw(&out), (b"N".to_vec(), Step::Told));
    out.clear();
    frontend::cancel_request(&mut out, 42, &[1, 2, 3, 4]);
    assert_eq!(conversation.say(&out), (Vec::new(), Step::Closed));
    assert_eq!(conversation.heard, [Received::Encryption, Received::Cancel(42)]);
}
