//! The key `before_rows` of workload.toml: the triggers and index sets that exist while rows are loaded. Read by
//! `manifest`; `loader` executes them.

use std::collections::BTreeSet;

use config::{Complaint, Node};

use crate::contract::sql_file::SqlFile;

/// What is created before the rows of a schema instead of after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BeforeRows {
    /// Whether triggers fire for the rows.
    pub(crate) triggers: bool,
    /// Names of index sets.
    pub(crate) index_sets: BTreeSet<String>,
}

impl BeforeRows {
    /// The word for triggers in workload.toml.
    const TRIGGERS: &str = "triggers";

    pub(super) fn read(nodes: &[Node], indexes: &[SqlFile]) -> Result<BeforeRows, Complaint> {
        let mut before = BeforeRows::default();
        for node in nodes {
            match node.text()? {
                Self::TRIGGERS => before.triggers = true,
                name if indexes.iter().any(|file| file.name == name) => {
                    before.index_sets.insert(name.to_owned());
                }
                name => {
                    let what = format!(
                        "expected \"{}\", or an index set such as \"keys\" of a file indexes/keys.sql, found \"{name}\"",
                        Self::TRIGGERS
                    );
                    return Err(Complaint::at(node.place, what));
                }
            }
        }
        Ok(before)
    }
}
