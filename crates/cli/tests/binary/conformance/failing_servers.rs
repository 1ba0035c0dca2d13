//! Servers that fail while a transaction is rolled back, or whose last answer says nothing of the transaction: the words
//! in which a client is aborted then. A few lines stand for such a server, since a real one cannot be made to do so.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::conformance::cases::{Bench, Case};
use crate::conformance::shape;

/// What the server does when it is asked to roll back.
#[derive(Clone, Debug)]
enum Rollback {
    /// It never gets so far: the connection ends with the answer.
    Unasked,
    /// It closes the connection.
    Closes,
    /// It answers.
    Answers(Vec<u8>),
    /// It answers and closes the connection.
    AnswersAndCloses(Vec<u8>),
}

#[derive(Debug)]
struct Server {
    /// The answer to whatever the script asks.
    answer: Vec<u8>,
    rollback: Rollback,
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("it is short").to_be_bytes();
    [&[tag], length.as_slice(), body].concat()
}

fn error(severity: &str, code: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{code}\0M{text}\0\0").as_bytes())
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', &[status])
}

/// The next message: its tag and body; `None` once the client has gone.
fn receive(stream: &mut UnixStream, has_tag: bool) -> Option<(u8, Vec<u8>)> {
    let mut tag = [0];
    if has_tag {
        stream.read_exact(&mut tag).ok()?;
    }
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length).checked_sub(4)? as usize];
    stream.read_exact(&mut body).ok()?;
    Some((tag[0], body))
}

impl Server {
    fn serve(&self, mut stream: UnixStream) -> Option<()> {
        receive(&mut stream, false)?;
        let parameters =
            ["server_version\x0019.0\0", "client_encoding\0UTF8\0", "standard_conforming_strings\0on\0"];
        let mut greeting = message(b'R', &[0; 4]);
        parameters.iter().for_each(|parameter| greeting.extend(message(b'S', parameter.as_bytes())));
        greeting.extend(ready(b'I'));
        stream.write_all(&greeting).ok()?;
        while let Some((tag, body)) = receive(&mut stream, true) {
            let is_rollback = tag == b'Q' && body.starts_with(b"ROLLBACK");
            match (&self.rollback, tag) {
                (Rollback::Closes, _) if is_rollback => return None,
                (Rollback::Answers(answer), _) if is_rollback => stream.write_all(answer).ok()?,
                (Rollback::AnswersAndCloses(answer), _) if is_rollback => {
                    return stream.write_all(answer).ok();
                }
                (rollback, b'Q' | b'S') => {
                    stream.write_all(&self.answer).ok()?;
                    if matches!(rollback, Rollback::Unasked) {
                        return None;
                    }
                }
                (_, b'X') => return None,
                _ => {}
            }
        }
        None
    }
}

/// Compares both programs at this server.
fn compare(bench: &mut Bench, case: Case, server: Server) {
    let folder = tempfile::Builder::new().prefix("pgmeter-test-").tempdir().expect("a directory can be made");
    let socket = folder.path().join(".s.PGSQL.5432");
    let listener = UnixListener::bind(&socket).expect("it is free");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                scope.spawn(|| server.serve(stream));
            }
        });
        bench.compare(&case.env("PGHOST", folder.path().to_string_lossy()), shape::times);
        is_over.store(true, Ordering::Relaxed);
        drop(UnixStream::connect(&socket));
    });
}

#[test]
fn servers_that_fail_in_the_middle() {
    let Some(mut bench) = Bench::new("failing servers") else { return };
    let in_transaction = || [error("ERROR", "40001", "could not serialize"), ready(b'E')].concat();
    let terminated = || error("FATAL", "57P01", "terminating connection");
    let refused = || [error("ERROR", "XX000", "cannot roll back"), ready(b'E')].concat();
    let cases = [
        (
            "the connection ends with an error to retry",
            error("ERROR", "40001", "could not serialize"),
            Rollback::Unasked,
        ),
        ("the connection ends without a word", Vec::new(), Rollback::Unasked),
        ("another protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Rollback::Unasked),
        ("a message that is too short", b"Z\0\0\0\x03".to_vec(), Rollback::Unasked),
        ("a length below zero", b"C\xff\xff\xff\xfe".to_vec(), Rollback::Unasked),
        ("an unknown message", message(b'y', b"what"), Rollback::Unasked),
        ("an unknown message of an impossible length", b"\xe9\x7f\0\0\0".to_vec(), Rollback::Unasked),
        ("the connection ends behind an error", in_transaction(), Rollback::Unasked),
        ("the connection ends at the rollback", in_transaction(), Rollback::Closes),
        (
            "the server ends the session at the rollback",
            in_transaction(),
            Rollback::AnswersAndCloses(terminated()),
        ),
        ("the rollback is refused", in_transaction(), Rollback::Answers(refused())),
        (
            "an unknown status behind an error",
            [error("ERROR", "40001", "could not serialize"), ready(b'?')].concat(),
            Rollback::Closes,
        ),
    ];
    let pipeline = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n";
    let runs = [
        ("-n -t 1 -f script.sql", "select 1;\n"),
        ("-n -t 1 -M extended -f script.sql", "select 1;\n"),
        ("-n -t 1 --max-tries=3 -f script.sql", "select 1;\n"),
        ("-n -t 1 -M extended -f script.sql", pipeline),
    ];
    for (name, answer, rollback) in cases {
        for (arguments, script) in runs {
            // Older versions roll back while they are in the pipeline still, fail at that, and some hang.
            if script == pipeline && bench.sides.iter().any(|side| side.program.version < 18) {
                continue;
            }
            let case = Case::new(arguments).named(format!("{name}: {arguments}")).file("script.sql", script);
            compare(&mut bench, case, Server { answer: answer.clone(), rollback: rollback.clone() });
        }
    }
    bench.tally.verdict();
}
