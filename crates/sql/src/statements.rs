//! Ends of statements as psql finds them (psqlscan.l): a semicolon in parentheses, or in the body of a routine in the
//! SQL standard's form, does not end the statement. Called for each token by all code that splits a text.

use std::ops::Range;

use crate::lexer::{Lexer, Token, TokenKind};

/// The parentheses and the body of a routine around a token.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    parentheses: usize,
    opening: Opening,
    /// Whether the statement is CREATE SCHEMA, whose elements start with CREATE or GRANT.
    in_schema: bool,
    /// Open BEGIN, and CASE within it, each of which has an END.
    body: usize,
}

/// The first words of a statement, as far as they can begin a routine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Opening {
    #[default]
    Nothing,
    Create,
    CreateOr,
    CreateOrReplace,
    Routine,
    SomethingElse,
}

impl Nesting {
    /// Number of parentheses around the place after the last token.
    pub fn parentheses(&self) -> usize {
        self.parentheses
    }

    /// Whether the next token of `sql` ends the statement. The statement after it begins anew.
    pub fn ends_at(&mut self, token: &Token, sql: &[u8]) -> bool {
        match (token.kind, sql[token.start]) {
            (TokenKind::Word, _) => self.word(token.of(sql)),
            (TokenKind::Symbol, b'(') => self.parentheses += 1,
            (TokenKind::Symbol, b')') => self.parentheses = self.parentheses.saturating_sub(1),
            (TokenKind::Symbol, b';') if self.parentheses == 0 && self.body == 0 => {
                *self = Self::default();
                return true;
            }
            _ => {}
        }
        false
    }

    /// After `\;` of psql, which joins statements. As in psql, an open body stays open.
    pub fn join_statement(&mut self) {
        *self = Self { parentheses: self.parentheses, body: self.body, ..Self::default() };
    }

    /// Follows CREATE [OR REPLACE] FUNCTION or PROCEDURE, alone or as an element of CREATE SCHEMA, and BEGIN … END in it.
    fn word(&mut self, word: &[u8]) {
        if self.opening == Opening::SomethingElse && !self.in_schema {
            return;
        }
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        let begins_element = self.in_schema && self.parentheses == 0 && self.body == 0 && is("create");
        self.opening = match self.opening {
            _ if begins_element => Opening::Create,
            Opening::SomethingElse => return,
            Opening::Nothing if is("create") => Opening::Create,
            Opening::Create if is("schema") && !self.in_schema => {
                self.in_schema = true;
                Opening::SomethingElse
            }
            Opening::Create if is("or") => Opening::CreateOr,
            Opening::CreateOr if is("replace") => Opening::CreateOrReplace,
            Opening::Create | Opening::CreateOrReplace if is("function") || is("procedure") => {
                Opening::Routine
            }
            Opening::Routine => Opening::Routine,
            _ => Opening::SomethingElse,
        };
        if self.opening != Opening::Routine || self.parentheses > 0 {
            return;
        }
        if is("begin") || is("case") && self.body > 0 {
            self.body += 1;
        } else if is("end") {
            self.body = self.body.saturating_sub(1);
        }
    }
}

/// The statements of a text with their semicolons, as psql sends them: from the first character that is neither white space nor in a `--`
/// comment. Text after the last semicolon is one too.
pub fn statements(sql: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let (mut lexer, mut nesting) = (Lexer::new(sql).with_variables(), Nesting::default());
    std::iter::from_fn(move || {
        let is_before = |token: &Token| matches!(token.kind, TokenKind::Space | TokenKind::LineComment);
        let first = lexer.find(|token| !is_before(token))?;
        let mut last = first;
        while !nesting.ends_at(&last, sql) {
            let Some(next) = lexer.next() else { break };
            last = next;
        }
        Some(first.start..last.end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = statements(text.as_bytes()).map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_semicolon_outside_of_parentheses_ends_a_statement() {
        check("a; b ;; c", &["a;", "b ;", ";", "c"]);
        check("create rule r as do (a; b); (c)); d;", &["create rule r as do (a; b);", "(c));", "d;"]);
        check(" -- a;\n b -- c;\n;", &["b -- c;\n;"]);
        check("\n--", &[]);
        check("/* ; */ ", &["/* ; */ "]);
    }

    #[test]
    fn the_body_of_a_routine_belongs_to_its_statement() {
        for whole in [
            "create function f() begin atomic select 1; select case when true then 1 end; end;",
            "CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC INSERT INTO t VALUES ('END;'); DELETE FROM \"end\"; END;",
            "create schema s create table t (a int) create function f() begin atomic select 1; end;",
        ] {
            check(whole, &[whole]);
            check(&format!("{whole} end; b"), &[whole, "end;", "b"]);
        }
        check(
            "begin; end; create table begin (a int); b",
            &["begin;", "end;", "create table begin (a int);", "b"],
        );
        check("create function f(begin int) as 'x'; end", &["create function f(begin int) as 'x';", "end"]);
        check("create or function begin; end", &["create or function begin;", "end"]);
        check("create function f() case; end", &["create function f() case;", "end"]);
    }

    proptest! {
        #[test]
        fn statements_follow_each_other_without_loss(text in "([a-eE ;'\"$()\\n/*:-]|begin|end|create function |\\$a\\$){0,40}") {
            let mut from = 0;
            for range in statements(text.as_bytes()) {
                let blank = &text[from..range.start];
                prop_assert!(blank.trim().is_empty() || blank.contains("--"));
                prop_assert!(range.start < range.end);
                from = range.end;
            }
        }
    }
}
