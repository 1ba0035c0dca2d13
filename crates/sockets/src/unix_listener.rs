//! A Unix socket to listen on, for servers of ours that are not PostgreSQL: the null server and the relay. The file of
//! a socket outlives a process that was killed; such a file is replaced, that of a running server never.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, listen, socket_with};

/// A Unix socket's name in the file system, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // One that is gone already is as good.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens at `path` with a queue of `waiting_max` connections, without blocking.
///
/// # Errors
/// As of bind(2); `AddrInUse` when a server listens there, or when the file is not a socket.
pub(crate) fn listen_unix(path: &Path, waiting_max: i32) -> io::Result<(UnixListener, SocketFile)> {
    // Two that start at the same moment must not replace each other's file. A directory that cannot be read cannot be
    // locked; there is no other way then, and rarely a need.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let lock = File::open(directory).ok();
    if let Some(lock) = &lock {
        flock(lock, FlockOperation::LockExclusive)?;
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_dead(path) => {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        bound => bound,
    }?;
    let file = SocketFile(path.to_owned());
    // The queue is longer now than the standard library made it.
    listen(&listener, waiting_max)?;
    listener.set_nonblocking(true)?;
    Ok((listener, file))
}

/// Whether the file is a socket at which nobody listens any more. Any doubt is a no.
fn is_dead(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket && is_refused(path).unwrap_or(false)
}

fn is_refused(path: &Path) -> Result<bool, rustix::io::Errno> {
    // A server whose queue is full must not keep us waiting; it is alive.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok(connect(&socket, &SocketAddrUnix::new(path)?) == Err(rustix::io::Errno::CONNREFUSED))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn in_use(path: &Path) -> bool {
        listen_unix(path, 5).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
    }

    #[test]
    fn the_file_of_a_killed_server_is_replaced_and_that_of_a_running_one_never() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".s.PGSQL.5432");
        // A listener of the standard library leaves its file behind, as a killed process does.
        drop(UnixListener::bind(&path).expect("a socket"));
        let (listener, file) = listen_unix(&path, 5).expect("the dead file is replaced");
        assert!(in_use(&path), "a server listens there");
        let _client = UnixStream::connect(&path).expect("it still does");
        drop(listener);
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_server_whose_queue_is_full_is_alive() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".s.PGSQL.5432");
        let (_listener, _file) = listen_unix(&path, 0).expect("a socket");
        let _waits = UnixStream::connect(&path).expect("room for one");
        assert!(in_use(&path));
    }

    #[test]
    fn what_is_no_socket_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".s.PGSQL.5432");
        std::fs::write(&path, "precious").expect("a file");
        assert!(in_use(&path));
        assert_eq!(std::fs::read(&path).expect("it is there"), b"precious");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(in_use(&link) && link.exists());
    }
}
