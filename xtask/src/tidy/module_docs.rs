//! Each Rust file begins with a few lines of `//!`: its purpose, its limits, its callers.
//! A `lib.rs` is a table of contents and may take twelve lines.

use super::tree::{Problem, Tree};

const LINES_MIN: usize = 2;
const LINES_MAX: usize = 6;
const LINES_OF_CONTENTS_MAX: usize = 12;

/// Looks at the first lines of each file.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending(".rs") {
        let lines = file.text.lines().take_while(|line| line.starts_with("//!")).count();
        let (low, high) = match file.path.ends_with("/lib.rs") {
            true => (LINES_MIN, LINES_OF_CONTENTS_MAX),
            false => (LINES_MIN, LINES_MAX),
        };
        if !(low..=high).contains(&lines) {
            let text = format!(
                "opens with {lines} lines of `//!`; {low} to {high} say what it is, what it is not, who calls it"
            );
            problems.push(Problem::at_line(&file.path, 1, text));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> usize {
        check(&Tree::from_texts(&[("a.rs", text)])).len()
    }

    #[test]
    fn a_file_without_a_head_is_a_problem() {
        assert_eq!(check_text("use a;\n"), 1);
        assert_eq!(check_text("\n//! Too late.\n//! It is.\n"), 1);
    }

    #[test]
    fn a_head_too_short_or_too_long_is_a_problem() {
        assert_eq!(check_text("//! One.\n"), 1);
        assert_eq!(check_text(&"//! Many.\n".repeat(7)), 1);
        assert_eq!(check_text("//! What.\n//! What not.\nuse a;\n"), 0);
        assert_eq!(check(&Tree::from_texts(&[("crates/a/src/lib.rs", &"//! Contents.\n".repeat(7))])), []);
    }
}
