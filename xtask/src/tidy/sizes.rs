//! Files and functions stay small enough to read, unless one idea needs more: then a comment says why, as a line
//! `Long because: …`. A file's stands among the `//!` lines at its top, a function's right above the function.

use std::collections::BTreeSet;

use super::source;
use super::tree::{File, Problem, Tree};

/// Lines of code in a file: comments, blank lines and the insides of literals do not count.
const FILE_LINES_MAX: usize = 600;
/// Lines of code in a function, from its `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// How the reason for more begins.
const REASON: &str = "Long because: ";

/// Looks for long files and functions without a reason, and for reasons that nothing needs.
pub fn check(tree: &Tree) -> Vec<Problem> {
    tree.ending(".rs").flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut reasons: BTreeSet<usize> = (0..lines.len()).filter(|&index| is_reason(lines[index])).collect();
    let mut problems = Vec::new();
    // Indices into `lines`: of the comment that may hold the reason.
    let mut expect_reason = |comment: std::ops::Range<usize>, line: usize, text: String| match reasons
        .range(comment)
        .next()
        .copied()
    {
        Some(index) => drop(reasons.remove(&index)),
        None => problems.push(Problem::at_line(&file.path, line, text)),
    };
    let code_lines = source::code_lines(&file.masked);
    if code_lines > FILE_LINES_MAX {
        let head = lines.iter().take_while(|line| line.starts_with("//!")).count();
        let text = format!(
            "{code_lines} lines of code, more than {FILE_LINES_MAX}: split it along an idea, or say why in its first \
             comment (`//! {REASON}…`)"
        );
        expect_reason(0..head, 0, text);
    }
    for function in source::functions(&file.masked) {
        if function.code_lines > FUNCTION_LINES_MAX {
            let end = function.line - 1;
            let above = lines[..end].iter().rev().take_while(|line| is_comment_or_attribute(line)).count();
            let text = format!(
                "fn {} has {} lines of code, more than {FUNCTION_LINES_MAX}: split it, or say why above it \
                 (`// {REASON}…`)",
                function.name, function.code_lines
            );
            expect_reason(end - above..end, function.line, text);
        }
    }
    let idle = reasons.into_iter().map(|index| {
        Problem::at_line(
            &file.path,
            index + 1,
            "a reason to be long, of nothing that is: remove it, or move it to its place",
        )
    });
    problems.extend(idle);
    problems
}

/// A line of a comment that gives a reason.
fn is_reason(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix("//");
    let text = comment.map(|comment| comment.trim_start_matches(['/', '!']).trim_start());
    text.and_then(|text| text.strip_prefix(REASON)).is_some_and(|reason| !reason.trim().is_empty())
}

fn is_comment_or_attribute(line: &str) -> bool {
    ["//", "#["].iter().any(|start| line.trim_start().starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_text(text: &str) -> Vec<String> {
        texts(&check(&Tree::from_texts(&[("a.rs", text)])))
    }

    fn long_file(head: &str) -> String {
        format!("{head}{}", "use a;\n".repeat(FILE_LINES_MAX + 1))
    }

    fn long_function(above: &str) -> String {
        format!("fn short() {{}}\n\n{above}fn long() {{\n{}}}\n", "    f();\n".repeat(FUNCTION_LINES_MAX - 1))
    }

    #[test]
    fn a_long_file_is_a_problem_unless_its_first_comment_says_why() {
        let problems = check_text(&long_file("//! What.\n//! Why.\n"));
        assert!(
            matches!(&problems[..], [text] if text.starts_with("601 lines of code, more than 600")),
            "{problems:?}"
        );
        assert_eq!(check_text(&long_file("//! What.\n//! Long because: one table.\n")), [""; 0]);
    }

    #[test]
    fn a_long_function_is_a_problem_unless_the_comment_above_it_says_why() {
        let problems = check_text(&long_function("/// Does it.\n"));
        assert!(
            matches!(&problems[..], [text] if text.starts_with("fn long has 71 lines of code, more than 70")),
            "{problems:?}"
        );
        assert_eq!(
            check_text(&long_function("/// Does it.\n// Long because: one table.\n#[inline]\n")),
            [""; 0]
        );
    }

    #[test]
    fn a_reason_elsewhere_or_without_words_does_not_count() {
        assert_eq!(check_text(&long_file("//! What.\n\n// Long because: one table.\n")).len(), 2);
        assert_eq!(check_text(&long_function("// Long because: one table.\n\n")).len(), 2);
        assert_eq!(check_text(&long_function("// Long because: \n")).len(), 1);
    }

    #[test]
    fn a_reason_that_nothing_needs_is_a_problem() {
        assert_eq!(check_text("//! Long because: it was.\n//! What.\n").len(), 1);
        assert_eq!(check_text("// Long because: it was.\nfn short() {}\n").len(), 1);
        assert_eq!(check_text("const TEXT: &str = \"// Long because: it is.\";\n"), [""; 0]);
    }

    #[test]
    fn comments_blank_lines_and_texts_are_no_lines_of_code() {
        let text = format!("const TEXT: &str = \"{}\";\n{}", "text\n".repeat(700), "// why\n\n".repeat(700));
        assert_eq!(check_text(&text), [""; 0]);
    }
}
