//! The code map in ARCHITECTURE.md names exactly the folders that exist, and no folder or module bears
//! a name that says nothing.

use std::collections::BTreeSet;

use super::tree::{Problem, Tree};

const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Code map";
/// Names under which anything could be put.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "common", "core", "types", "misc", "helper", "helpers", "shared"];

/// Compares the map's folders with those of the repository: at the root, and below `crates/`.
pub fn code_map(tree: &Tree) -> Vec<Problem> {
    let Some(map) = tree.file(MAP) else {
        return vec![Problem::in_file(MAP, "is missing; it draws the map")];
    };
    let mapped = mapped_folders(&map.text);
    let is_mapped_kind = |path: &&str| match path.split_once('/') {
        None => *path != "crates",
        Some((parent, name)) => parent == "crates" && !name.contains('/'),
    };
    let real: BTreeSet<&str> = tree.folders().into_iter().filter(is_mapped_kind).collect();
    let missing = real.difference(&mapped).map(|path| format!("the code map lacks `{path}/`: add a line"));
    let gone =
        mapped.difference(&real).map(|path| format!("the code map lists `{path}/`, which does not exist"));
    missing.chain(gone).map(|text| Problem::in_file(MAP, text)).collect()
}

/// What the map's lines name: the word in backquotes, ending in `/`, that a line of the list or of the
/// table begins with.
fn mapped_folders(text: &str) -> BTreeSet<&str> {
    let section = text.lines().skip_while(|line| line.trim() != HEADING).skip(1);
    section
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.trim_start_matches(['|', '-', ' ']).strip_prefix('`'))
        .filter_map(|rest| rest.split_once('`')?.0.strip_suffix('/'))
        .collect()
}

/// Looks for names that say nothing.
pub fn names(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in tree.folders().into_iter().chain(tree.ending(".rs").map(|file| file.path.as_str())) {
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&name) {
            let text = format!("`{name}` could hold anything: name it by a noun of the manual");
            problems.push(Problem::in_file(path, text));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_map(text: &str) -> Vec<String> {
        texts(&code_map(&Tree::from_texts(&[
            ("ARCHITECTURE.md", text),
            ("crates/wire/src/lib.rs", ""),
            ("docs/decisions/0001.md", ""),
        ])))
    }

    #[test]
    fn a_map_of_the_folders_that_exist_passes() {
        assert_eq!(
            check_map("## Code map\n| `crates/wire/` | x |\n- `docs/` y\n\n## Next\n`gone/`\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_folder_not_on_the_map_is_a_problem() {
        assert_eq!(check_map("## Code map\n- `docs/` y"), ["the code map lacks `crates/wire/`: add a line"]);
    }

    #[test]
    fn a_folder_on_the_map_only_is_a_problem() {
        let text = "## Code map\n- `docs/`\n- `crates/wire/`\n- `crates/lab/`";
        assert_eq!(check_map(text), ["the code map lists `crates/lab/`, which does not exist"]);
    }

    #[test]
    fn a_name_that_says_nothing_is_a_problem() {
        let tree = Tree::from_texts(&[("crates/wire/src/util.rs", ""), ("crates/core/src/lib.rs", "")]);
        assert_eq!(names(&tree).len(), 2);
        assert_eq!(names(&Tree::from_texts(&[("crates/wire/src/sqlstate.rs", "")])), []);
    }
}
