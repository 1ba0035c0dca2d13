//! The location of the store and of the records: as given by options, by `PGMETER_STORE`, in the working directory, or
//! in the user's data directory. Used by all commands that store or show results.

use std::path::{Path, PathBuf};

use rustix::fs::Access;

use results::{DEFAULT_STORE, StepsRecord, Store};
use server::Environment;

use crate::error::RunError;

/// The variable that names the store, or its directory.
const VARIABLE: &str = "PGMETER_STORE";
/// The variable for the user's data directory, and its default below the home directory:
/// <https://specifications.freedesktop.org/basedir-spec/latest/>.
const DATA_DIRECTORY: &str = "XDG_DATA_HOME";
const DATA_BELOW_HOME: &str = ".local/share";

/// The database of all runs and the directory of their records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorePlaces {
    store: PathBuf,
    records: PathBuf,
    is_default: bool,
    /// Why this store is used; empty if an option names it.
    reason: String,
}

impl Default for StorePlaces {
    /// In the working directory.
    fn default() -> Self {
        Self { is_default: true, ..Self::at(PathBuf::from(DEFAULT_STORE), None) }
    }
}

impl StorePlaces {
    fn at(store: PathBuf, records: Option<PathBuf>) -> Self {
        let beside = || store.parent().map_or_else(PathBuf::new, Path::to_owned);
        Self { records: records.unwrap_or_else(beside), store, is_default: false, reason: String::new() }
    }

    /// The places for these options. Without options: `PGMETER_STORE`; otherwise `./pgmeter-results` if it exists;
    /// otherwise the user's data directory. As root, `./pgmeter-results` is skipped if another user could change it.
    ///
    /// # Errors
    /// As root: another user could change the place that the environment selects.
    pub fn locate(
        store: Option<&Path>,
        records: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, RunError> {
        let file_name = Path::new(DEFAULT_STORE).file_name().unwrap_or_default();
        if store.is_some() || records.is_some() {
            let in_records = || records.map(|records| records.join(file_name)).unwrap_or_default();
            let path = store.map_or_else(in_records, Store::path_of);
            return Ok(Self::at(path, records.map(Path::to_owned)));
        }
        if let Some(places) = Self::named_by_variable(environment)? {
            return Ok(places);
        }
        let here = Path::new(DEFAULT_STORE);
        let directory = here.parent().unwrap_or(here);
        let barrier = match directory.is_dir() {
            false => None,
            true => match changed_by(directory, environment) {
                None => return Ok(Self::default()),
                Some(reason) => Some(format!("./{} is not used: {reason}", directory.display())),
            },
        };
        let base = environment
            .directory(DATA_DIRECTORY)
            .or_else(|| environment.directory("HOME").map(|home| home.join(DATA_BELOW_HOME)));
        let Some(base) = base else {
            return match barrier {
                None => Ok(Self::default()),
                Some(barrier) => {
                    Err(RunError::Usage(format!("{barrier}; name a store by --store or {VARIABLE}")))
                }
            };
        };
        let path = base.join("pgmeter").join(file_name);
        check(&path, DATA_DIRECTORY, environment)?;
        let reason = barrier.unwrap_or_else(|| format!("the default; --store or {VARIABLE} names another"));
        Ok(Self { is_default: true, reason, ..Self::at(path, None) })
    }

    /// The places that `PGMETER_STORE` names, if it is set.
    ///
    /// # Errors
    /// As root: another user could change them.
    pub fn named_by_variable(environment: &Environment) -> Result<Option<Self>, RunError> {
        let named = environment.variables.get(VARIABLE).filter(|value| !value.is_empty());
        let Some(path) = named.map(|named| Store::path_of(Path::new(named))) else { return Ok(None) };
        check(&path, VARIABLE, environment)?;
        Ok(Some(Self { is_default: true, reason: VARIABLE.to_owned(), ..Self::at(path, None) }))
    }

    /// A line that tells the user which store is used, and why.
    pub fn line(&self) -> String {
        let reason = if self.reason.is_empty() { String::new() } else { format!(" ({})", self.reason) };
        format!("store: {}{reason}", self.store.display())
    }

    /// Path of the database.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Directory of the records: that of the database by default.
    pub fn records(&self) -> &Path {
        &self.records
    }

    /// As root: why a file of the store must not be changed or opened, if another user could change its path.
    #[must_use]
    pub fn distrust(path: &Path, environment: &Environment) -> Option<String> {
        changed_by(path, environment)
    }

    /// Whether later commands find the store without an option.
    pub fn is_default(&self) -> bool {
        self.is_default
    }

    /// Opens or creates the database.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> Result<Store, RunError> {
        Ok(Store::create(&self.store)?)
    }

    /// Adds query sets; returns them with their names, and why they could not be stored. They are returned in any case, to be
    /// shown.
    pub fn add_query_sets(
        &self,
        records: Vec<StepsRecord>,
    ) -> (Vec<(String, StepsRecord)>, Option<RunError>) {
        match self.open().and_then(|mut store| Ok(store.add_query_sets(records.clone())?)) {
            Ok(named) => (named, None),
            Err(error) => {
                let error = RunError::not_stored(error, records.iter().map(StepsRecord::to_json));
                let unnamed = |record| ("query set, not stored".to_owned(), record);
                (records.into_iter().map(unnamed).collect(), Some(error))
            }
        }
    }

    /// Whether the database can be opened or created; creates none.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self) -> Result<(), RunError> {
        let directory = self.store.parent().unwrap_or(Path::new(""));
        match !self.store.exists() && can_be_made(directory) {
            true => Ok(()),
            // Tells the reason.
            false => self.open().map(drop),
        }
    }
}

/// Whether the directory exists, or can be created in one that exists.
fn can_be_made(directory: &Path) -> bool {
    let existing = std::path::absolute(directory)
        .ok()
        .and_then(|path| path.ancestors().find(|ancestor| ancestor.exists()).map(Path::to_owned));
    existing
        .is_some_and(|it| it.is_dir() && rustix::fs::access(&it, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

fn check(path: &Path, variable: &'static str, environment: &Environment) -> Result<(), RunError> {
    match environment.root {
        true => Ok(server::check_directory(&std::path::absolute(path).unwrap_or_default(), variable)?),
        false => Ok(()),
    }
}

/// As root: why the path must not be used.
fn changed_by(directory: &Path, environment: &Environment) -> Option<String> {
    if !environment.root {
        return None;
    }
    match std::path::absolute(directory).and_then(|path| server::changeable(&path)) {
        Ok(None) => None,
        Ok(Some(found)) => Some(format!("user {} could change {}", found.uid, found.place.display())),
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(store: Option<&str>, records: Option<&str>, variables: &[(&str, &str)], expected: (&str, &str)) {
        let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        let environment = Environment { variables, root: false };
        let places = StorePlaces::locate(store.map(Path::new), records.map(Path::new), &environment).unwrap();
        assert_eq!((places.store(), places.records()), (Path::new(expected.0), Path::new(expected.1)));
        assert!(places.line().starts_with(&format!("store: {}", expected.0)), "{}", places.line());
    }

    #[test]
    fn store_and_records_are_together_unless_both_are_named() {
        check(None, Some("there"), &[], ("there/results.sqlite", "there"));
        check(Some("there/my.db"), None, &[], ("there/my.db", "there"));
        check(Some("my.db"), None, &[], ("my.db", ""));
        check(Some("there/"), None, &[], ("there/results.sqlite", "there"));
        check(Some("a/my.db"), Some("b"), &[], ("a/my.db", "b"));
    }

    #[test]
    fn the_environment_names_the_store_unless_an_option_does() {
        let ours = [("PGMETER_STORE", "/s/"), ("HOME", "/h"), ("XDG_DATA_HOME", "/x")];
        check(None, None, &ours, ("/s/results.sqlite", "/s"));
        check(Some("my.db"), None, &ours, ("my.db", ""));
        check(None, None, &[("PGMETER_STORE", "/s/my.db")], ("/s/my.db", "/s"));
        check(None, None, &ours[1..], ("/x/pgmeter/results.sqlite", "/x/pgmeter"));
        let home = [("PGMETER_STORE", ""), ("XDG_DATA_HOME", "relative"), ("HOME", "/h")];
        check(None, None, &home, ("/h/.local/share/pgmeter/results.sqlite", "/h/.local/share/pgmeter"));
        check(None, None, &[], ("pgmeter-results/results.sqlite", "pgmeter-results"));
    }

    /// The check applies to root only, which owns its temporary files.
    #[test]
    #[allow(clippy::print_stderr)]
    fn root_uses_no_store_that_another_user_could_change() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("NOT TESTED: the check is for root");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(base.path(), Some(4711), None).unwrap();
        let path = base.path().join("results");
        let variables = [(VARIABLE.to_owned(), path.clone().into_os_string())].into();
        let environment = Environment { variables, root: true };
        let error = StorePlaces::locate(None, None, &environment).unwrap_err().to_string();
        assert!(error.contains("4711") && error.contains(VARIABLE), "{error}");
        assert!(changed_by(base.path(), &environment).is_some_and(|why| why.contains("user 4711")));
    }
}
