//! Where the directives of a described schema apply: places of tables and columns, from the tokens of CREATE TABLE and
//! ALTER TABLE. Statements that cannot be read belong to the schema.

use sqlparser::tokenizer::Token;

use super::kinds::{added_column, altered_table, operations};
use super::names::Name;
use super::split::Piece;
use super::tokens::Tokens;
use super::{Scope, Table, find};
use crate::error::Place;

/// The scopes that begin in a statement. The first place of a table or column becomes its own.
pub(super) fn of_statement(piece: &Piece<'_>, tables: &mut [Table], scopes: &mut Vec<(Place, Scope)>) {
    scopes.push((piece.place, Scope::Schema));
    let words = sql::first_words(piece.text, 3);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = match words[..] {
        ["create", "table", ..] | ["create", "unlogged" | "temp" | "temporary", "table", ..] => {
            Tokens::read(piece).map(|tokens| created(&tokens, tables))
        }
        ["alter", "table", ..] => Tokens::read(piece).map(|tokens| altered(&tokens, tables)),
        _ => return,
    };
    for (place, scope) in found.into_iter().flatten() {
        match scope {
            Scope::Table(table) if tables[table].place == Place::default() => tables[table].place = place,
            Scope::Column(table, column) if tables[table].columns[column].place == Place::default() => {
                tables[table].columns[column].place = place;
            }
            // A second CREATE TABLE of the same name, IF NOT EXISTS.
            Scope::Table(_) => continue,
            Scope::Schema | Scope::Column(..) | Scope::LeftOut => {}
        }
        scopes.push((place, scope));
    }
}

/// The table of this name. One that the search path finds may have a schema in the statement.
pub(crate) fn table_of(tables: &[Table], name: &Name) -> Option<usize> {
    let alone = || {
        let mut same = (0..tables.len()).filter(|index| {
            let own = &tables[*index].name;
            own.schema.is_none() && own.name == name.name
        });
        same.next().filter(|_| same.next().is_none())
    };
    find(tables, name).or_else(alone)
}

/// The scope of the column whose name is the token at this index.
fn column_at(tokens: &Tokens<'_>, at: usize, table: usize, tables: &[Table]) -> Option<(Place, Scope)> {
    let token = tokens.tokens.get(at)?;
    let Token::Word(word) = &token.token else { return None };
    let name = if word.quote_style.is_some() { word.value.clone() } else { word.value.to_ascii_lowercase() };
    let column = tables[table].columns.iter().position(|column| column.name == name)?;
    Some((tokens.place_of(token), Scope::Column(table, column)))
}

fn created(tokens: &Tokens<'_>, tables: &[Table]) -> Vec<(Place, Scope)> {
    let mut at = (0..4).find(|at| tokens.word(*at) == "TABLE").map_or(2, |at| at + 1);
    while matches!(&*tokens.word(at), "IF" | "NOT" | "EXISTS") {
        at += 1;
    }
    let name = tokens.name(at);
    let last = if name.schema.is_some() { at + 2 } else { at };
    let open = tokens.tokens.iter().position(|token| token.token == Token::LParen);
    let before = |words: &[&str]| tokens.find(words).is_some_and(|at| open.is_none_or(|open| at < open));
    let (Some(table), Some(token)) = (table_of(tables, &name), tokens.tokens.get(last)) else {
        return Vec::new();
    };
    if before(&["PARTITION", "OF"]) || before(&["AS"]) {
        return Vec::new();
    }
    let mut found = vec![(tokens.place_of(token), Scope::Table(table))];
    let ends = open.and_then(|open| Some((open, tokens.closing(open)?)));
    if let Some((open, close)) = ends {
        let mut depth = 0_usize;
        for at in open + 1..close {
            let starts = depth == 0 && matches!(tokens.tokens[at - 1].token, Token::Comma | Token::LParen);
            if starts && !is_constraint(tokens, at) {
                found.extend(column_at(tokens, at, table, tables));
            }
            match tokens.tokens[at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    found
}

/// EXCLUDE is no reserved word: it may be the name of a column.
fn is_constraint(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_list = tokens.tokens.get(at + 1).is_some_and(|token| token.token == Token::LParen);
    match &*tokens.word(at) {
        "CONSTRAINT" | "CHECK" | "PRIMARY" | "UNIQUE" | "FOREIGN" | "LIKE" => true,
        "EXCLUDE" => is_list || tokens.word(at + 1) == "USING",
        _ => false,
    }
}

fn altered(tokens: &Tokens<'_>, tables: &[Table]) -> Vec<(Place, Scope)> {
    let Some(table) = table_of(tables, &altered_table(tokens).0) else { return Vec::new() };
    let column = |operation: usize| {
        let at = match &*tokens.word(operation) {
            "ALTER" if tokens.word(operation + 1) == "COLUMN" => operation + 2,
            "ALTER" => operation + 1,
            _ => added_column(tokens, operation)?,
        };
        column_at(tokens, at, table, tables)
    };
    operations(tokens).into_iter().filter_map(column).collect()
}
