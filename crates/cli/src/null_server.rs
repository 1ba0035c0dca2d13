//! `pgmeter null-server`: the null server as a process of its own, for whoever measures a load generator.
//! Prints how to connect, and ends with its standard input or at a signal.

use std::io::{self, Read};
use std::net::ToSocketAddrs;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use null::session::Rows;
use null::{NullOptions, NullServer, Place, Stalls};

use crate::arguments::NullServerArguments;
use crate::descriptors;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn run(
    arguments: &NullServerArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let cannot = |what: String| move |error| Failure::System { what, error };
    let listen = &arguments.listen;
    let place = place(listen).map_err(cannot(format!("find out what {listen} is, to listen there")))?;
    let stalls = arguments
        .stall_for
        .map(|length| Stalls { every: seconds(arguments.stall_every), length: seconds(Some(length)) });
    let rows = Rows { count: arguments.rows, ..Rows::default() };
    descriptors::raise_to_maximum();
    let server = NullServer::listen(&place, NullOptions { rows, stalls, ..NullOptions::default() })
        .map_err(cannot(format!("listen at {listen}")))?;
    terminal.print(&format!("{}\n", server.conninfo()));
    wait_for_end(signals).map_err(cannot("read standard input".to_owned()))
}

/// A directory, if there is a slash in it, or host and port.
fn place(listen: &str) -> io::Result<Place> {
    if listen.contains('/') {
        // In a connection string, only an absolute path is a directory.
        return std::path::absolute(listen).map(Place::Unix);
    }
    let address = listen.to_socket_addrs()?.next();
    address.map(Place::Tcp).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))
}

fn seconds(number: Option<f64>) -> Duration {
    Duration::from_secs_f64(number.unwrap_or_default())
}

/// Returns when standard input ends or a signal has come.
fn wait_for_end(signals: &Signals) -> io::Result<()> {
    let (ended, end) = mpsc::channel();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Nobody listens any more if the process is ending already.
        let _ = ended.send(skip(&mut io::stdin().lock()));
    })?;
    while !signals.stop().load(Ordering::Relaxed) {
        match end.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

/// Reads to the end.
fn skip(from: &mut dyn Read) -> io::Result<()> {
    io::copy(from, &mut io::sink()).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_directory() {
        assert!(matches!(place("/tmp"), Ok(Place::Unix(_))));
        assert!(matches!(place("./a b"), Ok(Place::Unix(_))));
        assert!(matches!(place("127.0.0.1:0"), Ok(Place::Tcp(_))));
        assert!(place("127.0.0.1").is_err());
    }
}
