//! Connection strings: any text is a target or an error that says what is wrong. The first line of an input is the string,
//! each further line `NAME=value` a variable of the environment. No name is looked up, no server is spoken to.

use std::io;
use std::path::PathBuf;

use connect::{Environment, Overrides, resolve};
use wire::Startup;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance, first_line};

pub const TARGET: Target = Target {
    name: "connections",
    words: &[
        b"host=",
        b"hostaddr=",
        b"port=",
        b"dbname=",
        b"user=",
        b"password=",
        b"passfile=",
        b"service=",
        b"sslmode=",
        b"sslrootcert=",
        b"sslcert=",
        b"sslkey=",
        b"channel_binding=",
        b"options=",
        b"application_name=",
        b"fallback_application_name=",
        b"connect_timeout=",
        b"client_encoding=",
        b"target_session_attrs=",
        b"load_balance_hosts=",
        b"keepalives=",
        b"keepalives_idle=",
        b"tcp_user_timeout=",
        b"gssencmode=",
        b"require_auth=",
        b"requiressl=",
        b"replication=",
        b"password=hunter2 ",
        b"postgresql://alice:hunter2@",
        b"postgres://",
        b"postgresql://",
        b"@",
        b":",
        b"/",
        b"?",
        b"&",
        b"=",
        b"%20",
        b"%00",
        b"%ff",
        b"%",
        b"[::1]",
        b"[",
        b"]",
        b",",
        b" ",
        b"'",
        b"\\",
        b"\\'",
        b"prefer",
        b"require",
        b"verify-full",
        b"disable",
        b"read-write",
        b"prefer-standby",
        b"random",
        b"5432",
        b"0",
        b"65536",
        b"-1",
        b"localhost",
        b"127.0.0.1",
        b"/tmp",
        b"@abstract",
        b"\n",
        b"PGHOST=",
        b"PGPORT=",
        b"PGUSER=",
        b"PGPASSWORD=",
        b"PGDATABASE=",
        b"PGOPTIONS=",
        b"PGSSLMODE=",
        b"PGTZ=",
        b"PGSERVICE=",
        b"PGTARGETSESSIONATTRS=",
        b"PGCONNECT_TIMEOUT=",
        b"\xc3\xa9",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(256, 32, input),
    prepare,
};

fn prepare() -> io::Result<Attempt> {
    // The round's own folder, in which no file has a name that a string could hit upon.
    let home = std::env::current_dir()?;
    Ok(Box::new(move |input| attempt(home.clone(), input)))
}

/// A password, and beginnings after which it is the password whatever follows.
const PASSWORD: &str = "hunter2";
const WITH_PASSWORD: [&str; 2] = ["password=hunter2 ", "postgresql://alice:hunter2@"];

/// Whether `string` gives the password as such, and says the word nowhere else.
fn has_password(string: &str, variables: &[u8]) -> bool {
    let rest = WITH_PASSWORD.iter().find_map(|beginning| string.strip_prefix(beginning));
    let elsewhere = |text: &str| text.contains(PASSWORD);
    rest.is_some_and(|rest| !elsewhere(rest) && !elsewhere(&String::from_utf8_lossy(variables)))
}

fn attempt(home: PathBuf, input: &[u8]) -> Result<u64, String> {
    let (string, variables) = first_line(input);
    let string = String::from_utf8_lossy(string);
    let mut environment =
        Environment { home: Some(home), os_user: Some("someone".to_owned()), ..Environment::default() };
    for line in String::from_utf8_lossy(variables).lines() {
        if let Some((name, value)) = line.split_once('=') {
            environment.variables.insert(name.to_owned(), value.into());
        }
    }
    let is_secret = has_password(&string, variables);
    let tell = |text: String| match text.contains(PASSWORD) {
        true if is_secret => Err(format!("the password is told: {text}")),
        _ => Ok(()),
    };
    let mut outcome = Digest::new();
    match resolve(Some(&string), &Overrides::default(), &environment) {
        Ok(target) => {
            tell(format!("{target:?}"))?;
            let mut out = Vec::new();
            for host in &target.hosts {
                out.clear();
                if let Err(error) = Startup::new(&target.startup_parameters(host), &mut out) {
                    tell(error.to_string())?;
                }
            }
            outcome.debug(&target.hosts.len().min(4));
            outcome.debug(&(
                target.password.is_some(),
                target.options.is_some(),
                target.connect_timeout.is_some(),
            ));
        }
        Err(error) => {
            // The sentence without what was quoted from the input.
            let sentence = error.to_string();
            tell(format!("{sentence} {error:?}"))?;
            outcome.show(&sentence.split('"').step_by(2).collect::<String>().replace(char::is_numeric, ""));
        }
    }
    Ok(outcome.value())
}
