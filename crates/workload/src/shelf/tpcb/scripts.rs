//! The three scripts, word for word those of `pgbench`, and their look-up by prefix.
//! The text is not run here: the crate `script` parses it, the engine runs it.

use std::borrow::Cow;

use crate::WorkloadError;
use loading::contract::scripts::Script;

/// Every built-in script, in the order in which `-b list` shows them.
pub static SCRIPTS: [Script; 3] = [
    builtin(
        "tpcb-like",
        "<builtin: TPC-B (sort of)>",
        1,
        false,
        Some("UPDATE pgbench_branches"),
        "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    ),
    builtin(
        "simple-update",
        "<builtin: simple update>",
        0,
        false,
        None,
        "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    ),
    builtin(
        "select-only",
        "<builtin: select only>",
        0,
        true,
        None,
        "\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
    ),
];

const fn builtin(
    name: &'static str,
    description: &'static str,
    weight: u32,
    only_reads: bool,
    contended: Option<&'static str>,
    text: &'static str,
) -> Script {
    let (name, description, text) = (Cow::Borrowed(name), Cow::Borrowed(description), Cow::Borrowed(text));
    Script { name, description, text, weight, only_reads, contended }
}

/// The one built-in script whose name begins with `prefix`. As in `pgbench`, case counts, a prefix of
/// two names is an error, and so is a prefix of none.
pub fn script(prefix: &str) -> Result<&'static Script, WorkloadError> {
    let mut matching = SCRIPTS.iter().filter(|script| script.name.starts_with(prefix));
    match (matching.next(), matching.count()) {
        (Some(found), 0) => Ok(found),
        (Some(_), more) => Err(WorkloadError::AmbiguousBuiltin {
            prefix: prefix.to_owned(),
            found: more + 1,
            known: script_list(),
        }),
        (None, _) => {
            let names: Vec<&str> = SCRIPTS.iter().map(|script| script.name.as_ref()).collect();
            let similar = config::nearest(prefix, &names).unwrap_or(names[0]).to_owned();
            let known = names.join(", ");
            Err(WorkloadError::UnknownBuiltin { name: prefix.to_owned(), similar, known })
        }
    }
}

/// What `-b list` shows: a heading, then one line per script, without a last newline (`pgbench` shows an empty
/// line behind it, also where it is part of an error).
pub fn script_list() -> String {
    let mut list = String::from("Available builtin scripts:");
    for script in &SCRIPTS {
        list.push_str(&format!("\n  {:>13}: {}", script.name, script.description));
    }
    list
}

#[cfg(test)]
mod tests {
    use ::script::{Dialect, Symbols, parse};

    use super::*;

    #[test]
    fn a_prefix_of_one_name_finds_it() {
        for (prefix, name) in [
            ("t", "tpcb-like"),
            ("tpcb-like", "tpcb-like"),
            ("si", "simple-update"),
            ("se", "select-only"),
            ("select-only", "select-only"),
        ] {
            assert_eq!(script(prefix).expect(prefix).name, name);
        }
    }

    #[test]
    fn a_prefix_of_two_names_is_ambiguous_in_the_words_of_pgbench() {
        assert_eq!(
            script("s").expect_err("two names begin with s").to_string(),
            "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"\n\
             Available builtin scripts:\n      \
             tpcb-like: <builtin: TPC-B (sort of)>\n  \
             simple-update: <builtin: simple update>\n    \
             select-only: <builtin: select only>"
        );
        assert!(matches!(script(""), Err(WorkloadError::AmbiguousBuiltin { found: 3, .. })));
    }

    #[test]
    fn an_unknown_name_is_refused_in_the_words_of_pgbench_with_the_command_that_was_meant() {
        for (name, similar) in [("x", "tpcb-like"), ("select-onyl", "select-only")] {
            let message = script(name).expect_err(name).to_string();
            let expected = format!(
                "no builtin script found for name \"{name}\"; did you mean: pgmeter bench -b {similar}, or one of \
                 tpcb-like, simple-update, select-only"
            );
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn every_script_is_parsed_to_as_many_commands_as_it_has_lines() {
        for found in &SCRIPTS {
            let (text, mut symbols) = (found.text.as_bytes(), Symbols::new());
            let program = parse(&found.description, text, &mut symbols, Dialect::Pgbench).expect("a script");
            assert_eq!(program.commands().len(), found.text.lines().count(), "{}", found.name);
        }
    }
}
