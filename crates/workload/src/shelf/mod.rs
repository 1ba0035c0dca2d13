//! The built-in workloads, each in a folder with its SQL and its code. This list alone names them; a new one is a folder
//! and a row. `answers`, `computed` and `fields` are for several of
//! them.

/// The names and texts of files beside the source file.
macro_rules! files {
    [$($file:literal),+ $(,)?] => {
        &[$(($file, include_str!($file))),+]
    };
}

mod answers;
mod computed;
mod events;
mod fields;
mod fulltext;
mod jsonb;
mod matview;
mod objects;
mod sysbench_oltp;
pub mod tpcb;
mod tpcb2;
mod tpcc;
mod tpcds;
pub(crate) mod tpch;

use std::sync::Arc;

use loading::loader::generated::OwnCode;

use crate::{Folder, Workload, WorkloadError};

/// A built-in workload.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    /// One line for help; the title of the workload.
    pub(crate) about: &'static str,
    source: Source,
}

/// What a built-in workload is made of.
enum Source {
    /// Code alone.
    Code(fn() -> Arc<dyn Workload>),
    Folder(&'static Shelved),
}

/// A folder of SQL.
struct Shelved {
    /// Names and texts of its files.
    files: &'static [(&'static str, &'static str)],
    own: OwnCode,
}

/// Directives describe the rows.
const NO_CODE: OwnCode = OwnCode { rows: None, queries: None };

/// All of them; the first is the default.
pub(crate) static BUILT_IN: [BuiltIn; 11] = [
    code(tpcb::Tpcb::NAME, tpcb::Tpcb::TITLE, || Arc::new(tpcb::Tpcb)),
    code(tpch::Tpch::NAME, tpch::Tpch::TITLE, || Arc::new(tpch::Tpch)),
    folder("sysbench-oltp", "the OLTP scripts of sysbench, on one table", &sysbench_oltp::FOLDER),
    folder("jsonb", "product reviews as jsonb, json and columns: 10 queries", &jsonb::FOLDER),
    folder("matview", "readers of a materialized view, to be refreshed during the run", &matview::FOLDER),
    folder("fulltext", "full-text search in messages: GIN and GiST, 33,000 queries", &fulltext::FOLDER),
    folder("tpcc", "TPC-C-derived: orders of a wholesaler, 9 tables, 5 transactions", &tpcc::FOLDER),
    folder("tpcb2", "TPC-B by its standard 2.0: accounts of a bank", &tpcb2::FOLDER),
    folder("objects", "objects of one, two and three levels: ways to fetch one of them", &objects::FOLDER),
    folder(
        "events",
        "events in time partitions: inserts and queries by the number of partitions",
        &events::FOLDER,
    ),
    folder("tpcds", "TPC-DS-derived: 24 tables, 99 queries", &tpcds::FOLDER),
];

const fn code(name: &'static str, about: &'static str, open: fn() -> Arc<dyn Workload>) -> BuiltIn {
    BuiltIn { name, about, source: Source::Code(open) }
}

const fn folder(name: &'static str, about: &'static str, shelved: &'static Shelved) -> BuiltIn {
    BuiltIn { name, about, source: Source::Folder(shelved) }
}

/// The built-in workload of this name.
pub(crate) fn find(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|own| own.name == name)
}

impl BuiltIn {
    /// Reads the workload.
    pub(crate) fn open(&self) -> Result<Arc<dyn Workload>, WorkloadError> {
        match self.source {
            Source::Code(open) => Ok(open()),
            Source::Folder(Shelved { files, own }) => Ok(Arc::new(Folder::built_in(files, *own)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::WorkloadName;

    /// The names of the files below a directory, relative to it.
    fn files_below(directory: &Path, prefix: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            let name = format!("{prefix}{}", entry.file_name().display());
            if entry.path().is_dir() {
                found.extend(files_below(&entry.path(), &format!("{name}/")));
            } else {
                found.insert(name);
            }
        }
        found
    }

    /// Beside the files of a workload are its code and its expected answers.
    fn is_of_workload(name: &str) -> bool {
        !name.ends_with(".rs") && name != "answers.txt"
    }

    #[test]
    fn all_files_of_the_folders_are_built_in() {
        let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shelf");
        let mut folders = 0;
        for own in &BUILT_IN {
            let folder = shelf.join(own.name.replace('-', "_"));
            let files: BTreeSet<String> =
                files_below(&folder, "").into_iter().filter(|name| is_of_workload(name)).collect();
            if let Source::Folder(Shelved { files: built_in, .. }) = own.source {
                folders += 1;
                assert_eq!(
                    built_in.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>(),
                    files
                );
            }
        }
        assert_eq!(folders, 9);
    }

    #[test]
    fn built_in_workloads_say_what_they_are_and_what_they_need() {
        for (name, about) in WorkloadName::about() {
            let workload = WorkloadName::stored(name).open().expect("it can be read");
            assert_eq!((workload.name(), workload.title()), (name, about));
            assert!(workload.bytes_per_scale().is_some(), "{name}");
            let is_of_pgbench = name == "tpcb";
            assert!(is_of_pgbench || (workload.licence().is_some() && workload.needs().is_some()), "{name}");
        }
    }
}
