//! No SQL of the product sets anything for the rest of a session: through a pooler, the setting would stay in a connection that
//! others get afterwards. `connect` has the functions for settings that end with a transaction, and `set_for_itself`, which
//! does nothing through a pooler. Literals count; comments and tests do not.

use super::source;
use super::tree::{File, Problem, Tree};

/// The call after which a literal may set something.
const PERMITTED: &str = "set_for_itself(";
/// Files that may, each with its reason.
const ALLOWED: [(&str, &str); 5] = [
    ("crates/power_loss/src/load.rs", "a program for tests, with a server of its own"),
    ("crates/null/src/session/statement.rs", "it answers statements, and sends none"),
    ("crates/connect/src/patience.rs", "statements that need no transaction block, with RESET on every path"),
    ("crates/connect/src/session/state.rs", "it restores what SQL of users changed"),
    ("crates/connect/src/session/own.rs", "the functions that the others use"),
];
/// What follows SET if the setting ends with the transaction, or if the words are no statement of the session.
const NOT_OF_THE_SESSION: [&str; 3] = ["LOCAL", "TRANSACTION", "CONSTRAINTS"];
/// What follows SET and a name of two words or of a special kind.
const SPECIAL: [&str; 4] = ["ROLE", "SESSION", "TIME", "NAMES"];

/// Looks for SET, RESET, DISCARD and `set_config(…, false)` in literals.
pub fn check(tree: &Tree) -> Vec<Problem> {
    let product =
        |file: &&File| file.crate_name().is_some() && !ALLOWED.iter().any(|(path, _)| *path == file.path);
    tree.ending(".rs").filter(product).filter(|file| !file.production.is_empty()).flat_map(problems).collect()
}

fn problems(file: &File) -> Vec<Problem> {
    let text = source::without_comments(&file.text);
    let production = source::without_parts(&text, &source::test_items(&file.masked));
    let mut problems = Vec::new();
    for (at, _) in production.match_indices(['"', ';']) {
        let statement = production[at + 1..].trim_start_matches([' ', '\n', '\\']);
        if !sets(statement) || is_permitted(&production[..at]) {
            continue;
        }
        let line = production[..at].matches('\n').count() + 1;
        let shown: Vec<&str> = statement.split_whitespace().take(2).collect();
        let text = format!(
            "sets something for the rest of a session ({} …): use `begin_own` or `in_own_transaction` of connect, \
             set_config(…, true), or `set_for_itself`",
            shown.join(" ")
        );
        problems.push(Problem::at_line(&file.path, line, text));
    }
    for (at, _) in production.match_indices("set_config(") {
        let arguments: String = production[at..].chars().take_while(|c| *c != '"').collect();
        if arguments.contains(", false)") {
            let line = production[..at].matches('\n').count() + 1;
            let text =
                "set_config(…, false) sets something for the rest of a session: use set_config(…, true)";
            problems.push(Problem::at_line(&file.path, line, text));
        }
    }
    problems
}

/// Whether the literal is the argument of the permitted call: no statement has ended since.
fn is_permitted(before: &str) -> bool {
    before.rfind(PERMITTED).is_some_and(|at| {
        let between = &before[at + PERMITTED.len()..];
        // Within the literal of the call there may be further statements.
        !between.contains(");\n") && !between.contains(")?") && !between.contains("\n\n")
    })
}

/// Whether a statement begins here that sets something for the rest of a session.
fn sets(statement: &str) -> bool {
    let literal = statement.split('"').next().unwrap_or_default();
    let words: Vec<&str> = literal.split([' ', '\n']).filter(|word| !word.is_empty()).take(3).collect();
    let (Some(first), Some(second)) = (words.first(), words.get(1)) else { return false };
    let second = second.trim_end_matches(';');
    let is_name = |word: &str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '{' | '}'))
            && word.chars().any(|c| c.is_ascii_lowercase())
    };
    match *first {
        "RESET" | "DISCARD" => is_name(second) || second == "ALL",
        "SET" | "set" if NOT_OF_THE_SESSION.contains(&&*second.to_ascii_uppercase()) => false,
        "SET" | "set" => {
            let third = words.get(2).copied().unwrap_or_default();
            let is_assigned = third == "=" || third == "TO" || (third == "to" && second.contains('_'));
            (is_name(second) && is_assigned)
                || (*first == "SET" && SPECIAL.contains(&second) && !third.is_empty())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::texts;

    fn count(text: &str) -> usize {
        texts(&check(&Tree::from_texts(&[("crates/lab/src/a.rs", text)]))).len()
    }

    #[test]
    fn settings_of_the_session_are_found() {
        for sql in [
            "SET work_mem = '1MB'",
            "set statement_timeout to 0",
            "SET DateStyle = 'ISO'; SELECT 1",
            "BEGIN; SET lock_timeout = 1",
            "SET SESSION AUTHORIZATION a",
            "SET ROLE a",
            "SET TIME ZONE 'UTC'",
            "RESET ALL",
            "RESET work_mem",
            "DISCARD ALL",
            "SELECT set_config('work_mem', '1MB', false)",
        ] {
            assert_eq!(count(&format!("const SQL: &str = \"{sql}\";\n")), 1, "{sql}");
        }
        assert_eq!(count("fn f() { s.execute(&format!(\"SET application_name = {}\", name)); }\n"), 1);
    }

    #[test]
    fn settings_of_a_transaction_and_other_words_are_not() {
        for sql in [
            "BEGIN; SET LOCAL work_mem = '1MB'",
            "SET TRANSACTION READ ONLY",
            "UPDATE t SET a = 1",
            "SELECT set_config('work_mem', '1MB', true)",
            "set PGMETER_STATE_DIR to a directory elsewhere",
            "set a password",
            "set it to 1",
            "set {variable} to a directory",
            "Set ssl = on",
            "SET SCHEMA",
            "ALTER SYSTEM RESET work_mem",
        ] {
            assert_eq!(count(&format!("const SQL: &str = \"{sql}\";\n")), 0, "{sql}");
        }
        assert_eq!(count("fn f() {\n    s.set_for_itself(\"RESET ALL; SET a = 1; SET b = 2\");\n}\n"), 0);
        let later = "fn f() {\n    s.set_for_itself(\"SET a = 1\");\n    s.execute(\"SET b = 1\");\n}\n";
        assert_eq!(count(later), 1);
        assert_eq!(
            count(
                "/// `\"SET a = 1\"`\nfn f() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"SET a = 1\";\n}\n"
            ),
            0
        );
    }
}
