//! The server that both programs load: made and removed by pgmeter itself.
//! Used by `self_bench` only.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::quiet;

/// A named server; dropping it stops and removes it.
pub(super) struct BenchServer {
    pgmeter: PathBuf,
    name: String,
    conninfo: String,
}

impl BenchServer {
    pub(super) fn start(pgmeter: &Path, version: &str) -> Result<Self, String> {
        let name = format!("self-bench-{}", std::process::id());
        let install = ["server", "install", &name, "--pg-version", version];
        quiet(Command::new(pgmeter).args(install))?;
        let mut server = Self { pgmeter: pgmeter.to_owned(), name, conninfo: String::new() };
        let said = quiet(Command::new(pgmeter).args(["server", "start", &server.name]))?;
        server.conninfo = said.trim().to_owned();
        Ok(server)
    }

    pub(super) fn conninfo(&self) -> &str {
        &self.conninfo
    }

    /// A directory for the records of one run.
    pub(super) fn results(&self) -> PathBuf {
        std::env::temp_dir().join(format!("{}-results", self.name))
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        if let Err(reason) =
            quiet(Command::new(&self.pgmeter).args(["server", "stop", "--remove", &self.name]))
        {
            eprintln!("self-bench: server {} was left behind: {reason}", self.name);
        }
    }
}
