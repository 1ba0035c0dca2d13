//! The state of a server, as other processes see it: whether it runs, how to connect to it, and where its files are.
//! `named` lists it.

use std::path::PathBuf;

use crate::home::{self, Description, Home};
use crate::launch;

/// State of a server.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Process ID of its postmaster while it runs.
    pub pid: Option<u32>,
    /// Whether it is removed with the process that started it.
    pub temporary: bool,
    /// TCP port of its last start; 0 before the first.
    pub port: u16,
    /// Connection string for the Unix socket.
    pub conninfo: String,
    /// Connection string for TCP from this machine, if it listens there; it refers to a file with the password.
    pub conninfo_tcp: Option<String>,
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Its log file.
    pub log_file: PathBuf,
    /// Directory of its programs.
    pub bin_dir: PathBuf,
}

impl Status {
    pub(crate) fn of(home: &Home, about: &Description, pid: Option<u32>) -> Status {
        Status {
            name: home.name.clone(),
            version: about.version.clone(),
            pid,
            temporary: !about.kept,
            port: about.port,
            conninfo: launch::conninfo(about),
            conninfo_tcp: about.tcp.then(|| launch::conninfo_tcp(home, about)),
            data_dir: home.data(),
            log_file: home.file(home::LOG),
            bin_dir: about.bin_dir.clone(),
        }
    }

    /// Whether it runs, in words.
    pub(crate) fn state(&self) -> String {
        match self.pid {
            Some(pid) => format!("running (pid {pid})"),
            None => "stopped".to_owned(),
        }
    }

    /// All details as lines of text.
    pub fn details(&self) -> String {
        let rows = [
            ("name", self.name.clone()),
            ("version", self.version.clone()),
            ("state", self.state()),
            ("kept", if self.temporary { "no: temporary".to_owned() } else { "yes".to_owned() }),
            ("socket", self.conninfo.clone()),
            ("tcp", self.conninfo_tcp.clone().unwrap_or_else(|| "not listening".to_owned())),
            ("data", self.data_dir.display().to_string()),
            ("log", self.log_file.display().to_string()),
            ("programs", self.bin_dir.display().to_string()),
        ];
        rows.iter().map(|(name, value)| format!("{name:9} {value}\n")).collect()
    }
}
