//! What a server without tables must know of a statement: its end, its first word, its number of parameters.
//! Used by the session.

use sql::{Lexer, Token, TokenKind};

use super::config::SessionConfig;
use super::result_set::ResultSet;

/// Effect of a statement on its answer and on the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Begin,
    Commit,
    Rollback,
    Select,
    /// INSERT, UPDATE or DELETE of one row, which has this tag.
    Write(&'static str),
    /// A query of system catalogs, which do not exist.
    Catalogs,
    /// `COPY … FROM STDIN`
    CopyIn,
    /// `COPY … TO STDOUT`
    CopyOut,
    Other,
}

/// A parsed statement.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) text: Box<[u8]>,
    pub(super) kind: Kind,
    /// The highest `$n`.
    pub(super) parameters: usize,
    /// Its rows, if the statement defines them.
    result: Option<ResultSet>,
}

impl Prepared {
    pub(super) fn of(sql: &[u8]) -> Self {
        let sql = sql.trim_ascii_start();
        if QUESTIONS_ABOUT_CATALOGS.iter().any(|question| sql.starts_with(question.as_bytes())) {
            return Self { text: sql.into(), kind: Kind::Catalogs, parameters: 0, result: None };
        }
        let result = ResultSet::of_query(sql);
        Self { text: sql.into(), kind: kind(sql), parameters: parameters(sql), result }
    }

    /// Its columns and rows.
    pub(super) fn result<'a>(&'a self, config: &'a SessionConfig) -> &'a ResultSet {
        self.result.as_ref().unwrap_or(&config.result)
    }
}

/// Queries of load generators that only a real server can answer, and that may fail: partitions of the built-in
/// scripts' tables (pgbench's query and pgmeter's), and how the server was built.
const QUESTIONS_ABOUT_CATALOGS: [&str; 3] =
    ["select o.n, p.partstrat", "select partitioned.partstrat", "select name, setting from pg_config"];

/// First words of statements and their kinds.
const KINDS: [(&str, Kind); 17] = [
    ("BEGIN", Kind::Begin),
    ("START", Kind::Begin),
    ("COMMIT", Kind::Commit),
    ("END", Kind::Commit),
    ("ROLLBACK", Kind::Rollback),
    ("ABORT", Kind::Rollback),
    ("SELECT", Kind::Select),
    ("VALUES", Kind::Select),
    ("TABLE", Kind::Select),
    ("WITH", Kind::Select),
    ("SHOW", Kind::Select),
    ("EXPLAIN", Kind::Select),
    ("INSERT", Kind::Write("INSERT 0 1")),
    ("UPDATE", Kind::Write("UPDATE 1")),
    ("DELETE", Kind::Write("DELETE 1")),
    ("MERGE", Kind::Other),
    ("COPY", Kind::CopyIn),
];

fn kind(sql: &[u8]) -> Kind {
    let mut tokens = Lexer::new(sql).filter(|token| !token.is_blank());
    let Some(first) = tokens.find(|token| !token.is(sql, b';')) else { return Kind::Empty };
    let is = |token: &Token, word: &str| token.of(sql).eq_ignore_ascii_case(word.as_bytes());
    match KINDS.iter().find(|(name, _)| is(&first, name)) {
        // ROLLBACK TO SAVEPOINT does not end the transaction.
        Some((_, Kind::Rollback)) if tokens.next().is_some_and(|second| is(&second, "TO")) => Kind::Other,
        Some((_, Kind::CopyIn)) => match tokens.find(|token| is(token, "STDIN") || is(token, "STDOUT")) {
            Some(token) if is(&token, "STDIN") => Kind::CopyIn,
            Some(_) => Kind::CopyOut,
            // A COPY of a file of the server answers like other statements.
            None => Kind::Other,
        },
        Some((_, kind)) => *kind,
        None => Kind::Other,
    }
}

/// The first word; may be empty.
pub(super) fn first_word(sql: &[u8]) -> &[u8] {
    let first = Lexer::new(sql).find(|token| !token.is_blank());
    first.filter(|token| token.kind == TokenKind::Word).map_or(&[], |token| token.of(sql))
}

/// The statements of a Query message.
pub(super) fn split(sql: &[u8]) -> impl Iterator<Item = &[u8]> {
    // Most messages have one, and this runs for each message of a benchmark.
    let semicolon = sql.iter().position(|byte| *byte == b';');
    let is_single = semicolon.is_none_or(|at| sql[at + 1..].trim_ascii().is_empty());
    let several = (!is_single).then(|| sql::statements(sql).map(|range| &sql[range]));
    is_single.then_some(sql).into_iter().chain(several.into_iter().flatten())
}

/// The highest `$n`.
fn parameters(sql: &[u8]) -> usize {
    if !sql.contains(&b'$') {
        return 0;
    }
    let numbers = Lexer::new(sql).filter(|token| token.kind == TokenKind::Parameter).map(|token| {
        let digits = token.of(sql)[1..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0_usize, |number, digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        })
    });
    numbers.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_what_a_statement_does() {
        for (sql, expected) in [
            ("begin;", Kind::Begin),
            ("START TRANSACTION", Kind::Begin),
            (" -- why\n/* not */ end;", Kind::Commit),
            ("ROLLBACK", Kind::Rollback),
            ("ROLLBACK TO SAVEPOINT s", Kind::Other),
            ("Select 1", Kind::Select),
            ("VACUUM", Kind::Other),
            ("copy t from stdin;", Kind::CopyIn),
            ("COPY (SELECT 1) TO STDOUT", Kind::CopyOut),
            ("COPY t FROM '/tmp/t'", Kind::Other),
            (" ;", Kind::Empty),
            ("/* nothing", Kind::Empty),
        ] {
            assert_eq!(kind(sql.as_bytes()), expected, "{sql}");
        }
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes() {
        let parts: Vec<_> = split(b"SELECT ';' ; UPDATE a SET b = 'it''s;'").collect();
        assert_eq!(parts, [&b"SELECT ';' ;"[..], b"UPDATE a SET b = 'it''s;'"]);
        assert_eq!(split(b"DO $$;$$;").collect::<Vec<_>>(), [&b"DO $$;$$;"[..]]);
    }

    #[test]
    fn parameters_are_counted_by_the_highest_number() {
        assert_eq!(parameters(b"SELECT $2 + $1"), 2);
        assert_eq!(parameters(b"SELECT '$7', $12"), 12);
        assert_eq!(parameters(b"SELECT $body$ $body$"), 0);
    }
}
