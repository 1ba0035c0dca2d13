//! What all experiments share: the programs, real servers started once somebody needs them, a place for files,
//! how many rounds there are and how long each lasts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::resource::{Resource, getrlimit};
use tempfile::TempDir;

use super::arguments::Arguments;
use super::bare::Bare;
use super::null_server::NullServer;
use super::processes::{run, version};
use super::programs::{EventLoop, Load, Program, Programs, Script, Until, find_pgbench};
use super::server::BenchServer;

/// Scale of the tables of loads.
const SCALE: u32 = 10;
/// Connections that the real server takes: those of the largest row, and some more.
const MAX_CONNECTIONS: &str = "max_connections=1000";
/// Descriptors that a program has open beside its connections.
const BESIDE_CONNECTIONS: u64 = 100;

/// See the module.
pub(super) struct Lab {
    pub(super) programs: Programs,
    pub(super) pgbench_version: String,
    pub(super) pg_version: String,
    pub(super) quick: bool,
    /// Files of experiments, and the records.
    pub(super) folder: TempDir,
    bare: Option<Bare>,
    server: Option<BenchServer>,
    tls_server: Option<BenchServer>,
}

impl Lab {
    /// Builds pgmeter as users get it, and finds pgbench.
    pub(super) fn set_up(arguments: &Arguments) -> Result<Self, String> {
        let pgmeter = build()?;
        let folder = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        let pgbench = find_pgbench();
        let pgbench_version = pgbench.as_ref().map_or_else(|_| "no pgbench".to_owned(), |path| version(path));
        let records = folder.path().join("records");
        Ok(Self {
            programs: Programs { pgbench, pgmeter, records },
            pgbench_version,
            pg_version: arguments.pg_version.clone(),
            quick: arguments.quick,
            folder,
            bare: None,
            server: None,
            tls_server: None,
        })
    }

    /// Alternating rounds of an experiment.
    pub(super) fn rounds(&self, usual: usize) -> usize {
        if self.quick { 1 } else { usual }
    }

    /// Seconds of a run.
    pub(super) fn seconds(&self, usual: u32) -> u32 {
        if self.quick { usual.div_ceil(2) } else { usual }
    }

    /// The bare programs, built once somebody needs them.
    pub(super) fn bare(&mut self) -> Result<Bare, String> {
        if let Some(bare) = &self.bare {
            return Ok(bare.clone());
        }
        Ok(self.bare.insert(Bare::build()?).clone())
    }

    /// A real server, with the tables of the built-in scripts; the connection string.
    pub(super) fn server(&mut self) -> Result<String, String> {
        if self.server.is_none() {
            let server =
                BenchServer::start(&self.programs.pgmeter, &self.pg_version, "plain", &[MAX_CONNECTIONS])?;
            self.fill(server.conninfo())?;
            self.server = Some(server);
        }
        Ok(self.server.as_ref().map(|server| server.conninfo().to_owned()).unwrap_or_default())
    }

    /// The same server, by a role that has to prove a SCRAM password; the connection string.
    pub(super) fn scram_server(&mut self) -> Result<String, String> {
        let conninfo = self.server()?;
        let server = self.server.as_ref().ok_or("there is no server")?;
        let path = self.folder.path().join("role.sql");
        fs::write(&path, server.demand_scram()?).map_err(|error| format!("{}: {error}", path.display()))?;
        let once =
            Load { script: Script::File(path), ..Load::select_only(&conninfo, 1, Until::Transactions(1)) };
        self.programs.run(Program::Pgmeter(EventLoop::Auto), &once)?;
        Ok(server.conninfo_scram())
    }

    /// A real server with TLS, with the tables; the connection string, over TCP.
    pub(super) fn tls_server(&mut self) -> Result<String, String> {
        if self.tls_server.is_none() {
            let server = BenchServer::start_with_tls(&self.programs.pgmeter, &self.pg_version)?;
            self.fill(server.conninfo())?;
            self.tls_server = Some(server);
        }
        self.tls_server.as_ref().map_or(Err(String::new()), BenchServer::conninfo_tls)
    }

    fn fill(&self, conninfo: &str) -> Result<(), String> {
        let scale = SCALE.to_string();
        run(Command::new(&self.programs.pgmeter).args(["init", "--scale", &scale, "--quiet", conninfo]))
            .map(|_| ())
    }

    /// A null server on a Unix socket.
    pub(super) fn null_server(&self) -> Result<NullServer, String> {
        NullServer::on_unix_socket(&self.programs.pgmeter, &[])
    }

    /// An error if the system does not allow so many connections.
    pub(super) fn provide_for(&self, connections: u64) -> Result<(), String> {
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|error| format!("getrlimit: {error}"))?;
        let needed = connections + BESIDE_CONNECTIONS;
        if most < needed {
            return Err(format!("it needs {needed} open files, and the limit is {most} (`ulimit -Hn`)"));
        }
        Ok(())
    }
}

/// Builds pgmeter as users get it, unless PGMETER names one that is built.
fn build() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("PGMETER") {
        return Ok(named.into());
    }
    build_release(&["--package", "pgmeter"])?;
    Ok(target().join("release/pgmeter"))
}

/// Builds something as users get it.
pub(super) fn build_release(what: &[&str]) -> Result<(), String> {
    let mut cargo = Command::new(crate::cargo());
    cargo.args(["build", "--release", "--quiet"]).args(what).current_dir(crate::root());
    // What cargo tells xtask about itself; build scripts would take it for a change, and libraries be built anew.
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST"))
        {
            cargo.env_remove(name);
        }
    }
    run(&mut cargo).map(|_| ())
}

/// Where cargo puts what it builds.
pub(super) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), PathBuf::from)
}
