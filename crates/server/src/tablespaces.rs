//! Tablespaces of an embedded server: a private directory for each, next to its data or on another disk, removed with
//! the server. Used by `running`, and by everything that removes a server.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use connect::Session;
use connect::quote::{identifier, literal};
use serde::{Deserialize, Serialize};

use crate::ServerError;
use crate::account::Account;

/// Prefix of the private directories in other places.
const PREFIX: &str = "pgmeter-tablespace-";

/// A tablespace and the location of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tablespace {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
}

impl Tablespace {
    /// Its name, and the directory in which its private one was created; `None` if that is next to the data.
    pub(crate) fn wanted(&self) -> (String, Option<PathBuf>) {
        let name = self.directory.file_name().unwrap_or_default();
        let elsewhere = name.as_bytes().starts_with(PREFIX.as_bytes());
        (self.name.clone(), self.directory.parent().filter(|_| elsewhere).map(Path::to_owned))
    }
}

/// Creates the directories: next to the data, or in the given directories.
pub(crate) fn make_directories(
    wanted: &[(String, Option<PathBuf>)],
    home: &Path,
    account: &Account,
) -> Result<Vec<Tablespace>, ServerError> {
    let mut made = Vec::new();
    for (name, place) in wanted {
        match make_directory(made.len(), place.as_deref(), home, account) {
            Ok(directory) => made.push(Tablespace { name: name.clone(), directory }),
            Err(error) => {
                made.iter().try_for_each(remove_directory)?;
                return Err(error);
            }
        }
    }
    Ok(made)
}

fn make_directory(
    number: usize,
    place: Option<&Path>,
    home: &Path,
    account: &Account,
) -> Result<PathBuf, ServerError> {
    let directory = match place {
        None => {
            let beside = home.join(format!("tablespace-{number}"));
            let made = DirBuilder::new().mode(0o700).create(&beside);
            made.map_err(ServerError::io("create the directory", &beside))?;
            beside
        }
        Some(place) => {
            if let Some(barrier) = account.barrier(place) {
                return Err(ServerError::OutOfReach {
                    user: account.name.clone(),
                    path: place.to_owned(),
                    barrier,
                    way_out: "put the tablespace elsewhere",
                });
            }
            let closed = Permissions::from_mode(0o700);
            let made = tempfile::Builder::new().prefix(PREFIX).permissions(closed).tempdir_in(place);
            made.map_err(ServerError::io("create a directory for a tablespace in", place))?.keep()
        }
    };
    let given = account.give_directory(&directory);
    given.and_then(|()| directory.canonicalize().map_err(ServerError::io("find", &directory)))
}

/// Creates the tablespaces in the running server.
pub(crate) fn create(tablespaces: &[Tablespace], session: &mut Session) -> Result<(), ServerError> {
    for Tablespace { name, directory } in tablespaces {
        let (name_quoted, place) = (identifier(name), literal(&directory.display().to_string()));
        let statement = format!("CREATE TABLESPACE {name_quoted} LOCATION {place}");
        session
            .execute(&statement)
            .map_err(|error| ServerError::Tablespace { name: name.clone(), reason: error.to_string() })?;
    }
    Ok(())
}

/// Removes the directory if pgmeter created it; the stored path may have been changed. Directories next to the data
/// are removed with the data.
pub(crate) fn remove_directory(tablespace: &Tablespace) -> Result<(), ServerError> {
    let directory = &tablespace.directory;
    let name = directory.file_name().unwrap_or_default();
    if !name.as_bytes().starts_with(PREFIX.as_bytes()) || !directory.exists() {
        return Ok(());
    }
    fs::remove_dir_all(directory).map_err(ServerError::io("remove", directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_ours_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| Tablespace { name: "x".to_owned(), directory: base.path().join(name) };
        let (ours, theirs) = (at("pgmeter-tablespace-1"), at("precious"));
        for tablespace in [&ours, &theirs] {
            fs::create_dir(&tablespace.directory).unwrap();
            remove_directory(tablespace).unwrap();
        }
        assert!(!ours.directory.exists() && theirs.directory.exists());
        remove_directory(&ours).unwrap();
    }
}
