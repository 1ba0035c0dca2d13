//! Directives that do not stand in `--` comments of the schema: those in COMMENT ON, and those of another file, such as
//! workload.toml. For one object, only the directives of one place count: another file, `--` comments, COMMENT ON.

use std::collections::BTreeMap;

use sqlparser::tokenizer::Token;

use super::{Directives, Setting, Settings, read};
use crate::error::{Checked, Fault, Place, nearest};
use crate::schema::{
    OwnDirective, Piece, Pieces, Scope, Source, Table, Tokens, find_text, split_column, table_of,
};

/// The beginning of a directive in a COMMENT ON.
const BEGINNING: &str = "df:";

/// Adds them to those of the `--` comments.
pub(super) fn add(directives: &mut Directives, pieces: &Pieces<'_>, source: &Source, tables: &[Table]) {
    let mut commented: Vec<(Scope, Vec<Setting>)> = Vec::new();
    for piece in pieces.statements.iter().filter(|piece| !source.leaves_out_line(piece.place.line)) {
        let read = of_comment_on(piece, tables, &directives.macros);
        let Some((scope, settings)) = directives.faults.take(read).flatten() else { continue };
        // The last COMMENT ON of an object counts.
        commented.retain(|(own, _)| *own != scope);
        commented.push((scope, settings));
    }
    for (scope, settings) in commented {
        if directives.settings(scope).list.is_empty() {
            let added = directives.add(scope, settings);
            directives.faults.take(added);
        }
    }
    let is_there = |own: &&OwnDirective| {
        let table =
            if own.is_column { split_column(&own.object).next().map(|(table, _)| table) } else { None };
        !source.leaves_out_table(table.unwrap_or(&own.object))
    };
    for own in source.directives.iter().filter(is_there) {
        let added = add_own(directives, own, tables);
        directives.faults.take(added.map_err(|fault| of_key(own, fault)));
    }
}

/// Adds a directive of another file.
fn add_own(directives: &mut Directives, own: &OwnDirective, tables: &[Table]) -> Checked<()> {
    let scope = scope_of(own, tables).map_err(|message| Fault::new(place(own), message))?;
    let settings = read(&own.text, place(own), &directives.macros)?;
    directives.settings(scope).list.clear();
    directives.add(scope, settings)
}

fn of_key(own: &OwnDirective, fault: Fault) -> Fault {
    Fault { message: format!("{}: {}", own.key, fault.message), ..fault }
}

/// Reads those of another file without their objects.
pub(super) fn check(source: &Source, macros: &BTreeMap<String, Settings>) -> Checked<()> {
    source
        .directives
        .iter()
        .try_for_each(|own| read(&own.text, place(own), macros).map(drop).map_err(|fault| of_key(own, fault)))
}

fn place(own: &OwnDirective) -> Place {
    Place { line: own.line, column: own.column }
}

fn scope_of(own: &OwnDirective, tables: &[Table]) -> Result<Scope, String> {
    if !own.is_column {
        return table(&own.object, tables).map(Scope::Table);
    }
    let mut error = "write the name of a column as table.column".to_owned();
    // Names can contain dots: the first way that finds a column counts.
    for (name, column_name) in split_column(&own.object) {
        match table(name, tables).and_then(|index| column(&tables[index], &column_name, index)) {
            Ok(scope) => return Ok(scope),
            Err(message) => error = message,
        }
    }
    Err(error)
}

/// The table that a user names.
pub(crate) fn table(name: &str, tables: &[Table]) -> Result<usize, String> {
    let hint = || nearest(name, tables.iter().map(|table| table.name.name.as_str()));
    let found = find_text(tables.iter().map(|table| &table.name), name);
    found.ok_or_else(|| format!("the schema has no table {name}{}", hint()))
}

pub(super) fn column(table: &Table, name: &str, index: usize) -> Result<Scope, String> {
    let names = || table.columns.iter().map(|column| column.name.as_str());
    let found = names().position(|own| own == name).map(|position| Scope::Column(index, position));
    found.ok_or_else(|| {
        format!("the table {} has no column {name}{}", table.name.plain(), nearest(name, names()))
    })
}

/// The directives of a COMMENT ON TABLE or COMMENT ON COLUMN: lines that begin with `df:`.
fn of_comment_on(
    piece: &Piece<'_>,
    tables: &[Table],
    macros: &BTreeMap<String, Settings>,
) -> Checked<Option<(Scope, Vec<Setting>)>> {
    let is_comment = sql::first_words(piece.text, 1) == ["comment"];
    if !is_comment || !piece.text.contains(BEGINNING) {
        return Ok(None);
    }
    let Ok(tokens) = Tokens::read(piece) else { return Ok(None) };
    let is_column = match &*tokens.word(2) {
        "COLUMN" => true,
        "TABLE" => false,
        _ => return Ok(None),
    };
    let last = tokens.tokens.last();
    let text = match last.map(|token| &token.token) {
        Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text,
        Some(Token::DollarQuotedString(text)) => &text.value,
        _ => return Ok(None),
    };
    let start = last.map_or(piece.place, |token| tokens.place_of(token));
    let mut settings = Vec::new();
    for (number, line) in (0..).zip(text.lines()) {
        let Some(body) = line.trim_start().strip_prefix(BEGINNING) else { continue };
        // Behind the quote, and behind the beginning.
        let before = u32::try_from(line[..line.len() - body.len()].chars().count()).unwrap_or(0);
        let column = if number == 0 { start.column + 1 + before } else { before + 1 };
        settings.extend(read(body, Place { line: start.line + number, column }, macros)?);
    }
    if settings.is_empty() {
        return Ok(None);
    }
    let fault = |message| Fault::new(piece.place, message);
    // The words COMMENT ON COLUMN, and the name with a dot before its last part.
    let dots = tokens.tokens.iter().filter(|token| token.token == Token::Period).count();
    let name = if is_column && dots == 1 {
        crate::schema::Name { schema: None, name: tokens.name(3).schema.unwrap_or_default() }
    } else {
        tokens.name(3)
    };
    let index =
        table_of(tables, &name).or_else(|| find_text(tables.iter().map(|own| &own.name), &name.plain()));
    let index = index.map_or_else(|| table(&name.plain(), tables), Ok).map_err(fault)?;
    let scope = if is_column {
        column(&tables[index], &tokens.name(3 + 2 * dots).name, index).map_err(fault)?
    } else {
        Scope::Table(index)
    };
    Ok(Some((scope, settings)))
}
