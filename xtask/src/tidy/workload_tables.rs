//! Only the crate `workload` names tables of a workload that comes with pgmeter: other crates ask it, or read it in a
//! record. Literals count, since SQL stands in them; comments and tests do not.

use super::source;
use super::tree::{File, Problem, Tree};

/// The one crate that may.
const OWNER: &str = "workload";
/// What the names of the tables begin with.
const TABLES: [&str; 4] = ["pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"];

/// Looks for names of tables outside of their crate.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let others = |file: &&File| file.crate_name().is_some_and(|name| name != OWNER);
    tree.ending(".rs").filter(others).filter(|file| !file.production.is_empty()).flat_map(problems).collect()
}

fn problems(file: &File) -> Vec<Problem> {
    let text = source::without_comments(&file.text);
    let production = source::without_parts(&text, &source::test_items(&file.masked));
    let in_line = |(index, line): (usize, &str)| {
        let table = TABLES.iter().find(|table| line.contains(**table))?;
        let text = format!("names the table {table}: ask `{OWNER}`, or the record");
        Some(Problem::at_line(&file.path, index + 1, text))
    };
    production.lines().enumerate().filter_map(in_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn check_file(path: &str, text: &str) -> Vec<String> {
        texts(&check(&Tree::from_texts(&[(path, text)])))
    }

    #[test]
    fn a_table_is_named_by_its_crate_alone() {
        let code = "const SQL: &str = \"select 1 from pgbench_branches\";\n";
        assert_eq!(
            check_file("crates/observe/src/a.rs", code),
            ["names the table pgbench_branches: ask `workload`, or the record"]
        );
        assert_eq!(check_file("crates/workload/src/a.rs", code), [""; 0]);
        assert_eq!(check_file("xtask/src/a.rs", code), [""; 0]);
    }

    #[test]
    fn comments_and_tests_may_name_it() {
        assert_eq!(check_file("crates/run/src/a.rs", "//! Counts pgbench_branches.\nfn f() {}\n"), [""; 0]);
        let test = "fn f() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"pgbench_tellers\";\n}\n";
        assert_eq!(check_file("crates/run/src/a.rs", test), [""; 0]);
        assert_eq!(check_file("crates/run/tests/a.rs", "const A: &str = \"pgbench_tellers\";\n"), [""; 0]);
    }
}
