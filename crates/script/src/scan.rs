//! Splits a script into SQL commands like psql's scanner: strings, quoted names, dollar quotes, nested comments,
//! parentheses and bodies of routines may contain a `;` or a backslash. It does not parse SQL. Called by `program`,
//! which parses meta commands. (PostgreSQL manual, 4.1 "Lexical Structure".) The time is linear.

use crate::symbols::{is_name_byte, is_name_start};

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
    let mut scanner = Scanner {
        bytes: script,
        position: skip_blank(script, from),
        parentheses: 0,
        routine: Routine::default(),
    };
    let start = scanner.position;
    let mut sql = Vec::new();
    let mut copied = start;
    loop {
        let stop = scanner.run();
        let here = scanner.position;
        match stop {
            Stop::Backslash if matches!(scanner.peek(1), Some(b';' | b':')) => {
                // An escaped character: copies the text before the backslash, then the character.
                sql.extend_from_slice(&script[copied..here]);
                copied = here + 1;
                scanner.position = here + 2;
                scanner.routine = Routine::default();
            }
            Stop::Semicolon | Stop::Backslash | Stop::End => {
                let end = if stop == Stop::Semicolon { here + 1 } else { here };
                sql.extend_from_slice(&script[copied..end]);
                return Piece { sql, start, end, stop };
            }
        }
    }
}

/// Positions of the colons of an SQL command outside of strings, quoted names, comments and brackets, in order. `None` if
/// they may belong to the SQL/JSON functions in which a colon separates keys and values.
pub(crate) fn bare_colons(sql: &[u8]) -> Option<Vec<usize>> {
    let mut scanner = Scanner { bytes: sql, position: 0, parentheses: 0, routine: Routine::default() };
    let (mut colons, mut brackets) = (Vec::new(), 0_usize);
    while let Some(byte) = scanner.peek(0) {
        let start = scanner.position;
        scanner.skip_token(byte);
        match byte {
            b'[' => brackets += 1,
            b']' => brackets = brackets.saturating_sub(1),
            b':' if brackets == 0 => colons.push(start),
            _ => {}
        }
        let word = &sql[start..scanner.position];
        if [&b"json_object"[..], b"json_objectagg"].iter().any(|name| word.eq_ignore_ascii_case(name)) {
            return None;
        }
    }
    Some(colons)
}

/// Number of `COPY … FROM STDIN` statements of an SQL command: the words outside of strings, quoted names, comments and
/// parentheses decide.
pub(crate) fn copies_from_stdin(sql: &[u8]) -> usize {
    let mut scanner = Scanner { bytes: sql, position: 0, parentheses: 0, routine: Routine::default() };
    let (mut count, mut is_copy, mut is_first, mut after_from) = (0, false, true, false);
    while let Some(byte) = scanner.peek(0) {
        let start = scanner.position;
        match byte {
            b'(' => scanner.parentheses += 1,
            b')' => scanner.parentheses = scanner.parentheses.saturating_sub(1),
            b';' if scanner.parentheses == 0 => (is_copy, is_first, after_from) = (false, true, false),
            _ => {}
        }
        scanner.skip_token(byte);
        let token = &sql[start..scanner.position];
        let is_comment = token.starts_with(b"--") || token.starts_with(b"/*");
        if scanner.parentheses > 0 || is_space(byte) || byte == b';' || is_comment {
            continue;
        }
        let is = |word: &str| token.eq_ignore_ascii_case(word.as_bytes());
        is_copy |= is_first && is("copy");
        count += usize::from(is_copy && after_from && is("stdin"));
        (is_first, after_from) = (false, is("from"));
    }
    count
}

/// A word of a statement: a key word, a name without quotes, a number, a parameter (`$1`) or a variable (`:name`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementWord<'a> {
    /// As written.
    pub text: &'a [u8],
    /// Number of parentheses around it.
    pub depth: usize,
}

/// The statements of a text, each as its words outside of strings, quoted names and comments; statements without words are
/// left out. A semicolon in parentheses or in the body of a routine ends no statement. Strings without `E` have no
/// escapes, as with `standard_conforming_strings = on`.
#[must_use]
pub fn statement_words(sql: &[u8]) -> Vec<Vec<StatementWord<'_>>> {
    let mut scanner = Scanner { bytes: sql, position: 0, parentheses: 0, routine: Routine::default() };
    let mut statements = vec![Vec::new()];
    while let Some(byte) = scanner.peek(0) {
        let start = scanner.position;
        match byte {
            b'(' => scanner.parentheses += 1,
            b')' => scanner.parentheses = scanner.parentheses.saturating_sub(1),
            b';' if scanner.parentheses == 0 && scanner.routine.depth == 0 => {
                scanner.routine = Routine::default();
                statements.push(Vec::new());
            }
            _ => {}
        }
        scanner.skip_token(byte);
        let text = &sql[start..scanner.position];
        let is_word = match byte {
            b'$' | b':' => text.len() > 1 && text.last().is_some_and(|last| is_name_byte(*last)),
            b'0'..=b'9' => true,
            // An escape string begins like a word.
            _ => is_name_start(byte) && !text.contains(&b'\''),
        };
        if is_word {
            let word = StatementWord { text, depth: scanner.parentheses };
            statements.last_mut().into_iter().for_each(|words| words.push(word));
        }
    }
    statements.retain(|words| !words.is_empty());
    statements
}

/// The first byte from `from` that is neither a space nor part of a `--` comment.
fn skip_blank(bytes: &[u8], from: usize) -> usize {
    let mut position = from;
    loop {
        match &bytes[position..] {
            [byte, ..] if is_space(*byte) => position += 1,
            [b'-', b'-', ..] => position = line_end(bytes, position),
            _ => return position,
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| matches!(byte, b'\n' | b'\r')).map_or(bytes.len(), |at| from + at)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    position: usize,
    parentheses: usize,
    routine: Routine,
}

impl Scanner<'_> {
    /// Advances to the byte that ends the command.
    fn run(&mut self) -> Stop {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => return Stop::Backslash,
                b';' if self.parentheses == 0 && self.routine.depth == 0 => return Stop::Semicolon,
                b'(' => {
                    self.parentheses += 1;
                    self.position += 1;
                }
                b')' => {
                    self.parentheses = self.parentheses.saturating_sub(1);
                    self.position += 1;
                }
                _ => self.skip_token(byte),
            }
        }
        Stop::End
    }

    /// Advances over the token that starts with `byte`.
    fn skip_token(&mut self, byte: u8) {
        match byte {
            b'\'' | b'"' => self.skip_quoted(byte),
            b'-' if self.peek(1) == Some(b'-') => self.position = line_end(self.bytes, self.position),
            b'/' if self.peek(1) == Some(b'*') => self.skip_block_comment(),
            b'$' => self.skip_dollar(),
            b':' => self.skip_colon(),
            b'0'..=b'9' => self.skip_number(),
            _ if is_name_start(byte) => self.skip_word(),
            _ => self.position += 1,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.position + ahead).copied()
    }

    fn skip_while(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&belongs) {
            self.position += 1;
        }
    }

    /// A string or quoted name without escapes. A doubled quote is read as the end of one and the start of the next,
    /// with the same result.
    fn skip_quoted(&mut self, quote: u8) {
        let inside = self.position + 1;
        self.position = find(self.bytes, inside, quote).map_or(self.bytes.len(), |at| at + 1);
    }

    /// The rest of an escape string, from its opening quote. After spaces with a newline, another quote continues the
    /// string, also with escapes.
    fn skip_escape_string(&mut self) {
        self.position += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' => self.position = (self.position + 2).min(self.bytes.len()),
                b'\'' => {
                    self.position += 1;
                    match self.continuation() {
                        Some(next) => self.position = next,
                        None => return,
                    }
                }
                _ => self.position += 1,
            }
        }
    }

    /// Position inside the continuation of the closed string, if there is one.
    fn continuation(&self) -> Option<usize> {
        let next = skip_blank(self.bytes, self.position);
        let between = &self.bytes[self.position..next];
        let continues = between.is_empty() || between.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        (continues && self.bytes.get(next) == Some(&b'\'')).then_some(next + 1)
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.position < self.bytes.len() {
            match &self.bytes[self.position..] {
                [b'/', b'*', ..] => {
                    depth += 1;
                    self.position += 2;
                }
                [b'*', b'/', ..] => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.position += 1,
            }
        }
    }

    /// `$tag$ … $tag$`, a parameter `$1`, or a single dollar sign.
    fn skip_dollar(&mut self) {
        let opening = self.position;
        let mut tag_end = opening + 1;
        if self.bytes.get(tag_end).is_some_and(|&byte| is_name_start(byte)) {
            tag_end += self.bytes[tag_end..].iter().take_while(|&&byte| is_name_byte(byte)).count();
        }
        if self.bytes.get(tag_end) != Some(&b'$') {
            self.position += 1;
            return self.skip_while(|byte| byte.is_ascii_digit());
        }
        let delimiter = &self.bytes[opening..=tag_end];
        let mut from = tag_end + 1;
        // A tag contains no dollar sign, so each byte is compared at most once.
        while let Some(dollar) = find(self.bytes, from, b'$') {
            if self.bytes[dollar..].starts_with(delimiter) {
                self.position = dollar + delimiter.len();
                return;
            }
            from = dollar + 1;
        }
        self.position = self.bytes.len();
    }

    /// `:name`, `::` or a colon. A name after a single colon is never the prefix of a string.
    fn skip_colon(&mut self) {
        self.position += 1;
        if self.peek(0) == Some(b':') {
            self.position += 1;
        } else {
            self.skip_while(is_name_byte);
        }
    }

    /// Digits and directly following letters, which are never the prefix of a string.
    fn skip_number(&mut self) {
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0).is_some_and(is_name_start) {
            self.skip_while(is_word_byte);
        }
    }

    fn skip_word(&mut self) {
        let start = self.position;
        self.skip_while(is_word_byte);
        let word = &self.bytes[start..self.position];
        if word.eq_ignore_ascii_case(b"e") && self.peek(0) == Some(b'\'') {
            return self.skip_escape_string();
        }
        self.routine.word(word, self.parentheses);
    }
}

/// Whether an SQL identifier may contain this byte.
fn is_word_byte(byte: u8) -> bool {
    is_name_byte(byte) || byte == b'$'
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    bytes[from..].iter().position(|&byte| byte == wanted).map(|at| from + at)
}

/// Determines whether the words start a routine, by itself (CREATE [OR REPLACE] FUNCTION or PROCEDURE) or as an element
/// of CREATE SCHEMA, and the nesting depth of BEGIN … END (and CASE … END) in its body.
#[derive(Debug, Default)]
struct Routine {
    opening: Opening,
    /// Whether the command is CREATE SCHEMA, whose elements start with CREATE or GRANT.
    in_schema: bool,
    depth: usize,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Opening {
    #[default]
    Nothing,
    Create,
    CreateOr,
    CreateOrReplace,
    Routine,
    SomethingElse,
}

impl Routine {
    fn word(&mut self, word: &[u8], parentheses: usize) {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        let begins_element = self.in_schema && parentheses == 0 && self.depth == 0 && is("create");
        self.opening = match self.opening {
            _ if begins_element => Opening::Create,
            Opening::SomethingElse => return,
            Opening::Nothing if is("create") => Opening::Create,
            Opening::Create if is("schema") && !self.in_schema => {
                self.in_schema = true;
                Opening::SomethingElse
            }
            Opening::Create if is("or") => Opening::CreateOr,
            Opening::CreateOr if is("replace") => Opening::CreateOrReplace,
            Opening::Create | Opening::CreateOrReplace if is("function") || is("procedure") => {
                Opening::Routine
            }
            Opening::Routine => Opening::Routine,
            _ => Opening::SomethingElse,
        };
        if self.opening != Opening::Routine || parentheses > 0 {
            return;
        }
        if is("begin") || (is("case") && self.depth > 0) {
            self.depth += 1;
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_copy_from_standard_input_is_known_by_its_words() {
        for (sql, expected) in [
            ("copy t from stdin;", 1),
            ("COPY \"from\".t (a, b) FROM STDIN WITH (FORMAT csv);", 1),
            ("/* rows */ copy t -- of t\n from /* here */ stdin", 1),
            ("begin; copy t from stdin; copy u from stdin; commit", 2),
            ("copy t from 'stdin'", 0),
            ("copy t from \"stdin\"", 0),
            ("copy (select a from stdin) to stdout", 0),
            ("copy t to stdout; select a from stdin", 0),
            ("select copy from stdin", 0),
            ("select 'copy t from stdin'", 0),
            ("copy", 0),
            ("", 0),
        ] {
            assert_eq!(copies_from_stdin(sql.as_bytes()), expected, "{sql}");
        }
    }

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

    fn check_words(sql: &str, expected: &[&str]) {
        let found: Vec<String> = statement_words(sql.as_bytes())
            .iter()
            .map(|words| {
                let texts = words.iter().map(|word| String::from_utf8_lossy(word.text).into_owned());
                texts.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(found, expected, "{sql}");
    }

    #[test]
    fn words_of_statements_are_outside_of_strings_quoted_names_and_comments() {
        check_words("begin; update t set a = :b; ; end", &["begin", "update t set a :b", "end"]);
        // Doubled quotes, a backslash without a special meaning, and the end of a line comment.
        check_words(
            "select 'it''s; commit', '\\', \"a\"\"; b\" -- ; commit\rfrom t; end",
            &["select from t", "end"],
        );
        check_words("a /* ; /* ; */ ; */ b /**/; c", &["a b", "c"]);
        // Escape strings, also continued on another line; a name that ends with e is no prefix.
        check_words("select E'\\'; commit', e'\\\\', 1; end", &["select 1", "end"]);
        check_words("select E'a'\n'\\'; commit'; end", &["select", "end"]);
        check_words("select date'\\'; commit", &["select date", "commit"]);
        check_words("select U&'\\'; b\'1'; commit", &["select U", "b", "commit"]);
        check_words("select B'1', x'F', N';', U&\"d\\;\" ; end", &["select B x N U", "end"]);
        // Dollar quotes; a dollar within a name begins none, and neither does a parameter.
        check_words("select $$;$$, $a$ $$ ; $b$ $a$, $é$;$é$, $1, $2; end", &["select $1 $2", "end"]);
        check_words("select x$a$ ; commit; y$a$", &["select x$a$", "commit", "y$a$"]);
        check_words("select a::int, b[1:2] from f(1; 2)", &["select a int b 1 :2 from f 1 2"]);
    }

    #[test]
    fn a_semicolon_in_the_body_of_a_routine_ends_no_statement() {
        check_words(
            "create function f() returns int begin atomic select 1; end; commit",
            &["create function f returns int begin atomic select 1 end", "commit"],
        );
        check_words("begin; end; commit", &["begin", "end", "commit"]);
    }

    #[test]
    fn words_know_their_parentheses() {
        let found = statement_words(b"copy (select (a) from t) to stdout");
        let depths: Vec<usize> = found[0].iter().map(|word| word.depth).collect();
        assert_eq!(depths, [0, 1, 2, 1, 1, 0, 0]);
    }

    #[test]
    fn unfinished_texts_have_words() {
        for text in
            ["'", "\"", "$$", "$a$", "/*", "--", "$", "E'", "E'\\", "a;'", "-", "/", ":", "$é$x", "E'a'\n'"]
        {
            let _ = statement_words(text.as_bytes());
        }
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
