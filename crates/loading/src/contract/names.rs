//! Which names the workload of a user may have, and the scripts, queries and checks in it. The names of built-in
//! workloads are reserved; the caller that reads a folder passes them.

use std::path::Path;

use config::{Complaint, Node};

/// Most characters of a name.
pub(crate) const NAME_LENGTH_MAX: usize = 63;

/// The names that a folder may not have: those of built-in workloads.
#[derive(Clone, Copy, Debug)]
pub struct ReservedNames(pub fn(&str) -> bool);

impl ReservedNames {
    /// No name is reserved.
    pub(crate) const NONE: ReservedNames = ReservedNames(|_| false);

    /// Whether a name is one of them.
    pub fn has(self, name: &str) -> bool {
        (self.0)(name)
    }

    /// A directory as the argument of `--workload` in a command line: quoted for the shell, and not the name of a built-in
    /// workload.
    pub fn argument_of(self, folder: &Path) -> String {
        let name = folder.display().to_string();
        let is_relative = !self.has(&name) && !name.starts_with('-');
        config::shell_word(&if is_relative { name } else { format!("./{name}") })
    }
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
