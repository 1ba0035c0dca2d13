//! Words of statements, outside of strings, quoted names and comments. Called by code that must know what a statement
//! does.

use crate::lexer::{Lexer, TokenKind};
use crate::statements::Nesting;

/// A key word, a name without quotes, a number, a parameter (`$1`) or a variable (`:name`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementWord<'a> {
    /// As written.
    pub text: &'a [u8],
    /// Number of parentheses around it.
    pub depth: usize,
}

impl StatementWord<'_> {
    /// Whether it is this word, which is in lower case.
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    /// In lower case.
    pub fn lower(&self) -> String {
        String::from_utf8_lossy(self.text).to_ascii_lowercase()
    }
}

/// The statements of a text, each as its words; statements without words are left out. A semicolon in parentheses or in the
/// body of a routine ends no statement. A colon before a name begins a variable.
pub fn statement_words(sql: &[u8]) -> Vec<Vec<StatementWord<'_>>> {
    let mut nesting = Nesting::default();
    let mut statements = vec![Vec::new()];
    for token in Lexer::new(sql).with_variables() {
        if nesting.ends_at(&token, sql) {
            statements.push(Vec::new());
        }
        if let (
            TokenKind::Word | TokenKind::Number | TokenKind::Parameter | TokenKind::Variable,
            Some(words),
        ) = (token.kind, statements.last_mut())
        {
            words.push(StatementWord { text: token.of(sql), depth: nesting.parentheses() });
        }
    }
    statements.retain(|words| !words.is_empty());
    statements
}

/// The tokens of a text that are neither white space nor comments, each with its text.
pub fn code(sql: &str) -> impl Iterator<Item = (TokenKind, &str)> {
    let tokens = Lexer::new(sql.as_bytes()).filter(|token| !token.is_blank());
    tokens.map(|token| (token.kind, token.of(sql)))
}

/// The first words of a statement without quotes, at most `count`, in lower case.
pub fn first_words(sql: &str, count: usize) -> Vec<String> {
    let words = code(sql).take_while(|(kind, _)| *kind == TokenKind::Word).take(count);
    words.map(|(_, word)| word.to_ascii_lowercase()).collect()
}

/// Number of `COPY … FROM STDIN` statements of a text: the words outside of parentheses decide.
pub fn copies_from_stdin(sql: &[u8]) -> usize {
    let mut nesting = Nesting::default();
    let (mut count, mut is_copy, mut is_first, mut after_from) = (0, false, true, false);
    for token in Lexer::new(sql).filter(|token| !token.is_blank()) {
        let ends = nesting.ends_at(&token, sql);
        let is =
            |word: &str| token.kind == TokenKind::Word && token.of(sql).eq_ignore_ascii_case(word.as_bytes());
        if nesting.parentheses() == 0 {
            is_copy = !ends && (is_copy || is_first && is("copy"));
            count += usize::from(is_copy && after_from && is("stdin"));
            (is_first, after_from) = (ends, is("from"));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[track_caller]
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
        check_words(
            "select 'it''s; commit', '\\', \"a\"\"; b\" -- ; commit\rfrom t; end",
            &["select from t", "end"],
        );
        check_words("a /* ; /* ; */ ; */ b /**/; c", &["a b", "c"]);
        check_words("select E'\\'; commit', e'\\\\', 1; end", &["select 1", "end"]);
        check_words("select E'a'\n'\\'; commit'; end", &["select", "end"]);
        check_words("select date'\\'; commit", &["select date", "commit"]);
        check_words("select U&'\\'; commit", &["select", "commit"]);
        check_words("select B'1', x'F', N';', U&\"d\\;\" ; end", &["select N", "end"]);
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
    fn first_words_end_at_the_first_other_token() {
        assert_eq!(first_words("/* a */ Comment -- b\n ON index i is 'x'", 3), ["comment", "on", "index"]);
        assert_eq!(first_words("drop \"a\" b", 3), ["drop"]);
        assert!(first_words("", 3).is_empty());
    }
}
