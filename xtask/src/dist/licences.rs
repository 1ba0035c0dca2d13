//! The licences of everything that a static binary contains: the crates that are linked for a target, Rust's standard
//! library, musl, SQLite and the typeface of the charts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::dependencies;

/// Files of a crate whose names begin with one of these, in any case of letters, are texts of licences.
const FILE_NAMES: [&str; 5] = ["licen", "copying", "copyright", "unlicense", "notice"];

/// What is linked, but is no crate.
const OTHERS: &str = "\
Rust's standard library: MIT OR Apache-2.0. Copyright The Rust Project Contributors.

musl libc: MIT. Copyright © 2005-2020 Rich Felker and contributors.

SQLite: public domain.

Inter, the typeface of the charts: SIL Open Font License 1.1; its text is below.
";

/// The licences of a binary for `target`, as one text.
///
/// # Errors
/// cargo does not tell the dependencies, or a file cannot be read.
pub fn text(target: &str) -> Result<String, String> {
    let metadata = dependencies::metadata(&["--filter-platform", target])?;
    let linked = linked(&metadata).ok_or("cargo metadata: no dependencies of pgmeter")?;
    let mut text = format!("Software contained in pgmeter, beside its own code.\n\n{OTHERS}\nCrates:\n\n");
    let mut names_by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in &linked {
        let word = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}", word("name"), word("version"));
        let _ = writeln!(text, "{name}: {}", word("license"));
        let folder = Path::new(word("manifest_path")).parent().unwrap_or(Path::new(""));
        for licence in files(folder)? {
            names_by_text.entry(licence).or_default().insert(name.clone());
        }
    }
    let font = crate::root().join("crates/report/assets/Inter.LICENSE");
    names_by_text.entry(read(&font)?).or_default().insert("Inter".to_owned());
    for (licence, names) in names_by_text {
        let names: Vec<String> = names.into_iter().collect();
        let _ = write!(text, "\n{}\n{}\n\n{}\n", "-".repeat(79), names.join(", "), licence.trim_end());
    }
    Ok(text)
}

/// The packages of others that are linked into pgmeter: neither build nor test dependencies.
fn linked(metadata: &Value) -> Option<Vec<&Value>> {
    let packages = metadata.get("packages")?.as_array()?;
    let nodes = metadata.get("resolve")?.get("nodes")?.as_array()?;
    let id = |value: &Value| Some(value.get("id")?.as_str()?.to_owned());
    let root = packages.iter().find(|package| package.get("name").is_some_and(|name| name == "pgmeter"))?;
    let mut open = vec![id(root)?];
    let mut seen: BTreeSet<String> = open.iter().cloned().collect();
    while let Some(current) = open.pop() {
        let node = nodes.iter().find(|node| id(node).as_ref() == Some(&current))?;
        for dependency in node.get("deps")?.as_array()? {
            let kinds = dependency.get("dep_kinds")?.as_array()?;
            let is_linked = kinds.iter().any(|kind| kind.get("kind").is_some_and(Value::is_null));
            let package = dependency.get("pkg")?.as_str()?.to_owned();
            if is_linked && seen.insert(package.clone()) {
                open.push(package);
            }
        }
    }
    let is_of_others = |package: &&Value| package.get("source").is_some_and(|source| !source.is_null());
    let is_linked = |package: &&Value| id(package).is_some_and(|id| seen.contains(&id));
    Some(packages.iter().filter(is_linked).filter(is_of_others).collect())
}

/// The texts of licences in a crate's folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && FILE_NAMES.iter().any(|start| name.starts_with(start)) {
            found.push(path);
        }
    }
    found.sort();
    found.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_contains_its_dependencies_and_not_those_of_tests() {
        let text = text(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH)).unwrap();
        for contained in
            ["clap 4", "rusqlite 0", "io-uring 0", "SQLite: public domain", "SIL OPEN FONT LICENSE"]
        {
            assert!(text.contains(contained), "{contained} is missing");
        }
        for not_contained in ["proptest", "insta 1", "yaml-rust2"] {
            assert!(!text.contains(not_contained), "{not_contained} is not linked");
        }
    }
}
