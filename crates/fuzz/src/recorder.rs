//! Writes down what a real server says, as seeds: `cargo run -p pgmeter-fuzz -- --record CONNINFO FOLDER`. The sessions are
//! plain: log in, ask, listen until the server is ready or gone. Not used while fuzzing.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use connect::{Address, Environment, Overrides, Target, resolve};
use wire::{Decoder, Message, Progress, Startup, frontend};

/// A server that is silent for so long has said all.
const SILENCE: Duration = Duration::from_millis(500);

/// Name of a recording, and what the client says in it, message by message.
type Session = (&'static str, fn(&mut Vec<u8>));

const SESSIONS: [Session; 5] = [
    ("simple", |out| {
        for sql in [
            "select 1, null::int, 'é'",
            "begin; update pg_class set relname = relname where false; end",
            ";",
            "select name, setting from pg_settings where name like 'enable_%'",
        ] {
            frontend::query(out, sql.as_bytes()).expect("a short message");
        }
    }),
    ("errors", |out| {
        for sql in [
            "select 1/0",
            "selec",
            "do $$ begin raise notice 'n' using detail = 'd', hint = 'h'; end $$",
            "begin",
            "select x",
            "end",
        ] {
            frontend::query(out, sql.as_bytes()).expect("a short message");
        }
    }),
    ("copy", |out| {
        frontend::query(out, b"copy (select g, repeat('x', g) from generate_series(1, 20) g) to stdout")
            .expect("a short message");
        frontend::query(out, b"create temp table t(a int, b text); copy t from stdin")
            .expect("a short message");
        frontend::copy_data(out, b"1\tone\n2\ttwo\n");
        frontend::copy_done(out);
        frontend::query(out, b"listen c; notify c, 'payload'").expect("a short message");
    }),
    ("extended", |out| {
        frontend::parse(out, b"s", b"select $1::int + g from generate_series(1, 3) g")
            .expect("a short message");
        frontend::describe_statement(out, b"s");
        let mut parameters = frontend::bind(out, b"", b"s");
        parameters.parameter(Some(b"4"));
        parameters.finish().expect("a short message");
        frontend::describe_portal(out, b"");
        frontend::execute(out, b"");
        frontend::close_statement(out, b"s");
        frontend::sync(out);
    }),
    ("ended", |out| {
        frontend::query(out, b"select pg_terminate_backend(pg_backend_pid())").expect("a short message")
    }),
];

/// Runs all sessions.
pub fn record(conninfo: &str, directory: &Path) -> Result<(), String> {
    let target = resolve(Some(conninfo), &Overrides::default(), &Environment::default());
    let target = target.map_err(|error| error.to_string())?;
    for (name, speak) in SESSIONS {
        let heard = listen(&target, speak).map_err(|error| format!("{name}: {error}"))?;
        let path = directory.join(name);
        fs::write(&path, heard).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// Everything that the server says in one session, the start-up included.
fn listen(target: &Target, speak: fn(&mut Vec<u8>)) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let address = target.addresses()?.into_iter().next().ok_or("no address")?;
    let mut stream: Box<dyn Stream> = match &address {
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(SILENCE))?;
            Box::new(stream)
        }
        Address::Tcp { address, .. } => {
            let stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(SILENCE))?;
            Box::new(stream)
        }
    };
    let mut out = Vec::new();
    let mut startup = Startup::new(&target.startup_parameters(target.host_of(&address)), &mut out)
        .map_err(io::Error::other)?;
    let (mut heard, mut decoder, mut is_ready) = (Vec::new(), Decoder::new(), false);
    let mut input = [0; 4096];
    loop {
        stream.write_all(&out)?;
        out.clear();
        let length = match stream.read(&mut input) {
            Ok(0) | Err(_) => return Ok(heard),
            Ok(length) => length,
        };
        heard.extend_from_slice(&input[..length]);
        let mut failed = None;
        decoder.decode(&input[..length], &mut |message: Message<'_>| {
            if is_ready {
                return;
            }
            match startup.message(&message, &mut out) {
                Ok(Progress::NeedMore) => {}
                Ok(Progress::Ready(_)) => {
                    is_ready = true;
                    speak(&mut out);
                }
                Err(error) => failed = Some(error),
            }
        })?;
        if failed.is_some() {
            return Ok(heard);
        }
    }
}
