//! Archives that a workload.toml names, such as published lists of words or texts of queries. `pgmeter workload prepare`
//! unpacks them; then their files are used as if they were in the workload's directory, under the archive's name.

use std::path::{Path, PathBuf};

use config::{Complaint, Node, Table};
use server::{Archive, FetchProgress, ServerError};

use crate::WorkloadError;
use crate::contract::names::{ReservedNames, short_name};
use crate::contract::user_files::ManifestText;

const KEYS: [&str; 5] = ["name", "file", "url", "sha256", "only"];

/// An archive with the name of its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedArchive {
    /// The first part of the paths of its files.
    pub name: String,
    /// The file, its source and its checksum.
    pub archive: Archive,
}

impl NamedArchive {
    /// The directory of its unpacked files, or a sentence. `place` is the workload's name on the command line.
    pub fn tree(&self, place: &str) -> Result<PathBuf, String> {
        match self.archive.unpacked() {
            Ok(Some(tree)) => Ok(tree),
            Ok(None) => Err(format!(
                "the archive {} is not unpacked (SHA-256 {}): run `pgmeter workload prepare {place}`",
                self.archive.file,
                self.archive.checksum.digits()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether `pgmeter workload prepare` has unpacked it.
    pub fn is_unpacked(&self) -> bool {
        matches!(self.archive.unpacked(), Ok(Some(_)))
    }

    /// `words: words.tar.gz, unpacked`
    pub fn state(&self) -> String {
        let state =
            if self.is_unpacked() { "unpacked" } else { "not unpacked: run `pgmeter workload prepare`" };
        format!("{}: {}, {state}", self.name, self.archive.file)
    }
}

/// The archive that contains the file of this path, and the path in the archive.
pub(crate) fn containing<'a, 'p>(
    archives: &'a [NamedArchive],
    path: &'p str,
) -> Option<(&'a NamedArchive, &'p str)> {
    let (first, rest) = path.strip_prefix("./").unwrap_or(path).split_once('/')?;
    Some((archives.iter().find(|archive| archive.name == first)?, rest))
}

/// The list `archives` of a workload.toml. `folder` is its directory.
pub(crate) fn read(nodes: Vec<Node>, folder: Option<&Path>) -> Result<Vec<NamedArchive>, Complaint> {
    let mut archives: Vec<NamedArchive> = Vec::new();
    for node in nodes {
        let at = node.place;
        let mut table = node.into_table()?;
        table.check_keys("an archive", &KEYS)?;
        let needed = |key: &str, example: &str| {
            Complaint::at(at, format!("an archive requires {key} = \"{example}\""))
        };
        let file = table.read("file", file_name)?.ok_or_else(|| needed("file", "words.tar.gz"))?;
        let checksum = table.read("sha256", checksum)?;
        let checksum =
            checksum.ok_or_else(|| needed("sha256", "…\", the checksum of the file: \"sha256sum"))?;
        let url = table.read("url", url)?;
        let only = table.list("only")?.iter().map(path_start).collect::<Result<_, _>>()?;
        let name = table.read("name", short_name)?.ok_or_else(|| needed("name", "words"))?;
        let taken = |by: &str| Complaint::at(at, format!("{by} is called {name}, too: choose another name"));
        if folder.is_some_and(|folder| folder.join(&name).exists()) {
            return Err(taken("a file or directory of the workload"));
        }
        if archives.iter().any(|archive| archive.name == name) {
            return Err(taken("another archive"));
        }
        archives.push(NamedArchive { name, archive: Archive { file, url, checksum, only } });
    }
    Ok(archives)
}

fn file_name(node: &Node) -> Result<String, Complaint> {
    let text = node.text()?;
    let is_name = Path::new(text).file_name().is_some_and(|name| name == text);
    if is_name { Ok(text.to_owned()) } else { Err(node.expected("the name of a file, without a directory")) }
}

fn path_start(node: &Node) -> Result<String, Complaint> {
    let text = node.text()?;
    if text.is_empty() {
        Err(node.expected("the beginning of a path in the archive"))
    } else {
        Ok(text.to_owned())
    }
}

fn checksum(node: &Node) -> Result<server::Checksum, Complaint> {
    node.text()?.parse().map_err(|_| node.expected("a SHA-256 checksum of 64 hexadecimal digits"))
}

fn url(node: &Node) -> Result<String, Complaint> {
    let text = node.text()?;
    let is_url = text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_url && is_plain {
        Ok(text.to_owned())
    } else {
        Err(node.expected("an address that begins with https://"))
    }
}

/// The archives of a directory's workload.toml. Other keys are not read: they may name files of an archive that is not
/// unpacked yet.
fn of_folder(folder: &Path) -> Result<Vec<NamedArchive>, WorkloadError> {
    let ManifestText { file, text } = ManifestText::read(folder, ReservedNames::NONE)?;
    let file = file.unwrap_or_else(|| folder.to_owned()).display().to_string();
    let archives = |mut top: Table| read(top.list("archives")?, Some(folder));
    Ok(config::read(&text).and_then(archives).map_err(|complaint| complaint.in_file(&file))?)
}

/// Unpacks the archives of a directory, and says what was done.
pub fn prepare(folder: &Path, say: &mut dyn FnMut(&str)) -> Result<(), WorkloadError> {
    unpack_all(&of_folder(folder)?, &folder.display().to_string(), folder, say)
}

/// Unpacks archives, and says what was done. Files in `folder` are used before those from the network.
pub fn unpack_all(
    archives: &[NamedArchive],
    place: &str,
    folder: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), WorkloadError> {
    if archives.is_empty() {
        say(&format!("{place}: nothing to prepare"));
    }
    for NamedArchive { name, archive } in archives {
        let (tree, done) = match archive.unpacked()? {
            Some(tree) => (tree, "was unpacked before"),
            None => (unpack(archive, folder, say)?, "unpacked"),
        };
        say(&format!("{}: {done}; its files are {name}/… ({})", archive.file, tree.display()));
    }
    Ok(())
}

fn unpack(archive: &Archive, folder: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, ServerError> {
    archive.unpack(folder, &mut |progress| match &progress {
        FetchProgress::Downloading { bytes: 0, total: None, .. } | FetchProgress::Waiting => {
            say(&format!("{progress} …"));
        }
        _ => {}
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn archives(text: &str) -> Result<Vec<NamedArchive>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("queries")).unwrap();
        let read = config::read(text).and_then(|mut top| read(top.list("archives")?, Some(folder.path())));
        read.map_err(|complaint| complaint.in_file("workload.toml").to_string())
    }

    #[test]
    fn an_archive_has_a_name_a_file_and_a_checksum() {
        let text = format!("[[archives]]\nname = \"words\"\nfile = \"words.tar.gz\"\nsha256 = \"{SUM}\"\n");
        let read = archives(&text).expect("it is sound");
        assert_eq!((read[0].name.as_str(), read[0].archive.file.as_str()), ("words", "words.tar.gz"));
        assert_eq!((&read[0].archive.url, read[0].archive.only.len()), (&None, 0));
        let inside = |path| containing(&read, path).map(|(archive, rest)| (archive.name.as_str(), rest));
        assert_eq!(inside("words/en/a.txt"), Some(("words", "en/a.txt")));
        assert_eq!(inside("./words/a.txt"), Some(("words", "a.txt")));
        assert_eq!(inside("words"), None);
        assert_eq!(inside("other/a.txt"), None);
    }

    #[test]
    fn errors_name_the_key_and_an_example() {
        let archive = |keys: &str| archives(&format!("[[archives]]\n{keys}\n")).expect_err(keys);
        let sum = format!("sha256 = \"{SUM}\"");
        for (keys, sentence) in [
            ("name = \"w\"".to_owned(), "an archive requires file = \"words.tar.gz\""),
            ("name = \"w\"\nfile = \"w.tar\"".to_owned(), "an archive requires sha256"),
            (format!("file = \"w.tar\"\n{sum}"), "an archive requires name = \"words\""),
            (
                format!("name = \"queries\"\nfile = \"w.tar\"\n{sum}"),
                "of the workload is called queries, too",
            ),
            (format!("name = \"w\"\nfile = \"../w.tar\"\n{sum}"), "without a directory"),
            (format!("name = \"w\"\nfile = \"w.tar\"\nurl = \"http://x\"\n{sum}"), "begins with https://"),
            ("name = \"w\"\nfile = \"w.tar\"\nsha256 = \"12\"".to_owned(), "64 hexadecimal digits"),
            (
                format!("name = \"w\"\nfile = \"w.tar\"\n{sum}\nonly = [\"\"]"),
                "expected the beginning of a path in the archive",
            ),
            (format!("nam = \"w\"\nfile = \"w.tar\"\n{sum}"), "name"),
        ] {
            let error = archive(&keys);
            assert!(error.starts_with("workload.toml:") && error.contains(sentence), "{error}");
        }
    }
}
