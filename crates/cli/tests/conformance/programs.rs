//! Which two programs are compared, and how old the real one is. The cases do not ask: `cases` looks once for each
//! area, and `running` starts them.

use std::env;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian keeps the programs of each major version.
const DEBIAN: &str = "/usr/lib/postgresql";

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
    let reference = Program::new(pgbench()?, false);
    let dropin = match env::var_os("PGMETER_TEST_DROPIN") {
        Some(path) => Program::new(path.into(), false),
        None => Program::new(env!("CARGO_BIN_EXE_pgmeter").into(), true),
    };
    Some([reference, dropin])
}

fn pgbench() -> Option<PathBuf> {
    if let Some(path) = env::var_os("PGMETER_TEST_PGBENCH") {
        return Some(path.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> =
        env::split_paths(&path).map(|folder| folder.join("pgbench")).filter(|path| path.is_file()).collect();
    // Debian's path has a script that looks for the program; we take the program, which starts sooner.
    let program = on_path.iter().find(|path| is_program(path)).cloned();
    program.or_else(newest_of_debian).or_else(|| on_path.first().cloned())
}

fn is_program(path: &Path) -> bool {
    let mut head = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head != *b"#!"
}

fn newest_of_debian() -> Option<PathBuf> {
    let folders = fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok);
    let versions = folders.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let path = entry.path().join("bin/pgbench");
        path.is_file().then_some((version, path))
    });
    versions.max().map(|(_, path)| path)
}
