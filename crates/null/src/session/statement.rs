//! Minimal SQL parsing for a server without tables: the end of a statement, its first word, its number of parameters.
//! Used by the session.

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
    let word = first_word(sql);
    if word.is_empty() {
        return if matches!(skip_blanks(sql), b"" | b";") { Kind::Empty } else { Kind::Other };
    }
    // ROLLBACK TO SAVEPOINT does not end the transaction.
    let partial = word.eq_ignore_ascii_case(b"ROLLBACK") && second_word(sql).eq_ignore_ascii_case(b"TO");
    let found = KINDS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
    match found.filter(|_| !partial) {
        Some((_, Kind::CopyIn)) => copy_kind(sql),
        Some((_, kind)) => *kind,
        None => Kind::Other,
    }
}

/// A COPY of a file of the server answers like other statements.
fn copy_kind(sql: &[u8]) -> Kind {
    let has = |word: &str| {
        sql.split(|byte| !byte.is_ascii_alphabetic()).any(|it| it.eq_ignore_ascii_case(word.as_bytes()))
    };
    match (has("STDIN"), has("STDOUT")) {
        (true, _) => Kind::CopyIn,
        (_, true) => Kind::CopyOut,
        _ => Kind::Other,
    }
}

/// The first word; may be empty.
pub(super) fn first_word(sql: &[u8]) -> &[u8] {
    let sql = skip_blanks(sql);
    let length = sql.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    &sql[..length]
}

fn second_word(sql: &[u8]) -> &[u8] {
    let sql = skip_blanks(sql);
    first_word(&sql[first_word(sql).len()..])
}

/// The text without leading spaces and comments.
fn skip_blanks(mut sql: &[u8]) -> &[u8] {
    loop {
        sql = sql.trim_ascii_start();
        let (end, after) = match sql {
            [b'-', b'-', ..] => (&b"\n"[..], 1),
            [b'/', b'*', ..] => (&b"*/"[..], 2),
            _ => return sql,
        };
        match sql.windows(end.len()).position(|window| window == end) {
            Some(at) => sql = &sql[at + after..],
            None => return &[],
        }
    }
}

/// The statements of a Query message: split at semicolons outside quotes.
pub(super) fn split(sql: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    sql.split(move |byte| {
        quoted ^= *byte == b'\'';
        *byte == b';' && !quoted
    })
}

/// The highest `$n` outside quotes.
fn parameters(sql: &[u8]) -> usize {
    let mut highest = 0;
    let mut quoted = false;
    let mut rest = sql;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        quoted ^= *byte == b'\'';
        if *byte != b'$' || quoted {
            continue;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = rest[..digits].iter().fold(0_usize, |number, digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        });
        highest = highest.max(number);
    }
    highest
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
        assert_eq!(parts, [&b"SELECT ';' "[..], b" UPDATE a SET b = 'it''s;'"]);
    }

    #[test]
    fn parameters_are_counted_by_the_highest_number() {
        assert_eq!(parameters(b"SELECT $2 + $1"), 2);
        assert_eq!(parameters(b"SELECT '$7', $12"), 12);
        assert_eq!(parameters(b"SELECT $body$ $body$"), 0);
    }
}
