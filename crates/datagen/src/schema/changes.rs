//! Statements after CREATE TABLE that generated rows do not follow: rows of INSERT and COPY, and tables that are dropped,
//! renamed or moved. Each is an error with its place.

use sql::{Lexer, Token};

use super::split::Piece;
use super::tokens::Tokens;
use super::{Name, Table, find};
use crate::directive::Directives;
use crate::error::{Checked, Fault, Place};

/// The table that an INSERT or a COPY fills.
pub(crate) struct Written {
    table: Name,
    statement: &'static str,
    place: Place,
    /// COPY whose rows are in the schema.
    is_from_stdin: bool,
}

/// The first words of a statement, which may be too long to be parsed as a whole.
struct Head<'a> {
    rest: &'a str,
}

impl Head<'_> {
    fn next(&self) -> Option<Token> {
        Lexer::new(self.rest.as_bytes()).find(|token| !token.is_blank())
    }

    /// Passes over these words or symbols if they are next.
    fn passes(&mut self, wanted: &[&str]) -> bool {
        wanted.iter().all(|wanted| {
            let next = self.next().filter(|token| token.of(self.rest).eq_ignore_ascii_case(wanted));
            self.rest = next.map_or(self.rest, |token| &self.rest[token.end..]);
            next.is_some()
        })
    }

    fn name(&mut self) -> Option<Name> {
        let (name, after) = Name::of_sql(&self.rest[self.next()?.start..])?;
        self.rest = after;
        Some(name)
    }
}

/// The table that an INSERT INTO or a COPY … FROM fills.
pub(crate) fn written(piece: &Piece<'_>) -> Option<Written> {
    let mut head = Head { rest: piece.text };
    let statement = if head.passes(&["INSERT", "INTO"]) { "INSERT" } else { "COPY" };
    if statement == "COPY" {
        head.passes(&["COPY"]).then_some(())?;
    }
    let table = head.name()?;
    if statement == "COPY" {
        if head.passes(&["("]) {
            let rest = head.rest.as_bytes();
            let close = Lexer::new(rest).find(|token| token.is(rest, b')'))?;
            head.rest = &head.rest[close.end..];
        }
        head.passes(&["FROM"]).then_some(())?;
    }
    let is_from_stdin = sql::copies_from_stdin(piece.text.as_bytes()) > 0;
    Some(Written { table, statement, place: piece.place, is_from_stdin })
}

/// Refuses rows for tables that get generated rows: loading replaces all rows of such a table.
pub(crate) fn check_written(written: &[Written], tables: &[Table], directives: &Directives) -> Checked<()> {
    for Written { table, statement, place, is_from_stdin } in written {
        let filled = find(tables, table)
            .filter(|index| !tables[*index].is_partition && !directives.tables[*index].has("nogen"));
        if filled.is_some() {
            let message = format!(
                "the table {} gets generated rows, which replace those of this {statement}; give the table the directive nogen, or remove the {statement}",
                table.plain()
            );
            return Err(Fault::new(*place, message));
        }
        if *is_from_stdin {
            let message = format!(
                "the rows of COPY {} FROM stdin are not loaded; write them as INSERT, as pg_dump --inserts does",
                table.plain()
            );
            return Err(Fault::new(*place, message));
        }
    }
    Ok(())
}

/// Refuses DROP TABLE of a table of the schema; a table that does not exist yet may be dropped.
pub(crate) fn check_drop(piece: &Piece<'_>, tables: &[Table]) -> Checked<()> {
    let mut head = Head { rest: piece.text };
    head.passes(&["DROP", "TABLE"]);
    head.passes(&["IF", "EXISTS"]);
    while let Some(name) = head.name() {
        if find(tables, &name).is_some() {
            let message = format!(
                "DROP TABLE after CREATE TABLE {} is not supported in a schema with generated rows; remove both statements",
                name.plain()
            );
            return Err(Fault::new(piece.place, message));
        }
        if !head.passes(&[","]) {
            break;
        }
    }
    Ok(())
}

/// Refuses an ALTER TABLE that renames or moves a table of the schema, or renames or drops its columns.
pub(crate) fn check_alter(tokens: &Tokens<'_>, tables: &[Table]) -> Checked<()> {
    let (name, operation) = altered(tokens);
    let words = [tokens.word(operation), tokens.word(operation + 1)];
    let change = match [&*words[0], &*words[1]] {
        ["RENAME", "TO"] => Some("RENAME TO"),
        ["RENAME", _] => Some("RENAME COLUMN"),
        ["SET", "SCHEMA"] => Some("SET SCHEMA"),
        ["DROP", _] => Some("DROP COLUMN"),
        _ => None,
    };
    let is_of_table = words[1] != "CONSTRAINT" && find(tables, &name).is_some();
    match change.filter(|_| is_of_table) {
        None => Ok(()),
        Some(change) => {
            let message = format!(
                "ALTER TABLE {} {change} is not supported in a schema with generated rows; change its CREATE TABLE instead",
                name.plain()
            );
            Err(Fault::new(tokens.piece.place, message))
        }
    }
}

/// The table of an ALTER TABLE, and the index of the token after its name.
pub(crate) fn altered(tokens: &Tokens<'_>) -> (Name, usize) {
    let mut at = 2;
    while matches!(&*tokens.word(at), "IF" | "EXISTS" | "ONLY") {
        at += 1;
    }
    let name = tokens.name(at);
    let length = if name.schema.is_some() { 3 } else { 1 };
    (name, at + length)
}
