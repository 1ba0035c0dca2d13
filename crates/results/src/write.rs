//! How a record gets to the disk: whole or not at all, under a name that nobody else has.
//! A draft is written and synced beside its place, then renamed to it, never over another file.
//! Called by `cli` at the end of a run, however that end came.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use config::OutputFolder;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::{Builder, TempPath};

use crate::error::shown;
use crate::{Record, ResultsError, Script};

/// Records of one second and one script; more than any machine can run, so a limit against looping.
const ATTEMPTS_MAX: u32 = 10_000;

/// Longer names are cut, so that no file system refuses them and directories stay readable.
const SCRIPT_NAMES_LEN_MAX: usize = 60;

impl Record {
    /// Writes the record as a new file in `dir`, which is created if it is missing, and returns its path,
    /// such as `dir/2026-11-21T120301Z-tpcb-like.json`. Nothing is ever overwritten.
    ///
    /// # Errors
    /// If the directory cannot be made or written; then nothing half-written is left behind.
    pub fn write_into(&self, dir: &Path) -> Result<PathBuf, ResultsError> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let failed = |source| ResultsError::Write { directory: dir.to_owned(), source };
        let folder = OutputFolder::create(dir).map_err(failed)?;
        let place = folder.path();
        let stem = self.file_stem();
        let json = self.to_json();
        let draft = draft(place, &stem, |file| file.write_all(json.as_bytes())).map_err(failed)?;
        let path = publish(draft, place, &stem, rename_to_free_name).map_err(failed)?.ok_or_else(|| {
            ResultsError::Refused(format!(
                "cannot write a record into {}: {ATTEMPTS_MAX} records of that second are there already; choose another \
                 directory",
                shown(dir)
            ))
        })?;
        sync_directory(place).map_err(failed)?;
        Ok(path.file_name().map_or(path.clone(), |name| dir.join(name)))
    }

    /// `2026-11-21T120301Z-tpcb-like`: when, and what.
    fn file_stem(&self) -> String {
        let scripts = script_names(&self.plan.scripts);
        format!("{}-{scripts}", self.started_at.file_name_part())
    }
}

/// The scripts' names as a part of a file name: `tpcb-like+select-only`. Of a path only the file's own
/// name is left, without `.sql`; what may not stand in a file name becomes a hyphen.
fn script_names(scripts: &[Script]) -> String {
    let plain = |script: &Script| -> String {
        let name = Path::new(&script.name).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let name = name.strip_suffix(".sql").unwrap_or(&name);
        let keep = |c: char| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' }
        };
        let name: String = name.chars().map(keep).collect();
        name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let mut names: Vec<String> = scripts.iter().map(plain).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        names.push("run".to_owned());
    }
    let mut names = names.join("+");
    names.truncate(SCRIPT_NAMES_LEN_MAX);
    names
}

/// Writes a result that could not be stored as a new file of the directory for temporary files, which only this user can
/// read; `None` if that fails too.
#[must_use]
pub fn write_copy(json: &str) -> Option<PathBuf> {
    let mut copy = Builder::new().prefix("pgmeter-result-").suffix(".json").tempfile().ok()?;
    copy.write_all(json.as_bytes()).and_then(|()| copy.as_file().sync_all()).ok()?;
    copy.into_temp_path().keep().ok()
}

/// A hidden file with the whole content, on the disk, that has no name of its own yet. Dropped before it is published, it
/// is gone.
fn draft(dir: &Path, stem: &str, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<TempPath> {
    let mut draft = Builder::new().prefix(&format!(".{stem}.")).suffix(".part").tempfile_in(dir)?;
    write(draft.as_file_mut())?;
    draft.as_file().sync_all()?;
    Ok(draft.into_temp_path())
}

/// Gives the draft the first of `stem.json`, `stem-2.json`, … that `rename` finds free; `None` if all are taken.
fn publish(
    draft: TempPath,
    dir: &Path,
    stem: &str,
    rename: fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<Option<PathBuf>> {
    for attempt in 1..=ATTEMPTS_MAX {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        let path = dir.join(format!("{stem}{suffix}.json"));
        match rename(&draft, &path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(()) => {
                // The name is free now, and nobody's to remove.
                let _ = draft.keep();
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

/// How files are made that may hold more of a server than everybody shall know: new, and for their owner alone. The
/// umask can take more away.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
}

/// Renames, or fails with `AlreadyExists` instead of replacing another file.
fn rename_to_free_name(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems (older network ones) cannot do that in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_to_reserved_name(from, to),
        done => done.map_err(io::Error::from),
    }
}

/// The same in two steps: an empty file takes the name, the draft takes its place.
fn rename_to_reserved_name(from: &Path, to: &Path) -> io::Result<()> {
    private().open(to)?;
    fs::rename(from, to).inspect_err(|_| {
        let _ = fs::remove_file(to);
    })
}

/// Makes the new name survive a power cut, where directories can be synced at all.
fn sync_directory(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn draft_of(dir: &Path, content: &str) -> TempPath {
        draft(dir, "run", |file| file.write_all(content.as_bytes())).unwrap()
    }

    #[test]
    fn both_ways_of_renaming_take_the_next_free_name_and_replace_nothing() {
        for rename in [rename_to_free_name, rename_to_reserved_name] {
            let dir = tempfile::tempdir().unwrap();
            let first = publish(draft_of(dir.path(), "first"), dir.path(), "run", rename).unwrap().unwrap();
            let second = publish(draft_of(dir.path(), "second"), dir.path(), "run", rename).unwrap().unwrap();
            assert_eq!(names_in(dir.path()), ["run-2.json", "run.json"]);
            assert_eq!(fs::read_to_string(first).unwrap(), "first");
            assert_eq!(fs::read_to_string(second).unwrap(), "second");
        }
    }

    #[test]
    fn drafts_and_reserved_names_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = tempfile::tempdir().unwrap();
        let draft = draft_of(dir.path(), "secret");
        assert_eq!(mode(&draft), 0o600);
        let path = publish(draft, dir.path(), "run", rename_to_reserved_name).unwrap().unwrap();
        assert_eq!(mode(&path), 0o600);
        let reserved = dir.path().join("reserved");
        private().open(&reserved).unwrap();
        assert_eq!(mode(&reserved), 0o600);
    }

    #[test]
    fn a_disk_that_fills_up_while_writing_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let full = draft(dir.path(), "run", |file| {
            file.write_all(b"half of")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
        assert!(names_in(dir.path()).is_empty());
    }

    #[test]
    fn a_rename_that_fails_leaves_neither_draft_nor_reserved_name() {
        let dir = tempfile::tempdir().unwrap();
        let lost = draft_of(dir.path(), "lost");
        fs::remove_file(&lost).unwrap();
        assert!(publish(lost, dir.path(), "run", rename_to_reserved_name).is_err());
        assert!(names_in(dir.path()).is_empty());
    }

    #[test]
    fn file_names_are_made_of_the_scripts_names() {
        let named = |names: &[&str]| {
            let script = |name: &&str| Script {
                name: name.to_string(),
                description: String::new(),
                builtin: false,
                target: None,
                text: String::new(),
                sha256: None,
                masked: false,
                weight: 1,
                contention: None,
            };
            script_names(&names.iter().map(script).collect::<Vec<_>>())
        };
        assert_eq!(named(&["tpcb-like"]), "tpcb-like");
        assert_eq!(named(&["tpcb-like", "/home/me/My Script v1.2.sql"]), "tpcb-like+my-script-v1.2");
        assert_eq!(named(&["../..", "ünïcode"]), "n-code");
        assert_eq!(named(&[]), "run");
        assert_eq!(named(&["x".repeat(300).as_str()]).len(), SCRIPT_NAMES_LEN_MAX);
    }
}
