//! Words that may not stand in code, or only in the files that a short list names: unfinished work,
//! tests left out, clocks, and prints from libraries. Comments and literals do not count.

use super::tree::{File, Problem, Tree};

/// Words, where they are looked for, the files that may have them, and what to say about others.
pub struct Ban<'a> {
    /// What is looked for.
    pub words: &'a [&'a str],
    /// Where.
    pub scope: Scope,
    /// Path of a file, reason.
    pub allowed: &'a [(&'a str, &'a str)],
    /// Why not, and what to do.
    pub why: &'a str,
}

/// Which code a ban is about.
#[derive(Copy, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All Rust.
    Everywhere,
    /// What is not test code, xtask excepted.
    Production,
    /// What is not test code, in the crates that are libraries.
    Libraries,
    /// What is not test code, in these crates.
    Crates(&'static [&'static str]),
}

/// The crates that own the terminal and the exit status: the product's, and two chores.
const BINARIES: [&str; 3] = ["cli", "fuzz", "power_loss"];

impl Scope {
    /// The text of a file that the ban looks at.
    fn text(self, file: &File) -> &str {
        match (self, file.crate_name()) {
            (Scope::Everywhere, _) => &file.masked,
            (_, None) => "",
            (Scope::Libraries, Some(name)) if BINARIES.contains(&name) => "",
            (Scope::Crates(names), Some(name)) if !names.contains(&name) => "",
            _ => &file.production,
        }
    }
}

/// Looks for banned words, and for permissions that nobody uses.
pub fn check(tree: &Tree, bans: &[Ban<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for ban in bans {
        let has_word = |line: &str| ban.words.iter().find(|word| contains_word(line, word)).copied();
        for file in tree.ending(".rs") {
            if ban.allowed.iter().any(|(path, _)| *path == file.path) {
                continue;
            }
            for (index, line) in ban.scope.text(file).lines().enumerate() {
                if let Some(word) = has_word(line) {
                    problems.push(Problem::at_line(&file.path, index + 1, format!("`{word}`: {}", ban.why)));
                }
            }
        }
        let used = |path: &str| {
            tree.file(path)
                .is_some_and(|file| ban.scope.text(file).lines().any(|line| has_word(line).is_some()))
        };
        for (path, _) in ban.allowed.iter().filter(|(path, _)| !used(path)) {
            let text = format!("no longer needs its permission for `{}`: remove it", ban.words[0]);
            problems.push(Problem::in_file(path, text));
        }
    }
    problems
}

/// Whether `word` stands in `line` without a longer word around its beginning.
fn contains_word(line: &str, word: &str) -> bool {
    let starts_word = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| starts_word(at) || word.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::BANS;
    use crate::tidy::testing::texts;

    /// The problems that the project's own bans have with one file, permissions left aside.
    fn check_file(path: &str, text: &str) -> Vec<String> {
        let problems = check(&Tree::from_texts(&[(path, text)]), BANS);
        let about_code = problems.into_iter().filter(|problem| problem.line > 0).collect::<Vec<_>>();
        texts(&about_code).iter().map(|text| text.split(':').next().expect("a word").to_owned()).collect()
    }

    #[test]
    fn unfinished_work_is_a_problem_also_in_tests() {
        assert_eq!(check_file("crates/wire/src/a.rs", "fn f() { todo!() }"), ["`todo!`"]);
        assert_eq!(check_file("crates/wire/tests/a.rs", "fn f() { unimplemented!() }"), ["`unimplemented!`"]);
        assert_eq!(check_file("xtask/src/a.rs", "#[test]\n#[ignore]\nfn f() {}"), ["`#[ignore`"]);
    }

    #[test]
    fn words_in_comments_and_texts_are_no_problem() {
        assert_eq!(check_file("crates/wire/src/a.rs", "// todo!\nfn f() { g(\"todo!()\") }"), [""; 0]);
    }

    #[test]
    fn a_clock_read_outside_its_module_is_a_problem() {
        for call in ["Instant::now()", "clock_gettime(id)", "start.elapsed()"] {
            assert_eq!(check_file("crates/engine/src/client.rs", &format!("fn f() {{ {call}; }}")).len(), 1);
        }
        assert_eq!(check_file("crates/engine/src/client.rs", "fn f() { SystemTime::now(); }").len(), 1);
    }

    #[test]
    fn a_print_from_a_library_is_a_problem() {
        for call in ["println!(1)", "eprintln!(1)", "std::process::exit(1)", "io::stdout()"] {
            let text = format!("fn f() {{ {call}; }}");
            assert_eq!(check_file("crates/report/src/a.rs", &text).len(), 1, "{call}");
            assert_eq!(check_file("crates/cli/src/a.rs", &text).len(), 0, "{call}");
        }
        assert_eq!(
            check_file("crates/report/src/a.rs", "#[cfg(test)]\nmod tests { fn f() { println!(); } }").len(),
            0
        );
    }

    #[test]
    fn a_pure_crate_that_opens_something_is_a_problem() {
        for module in ["net", "fs", "thread", "env", "process", "os"] {
            let text = format!("use std::{module}::x;");
            assert_eq!(check_file("crates/stats/src/a.rs", &text).len(), 1, "{module}");
            assert_eq!(check_file("crates/server/src/a.rs", &text).len(), 0, "{module}");
        }
    }

    #[test]
    fn a_lock_in_the_engine_is_a_problem() {
        assert_eq!(check_file("crates/engine/src/worker.rs", "use std::sync::Mutex;"), ["`Mutex`"]);
    }

    #[test]
    fn a_permission_that_nobody_uses_is_a_problem() {
        let bans = [Ban {
            words: &["clock"],
            scope: Scope::Everywhere,
            allowed: &[("a.rs", "it is one")],
            why: "no",
        }];
        assert_eq!(texts(&check(&Tree::from_texts(&[("a.rs", "use clock;")]), &bans)), [""; 0]);
        assert_eq!(
            texts(&check(&Tree::from_texts(&[("a.rs", "use a;")]), &bans)),
            ["no longer needs its permission for `clock`: remove it"]
        );
    }
}
