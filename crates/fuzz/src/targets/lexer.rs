//! SQL: the tokens of any bytes are the bytes, with and without variables, with each `standard_conforming_strings`. Its
//! statements follow each other, and what is quoted is one token that means the same.

use sql::{Lexer, Token, TokenKind};

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "lexer",
    words: &[
        b"'",
        b"''",
        b"E'",
        b"U&'",
        b"U&\"",
        b"B'",
        b"x'",
        b"N'",
        b"\"",
        b"$$",
        b"$a$",
        b"$1",
        b"--",
        b"/*",
        b"*/",
        b"\n",
        b"\r",
        b"\\",
        b"\\'",
        b"+",
        b"-",
        b"=",
        b"?",
        b"..",
        b"::",
        b":=",
        b":a",
        b":'a'",
        b":{?a}",
        b"0x1F",
        b"1_0",
        b"1.e+5",
        b";",
        b"(",
        b")",
        b"CREATE OR REPLACE FUNCTION f() ",
        b"CREATE SCHEMA s ",
        b"BEGIN ",
        b"CASE ",
        b"END ",
        b"COPY t FROM STDIN",
        b"\xc3\xa9",
        b"\xff",
        b"a",
        b" ",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(64, 512, input),
    prepare: || Ok(Box::new(attempt) as Attempt),
};

fn attempt(input: &[u8]) -> Result<u64, String> {
    let mut outcome = Digest::new();
    for lexer in [
        Lexer::new(input),
        Lexer::new(input).with_variables(),
        Lexer::new(input).with_escapes(),
        Lexer::new(input).with_variables().with_escapes(),
    ] {
        let mut end = 0;
        let mut kinds = Vec::new();
        for Token { kind, start, end: next, is_closed } in lexer {
            if start != end || next <= start || !is_closed && next != input.len() {
                return Err(format!("{kind:?} at {start}..{next} after {end}"));
            }
            end = next;
            if kind != TokenKind::Space && kinds.len() < 4 {
                kinds.push(kind);
            }
        }
        if end != input.len() {
            return Err(format!("the tokens end at {end} of {}", input.len()));
        }
        outcome.debug(&kinds);
    }
    let mut end = 0;
    for range in sql::statements(input) {
        if range.start < end || range.is_empty() || range.end > input.len() {
            return Err(format!("a statement at {range:?} after {end}"));
        }
        end = range.end;
    }
    let words = sql::statement_words(input);
    outcome.debug(&(words.len().min(4), sql::copies_from_stdin(input).min(2)));
    let text = String::from_utf8_lossy(input);
    for (kind, quoted) in
        [(TokenKind::QuotedName, sql::identifier(&text)), (TokenKind::String, sql::literal(&text))]
    {
        let kind = if quoted.starts_with('E') { TokenKind::EscapeString } else { kind };
        let whole = Token { kind, start: 0, end: quoted.len(), is_closed: true };
        if !Lexer::new(quoted.as_bytes()).eq([whole]) {
            return Err(format!("{quoted} is not one token"));
        }
    }
    Ok(outcome.value())
}
