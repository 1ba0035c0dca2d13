//! Files and functions stay small enough to read. What is longer has its name and its reason in a short
//! list, and leaves the list as soon as it is short again.

use super::source;
use super::tree::{Problem, Tree};

/// Lines of code in a file: comments, blank lines and the insides of literals do not count.
const FILE_LINES_MAX: usize = 600;
/// Lines of code in a function, from its `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// What may be longer, and why.
pub struct Exceptions<'a> {
    /// Path of the file, reason.
    pub files: &'a [(&'a str, &'a str)],
    /// Path of the file, name of the function, reason.
    pub functions: &'a [(&'a str, &'a str, &'a str)],
}

/// Looks for long files and functions, and for exceptions that except nothing.
pub fn check(tree: &Tree, exceptions: &Exceptions<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut long_files = Vec::new();
    let mut long_functions = Vec::new();
    for file in tree.ending(".rs") {
        let path = file.path.as_str();
        let lines = source::code_lines(&file.masked);
        if lines > FILE_LINES_MAX {
            long_files.push(path);
            if !exceptions.files.iter().any(|exception| exception.0 == path) {
                let text =
                    format!("{lines} lines of code, more than {FILE_LINES_MAX}: split it along an idea");
                problems.push(Problem::of(path, text));
            }
        }
        for function in source::functions(&file.masked) {
            if function.code_lines <= FUNCTION_LINES_MAX {
                continue;
            }
            let excepted =
                |exception: &&(&str, &str, &str)| exception.0 == path && exception.1 == function.name;
            if exceptions.functions.iter().find(excepted).is_none() {
                let (name, lines) = (&function.name, function.code_lines);
                let text =
                    format!("fn {name} has {lines} lines of code, more than {FUNCTION_LINES_MAX}: split it");
                problems.push(Problem::at(path, function.line, text));
            }
            long_functions.push((path, function.name));
        }
    }
    let idle_files = exceptions.files.iter().filter(|(path, _)| !long_files.contains(path)).map(|it| it.0);
    let is_long = |path: &str, name: &str| long_functions.iter().any(|(p, n)| *p == path && n == name);
    let idle_functions =
        exceptions.functions.iter().filter(|(path, name, _)| !is_long(path, name)).map(|it| it.0);
    let idle = idle_files.chain(idle_functions);
    problems.extend(
        idle.map(|path| Problem::of(path, "no longer needs its exception from the sizes: remove it")),
    );
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    const NONE: Exceptions<'_> = Exceptions { files: &[], functions: &[] };

    fn long_function() -> String {
        format!("fn long() {{\n{}}}\n", "    f();\n".repeat(FUNCTION_LINES_MAX - 1))
    }

    #[test]
    fn a_long_file_is_a_problem_unless_it_is_excepted() {
        let tree = Tree::of(&[("a.rs", &"use a;\n".repeat(FILE_LINES_MAX + 1))]);
        assert_eq!(texts(&check(&tree, &NONE)), ["601 lines of code, more than 600: split it along an idea"]);
        let excepted = Exceptions { files: &[("a.rs", "a table")], ..NONE };
        assert_eq!(texts(&check(&tree, &excepted)), [""; 0]);
    }

    #[test]
    fn comments_blank_lines_and_texts_are_no_lines_of_code() {
        let text = format!("const TEXT: &str = \"{}\";\n{}", "text\n".repeat(700), "// why\n\n".repeat(700));
        assert_eq!(texts(&check(&Tree::of(&[("a.rs", &text)]), &NONE)), [""; 0]);
    }

    #[test]
    fn a_long_function_is_a_problem_unless_it_is_excepted() {
        let tree = Tree::of(&[("a.rs", &long_function())]);
        assert_eq!(texts(&check(&tree, &NONE)), ["fn long has 71 lines of code, more than 70: split it"]);
        let excepted = Exceptions { functions: &[("a.rs", "long", "a table")], ..NONE };
        assert_eq!(texts(&check(&tree, &excepted)), [""; 0]);
    }

    #[test]
    fn an_exception_that_excepts_nothing_is_a_problem() {
        let tree = Tree::of(&[("a.rs", "fn short() {}\n")]);
        let stale = Exceptions { files: &[("a.rs", "")], functions: &[("a.rs", "short", "")] };
        assert_eq!(check(&tree, &stale).len(), 2);
    }
}
