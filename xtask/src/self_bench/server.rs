//! The real servers that both programs load: made and removed by pgmeter itself. One may have TLS, with a
//! certificate that nobody else has issued.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::processes::run;

/// Whoever has to prove who he is.
const SCRAM_ROLE: &str = "self_bench_scram";
const SCRAM_PASSWORD: &str = "secret";

/// A named server; dropping it stops and removes it.
pub(super) struct BenchServer {
    pgmeter: PathBuf,
    name: String,
    conninfo: String,
    /// Certificate and key, if there is TLS.
    _files: Option<TempDir>,
}

impl BenchServer {
    /// Makes a server and starts it. Its name is `self-bench-`, `purpose` and the number of this process.
    pub(super) fn start(
        pgmeter: &Path,
        version: &str,
        purpose: &str,
        settings: &[&str],
    ) -> Result<Self, String> {
        let mut server = Self::install(pgmeter, version, purpose, settings)?;
        server.go()?;
        Ok(server)
    }

    /// The same with TLS.
    pub(super) fn start_with_tls(pgmeter: &Path, version: &str) -> Result<Self, String> {
        let files = tempfile::tempdir().map_err(|error| format!("a temporary directory: {error}"))?;
        let path = |name: &str| files.path().join(name).display().to_string();
        let certificate = format!("ssl_cert_file={}", path("server.crt"));
        let key = format!("ssl_key_file={}", path("server.key"));
        let mut server = Self::install(pgmeter, version, "tls", &["ssl=on", &certificate, &key])?;
        write_certificate(files.path(), &server.data_directory()?)?;
        server._files = Some(files);
        server.go()?;
        Ok(server)
    }

    fn install(pgmeter: &Path, version: &str, purpose: &str, settings: &[&str]) -> Result<Self, String> {
        let name = format!("self-bench-{purpose}-{}", std::process::id());
        let mut command = Command::new(pgmeter);
        command.args(["server", "install", &name, "--pg-version", version]);
        run(command.args(settings.iter().flat_map(|setting| ["--set", setting])))?;
        Ok(Self { pgmeter: pgmeter.to_owned(), name, conninfo: String::new(), _files: None })
    }

    fn go(&mut self) -> Result<(), String> {
        let said = run(Command::new(&self.pgmeter).args(["server", "start", &self.name]))?.stdout;
        self.conninfo = said.trim().to_owned();
        Ok(())
    }

    /// Over the Unix socket.
    pub(super) fn conninfo(&self) -> &str {
        &self.conninfo
    }

    /// Over TCP with TLS.
    pub(super) fn conninfo_tls(&self) -> Result<String, String> {
        Ok(format!("{} sslmode=require", self.status("tcp")?))
    }

    /// Makes the server ask a role of its own for a SCRAM password; the SQL that makes the role and has the server
    /// read its rules again.
    pub(super) fn demand_scram(&self) -> Result<String, String> {
        let path = self.data_directory()?.join("pg_hba.conf");
        let complain = |error| format!("{}: {error}", path.display());
        let rules = fs::read_to_string(&path).map_err(complain)?;
        // The first line that fits counts. Written in place, so that the file keeps its owner.
        fs::write(&path, format!("local all {SCRAM_ROLE} scram-sha-256\n{rules}")).map_err(complain)?;
        Ok(format!(
            "SET password_encryption = 'scram-sha-256';\n\
             CREATE ROLE {SCRAM_ROLE} SUPERUSER LOGIN PASSWORD '{SCRAM_PASSWORD}';\n\
             SELECT pg_reload_conf();\n"
        ))
    }

    /// Over the Unix socket, as the role that must prove its password.
    pub(super) fn conninfo_scram(&self) -> String {
        // What is said last counts.
        format!("{} user={SCRAM_ROLE} password={SCRAM_PASSWORD}", self.conninfo)
    }

    fn data_directory(&self) -> Result<PathBuf, String> {
        self.status("data").map(PathBuf::from)
    }

    /// A line of what pgmeter says about it.
    fn status(&self, name: &str) -> Result<String, String> {
        let said = run(Command::new(&self.pgmeter).args(["server", "status", &self.name]))?.stdout;
        status_line(&said, name).ok_or_else(|| format!("`pgmeter server status` has no line \"{name}\""))
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        if let Err(reason) = run(Command::new(&self.pgmeter).args(["server", "stop", "--remove", &self.name]))
        {
            eprintln!("self-bench: server {} was left behind: {reason}", self.name);
        }
    }
}

fn status_line(said: &str, name: &str) -> Option<String> {
    let mut lines = said.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(first, _)| *first == name).map(|(_, rest)| rest.trim().to_owned())
}

/// Writes `server.crt` and `server.key`, for the owner of the data directory alone.
fn write_certificate(directory: &Path, data: &Path) -> Result<(), String> {
    let complain = |error: &dyn std::fmt::Display| format!("a certificate for the server: {error}");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])
        .map_err(|error| complain(&error))?;
    // Root runs servers as somebody else, who must be able to read them.
    let owner = fs::metadata(data).map_err(|error| complain(&error))?;
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(directory, open).map_err(|error| complain(&error))?;
    for (name, text) in [("server.crt", made.cert.pem()), ("server.key", made.signing_key.serialize_pem())] {
        let path = directory.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)))
            .and_then(|()| chown(&path, Some(owner.uid()), Some(owner.gid())))
            .map_err(|error| complain(&error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_status_is_found_by_its_first_word() {
        let said = "name      a\nsocket    host=/x port=1\ntcp       host=127.0.0.1 port=1\n";
        assert_eq!(status_line(said, "tcp"), Some("host=127.0.0.1 port=1".to_owned()));
        assert_eq!(status_line(said, "data"), None);
    }
}
