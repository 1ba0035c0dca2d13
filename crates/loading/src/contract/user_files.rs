//! The location of a user's workload: a directory with a workload.toml, a directory with a schema.sql alone, or a file
//! with a schema. Without a workload.toml, the workload has the name of the directory or the file.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::WorkloadError;
use crate::contract::names::{NAME_LENGTH_MAX, ReservedNames};

/// The file that defines a workload's directory.
pub(crate) const MANIFEST: &str = "workload.toml";

/// Maximum length of a file: SQL that generates rows is short, and the rows themselves do not belong in it.
pub(crate) const FILE_LENGTH_MAX: u64 = 16 << 20;
/// The schema of a workload without load steps.
pub(crate) const SCHEMA: &str = "schema.sql";

/// Location of a workload's files.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Files<'a> {
    /// A directory on disk.
    Folder(&'a Path),
    /// A file with a schema, and no others.
    Schema(&'a Path),
    /// Built in, by name.
    Embedded(&'a [(&'a str, &'a str)]),
}

/// The text of a workload.toml.
pub(crate) struct ManifestText {
    /// Its path; `None` if there is no such file: then the text sets only the name.
    pub(crate) file: Option<PathBuf>,
    pub(crate) text: String,
}

impl ManifestText {
    /// That of the workload in this directory or file. Its name from its path is none of the reserved ones.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(path: &Path, reserved: ReservedNames) -> Result<ManifestText, WorkloadError> {
        let file = path.join(MANIFEST);
        // A link that leads nowhere is an error.
        let is_missing = fs::symlink_metadata(&file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let is_schema_alone = path.is_file() || (is_missing && path.join(SCHEMA).is_file());
        if is_schema_alone {
            return Ok(ManifestText { file: None, text: format!("name = \"{}\"", name_of(path, reserved)) });
        }
        let archive = path.join("toc.dat");
        if is_missing && archive.is_file() {
            let (shown, word) = (path.display(), config::shell_word(&path.display().to_string()));
            return Err(WorkloadError::UnlistedFile(format!(
                "{shown} is not a workload but an archive of pg_dump: use `pg_restore -f - {word} > schema.sql`"
            )));
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

/// Beginnings of files that are not SQL, and the command that makes SQL of them.
const FORMATS: [(&[u8], &str, &str); 6] = [
    (b"PGDMP", "an archive of pg_dump", "pg_restore -f - FILE > schema.sql"),
    (b"\x1f\x8b", "a file of gzip", "gunzip < FILE > schema.sql"),
    (b"\x28\xb5\x2f\xfd", "a file of zstd", "zstd -d < FILE > schema.sql"),
    (b"\xfd7zXZ", "a file of xz", "xz -d < FILE > schema.sql"),
    (b"\xff\xfe", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > schema.sql"),
    (b"\xfe\xff", "text in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > schema.sql"),
];
/// Where archives of `pg_dump --format=tar` have these bytes.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// Bytes that show what a file is.
const HEAD_LENGTH: u64 = 8000;

/// A sentence about a file with this beginning, if it is not SQL.
pub(crate) fn not_sql(file: &str, head: &[u8]) -> Option<String> {
    let word = config::shell_word(file);
    let sentence = |is: &str, command: &str| {
        Some(format!("{file} is not SQL but {is}: use `{}`", command.replace("FILE", &word)))
    };
    if let Some((_, is, command)) = FORMATS.iter().find(|(beginning, ..)| head.starts_with(beginning)) {
        return sentence(is, command);
    }
    if head.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1)) {
        return sentence("an archive of tar or of pg_dump", FORMATS[0].2);
    }
    let is_binary = head.contains(&0);
    is_binary
        .then(|| format!("{file} is not SQL but a binary file: give a file with CREATE TABLE statements"))
}

/// The same of a file on disk. One that cannot be read is no other format.
pub(crate) fn not_sql_file(file: &str) -> Option<String> {
    let mut head = Vec::new();
    let opened = config::open_regular(Path::new(file)).ok()?;
    opened.take(HEAD_LENGTH).read_to_end(&mut head).ok()?;
    not_sql(file, &head)
}

/// The text of a file with SQL. Statements are sent to the server in UTF-8; a file that sets the client's encoding to
/// LATIN1 is converted.
///
/// # Errors
/// It is in another encoding.
pub(crate) fn sql_text(bytes: Vec<u8>) -> io::Result<String> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let mut text: String = bytes.into_iter().map(char::from).collect();
    let Some(latin1) = latin1_setting(&text) else {
        return Err(io::Error::other(
            "it is not UTF-8 text: convert it with `iconv -f ENCODING -t UTF-8`, and write SET client_encoding = 'UTF8'",
        ));
    };
    text.replace_range(latin1, "UTF8");
    Ok(text)
}

/// Where the value LATIN1 of client_encoding stands, if it is set at all.
fn latin1_setting(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let start = lower.find("client_encoding")?;
    let value = &lower[start..start + lower[start..].find([';', '\n']).unwrap_or(lower.len() - start)];
    let value_start = start + value.find("latin1")?;
    let end = value_start + "latin1".len();
    // LATIN10 is another one.
    (!lower[end..].starts_with(|next: char| next.is_ascii_digit())).then_some(value_start..end)
}

/// A workload's name from that of its directory or file.
fn name_of(path: &Path, reserved: ReservedNames) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let last = if whole.is_file() { whole.file_stem() } else { whole.file_name() };
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = last.unwrap_or_default().to_string_lossy().chars().map(plain).collect();
    let mut name: String = name.chars().take(NAME_LENGTH_MAX).collect();
    if name.is_empty() {
        name.push_str("schema");
    }
    if reserved.has(&name) {
        // Names of built-in workloads are short.
        name.push_str("_schema");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_sql_is_named_with_the_command_that_makes_sql_of_it() {
        let tar = [&[b'a'; 257][..], b"ustar"].concat();
        for (head, expected) in [
            (&b"PGDMP\x01\x0e"[..], "an archive of pg_dump: use `pg_restore -f - s > schema.sql`"),
            (&tar, "an archive of tar or of pg_dump: use `pg_restore -f - s > schema.sql`"),
            (b"\x1f\x8b\x08", "a file of gzip: use `gunzip < s > schema.sql`"),
            (b"\xff\xfeC\0", "text in UTF-16: use `iconv -f UTF-16 -t UTF-8 s > schema.sql`"),
            (b"ELF\0\x01", "a binary file: give a file with CREATE TABLE statements"),
        ] {
            assert_eq!(not_sql("s", head), Some(format!("s is not SQL but {expected}")));
        }
        assert_eq!(not_sql("s", "\u{feff}-- Größe\ncreate table a (b int);".as_bytes()), None);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("toc.dat"), "PGDMP").unwrap();
        let refused =
            ManifestText::read(folder.path(), ReservedNames::NONE).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|error| error.contains("pg_restore -f - ")));
    }

    #[test]
    fn a_file_in_latin1_is_converted_and_other_encodings_are_refused() {
        let text = |bytes: &[u8]| sql_text(bytes.to_vec()).map_err(|error| error.to_string());
        assert_eq!(text("select 'ä'".as_bytes()), Ok("select 'ä'".to_owned()));
        let latin1 = b"SET client_encoding = 'LATIN1';\nselect 'latin1 \xe4';\n";
        let converted = "SET client_encoding = 'UTF8';\nselect 'latin1 ä';\n";
        assert_eq!(text(latin1), Ok(converted.to_owned()));
        let latin10 = b"set client_encoding = latin10;\n-- \xe4";
        for other in [&b"set client_encoding to win1251;\n-- latin1 \xe4"[..], latin10, b"select '\xe4'"] {
            assert!(text(other).is_err_and(|error| error.contains("iconv -f ENCODING -t UTF-8")));
        }
    }

    #[test]
    fn a_name_is_that_of_the_directory_or_the_file() {
        let root = tempfile::tempdir().unwrap();
        for (path, expected) in [
            ("shop", "shop"),
            ("built", "built_schema"),
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
            let read = ManifestText::read(&path, ReservedNames(|name| name == "built")).unwrap();
            assert_eq!((read.file, read.text), (None, format!("name = \"{expected}\"")));
        }
    }

    #[test]
    fn a_directory_without_a_schema_needs_a_workload_toml() {
        let root = tempfile::tempdir().unwrap();
        let refused =
            || ManifestText::read(root.path(), ReservedNames::NONE).err().map(|error| error.to_string());
        assert!(refused().is_some_and(|error| error.contains("workload.toml")));
        fs::write(root.path().join(SCHEMA), "create table a (b int);").unwrap();
        assert_eq!(refused(), None);
        std::os::unix::fs::symlink("nowhere", root.path().join(MANIFEST)).unwrap();
        assert!(refused().is_some_and(|error| error.contains("workload.toml")), "it is not ignored");
    }
}
