//! A server played by a thread that runs a given function for each connection. Sockets are real, in a temporary
//! directory or on a port chosen by the system; a failure of the function fails the test.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

use crate::{Environment, Overrides, Target, resolve};

/// The server's end of a connection.
pub(super) struct Peer {
    socket: Box<dyn Socket>,
}

trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

/// A thread that plays a server; joined at the end, so that its failures are reported.
pub(super) struct Fake {
    pub(super) target: Target,
    thread: Option<JoinHandle<()>>,
    _directory: Option<TempDir>,
}

impl Fake {
    /// Listens on a Unix socket.
    pub(super) fn unix(part: impl FnOnce(Peer) + Send + 'static) -> Fake {
        Fake::unix_twice(part, |_| {}, 1)
    }

    /// Listens on a Unix socket, with a second function for a second connection.
    pub(super) fn unix_twice(
        first: impl FnOnce(Peer) + Send + 'static,
        second: impl FnOnce(Peer) + Send + 'static,
        count: usize,
    ) -> Fake {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let thread = thread::spawn(move || {
            first(Peer { socket: Box::new(listener.accept().unwrap().0) });
            if count > 1 {
                second(Peer { socket: Box::new(listener.accept().unwrap().0) });
            }
        });
        let target = target(&format!("host={}", directory.path().display()));
        Fake { target, thread: Some(thread), _directory: Some(directory) }
    }

    /// Listens on the loopback network.
    pub(super) fn tcp(part: impl FnOnce(Peer) + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = thread::spawn(move || part(Peer { socket: Box::new(listener.accept().unwrap().0) }));
        Fake {
            target: target(&format!("host=127.0.0.1 port={port} sslmode=disable")),
            thread: Some(thread),
            _directory: None,
        }
    }

    /// Waits for the thread to end.
    pub(super) fn finish(mut self) {
        self.thread.take().unwrap().join().expect("the fake server's part went wrong");
    }
}

/// A target for `user` and `base`, independent of the environment.
pub(super) fn target(text: &str) -> Target {
    let text = format!("{text} user=user dbname=base");
    resolve(Some(&text), &Overrides::default(), &Environment::default()).unwrap()
}

impl Peer {
    /// Sends bytes unchanged.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// As [`Peer::say`]; false after the client has closed the connection.
    pub(super) fn try_to_say(&mut self, bytes: &[u8]) -> bool {
        self.socket.write_all(bytes).is_ok()
    }

    /// Reads the first message, which has no type byte; returns its body.
    pub(super) fn hear_first(&mut self) -> Vec<u8> {
        let length = u32::from_be_bytes(self.take(4).try_into().unwrap());
        self.take(length as usize - 4)
    }

    /// Reads one message.
    pub(super) fn hear(&mut self) -> (u8, Vec<u8>) {
        let tag = self.take(1)[0];
        let length = u32::from_be_bytes(self.take(4).try_into().unwrap());
        (tag, self.take(length as usize - 4))
    }

    /// Reads to the end of the connection.
    pub(super) fn hear_the_end(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.socket.read_to_end(&mut rest).unwrap();
        rest
    }

    /// Accepts the client without a password.
    pub(super) fn welcome(&mut self) {
        self.hear_first();
        self.say(&welcome());
    }

    /// Reads a query and checks its text.
    pub(super) fn hear_query(&mut self, expected: &str) {
        let (tag, body) = self.hear();
        assert_eq!((tag, body.as_slice()), (b'Q', [expected.as_bytes(), &[0]].concat().as_slice()));
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }
}

/// A server message.
pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

pub(super) fn error(severity: &str, sqlstate: &str, text: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{sqlstate}\0M{text}\0\0").as_bytes())
}

pub(super) fn notice(text: &str) -> Vec<u8> {
    message(b'N', format!("SNOTICE\0C00000\0M{text}\0\0").as_bytes())
}

pub(super) fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

pub(super) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// One column, in text form.
pub(super) fn columns(name: &str) -> Vec<u8> {
    let fields = b"\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    message(b'T', &[b"\0\x01", name.as_bytes(), b"\0", fields].concat())
}

/// One row of one column.
pub(super) fn row(value: Option<&str>) -> Vec<u8> {
    let value = match value {
        Some(value) => [&u32::try_from(value.len()).unwrap().to_be_bytes()[..], value.as_bytes()].concat(),
        None => vec![0xff; 4],
    };
    message(b'D', &[b"\0\x01", value.as_slice()].concat())
}

/// A server's messages after successful authentication.
pub(super) fn welcome() -> Vec<u8> {
    let parameter = |name: &str, value: &str| message(b'S', format!("{name}\0{value}\0").as_bytes());
    let entered = message(b'R', &[0; 4]);
    let key = message(b'K', &[0, 0, 0, 7, 1, 2, 3, 4]);
    [entered, parameter("server_version", "18.1 (fake)"), parameter("TimeZone", "UTC"), key, ready()].concat()
}
