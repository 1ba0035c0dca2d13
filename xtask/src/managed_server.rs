//! A server that `pgmeter server` manages in a directory of a chore; dropping it stops and removes it. `compare_proof` and
//! `causes` use it.

use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) struct ManagedServer<'a> {
    pgmeter: &'a Path,
    directory: &'a Path,
    name: &'a str,
    pub(crate) dsn: String,
}

impl<'a> ManagedServer<'a> {
    /// `options`: those of `pgmeter server install`.
    pub(crate) fn start(
        pgmeter: &'a Path,
        directory: &'a Path,
        name: &'a str,
        options: &[&str],
    ) -> Result<Self, String> {
        let mut server = Self { pgmeter, directory, name, dsn: String::new() };
        server.run_pgmeter(&[&["server", "install", name], options].concat())?;
        server.dsn = server.run_pgmeter(&["server", "start", name])?.trim().to_owned();
        Ok(server)
    }

    fn run_pgmeter(&self, words: &[&str]) -> Result<String, String> {
        let mut command = program(self.pgmeter, self.directory);
        let output =
            command.args(words).stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(format!("pgmeter {} failed", words.join(" "))) }
    }
}

impl Drop for ManagedServer<'_> {
    fn drop(&mut self) {
        let _ = self.run_pgmeter(&["server", "stop", "--remove", self.name]);
    }
}

/// pgmeter with its state and its results in `directory`.
pub(crate) fn program(pgmeter: &Path, directory: &Path) -> Command {
    let mut command = Command::new(pgmeter);
    command.current_dir(directory).env("PGMETER_STATE_DIR", directory.join("state"));
    command.env("PGMETER_STORE", directory.join("store"));
    command
}

/// Lets all users traverse a directory, for the one who runs the server.
pub(crate) fn make_traversable(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(|error| error.to_string())
}
