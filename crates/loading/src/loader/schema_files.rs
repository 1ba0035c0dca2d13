//! Files that the directives of a schema name, such as `word=names.txt`. They are read from the schema's folder and
//! from the archives of its workload, and nowhere else, unless the caller allows all files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use datagen::{Files, Included, Unreadable};
use rustix::fs::OFlags;

use crate::contract::archives::{self, NamedArchive};
use crate::contract::user_files;

/// Longest file: datagen accepts no longer value.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Longest sum of the files of one pattern: they are all in memory.
const PATTERN_BYTES_MAX: u64 = 256 << 20;

/// Most files of one pattern.
const FILES_MAX: usize = 10_000;

/// Most entries of the directories that one pattern searches.
const ENTRIES_MAX: usize = 1_000_000;

/// The files that a schema may name.
#[derive(Clone, Debug)]
pub struct SchemaFiles {
    folder: PathBuf,
    allow_files: bool,
    /// Their files may be named, too.
    archives: Vec<NamedArchive>,
}

impl SchemaFiles {
    /// Names are relative to `folder`, the schema's. With `allow_files`, they may lead to any regular file.
    pub fn new(folder: &Path, allow_files: bool) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        Self { folder: folder.to_owned(), allow_files, archives: Vec::new() }
    }

    /// The files of these archives may be named, too.
    #[must_use]
    pub fn with_archives(self, archives: &[NamedArchive]) -> Self {
        Self { archives: archives.to_vec(), ..self }
    }

    /// The start of the search and the remaining parts of the pattern. The disk is not read for a refused name.
    fn start<'a>(&self, pattern: &'a str) -> Result<(PathBuf, Vec<&'a str>), String> {
        let archive = archives::containing(&self.archives, pattern);
        let (base, path) = match archive {
            Some((archive, rest)) => (archive.tree(&self.folder.display().to_string())?, Path::new(rest)),
            None => (self.folder.clone(), Path::new(pattern)),
        };
        let outside = || {
            format!(
                "the file {pattern} is outside of the schema's folder; put it there, or allow all files with --allow-files"
            )
        };
        let (start, rest) = if path.is_absolute() {
            let real = self.folder.canonicalize().ok();
            let inside = [Some(self.folder.as_path()), real.as_deref()].into_iter().flatten();
            let inside = inside.filter_map(|folder| path.strip_prefix(folder).ok()).next();
            match inside {
                Some(rest) => (self.folder.clone(), rest),
                None if self.allow_files => (PathBuf::from("/"), path),
                None => return Err(outside()),
            }
        } else {
            (base, path)
        };
        let mut parts = Vec::new();
        for part in rest.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
                Component::ParentDir if self.allow_files => parts.push(".."),
                Component::ParentDir => return Err(outside()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Ok((start, parts))
    }

    /// The paths that the pattern names, sorted.
    fn paths(&self, pattern: &str) -> Result<Vec<PathBuf>, String> {
        let (start, parts) = self.start(pattern)?;
        let mut found = vec![start];
        let mut entries = 0;
        for part in parts {
            if !part.contains(['*', '?']) {
                found.iter_mut().for_each(|path| path.push(part));
                continue;
            }
            let mut matching = Vec::new();
            for folder in &found {
                // A pattern does not match in a directory that cannot be read, or that a link puts outside.
                let Some(listed) = self.is_allowed(folder).then(|| fs::read_dir(folder).ok()).flatten()
                else {
                    continue;
                };
                for entry in listed.flatten() {
                    entries += 1;
                    let name = entry.file_name();
                    let hidden = name.as_encoded_bytes().starts_with(b".") && !part.starts_with('.');
                    if !hidden && name.to_str().is_some_and(|name| matches(part, name)) {
                        matching.push(entry.path());
                    }
                    if entries > ENTRIES_MAX || matching.len() > FILES_MAX {
                        return Err(format!(
                            "{pattern} names more than {FILES_MAX} files, or its folders have more than {ENTRIES_MAX} entries"
                        ));
                    }
                }
            }
            matching.sort();
            found = matching;
        }
        if found.is_empty() {
            return Err(format!("no file matches {pattern} (looked for in {})", self.folder.display()));
        }
        Ok(found)
    }

    /// Whether the path may be read when all its links are followed.
    fn is_allowed(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return self.allow_files };
        let is_in = |folder: &Path| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        let mut trees =
            self.archives.iter().filter_map(|archive| archive.tree(&self.folder.display().to_string()).ok());
        self.allow_files || is_in(&self.folder) || trees.any(|tree| is_in(&tree))
    }

    /// Reads a file that the schema includes.
    ///
    /// # Errors
    /// It is not one text file that may be read.
    pub(crate) fn included(&self, name: &str) -> Result<Included, Unreadable> {
        let paths = self.paths(name);
        let is_outside = |path: &PathBuf| path.exists() && !self.is_allowed(path);
        let is_refused = match &paths {
            Ok(paths) => paths.iter().any(is_outside),
            Err(_) => !self.allow_files && self.start(name).is_err(),
        };
        let read = || {
            let [path] = &paths?[..] else { return Err(format!("{name} names several files")) };
            let mut bytes = Vec::new();
            let read = self.open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
            let file = path.display().to_string();
            read.map_err(|error| format!("cannot read the file {file}: {error}"))?;
            if let Some(sentence) = user_files::not_sql(&file, &bytes) {
                return Err(sentence);
            }
            let text = user_files::sql_text(bytes)
                .map_err(|error| format!("cannot read the file {file}: {error}"))?;
            Ok(Included { file, text })
        };
        read().map_err(|message| Unreadable { message, is_refused })
    }

    /// Opens a regular file. Never waits for a named pipe.
    fn open(&self, path: &Path) -> Result<File, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                // Names outside of the folder are not told.
                let lists = path.parent().is_some_and(|folder| self.is_allowed(folder));
                let similar = lists.then(|| config::similar_file(path)).flatten();
                let hint = similar.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                format!("there is no file {}{hint}", path.display())
            }
            _ => format!("cannot read the file {}: {error}", path.display()),
        };
        let real = path.canonicalize().map_err(failed)?;
        if !self.is_allowed(&real) {
            return Err(format!(
                "the file {} is a link that leads out of the schema's folder; copy the file, or allow all files with --allow-files",
                path.display()
            ));
        }
        // The path has no links any more; one that appears now is refused.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits();
        let flags = i32::try_from(flags).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&real).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(format!("{} is not a regular file, and only such files are read", path.display()));
        }
        Ok(file)
    }
}

impl Files for SchemaFiles {
    fn read(&self, pattern: &str) -> Result<Vec<Vec<u8>>, String> {
        let mut contents = Vec::new();
        let mut total = 0;
        for path in self.paths(pattern)? {
            let mut bytes = Vec::new();
            let read = self.open(&path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
            let length = read.map_err(|error| format!("cannot read the file {}: {error}", path.display()))?;
            total += length as u64;
            if length as u64 > FILE_BYTES_MAX {
                let limit = FILE_BYTES_MAX >> 20;
                return Err(format!("the file {} is larger than {limit} MiB", path.display()));
            }
            if total > PATTERN_BYTES_MAX {
                let limit = PATTERN_BYTES_MAX >> 20;
                return Err(format!("the files of {pattern} are together larger than {limit} MiB"));
            }
            contents.push(bytes);
        }
        Ok(contents)
    }
}

/// Whether the name matches the pattern: `*` is any text, `?` any character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Position behind the last `*`, and the character of the name where its text ends.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                star = Some((at, read));
            }
            Some(wanted) if *wanted == '?' || *wanted == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((behind, end)) = star else { return false };
                star = Some((behind, end + 1));
                (at, read) = (behind, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder `schema` beside a file `secret.txt`.
    fn folders() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("schema");
        fs::create_dir_all(folder.join("words")).unwrap();
        fs::write(root.path().join("secret.txt"), "secret").unwrap();
        fs::write(folder.join("words/b.txt"), "two").unwrap();
        fs::write(folder.join("words/a.txt"), "one").unwrap();
        fs::write(folder.join("words/.hidden.txt"), "hidden").unwrap();
        fs::write(folder.join("words/c.bin"), [0, 255]).unwrap();
        std::os::unix::fs::symlink("../secret.txt", folder.join("out.txt")).unwrap();
        std::os::unix::fs::symlink("words/a.txt", folder.join("in.txt")).unwrap();
        std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
        root
    }

    fn read(root: &tempfile::TempDir, allow_files: bool, pattern: &str) -> Result<Vec<String>, String> {
        let files = SchemaFiles::new(&root.path().join("schema"), allow_files);
        let texts = |found: Vec<Vec<u8>>| {
            found.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
        };
        files.read(pattern).map(texts)
    }

    #[test]
    fn files_of_the_folder_are_read_in_the_order_of_their_names() {
        let root = folders();
        assert_eq!(read(&root, false, "words/a.txt").unwrap(), ["one"]);
        assert_eq!(read(&root, false, "./words/*.txt").unwrap(), ["one", "two"]);
        assert_eq!(read(&root, false, "*/?.txt").unwrap(), ["one", "two"]);
        assert_eq!(read(&root, false, "in.txt").unwrap(), ["one"]);
        let absolute = root.path().join("schema/words/b.txt");
        assert_eq!(read(&root, false, absolute.to_str().unwrap()).unwrap(), ["two"]);
    }

    #[test]
    fn files_outside_are_refused_unless_all_files_are_allowed() {
        let root = folders();
        let secret = root.path().join("secret.txt");
        for pattern in ["../secret.txt", "words/../../secret.txt", secret.to_str().unwrap(), "/no/such/file"]
        {
            let refused = read(&root, false, pattern).unwrap_err();
            assert!(refused.contains("outside of the schema's folder"), "{refused}");
            assert!(refused.contains("--allow-files"), "{refused}");
        }
        for pattern in ["out.txt", "o*.txt", "up/secret.txt"] {
            let refused = read(&root, false, pattern).unwrap_err();
            assert!(refused.contains("leads out of the schema's folder"), "{refused}");
            assert!(refused.contains("--allow-files"), "{refused}");
        }
        for pattern in ["../secret.txt", secret.to_str().unwrap(), "out.txt", "up/secret.txt"] {
            assert_eq!(read(&root, true, pattern).unwrap(), ["secret"], "{pattern}");
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        let root = folders();
        let pipe = root.path().join("schema/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for (allow_files, name) in [(false, "pipe"), (true, "pipe"), (true, "/dev/zero"), (false, "words")] {
            let refused = read(&root, allow_files, name).unwrap_err();
            assert!(refused.contains("is not a regular file"), "{refused}");
        }
    }

    #[test]
    fn a_missing_file_and_a_large_one_are_named() {
        let root = folders();
        assert!(read(&root, false, "none.txt").unwrap_err().ends_with("/none.txt"));
        let similar = read(&root, false, "words/aa.txt").unwrap_err();
        assert!(similar.starts_with("there is no file ") && similar.ends_with("; did you mean a.txt?"));
        let outside = read(&root, false, "up/secre.txt").unwrap_err();
        assert!(outside.ends_with("up/secre.txt"), "names outside of the folder are not told: {outside}");
        assert!(read(&root, false, "up/*.txt").unwrap_err().starts_with("no file matches up/*.txt"));
        assert!(read(&root, false, "*.none").unwrap_err().starts_with("no file matches *.none"));
        let large = File::create(root.path().join("schema/large")).unwrap();
        large.set_len(FILE_BYTES_MAX + 1).unwrap();
        assert!(read(&root, false, "large").unwrap_err().ends_with("is larger than 64 MiB"));
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("?.txt", "é.txt", true),
            ("?", "", false),
            ("*.txt", "a.txt.old", false),
            ("a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
