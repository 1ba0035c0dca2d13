//! Names of tables and types: as SQL writes them, as PostgreSQL stores them, and as users give them in directives and
//! options.

use sql::TokenKind;
use sqlparser::ast::Ident;

/// A name of a table or type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// `None` for the search path.
    pub schema: Option<String>,
    pub name: String,
}

/// A name as PostgreSQL stores it.
pub(crate) fn plain(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

impl Name {
    /// From parts with a dot, as `T=` and `--table` give them. Parts in double quotes can contain dots.
    pub fn read(text: &str) -> Self {
        match dots(text).last() {
            Some(at) => Self { schema: Some(unquoted(&text[..*at])), name: unquoted(&text[at + 1..]) },
            None => Self { schema: None, name: unquoted(text) },
        }
    }

    /// From the beginning of a text in SQL, with the text after the name.
    pub fn of_sql(text: &str) -> Option<(Self, &str)> {
        let (first, rest) = identifier(text)?;
        match rest.strip_prefix('.').and_then(identifier) {
            Some((name, rest)) => Some((Self { schema: Some(first), name }, rest)),
            None => Some((Self { schema: None, name: first }, rest)),
        }
    }

    /// Whether `wanted` names this object: the schema counts only if both have one; `public` is the search path.
    pub fn matches(&self, wanted: &Self) -> bool {
        let schema = |name: &Self| name.schema.clone().filter(|schema| schema != "public");
        let same_schema = match (schema(self), schema(wanted)) {
            (Some(own), Some(wanted)) => own == wanted,
            (None, Some(_)) => self.schema.is_none() && wanted.schema.is_none(),
            (_, None) => true,
        };
        self.name == wanted.name && same_schema
    }

    /// As SQL, quoted where that is necessary.
    pub fn sql(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", sql::identifier(schema), sql::identifier(&self.name)),
            None => sql::identifier(&self.name),
        }
    }

    /// As users write it: `schema.table`.
    pub fn plain(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The position of the table that a user names. A name without quotes can contain dots, too.
pub(crate) fn find_text<'a>(names: impl Iterator<Item = &'a Name> + Clone, text: &str) -> Option<usize> {
    let wanted = Name::read(text);
    let position = |fits: &dyn Fn(&Name) -> bool| names.clone().position(fits);
    position(&|name| name.plain() == text || *name == wanted)
        .or_else(|| position(&|name| name.matches(&wanted)))
        .or_else(|| position(&|name| name.name == text))
}

/// All ways to read `table.column`, the last dot first. The column is without its quotes.
pub(crate) fn split_column(text: &str) -> impl Iterator<Item = (&str, String)> {
    dots(text).into_iter().rev().map(|at| (&text[..at], unquoted(&text[at + 1..])))
}

/// Dots outside of double quotes.
fn dots(text: &str) -> Vec<usize> {
    let mut quoted = false;
    let mut found = Vec::new();
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '.' if !quoted => found.push(at),
            _ => {}
        }
    }
    found
}

/// A quoted identifier without its quotes; any other text as it is.
fn unquoted(text: &str) -> String {
    match identifier(text) {
        Some((name, "")) if text.starts_with('"') => name,
        _ => text.to_owned(),
    }
}

/// The identifier at the beginning of a text in SQL, as PostgreSQL stores it, and the text after it.
fn identifier(text: &str) -> Option<(String, &str)> {
    let token = sql::Lexer::new(text.as_bytes()).next()?;
    let is_name = matches!(token.kind, TokenKind::Word | TokenKind::QuotedName) && token.is_closed;
    is_name.then(|| (sql::unquoted(token.of(text)), &text[token.end..]))
}
