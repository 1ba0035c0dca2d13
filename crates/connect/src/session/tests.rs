//! Sessions with servers that respond correctly, refuse, close, stay silent or send invalid data. Each server is a
//! thread with its own socket; no PostgreSQL is required.

mod cancelling;
mod fake;
mod floods;
mod limits;
mod rows;

use std::io::Write;

use super::*;
use crate::SqlState;
use fake::{Fake, Peer, columns, complete, error, message, notice, ready, row, welcome};

/// Connects and returns the error message, which must contain the user and the database, but not the password.
fn refusal(fake: Fake) -> (String, ConnectError) {
    let failure = Session::connect(&fake.target).unwrap_err();
    fake.finish();
    let sentence = failure.to_string();
    assert!(sentence.contains("as user \"user\" to database \"base\""), "{sentence}");
    assert!(!sentence.contains("secret"), "{sentence}");
    (sentence, failure)
}

fn with_password(mut fake: Fake) -> Fake {
    fake.target.password = Some(crate::Password::new("secret"));
    fake
}

#[test]
fn a_session_knows_its_server() {
    let fake = Fake::tcp(|mut peer| {
        let first = peer.hear_first();
        let expected = b"\0\x03\0\0user\0user\0database\0base\0application_name\0pgmeter\0\
            client_encoding\0UTF8\0\0";
        assert_eq!(first, expected);
        peer.say(&welcome());
        assert_eq!(peer.hear_the_end(), [b'X', 0, 0, 0, 4], "the session says goodbye");
    });
    let session = Session::connect(&fake.target).unwrap();
    assert_eq!(session.server_version_num(), 180_001);
    assert_eq!(session.parameter("TimeZone"), Some("UTC"));
    assert_eq!(session.parameter("timezone"), None);
    assert_eq!(session.cancel_key(), CancelKey { process_id: 7, secret_key: vec![1, 2, 3, 4] });
    assert_eq!(*session.address(), fake.target.addresses().unwrap()[0]);
    assert!(!format!("{session:?}").contains("secret_key"), "the cancel key is not shown");
    drop(session);
    fake.finish();
}

#[test]
fn a_tcp_socket_is_prepared_as_the_target_says() {
    use rustix::net::sockopt;
    let mut fake = Fake::tcp(|mut peer| peer.welcome());
    fake.target.keep_alive = crate::KeepAlive {
        idle: Some(Duration::from_secs(33)),
        interval: Some(Duration::from_secs(44)),
        count: Some(5),
        user_timeout_ms: Some(6000),
        ..crate::KeepAlive::default()
    };
    let session = Session::connect(&fake.target).unwrap();
    let socket = &session.stream;
    assert!(sockopt::tcp_nodelay(socket).unwrap() && sockopt::socket_keepalive(socket).unwrap());
    assert_eq!(sockopt::tcp_keepidle(socket).unwrap(), Duration::from_secs(33));
    assert_eq!(sockopt::tcp_keepintvl(socket).unwrap(), Duration::from_secs(44));
    assert_eq!(sockopt::tcp_keepcnt(socket).unwrap(), 5);
    assert_eq!(sockopt::tcp_user_timeout(socket).unwrap(), 6000);
    drop(session);
    fake.finish();
}

#[test]
fn version_numbers_are_counted_as_libpq_counts() {
    for (text, number) in [
        ("18.1 (Debian 18.1-1.pgdg13+1)", 180_001),
        ("9.6.24", 90_624),
        ("10.23", 100_023),
        ("19devel", 190_000),
        ("18beta1", 180_000),
        ("9.6rc1", 90_600),
        ("", 0),
        ("unknown", 0),
        ("99999999999999999999.99999999999999999999", 0),
    ] {
        assert_eq!(version_number(text), number, "{text}");
    }
}

#[test]
fn a_clear_text_password_is_given_when_asked_for() {
    let fake = with_password(Fake::unix(|mut peer| {
        peer.hear_first();
        peer.say(&message(b'R', &[0, 0, 0, 3]));
        assert_eq!(peer.hear(), (b'p', b"secret\0".to_vec()));
        peer.say(&welcome());
    }));
    Session::connect(&fake.target).unwrap();
    fake.finish();
}

#[test]
fn a_wrong_password_says_where_it_came_from() {
    let refuse = |mut peer: Peer| {
        peer.hear_first();
        peer.say(&message(b'R', &[0, 0, 0, 3]));
        peer.hear();
        peer.say(&error("FATAL", "28P01", "password authentication failed for user \"user\""));
    };
    let (sentence, failure) = refusal(with_password(Fake::tcp(refuse)));
    assert!(sentence.contains("cannot connect to host \"127.0.0.1\", port "), "{sentence}");
    assert!(sentence.contains(": password authentication failed for user \"user\". Check the password"));
    assert_eq!(failure.sqlstate(), Some(SqlState::INVALID_PASSWORD));
    assert!(!failure.is_password_needed());

    let mut fake = Fake::unix(refuse);
    fake.target.hosts[0].password = Some(crate::Password::new("secret"));
    assert!(refusal(fake).0.contains("password file"));
}

#[test]
fn a_missing_password_is_asked_for_and_a_useless_password_file_named() {
    let ask = |mut peer: Peer| {
        peer.hear_first();
        peer.say(&message(b'R', &[0, 0, 0, 3]));
    };
    let (sentence, failure) = refusal(Fake::unix(ask));
    assert!(sentence.contains("requires a password") && sentence.contains("PGPASSWORD"), "{sentence}");
    assert!(failure.is_password_needed());
    let mut fake = Fake::unix(ask);
    fake.target.password_file_unused = Some("the password file was not used".to_owned());
    assert!(refusal(fake).0.contains("the password file was not used"));
}

/// Refuses the connection with this error.
fn refusing(sqlstate: &'static str, text: &'static str) -> Fake {
    Fake::unix(move |mut peer| {
        peer.hear_first();
        peer.say(&error("FATAL", sqlstate, text));
    })
}

#[test]
fn a_script_in_the_place_of_the_database_is_told_from_a_missing_database() {
    let mut fake = refusing("3D000", "database \"transfer.sql\" does not exist");
    fake.target.database = "transfer.sql".to_owned();
    let sentence = Session::connect(&fake.target).unwrap_err().to_string();
    fake.finish();
    let expected = "does not exist. If it is a script, give it with -f transfer.sql";
    assert!(sentence.ends_with(expected), "{sentence}");
}

#[test]
fn an_invalid_value_of_a_setting_is_not_a_failure_to_connect() {
    let text = "invalid value for parameter \"work_mem\": \"64XB\"";
    let fake = refusing("22023", text);
    let failure = Session::connect(&fake.target).unwrap_err();
    fake.finish();
    let sentence = failure.to_string();
    assert!(sentence.starts_with("the server at socket "), "{sentence}");
    assert!(sentence.ends_with(&format!("refused the value of a setting: {text}")), "{sentence}");
    assert!(failure.as_libpq().contains("failed: FATAL:  invalid value"), "{}", failure.as_libpq());
}

#[test]
fn a_refusal_says_what_to_do_next() {
    let check = |sqlstate: &'static str, text: &'static str, advice: &str| {
        let (sentence, failure) = refusal(refusing(sqlstate, text));
        assert!(sentence.contains(text) && sentence.contains(advice), "{sentence}");
        assert_eq!(failure.sqlstate().unwrap().as_str(), sqlstate);
    };
    check(
        "3D000",
        "database \"base\" does not exist",
        "Create it with \"createdb base\", or give another one with -d",
    );
    check("28000", "role \"user\" does not exist", "Create it with \"createuser user\"");
    check(
        "28000",
        "no pg_hba.conf entry for host, no encryption",
        "others require its absence (sslmode=disable)",
    );
    check("28000", "Ident authentication failed", "pg_hba.conf");
    check("53300", "sorry, too many clients already", "fewer clients");
    check("57P03", "the database system is starting up", "Try again");
    check("XX000", "another service", "log");
}

#[test]
fn a_server_that_closes_is_an_error_of_its_own() {
    let (sentence, _) = refusal(Fake::unix(drop));
    assert!(sentence.contains("closed"), "{sentence}");
    let (sentence, _) = refusal(Fake::tcp(|mut peer| {
        peer.hear_first();
        peer.say(&welcome()[..30]);
    }));
    assert!(sentence.contains("the server closed the connection during startup"), "{sentence}");
}

#[test]
fn a_server_that_talks_something_else_is_found_out() {
    for rubbish in
        [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"220 mail ESMTP\r\n", b"\0\0\0\0\0\0", b"Z\0\0\0\x05I"]
    {
        let (sentence, _) = refusal(Fake::tcp(move |mut peer| {
            peer.hear_first();
            peer.say(rubbish);
        }));
        assert!(sentence.contains("Check host and port"), "{sentence}");
    }
    let (sentence, _) = refusal(Fake::tcp(|mut peer| {
        peer.hear_first();
        peer.say(b"Ecould not fork new process for connection: Cannot allocate memory\n\0");
    }));
    assert!(sentence.contains("could not start a process"), "{sentence}");
}

#[test]
fn a_server_that_stays_silent_is_given_up() {
    let mut fake = Fake::unix(|mut peer| drop(peer.hear_the_end()));
    fake.target.connect_timeout = Some(Duration::from_millis(50));
    let (sentence, _) = refusal(fake);
    assert!(
        sentence.contains("no answer within 0.05 s") && sentence.contains("connect_timeout"),
        "{sentence}"
    );
}

#[test]
fn a_server_that_drips_is_given_up_too() {
    let mut fake = Fake::unix(|mut peer| {
        peer.hear_first();
        // Only notices, at intervals below the limit: the limit is for the whole connection attempt.
        while peer.try_to_say(&notice("wait")) {
            testkit::condition::pause();
        }
    });
    fake.target.connect_timeout = Some(Duration::from_millis(50));
    let (sentence, _) = refusal(fake);
    assert!(sentence.contains("no answer within 0.05 s"), "{sentence}");
}

#[test]
fn where_nobody_listens_the_sentence_names_quickstart() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = fake::target(&format!("host={}", directory.path().display()));
    let sentence = Session::connect(&nowhere).unwrap_err().to_string();
    assert!(sentence.contains("the socket does not exist. Is a server running there?"), "{sentence}");
    drop(std::os::unix::net::UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap());
    let sentence = Session::connect(&nowhere).unwrap_err().to_string();
    assert!(sentence.contains("connection refused") && sentence.contains("pgmeter quickstart"), "{sentence}");
}

#[test]
fn hosts_are_tried_in_order_until_one_answers() {
    let empty = tempfile::tempdir().unwrap();
    let nowhere = fake::target(&format!("host={}", empty.path().display()));
    let mut fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_the_end();
    });
    fake.target.hosts.insert(0, nowhere.hosts[0].clone());
    let session = Session::connect(&fake.target).unwrap();
    let single = fake.target.single(session.address());
    assert_eq!(single.addresses().unwrap(), [session.address().clone()]);
    drop(session);
    fake.finish();

    let mut both = nowhere.clone();
    both.hosts.push(nowhere.hosts[0].clone());
    let sentence = Session::connect(&both).unwrap_err().to_string();
    assert_eq!(sentence.matches("the socket does not exist").count(), 2, "{sentence}");
}

#[test]
fn a_refusal_ends_the_search_unless_the_server_is_only_not_up_yet() {
    let refuse = |sqlstate: &'static str| {
        move |mut peer: Peer| {
            peer.hear_first();
            peer.say(&error("FATAL", sqlstate, "no"));
        }
    };
    let mut fake = Fake::unix(refuse("28P01"));
    fake.target.hosts.push(fake.target.hosts[0].clone());
    refusal(fake);

    let mut fake = Fake::unix_twice(refuse("57P03"), |mut peer| peer.welcome(), 2);
    fake.target.hosts.push(fake.target.hosts[0].clone());
    Session::connect(&fake.target).unwrap();
    fake.finish();
}

#[test]
fn queries_return_rows_and_several_statements_several_sets() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_query("select 1; create table t(); select null where false");
        let first = [columns("one"), row(Some("1")), row(None), complete("SELECT 2")].concat();
        let rest = [complete("CREATE TABLE"), columns("two"), complete("SELECT 0"), ready()].concat();
        peer.say(&first);
        peer.say(&rest);
        peer.hear_query("select 1");
        peer.say(&[columns("one"), row(Some("ü")), complete("SELECT 1"), ready()].concat());
        peer.hear_query("update t");
        peer.say(&[complete("UPDATE 12"), ready()].concat());
        peer.hear_query("");
        peer.say(&[message(b'I', b""), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let sets = session.query_sets("select 1; create table t(); select null where false").unwrap();
    let tags: Vec<_> = sets.iter().map(|set| (set.tag.as_str(), set.rows.len(), set.returns_rows)).collect();
    assert_eq!(tags, [("SELECT 2", 2, true), ("CREATE TABLE", 0, false), ("SELECT 0", 0, true)]);
    assert_eq!(sets[0].columns, ["one"]);
    assert_eq!((sets[0].rows[0].get(0), sets[0].rows[1].get(0)), (Some("1"), None));
    assert_eq!((sets[0].rows[0].len(), sets[0].rows[0].get(1)), (1, None));
    assert_eq!(session.query("select 1").unwrap()[0].get(0), Some("ü"));
    assert_eq!(session.execute("update t").unwrap(), 12);
    assert_eq!(session.execute("").unwrap(), 0);
    drop(session);
    fake.finish();
}

#[test]
fn an_error_of_a_statement_leaves_the_session_usable() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_query("select 1 from nowhere");
        peer.say(&[notice("mind"), error("ERROR", "42P01", "no such table"), ready()].concat());
        peer.hear_query("select 1");
        peer.say(&[notice("the"), notice("gap"), complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let failure = session.execute("select 1 from nowhere").unwrap_err();
    assert_eq!(failure.sqlstate(), Some(SqlState::UNDEFINED_TABLE));
    assert_eq!(failure.to_string(), "ERROR:  no such table");
    session.execute("select 1").unwrap();
    let notices: Vec<_> = session.take_notices().into_iter().map(|notice| notice.message).collect();
    assert_eq!(notices, ["mind", "the", "gap"]);
    assert!(session.take_notices().is_empty());
    drop(session);
    fake.finish();
}

#[test]
fn statements_that_cannot_be_sent_are_refused_here() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        assert_eq!(peer.hear_the_end(), [b'X', 0, 0, 0, 4]);
    });
    let mut session = Session::connect(&fake.target).unwrap();
    assert!(matches!(session.execute("select \0"), Err(ConnectError::WrongStatement(_))));
    drop(session);
    fake.finish();
}

#[test]
fn a_server_that_goes_says_why_or_is_said_to_have_gone() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&error("FATAL", "57P01", "terminating connection"));
    });
    let mut session = Session::connect(&fake.target).unwrap();
    assert_eq!(session.execute("select 1").unwrap_err().sqlstate(), Some(SqlState::ADMIN_SHUTDOWN));
    assert!(matches!(session.execute("select 1"), Err(ConnectError::Lost(_))));
    fake.finish();

    let fake = Fake::tcp(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&columns("one"));
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let sentence = session.query("select 1").unwrap_err().to_string();
    assert!(sentence.starts_with("the connection to host \"127.0.0.1\", port "), "{sentence}");
    assert!(sentence.contains("the server closed it"), "{sentence}");
    fake.finish();
}

#[test]
fn an_answer_that_is_none_ends_the_session() {
    // The answer to a message that was not sent is passed over, and its end is waited for.
    let silence = Some(Duration::from_millis(20));
    for (rubbish, limit) in [
        (&b"\0\0\0\0\0"[..], None),
        (b"D\0\0\0\x06\0\0", None),
        (b"T\0\0\0\x06\0\x01", None),
        (b"1\0\0\0\x04", silence),
    ] {
        let fake = Fake::unix(move |mut peer| {
            peer.welcome();
            peer.hear();
            peer.say(rubbish);
            peer.hear_the_end();
        });
        let mut session = Session::connect(&fake.target).unwrap();
        if limit.is_some() {
            session.set_read_timeout(limit).unwrap();
        }
        assert!(matches!(session.query("select 1"), Err(ConnectError::Lost(_))), "{rubbish:?}");
        assert!(matches!(session.query("select 1"), Err(ConnectError::Lost(_))));
        drop(session);
        fake.finish();
    }
}

#[test]
fn a_silent_server_is_given_up_in_mid_query() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_the_end();
    });
    let mut session = Session::connect(&fake.target).unwrap();
    session.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let sentence = session.execute("select 1").unwrap_err().to_string();
    assert!(sentence.contains("not responded for 0.02 s"), "{sentence}");
    drop(session);
    fake.finish();
}

const COPY_IN: [u8; 8] = [b'G', 0, 0, 0, 7, 0, 0, 0];

/// Reads CopyData up to CopyDone; returns the data and the message that followed.
fn hear_copy(peer: &mut Peer) -> (Vec<u8>, u8, Vec<u8>) {
    let mut data = Vec::new();
    loop {
        match peer.hear() {
            (b'd', piece) => data.extend(piece),
            (tag, body) => return (data, tag, body),
        }
    }
}

#[test]
fn copied_rows_arrive_in_order_and_are_counted() {
    const ROW_COUNT: usize = 30_000;
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear_query("copy t from stdin");
        peer.say(&COPY_IN);
        let (data, end, _) = hear_copy(&mut peer);
        let expected: String = (0..ROW_COUNT).map(|row| format!("{row}\tvalue\n")).collect();
        assert!(data == expected.as_bytes() && end == b'c');
        peer.say(&[complete("COPY 30000"), ready()].concat());
        peer.hear_query("select 1");
        peer.say(&[complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    for row in 0..ROW_COUNT {
        writeln!(copy, "{row}\tvalue").unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 30_000);
    session.execute("select 1").unwrap();
    drop(session);
    fake.finish();
}

#[test]
fn an_error_during_a_copy_stops_the_writing_and_the_session_goes_on() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&COPY_IN);
        assert_eq!(peer.hear().0, b'd');
        peer.say(&[error("ERROR", "53100", "could not extend file"), ready()].concat());
        let (_, tag, _) = hear_copy(&mut peer);
        assert_eq!(tag, b'Q', "what was under way is ignored");
        peer.say(&[complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    let row = [b'x'; 1000];
    // Endless without the error.
    let failure = loop {
        if let Err(failure) = copy.write_all(&row) {
            break failure;
        }
    };
    assert!(failure.to_string().contains("could not extend file"), "{failure}");
    let failure = copy.finish().unwrap_err();
    assert_eq!(failure.sqlstate(), Some(SqlState::DISK_FULL));
    session.execute("select 1").unwrap();
    drop(session);
    fake.finish();
}

#[test]
fn a_copy_that_is_dropped_fails_on_the_server() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&COPY_IN);
        let (_, tag, _) = hear_copy(&mut peer);
        assert_eq!(tag, b'f');
        peer.say(&[error("ERROR", "57014", "COPY failed"), ready()].concat());
        peer.hear_query("select 1");
        peer.say(&[complete("SELECT 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    copy.write_all(b"half a row").unwrap();
    drop(copy);
    session.execute("select 1").unwrap();
    drop(session);
    fake.finish();
}

#[test]
fn a_server_that_warns_without_end_during_a_copy_is_listened_to() {
    const PIECE_COUNT: usize = 200;
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&COPY_IN);
        let warning = notice(&"x".repeat(100_000));
        for _ in 0..PIECE_COUNT {
            peer.say(&warning);
            assert_eq!(peer.hear().0, b'd');
        }
        let (_, end, _) = hear_copy(&mut peer);
        assert_eq!(end, b'c');
        peer.say(&[complete("COPY 1"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    for _ in 0..=PIECE_COUNT {
        copy.write_all(&vec![b'y'; 64 * 1024]).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), 1);
    assert_eq!(session.take_notices().len(), 100);
    drop(session);
    fake.finish();
}

#[test]
fn a_server_that_goes_during_a_copy_ends_it() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&COPY_IN);
        peer.hear();
        peer.say(&error("FATAL", "57P01", "terminating connection"));
    });
    let mut session = Session::connect(&fake.target).unwrap();
    let mut copy = session.copy_in("copy t from stdin").unwrap();
    while copy.write_all(&[b'x'; 1000]).is_ok() {}
    let failure = copy.finish().unwrap_err();
    assert_eq!(failure.sqlstate(), Some(SqlState::ADMIN_SHUTDOWN), "{failure}");
    assert!(matches!(session.execute("select 1"), Err(ConnectError::Lost(_))));
    fake.finish();
}

#[test]
fn a_copy_without_data_and_data_without_a_copy_are_errors() {
    let fake = Fake::unix(|mut peer| {
        peer.welcome();
        peer.hear();
        peer.say(&COPY_IN);
        assert_eq!(peer.hear().0, b'f');
        peer.say(&[error("ERROR", "57014", "COPY from stdin failed"), ready()].concat());
        peer.hear();
        peer.say(&[complete("SELECT 1"), ready()].concat());
        peer.hear();
        peer.say(&[error("ERROR", "42P01", "no such table"), ready()].concat());
    });
    let mut session = Session::connect(&fake.target).unwrap();
    assert_eq!(session.execute("copy t from stdin").unwrap_err().sqlstate(), Some(SqlState::QUERY_CANCELED));
    assert!(matches!(session.copy_in("select 1").err(), Some(ConnectError::WrongStatement(_))));
    let failure = session.copy_in("copy nowhere from stdin").err().unwrap();
    assert_eq!(failure.sqlstate(), Some(SqlState::UNDEFINED_TABLE));
    drop(session);
    fake.finish();
}

#[test]
fn a_cancel_request_shows_the_key_on_a_connection_of_its_own() {
    let fake = Fake::unix_twice(
        |mut peer| peer.welcome(),
        |mut peer| {
            let request = peer.hear_first();
            assert_eq!(request, [0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 7, 1, 2, 3, 4]);
        },
        2,
    );
    let session = Session::connect(&fake.target).unwrap();
    cancel(session.address(), session.transport(), &session.cancel_key()).unwrap();
    drop(session);
    fake.finish();
    let gone = Address::Unix("/nowhere/.s.PGSQL.1".into());
    let key = CancelKey { process_id: 1, secret_key: vec![] };
    assert!(
        cancel(&gone, &Transport::default(), &key)
            .unwrap_err()
            .to_string()
            .contains("the socket does not exist")
    );
}
