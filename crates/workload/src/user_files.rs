//! Where the workload of a user is: a directory with a workload.toml, a directory with a schema.sql alone, or a file with
//! a schema. What has no workload.toml takes its name from the directory or the file.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::manifest::{FILE_LENGTH_MAX, Files, MANIFEST, NAME_LENGTH_MAX, SCHEMA};
use crate::{WorkloadError, registry};

/// The text of a workload.toml.
pub(crate) struct ManifestText {
    /// Its path; `None` if there is no such file: then the text sets only the name.
    pub(crate) file: Option<PathBuf>,
    pub(crate) text: String,
}

impl ManifestText {
    /// That of the workload in this directory or file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(path: &Path) -> Result<ManifestText, WorkloadError> {
        let file = path.join(MANIFEST);
        // A link that leads nowhere is an error.
        let is_missing = fs::symlink_metadata(&file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let is_schema_alone = path.is_file() || (is_missing && path.join(SCHEMA).is_file());
        if is_schema_alone {
            return Ok(ManifestText { file: None, text: format!("name = \"{}\"", name_of(path)) });
        }
        let unreadable = |source| WorkloadError::Read { file: file.display().to_string(), source };
        let text = config::text_of(&file, FILE_LENGTH_MAX).map_err(unreadable)?;
        Ok(ManifestText { file: Some(file), text })
    }
}

/// The files of a workload in this directory or file.
pub(crate) fn files_of(path: &Path) -> Files<'_> {
    if path.is_file() { Files::Schema(path) } else { Files::Folder(path) }
}

/// The directory of files that directives name.
pub(crate) fn directory_of(path: &Path) -> &Path {
    if path.is_file() { path.parent().unwrap_or(Path::new("")) } else { path }
}

/// Whether a file was written by `pg_dump --format=custom`.
pub(crate) fn is_archive_of_pg_dump(path: &Path) -> bool {
    const MAGIC: &[u8] = b"PGDMP";
    let mut first = [0; MAGIC.len()];
    let read = config::open_regular(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == MAGIC
}

/// A workload's name from that of its directory or file.
fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let last = if whole.is_file() { whole.file_stem() } else { whole.file_name() };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = last.unwrap_or_default().to_string_lossy().chars().map(plain).collect();
    let mut name: String = name.chars().take(NAME_LENGTH_MAX).collect();
    if name.is_empty() {
        name.push_str("schema");
    }
    if !registry::is_free(&name) {
        // Names of built-in workloads are short.
        name.push_str("_schema");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_the_directory_or_the_file() {
        let root = tempfile::tempdir().unwrap();
        for (path, expected) in [
            ("shop", "shop"),
            ("tpcb", "tpcb_schema"),
            ("Größe 1", "Gr__e_1"),
            ("structure.sql", "structure"),
            (&"a".repeat(70), &"a".repeat(63)),
        ] {
            let path = root.path().join(path);
            if path.extension().is_some() {
                fs::write(&path, "create table a (b int);").unwrap();
            } else {
                fs::create_dir(&path).unwrap();
                fs::write(path.join(SCHEMA), "create table a (b int);").unwrap();
            }
            let read = ManifestText::read(&path).unwrap();
            assert_eq!((read.file, read.text), (None, format!("name = \"{expected}\"")));
        }
    }

    #[test]
    fn a_directory_without_a_schema_needs_a_workload_toml() {
        let root = tempfile::tempdir().unwrap();
        let refused = || ManifestText::read(root.path()).err().map(|error| error.to_string());
        assert!(refused().is_some_and(|error| error.contains("workload.toml")));
        fs::write(root.path().join(SCHEMA), "create table a (b int);").unwrap();
        assert_eq!(refused(), None);
        std::os::unix::fs::symlink("nowhere", root.path().join(MANIFEST)).unwrap();
        assert!(refused().is_some_and(|error| error.contains("workload.toml")), "it is not ignored");
    }
}
