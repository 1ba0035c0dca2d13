//! The three built-in scripts, word for word those of `pgbench`, and their look-up by prefix.
//! The text is not run here: `script` compiles it, the engine runs it.

use script::{Dialect, ParseError, Program, Symbols};

use crate::WorkloadError;

/// A script that needs no file.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// What `-b` calls it.
    pub name: &'static str,
    /// What a report calls it.
    pub description: &'static str,
    /// The script itself, each command on a line of its own.
    pub text: &'static str,
    /// The beginning of the command that locks one of as many rows as the scale says until the transaction ends, if
    /// there is one.
    pub contended: Option<&'static str>,
}

/// Every built-in script, in the order in which `-b list` shows them.
pub const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        text: "\
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
        contended: Some("UPDATE pgbench_branches"),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        text: "\
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
        contended: None,
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        text: "\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
        contended: None,
    },
];

impl Builtin {
    /// The script as a program; `symbols` is the run's, shared by all its scripts.
    pub fn program(&self, symbols: &mut Symbols) -> Result<Program, ParseError> {
        script::parse(self.description, self.text.as_bytes(), symbols, Dialect::Pgbench)
    }
}

/// The one built-in script whose name begins with `prefix`. As in `pgbench`, case counts, a prefix of
/// two names is an error, and so is a prefix of none.
pub fn builtin(prefix: &str) -> Result<&'static Builtin, WorkloadError> {
    let mut matching = BUILTINS.iter().filter(|builtin| builtin.name.starts_with(prefix));
    match (matching.next(), matching.count()) {
        (Some(found), 0) => Ok(found),
        (Some(_), more) => {
            Err(WorkloadError::AmbiguousBuiltin { prefix: prefix.to_owned(), found: more + 1 })
        }
        (None, _) => Err(WorkloadError::UnknownBuiltin { name: prefix.to_owned() }),
    }
}

/// What `-b list` shows: a heading, then one line per script, without a last newline (`pgbench` shows an empty
/// line behind it, also where it is part of an error).
pub fn builtin_list() -> String {
    let mut list = String::from("Available builtin scripts:");
    for builtin in &BUILTINS {
        list.push_str(&format!("\n  {:>13}: {}", builtin.name, builtin.description));
    }
    list
}

#[cfg(test)]
mod tests {
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
            assert_eq!(builtin(prefix).expect(prefix).name, name);
        }
    }

    #[test]
    fn a_prefix_of_two_names_is_ambiguous_in_the_words_of_pgbench() {
        assert_eq!(
            builtin("s").expect_err("two names begin with s").to_string(),
            "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"\n\
             Available builtin scripts:\n      \
             tpcb-like: <builtin: TPC-B (sort of)>\n  \
             simple-update: <builtin: simple update>\n    \
             select-only: <builtin: select only>"
        );
        assert!(matches!(builtin(""), Err(WorkloadError::AmbiguousBuiltin { found: 3, .. })));
    }

    #[test]
    fn an_unknown_name_is_refused_in_the_words_of_pgbench() {
        for name in ["x", "Select", "select-only2"] {
            let message = builtin(name).expect_err(name).to_string();
            let first = message.lines().next().expect("a line");
            assert_eq!(first, format!("no builtin script found for name \"{name}\""));
        }
    }

    #[test]
    fn every_builtin_compiles_to_as_many_commands_as_it_has_lines() {
        for builtin in &BUILTINS {
            let program = builtin.program(&mut Symbols::new()).expect(builtin.name);
            assert_eq!(program.name(), builtin.description);
            assert_eq!(program.commands().len(), builtin.text.lines().count(), "{}", builtin.name);
        }
    }
}
