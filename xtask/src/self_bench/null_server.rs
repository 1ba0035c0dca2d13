//! The null server (`pgmeter null-server`) in a process of its own, reachable for as long as one has it.
//! What is measured against it is the client.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::processes::Serving;

/// See the module.
pub(super) struct NullServer {
    serving: Serving,
    /// Where its socket lies.
    _directory: TempDir,
}

impl NullServer {
    pub(super) fn on_unix_socket(pgmeter: &Path, more: &[&str]) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        let listen = format!("{}/", directory.path().display());
        Self::start(pgmeter, &listen, more, directory)
    }

    pub(super) fn on_tcp(pgmeter: &Path) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        Self::start(pgmeter, "127.0.0.1:0", &[], directory)
    }

    fn start(pgmeter: &Path, listen: &str, more: &[&str], directory: TempDir) -> Result<Self, String> {
        let mut command = Command::new(pgmeter);
        command.args(["null-server", "--listen", listen]).args(more);
        Ok(Self { serving: Serving::start(&mut command)?, _directory: directory })
    }

    /// CPU seconds that it has used, if the system tells.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        self.serving.cpu_s()
    }

    pub(super) fn conninfo(&self) -> &str {
        &self.serving.said
    }
}
