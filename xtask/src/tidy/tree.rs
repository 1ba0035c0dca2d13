//! The files of the repository, read once and handed to every rule, and the form of what a rule finds.
//! Judges nothing; the rules' tests make small trees by hand.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::source;

/// What one rule has against one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: String,
    /// The line, from 1; 0 if it is about the whole.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub text: String,
}

impl Problem {
    /// A problem with a line of a file.
    pub fn at(path: &str, line: usize, text: impl Into<String>) -> Problem {
        Problem { path: path.to_owned(), line, text: text.into() }
    }

    /// A problem with a whole file or folder.
    pub fn of(path: &str, text: impl Into<String>) -> Problem {
        Problem::at(path, 0, text)
    }
}

/// One file. Only Rust, Markdown, TOML and snapshots are read; of others the path is enough.
pub struct File {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// As written.
    pub text: String,
    /// Rust only: comments and literals blanked.
    pub masked: String,
    /// Rust only: test code blanked too; empty if the whole file is test code.
    pub production: String,
}

impl File {
    fn new(path: &str, text: String) -> File {
        let masked = if path.ends_with(".rs") { source::mask(&text) } else { String::new() };
        let is_test =
            ["/tests/", "/tests.rs", "/benches/", "/examples/"].iter().any(|part| path.contains(part));
        let production = if is_test { String::new() } else { source::without_tests(&masked) };
        File { path: path.to_owned(), text, masked, production }
    }

    /// The crate's folder name, if the file is in one.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// The repository.
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

/// Folders at the root that hold no source.
const NOT_READ: [&str; 3] = [".git", "target", "pgmeter-results"];

impl Tree {
    /// Reads everything below `root`.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Tree { files })
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| File::new(path, (*text).to_owned())).collect() }
    }

    /// The file with this path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files with this ending.
    pub fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(ending))
    }

    /// Every folder that holds a file, itself or deeper, without a last `/`.
    pub fn folders(&self) -> BTreeSet<&str> {
        let parents = |path: &'_ str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        self.files
            .iter()
            .flat_map(|file| parents(&file.path).into_iter().map(|at| &file.path[..at]))
            .collect()
    }

    /// The folder names below `crates/`.
    pub fn crates(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(File::crate_name).collect()
    }
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_READ.contains(&path.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let is_read = [".rs", ".md", ".toml", ".snap"].iter().any(|ending| path.ends_with(ending));
            let text = if is_read { std::fs::read_to_string(entry.path())? } else { String::new() };
            files.push(File::new(&path, text));
        }
    }
    Ok(())
}
