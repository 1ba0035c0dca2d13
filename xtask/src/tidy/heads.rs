//! Each Rust file opens with a few lines of `//!`: what it is, what it is not, who calls it.

use super::tree::{Problem, Tree};

const LINES: std::ops::RangeInclusive<usize> = 2..=6;

/// Looks at the first lines of each file.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.ending(".rs") {
        let lines = file.text.lines().take_while(|line| line.starts_with("//!")).count();
        if !LINES.contains(&lines) {
            let (low, high) = (LINES.start(), LINES.end());
            let text = format!(
                "opens with {lines} lines of `//!`; {low} to {high} say what it is, what it is not, who calls it"
            );
            problems.push(Problem::at(&file.path, 1, text));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(text: &str) -> usize {
        check(&Tree::of(&[("a.rs", text)])).len()
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
    }
}
