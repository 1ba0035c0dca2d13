//! The parameters that are found in a service file, beside an installed psql: both say which socket they cannot reach.
//! `password_files` does the same for password files.

use std::collections::BTreeMap;
use std::process::Command;

use pgmeter_connect::{Environment, Host, HostName, Overrides, resolve};

use crate::certificates::find_psql;

/// Contents of a service file in which the service `x` is looked up.
const CASES: [&[u8]; 27] = [
    b"[x]\nhost=/nope\nport=1234\n",
    b"[x]\nhost = /nope\nport=1234\n",
    b"[x]\nhost=/nope \nport=1234 \n",
    b"  [x]  \n  host=/nope\n\tport=1234",
    b"# c\n\n[y]\nhost=/other\n[x]\nhost=/nope\nport=1234\n # c\n",
    b"[x]\nhost=/nope\nport=1234\n[x]\nhost=/later\nport=4321\n",
    b"[x]\nport=1\nport=1234\nhost=/nope\n",
    b"[x]\r\nhost=/nope\r\nport=1234\r\n",
    b"[x]\nhost=/nope\nport=1234 # c\n",
    b"[x]\nhost=/nope\nport=12x4\n",
    b"[x]\nhost=/nope\nport=99999\n",
    b"[x]\nhost=/nope\nport=\n",
    b"[x]\nhost=/no=pe\nport=1234\n",
    b"[x]\nHOST=/nope\nport=1234\n",
    b"[x]\n=/nope\nport=1234\n",
    b"[x]\nhost=/nope\nnonsense\n",
    b"[x]\nhost=/nope\nnonsense=1\n",
    b"[x]\nhost=/nope\nservice=y\n",
    b"[x]\nhost=/nope\nsslmode=bogus\n",
    b"[x]\nhost=/nope\nport=1234\n;c\n",
    b"[x]\nhost=/nope\nport=1234\n[y\nport=2\n[]\n",
    b"[x]y\nhost=/nope\nport=1234\n",
    b"[y]\nnonsense\n[x]\nhost=/nope\n\x0c\x0bport=1234\n",
    b"[x\nhost=/nope\n",
    b"[xy]\nhost=/nope\n",
    b"[ x ]\nhost=/nope\n",
    b"\xef\xbb\xbf[x]\nhost=/nope\nport=1234\n",
];

#[test]
#[allow(clippy::print_stderr)] // that nothing was compared
fn a_service_file_is_read_as_libpq_reads_it() {
    let Some((psql, _)) = find_psql() else {
        eprintln!("NOT COMPARED: there is no psql");
        return;
    };
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("services");
    for content in CASES {
        std::fs::write(&path, content).expect("our file");
        let variables = BTreeMap::from([("PGSERVICEFILE".to_owned(), path.clone().into_os_string())]);
        let environment =
            Environment { variables, home: Some(folder.path().to_owned()), os_user: Some("u".to_owned()) };
        let ours = resolve(Some("service=x dbname=d"), &Overrides::default(), &environment);
        let ours = ours.ok().and_then(|target| match target.hosts.first()? {
            Host { name: HostName::Directory(directory), port, .. } => {
                Some(directory.join(format!(".s.PGSQL.{port}")))
            }
            _ => None,
        });
        let mut theirs = Command::new(psql);
        theirs.env_clear().env("PGSERVICEFILE", &path).env("PGSYSCONFDIR", folder.path()).env("PGUSER", "u");
        let out = theirs.args(["-X", "service=x dbname=d", "-c", "select 1"]).output().expect("psql");
        let said = String::from_utf8_lossy(&out.stderr);
        let socket = said.split_once("server on socket \"").and_then(|(_, rest)| rest.split_once('"'));
        let theirs = socket.map(|(socket, _)| socket.into());
        assert_eq!(ours, theirs, "{}: {said}", content.escape_ascii());
    }
}
