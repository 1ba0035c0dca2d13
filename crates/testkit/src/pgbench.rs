//! The pgbench that is installed here, for tests that hold ours against it. Not one of ours, and nothing is fetched:
//! where there is none, such a test says so and compares nothing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Where Debian keeps the programs of each major version.
pub(crate) const DEBIAN: &str = "/usr/lib/postgresql";

/// The program that `PGBENCH` names, else one of the path, else the newest of Debian's.
pub fn find() -> Option<PathBuf> {
    if let Some(path) = env::var_os("PGBENCH") {
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
