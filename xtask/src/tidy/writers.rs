//! One module writes each format for programs, for all subjects of reports: a new subject has rows, fields and cases, and
//! no writer of its own. The rule finds what begins such a format in other modules.

use super::source;
use super::tree::{File, Problem, Tree};

/// The crates that have what is reported.
const CRATES: [&str; 4] = ["report", "output", "lab", "queries"];

/// A format, what no text in it can do without, and the file that writes it.
const WRITERS: [(&str, &str, &str); 4] = [
    ("CSV", ".join(\",\") +", "crates/report/src/values/csv.rs"),
    ("JSON", "to_string_pretty(", "crates/report/src/values/json.rs"),
    ("JUnit", "<testsuite", "crates/report/src/values/junit.rs"),
    ("OpenMetrics", "# TYPE ", "crates/report/src/values/openmetrics.rs"),
];

/// Finds second writers, and writers that are elsewhere now.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let of_crates = |file: &&File| file.crate_name().is_some_and(|name| CRATES.contains(&name));
    for file in tree.ending(".rs").filter(of_crates).filter(|file| !file.production.is_empty()) {
        let text = source::without_comments(&file.text);
        let text = source::without_parts(&text, &source::test_items(&file.masked));
        for (format, mark, path) in WRITERS.iter().filter(|(.., path)| *path != file.path) {
            let lines = text.lines().enumerate().filter(|(_, line)| line.contains(mark));
            let problem = format!("writes {format}: return rows, fields or cases, and let {path} write them");
            problems
                .extend(lines.map(|(index, _)| Problem::at_line(&file.path, index + 1, problem.as_str())));
        }
    }
    let is_gone = |path: &str, mark: &str| tree.file(path).is_none_or(|file| !file.text.contains(mark));
    let gone = WRITERS.iter().filter(|(_, mark, path)| is_gone(path, mark));
    problems.extend(gone.map(|(format, mark, path)| {
        Problem::in_file(path, format!("no longer writes {format} by `{mark}`: correct the rule"))
    }));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    #[test]
    fn a_second_writer_of_a_format_is_a_problem() {
        let found = |text: &str| {
            let mut files: Vec<(&str, String)> = WRITERS
                .iter()
                .map(|(_, mark, path)| (*path, format!("fn f() {{ g(r#\"{mark}\"#) }}")))
                .collect();
            files.push(("crates/report/src/a.rs", text.to_owned()));
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
            texts(&check(&Tree::from_texts(&files))).len()
        };
        assert_eq!(found("fn f() { cells.join(\", \") }"), 0);
        assert_eq!(found("fn f() { cells.join(\",\") + \"\\n\" }"), 1);
        assert_eq!(found("fn f() { serde_json::to_string_pretty(&it) }"), 1);
        assert_eq!(found("fn f() { out += \"<testsuite name\" }"), 1);
        assert_eq!(found("fn f() { out += \"# TYPE a gauge\" }"), 1);
        assert_eq!(found("#[cfg(test)]\nmod tests { fn f() { out += \"# TYPE a gauge\" } }"), 0);
    }

    #[test]
    fn a_writer_that_moved_is_a_problem() {
        assert_eq!(check(&Tree::from_texts(&[("crates/report/src/a.rs", "")])).len(), WRITERS.len());
    }
}
