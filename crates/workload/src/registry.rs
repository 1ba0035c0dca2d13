//! The table of built-in workloads,
//! and the selection of a workload by its name or by a user's directory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{Folder, Tpcb, Workload, WorkloadError};

/// A built-in workload.
struct Row {
    name: &'static str,
    /// One line for help.
    about: &'static str,
    open: fn() -> Result<Arc<dyn Workload>, WorkloadError>,
}

/// All of them; the first is the default.
const WORKLOADS: &[Row] = &[Row { name: Tpcb::NAME, about: Tpcb::TITLE, open: || Ok(Arc::new(Tpcb)) }];

/// The name for no workload in an experiment.
const NO_WORKLOAD: &str = "none";

/// The name of a workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub enum WorkloadName {
    /// A built-in workload.
    Shipped(&'static str),
    /// A directory with a workload.toml.
    Folder(PathBuf),
}

impl Default for WorkloadName {
    fn default() -> Self {
        WorkloadName::Shipped(WORKLOADS[0].name)
    }
}

impl WorkloadName {
    /// Names of the built-in workloads.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        WORKLOADS.iter().map(|row| row.name)
    }

    /// Their descriptions.
    pub fn about() -> impl Iterator<Item = (&'static str, &'static str)> {
        WORKLOADS.iter().map(|row| (row.name, row.about))
    }

    /// Finds a workload by name or by directory, relative to `base`. The directory is not read yet.
    ///
    /// # Errors
    /// It is neither a name nor a directory.
    pub fn find(text: &str, base: &Path) -> Result<WorkloadName, WorkloadError> {
        if let Some(row) = WORKLOADS.iter().find(|row| row.name == text) {
            return Ok(WorkloadName::Shipped(row.name));
        }
        let folder = base.join(text);
        if !text.is_empty() && folder.is_dir() {
            return Ok(WorkloadName::Folder(folder));
        }
        let known: Vec<&str> = Self::shipped().collect();
        let nearest = config::nearest(text, &known).map(str::to_owned);
        Err(WorkloadError::UnknownWorkload { name: text.to_owned(), known: known.join(", "), nearest })
    }

    /// The workload of a stored experiment: built-in, or a directory that may no longer exist.
    pub fn stored(name: &str) -> WorkloadName {
        let shipped = WORKLOADS.iter().find(|row| row.name == name);
        shipped.map_or_else(|| WorkloadName::Folder(name.into()), |row| WorkloadName::Shipped(row.name))
    }

    /// Reads the workload.
    ///
    /// # Errors
    /// A file of the directory cannot be read or is invalid; the error contains the position.
    pub fn open(&self) -> Result<Arc<dyn Workload>, WorkloadError> {
        match self {
            WorkloadName::Folder(folder) => Ok(Arc::new(Folder::read(folder)?)),
            WorkloadName::Shipped(name) => match WORKLOADS.iter().find(|row| row.name == *name) {
                Some(row) => (row.open)(),
                None => Err(WorkloadError::UnknownWorkload {
                    name: (*name).to_owned(),
                    known: Self::shipped().collect::<Vec<_>>().join(", "),
                    nearest: None,
                }),
            },
        }
    }
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

/// Whether a directory's workload may have this name.
pub(crate) fn is_free(name: &str) -> bool {
    name != NO_WORKLOAD && WORKLOADS.iter().all(|row| row.name != name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_workload_opens_under_its_name() {
        for name in WorkloadName::shipped() {
            let found = WorkloadName::find(name, Path::new("/nonexistent")).expect("a name");
            let workload = found.open().expect("it is sound");
            assert_eq!((workload.name(), found.to_string().as_str()), (name, name));
            assert!(!workload.mix().is_empty(), "{name} runs something when no script is named");
            assert!(!workload.quickstart().is_empty());
            assert!(!is_free(name));
        }
    }

    #[test]
    fn the_tables_of_pgbench_are_the_default() {
        assert_eq!(WorkloadName::default(), WorkloadName::Shipped("tpcb"));
    }

    #[test]
    fn what_is_neither_a_name_nor_a_folder_is_refused_with_the_nearest_name() {
        let refusal = |text| WorkloadName::find(text, Path::new("/nonexistent")).expect_err(text).to_string();
        assert_eq!(refusal("tpbc"), "there is no workload and no directory \"tpbc\"; did you mean tpcb?");
        let shop = refusal("./shop");
        assert!(
            shop.starts_with("there is no workload and no directory \"./shop\"; pgmeter includes: tpcb"),
            "{shop}"
        );
        assert!(refusal("").starts_with("there is no workload and no directory \"\""));
    }
}
