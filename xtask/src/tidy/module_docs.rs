//! Each Rust file begins with a few lines of `//!`: its purpose, its limits, its callers.
//! A `lib.rs` is a table of contents and may take twelve lines. Its examples are programs of the folder `examples`: the
//! build compiles these, and nothing compiles the documentation.

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
        problems.extend(uncompiled_examples(&file.path, &file.text));
    }
    problems
}

/// Languages of blocks that are no Rust.
const NO_RUST: [&str; 4] = ["text", "sh", "sql", "json"];

/// Blocks of Rust that stand in a comment.
fn uncompiled_examples(path: &str, text: &str) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let comment =
        |line: &str| line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::to_owned);
    let fence = |line: &str| comment(line)?.trim_start().strip_prefix("```").map(str::to_owned);
    let fences = lines.iter().enumerate().filter_map(|(at, line)| Some((at, fence(line)?)));
    // Every second one ends a block.
    let opened = fences.step_by(2);
    let is_program =
        |at: usize| lines.get(at + 1).is_some_and(|line| line.contains("include_str!(\"../examples/"));
    let is_right =
        |at: usize, language: &str| NO_RUST.contains(&language) || language == "ignore" && is_program(at);
    let wrong = opened.filter(|(at, language)| !is_right(*at, language));
    let advice =
        "an example is not compiled here; write a program in `examples` and include it after ```ignore";
    wrong.map(|(at, _)| Problem::at_line(path, at + 1, advice)).collect()
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

    #[test]
    fn an_example_that_nothing_compiles_is_a_problem() {
        let head = "//! What.\n//! What not.\n";
        for wrong in
            ["```\n/// a();\n/// ```", "```no_run\n/// a();\n/// ```", "```ignore\n/// a();\n/// ```"]
        {
            assert_eq!(check_text(&format!("{head}/// {wrong}\nfn b() {{}}\n")), 1, "{wrong}");
        }
        let program = "//! ```ignore\n#![doc = include_str!(\"../examples/a.rs\")]\n//! ```\n";
        assert_eq!(check_text(&format!("{head}{program}")), 0);
        assert_eq!(check_text(&format!("{head}/// ```text\n/// a b\n/// ```\nfn b() {{}}\n")), 0);
    }
}
