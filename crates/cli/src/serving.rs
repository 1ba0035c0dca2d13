//! What commands have in common that serve others until they are told to end: how the place is typed where they
//! listen, and what ends them. Used by the null server and the relay.

use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::signals::Signals;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// A place as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedPlace {
    /// With a slash: an absolute path, because in a connection string only that is a directory.
    Path(PathBuf),
    /// Host and port.
    Tcp(SocketAddr),
}

impl TypedPlace {
    /// A path, if there is a slash in it, or host and port.
    pub(crate) fn find(typed: &str) -> io::Result<Self> {
        if typed.contains('/') {
            return std::path::absolute(typed).map(Self::Path);
        }
        let address = typed.to_socket_addrs()?.next();
        address.map(Self::Tcp).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))
    }
}

/// Returns when standard input ends, a signal has come, or there is nothing to wait for any more.
pub(crate) fn wait_for_end(signals: &Signals, goes_on: impl Fn() -> bool) -> io::Result<()> {
    let (ended, end) = mpsc::channel();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // Nobody listens any more if the process is ending already.
        let _ = ended.send(skip(&mut io::stdin().lock()));
    })?;
    while goes_on() && !signals.stop().load(Ordering::Relaxed) {
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
    fn a_slash_makes_a_path() {
        assert!(matches!(TypedPlace::find("/tmp"), Ok(TypedPlace::Path(_))));
        assert!(matches!(TypedPlace::find("./a b"), Ok(TypedPlace::Path(_))));
        assert!(matches!(TypedPlace::find("127.0.0.1:0"), Ok(TypedPlace::Tcp(_))));
        assert!(TypedPlace::find("127.0.0.1").is_err());
    }
}
