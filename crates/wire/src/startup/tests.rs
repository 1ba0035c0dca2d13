//! Start-ups with messages of PostgreSQL 15 (recorded with its own client, password `correct horse`). SCRAM has a new
//! nonce each time, so a fake server computes its messages from the stored verifier.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::*;
use crate::backend::{Decoder, SqlState};

/// Messages after successful authentication; shortened, otherwise unchanged.
const ENTERED: &[u8] = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x15is_superuser\0off\0\
    S\0\0\0\x32server_version\x0015.18 (Debian 15.18-0+deb12u1)\0K\0\0\0\x0c\0\0;\xf1{\xa7#\xc4Z\0\0\0\x05I";

fn parameters(user: &str, password: Option<&str>) -> StartupParameters {
    StartupParameters {
        user: user.to_owned(),
        database: Some("postgres".to_owned()),
        application_name: Some("recorded".to_owned()),
        password: password.map(Password::new),
        extra: vec![("client_encoding".to_owned(), "UTF8".to_owned())],
        ..StartupParameters::default()
    }
}

/// Processes the server's bytes; returns the client's replies, and the last state.
fn feed(startup: &mut Startup, bytes: &[u8]) -> (Vec<u8>, Result<Progress, StartupError>) {
    let mut out = Vec::new();
    let mut last = Ok(Progress::NeedMore);
    let decoded = Decoder::new().decode(bytes, &mut |message| {
        if last == Ok(Progress::NeedMore) {
            last = startup.message(&message, &mut out);
        }
    });
    decoded.unwrap();
    (out, last)
}

/// A start-up after its first message, which is discarded.
fn begun(user: &str, password: Option<&str>) -> Startup {
    Startup::new(&parameters(user, password), &mut Vec::new()).unwrap()
}

fn refusal(user: &str, password: Option<&str>, bytes: &[u8]) -> StartupError {
    let (answer, end) = feed(&mut begun(user, password), bytes);
    assert_eq!(answer, b"", "nothing is answered to what is refused");
    end.unwrap_err()
}

#[test]
fn the_first_message_is_the_one_that_libpq_sends() {
    let mut out = Vec::new();
    Startup::new(&parameters("md5_user", None), &mut out).unwrap();
    let recorded = b"\0\0\0X\0\x03\0\0user\0md5_user\0database\0postgres\0\
        application_name\0recorded\0client_encoding\0UTF8\0\0";
    assert_eq!(out, recorded);
}

#[test]
fn a_server_that_trusts_is_entered_without_an_answer() {
    let (answer, end) = feed(&mut begun("postgres", None), ENTERED);
    assert_eq!(answer, b"");
    let secret_key = b"{\xa7#\xc4".to_vec();
    assert_eq!(end, Ok(Progress::Ready(CancelKey { process_id: 15345, secret_key })));
}

#[test]
fn a_clear_text_password_is_sent_as_recorded() {
    let mut startup = begun("clear_user", Some("correct horse"));
    let (answer, end) = feed(&mut startup, b"R\0\0\0\x08\0\0\0\x03");
    assert_eq!((answer.as_slice(), end), (&b"p\0\0\0\x12correct horse\0"[..], Ok(Progress::NeedMore)));
    assert!(matches!(feed(&mut startup, ENTERED), (_, Ok(Progress::Ready(_)))));
}

#[test]
fn an_md5_answer_is_the_recorded_one() {
    let mut startup = begun("md5_user", Some("correct horse"));
    let (answer, end) = feed(&mut startup, b"R\0\0\0\x0c\0\0\0\x05\xcb\xd6\xf1V");
    assert_eq!(answer, b"p\0\0\0(md5b0a0d2c3de3441e6ce48d830a8f12ba2\0");
    assert_eq!(end, Ok(Progress::NeedMore));
    assert!(matches!(feed(&mut startup, ENTERED), (_, Ok(Progress::Ready(_)))));
}

/// The server's side of SCRAM-SHA-256 (RFC 5802), with the recorded role's verifier from `pg_authid`.
struct ScramServer {
    /// The first client message up to the name: the channel binding flag, such as `n,,`.
    head: String,
    first: String,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

const SALT_AND_ROUNDS: &str = "s=puiJ2AW6Oj//9k/BTT5Tag==,i=4096";
const STORED_KEY: &str = "Wv2Li+A5aiUXvaVCsnW6JKdJrZLZpSJE4RNP3ofbO4Y=";
const SERVER_KEY: &str = "+WZ27WlQ4c0GdEHV2YjvBVBPO9yy0UqJBYX/0Yag5a4=";
const SASL: &[u8] = b"R\0\0\0\x17\0\0\0\nSCRAM-SHA-256\0\0";

impl ScramServer {
    fn new(client_first: &str, nonce: &str) -> ScramServer {
        let (head, client_nonce) = client_first.split_once("n=,r=").unwrap();
        ScramServer {
            head: head.to_owned(),
            first: format!("r={client_nonce}{nonce},{SALT_AND_ROUNDS}"),
            stored_key: STANDARD.decode(STORED_KEY).unwrap(),
            server_key: STANDARD.decode(SERVER_KEY).unwrap(),
        }
    }

    /// Checks the client's proof; returns the server's own.
    fn last(&self, client_first: &str, client_final: &str) -> Option<String> {
        let (without_proof, proof) = client_final.rsplit_once(",p=").unwrap();
        let bare = client_first.strip_prefix(&self.head).unwrap();
        let said = format!("{bare},{},{without_proof}", self.first);
        let signature = sign(&self.stored_key, &said);
        let proof = STANDARD.decode(proof).unwrap();
        let client_key: Vec<u8> = proof.iter().zip(signature).map(|(proof, byte)| proof ^ byte).collect();
        let is_known = Sha256::digest(&client_key)[..] == self.stored_key[..];
        is_known.then(|| format!("v={}", STANDARD.encode(sign(&self.server_key, &said))))
    }
}

fn sign(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn authentication(code: u32, data: &str) -> Vec<u8> {
    let length = u32::try_from(8 + data.len()).unwrap();
    [b"R", &length.to_be_bytes()[..], &code.to_be_bytes(), data.as_bytes()].concat()
}

/// The SCRAM message in a SASLInitialResponse or SASLResponse.
fn scram_words(answer: &[u8]) -> &str {
    let words = answer.strip_prefix(b"p\0\0\0\x36SCRAM-SHA-256\0\0\0\0 ").unwrap_or(&answer[5..]);
    std::str::from_utf8(words).unwrap()
}

#[test]
fn the_scram_server_of_these_tests_agrees_with_the_recorded_exchange() {
    let client_first = "n,,n=,r=5ordc2nohFaixsyJ/mWCra4b";
    let server = ScramServer::new(client_first, "1IG7sTwlFAgsgIWB9eTMo3jj");
    let client_final = "c=biws,r=5ordc2nohFaixsyJ/mWCra4b1IG7sTwlFAgsgIWB9eTMo3jj,\
        p=y5BaonKOhScJXTYovbd+7Gq/XK0FdCx2yXQXD+eaoX4=";
    let server_final = server.last(client_first, client_final);
    assert_eq!(server_final.as_deref(), Some("v=FOO4cGSrBI4qY3RZrhdGxJsOfikshuFlz1+SqPKOcJU="));
}

/// Runs SCRAM up to the client's proof.
fn scram_until_proof(password: &str) -> (Startup, ScramServer, String, String) {
    let mut startup = begun("scram_user", Some(password));
    let (answer, _) = feed(&mut startup, SASL);
    let client_first = scram_words(&answer).to_owned();
    let server = ScramServer::new(&client_first, "1IG7sTwlFAgsgIWB9eTMo3jj");
    let (answer, end) = feed(&mut startup, &authentication(11, &server.first));
    assert_eq!(end, Ok(Progress::NeedMore));
    let client_final = scram_words(&answer).to_owned();
    (startup, server, client_first, client_final)
}

#[test]
fn scram_proves_the_password_and_checks_the_servers_proof() {
    let (mut startup, server, client_first, client_final) = scram_until_proof("correct horse");
    let server_final = server.last(&client_first, &client_final).expect("the proof holds");
    let (answer, end) = feed(&mut startup, &[&authentication(12, &server_final), ENTERED].concat());
    assert_eq!(answer, b"");
    assert!(matches!(end, Ok(Progress::Ready(_))), "{end:?}");
}

#[test]
fn scram_with_another_password_proves_nothing() {
    let (_, server, client_first, client_final) = scram_until_proof("battery staple");
    assert_eq!(server.last(&client_first, &client_final), None);
}

#[test]
fn a_server_that_cannot_sign_is_not_believed() {
    let (mut startup, ..) = scram_until_proof("correct horse");
    let forged = "v=FOO4cGSrBI4qY3RZrhdGxJsOfikshuFlz1+SqPKOcJU=";
    let (_, end) = feed(&mut startup, &authentication(12, forged));
    assert!(matches!(end, Err(StartupError::Scram { .. })), "{end:?}");
    let (_, end) = feed(&mut startup, ENTERED);
    assert!(end.is_err(), "a failed start-up stays failed");
}

#[test]
fn a_server_that_skips_its_proof_is_not_believed() {
    let (mut startup, ..) = scram_until_proof("correct horse");
    let (_, end) = feed(&mut startup, ENTERED);
    assert!(matches!(end, Err(StartupError::Scram { .. })), "{end:?}");
    let mut startup = begun("scram_user", Some("correct horse"));
    let (_, end) = feed(&mut startup, &[SASL, ENTERED].concat());
    assert!(matches!(end, Err(StartupError::Scram { .. })), "{end:?}");
}

#[test]
fn a_recorded_exchange_played_again_is_not_believed() {
    let mut startup = begun("scram_user", Some("correct horse"));
    feed(&mut startup, SASL).1.unwrap();
    let recorded = "r=5ordc2nohFaixsyJ/mWCra4b1IG7sTwlFAgsgIWB9eTMo3jj,s=puiJ2AW6Oj//9k/BTT5Tag==,i=4096";
    let (answer, end) = feed(&mut startup, &authentication(11, recorded));
    assert_eq!(answer, b"");
    assert!(matches!(end, Err(StartupError::Scram { .. })), "{end:?}");
}

#[test]
fn scram_words_that_are_rubbish_are_refused() {
    for rubbish in ["", "r=", "\u{0}", "e=other-error", "r=x,s=!,i=4096", "r=x,s=AAAA,i=999999999999"] {
        let mut startup = begun("scram_user", Some("correct horse"));
        feed(&mut startup, SASL).1.unwrap();
        let (_, end) = feed(&mut startup, &authentication(11, rubbish));
        assert!(matches!(end, Err(StartupError::Scram { .. })), "{rubbish:?}: {end:?}");
    }
}

#[test]
fn a_missing_or_empty_password_is_asked_for_by_name() {
    for demand in [&b"R\0\0\0\x08\0\0\0\x03"[..], b"R\0\0\0\x0c\0\0\0\x05abcd", SASL] {
        assert_eq!(refusal("someone", None, demand), StartupError::PasswordNeeded);
        assert_eq!(refusal("someone", Some(""), demand), StartupError::PasswordNeeded);
    }
}

#[test]
fn ways_that_are_not_spoken_are_refused_by_name() {
    let name = |bytes: &[u8]| match refusal("someone", Some("x"), bytes) {
        StartupError::UnsupportedAuthentication { name } => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(name(&authentication(2, "")), "Kerberos V5");
    assert_eq!(name(&authentication(7, "")), "GSSAPI");
    assert_eq!(name(&authentication(9, "")), "SSPI");
    assert_eq!(name(&authentication(99, "")), "unknown (number 99)");
    let plus = authentication(10, "SCRAM-SHA-256-PLUS\0\0");
    assert_eq!(name(&plus), "SCRAM-SHA-256-PLUS (channel binding, which needs TLS)");
    assert_eq!(name(&authentication(10, "OAUTHBEARER\0\0")), "OAUTHBEARER");
    assert_eq!(name(&authentication(10, "\0")), "SASL (without naming a mechanism)");
}

#[test]
fn scram_is_taken_where_channel_binding_is_offered_beside_it() {
    let offer = authentication(10, "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let (answer, end) = feed(&mut begun("someone", Some("x")), &offer);
    assert_eq!(end, Ok(Progress::NeedMore));
    assert!(scram_words(&answer).starts_with("n,,n=,r="));
}

const BOTH: &str = "SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";

/// A start-up over TLS with these requirements.
fn bound(channel_binding: ChannelBinding, end_point: Option<&[u8]>) -> Startup {
    let parameters = StartupParameters { channel_binding, ..parameters("scram_user", Some("correct horse")) };
    let mut startup = Startup::new(&parameters, &mut Vec::new()).unwrap();
    if let Some(end_point) = end_point {
        startup.bind(end_point);
    }
    startup
}

#[test]
fn over_tls_scram_is_bound_to_the_servers_certificate() {
    let mut startup = bound(ChannelBinding::Require, Some(b"hash"));
    let (answer, _) = feed(&mut startup, &authentication(10, BOTH));
    let words = answer.strip_prefix(b"p\0\0\0PSCRAM-SHA-256-PLUS\0\0\0\x005").unwrap_or(&answer);
    let client_first = std::str::from_utf8(words).unwrap().to_owned();
    assert!(client_first.starts_with("p=tls-server-end-point,,n=,r="), "{client_first:?}");
    let server = ScramServer::new(&client_first, "1IG7sTwlFAgsgIWB9eTMo3jj");
    let (answer, _) = feed(&mut startup, &authentication(11, &server.first));
    let client_final = scram_words(&answer).to_owned();
    let said = format!("c={},", STANDARD.encode("p=tls-server-end-point,,hash"));
    assert!(client_final.starts_with(&said), "{client_final}");
    let server_final = server.last(&client_first, &client_final).expect("the proof holds");
    let (_, end) = feed(&mut startup, &[&authentication(12, &server_final), ENTERED].concat());
    assert!(matches!(end, Ok(Progress::Ready(_))), "{end:?}");
}

#[test]
fn what_is_said_about_tls_depends_on_what_both_sides_can() {
    let check = |binding, end_point, offer, expected: &str| {
        let (answer, end) = feed(&mut bound(binding, end_point), &authentication(10, offer));
        assert_eq!(end, Ok(Progress::NeedMore));
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(expected), "{answer:?}");
    };
    let plain = "SCRAM-SHA-256\0\0";
    let end_point = Some(&b"hash"[..]);
    check(ChannelBinding::Prefer, end_point, BOTH, "p=tls-server-end-point,,n=");
    check(ChannelBinding::Prefer, end_point, plain, "y,,n=");
    check(ChannelBinding::Prefer, None, BOTH, "n,,n=");
    check(ChannelBinding::Disable, end_point, BOTH, "n,,n=");
}

#[test]
fn channel_binding_that_is_required_is_insisted_on() {
    let why = |end_point, bytes: &[u8]| match feed(&mut bound(ChannelBinding::Require, end_point), bytes).1 {
        Err(StartupError::NotBound { why }) => why,
        other => panic!("{other:?}"),
    };
    let end_point = Some(&b"hash"[..]);
    assert!(why(end_point, SASL).contains("does not offer it"));
    assert!(why(None, &authentication(10, BOTH)).contains("does not use TLS"));
    assert!(why(end_point, ENTERED).contains("method without it"));
    assert!(why(end_point, b"R\0\0\0\x08\0\0\0\x03").contains("method without it"));
}

#[test]
fn a_method_that_is_not_accepted_is_refused_before_the_password_is_sent() {
    let check = |required: &str, bytes: &[u8], is_accepted: bool| {
        let required_methods = RequiredMethods::parse(required).unwrap();
        let parameters = StartupParameters { required_methods, ..parameters("someone", Some("x")) };
        let (answer, end) = feed(&mut Startup::new(&parameters, &mut Vec::new()).unwrap(), bytes);
        if is_accepted {
            assert!(end.is_ok(), "{required}: {end:?}");
        } else {
            assert_eq!(answer, b"", "{required}");
            assert!(matches!(end, Err(StartupError::MethodNotAccepted { .. })), "{required}: {end:?}");
        }
    };
    let clear = b"R\0\0\0\x08\0\0\0\x03";
    let md5 = b"R\0\0\0\x0c\0\0\0\x05abcd";
    check("scram-sha-256", SASL, true);
    check("scram-sha-256", clear, false);
    check("scram-sha-256", ENTERED, false);
    check("!password", clear, false);
    check("!password", md5, true);
    check("!none", ENTERED, false);
    check("none", ENTERED, true);
    check("md5", &[&md5[..], ENTERED].concat(), true);
    check("md5", &authentication(10, "OAUTHBEARER\0\0"), false);
    check("!gss", &authentication(7, ""), false);
}

#[test]
fn a_refusal_keeps_the_servers_words() {
    let recorded = b"E\0\0\0\x65SFATAL\0VFATAL\0C28000\0MIdent authentication failed for user \"gss_user\"\0\
        Fauth.c\0L334\0Rauth_failed\0\0";
    let error = match refusal("gss_user", None, recorded) {
        StartupError::Server(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error.sqlstate, SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    assert_eq!(error.to_string(), "FATAL:  Ident authentication failed for user \"gss_user\"");
}

#[test]
fn an_older_minor_version_is_fine_and_unknown_options_are_named() {
    let version = b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0";
    let (_, end) = feed(&mut begun("postgres", None), &[version, ENTERED].concat());
    assert!(matches!(end, Ok(Progress::Ready(_))), "{end:?}");
    let options = b"v\0\0\0\x18\0\x03\0\0\0\0\0\x01_pq_.thing\0\0";
    let names = vec!["_pq_.thing".to_owned()];
    assert_eq!(refusal("postgres", None, options), StartupError::OptionsRejected { names });
}

#[test]
fn what_has_no_place_in_a_start_up_is_refused_by_name() {
    let before = refusal("postgres", None, b"Z\0\0\0\x05I");
    assert_eq!(before, StartupError::UnexpectedMessage { name: "ReadyForQuery" });
    let after = refusal("postgres", None, b"R\0\0\0\x08\0\0\0\x001\0\0\0\x04");
    assert_eq!(after, StartupError::UnexpectedMessage { name: "ParseComplete" });
    let twice = refusal("postgres", None, b"R\0\0\0\x08\0\0\0\0R\0\0\0\x08\0\0\0\x03");
    assert_eq!(twice, StartupError::UnexpectedMessage { name: "Authentication" });
}

#[test]
fn debug_of_a_start_up_shows_no_password() {
    let (startup, ..) = scram_until_proof("correct horse");
    let shown = format!("{startup:?} {:?}", parameters("someone", Some("correct horse")));
    assert!(!shown.contains("horse"), "{shown}");
}

#[test]
fn a_flood_of_settings_while_the_session_begins_is_not_kept() {
    let mut startup = Startup::new(&parameters("someone", None), &mut Vec::new()).unwrap();
    startup.message(&Message::Authentication(Authentication::Ok), &mut Vec::new()).unwrap();
    let long = vec![b'x'; 1_000_000];
    let memory = allocation_counter::measure(|| {
        for number in 0..1000 {
            let name = format!("setting_{number}");
            let said = Message::ParameterStatus { name: name.as_bytes(), value: &long };
            startup.message(&said, &mut Vec::new()).unwrap();
        }
    });
    assert!(memory.bytes_max < 1 << 20, "{} bytes", memory.bytes_max);
}

#[test]
fn parameters_and_passwords_that_the_server_does_not_accept_are_errors() {
    let named = |length| StartupParameters {
        application_name: Some("x".repeat(length)),
        ..StartupParameters { user: "u".to_owned(), ..StartupParameters::default() }
    };
    // "user", "u", "application_name" and the value, each with a zero byte, and nine bytes.
    let rest = 5 + 2 + 17 + 1 + 9;
    let mut out = Vec::new();
    assert!(Startup::new(&named(10_000 - rest), &mut out).is_ok());
    assert_eq!(out.len(), 10_000);
    out.clear();
    let refused = Startup::new(&named(10_001 - rest), &mut out).map(drop);
    assert_eq!((refused, out.len()), (Err(StartupError::ParametersTooLong { length: 10_001 }), 0));

    let clear = b"R\0\0\0\x08\0\0\0\x03";
    let (answer, end) = feed(&mut begun("u", Some(&"x".repeat(65_530))), clear);
    assert_eq!((answer.len(), end), (1 + 65_535, Ok(Progress::NeedMore)));
    assert_eq!(
        refusal("u", Some(&"x".repeat(65_531)), clear),
        StartupError::PasswordTooLong { length: 65_531 }
    );
}
