//! The index of the manual, `docs/README.md`, has one link to each page of `docs/`: a reader finds each page, and in
//! one section only. The README at the root stays short. Decisions and the schemas are not pages.

use std::collections::BTreeMap;

use super::links;
use super::tree::{Problem, Tree};

const INDEX: &str = "docs/README.md";
const START: &str = "README.md";
/// The README leads to the manual; longer text belongs there.
const START_LINES_MAX: usize = 180;

/// Compares the links of the index with the pages, and counts the lines of the README.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let Some(index) = tree.file(INDEX) else {
        return vec![Problem::in_file(INDEX, "is missing; it lists the pages of the manual")];
    };
    let mut links_of_page: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (line, target) in links::links(&index.text) {
        let path = target.split('#').next().unwrap_or_default();
        links_of_page.entry(links::resolve(INDEX, path)).or_default().push(line);
    }
    let mut problems = Vec::new();
    for page in tree.ending(".md").map(|file| file.path.as_str()).filter(|path| is_page(path)) {
        match links_of_page.get(page).map_or(&[][..], Vec::as_slice) {
            [] => problems.push(Problem::in_file(INDEX, format!("lacks `{page}`: add a line with a link"))),
            [_] => {}
            [_, again, ..] => {
                let text = format!("links to `{page}` again: a page has one place in the index");
                problems.push(Problem::at_line(INDEX, *again, text));
            }
        }
    }
    let lines = tree.file(START).map_or(0, |file| file.text.lines().count());
    if lines > START_LINES_MAX {
        let text = format!("has {lines} lines, at most {START_LINES_MAX} are allowed: move text to docs/");
        problems.push(Problem::in_file(START, text));
    }
    problems
}

/// Whether a file is a page of the manual: directly in `docs/`, and not the index itself.
fn is_page(path: &str) -> bool {
    path != INDEX && path.strip_prefix("docs/").is_some_and(|name| !name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_index(index: &str) -> Vec<String> {
        texts(&check(&Tree::from_texts(&[
            ("README.md", "# a\n"),
            ("docs/README.md", index),
            ("docs/goals.md", ""),
            ("docs/store.md", ""),
            ("docs/store.json", ""),
            ("docs/decisions/0001-a.md", ""),
        ])))
    }

    #[test]
    fn an_index_with_each_page_once_passes() {
        assert_eq!(
            check_index("- [Goals](goals.md)\n- [Store](store.md), [a](decisions/0001-a.md)\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_page_without_a_link_is_a_problem() {
        assert_eq!(
            check_index("- [Goals](goals.md)\n```\n[Store](store.md)\n```\n"),
            ["lacks `docs/store.md`: add a line with a link"]
        );
    }

    #[test]
    fn a_second_link_to_a_page_is_a_problem_in_its_line() {
        let problems = check(&Tree::from_texts(&[
            ("docs/README.md", "[a](goals.md)\n\n[b](goals.md#figures)\n"),
            ("docs/goals.md", ""),
        ]));
        let text = "links to `docs/goals.md` again: a page has one place in the index";
        assert_eq!(problems, [Problem::at_line("docs/README.md", 3, text)]);
    }

    #[test]
    fn a_missing_index_is_a_problem() {
        assert_eq!(check(&Tree::from_texts(&[("docs/goals.md", "")])).len(), 1);
    }

    #[test]
    fn a_long_readme_is_a_problem() {
        let check_lines = |lines: usize| {
            check(&Tree::from_texts(&[("README.md", &"a\n".repeat(lines)), ("docs/README.md", "")])).len()
        };
        assert_eq!(check_lines(180), 0);
        assert_eq!(check_lines(181), 1);
    }
}
