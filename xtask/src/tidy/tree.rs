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
    pub fn at_line(path: &str, line: usize, text: impl Into<String>) -> Problem {
        Problem { path: path.to_owned(), line, text: text.into() }
    }

    /// A problem with a whole file or folder.
    pub fn in_file(path: &str, text: impl Into<String>) -> Problem {
        Problem::at_line(path, 0, text)
    }
}

/// One file. Only Rust, Markdown, TOML, YAML and snapshots are read; of others the path is enough.
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
        let production = if is_test {
            String::new()
        } else {
            source::without_parts(&masked, &source::test_items(&masked))
        };
        File { path: path.to_owned(), text, masked, production }
    }

    /// The crate's folder name, if the file is in one.
    pub fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Lines of Rust that hold more than comments, without tests. A line of a text in quotes counts if it is not blank.
    pub fn product_lines(&self) -> usize {
        if self.production.is_empty() {
            return 0;
        }
        let text = source::without_comments(&self.text);
        source::code_lines(&source::without_parts(&text, &source::test_items(&self.masked)))
    }

    /// The modules in files of their own that stand under `#[cfg(test)]`: their paths, without `.rs`.
    fn test_modules(&self) -> Vec<String> {
        let is_root = ["/lib.rs", "/main.rs", "/mod.rs"].iter().any(|name| self.path.ends_with(name));
        let parent = if is_root { self.path.rsplit_once('/') } else { self.path.rsplit_once('.') };
        let parent = parent.map_or("", |(parent, _)| parent);
        let items = source::test_items(&self.masked).into_iter().map(|item| &self.masked[item]);
        let names =
            items.filter_map(|item| item.strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name));
        names.map(|name| format!("{parent}/{}", name.trim())).collect()
    }
}

/// A file of a test module, or below one, holds test code only.
fn clear_test_modules(files: &mut [File]) {
    let modules: Vec<String> = files.iter().flat_map(File::test_modules).collect();
    let is_of = |path: &str, module: &str| {
        path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    for file in files {
        if modules.iter().any(|module| is_of(&file.path, module)) {
            file.production.clear();
        }
    }
}

/// The repository.
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

/// Folders at the root that hold no source.
const NOT_READ: [&str; 4] = [".git", "dist", "target", "pgmeter-results"];

impl Tree {
    /// Reads everything below `root`.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        clear_test_modules(&mut files);
        Ok(Tree { files })
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub fn from_texts(files: &[(&str, &str)]) -> Tree {
        let mut files: Vec<File> =
            files.iter().map(|(path, text)| File::new(path, (*text).to_owned())).collect();
        clear_test_modules(&mut files);
        Tree { files }
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
            let is_read =
                [".rs", ".md", ".toml", ".yaml", ".snap"].iter().any(|ending| path.ends_with(ending));
            let text = if is_read { std::fs::read_to_string(entry.path())? } else { String::new() };
            files.push(File::new(&path, text));
        }
    }
    Ok(())
}
