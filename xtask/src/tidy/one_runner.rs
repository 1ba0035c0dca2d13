//! A run begins at `Runner::new` and nowhere else, so that each run has passed the same checks. The rule finds values of
//! the type that other files make, and further constructors.

use super::tree::{Problem, Tree};

const FILE: &str = "crates/run/src/plan/runner.rs";

/// Finds values of `Runner` that another file makes, and further constructors.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (index, line) in file.production.lines().enumerate() {
            let makes = is_literal(line) && file.path.starts_with("crates/run/") && file.path != FILE;
            if makes {
                problems.push(Problem::at_line(&file.path, index + 1, "makes a Runner: call Runner::new"));
            }
            if file.path == FILE && is_constructor(line) && !line.contains("pub fn new(") {
                let text = "a second constructor: make Runner::new do it, from a RunRequest";
                problems.push(Problem::at_line(&file.path, index + 1, text));
            }
        }
    }
    problems
}

/// Whether a line begins a value of the type, not its definition or its functions.
fn is_literal(line: &str) -> bool {
    let Some((before, _)) = line.split_once("Runner {") else { return false };
    let is_of_type = ["impl ", "struct ", "for "].iter().any(|word| before.ends_with(word));
    !is_of_type && !before.trim_end().ends_with("->") && !before.ends_with(|c: char| c.is_alphanumeric())
}

/// Whether a line declares a public function that takes no `self` and gives a `Runner`.
fn is_constructor(line: &str) -> bool {
    let gives = ["-> Self", "-> Result<Self", "-> Runner", "-> Result<Runner"];
    line.trim_start().starts_with("pub")
        && gives.iter().any(|end| line.contains(end))
        && !line.contains("(self")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    #[test]
    fn a_second_way_to_a_run_is_a_problem() {
        let own = "pub struct Runner {\n}\nimpl Runner {\n    pub fn new(a: A) -> Result<Self, E> {\n    pub fn under(self, c: C) -> Self {\n";
        let found = |own: &str, other: &str| {
            texts(&check(&Tree::from_texts(&[(FILE, own), ("crates/run/src/a.rs", other)])))
        };
        assert_eq!(found(own, "impl Runner {\n    fn a(r: &Runner) -> Runner {\n"), [""; 0]);
        assert_eq!(found(own, "let runner = Runner { a, ..b };"), ["makes a Runner: call Runner::new"]);
        let second = format!("{own}    pub fn on(target: Target) -> Self {{\n");
        assert_eq!(found(&second, ""), ["a second constructor: make Runner::new do it, from a RunRequest"]);
    }
}
