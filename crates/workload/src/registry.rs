//! The selection of a workload by its name or by a user's directory. `shelf` has the built-in ones, whose names are reserved.
//! Callers keep a name, and open the workload when they need it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use loading::contract::archives;
use loading::contract::names::ReservedNames;

use crate::shelf::{self, BUILT_IN};
use crate::{Folder, Workload, WorkloadError};

/// The name for no workload in an experiment.
const NO_WORKLOAD: &str = "none";

/// The names that workloads of users may not have.
pub(crate) const RESERVED: ReservedNames =
    ReservedNames(|name| name == NO_WORKLOAD || shelf::find(name).is_some());

/// Reads a directory with all its files, or a file with a schema.
///
/// # Errors
/// A file cannot be read or is invalid; the error contains the position.
pub fn read_folder(folder: &Path) -> Result<Folder, WorkloadError> {
    Folder::read(folder, RESERVED)
}

/// The name of a workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub enum WorkloadName {
    /// A built-in workload.
    Shipped(&'static str),
    /// A directory with a workload.toml or a schema.sql, or a file with a schema.
    Folder(PathBuf),
}

impl Default for WorkloadName {
    fn default() -> Self {
        WorkloadName::Shipped(BUILT_IN[0].name)
    }
}

impl WorkloadName {
    /// Names of the built-in workloads.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|own| own.name)
    }

    /// Their descriptions.
    pub fn about() -> impl Iterator<Item = (&'static str, &'static str)> {
        BUILT_IN.iter().map(|own| (own.name, own.about))
    }

    /// Unpacks the archives of a workload, and says what was done.
    ///
    /// # Errors
    /// An archive is missing, has a wrong checksum or cannot be unpacked.
    pub fn prepare(&self, say: &mut dyn FnMut(&str)) -> Result<(), WorkloadError> {
        match self {
            WorkloadName::Folder(folder) => archives::prepare(folder, say),
            // An archive in the current directory is used before one from the network.
            WorkloadName::Shipped(name) => {
                archives::unpack_all(self.open()?.archives(), name, Path::new(""), say)
            }
        }
    }

    /// Finds a workload by name, directory or schema, relative to `base`. The directory is not read yet.
    ///
    /// # Errors
    /// It is neither a name nor a directory or file.
    pub fn find(text: &str, base: &Path) -> Result<WorkloadName, WorkloadError> {
        if let Some(own) = shelf::find(text) {
            return Ok(WorkloadName::Shipped(own.name));
        }
        let folder = base.join(text);
        if !text.is_empty() && (folder.is_dir() || folder.is_file()) {
            return Ok(WorkloadName::Folder(folder));
        }
        if text == "-" || folder.exists() {
            let message =
                format!("{text} is no regular file: write the schema to a file, and name this file");
            return Err(WorkloadError::UnlistedFile(message));
        }
        let known: Vec<&str> = Self::shipped().collect();
        Err(unknown(text, config::nearest(text, &known)))
    }

    /// The workload of a stored experiment: built-in, or a directory that may no longer exist.
    pub fn stored(name: &str) -> WorkloadName {
        let shipped = shelf::find(name);
        shipped.map_or_else(|| WorkloadName::Folder(name.into()), |own| WorkloadName::Shipped(own.name))
    }

    /// Reads the workload.
    ///
    /// # Errors
    /// A file of the directory cannot be read or is invalid; the error contains the position.
    pub fn open(&self) -> Result<Arc<dyn Workload>, WorkloadError> {
        match self {
            WorkloadName::Folder(folder) => Ok(Arc::new(read_folder(folder)?)),
            WorkloadName::Shipped(name) => shelf::find(name).ok_or_else(|| unknown(name, None))?.open(),
        }
    }
}

fn unknown(name: &str, nearest: Option<&str>) -> WorkloadError {
    let known = WorkloadName::shipped().collect::<Vec<_>>().join(", ");
    WorkloadError::UnknownWorkload { name: name.to_owned(), known, nearest: nearest.map(str::to_owned) }
}

impl<'de> Deserialize<'de> for WorkloadName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WorkloadName::find(&String::deserialize(deserializer)?, Path::new("")).map_err(de::Error::custom)
    }
}

impl From<WorkloadName> for String {
    fn from(name: WorkloadName) -> String {
        name.to_string()
    }
}

impl fmt::Display for WorkloadName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkloadName::Shipped(name) => out.write_str(name),
            WorkloadName::Folder(folder) => write!(out, "{}", folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::QueryChoice;

    #[test]
    fn every_shipped_workload_opens_under_its_name() {
        for name in WorkloadName::shipped() {
            let found = WorkloadName::find(name, Path::new("/nonexistent")).expect("a name");
            let workload = found.open().expect("it is sound");
            assert_eq!((workload.name(), found.to_string().as_str()), (name, name));
            // Queries that are computed depend on the rows: a small scale has few.
            let choice = QueryChoice::new("0.01".parse().expect("a scale"));
            assert!(!workload.mix().is_empty() || workload.has_queries(), "{name} has something to run");
            // Those of tpcds are in an archive.
            let queries = workload.queries(&choice).map_or(name == "tpcds", |queries| !queries.is_empty());
            assert_eq!(workload.has_queries(), queries, "{name}");
            assert!(RESERVED.has(name));
        }
    }

    #[test]
    fn the_tables_of_pgbench_are_the_default() {
        assert_eq!(WorkloadName::default(), WorkloadName::Shipped("tpcb"));
    }

    #[test]
    fn what_is_neither_a_name_nor_a_folder_is_refused_with_the_nearest_name() {
        let refusal = |text| WorkloadName::find(text, Path::new("/nonexistent")).expect_err(text).to_string();
        assert_eq!(
            refusal("tpbc"),
            "there is no workload, no directory and no file \"tpbc\"; did you mean tpcb?"
        );
        let shop = refusal("./shop");
        assert!(
            shop.starts_with(
                "there is no workload, no directory and no file \"./shop\"; pgmeter includes: tpcb"
            ),
            "{shop}"
        );
        assert_eq!(refusal("-"), "- is no regular file: write the schema to a file, and name this file");
        assert!(refusal("").starts_with("there is no workload, no directory and no file \"\""));
    }
}
