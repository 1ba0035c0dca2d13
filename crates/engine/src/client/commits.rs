//! Whether statements may commit: decides if a transaction whose connection was lost has failed or is unknown. Reads only
//! the first words of each statement, and assumes that a statement commits where these do not exclude it. Pure.

/// Whether the server may have committed something if it has executed these statements. `in_block`: they were sent within
/// a transaction block.
pub(super) fn may_commit<'s>(statements: impl Iterator<Item = &'s [u8]>, in_block: bool) -> bool {
    let mut in_block = in_block;
    for text in statements {
        let mut rest = text;
        while let Some(words) = next_statement(&mut rest) {
            match words {
                Words::Begin => in_block = true,
                Words::Rollback => in_block = false,
                Words::RollbackTo | Words::Nothing => {}
                Words::Commit => return true,
                Words::Other if in_block => {}
                Words::Other => return true,
            }
        }
    }
    false
}

/// Whether a text has a statement that writes, by the first word of each; `WITH` may.
pub(crate) fn writes(text: &[u8]) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let first = word(&mut rest);
        let is_write = match first.as_slice() {
            b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY" | b"TRUNCATE" | b"CALL" | b"DO" => true,
            b"WITH" => {
                let words = rest.split(|byte| !byte.is_ascii_alphabetic()).map(<[u8]>::to_ascii_uppercase);
                words
                    .into_iter()
                    .any(|word| matches!(word.as_slice(), b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE"))
            }
            _ => false,
        };
        if is_write {
            return true;
        }
        skip_statement(&mut rest);
    }
    false
}

/// The effect of a statement on the transaction, by its first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// No statement.
    Nothing,
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

/// The words of the next statement, which is removed from `text`; `None` at the end.
fn next_statement(text: &mut &[u8]) -> Option<Words> {
    if text.is_empty() {
        return None;
    }
    let first = word(text);
    let kind = match first.as_slice() {
        b"" if text.is_empty() || text.starts_with(b";") => Words::Nothing,
        b"BEGIN" | b"START" => Words::Begin,
        b"COMMIT" | b"END" => Words::Commit,
        b"PREPARE" if word(text) == b"TRANSACTION" => Words::Commit,
        b"ROLLBACK" | b"ABORT" => {
            let mut second = word(text);
            if matches!(second.as_slice(), b"WORK" | b"TRANSACTION") {
                second = word(text);
            }
            if second == b"TO" { Words::RollbackTo } else { Words::Rollback }
        }
        // A variable or something else that is no word.
        b"" if text.starts_with(b"$") || text.starts_with(b":") => Words::Commit,
        _ => Words::Other,
    };
    skip_statement(text);
    Some(kind)
}

/// The next word in capitals, which is removed; empty if something else follows.
fn word(text: &mut &[u8]) -> Vec<u8> {
    skip_blanks(text);
    let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'_').count();
    let (word, rest) = text.split_at(length);
    *text = rest;
    word.to_ascii_uppercase()
}

/// Removes white space and comments.
fn skip_blanks(text: &mut &[u8]) {
    loop {
        *text = text.trim_ascii_start();
        if text.starts_with(b"--") {
            let length = text.iter().take_while(|byte| **byte != b'\n').count();
            *text = &text[length..];
        } else if text.starts_with(b"/*") {
            skip_comment(text);
        } else {
            return;
        }
    }
}

/// Removes a comment of C's style; these can be nested.
fn skip_comment(text: &mut &[u8]) {
    let mut depth = 0_usize;
    while !text.is_empty() {
        let (change, length) = match text {
            [b'/', b'*', ..] => (1, 2),
            [b'*', b'/', ..] => (-1, 2),
            _ => (0, 1),
        };
        *text = &text[length..];
        depth = depth.saturating_add_signed(change);
        if depth == 0 {
            return;
        }
    }
}

/// Removes the rest of a statement and its semicolon.
fn skip_statement(text: &mut &[u8]) {
    while let Some((&byte, rest)) = text.split_first() {
        match byte {
            b';' => {
                *text = rest;
                return;
            }
            b'\'' | b'"' => {
                let length = rest.iter().take_while(|other| **other != byte).count();
                *text = rest.get(length + 1..).unwrap_or_default();
            }
            b'-' if rest.starts_with(b"-") => skip_blanks(text),
            b'/' if rest.starts_with(b"*") => skip_comment(text),
            b'$' => skip_dollar(text),
            _ => *text = rest,
        }
    }
}

/// Removes a text in dollar quotes, or only the dollar.
fn skip_dollar(text: &mut &[u8]) {
    let tag = text[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let is_quote = text.get(tag + 1) == Some(&b'$') && !text[1].is_ascii_digit();
    if !is_quote {
        *text = &text[1..];
        return;
    }
    let (quote, rest) = text.split_at(tag + 2);
    let end = rest.windows(quote.len()).position(|window| window == quote);
    *text = end.map_or(&[], |end| &rest[end + quote.len()..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, outside: bool, inside: bool) {
        let may = |in_block| may_commit([text.as_bytes()].into_iter(), in_block);
        assert_eq!((may(false), may(true)), (outside, inside), "{text}");
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
