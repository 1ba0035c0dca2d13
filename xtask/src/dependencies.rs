//! What comes from others: licences, sources, banned crates, crates in several versions, and how many packages there
//! are, all by tables, from `cargo metadata` and `cargo tree`. Known vulnerabilities too, where `cargo audit` is
//! installed and its database can be reached. Changes nothing; `ci` and `cargo xtask dependencies` show the result.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};

use serde_json::Value;

/// Packages of others in Cargo.lock. Each is code to trust, to update and to build; a new one should replace another, or
/// be worth raising this number. Thirteen came with fuser and four with YAML, for tests only:
/// docs/decisions/0026-fuser.md and 0040-dependencies.md.
const PACKAGES_LIMIT: usize = 228;

/// The registry that packages may come from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that ask for no more than naming the authors, so that the binary may be given away under MIT or Apache 2.0.
const LICENCES: [&str; 7] =
    ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Crates that must not come back, and why.
const BANNED: [(&str, &str); 7] = [
    ("aws-lc-sys", "C code that needs CMake; rustls uses ring"),
    ("hyper", "brings an async runtime for one download; docs/decisions/0002-embedded-servers.md"),
    ("liblzma-sys", "C code; lzma-rust2 unpacks xz"),
    ("native-tls", "OpenSSL on Linux; docs/decisions/0007-tls.md"),
    ("openssl-sys", "OpenSSL; docs/decisions/0007-tls.md"),
    ("reqwest", "brings an async runtime for one download; docs/decisions/0002-embedded-servers.md"),
    ("tokio", "an async runtime beside the engine's own loop; docs/decisions/0003-polling.md"),
];

/// Crates that are there in several versions, and why that cannot be helped.
const DUPLICATES: [(&str, &str); 5] = [
    ("base64", "hdrhistogram, which only tests use, is a version behind"),
    ("getrandom", "ring is two versions behind"),
    ("miniz_oxide", "png is a version behind flate2"),
    ("syn", "der_derive and zerocopy-derive are a version behind"),
    ("windows-sys", "ring is behind; built on Windows only"),
];

/// What the checks found.
pub struct Findings {
    /// Sentences, one for each problem.
    pub problems: Vec<String>,
    /// For one line.
    pub note: String,
}

/// All checks.
pub fn check() -> Findings {
    look().unwrap_or_else(|error| Findings { problems: vec![error], note: "could not look".to_owned() })
}

fn look() -> Result<Findings, String> {
    let metadata = metadata(&[])?;
    let packages = Package::all(&metadata).ok_or("cargo metadata: no packages")?;
    let tree = stdout_of(&[
        "tree",
        "--workspace",
        "--locked",
        "--target=all",
        "--edges=normal,build,dev",
        "--prefix=none",
    ])?;
    let advisories = advisories();
    let mut problems: Vec<String> = packages.iter().filter_map(Package::problem).collect();
    problems.extend(duplicate_problems(&tree, &DUPLICATES));
    let foreign = packages.iter().filter(|package| package.source.is_some()).count();
    problems.extend(too_many(foreign));
    problems.extend(advisories.problem);
    let note = format!("{foreign} packages of others, at most {PACKAGES_LIMIT}; {}", advisories.note);
    Ok(Findings { problems, note })
}

/// What `cargo metadata` says of the workspace, with these additional options.
///
/// # Errors
/// cargo fails.
pub fn metadata(options: &[&str]) -> Result<Value, String> {
    let text = stdout_of(&[&["metadata", "--format-version", "1", "--locked"], options].concat())?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// A package of Cargo.lock.
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    /// `None` for ours.
    source: Option<&'a str>,
    licence: Option<&'a str>,
}

impl Package<'_> {
    fn all(metadata: &Value) -> Option<Vec<Package<'_>>> {
        let packages = metadata.get("packages")?.as_array()?.iter();
        let read = packages.map(|value| {
            let text = |key: &str| value.get(key).and_then(Value::as_str);
            let (name, version) = (text("name")?, text("version")?);
            Some(Package { name, version, source: text("source"), licence: text("license") })
        });
        read.collect()
    }

    fn problem(&self) -> Option<String> {
        let Package { name, version, source, licence } = self;
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| banned == name) {
            return Some(format!("{name} {version} is banned: {reason}"));
        }
        if source.is_some_and(|source| source != SOURCE) {
            return Some(format!(
                "{name} {version} comes from {}, not from crates.io",
                source.unwrap_or_default()
            ));
        }
        match licence {
            Some(licence) if allows(licence) => None,
            Some(licence) => {
                Some(format!("{name} {version} has the licence \"{licence}\", which LICENCES lacks"))
            }
            None => Some(format!("{name} {version} names no licence")),
        }
    }
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND ISC` can be met by [`LICENCES`] alone: one side of each OR,
/// both of each AND, which binds closer. A slash is an old OR. What is not understood is not allowed.
fn allows(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any(&mut rest) == Some(true) && rest.is_empty()
}

fn any(rest: &mut &[&str]) -> Option<bool> {
    let mut met = all(rest)?;
    while let ["OR", tail @ ..] = *rest {
        *rest = tail;
        met |= all(rest)?;
    }
    Some(met)
}

fn all(rest: &mut &[&str]) -> Option<bool> {
    let mut met = one(rest)?;
    while let ["AND", tail @ ..] = *rest {
        *rest = tail;
        met &= one(rest)?;
    }
    Some(met)
}

fn one(rest: &mut &[&str]) -> Option<bool> {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let met = any(rest)?;
            *rest = rest.strip_prefix(&[")"])?;
            Some(met)
        }
        // An exception only adds to what is allowed.
        [licence, "WITH", _, tail @ ..] | [licence, tail @ ..] => {
            *rest = tail;
            Some(LICENCES.contains(licence))
        }
        [] => None,
    }
}

/// Crates of the tree in several versions that are not accepted, and accepted ones that are no longer there.
fn duplicate_problems(tree: &str, accepted: &[(&str, &str)]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for mut words in tree.lines().map(str::split_whitespace) {
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            versions.entry(name).or_default().insert(version);
        }
    }
    versions.retain(|_, versions| versions.len() > 1);
    let is_accepted = |name: &str| accepted.iter().any(|(known, _)| *known == name);
    let new = versions.iter().filter(|(name, _)| !is_accepted(name)).map(|(name, versions)| {
        let versions: Vec<&str> = versions.iter().copied().collect();
        format!(
            "{name} is there as {}: align them, or add it to DUPLICATES with the reason",
            versions.join(" and ")
        )
    });
    let gone = accepted.iter().filter(|(name, _)| !versions.contains_key(name));
    let gone = gone.map(|(name, _)| format!("{name} is there once only: remove it from DUPLICATES"));
    new.chain(gone).collect()
}

fn too_many(packages: usize) -> Option<String> {
    let more = packages > PACKAGES_LIMIT;
    more.then(|| format!("{packages} packages of others, more than {PACKAGES_LIMIT}: do without one, or raise PACKAGES_LIMIT with its reason"))
}

struct Advisories {
    problem: Option<String>,
    note: String,
}

/// What the database of known vulnerabilities says.
fn advisories() -> Advisories {
    let not_checked =
        |reason: &str| Advisories { problem: None, note: format!("ADVISORIES NOT CHECKED: {reason}") };
    if !cargo(&["audit", "--version"]).output().is_ok_and(|output| output.status.success()) {
        return not_checked("cargo audit is not installed");
    }
    match cargo(&["audit", "--color", "never"]).output() {
        Ok(output) => judge_audit(output.status.code(), &said(&output), not_checked),
        Err(error) => not_checked(&error.to_string()),
    }
}

/// `cargo audit` ends with 1 for vulnerabilities as for a database that it cannot fetch; the count tells them apart.
fn judge_audit(code: Option<i32>, text: &str, not_checked: impl Fn(&str) -> Advisories) -> Advisories {
    if code == Some(0) {
        return Advisories { problem: None, note: "no advisory".to_owned() };
    }
    if text.contains("vulnerabilit") && text.contains("found") {
        return Advisories { problem: Some(text.trim().to_owned()), note: "ADVISORIES".to_owned() };
    }
    not_checked(text.lines().find(|line| line.starts_with("error")).unwrap_or("cargo audit failed"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn stdout_of(arguments: &[&str]) -> Result<String, String> {
    let output = cargo(arguments).output().map_err(|error| format!("cargo did not start: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::cargo());
    command.current_dir(crate::root()).args(arguments).stdin(std::process::Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_is_allowed_if_it_can_be_met_by_the_list() {
        for allowed in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
            "GPL-2.0 AND X OR ISC",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
        for refused in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT AND (GPL-2.0 OR LGPL-3.0)",
            "",
            "(MIT",
            "MIT OR",
            "MIT )",
            "MIT MIT",
        ] {
            assert!(!allows(refused), "{refused}");
        }
    }

    #[test]
    fn a_package_of_another_source_or_a_banned_one_is_a_problem() {
        let problem = |name, source, licence| {
            Package { name, version: "1.0.0", source, licence }.problem().unwrap_or_default()
        };
        assert_eq!(problem("fine", Some(SOURCE), Some("MIT")), "");
        assert_eq!(problem("ours", None, Some("MIT OR Apache-2.0")), "");
        assert!(problem("tokio", Some(SOURCE), Some("MIT")).contains("banned"));
        assert!(problem("x", Some("git+https://example.org/x"), Some("MIT")).contains("example.org"));
        assert!(problem("x", Some(SOURCE), None).contains("no licence"));
        assert!(problem("x", Some(SOURCE), Some("GPL-3.0")).contains("GPL-3.0"));
    }

    #[test]
    fn two_versions_need_a_reason_and_a_reason_needs_two_versions() {
        let tree = "a v1.0.0\na v2.0.0 (*)\n\nb v1.0.0\nb v1.0.0 (proc-macro)\nc v1.0.0\nc v1.1.0\n";
        let problems = duplicate_problems(tree, &[("b", "why"), ("c", "why")]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("a is there as v1.0.0 and v2.0.0"));
        assert!(problems[1].contains("b is there once only"));
    }

    #[test]
    fn more_packages_than_the_limit_are_a_problem() {
        assert!(too_many(PACKAGES_LIMIT).is_none());
        assert!(too_many(PACKAGES_LIMIT + 1).is_some_and(|text| text.contains("PACKAGES_LIMIT")));
    }

    #[test]
    fn a_database_out_of_reach_is_said_and_a_vulnerability_fails() {
        let judge = |code, text| {
            let not_checked =
                |reason: &str| Advisories { problem: None, note: format!("NOT CHECKED: {reason}") };
            let judged = judge_audit(Some(code), text, not_checked);
            (judged.problem.is_some(), judged.note)
        };
        assert_eq!(judge(0, ""), (false, "no advisory".to_owned()));
        assert!(judge(1, "Crate: x\nerror: 1 vulnerability found!").0);
        assert!(judge(1, "error: 2 vulnerabilities found!").0);
        let (failed, note) =
            judge(1, "Fetching advisory database\nerror: couldn't fetch advisory database: io");
        assert!(!failed && note.contains("couldn't fetch"), "{note}");
    }
}
