//! The table of built-in workloads,
//! and the selection of a workload by its name or by a user's directory.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{Folder, Tpcb, Tpch, Workload, WorkloadError};
use crate::{archives, shelf};

/// A built-in workload.
struct Row {
    name: &'static str,
    /// One line for help.
    about: &'static str,
    open: fn() -> Result<Arc<dyn Workload>, WorkloadError>,
}

/// All of them; the first is the default.
const WORKLOADS: &[Row] = &[
    Row { name: Tpcb::NAME, about: Tpcb::TITLE, open: || Ok(Arc::new(Tpcb)) },
    Row { name: Tpch::NAME, about: Tpch::TITLE, open: || Ok(Arc::new(Tpch)) },
    Row {
        name: "sysbench-oltp",
        about: "the OLTP scripts of sysbench, on one table",
        open: || shelf::SYSBENCH_OLTP.open(),
    },
    Row {
        name: "jsonb",
        about: "product reviews as jsonb, json and columns: 10 queries",
        open: || shelf::JSONB.open(),
    },
    Row {
        name: "matview",
        about: "readers of a materialized view, to be refreshed during the run",
        open: || shelf::MATVIEW.open(),
    },
    Row {
        name: "fulltext",
        about: "full-text search in messages: GIN and GiST, 33,000 queries",
        open: || shelf::FULLTEXT.open(),
    },
    Row {
        name: "tpcc",
        about: "TPC-C-derived: orders of a wholesaler, 9 tables, 5 transactions",
        open: || shelf::TPCC.open(),
    },
    Row {
        name: "tpcb2",
        about: "TPC-B by its standard 2.0: accounts of a bank",
        open: || shelf::TPCB2.open(),
    },
    Row {
        name: "objects",
        about: "objects of one, two and three levels: ways to fetch one of them",
        open: || shelf::OBJECTS.open(),
    },
    Row {
        name: "events",
        about: "events in time partitions: inserts and queries by the number of partitions",
        open: || shelf::EVENTS.open(),
    },
    Row { name: "tpcds", about: "TPC-DS-derived: 24 tables, 99 queries", open: || shelf::TPCDS.open() },
];

/// The name for no workload in an experiment.
const NO_WORKLOAD: &str = "none";

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
        if let Some(row) = WORKLOADS.iter().find(|row| row.name == text) {
            return Ok(WorkloadName::Shipped(row.name));
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

/// A directory as the argument of `--workload` in a command line: quoted for the shell, and not the name of a built-in
/// workload.
pub(crate) fn argument_of(folder: &Path) -> String {
    let name = folder.display().to_string();
    let is_relative = is_free(&name) && !name.starts_with('-');
    config::shell_word(&if is_relative { name } else { format!("./{name}") })
}

/// Whether a directory's workload may have this name.
pub(crate) fn is_free(name: &str) -> bool {
    name != NO_WORKLOAD && WORKLOADS.iter().all(|row| row.name != name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stats::Scale;

    use super::*;
    use crate::QueryChoice;

    #[test]
    fn every_shipped_workload_opens_under_its_name() {
        for name in WorkloadName::shipped() {
            let found = WorkloadName::find(name, Path::new("/nonexistent")).expect("a name");
            let workload = found.open().expect("it is sound");
            assert_eq!((workload.name(), found.to_string().as_str()), (name, name));
            let choice = QueryChoice {
                scale: Scale::ONE,
                text: None,
                seed: None,
                data_seed: None,
                stream: 0,
                parameters: BTreeMap::new(),
            };
            assert!(!workload.mix().is_empty() || workload.has_queries(), "{name} has something to run");
            // Those of tpcds are in an archive.
            let queries = workload.queries(&choice).map_or(name == "tpcds", |queries| !queries.is_empty());
            assert_eq!(workload.has_queries(), queries, "{name}");
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
