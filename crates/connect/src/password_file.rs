//! The password file, usually `~/.pgpass`: lines of `host:port:database:user:password`. Read by `resolve`. A file with
//! permissions for others is not used; the reason becomes part of the message about a missing password.
//!
//! Manual: libpq, "The Password File".

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use wire::Password;

use crate::regular_file;

/// Maximum size; no password file written by hand is larger.
const LENGTH_MAX: u64 = 16 * 1024 * 1024;

/// The lines of a password file.
#[derive(Default)]
pub(crate) struct PasswordFile {
    content: Vec<u8>,
}

/// Why a password file is not used.
#[derive(Debug)]
pub(crate) struct Unused {
    /// A clause for pgmeter's messages.
    pub(crate) reason: String,
    /// libpq's warning for this reason, if it has one.
    pub(crate) warning: Option<String>,
}

impl Unused {
    fn silently(reason: String) -> Unused {
        Unused { reason, warning: None }
    }
}

/// The keys of a search.
pub(crate) struct Entry<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

impl PasswordFile {
    /// Reads a file. Only an explicitly given file must exist.
    pub(crate) fn read(path: &Path, is_named: bool) -> Result<PasswordFile, Unused> {
        let shown = path.display();
        let unreadable = |error: io::Error| {
            Unused::silently(format!("the password file {shown} cannot be read ({error})"))
        };
        let (file, metadata) = match regular_file::open(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => {
                return Ok(PasswordFile::default());
            }
            Err(error) => return Err(unreadable(error)),
        };
        if !metadata.is_file() {
            return Err(Unused {
                reason: format!("the password file {shown} is not a plain file"),
                warning: Some(format!("WARNING: password file \"{shown}\" is not a plain file")),
            });
        }
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Unused {
                reason: format!(
                    "the password file {shown} was not used, because other users can read it (mode {mode:04o}; \
                     fix this with \"chmod 600 {shown}\")"
                ),
                warning: Some(format!(
                    "WARNING: password file \"{shown}\" has group or world access; permissions should be u=rw \
                     (0600) or less"
                )),
            });
        }
        if metadata.len() > LENGTH_MAX {
            let reason = format!("the password file {shown} was not used, because it is larger than 16 MiB");
            return Err(Unused::silently(reason));
        }
        let mut content = Vec::new();
        file.take(LENGTH_MAX).read_to_end(&mut content).map_err(unreadable)?;
        Ok(PasswordFile { content: without_nul(&content) })
    }

    /// The password of the first matching line; an empty one counts as none.
    pub(crate) fn find(&self, entry: &Entry<'_>) -> Option<Password> {
        let lines = self.content.split(|&byte| byte == b'\n');
        lines
            .filter(|line| !line.starts_with(b"#"))
            .find_map(|line| password(line, entry))
            .filter(|found| !found.is_empty())
    }
}

/// The content as libpq reads it: a NUL ends what it sees of a line, and with the newline gone, the next line continues it.
fn without_nul(content: &[u8]) -> Vec<u8> {
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| line.split(|byte| *byte == 0).next().unwrap_or_default()).copied().collect()
}

/// The password of this line, if its four fields match, by libpq's `passwordFromFile`.
fn password(line: &[u8], entry: &Entry<'_>) -> Option<Password> {
    let end = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    let port = entry.port.to_string();
    let rest = [entry.host, &port, entry.database, entry.user]
        .iter()
        .try_fold(&line[..end], |rest, wanted| after_field(rest, wanted.as_bytes()))?;
    Some(Password::new(without_escapes(rest)))
}

/// The rest of the line, if its first field is `*` or `wanted`. As libpq's `pwdfMatchesString` compares byte by byte, a colon
/// that `wanted` has at the same place needs no escape: `::1:5432:…` is for the host `::1`.
fn after_field<'l>(line: &'l [u8], wanted: &[u8]) -> Option<&'l [u8]> {
    if let Some(rest) = line.strip_prefix(b"*:") {
        return Some(rest);
    }
    let (mut at, mut wanted) = (0, wanted.iter());
    loop {
        let byte = *line.get(at)?;
        if byte == b':' && wanted.len() == 0 {
            return Some(&line[at + 1..]);
        }
        at += usize::from(byte == b'\\');
        // An escape at the end of the line fits nothing.
        if line.get(at)? != wanted.next()? {
            return None;
        }
        at += 1;
    }
}

/// The last field, up to a colon, without backslash escapes.
fn without_escapes(field: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut at = 0;
    while let Some(&byte) = field.get(at).filter(|byte| **byte != b':') {
        let escaped = field.get(at + 1).filter(|_| byte == b'\\');
        at += usize::from(escaped.is_some());
        value.push(*escaped.unwrap_or(&byte));
        at += 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn find(content: &str, host: &str, port: u16, database: &str, user: &str) -> Option<String> {
        let file = PasswordFile { content: content.as_bytes().to_vec() };
        let found = file.find(&Entry { host, port, database, user })?;
        Some(String::from_utf8(found.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_first_line_that_fits_gives_the_password() {
        let content = "# comment:*:*:*:no\n\
            \n\
            too:few:fields\n\
            db1:5432:bench:alice:first\n\
            db1:*:*:alice:second\r\n\
            *:*:*:bob:with:colon\n\
            *:*:*:carol:\n\
            *:*:*:*:last";
        let check = |host, port, database, user, expected: Option<&str>| {
            assert_eq!(find(content, host, port, database, user).as_deref(), expected);
        };
        check("db1", 5432, "bench", "alice", Some("first"));
        check("db1", 5433, "bench", "alice", Some("second"));
        check("db2", 5432, "bench", "bob", Some("with"));
        check("db2", 5432, "bench", "dave", Some("last"));
        check("comment", 1, "x", "carol", None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(find(r"\:\:1:1:a\\b:u:p\:w\\d", "::1", 1, r"a\b", "u").as_deref(), Some(r"p:w\d"));
        assert_eq!(find(r"h:1:d:u:p\", "h", 1, "d", "u").as_deref(), Some(r"p\"));
        assert_eq!(find(r"\*:1:d:u:p", "h", 1, "d", "u"), None, "an escaped star is a star");
        assert_eq!(find(r"\*:1:d:u:p", "*", 1, "d", "u").as_deref(), Some("p"));
        assert_eq!(find("*x:1:d:u:p", "h", 1, "d", "u"), None, "a star stands alone");
        assert_eq!(find("::1:1:d:u:p", "::1", 1, "d", "u").as_deref(), Some("p"), "as in libpq");
        assert_eq!(find("::1:1:d:u:p", ":", 1, "d", "u"), None);
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let Unused { reason, warning } = PasswordFile::read(&path, false).err().unwrap();
            assert!(reason.contains(&format!("mode {mode:04o}")) && reason.contains("chmod 600"), "{reason}");
            let expected = format!(
                "WARNING: password file \"{}\" has group or world access; permissions should be u=rw (0600) or less",
                path.display()
            );
            assert_eq!(warning, Some(expected), "libpq's words");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let file = PasswordFile::read(&path, false).ok().unwrap();
        assert!(file.find(&Entry { host: "h", port: 1, database: "d", user: "u" }).is_some());
    }

    #[test]
    fn a_missing_file_matters_only_if_it_was_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nowhere");
        assert!(PasswordFile::read(&path, false).is_ok());
        let missing = PasswordFile::read(&path, true).err().unwrap();
        assert!(missing.reason.contains("cannot be read") && missing.warning.is_none(), "{missing:?}");
        let folder = PasswordFile::read(directory.path(), true).err().unwrap();
        assert!(folder.reason.contains("not a plain file"), "{folder:?}");
        assert!(folder.warning.unwrap().ends_with("\" is not a plain file"));
    }
}
