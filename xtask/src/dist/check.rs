//! Tries what was built: the binary in a root directory that contains nothing else, and the Debian package in a system
//! that contains only what dpkg requires. Both need the right to change the root directory: root, or a user namespace.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::deb::{Content, Entry, Package};
use super::{files, output_of, write};

/// Runs a program below a directory as if that were `/`.
struct Root {
    directory: TempDir,
    /// `chroot`, after `unshare` for users other than root.
    words: &'static [&'static str],
}

impl Root {
    /// An empty root directory; `None` if this user may not change the root directory.
    fn new() -> Result<Option<Root>, String> {
        let is_root = output_of(Command::new("id").arg("-u"))? == b"0\n";
        let words: &[&str] = if is_root { &["chroot"] } else { &["unshare", "--map-root-user", "chroot"] };
        let may = is_root || output_of(Command::new("unshare").args(["--map-root-user", "true"])).is_ok();
        let directory = tempfile::Builder::new().prefix("pgm-dist-").tempdir();
        let directory = directory.map_err(|error| format!("a directory for the check: {error}"))?;
        Ok(may.then_some(Root { directory, words }))
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.directory.path().join(inner)
    }

    fn copy(&self, file: &Path, inner: &str) -> Result<(), String> {
        write(&self.path(inner), b"")?;
        fs::copy(file, self.path(inner)).map(drop).map_err(|error| format!("{}: {error}", file.display()))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.words[0]);
        command.args(&self.words[1..]).arg(self.directory.path()).args(words).stdin(Stdio::null());
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        // chroot and unshare themselves are found by the caller's path.
        command
    }

    fn run(&self, words: &[&str]) -> Result<String, String> {
        output_of(&mut self.command(words)).map(|output| String::from_utf8_lossy(&output).into_owned())
    }
}

/// Tries the files of one platform; returns a line for each check.
///
/// # Errors
/// A check failed.
pub fn run(directory: &Path) -> Result<Vec<String>, String> {
    let Some(root) = Root::new()? else {
        return Ok(vec!["NOT CHECKED: this user may neither chroot nor make a user namespace".to_owned()]);
    };
    let mut lines = vec![binary(&root, &directory.join("pgmeter"))?];
    if output_of(Command::new("dpkg").arg("--version")).is_err() {
        lines.push("package NOT CHECKED: dpkg is not installed".to_owned());
        return Ok(lines);
    }
    let deb = files(directory)?.into_iter().find(|path| path.extension().is_some_and(|it| it == "deb"));
    lines.push(package(&deb.ok_or("there is no package")?)?);
    Ok(lines)
}

/// Runs a benchmark in a root directory that contains only the binary: no `/proc`, no `/etc`, no libraries.
fn binary(root: &Root, built: &Path) -> Result<String, String> {
    root.copy(built, "pgmeter")?;
    let version = root.run(&["/pgmeter", "--version"])?;
    let server = NullServer::start(root)?;
    let words = ["/pgmeter", "bench", "-n", "-c", "4", "-t", "250", "-s", "1", "-S", "--observe", "off"];
    let report = root.run(&[&words[..], &["--store", "/store", &server.conninfo]].concat())?;
    if !report.contains("1,000 succeeded") {
        return Err(format!("the benchmark in an empty root directory reports:\n{report}"));
    }
    Ok(format!("{} runs a benchmark in an empty root directory", version.trim()))
}

/// The null server in the root directory; ends when this is dropped.
struct NullServer {
    child: Child,
    conninfo: String,
}

impl NullServer {
    fn start(root: &Root) -> Result<NullServer, String> {
        let mut command = root.command(&["/pgmeter", "null-server", "--listen", "127.0.0.1:0"]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("the null server: {error}"))?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("the null server has no output")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        let server = NullServer { child, conninfo: line.trim().to_owned() };
        match read {
            Ok(length) if length > 0 => Ok(server),
            _ => Err("the null server did not start in an empty root directory".to_owned()),
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Programs that dpkg and the scripts of packages call.
const PROGRAMS: [&str; 13] = [
    "sh",
    "cat",
    "rm",
    "tar",
    "diff",
    "grep",
    "readlink",
    "dpkg",
    "dpkg-deb",
    "dpkg-divert",
    "update-alternatives",
    "ldconfig",
    "start-stop-daemon",
];
/// Programs that some systems lack, and dpkg needs only for other packages.
const OPTIONAL: [&str; 2] = ["dpkg-split", "dpkg-trigger"];

/// Installs and removes the package in a clean system: alone, before and after PostgreSQL's own pgbench.
fn package(deb: &Path) -> Result<String, String> {
    let root = clean_system()?;
    root.copy(deb, "pgmeter.deb")?;
    let original = Package {
        name: "original-pgbench",
        version: "1",
        architecture: "all",
        fields: "Maintainer: nobody <nobody@localhost>\nDescription: a package with PostgreSQL's pgbench\n",
        control: Vec::new(),
        files: vec![Entry {
            path: "usr/bin/pgbench".to_owned(),
            content: Content::Program(b"#!/bin/sh\necho the original\n".to_vec()),
        }],
        time_s: 1,
    };
    write(&root.path("original.deb"), &original.bytes().map_err(|error| error.to_string())?)?;

    let dpkg = |words: &[&str]| root.run(&[&["dpkg"], words].concat());
    let expect = |program: &str, text: &str, when: &str| match root.run(&[program, "--version"]) {
        Ok(output) if output.contains(text) => Ok(()),
        Ok(output) => Err(format!("{when}: {program} --version prints {output:?}, not {text:?}")),
        Err(error) => Err(format!("{when}: {error}")),
    };
    dpkg(&["-i", "/pgmeter.deb"])?;
    expect("pgmeter", "pgmeter ", "installed")?;
    expect("pgbench", "(pgmeter ", "installed alone")?;
    dpkg(&["-i", "/original.deb"])?;
    expect("pgbench", "the original", "installed before PostgreSQL's pgbench")?;
    root.run(&["update-alternatives", "--set", "pgbench", "/usr/lib/pgmeter/pgbench"])?;
    expect("pgbench", "(pgmeter ", "chosen")?;
    dpkg(&["-r", "pgmeter"])?;
    expect("pgbench", "the original", "pgmeter removed")?;
    dpkg(&["-i", "/pgmeter.deb"])?;
    expect("pgbench", "the original", "installed after PostgreSQL's pgbench")?;
    dpkg(&["-r", "original-pgbench"])?;
    expect("pgbench", "(pgmeter ", "PostgreSQL's pgbench removed")?;
    dpkg(&["-P", "pgmeter"])?;
    match files(&root.path("usr/bin"))?.iter().find(|path| path.to_string_lossy().contains("pgbench")) {
        Some(left) => Err(format!("removing both packages leaves {}", left.display())),
        None => Ok("the package installs, gives way to PostgreSQL's pgbench, and leaves nothing".to_owned()),
    }
}

/// A root directory with dpkg, a shell, and an empty database of packages.
fn clean_system() -> Result<Root, String> {
    let root = Root::new()?.ok_or("this user may not change the root directory")?;
    let mut libraries = BTreeSet::new();
    for (program, required) in PROGRAMS.map(|it| (it, true)).into_iter().chain(OPTIONAL.map(|it| (it, false)))
    {
        let found = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(|place| Path::new(place).join(program));
        match found.into_iter().find(|path| path.exists()) {
            Some(path) => {
                root.copy(&path, &format!("usr/bin/{program}"))?;
                libraries.extend(libraries_of(&path));
            }
            None if required => return Err(format!("{program} is not installed")),
            None => {}
        }
    }
    for library in libraries {
        root.copy(&library, library.to_string_lossy().trim_start_matches('/'))?;
    }
    for directory in
        ["bin", "tmp", "etc/alternatives", "var/lib/dpkg/alternatives", "var/lib/dpkg/info", "var/log"]
    {
        fs::create_dir_all(root.path(directory)).map_err(|error| format!("{directory}: {error}"))?;
    }
    std::os::unix::fs::symlink("../usr/bin/sh", root.path("bin/sh"))
        .map_err(|error| format!("sh: {error}"))?;
    for file in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
        write(&root.path(file), b"")?;
    }
    Ok(root)
}

/// The shared libraries of a program, by ldd(1); none of a static one.
fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let output = output_of(Command::new("ldd").arg(program)).unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}
