//! Every name that a stored record uses is explained in the manual's page about it. The names are those of
//! the document that the tests of `results` pin; whether the explanation is true is for the reader.

use std::collections::BTreeSet;

use super::tree::{Problem, Tree};

const MANUAL: &str = "docs/record.md";
const PINNED: &str = "crates/results/tests/integration/snapshots/";

/// Compares the pinned document's names with the words in backquotes.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let Some(manual) = tree.file(MANUAL) else { return vec![Problem::in_file(MANUAL, "is missing")] };
    let explained: BTreeSet<&str> = manual.text.split('`').skip(1).step_by(2).collect();
    let pinned = tree.files.iter().filter(|file| file.path.starts_with(PINNED));
    let names: BTreeSet<&str> = pinned.flat_map(|file| file.text.lines().filter_map(name)).collect();
    if names.is_empty() {
        return vec![Problem::in_file(PINNED, "pins no document: the manual's page cannot be checked")];
    }
    let missing = names.difference(&explained);
    missing.map(|name| Problem::in_file(MANUAL, format!("does not explain `{name}`"))).collect()
}

/// The name that a line of a document begins with.
fn name(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix('"')?.split_once('"')?;
    rest.starts_with(':').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_manual(manual: &str) -> Vec<String> {
        let pinned = "{\n  \"tps\": 1.0,\n  \"scripts\": [\n    \"a: b\"\n  ]\n}\n";
        texts(&check(&Tree::from_texts(&[
            ("docs/record.md", manual),
            ("crates/results/tests/integration/snapshots/a.snap", pinned),
        ])))
    }

    #[test]
    fn a_page_that_explains_every_name_passes() {
        assert_eq!(check_manual("`scripts` are what `tps` is of"), [""; 0]);
    }

    #[test]
    fn a_name_without_explanation_is_a_problem() {
        assert_eq!(check_manual("scripts have `tps`"), ["does not explain `scripts`"]);
    }

    #[test]
    fn a_page_with_nothing_to_hold_it_against_is_a_problem() {
        assert_eq!(check(&Tree::from_texts(&[("docs/record.md", "`tps`")])).len(), 1);
    }
}
