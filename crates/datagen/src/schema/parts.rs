//! Parts of PostgreSQL's statements that the SQL parser does not know and that do not matter for the rows, such as
//! storage parameters of an index: they are left out for the parser. Also the elements of a table that are no columns.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::Name;
use super::tokens::Tokens;

/// Words of which the parser does not know what follows.
type Words = &'static [&'static str];

/// After these words, a list in parentheses is left out.
const BEFORE_LISTS: [Words; 4] =
    [&["AS", "IDENTITY"], &["SET", "NULL"], &["SET", "DEFAULT"], &["ALWAYS", "IDENTITY"]];

/// These words are left out; the number of tokens after them, too.
const LEFT_OUT: [(Words, usize); 7] = [
    (&["USING", "INDEX", "TABLESPACE"], 1),
    (&["NULLS", "NOT", "DISTINCT"], 0),
    (&["NULLS", "DISTINCT"], 0),
    (&["WITHOUT", "OVERLAPS"], 0),
    (&["NO", "INHERIT"], 0),
    (&["NOT", "ENFORCED"], 0),
    (&["NOT", "VALID"], 0),
];

/// The same, if they are not the name of a column.
const STORAGE: [&str; 2] = ["COMPRESSION", "STORAGE"];

/// An element of a table's definition that is not a column and that the parser does not know.
pub(crate) enum Element {
    /// `LIKE table`
    Like(Name),
    /// `CONSTRAINT name NOT NULL column`, as `pg_dump` writes it.
    NotNull(String),
}

impl Element {
    pub(super) fn like(self) -> Option<Name> {
        if let Element::Like(table) = self { Some(table) } else { None }
    }

    pub(super) fn not_null(self) -> Option<String> {
        if let Element::NotNull(column) = self { Some(column) } else { None }
    }
}

impl Tokens<'_> {
    /// The tokens that the parser knows. The elements of a table that [`Tokens::elements`] reads are left out.
    pub(super) fn known(&self, count: usize) -> Vec<TokenWithSpan> {
        let unknown: Vec<(usize, usize)> = self.unknown_elements().map(|(from, to, _)| (from, to)).collect();
        let virtual_ends = self.virtual_ends();
        let mut kept = Vec::with_capacity(count);
        let mut at = 0;
        while at < count.min(self.tokens.len()) {
            let element = unknown.iter().find(|(from, _)| *from == at).map(|(from, to)| to - from);
            let length = element.unwrap_or_else(|| self.unknown_length(at));
            if length == 0 {
                let mut token = self.tokens[at].clone();
                // For the rows they mean the same.
                if let Token::Word(word) = &mut token.token
                    && self.word(at) == "VIRTUAL"
                    && self.tokens[at - 1].token == Token::RParen
                {
                    "STORED".clone_into(&mut word.value);
                    word.keyword = Keyword::STORED;
                }
                let span = token.span;
                kept.push(token);
                if virtual_ends.contains(&at) {
                    kept.push(TokenWithSpan { token: Token::make_keyword("STORED"), span });
                }
            }
            at += length.max(1);
        }
        kept
    }

    /// Elements of a CREATE TABLE that the parser does not know.
    pub(super) fn elements(&self) -> impl Iterator<Item = Element> {
        self.unknown_elements().map(|(.., element)| element)
    }

    /// With a comma: the one behind an element, otherwise the one before it.
    fn unknown_elements(&self) -> impl Iterator<Item = (usize, usize, Element)> {
        let is = |at: usize, token: &Token| self.tokens.get(at).is_some_and(|own| own.token == *token);
        let open = self.tokens.iter().position(|token| token.token == Token::LParen);
        let is_table = self.word(0) == "CREATE" && (1..4).any(|at| self.word(at) == "TABLE");
        let close = open.filter(|_| is_table).and_then(|open| Some((open, self.closing(open)?)));
        let mut bounds = Vec::new();
        if let Some((open, close)) = close {
            let (mut depth, mut start) = (0_usize, open + 1);
            for at in open + 1..=close {
                match self.tokens[at].token {
                    Token::LParen => depth += 1,
                    Token::RParen if at < close => depth = depth.saturating_sub(1),
                    Token::Comma if depth == 0 => {
                        bounds.push((start, at));
                        start = at + 1;
                    }
                    _ => {}
                }
            }
            bounds.push((start, close));
        }
        bounds.into_iter().filter_map(move |(from, to)| {
            let element = self.unknown_element(from, to)?;
            let (from, to) = match (is(to, &Token::Comma), is(from - 1, &Token::Comma)) {
                (true, _) => (from, to + 1),
                (false, true) => (from - 1, to),
                (false, false) => (from, to),
            };
            Some((from, to, element))
        })
    }

    fn unknown_element(&self, from: usize, to: usize) -> Option<Element> {
        let is_of = |at: usize| self.tokens.get(at).is_some_and(|own| own.token == Token::Period);
        if self.word(from) == "LIKE" {
            let named = if is_of(from + 2) { from + 4 } else { from + 2 };
            let is_alone = named == to || matches!(&*self.word(named), "INCLUDING" | "EXCLUDING");
            return is_alone.then(|| Element::Like(self.name(from + 1)));
        }
        let constraint = if self.word(from) == "CONSTRAINT" { from + 2 } else { from };
        let is_not_null = self.word(constraint) == "NOT" && self.word(constraint + 1) == "NULL";
        is_not_null.then(|| Element::NotNull(self.name(constraint + 2).name))
    }

    /// Ends of `GENERATED ALWAYS AS (…)` without STORED or VIRTUAL.
    fn virtual_ends(&self) -> Vec<usize> {
        let is_start = |at: &usize| self.word(*at) == "ALWAYS" && self.word(at + 1) == "AS";
        let is_open = |at: &usize| self.tokens.get(*at).is_some_and(|own| own.token == Token::LParen);
        let opens = (0..self.tokens.len()).filter(is_start).map(|at| at + 2).filter(is_open);
        let ends = opens.filter_map(|open| self.closing(open));
        ends.filter(|end| !matches!(&*self.word(end + 1), "STORED" | "VIRTUAL")).collect()
    }

    /// PERIOD before the last column of a temporal foreign key, or of the key that it references.
    fn is_period(&self, at: usize) -> bool {
        let is = |at: usize, token: &Token| self.tokens.get(at).is_some_and(|own| own.token == *token);
        let is_name = matches!(self.tokens.get(at + 1).map(|own| &own.token), Some(Token::Word(_)));
        if self.word(at) != "PERIOD" || !is_name || !is(at + 2, &Token::RParen) {
            return false;
        }
        let Some(open) = (0..at).rev().find(|index| is(*index, &Token::LParen)) else { return false };
        let before = |distance: usize| open.checked_sub(distance).map_or(String::new(), |at| self.word(at));
        before(1) == "KEY" || before(2) == "REFERENCES" || before(4) == "REFERENCES"
    }

    /// The column of `ALTER TABLE … ADD [CONSTRAINT name] NOT NULL column`.
    pub(super) fn added_not_null(&self) -> Option<String> {
        let add = (0..self.tokens.len()).find(|at| self.word(*at) == "ADD")?;
        let constraint = if self.word(add + 1) == "CONSTRAINT" { add + 3 } else { add + 1 };
        let is_not_null = self.word(constraint) == "NOT" && self.word(constraint + 1) == "NULL";
        is_not_null.then(|| self.name(constraint + 2).name)
    }

    /// Whether WITHOUT OVERLAPS follows the name at this place.
    pub(super) fn is_without_overlaps(&self, name: &Ident) -> bool {
        let at = self.tokens.iter().position(|token| token.span.start == name.span.start);
        at.is_some_and(|at| self.word(at + 1) == "WITHOUT" && self.word(at + 2) == "OVERLAPS")
    }

    /// How many tokens the parser does not know here.
    fn unknown_length(&self, at: usize) -> usize {
        let is_open = |at: usize| self.tokens.get(at).is_some_and(|own| own.token == Token::LParen);
        let list = |at: usize| self.closing(at).map_or(0, |close| close + 1 - at);
        if self.is_period(at) {
            return 1;
        }
        let begins_element =
            at == 0 || matches!(self.tokens[at - 1].token, Token::Comma | Token::LParen | Token::Period);
        if begins_element {
            return 0;
        }
        if self.word(at) == "WITH" && is_open(at + 1) {
            return 1 + list(at + 1);
        }
        if STORAGE.contains(&&*self.word(at)) {
            return 2;
        }
        let follow = |words: Words, start: usize| {
            words.iter().enumerate().all(|(index, word)| self.word(start + index) == *word)
        };
        if let Some((words, behind)) = LEFT_OUT.iter().find(|(words, _)| follow(words, at)) {
            return words.len() + behind;
        }
        let is_list = |words: &&Words| at >= words.len() && follow(words, at - words.len());
        if is_open(at) && BEFORE_LISTS.iter().any(|words| is_list(&words)) { list(at) } else { 0 }
    }
}
