//! The null server in a separate process of the same program, with a socket in a private directory. It ends with the
//! process that started it, because its standard input is closed then.

use std::fs::Permissions;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A null server in a process. Dropping this removes the process and its directory.
#[derive(Debug)]
pub struct NullProcess {
    child: Child,
    conninfo: String,
    _directory: TempDir,
}

impl NullProcess {
    /// Starts `PROGRAM COMMAND --listen DIRECTORY`, which prints its connection string when it listens.
    ///
    /// # Errors
    /// The directory or the process cannot be created, or the process exits.
    pub fn start(program: &Path, command: &str) -> io::Result<Self> {
        // No other user may connect.
        let permissions = Permissions::from_mode(0o700);
        let directory =
            tempfile::Builder::new().prefix("pgmeter-calibrate-").permissions(permissions).tempdir()?;
        // A trailing slash marks the path as a directory.
        let listen = directory.path().join("");
        let mut child = Command::new(program)
            .arg(command)
            .arg("--listen")
            .arg(&listen)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take();
        let mut server = Self { child, conninfo: String::new(), _directory: directory };
        let read = stdout.map_or(Ok(0), |stdout| BufReader::new(stdout).read_line(&mut server.conninfo));
        match read? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it exited immediately")),
            _ => Ok(server),
        }
    }

    /// Its connection string.
    pub fn conninfo(&self) -> &str {
        self.conninfo.trim()
    }
}

impl Drop for NullProcess {
    fn drop(&mut self) {
        // It may have exited already, because Ctrl-C reaches it too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
