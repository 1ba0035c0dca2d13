//! `cargo xtask fetch-postgres-19 DIRECTORY`: PostgreSQL 19 before its release, from the packages of Debian sid and
//! experimental, made to run on an older Debian. Nothing is installed, and no test needs it: the catalogues of its views
//! are recorded in crates/observe/tests/catalogues.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages; apt finds the libraries that they need.
const PACKAGES: [&str; 2] = ["postgresql-19", "postgresql-client-19"];
/// The client library goes with them, though an older one would satisfy apt.
const CLIENT_LIBRARY: &str = "libpq5";
/// Programs that this takes, each with the package that has it.
const TOOLS: [(&str, &str); 4] =
    [("apt-get", "apt"), ("apt-cache", "apt"), ("dpkg", "dpkg"), ("patchelf", "patchelf")];
/// Of these the first that has the packages is taken.
const SUITES: [&str; 2] = ["sid", "experimental"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const PROGRAMS: &str = "usr/lib/postgresql/19/bin";

/// Fetches it; true if it answers.
pub fn run(arguments: &[&str]) -> bool {
    let [directory] = arguments else {
        eprintln!("usage: cargo xtask fetch-postgres-19 DIRECTORY");
        return false;
    };
    match fetch(Path::new(directory)) {
        Ok((version, programs)) => {
            println!("{version} is in {}", programs.display());
            println!(
                "use it with --bin-dir; the directory must stay where it is, since its programs name it"
            );
            true
        }
        Err(problem) => {
            eprintln!("PostgreSQL 19 was not fetched: {problem}");
            false
        }
    }
}

fn fetch(directory: &Path) -> Result<(String, PathBuf), String> {
    for (tool, package) in TOOLS {
        if !Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success()) {
            return Err(format!("{tool} is missing; install it with: apt-get install {package}"));
        }
    }
    if directory.exists() {
        return Err(format!("{} exists already; name a new directory", directory.display()));
    }
    let work = tempfile::tempdir().map_err(describe("a directory for the work"))?;
    let apt = Apt::new(work.path(), &mirror()?)?;
    apt.run("apt-get", &["update"])?;
    let suite = apt.suite()?;
    let mut packages: Vec<String> =
        PACKAGES.iter().chain([&CLIENT_LIBRARY]).map(|package| format!("{package}/{suite}")).collect();
    packages.extend(apt.libraries()?);
    let arguments: Vec<&str> = ["download"].into_iter().chain(packages.iter().map(String::as_str)).collect();
    apt.run("apt-get", &arguments)?;
    fs::create_dir_all(directory).map_err(describe(&directory.display().to_string()))?;
    let prefix = directory.canonicalize().map_err(describe(&directory.display().to_string()))?;
    for package in files(&apt.packages).map_err(describe("the packages"))? {
        output(Command::new("dpkg").arg("-x").arg(&package).arg(&prefix))?;
    }
    relocate(&prefix)?;
    let programs = prefix.join(PROGRAMS);
    let version = output(Command::new(programs.join("postgres")).arg("--version"))?;
    Ok((version.trim().to_owned(), programs))
}

/// The Debian mirror that this system uses.
fn mirror() -> Result<String, String> {
    let targets = output(Command::new("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let is_debian = |uri: &&str| uri.trim_end_matches('/').ends_with("/debian");
    targets.lines().find(is_debian).map(str::to_owned).ok_or_else(|| {
        "apt knows no Debian mirror here; this takes a Debian system whose sources name one".to_owned()
    })
}

/// An apt with sources, lists and a state of its own, so that nothing of the system's changes.
struct Apt {
    options: Vec<String>,
    packages: PathBuf,
}

impl Apt {
    fn new(work: &Path, mirror: &str) -> Result<Apt, String> {
        let problem = |error| describe("the work directory")(error);
        for folder in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(work.join(folder)).map_err(problem)?;
        }
        let source = |suite: &str| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n");
        fs::write(work.join("sources.list"), SUITES.map(source).concat()).map_err(problem)?;
        fs::write(work.join("status"), "").map_err(problem)?;
        let place = |option: &str, path: &str| format!("{option}={}", work.join(path).display());
        let options = vec![
            place("Dir::Etc::sourcelist", "sources.list"),
            "Dir::Etc::sourceparts=-".to_owned(),
            place("Dir::State::lists", "lists"),
            place("Dir::State::status", "status"),
            place("Dir::Cache", "cache"),
            "Acquire::Languages=none".to_owned(),
            // The working directory is ours alone, so apt cannot give up its rights for it.
            "APT::Sandbox::User=root".to_owned(),
        ];
        Ok(Apt { options, packages: work.join("packages") })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let options = self.options.iter().flat_map(|option| ["-o", option]);
        output(Command::new(program).args(options).args(arguments).current_dir(&self.packages))
    }

    /// Where the packages are.
    fn suite(&self) -> Result<&'static str, String> {
        let versions = self.run("apt-cache", &["madison", PACKAGES[0]])?;
        suite_of(&versions).ok_or_else(|| {
            format!(
                "neither Debian {} has {}: mirrors drop a version when a newer one comes",
                SUITES.join(" nor "),
                PACKAGES[0]
            )
        })
    }

    /// The libraries that the packages need, and those that these need.
    fn libraries(&self) -> Result<Vec<String>, String> {
        let mut arguments = vec!["depends", "--recurse"];
        arguments.extend([
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
        ]);
        arguments.extend(PACKAGES);
        Ok(libraries_in(&self.run("apt-cache", &arguments)?))
    }
}

/// The first suite that is named in a list of versions.
fn suite_of(versions: &str) -> Option<&'static str> {
    SUITES.into_iter().find(|suite| versions.contains(&format!(" {suite}/main")))
}

/// Of the packages in a list of dependencies those that hold libraries; names in brackets are virtual.
fn libraries_in(depends: &str) -> Vec<String> {
    let is_library = |name: &&str| {
        let named_so = name.starts_with("lib") || *name == "zlib1g";
        named_so && !name.contains("perl") && *name != CLIENT_LIBRARY && !name.contains("systemd-shared")
    };
    let mut names: Vec<String> = depends.lines().filter(is_library).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Makes programs and libraries use the libraries and the loader of the prefix: the system's may be too old.
fn relocate(prefix: &Path) -> Result<(), String> {
    let all = files(prefix).map_err(describe("the unpacked packages"))?;
    let named = |name: &'static str| {
        let is_it = move |path: &&PathBuf| file_name(path).starts_with(name) && !path.is_symlink();
        all.iter().find(is_it).ok_or_else(|| format!("the packages hold no {name}"))
    };
    let (loader, libc) = (named("ld-linux")?, named("libc.so.6")?);
    let libraries = libc.parent().unwrap_or(prefix);
    for path in all.iter().filter(|path| *path != loader && *path != libc && is_elf(path)) {
        let has_loader = output(Command::new("patchelf").arg("--print-interpreter").arg(path)).is_ok();
        let mut patch = Command::new("patchelf");
        if has_loader {
            patch.arg("--set-interpreter").arg(loader);
        }
        output(patch.args(["--force-rpath", "--set-rpath"]).arg(libraries).arg(path))?;
    }
    Ok(())
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

fn is_elf(path: &Path) -> bool {
    use std::io::Read;
    let mut begin = [0; 4];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"\x7fELF"
}

/// All files below a folder; links are not followed.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The output of a program; an error with its last line on stderr if it fails.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program} did not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} failed: {}", stderr.lines().last().unwrap_or("no message")))
}

fn describe(step: &str) -> impl Fn(io::Error) -> String {
    let step = step.to_owned();
    move |error| format!("{step}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_released_version_is_preferred() {
        let line =
            |suite| format!(" postgresql-19 | 19~rc1-1 | http://mirror/debian {suite}/main amd64 Packages\n");
        assert_eq!(suite_of(&line("experimental")), Some("experimental"));
        assert_eq!(suite_of(&(line("experimental") + &line("sid"))), Some("sid"));
        assert_eq!(suite_of(""), None);
    }

    #[test]
    fn only_libraries_are_taken_of_what_packages_depend_on() {
        let depends = "postgresql-19\n  Depends: libc6\n  Depends: <debconf-2.0>\nlibc6\nlibperl5.42\nlibpq5\nzlib1g\n\
                       perl\nlibc6\n";
        assert_eq!(libraries_in(depends), ["libc6", "zlib1g"]);
    }

    #[test]
    fn the_error_of_a_failing_program_has_its_words() {
        let problem =
            output(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"])).unwrap_err();
        assert_eq!(problem, "sh failed: two");
        assert!(output(&mut Command::new("/nowhere/program")).unwrap_err().contains("did not start"));
    }
}
