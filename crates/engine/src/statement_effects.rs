//! The effects that statements may have, by their first words: whether they commit, which decides if a transaction whose
//! connection was lost has failed or is unknown, and whether they write. A statement is assumed to commit where its words
//! do not exclude it. Pure.

use sql::{StatementWord, statement_words};

/// Whether the server may have committed something if it has executed these statements. `in_block`: they were sent within
/// a transaction block.
pub(crate) fn may_commit<'s>(statements: impl Iterator<Item = &'s [u8]>, in_block: bool) -> bool {
    let mut in_block = in_block;
    for words in statements.flat_map(statement_words) {
        match effect(&words) {
            Effect::Begin => in_block = true,
            Effect::Rollback => in_block = false,
            Effect::RollbackTo => {}
            Effect::Commit => return true,
            Effect::Other if in_block => {}
            Effect::Other => return true,
        }
    }
    false
}

fn is(word: &StatementWord<'_>, wanted: &[&str]) -> bool {
    wanted.iter().any(|wanted| word.is(wanted))
}

/// Whether a text has a statement that writes, by the first word of each; `WITH` may.
pub(crate) fn writes(text: &[u8]) -> bool {
    let changes = ["insert", "update", "delete", "merge"];
    statement_words(text).iter().any(|words| {
        let [first, rest @ ..] = &words[..] else { return false };
        is(first, &changes)
            || is(first, &["copy", "truncate", "call", "do"])
            || is(first, &["with"]) && rest.iter().any(|word| is(word, &changes))
    })
}

/// Whether all statements of a text are queries and transaction control that can write only by functions that they call:
/// without row locks, `INTO` and sequences. A variable may stand for any word.
pub(crate) fn only_reads(text: &[u8]) -> bool {
    const READS: [&str; 19] = [
        "select",
        "values",
        "table",
        "show",
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "set",
        "reset",
        "fetch",
        "move",
        "declare",
        "close",
        "discard",
    ];
    const WRITES: [&str; 11] = [
        "update",
        "share",
        "into",
        "nextval",
        "setval",
        "insert",
        "delete",
        "merge",
        "lo_create",
        "lo_from_bytea",
        "pg_logical_emit_message",
    ];
    statement_words(text).iter().all(|words| {
        words.first().is_some_and(|first| is(first, &READS)) && !words.iter().any(|word| is(word, &WRITES))
    })
}

/// The effect of a statement on the transaction, by its first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, END, COMMIT PREPARED, PREPARE TRANSACTION; also a variable, whose value may be any of these.
    Commit,
    /// ROLLBACK, ABORT.
    Rollback,
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo,
    Other,
}

fn effect(words: &[StatementWord<'_>]) -> Effect {
    let word = |at: usize| words.get(at).map_or(Vec::new(), |word| word.text.to_ascii_uppercase());
    match word(0).as_slice() {
        b"BEGIN" | b"START" => Effect::Begin,
        b"COMMIT" | b"END" => Effect::Commit,
        b"PREPARE" if word(1) == b"TRANSACTION" => Effect::Commit,
        b"ROLLBACK" | b"ABORT" => {
            let is_noise = matches!(word(1).as_slice(), b"WORK" | b"TRANSACTION");
            let next = if is_noise { word(2) } else { word(1) };
            if next == b"TO" { Effect::RollbackTo } else { Effect::Rollback }
        }
        [b'$' | b':', ..] => Effect::Commit,
        _ => Effect::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, outside: bool, inside: bool) {
        let may = |in_block| may_commit([text.as_bytes()].into_iter(), in_block);
        assert_eq!((may(false), may(true)), (outside, inside), "{text}");
    }

    #[test]
    fn a_text_only_reads_without_row_locks_and_sequences() {
        for text in [
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1;",
            "BEGIN; SELECT 'update' AS \"share\"; END",
            "select 1 -- for update\n",
        ] {
            assert!(only_reads(text.as_bytes()), "{text}");
        }
        for text in [
            "UPDATE t SET a = 1",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t FOR KEY SHARE",
            "SELECT nextval('s')",
            "SELECT * INTO u FROM t",
            "WITH gone AS (DELETE FROM t RETURNING a) SELECT a FROM gone",
            "BEGIN; INSERT INTO t VALUES (1); END",
            "CREATE TABLE t ()",
            ":anything",
            "CALL f()",
        ] {
            assert!(!only_reads(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_statement_may_commit_outside_of_a_block_and_a_commit_everywhere() {
        check("UPDATE t SET a = 1", true, false);
        check("SELECT f()", true, false);
        check("COMMIT", true, true);
        check("end", true, true);
        check("PREPARE TRANSACTION 'a'", true, true);
        check("PREPARE p AS SELECT 1", true, false);
        check("commit prepared 'a'", true, true);
    }

    #[test]
    fn the_begin_and_the_rollback_of_a_block_commit_nothing() {
        check("BEGIN", false, false);
        check("start transaction isolation level serializable", false, false);
        check("ROLLBACK", false, false);
        check("ROLLBACK WORK TO SAVEPOINT s", false, false);
        check("SAVEPOINT s", true, false);
        check("", false, false);
        check(" -- nothing; COMMIT\n /* nor /* here */ ; */", false, false);
    }

    #[test]
    fn several_statements_of_one_message_are_followed_in_order() {
        check("BEGIN; UPDATE t SET a = 1", false, false);
        check("BEGIN; UPDATE t SET a = 1; COMMIT", true, true);
        check("ROLLBACK; UPDATE t SET a = 1", true, true);
        check("BEGIN; SELECT CASE WHEN true THEN 1 END", false, false);
    }

    #[test]
    fn a_semicolon_in_a_text_or_a_comment_does_not_end_a_statement() {
        check(
            "BEGIN; SELECT ';COMMIT', \";COMMIT\" /* ;COMMIT */, $$;COMMIT$$, $a$;COMMIT$$;$a$ -- ;COMMIT",
            false,
            false,
        );
        check("BEGIN; SELECT $1; COMMIT", true, true);
        check("BEGIN; SELECT E'\\'; COMMIT; '", false, false);
        check("BEGIN; SELECT E'\\\\'; COMMIT", true, true);
        check("BEGIN; SELECT date'\\'; COMMIT", true, true);
        check("BEGIN; SELECT a$b$; COMMIT; SELECT $b$", true, true);
        check("BEGIN; CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END", false, false);
    }

    #[test]
    fn a_variable_in_the_place_of_a_statement_may_be_anything() {
        check("$1", true, true);
        check("BEGIN; :end", true, true);
    }

    #[test]
    fn a_script_writes_if_one_of_its_statements_does() {
        for text in ["update t set a = 1", "SELECT 1; INSERT INTO t VALUES (1)", "/* a */ COPY t FROM STDIN"]
        {
            assert!(writes(text.as_bytes()), "{text}");
        }
        assert!(writes(b"WITH gone AS (DELETE FROM t RETURNING a) SELECT * FROM gone"));
        for text in ["SELECT 'x; INSERT'", "WITH a AS (SELECT 1) SELECT 2", "BEGIN", ""] {
            assert!(!writes(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn any_text_has_an_end() {
        for text in ["'", "\"", "$$", "$a$", "/*", "--", "$", "BEGIN;'", "-", "/"] {
            may_commit([text.as_bytes()].into_iter(), true);
        }
    }
}
