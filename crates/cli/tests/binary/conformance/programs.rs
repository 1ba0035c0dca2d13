//! Which two programs are compared, and how old the real one is. The cases do not ask: `cases` looks once for each
//! area, and `running` starts them.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use testkit::pgbench;

/// What both are called, so that the messages that begin with it are equal; ours knows by it what to be.
pub(crate) const NAME: &str = "pgbench";

/// One of the two.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// Whether it is the drop-in and not a pgbench, also not one in its place.
    pub(crate) is_ours: bool,
    /// The major version that it says it is.
    pub(crate) version: u32,
}

impl Program {
    fn new(path: PathBuf, is_ours: bool) -> Self {
        let output = Command::new(&path).arg0(NAME).arg("--version").output();
        let output = output.unwrap_or_else(|error| panic!("{} does not start: {error}", path.display()));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = said.strip_prefix("pgbench (PostgreSQL) ").and_then(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..digits].parse().ok()
        });
        let version = version.unwrap_or_else(|| panic!("{} says it is \"{said}\"", path.display()));
        Self { path, is_ours, version }
    }
}

/// The real pgbench and the drop-in; nothing if there is no pgbench here.
pub(crate) fn find() -> Option<[Program; 2]> {
    let reference = Program::new(pgbench::find()?, false);
    let dropin = match env::var_os("PGMETER_TEST_DROPIN") {
        Some(path) => Program::new(path.into(), false),
        None => Program::new(env!("CARGO_BIN_EXE_pgmeter").into(), true),
    };
    Some([reference, dropin])
}
