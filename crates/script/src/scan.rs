//! Splits a script into SQL commands as pgbench does: by psql's tokens and statements, and at backslashes, which begin meta
//! commands. Called by `program`, which parses those. The time is linear.

use sql::{Lexer, Nesting, Token, TokenKind};

/// End of a piece of SQL.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// `;`, which belongs to the command.
    Semicolon,
    /// A backslash, which starts a meta command.
    Backslash,
    /// The end of the script.
    End,
}

/// A piece of a script.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The SQL with `\;` and `\:` replaced; empty if there are only spaces and `--` comments.
    pub(crate) sql: Vec<u8>,
    /// Start of the SQL in the script.
    pub(crate) start: usize,
    /// First byte after the piece: after the semicolon, or at the backslash.
    pub(crate) end: usize,
    /// Reason of the end.
    pub(crate) stop: Stop,
}

/// Reads the piece of `script` that starts at byte `from`.
pub(crate) fn scan(script: &[u8], from: usize) -> Piece {
    let mut lexer = Lexer::new(script).with_variables();
    lexer.continue_at(from);
    let is_before = |token: &Token| matches!(token.kind, TokenKind::Space | TokenKind::LineComment);
    let start = lexer.clone().find(|token| !is_before(token)).map_or(script.len(), |token| token.start);
    lexer.continue_at(start);
    let mut nesting = Nesting::default();
    let mut piece = Piece { sql: Vec::new(), start, end: script.len(), stop: Stop::End };
    let mut copied = start;
    while let Some(token) = lexer.next() {
        if token.is(script, b'\\') {
            let escaped = script.get(token.end);
            if !matches!(escaped, Some(b';' | b':')) {
                (piece.end, piece.stop) = (token.start, Stop::Backslash);
                break;
            }
            // An escaped character: copies the text before the backslash, then the character.
            piece.sql.extend_from_slice(&script[copied..token.start]);
            copied = token.end;
            lexer.continue_at(token.end + 1);
            if escaped == Some(&b';') {
                nesting.join_statement();
            }
        } else if nesting.ends_at(&token, script) {
            (piece.end, piece.stop) = (token.end, Stop::Semicolon);
            break;
        }
    }
    piece.sql.extend_from_slice(&script[copied..piece.end]);
    piece
}

/// Positions of the variables of an SQL command outside of strings, quoted names, comments and brackets, in order. `None` if
/// they may belong to the SQL/JSON functions in which a colon separates keys and values.
pub(crate) fn bare_variables(sql: &[u8]) -> Option<Vec<usize>> {
    let (mut variables, mut brackets) = (Vec::new(), 0_usize);
    for token in Lexer::new(sql).with_variables() {
        match (token.kind, sql[token.start]) {
            (TokenKind::Symbol, b'[') => brackets += 1,
            (TokenKind::Symbol, b']') => brackets = brackets.saturating_sub(1),
            (TokenKind::Variable, _) if brackets == 0 => variables.push(token.start),
            (TokenKind::Word, _) => {
                let is = |name: &[u8]| token.of(sql).eq_ignore_ascii_case(name);
                if is(b"json_object") || is(b"json_objectagg") {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(variables)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The commands of a script without meta commands; a backslash is a separate piece.
    fn pieces(script: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut from = 0;
        loop {
            let piece = scan(script.as_bytes(), from);
            from = piece.end;
            if !piece.sql.is_empty() {
                found.push(String::from_utf8(piece.sql).unwrap());
            }
            match piece.stop {
                Stop::End => return found,
                Stop::Semicolon => {}
                Stop::Backslash => {
                    found.push("\\".into());
                    from += 1;
                }
            }
        }
    }

    #[test]
    fn a_semicolon_ends_a_command_and_belongs_to_it() {
        assert_eq!(pieces("select 1; select 2;\nselect 3"), ["select 1;", "select 2;", "select 3"]);
        assert_eq!(pieces(";;"), [";", ";"]);
    }

    #[test]
    fn blanks_and_line_comments_in_front_are_dropped_and_all_else_is_kept() {
        assert_eq!(pieces("\n -- hi\n select 1 -- a\n \n;\n -- end"), ["select 1 -- a\n \n;"]);
        assert_eq!(pieces("/* a */ select 1; -- b\n/* d */\n"), ["/* a */ select 1;", "/* d */\n"]);
        assert_eq!(pieces(" \n\t-- only\r\n"), [""; 0]);
    }

    /// Checks that each text is a single command.
    fn assert_whole(texts: &[&str]) {
        for text in texts {
            assert_eq!(pieces(text), [*text]);
        }
    }

    #[test]
    fn quotes_hide_semicolons_and_backslashes() {
        assert_whole(&[
            r"select 'a;\b'';c;';",
            r#"select "a;\b"";c;";"#,
            r"select e'a\';\\';",
            r"select E'a\''';';",
            "select U&'a;', u&\"b;\", b'0;', x'f;', n'g;';",
            "select 'never closed; select 2;",
            "select e'never closed\\",
        ]);
    }

    #[test]
    fn only_a_word_e_begins_an_escape_string() {
        assert_eq!(pieces(r"select type'a\'; select 2;"), [r"select type'a\';", "select 2;"]);
        assert_eq!(pieces(r"select :e'a\'; select 2;"), [r"select :e'a\';", "select 2;"]);
        assert_eq!(pieces(r"select 1e'a\'; select 2;"), [r"select 1e'a\';", "select 2;"]);
        assert_whole(&[r"select 1::e'a\';';"]);
    }

    #[test]
    fn an_escape_string_goes_on_behind_a_newline() {
        assert_whole(&["select e'a' -- b\n  '\\';';"]);
        assert_eq!(pieces(r"select e'a' '\'; select 2;"), [r"select e'a' '\';", "select 2;"]);
    }

    #[test]
    fn dollar_quotes_end_at_their_own_tag() {
        assert_whole(&[
            "do $$ begin; end; $$;",
            "do $a$ $$ ; $b$ ; $a$;",
            "do $a$ ; $a ; $ab$ ; $a$;",
            "do $a$ ;;$$a$;",
            "select $é1$;$é1$;",
            "do $never$ closed; $never",
        ]);
        assert_eq!(
            pieces("select a$b$; select $1; select $x;"),
            ["select a$b$;", "select $1;", "select $x;"]
        );
        assert_eq!(pieces("select $1$; select $$;$$;"), ["select $1$;", "select $$;$$;"]);
    }

    #[test]
    fn comments_nest() {
        assert_whole(&[
            "select /* ; /* ; */ ; '*/ 1;",
            "select 1 /*/ ; */;",
            "select /* never closed ; /* */;",
        ]);
        assert_whole(&["select 1 -- it's;\n;"]);
        assert_whole(&["select 1 +-- it's;\n 2 */* it's; */ 3;"]);
    }

    #[test]
    fn semicolons_in_parentheses_end_nothing() {
        assert_whole(&["create rule r as on insert to t do (select 1; select (2); select 3);"]);
        assert_eq!(pieces("select 1); select 2;"), ["select 1);", "select 2;"]);
    }

    #[test]
    fn the_body_of_a_routine_is_one_command() {
        assert_whole(&[
            "create function f() returns int begin atomic select 1; select case when true then 1 end; end;",
            "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC BEGIN; END; SELECT 1; END;",
            "create schema s create function f() returns int begin atomic select 1; select 2; end;",
            "create schema if not exists s authorization a create table t (a int) create or replace procedure p() \
             begin atomic select case when true then 1 end; end create function g() returns int return 1;",
        ]);
        assert_eq!(pieces("begin; end;"), ["begin;", "end;"]);
        assert_eq!(pieces("create table begin (a int); end;"), ["create table begin (a int);", "end;"]);
        assert_eq!(
            pieces("create function f(begin int) as 'x'; end;"),
            ["create function f(begin int) as 'x';", "end;"]
        );
        assert_eq!(pieces("create or function begin; end;"), ["create or function begin;", "end;"]);
    }

    #[test]
    fn an_escaped_semicolon_or_colon_stays_inside() {
        assert_eq!(pieces(r"select 1\; select 2; \;"), ["select 1; select 2;", ";"]);
        assert_eq!(pieces(r"select 1\:\:int;"), ["select 1::int;"]);
        // As in psql's scanner, the body of a routine stays open, and its END is not known any more.
        assert_eq!(
            pieces(r"create function f() begin atomic select 1 \; select 2; end; select 3;"),
            ["create function f() begin atomic select 1 ; select 2; end; select 3;"]
        );
        assert_eq!(
            pieces(r"create function f() begin atomic select 1\:\:int; end; select 2;"),
            ["create function f() begin atomic select 1::int; end;", "select 2;"]
        );
        assert_eq!(pieces(r"select 1 \set"), ["select 1 ", "\\", "set"]);
    }

    proptest! {
        #[test]
        fn commands_are_cut_out_without_loss(
            script in "([a-eE ;'\"$()\\n/*:-]|begin|end|create function |\\$a\\$){0,40}"
        ) {
            let mut from = 0;
            loop {
                let piece = scan(script.as_bytes(), from);
                let skipped = script[from..piece.start].trim();
                prop_assert!(skipped.is_empty() || skipped.starts_with("--"));
                prop_assert_eq!(&piece.sql, &script.as_bytes()[piece.start..piece.end]);
                if piece.stop == Stop::End {
                    prop_assert_eq!(piece.end, script.len());
                    break;
                }
                prop_assert!(piece.end > from);
                from = piece.end;
            }
        }

        #[test]
        fn any_text_is_cut_to_its_end(script in "\\PC*|[a-z\\\\;:é']*") {
            pieces(&script);
        }
    }
}
