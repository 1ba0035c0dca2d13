//! The program of PgBouncer: where it is, and what its version can do.
//! Called when a pooler is started.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use stats::PoolMode;

use crate::account::Account;
use crate::patience::wait_for;
use crate::{Locations, ServerError};

/// Where packages install it; the search path of ordinary users lacks these directories.
const USUAL_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
/// The name of the program; by it the server's guard recognizes the process.
pub(crate) const NAME: &str = "pgbouncer";
/// How long it may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// An installed PgBouncer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolerProgram {
    /// Its path, without links.
    pub path: PathBuf,
    /// Its version.
    pub version: PoolerVersion,
}

/// A version of PgBouncer, such as 1.18.0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolerVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl PoolerVersion {
    /// The first version that keeps prepared statements of the protocol in transaction and statement pooling.
    pub const WITH_PREPARED_STATEMENTS: PoolerVersion = PoolerVersion { major: 1, minor: 21, patch: 0 };
    /// The first version in which SIGTERM waits for clients, and SIGQUIT ends it at once.
    const WITH_SIGQUIT: PoolerVersion = PoolerVersion { major: 1, minor: 23, patch: 0 };

    /// From the output of `pgbouncer --version`.
    fn parse_answer(answer: &str) -> Option<PoolerVersion> {
        // Versions before 1.9 print `pgbouncer version 1.8`.
        let first = answer.lines().next()?.trim();
        let word = first.to_ascii_lowercase().starts_with(NAME).then(|| first.rsplit(' ').next())??;
        let mut numbers = word.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        });
        let major = numbers.next()??;
        let minor = numbers.next()??;
        Some(PoolerVersion { major, minor, patch: numbers.next().flatten().unwrap_or(0) })
    }

    pub(super) fn keeps_prepared_statements(self) -> bool {
        self >= Self::WITH_PREPARED_STATEMENTS
    }

    pub(super) fn quits_by_signal(self) -> bool {
        self >= Self::WITH_SIGQUIT
    }

    /// Refuses prepared statements of the protocol (`-M prepared`) where connections change between transactions and this
    /// version does not keep the statements.
    ///
    /// # Errors
    /// A sentence.
    pub fn check_prepared(self, mode: PoolMode) -> Result<(), ServerError> {
        if mode == PoolMode::Session || self.keeps_prepared_statements() {
            return Ok(());
        }
        Err(ServerError::PoolerLosesStatements { version: self.to_string(), mode: mode.name() })
    }
}

impl fmt::Display for PoolerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Finds PgBouncer: the named program, or one in the search path or in a usual directory.
///
/// # Errors
/// No PgBouncer was found, or the program is another one.
pub fn find_pooler(named: Option<&Path>, locations: &Locations) -> Result<PoolerProgram, ServerError> {
    let Some(path) = named else {
        let usual = USUAL_DIRECTORIES.map(PathBuf::from);
        let directories = locations.search_path.iter().chain(&usual);
        let mut candidates = directories.map(|directory| directory.join(NAME)).filter(|path| path.is_file());
        let path = candidates.next().ok_or(ServerError::NoPooler)?;
        return examine(&path);
    };
    examine(path)
}

/// Asks the program for its version. As root, the program is run as the user that would run a server.
fn examine(path: &Path) -> Result<PoolerProgram, ServerError> {
    let unusable = |reason: String| ServerError::PoolerUnusable { path: path.to_owned(), reason };
    let real = path.canonicalize().map_err(|error| unusable(error.to_string()))?;
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    if !real.is_file() || !name.starts_with(NAME) {
        return Err(unusable(format!("it is not a file whose name begins with {NAME}")));
    }
    let account = Account::choose(None)?;
    let mut command = account.command(&real, Path::new("/"));
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ask = || -> io::Result<Option<String>> {
        let mut child = command.spawn()?;
        if wait_for(VERSION_LIMIT, || child.try_wait().transpose()).is_none() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        let output = child.wait_with_output()?;
        Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let mut ask = ask;
    let answer = ask().map_err(|error| unusable(format!("it cannot be run: {error}")))?;
    let answer = answer.ok_or_else(|| unusable("it did not print its version".to_owned()))?;
    let version = PoolerVersion::parse_answer(&answer).ok_or_else(|| {
        let first = answer.lines().next().unwrap_or_default().trim();
        unusable(format!("asked for its version, it printed \"{first}\""))
    })?;
    Ok(PoolerProgram { path: real, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(answer: &str) -> Option<String> {
        PoolerVersion::parse_answer(answer).map(|version| version.to_string())
    }

    #[test]
    fn the_version_is_the_last_word_of_the_first_line() {
        assert_eq!(version("PgBouncer 1.18.0\nlibevent 2.1.12-stable\n").as_deref(), Some("1.18.0"));
        assert_eq!(version("pgbouncer version 1.8.1 (Debian)"), None);
        assert_eq!(version("pgbouncer version 1.8").as_deref(), Some("1.8.0"));
        assert_eq!(version("PgBouncer 1.24.0rc1").as_deref(), Some("1.24.0"));
        for other in ["", "PgBouncer", "postgres (PostgreSQL) 18.0", "PgBouncer x.y"] {
            assert_eq!(version(other), None, "{other}");
        }
    }

    #[test]
    fn prepared_statements_need_a_version_that_keeps_them_unless_sessions_keep_their_connection() {
        let of = |answer| PoolerVersion::parse_answer(answer).unwrap();
        let (old, new) = (of("PgBouncer 1.20.1"), of("PgBouncer 1.21.0"));
        for mode in [PoolMode::Transaction, PoolMode::Statement] {
            let refused = old.check_prepared(mode).unwrap_err().to_string();
            assert!(refused.contains("1.20.1") && refused.contains(mode.name()), "{refused}");
            assert!(new.check_prepared(mode).is_ok());
        }
        assert!(old.check_prepared(PoolMode::Session).is_ok());
    }

    #[test]
    fn a_program_that_is_not_pgbouncer_is_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let locations = Locations {
            cache_dir: folder.path().into(),
            state_dir: folder.path().into(),
            search_path: Vec::new(),
        };
        for (path, what) in [
            (folder.path().join("pgbouncer"), "No such file"),
            (PathBuf::from("/bin/sh"), "name begins with pgbouncer"),
            (folder.path().to_owned(), "name begins with pgbouncer"),
        ] {
            let error = find_pooler(Some(&path), &locations).unwrap_err().to_string();
            assert!(error.contains(&path.display().to_string()) && error.contains(what), "{error}");
        }
    }
}
