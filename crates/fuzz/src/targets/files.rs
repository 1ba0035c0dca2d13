//! The password file and the service file: any content is a password, settings or an error. An input is the content of
//! both; they are read through `connect::resolve`, as in the product.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use connect::{Environment, Overrides, resolve};

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "files",
    words: &[
        b"*:",
        b"*:*:*:*:",
        b"localhost:5432:bench:alice:",
        b"db1:",
        b"db2:",
        b"5432:",
        b"bench:",
        b"alice:",
        b"secret",
        b"\\:",
        b"\\\\",
        b"\\",
        b":",
        b"#",
        b"\n",
        b"\r\n",
        b"[bench]",
        b"[other]",
        b"[",
        b"]",
        b"host=",
        b"port=",
        b"dbname=",
        b"user=",
        b"password=",
        b"service=",
        b"sslmode=",
        b"ldap://",
        b"options=",
        b"=",
        b" ",
        b"\t",
        b"'",
        b"\0",
        b"\xff",
        b"\xc3\xa9",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(256, 16, input),
    prepare,
};

/// What is asked of the files: passwords for two hosts, and a service.
const CONNECTIONS: [&str; 2] =
    ["host=db1,db2 port=5432 dbname=bench user=alice", "service=bench user=alice dbname=bench"];

fn prepare() -> io::Result<Attempt> {
    let folder = std::env::current_dir()?;
    let create =
        |path: &Path| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    let (passwords, services) = (folder.join("pgpass"), folder.join("pg_service.conf"));
    let files = [create(&passwords)?, create(&services)?];
    let mut environment = Environment { os_user: Some("someone".to_owned()), ..Environment::default() };
    environment.variables.insert("PGPASSFILE".to_owned(), passwords.into());
    environment.variables.insert("PGSERVICEFILE".to_owned(), services.into());
    Ok(Box::new(move |input| attempt(&files, &environment, input)))
}

fn attempt(files: &[File], environment: &Environment, input: &[u8]) -> Result<u64, String> {
    for file in files {
        let written = file.set_len(0).and_then(|()| file.write_all_at(input, 0));
        written.map_err(|error| format!("a file could not be written: {error}"))?;
    }
    let mut outcome = Digest::new();
    for connection in CONNECTIONS {
        match resolve(Some(connection), &Overrides::default(), environment) {
            Ok(target) => {
                Digest::new().debug(&target);
                outcome.debug(&target.password.is_some());
                outcome.debug(&target.hosts.iter().map(|host| host.password.is_some()).collect::<Vec<_>>());
            }
            Err(error) => {
                let sentence = error.to_string();
                outcome
                    .show(&sentence.split('"').step_by(2).collect::<String>().replace(char::is_numeric, ""));
            }
        }
    }
    Ok(outcome.value())
}
