//! The programs of a PostgreSQL installation: a directory with `initdb` and `postgres`, its version, and its source.
//! [`obtain`] finds one: given by the user, cached, installed, or downloaded, in this order.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::account::Account;
use crate::cache::Cache;
use crate::fetch::fetch;
use crate::trust::{Changeable, changeable};
use crate::{Checksum, FetchProgress, Locations, Major, ServerError, Version, Wanted};

/// An installation.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The directory with `initdb` and `postgres`.
    pub bin_dir: PathBuf,
    /// The version reported by `postgres --version`.
    pub version: Version,
    /// How it was found.
    pub origin: Origin,
}

/// The PATH for programs that are not run as root.
const SAFE_PATH: &str = "/usr/bin:/bin";

/// How an installation was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave its directory.
    Named,
    /// It is in our cache, downloaded now or earlier.
    Embedded,
    /// It is installed on this machine.
    Installed,
}

/// Finds the programs of `wanted` ("18", "9.6", "16.4"): in `bin_dir` if given (of any version), otherwise in the
/// cache, otherwise installed on this machine, otherwise by downloading the newest matching version.
///
/// # Errors
/// `bin_dir` lacks the programs; nothing was found or can be downloaded; the cache cannot be written.
pub fn obtain(
    wanted: &str,
    bin_dir: Option<&Path>,
    locations: &Locations,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Installation, ServerError> {
    if let Some(directory) = bin_dir {
        return examine(directory, Origin::Named)
            .map_err(|reason| ServerError::NotAnInstallation { path: directory.to_owned(), reason });
    }
    let wanted = Wanted::parse(wanted)?;
    let cache = Cache::new(&locations.cache_dir);
    let cached = cache.fitting(&wanted).into_iter().map(|bin| (bin, Origin::Embedded));
    let installed = installed(&wanted, locations).into_iter().map(|bin| (bin, Origin::Installed));
    let at_hand = cached
        .chain(installed)
        .filter_map(|(bin, origin)| examine(&bin, origin).ok())
        .find(|found| wanted.fits(&found.version));
    match at_hand {
        Some(found) => Ok(found),
        None => fetched(&wanted, &cache, None, progress),
    }
}

/// Finds the programs of `wanted` from the archive with this checksum: in the cache, otherwise by downloading it.
///
/// # Errors
/// As [`obtain`]; the archive has another checksum and is discarded.
pub fn obtain_verified(
    wanted: &str,
    checksum: &Checksum,
    locations: &Locations,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Installation, ServerError> {
    let (wanted, cache) = (Wanted::parse(wanted)?, Cache::new(&locations.cache_dir));
    let cached = cache.verified(&wanted, Some(checksum));
    let mut cached = cached.into_iter().filter_map(|bin| examine(&bin, Origin::Embedded).ok());
    match cached.next() {
        Some(found) => Ok(found),
        None => fetched(&wanted, &cache, Some(checksum), progress),
    }
}

fn fetched(
    wanted: &Wanted,
    cache: &Cache,
    checksum: Option<&Checksum>,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Installation, ServerError> {
    let bin = fetch(wanted, cache, checksum, progress)?;
    examine(&bin, Origin::Embedded).map_err(|reason| ServerError::NotAnInstallation { path: bin, reason })
}

/// Reads the version of the programs in a directory.
fn examine(directory: &Path, origin: Origin) -> Result<Installation, String> {
    // A linked program must be started from its real location, because it looks for its files next to itself.
    let bin_dir = directory.canonicalize().map_err(|error| error.to_string())?;
    if !bin_dir.join("initdb").is_file() {
        return Err("it contains no initdb".to_owned());
    }
    let answer = answer(&bin_dir.join("postgres"), "--version")?;
    let version = Version::parse_answer(&answer)
        .ok_or_else(|| format!("its postgres reports \"{}\"", answer.trim()))?;
    if version.major() < crate::version::OLDEST_MAJOR {
        return Err(format!("its version is {version}, older than {}", crate::version::OLDEST_MAJOR));
    }
    Ok(Installation { bin_dir, version, origin })
}

fn answer(program: &Path, argument: &str) -> Result<String, String> {
    let shown = program.display();
    let output = question(program)?.arg(argument).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown} failed: {}", said.lines().next().unwrap_or("it printed nothing")))
}

/// As root, a program that another user could change is run as that user, without root's environment variables.
fn question(program: &Path) -> Result<Command, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Command::new(program));
    }
    match changeable(program).map_err(|error| format!("cannot resolve {}: {error}", program.display()))? {
        None => Ok(Command::new(program)),
        Some(Changeable { uid, .. }) => {
            let account = Account::of_owner(uid).map_err(|error| error.to_string())?;
            let mut command = account.command(program, Path::new("/"));
            command.env_clear().env("LC_ALL", "C").env("PATH", SAFE_PATH);
            Ok(command)
        }
    }
}

/// Directories on this machine that may contain the programs, most likely first; most do not exist.
fn installed(wanted: &Wanted, locations: &Locations) -> Vec<PathBuf> {
    let search = locations.search_path.iter();
    let in_path = search.clone().filter_map(|directory| behind_links(&directory.join("postgres")));
    let pg_config = search.map(|directory| directory.join("pg_config")).filter(|program| program.is_file());
    let told = pg_config.filter_map(|program| Some(PathBuf::from(answer(&program, "--bindir").ok()?.trim())));
    let told = told.filter(|bin| bin.is_absolute());
    let mut seen = Vec::new();
    for directory in in_path.chain(told).chain(usual_places(wanted.major())) {
        if directory.join("postgres").is_file() && !seen.contains(&directory) {
            seen.push(directory);
        }
    }
    seen
}

/// The directory of the real program: `/usr/bin/postgres` may be a link.
fn behind_links(program: &Path) -> Option<PathBuf> {
    Some(program.canonicalize().ok()?.parent()?.to_owned())
}

/// Locations of a major version in known packages.
fn usual_places(major: Major) -> [PathBuf; 7] {
    [
        format!("/usr/lib/postgresql/{major}/bin"), // Debian, Ubuntu
        format!("/usr/pgsql-{major}/bin"),          // Red Hat, SUSE: the community's packages
        format!("/usr/libexec/postgresql{major}"),  // Alpine
        "/usr/local/pgsql/bin".to_owned(),          // built from source
        format!("/opt/homebrew/opt/postgresql@{major}/bin"),
        format!("/usr/local/opt/postgresql@{major}/bin"),
        format!("/home/linuxbrew/.linuxbrew/opt/postgresql@{major}/bin"),
    ]
    .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// Programs that print this with `--version`.
    fn pretend(directory: &Path, version: &str) {
        fs::create_dir_all(directory).unwrap();
        for program in ["initdb", "postgres"] {
            script(&directory.join(program), &format!("echo '{program} (PostgreSQL) {version}'"));
        }
    }

    /// Another process writes the file: a program that any thread of this process holds open for writing while a test
    /// starts a process is "busy" and cannot be run.
    fn script(path: &Path, line: &str) {
        let text = "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
        let status = Command::new("sh").args(["-c", text, "sh"]).arg(path).arg(line).status();
        assert!(status.unwrap().success());
    }

    fn locations(base: &Path, search: &[PathBuf]) -> Locations {
        Locations {
            cache_dir: base.join("cache"),
            state_dir: base.join("state"),
            search_path: search.to_vec(),
        }
    }

    fn obtained(
        wanted: &str,
        bin_dir: Option<&Path>,
        locations: &Locations,
    ) -> Result<(String, Origin), String> {
        obtain(wanted, bin_dir, locations, &mut |_| {})
            .map(|found| (found.version.to_string(), found.origin))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_named_directory_is_taken_whatever_version_it_has() {
        let base = tempfile::tempdir().unwrap();
        let bin = base.path().join("bin");
        pretend(&bin, "17.2");
        let found = obtained("18", Some(&bin), &locations(base.path(), &[]));
        assert_eq!(found.unwrap(), ("17.2".to_owned(), Origin::Named));
    }

    #[test]
    fn a_named_directory_without_the_programs_is_refused_with_the_reason() {
        let base = tempfile::tempdir().unwrap();
        let bin = base.path().join("bin");
        let refused = || obtained("18", Some(&bin), &locations(base.path(), &[])).unwrap_err();
        assert!(refused().contains("No such file"), "{}", refused());
        pretend(&bin, "nonsense");
        assert!(refused().contains("nonsense"), "{}", refused());
        pretend(&bin, "9.4.26");
        assert!(refused().contains("older than 9.6"), "{}", refused());
        fs::remove_file(bin.join("initdb")).unwrap();
        assert!(refused().contains("no initdb"), "{}", refused());
        assert!(refused().contains("--bin-dir"), "{}", refused());
    }

    /// A program of another user, and one of root in a directory that everybody may write to.
    #[test]
    #[allow(clippy::print_stderr)]
    fn programs_that_another_user_could_change_never_run_as_root() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("NOT TESTED: what runs as root needs root");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        open(base.path(), 0o755);
        let (bin, told) = (base.path().join("bin"), base.path().join("told"));
        fs::create_dir(&told).unwrap();
        open(&told, 0o777);
        pretend(&bin, "17.2");
        let line = format!(
            "id -u > {0}/user; env > {0}/variables; echo 'postgres (PostgreSQL) 17.2'",
            told.display()
        );
        script(&bin.join("postgres"), &line);
        let user_of_run = || {
            let found = obtained("17", Some(&bin), &locations(base.path(), &[]));
            assert_eq!(found.unwrap(), ("17.2".to_owned(), Origin::Named));
            let read = |name: &str| fs::read_to_string(told.join(name)).unwrap();
            let (user, variables) = (read("user").trim().to_owned(), read("variables"));
            fs::remove_dir_all(&told).unwrap();
            fs::create_dir(&told).unwrap();
            open(&told, 0o777);
            assert!(user == "0" || !variables.contains("CARGO_MANIFEST_DIR"), "{variables}");
            user
        };
        assert_eq!(user_of_run(), "0", "root alone can change it");
        open(&bin, 0o777);
        assert_ne!(user_of_run(), "0");
        open(&bin, 0o755);
        chown(bin.join("postgres"), Some(4711), Some(4711)).unwrap();
        assert_eq!(user_of_run(), "4711");
    }

    #[test]
    fn the_cache_comes_before_what_is_installed_and_both_before_the_network() {
        let base = tempfile::tempdir().unwrap();
        let (real, linked) = (base.path().join("real"), base.path().join("linked"));
        pretend(&real, "13.9");
        fs::create_dir(&linked).unwrap();
        symlink(real.join("postgres"), linked.join("postgres")).unwrap();
        let locations = locations(base.path(), &[linked]);
        assert_eq!(obtained("13", None, &locations).unwrap(), ("13.9".to_owned(), Origin::Installed));
        let name = format!("13.2-{}", crate::cache::platform());
        pretend(&locations.cache_dir.join("postgresql").join(name).join("bin"), "13.2");
        assert_eq!(obtained("13", None, &locations).unwrap(), ("13.2".to_owned(), Origin::Embedded));
        assert_eq!(obtained("13.9", None, &locations).unwrap(), ("13.9".to_owned(), Origin::Installed));
    }

    #[test]
    fn pg_config_in_the_path_leads_to_the_programs() {
        let base = tempfile::tempdir().unwrap();
        let (hidden, path) = (base.path().join("hidden"), base.path().join("path"));
        pretend(&hidden, "12.1");
        fs::create_dir(&path).unwrap();
        script(&path.join("pg_config"), &format!("echo {}", hidden.display()));
        let found = obtained("12", None, &locations(base.path(), &[path]));
        assert_eq!(found.unwrap(), ("12.1".to_owned(), Origin::Installed));
    }
}
