//! The password that is found in a password file, beside an installed psql: both connect to a server that asks for a
//! password in clear text, and notes it.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use pgmeter_connect::{Environment, Overrides, resolve};

use crate::certificates::find_psql;

/// Lines, and the host, database and user that are looked for. PORT is the server's port.
const CASES: [(&[u8], &str, &str, &str); 24] = [
    (b"::1:PORT:d:u:p", "::1", "d", "u"),
    (b"\\:\\:1:PORT:d:u:p", "::1", "d", "u"),
    (b"fe80::1:*:*:*:p", "fe80::1", "d", "u"),
    (b"::1:PORT:d:u:p", "::", "1", "u"),
    (b"h:PORT:a:b:u:p", "h", "a:b", "u"),
    (b"h:PORT:a\\:b:u:p", "h", "a:b", "u"),
    (b"h:PORT:d:u:p\\:w", "h", "d", "u"),
    (b"h:PORT:d:u:p:w", "h", "d", "u"),
    (b"h:PORT:d:u:p\\", "h", "d", "u"),
    (b"h:PORT:d:u\\:p", "h", "d", "u"),
    (b"h:PORT:d:u:\\\\", "h", "d", "u"),
    (b"h:PORT:d:u:p \r\r\n", "h", "d", "u"),
    (b"#h:PORT:d:u:p", "#h", "d", "u"),
    (b" h:PORT:d:u:p", "h", "d", "u"),
    (b"h:0PORT:d:u:p", "h", "d", "u"),
    (b"*:PORT:d:u:p", "h", "d", "u"),
    (b"\\*:PORT:d:u:p", "*", "d", "u"),
    (b"**:PORT:d:u:p\n*:*:*:*:q", "h", "d", "u"),
    (b"h:PORT:d:u:\nh:PORT:d:u:q", "h", "d", "u"),
    (b"h:PORT:d:u\nh:PORT:d:u:q", "h", "d", "u"),
    (b"h:PORT:d:u:p\0q\nh:PORT:d:u:r", "h", "d", "u"),
    (b"\0\nh:PORT:d:u:p", "h", "d", "u"),
    (b"h\\", "h", "d", "u"),
    (b"\xff\xfe:PORT:d:u:p\n*:*:*:*:q", "h", "d", "u"),
];

/// Reads bytes of the protocol, of which clients send those of a message at once.
fn message(stream: &mut TcpStream, has_type: bool) -> Option<Vec<u8>> {
    let mut head = vec![0; if has_type { 5 } else { 4 }];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes(head[head.len() - 4..].try_into().ok()?);
    let mut body = vec![0; usize::try_from(length).ok()?.checked_sub(4)?];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Asks one client for its password; `None` if it has none.
fn ask(listener: &TcpListener) -> Option<Vec<u8>> {
    let (mut stream, _) = listener.accept().expect("a client");
    message(&mut stream, false)?;
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03").ok()?;
    let mut password = message(&mut stream, true)?;
    password.pop();
    Some(password)
}

#[test]
#[allow(clippy::print_stderr)] // that nothing was compared
fn a_password_file_is_read_as_libpq_reads_it() {
    let Some((psql, _)) = find_psql() else {
        eprintln!("NOT COMPARED: there is no psql");
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it listens").port().to_string();
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("pgpass");
    for (content, host, database, user) in CASES {
        let (mut text, mut rest) = (Vec::new(), content);
        while let Some(at) = rest.windows(4).position(|word| word == b"PORT") {
            text.extend_from_slice(&rest[..at]);
            text.extend_from_slice(port.as_bytes());
            rest = &rest[at + 4..];
        }
        text.extend_from_slice(rest);
        std::fs::write(&path, text).expect("our file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("our file");
        let conninfo = format!(
            "host='{host}' hostaddr=127.0.0.1 port={port} dbname='{database}' user='{user}' sslmode=disable \
             gssencmode=disable passfile='{}'",
            path.display()
        );
        let environment = Environment { variables: BTreeMap::new(), ..Environment::default() };
        let target = resolve(Some(&conninfo), &Overrides::default(), &environment).expect("a target");
        let ours = target.hosts[0].password.as_ref().map(|password| password.as_bytes().to_vec());
        let mut child = Command::new(psql)
            .args(["-X", "-w", "-c", "select 1", &conninfo])
            .env_clear()
            .env("HOME", folder.path())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("psql was there a moment ago");
        let theirs = ask(&listener);
        child.wait().expect("it is ours");
        let shown = String::from_utf8_lossy(content);
        assert_eq!(ours, theirs, "{shown:?} for host {host}, database {database}, user {user}");
    }
}
