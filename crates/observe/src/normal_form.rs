//! A normal form for all texts of a statement: in the script (`:name`), as sent (values), as prepared (`$1`), and in
//! pg_stat_statements (`$1` also for constants). Constants, parameters and variables become `?`, lists of them a single
//! `?`; comments, case and spaces are ignored.

use std::collections::BTreeSet;

/// The tokens of a statement, separated by spaces.
pub(crate) fn normal_form(sql: &str) -> String {
    let mut tokens = Vec::new();
    let mut rest = Scanner { text: sql, at: 0 };
    while let Some(token) = rest.next_token() {
        push(&mut tokens, token);
    }
    while tokens.last().is_some_and(|token: &Token| token.text == ";") {
        tokens.pop();
    }
    let words: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
    words.join(" ")
}

/// The identifiers of a statement, folded as by the server; they include the names of tables.
pub(crate) fn identifiers(sql: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = Scanner { text: sql, at: 0 };
    while let Some(token) = rest.next_token() {
        if token.is_identifier {
            names.push(token.text.trim_matches('"').replace("\"\"", "\""));
        }
    }
    names
}

/// The names in a statement that may be those of tables, with their schemas as written: `s.t`, `"My Table"`. In order,
/// each once. Of a name with more parts, these are the first two.
pub(crate) fn qualified_names(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = Scanner { text: sql, at: 0 };
    // Parts of the name so far, and whether a point follows them.
    let (mut parts, mut is_point) = (0, false);
    while let Some(token) = rest.next_token() {
        if !token.is_identifier || !is_complete(&token.text) {
            is_point = token.text == "." && parts > 0 && !is_point;
            parts = if is_point { parts } else { 0 };
            continue;
        }
        match names.last_mut().filter(|_| is_point) {
            Some(name) if parts == 1 => name.extend([".", &token.text]),
            Some(_) => {}
            None => names.push(token.text),
        }
        (parts, is_point) = (if is_point { parts + 1 } else { 1 }, false);
    }
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

/// The server refuses an identifier with nothing between its quotation marks, or with one that is not closed.
fn is_complete(identifier: &str) -> bool {
    identifier != "\"\"" && identifier.matches('"').count().is_multiple_of(2)
}

const CONSTANT: &str = "?";

#[derive(Debug)]
struct Token {
    text: String,
    is_identifier: bool,
    /// No space precedes the token.
    is_attached: bool,
}

/// Adds a token; merges signs into constants, and lists of constants into one.
fn push(tokens: &mut Vec<Token>, mut token: Token) {
    if token.text == CONSTANT {
        // `+ -5` and `(-5` contain signed constants; `a -5` and `3-5` are subtractions. `a -5` cannot be decided
        // without the server's grammar, so only a sign that is not attached is merged.
        if token.is_attached && tokens.last().is_some_and(|sign| sign.text == "-" && !sign.is_attached)
            || tokens.len() >= 2 && token.is_attached && is_sign_after_opening(tokens)
        {
            let sign = tokens.pop().expect("there is one");
            token.is_attached = sign.is_attached;
        }
        let is_list =
            matches!(tokens.as_slice(), [.., first, comma] if first.text == CONSTANT && comma.text == ",");
        if is_list {
            tokens.pop();
            return;
        }
    }
    tokens.push(token);
}

/// Whether the last token is a minus after `(`, `,` or an operator.
fn is_sign_after_opening(tokens: &[Token]) -> bool {
    let [.., before, sign] = tokens else { return false };
    sign.text == "-" && matches!(before.text.as_str(), "(" | "," | "=" | "<" | ">" | "+" | "*" | "/" | "[")
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Length in bytes of the leading characters that all fulfil `is`.
    fn run(&self, from: usize, is: impl Fn(char) -> bool) -> usize {
        let rest = &self.rest()[from..];
        rest.find(|character| !is(character)).unwrap_or(rest.len())
    }

    fn next_token(&mut self) -> Option<Token> {
        let begin = self.at;
        self.skip_blanks();
        let is_attached = self.at == begin && begin > 0;
        let first = self.rest().chars().next()?;
        let second = self.rest()[first.len_utf8()..].chars().next();
        let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
        let constant = || (CONSTANT.to_owned(), false);
        let ((text, is_identifier), length) = match first {
            '\'' => (constant(), self.quoted('\'', false)),
            'e' | 'E' if second == Some('\'') => (constant(), 1 + self.skip(1).quoted('\'', true)),
            'b' | 'B' | 'x' | 'X' | 'n' | 'N' if second == Some('\'') => {
                (constant(), 1 + self.skip(1).quoted('\'', false))
            }
            '"' => {
                let length = self.quoted('"', false);
                ((self.rest()[..length].to_owned(), true), length)
            }
            '$' if second.is_some_and(|digit| digit.is_ascii_digit()) => {
                (constant(), 1 + self.run(1, |digit| digit.is_ascii_digit()))
            }
            '$' => match self.dollar_quoted() {
                Some(length) => (constant(), length),
                None => (("$".to_owned(), false), 1),
            },
            ':' if second == Some(':') => (("::".to_owned(), false), 2),
            ':' if second.is_some_and(|letter| letter.is_alphabetic() || letter == '_') => {
                (constant(), 1 + self.run(1, |character| character.is_alphanumeric() || character == '_'))
            }
            digit if digit.is_ascii_digit() || digit == '.' && second.is_some_and(|c| c.is_ascii_digit()) => {
                (constant(), self.number())
            }
            letter if letter.is_alphabetic() || letter == '_' => {
                let length = self.run(0, is_word);
                let word = self.rest()[..length].to_lowercase();
                let is_value = matches!(word.as_str(), "null" | "true" | "false");
                (if is_value { constant() } else { (word, true) }, length)
            }
            other => ((other.to_string(), false), other.len_utf8()),
        };
        self.at += length;
        Some(Token { text, is_identifier, is_attached })
    }

    fn skip(&self, bytes: usize) -> Scanner<'_> {
        Scanner { text: self.text, at: self.at + bytes }
    }

    /// Length of a number: digits, a point, an exponent with its sign.
    fn number(&self) -> usize {
        let length =
            self.run(0, |character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_'));
        let rest = self.rest();
        let ends_in_exponent = rest[..length].ends_with(['e', 'E']) && !rest.starts_with("0x");
        if ends_in_exponent && rest[length..].starts_with(['-', '+']) {
            return length + 1 + self.run(length + 1, |digit| digit.is_ascii_digit());
        }
        length
    }

    /// Length of a quoted text; an unclosed one extends to the end.
    fn quoted(&self, quote: char, has_backslashes: bool) -> usize {
        let rest = self.rest();
        let mut characters = rest.char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\\' && has_backslashes {
                characters.next();
            } else if character == quote {
                match characters.peek() {
                    Some(&(_, next)) if next == quote => drop(characters.next()),
                    _ => return at + quote.len_utf8(),
                }
            }
        }
        rest.len()
    }

    /// Length of `$tag$ … $tag$`.
    fn dollar_quoted(&self) -> Option<usize> {
        let rest = self.rest();
        let tag_end = 1 + rest[1..].find('$')? + 1;
        let tag = &rest[..tag_end];
        if !tag[1..tag_end - 1].chars().all(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let end = rest[tag_end..].find(tag).map(|at| tag_end + at + tag_end);
        Some(end.unwrap_or(rest.len()))
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self) {
        loop {
            self.at += self.run(0, char::is_whitespace);
            if self.rest().starts_with("--") {
                self.at += self.run(0, |character| character != '\n');
            } else if self.rest().starts_with("/*") {
                self.at += comment_length(self.rest());
            } else {
                return;
            }
        }
    }
}

/// Length of a comment, including nested ones.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(forms: &[&str]) {
        for form in forms {
            assert_eq!(normal_form(form), normal_form(forms[0]), "{form}");
        }
    }

    #[test]
    fn a_statement_is_the_same_in_all_its_ways() {
        same(&[
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
            "UPDATE pgbench_accounts SET abalance = abalance + -4821 WHERE aid = 77;",
            "update pgbench_accounts set abalance = abalance + $1 where aid = $2",
            "/* hi /* there */ */ UPDATE  pgbench_accounts\n SET abalance=abalance+$1 WHERE aid=$2 -- end",
        ]);
        same(&[
            "INSERT INTO h (tid, bid) VALUES (:tid, :bid, CURRENT_TIMESTAMP)",
            "INSERT INTO h (tid, bid) VALUES (1, -2, CURRENT_TIMESTAMP);",
            "INSERT INTO h (tid, bid) VALUES ($1, $2, CURRENT_TIMESTAMP)",
        ]);
        same(&["select * from t where a in (1, 2, 3)", "select * from t where a in ($1 /*, ... */)"]);
        same(&["select :a::int, ':b'", "select 5::int, E'it\\'s'", "select null::int, $tag$ x $y $tag$"]);
        same(&["select 1.5e-3", "select 0x1F", "select B'101'", "select $17"]);
    }

    #[test]
    fn different_statements_stay_different() {
        for (one, other) in
            [("select a", "select b"), ("select \"A\"", "select a"), ("begin", "end"), ("a - 5", "a + 5")]
        {
            assert_ne!(normal_form(one), normal_form(other));
        }
    }

    #[test]
    fn names_of_tables_keep_their_schema_and_their_quotation_marks() {
        assert_eq!(
            qualified_names(
                "REFRESH MATERIALIZED VIEW S.\"My View\"; select s.t.c, d.* from x as \"d.e\" -- no"
            ),
            [
                "refresh",
                "materialized",
                "view",
                "s.\"My View\"",
                "select",
                "s.t",
                "d",
                "from",
                "x",
                "as",
                "\"d.e\""
            ],
        );
        assert_eq!(qualified_names("vacuum t, \"\", u; analyze \"open"), ["vacuum", "t", "u", "analyze"]);
    }

    #[test]
    fn identifiers_are_folded_as_the_server_does() {
        assert_eq!(
            identifiers("SELECT x FROM S.T, \"Q\"\"q\" -- no"),
            ["select", "x", "from", "s", "t", "Q\"q"]
        );
    }

    proptest! {
        #[test]
        fn any_text_has_a_normal_form(text in "\\PC*|[-'\"$:eE/*a1 \\\\]{0,40}") {
            let _ = (normal_form(&text), identifiers(&text));
        }
    }
}
