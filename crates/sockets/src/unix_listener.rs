//! Listening Unix sockets for the null server and the relay. The socket file of a killed process is replaced; that of a
//! running server is not.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, listen, socket_with};

/// The file of a Unix socket, removed on drop.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The file may have been removed already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens at `path` with an accept queue of `waiting_max`, non-blocking.
///
/// # Errors
/// As of bind(2); `AddrInUse` if a server listens there, or if the file is not a socket.
pub(crate) fn listen_unix(path: &Path, waiting_max: i32) -> io::Result<(UnixListener, SocketFile)> {
    // The lock keeps two starting processes from replacing each other's file. A directory that cannot be opened cannot
    // be locked; this is accepted.
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
    // Extends the accept queue, which the standard library makes shorter.
    listen(&listener, waiting_max)?;
    listener.set_nonblocking(true)?;
    Ok((listener, file))
}

/// Whether the file is a socket without a listener; false in case of doubt.
fn is_dead(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket && is_refused(path).unwrap_or(false)
}

fn is_refused(path: &Path) -> Result<bool, rustix::io::Errno> {
    // Non-blocking: a server with a full accept queue is alive.
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
        // A listener of the standard library leaves its file behind, like a killed process.
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
