//! The built-in workloads, each in a folder with its SQL and its code. This list alone names them; a new one is a folder
//! and a row. `answers`, `computed` and `fields` are for several of them.

mod answers;
mod computed;
mod fields;
mod fulltext;
mod jsonb;
mod objects;
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
    /// The folder with its name, and code.
    Folder(OwnCode),
}

/// Directives describe the rows.
const NO_CODE: OwnCode = OwnCode { rows: None, queries: None };

/// All of them; the first is the default.
pub(crate) static BUILT_IN: [BuiltIn; 11] = [
    code(tpcb::Tpcb::NAME, tpcb::Tpcb::TITLE, || Arc::new(tpcb::Tpcb)),
    code(tpch::Tpch::NAME, tpch::Tpch::TITLE, || Arc::new(tpch::Tpch)),
    folder("sysbench-oltp", "the OLTP scripts of sysbench, on one table", NO_CODE),
    folder("jsonb", "product reviews as jsonb, json and columns: 10 queries", jsonb::CODE),
    folder("matview", "readers of a materialized view, to be refreshed during the run", NO_CODE),
    folder("fulltext", "full-text search in messages: GIN and GiST, 33,000 queries", fulltext::CODE),
    folder("tpcc", "TPC-C-derived: orders of a wholesaler, 9 tables, 5 transactions", tpcc::CODE),
    folder("tpcb2", "TPC-B by its standard 2.0: accounts of a bank", tpcb2::CODE),
    folder("objects", "objects of one, two and three levels: ways to fetch one of them", objects::CODE),
    folder("events", "events in time partitions: inserts and queries by the number of partitions", NO_CODE),
    folder("tpcds", "TPC-DS-derived: 24 tables, 99 queries", tpcds::CODE),
];

const fn code(name: &'static str, about: &'static str, open: fn() -> Arc<dyn Workload>) -> BuiltIn {
    BuiltIn { name, about, source: Source::Code(open) }
}

const fn folder(name: &'static str, about: &'static str, own: OwnCode) -> BuiltIn {
    BuiltIn { name, about, source: Source::Folder(own) }
}

/// The names and texts of the files in a folder beside this file, which `build.rs` has listed.
fn files(name: &str) -> &'static [(&'static str, &'static str)] {
    include!(concat!(env!("OUT_DIR"), "/files.rs"))
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
            Source::Folder(own) => Ok(Arc::new(Folder::built_in(files(self.name), own)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::WorkloadName;

    #[test]
    fn every_folder_with_a_workload_is_listed() {
        let shelf = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shelf");
        let folders = std::fs::read_dir(shelf).expect("a directory").flatten().map(|entry| entry.path());
        let folders: BTreeSet<String> = folders
            .filter(|folder| folder.join("workload.toml").is_file())
            .map(|folder| folder.file_name().expect("a name").display().to_string())
            .collect();
        let listed = BUILT_IN.iter().filter(|own| matches!(own.source, Source::Folder(_)));
        assert_eq!(listed.map(|own| own.name.to_owned()).collect::<BTreeSet<_>>(), folders);
        assert_eq!((files("tpcc").len(), files("events").len()), (20, 13));
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
