//! A normal form for all texts of a statement: in the script (`:name`), as sent (values), as prepared (`$1`), and in
//! pg_stat_statements (`$1` also for constants). Constants, parameters and variables become `?`, lists of them a single
//! `?`; comments, case and spaces are ignored.

use std::collections::BTreeSet;

use sql::{Lexer, TokenKind};

/// The tokens of a statement, separated by spaces.
pub(crate) fn normal_form(sql: &str) -> String {
    let mut tokens = Vec::new();
    all_tokens(sql).for_each(|token| push(&mut tokens, token));
    while tokens.last().is_some_and(|token: &Token| token.text == ";") {
        tokens.pop();
    }
    let words: Vec<_> = tokens.iter().map(|token| token.text.as_str()).collect();
    words.join(" ")
}

/// The identifiers of a statement, folded as by the server; they include the names of tables.
pub(crate) fn identifiers(sql: &str) -> Vec<String> {
    let names = all_tokens(sql).filter(|token| token.is_identifier);
    names.map(|token| sql::unquoted(&token.text)).collect()
}

/// The names in a statement that may be those of tables, with their schemas as written: `s.t`, `"My Table"`. In order,
/// each once. Of a name with more parts, these are the first two.
pub(crate) fn qualified_names(sql: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    // Parts of the name so far, and whether a point follows them.
    let (mut parts, mut is_point) = (0, false);
    for token in all_tokens(sql) {
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
    sign.text == "-" && before.text.ends_with(['(', ',', '=', '<', '>', '+', '*', '/', '['])
}

/// The tokens of a statement. What stands for a constant in a script or in pg_stat_statements is one, too.
fn all_tokens(sql: &str) -> impl Iterator<Item = Token> {
    let mut lexer = Lexer::new(sql.as_bytes()).with_variables();
    let mut end = 0;
    std::iter::from_fn(move || {
        let mut token = lexer.find(|token| !token.is_blank())?;
        let is_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || !byte.is_ascii();
        if token.kind == TokenKind::Variable && !token.of(sql).as_bytes().get(1).is_some_and(is_name) {
            // The colon of a slice.
            token = sql::Token { kind: TokenKind::Symbol, end: token.start + 1, ..token };
            lexer.continue_at(token.end);
        }
        let is_attached = token.start == end && end > 0;
        end = token.end;
        let text = token.of(sql);
        let is_value = || ["null", "true", "false"].iter().any(|it| text.eq_ignore_ascii_case(it));
        let (text, is_identifier) = match token.kind {
            TokenKind::Word if !is_value() => (text.to_ascii_lowercase(), true),
            TokenKind::QuotedName | TokenKind::UnicodeName => (text.to_owned(), true),
            TokenKind::Operator | TokenKind::Symbol => (text.to_owned(), false),
            _ => (CONSTANT.to_owned(), false),
        };
        Some(Token { text, is_identifier, is_attached })
    })
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
        same(&["select a[1:2], b<=-1", "select a[$1:$2], b <= $3"]);
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
