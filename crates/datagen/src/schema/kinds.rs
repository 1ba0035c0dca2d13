//! Purposes of statements, from their words alone: which ones a loader may execute after the rows. The purpose of a statement
//! that cannot be read is `Other`.

use sqlparser::tokenizer::Token;

use super::split::{self, Piece};
use super::tokens::Tokens;
use super::{Name, Source, Statement, StatementKind};
use crate::directive;
use crate::error::Error;

/// The statements of a schema with their purposes, in their order. Their lines are those of the whole text.
///
/// # Errors
/// Text that is not closed, a command of psql that executes something, or an unknown directive.
pub fn statements(source: &Source) -> Result<Vec<Statement>, Error> {
    let read = || {
        let pieces = split::split(source.text())?;
        directive::check(&pieces, source)?;
        Ok(pieces.statements.iter().map(statement).collect())
    };
    source.placed(read())
}

fn statement(piece: &Piece<'_>) -> Statement {
    Statement { text: piece.text.to_owned(), line: piece.place.line, kind: kind(piece) }
}

fn kind(piece: &Piece<'_>) -> StatementKind {
    let words = sql::first_words(piece.text, 3);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["create", "table", ..] | ["create", "unlogged", "table", ..] => StatementKind::Table,
        ["create", "index", ..] | ["create", "unique", "index", ..] => StatementKind::Index,
        ["alter", "table", ..] => Tokens::read(piece).map_or(StatementKind::Other, |tokens| altered(&tokens)),
        _ => StatementKind::Other,
    }
}

/// Indexes of the first tokens of the operations of an ALTER TABLE.
pub(super) fn operations(tokens: &Tokens<'_>) -> Vec<usize> {
    let (_, first) = altered_table(tokens);
    let mut depth = 0_usize;
    let mut starts = vec![first];
    for (at, token) in tokens.tokens.iter().enumerate().skip(first) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => starts.push(at + 1),
            _ => {}
        }
    }
    starts
}

/// The index of the name of a column that an operation adds.
pub(super) fn added_column(tokens: &Tokens<'_>, operation: usize) -> Option<usize> {
    if tokens.word(operation) != "ADD" {
        return None;
    }
    let mut at = operation + 1;
    match &*tokens.word(at) {
        "COLUMN" => at += 1,
        "CONSTRAINT" | "PRIMARY" | "UNIQUE" | "EXCLUDE" | "FOREIGN" | "CHECK" | "NOT" => return None,
        _ => {}
    }
    if tokens.word(at) == "IF" && tokens.word(at + 1) == "NOT" && tokens.word(at + 2) == "EXISTS" {
        at += 3;
    }
    Some(at)
}

fn altered(tokens: &Tokens<'_>) -> StatementKind {
    let mut kind = StatementKind::Other;
    for operation in operations(tokens) {
        if added_column(tokens, operation).is_some() {
            return StatementKind::Other;
        }
        if tokens.word(operation) != "ADD" {
            continue;
        }
        let named = tokens.word(operation + 1) == "CONSTRAINT";
        match &*tokens.word(if named { operation + 3 } else { operation + 1 }) {
            "FOREIGN" => kind = StatementKind::ForeignKey,
            "PRIMARY" | "UNIQUE" | "EXCLUDE" if kind == StatementKind::Other => kind = StatementKind::Key,
            _ => {}
        }
    }
    kind
}

/// The table of an ALTER TABLE, and the index of the token after its name.
pub(super) fn altered_table(tokens: &Tokens<'_>) -> (Name, usize) {
    let mut at = 2;
    while matches!(&*tokens.word(at), "IF" | "EXISTS" | "ONLY") {
        at += 1;
    }
    let name = tokens.name(at);
    let length = if name.schema.is_some() { 3 } else { 1 };
    (name, at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_follow_from_the_words_of_a_statement() {
        let check = |text: &str, expected: StatementKind| {
            let own = statements(&Source::new(text, "s.sql")).expect(text);
            assert_eq!(own.iter().map(|own| own.kind).collect::<Vec<_>>(), [expected], "{text}");
        };
        check("create /* a */ unlogged -- b\n table t(a int)", StatementKind::Table);
        check("CREATE TEMP TABLE t(a int)", StatementKind::Other);
        check("create unique index on t(a)", StatementKind::Index);
        check("alter table only s.t add constraint \"x y\" primary key (a)", StatementKind::Key);
        check("ALTER TABLE t ADD UNIQUE (a, b), ADD CHECK (a > 0)", StatementKind::Key);
        check("ALTER TABLE t ADD CONSTRAINT x EXCLUDE USING gist (a WITH &&)", StatementKind::Key);
        check("ALTER TABLE IF EXISTS t ADD FOREIGN KEY (a) REFERENCES u", StatementKind::ForeignKey);
        check("ALTER TABLE t ADD UNIQUE (a), ADD COLUMN b int", StatementKind::Other);
        check("ALTER TABLE t ADD b int REFERENCES u", StatementKind::Other);
        check("ALTER TABLE t ALTER a SET NOT NULL", StatementKind::Other);
    }
}
