//! The names of workloads: those of the built-in ones, and which names a folder may have, and the scripts, queries and checks
//! in it. `registry` opens the workloads.

use std::path::Path;

use config::{Complaint, Node};

/// The name of a built-in workload.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    /// One line for help.
    pub(crate) about: &'static str,
}

pub(crate) const TPCB: BuiltIn = BuiltIn { name: "tpcb", about: "TPC-B-like tables" };
pub(crate) const TPCH: BuiltIn = BuiltIn { name: "tpch", about: "TPC-H-derived: 8 tables, 22 queries" };

/// All of them; the first is the default.
pub(crate) const BUILT_IN: [BuiltIn; 11] = [
    TPCB,
    TPCH,
    BuiltIn { name: "sysbench-oltp", about: "the OLTP scripts of sysbench, on one table" },
    BuiltIn { name: "jsonb", about: "product reviews as jsonb, json and columns: 10 queries" },
    BuiltIn { name: "matview", about: "readers of a materialized view, to be refreshed during the run" },
    BuiltIn { name: "fulltext", about: "full-text search in messages: GIN and GiST, 33,000 queries" },
    BuiltIn { name: "tpcc", about: "TPC-C-derived: orders of a wholesaler, 9 tables, 5 transactions" },
    BuiltIn { name: "tpcb2", about: "TPC-B by its standard 2.0: accounts of a bank" },
    BuiltIn { name: "objects", about: "objects of one, two and three levels: ways to fetch one of them" },
    BuiltIn {
        name: "events",
        about: "events in time partitions: inserts and queries by the number of partitions",
    },
    BuiltIn { name: "tpcds", about: "TPC-DS-derived: 24 tables, 99 queries" },
];

/// The name for no workload in an experiment.
const NO_WORKLOAD: &str = "none";

/// Most characters of a name.
pub(crate) const NAME_LENGTH_MAX: usize = 63;

/// A directory as the argument of `--workload` in a command line: quoted for the shell, and not the name of a built-in
/// workload.
pub(crate) fn argument_of(folder: &Path) -> String {
    let name = folder.display().to_string();
    let is_relative = is_free(&name) && !name.starts_with('-');
    config::shell_word(&if is_relative { name } else { format!("./{name}") })
}

/// Whether a directory's workload may have this name.
pub(crate) fn is_free(name: &str) -> bool {
    name != NO_WORKLOAD && BUILT_IN.iter().all(|own| own.name != name)
}

/// Letters, digits, `-`, `_` and `.`: what needs no quotation marks on a command line.
pub(crate) fn short_name(node: &Node) -> Result<String, Complaint> {
    let name = node.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && name.chars().all(plain);
    if is_name {
        Ok(name.to_owned())
    } else {
        Err(node.expected("a name of letters, digits, \"-\", \"_\" and \".\""))
    }
}
