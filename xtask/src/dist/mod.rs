//! `cargo xtask dist`: what is given away. A static binary and a Debian package for each platform, manual pages, shell
//! completions, the licences of what is linked, and checksums, in the directory `dist`. `--verify` builds the binary
//! again in another directory and compares the bytes; `--check` tries the binary in an empty root directory, and the
//! package in a clean system.

mod build;
mod check;
mod deb;
mod licences;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest as _, Sha256};

use build::{PLATFORMS, Platform};
use deb::{Content, Entry, Package};

const USAGE: &str = "usage: cargo xtask dist [--target TARGET]... [--verify] [--check]\n\
    TARGET: x86_64-unknown-linux-musl (the default) or aarch64-unknown-linux-musl";

/// The largest binary that is accepted.
const SIZE_MAX: u64 = 20_000_000;

/// Fields of the control file.
const FIELDS: &str = "\
Maintainer: The pgmeter developers <pgmeter@localhost>
Section: database
Priority: optional
Suggests: postgresql-client
Description: benchmark client for PostgreSQL
 pgmeter measures the throughput and latency of PostgreSQL, observes the server
 meanwhile, compares variants and runs experiments from files. It is a drop-in
 replacement for pgbench: the package registers it as an alternative for the
 program pgbench, with a lower priority than PostgreSQL's own.
";

/// Completions: the shell, the file's name, its directory in a package.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "pgmeter", "usr/share/bash-completion/completions"),
    ("zsh", "_pgmeter", "usr/share/zsh/vendor-completions"),
    ("fish", "pgmeter.fish", "usr/share/fish/vendor_completions.d"),
];

/// The options of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    platforms: Vec<Platform>,
    verify: bool,
    check: bool,
}

impl Options {
    fn parse(arguments: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(&word) = words.next() {
            match word {
                "--verify" => options.verify = true,
                "--check" => options.check = true,
                "--target" => {
                    let name = words.next()?;
                    options.platforms.push(*PLATFORMS.iter().find(|platform| platform.target == *name)?);
                }
                _ => return None,
            }
        }
        if options.platforms.is_empty() {
            options.platforms.push(PLATFORMS[0]);
        }
        Some(options)
    }
}

/// Makes everything and prints the files with their sizes; false if something fails.
pub fn run(arguments: &[&str]) -> bool {
    let Some(options) = Options::parse(arguments) else {
        eprintln!("{USAGE}");
        return false;
    };
    match make(&options) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            true
        }
        Err(error) => {
            eprintln!("{error}");
            false
        }
    }
}

/// Why the static binary cannot be built here, if it cannot.
pub fn obstacle() -> Option<String> {
    let platform = PLATFORMS.into_iter().find(|platform| platform.runs_here())?;
    build::CCompiler::find(platform).err()
}

fn make(options: &Options) -> Result<Vec<String>, String> {
    let root = crate::root();
    let dist = root.join("dist");
    if dist.exists() {
        fs::remove_dir_all(&dist).map_err(|error| format!("{}: {error}", dist.display()))?;
    }
    let native = program_of_this_machine(&options.platforms)?;
    let documents = Documents::new(&native, &dist)?;
    let mut lines = Vec::new();
    for &platform in &options.platforms {
        let built = build::binary(platform, &target_directory("dist"))?;
        if options.verify {
            lines.push(verify(platform, &built)?);
        }
        lines.extend(package(platform, &built, &documents, &dist)?);
    }
    write(&dist.join("SHA256SUMS"), checksums(&dist)?.as_bytes())?;
    if options.check {
        for &platform in options.platforms.iter().filter(|platform| platform.runs_here()) {
            lines.extend(check::run(&dist.join(platform.target)).map_err(|error| format!("check: {error}"))?);
        }
    }
    Ok(lines)
}

fn target_directory(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| "target".into());
    crate::root().join(target).join(name)
}

/// A pgmeter that runs here, for manual pages and completions.
fn program_of_this_machine(platforms: &[Platform]) -> Result<PathBuf, String> {
    let native = platforms.iter().chain(&PLATFORMS).find(|platform| platform.runs_here());
    build::binary(*native.ok_or("there is no static binary for this processor")?, &target_directory("dist"))
}

/// Builds again in another directory and compares.
fn verify(platform: Platform, built: &Path) -> Result<String, String> {
    let scratch =
        tempfile::tempdir().map_err(|error| format!("a directory for the second build: {error}"))?;
    let again = build::binary(platform, scratch.path())?;
    let (first, second) = (read(built)?, read(&again)?);
    if first == second {
        Ok(format!("{}: a second build in another directory gave the same bytes", platform.target))
    } else {
        let at = first.iter().zip(&second).position(|(one, other)| one != other);
        Err(format!(
            "{}: a second build differs: {} and {} bytes, first difference at {at:?}",
            platform.target,
            first.len(),
            second.len()
        ))
    }
}

/// What all platforms share.
struct Documents {
    /// Manual pages: name and text.
    pages: Vec<(String, Vec<u8>)>,
    /// Completions in the order of [`COMPLETIONS`].
    completions: Vec<Vec<u8>>,
}

impl Documents {
    /// Asks the program, and writes what it says into `dist`.
    fn new(program: &Path, dist: &Path) -> Result<Documents, String> {
        let man = dist.join("man");
        output_of(Command::new(program).arg("man").arg(&man))?;
        let mut pages = Vec::new();
        for path in files(&man)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            pages.push((name, read(&path)?));
        }
        let mut completions = Vec::new();
        for (shell, name, _) in COMPLETIONS {
            let text = output_of(Command::new(program).args(["completions", shell]))?;
            write(&dist.join("completions").join(shell).join(name), &text)?;
            completions.push(text);
        }
        Ok(Documents { pages, completions })
    }
}

/// Writes the binary, the package and the licences of a platform.
fn package(
    platform: Platform,
    built: &Path,
    documents: &Documents,
    dist: &Path,
) -> Result<Vec<String>, String> {
    let directory = dist.join(platform.target);
    let binary = read(built)?;
    if binary.len() as u64 > SIZE_MAX {
        return Err(format!("{}: {} bytes, more than {SIZE_MAX}", platform.target, binary.len()));
    }
    let licences = licences::text(platform.target)?;
    write(&directory.join("THIRD-PARTY-LICENCES.txt"), licences.as_bytes())?;
    let deb = debian(platform, &binary, licences, documents)?;
    let bytes = deb.bytes().map_err(|error| format!("{}: {error}", deb.file_name()))?;
    write(&directory.join(deb.file_name()), &bytes)?;
    let path = directory.join("pgmeter");
    write(&path, &binary)?;
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let megabytes = |bytes: &[u8]| bytes.len() as f64 / 1e6;
    Ok(vec![format!(
        "{}: binary of {:.1} MB, {} of {:.1} MB",
        platform.target,
        megabytes(&binary),
        deb.file_name(),
        megabytes(&bytes)
    )])
}

fn debian(
    platform: Platform,
    binary: &[u8],
    licences: String,
    documents: &Documents,
) -> Result<Package<'static>, String> {
    let mut files = vec![
        Entry { path: "usr/bin/pgmeter".to_owned(), content: Content::Program(binary.to_vec()) },
        // The name by which pgmeter knows that it stands for pgbench.
        Entry {
            path: "usr/lib/pgmeter/pgbench".to_owned(),
            content: Content::Link("../../bin/pgmeter".to_owned()),
        },
    ];
    let zip = |name: &str, bytes: &[u8]| deb::gzipped(bytes).map_err(|error| format!("{name}: {error}"));
    for (name, page) in &documents.pages {
        files.push(Entry::file(format!("usr/share/man/man1/{name}.gz"), zip(name, page)?));
    }
    for ((_, name, place), text) in COMPLETIONS.iter().zip(&documents.completions) {
        files.push(Entry::file(format!("{place}/{name}"), text.clone()));
    }
    let root = crate::root();
    let mut copyright = Vec::new();
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copyright.extend_from_slice(&read(&root.join(name))?);
        copyright.push(b'\n');
    }
    copyright.extend_from_slice(licences.as_bytes());
    let place = "usr/share/doc/pgmeter";
    files.push(Entry::file(format!("{place}/copyright"), copyright));
    files.push(Entry::file(format!("{place}/README.md"), read(&root.join("README.md"))?));
    let changes = zip("CHANGELOG.md", &read(&root.join("CHANGELOG.md"))?)?;
    files.push(Entry::file(format!("{place}/changelog.gz"), changes));
    let script = |name: &str, text: &str| Entry {
        path: name.to_owned(),
        content: Content::Program(text.as_bytes().to_vec()),
    };
    Ok(Package {
        name: "pgmeter",
        version: env!("CARGO_PKG_VERSION"),
        architecture: platform.debian,
        fields: FIELDS,
        control: vec![
            script("postinst", include_str!("debian/postinst")),
            script("prerm", include_str!("debian/prerm")),
            Entry::file("triggers", include_str!("debian/triggers")),
        ],
        files,
        time_s: source_time(),
    })
}

/// The time of the files: `SOURCE_DATE_EPOCH`, otherwise that of the last commit, otherwise the beginning of 2026.
fn source_time() -> u64 {
    const NEITHER: u64 = 1_767_225_600;
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let commit =
        || output_of(Command::new("git").current_dir(crate::root()).args(["log", "-1", "--format=%ct"]));
    let text = given.or_else(|| Some(String::from_utf8_lossy(&commit().ok()?).into_owned()));
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(NEITHER)
}

/// The checksums of all files below `dist`, as sha256sum(1) reads them.
fn checksums(dist: &Path) -> Result<String, String> {
    let mut lines = String::new();
    for path in files(dist)? {
        let name = path.strip_prefix(dist).unwrap_or(&path).display().to_string();
        lines.push_str(&format!("{}  {name}\n", hex(&Sha256::digest(read(&path)?))));
    }
    Ok(lines)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All files below a directory, sorted.
fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file and makes its directory.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, bytes)).map_err(|error| format!("{}: {error}", path.display()))
}

/// The standard output of a command that must succeed.
fn output_of(command: &mut Command) -> Result<Vec<u8>, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_name_known_targets() {
        let both = Options { platforms: PLATFORMS.to_vec(), verify: true, check: false };
        let words =
            ["--target", "x86_64-unknown-linux-musl", "--verify", "--target", "aarch64-unknown-linux-musl"];
        assert_eq!(Options::parse(&words), Some(both));
        assert_eq!(Options::parse(&[]).unwrap().platforms, [PLATFORMS[0]]);
        assert_eq!(Options::parse(&["--target", "pdp11"]), None);
        assert_eq!(Options::parse(&["--fast"]), None);
    }
}
