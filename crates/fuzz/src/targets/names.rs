//! Names in SQL: whatever a database, a role, a script or a file is called, in the statements that are built from it it
//! stays one identifier or one literal that means just this text. The first line of an input is the name, the rest the
//! text. Read by a scanner of our own, which knows both ways of `standard_conforming_strings`.

use connect::quote::{identifier, literal};
use script::Random;

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance, first_line};
use crate::corpus::below;

mod scanner;

use scanner::{Characters, Token, tokens};

pub const TARGET: Target = Target {
    name: "names",
    words: WORDS,
    generate: Some(generate),
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(64, 512, input),
    prepare: || Ok(Box::new(attempt) as Attempt),
};

const WORDS: &[&[u8]] = &[
    b"'",
    b"''",
    b"\"",
    b"\"\"",
    b"\\",
    b"\\'",
    b"\\\\",
    b"\\134",
    b"\\047",
    b"\\x27",
    b"\\u0027",
    b"E'",
    b"e'",
    b"U&'",
    b"U&\"",
    b"N'",
    b"B'",
    b"X'",
    b"$$",
    b"$a$",
    b"--",
    b"/*",
    b"*/",
    b";",
    b"; DROP DATABASE postgres",
    b"; ALTER ROLE alice SUPERUSER; --",
    b"pgmeter_lab_",
    b"pgmeter_lab_12_ab_1",
    b"template1",
    b" UESCAPE '!'",
    b"\r",
    b"\t",
    b" ",
    b"\x0b",
    b"\0",
    b"\xc3\xa9",
    b"\xe2\x80\x99",
    b"\xef\xbc\x87",
    b"\xf4\x8f\xbf\xbf",
    b"\xf4\x8f\xbe\x80",
    b"\xc0\xa7",
    b"\x81",
    b"\xbf",
    b"\n",
];

/// Nothing but what could open or close a token, with few plain characters.
fn generate(random: &mut Random, out: &mut Vec<u8>) {
    for _ in 0..below(random, 24) {
        out.extend_from_slice(WORDS[below(random, WORDS.len())]);
    }
}

/// A statement as pgmeter builds them, around an identifier and a literal: its text, and its tokens by our scanner.
struct Statement {
    before: &'static str,
    between: &'static str,
    after: &'static str,
}

/// Of the clean-up, of tablespaces and of the observer.
const STATEMENTS: [Statement; 3] = [
    Statement { before: "DROP DATABASE IF EXISTS ", between: "; SELECT ", after: "" },
    Statement { before: "CREATE TABLESPACE ", between: " LOCATION ", after: ";" },
    Statement {
        before: "SELECT count(*) FROM ",
        between: ".pg_stat_statements WHERE application_name = ",
        after: " AND pid <> pg_backend_pid()",
    },
];

fn attempt(input: &[u8]) -> Result<u64, String> {
    let (name, text) = first_line(input);
    let (name, text) = (String::from_utf8_lossy(name), String::from_utf8_lossy(text));
    let mut outcome = Digest::new();
    for Statement { before, between, after } in STATEMENTS {
        let statement = format!("{before}{}{between}{}{after}", identifier(&name), literal(&text));
        for conforms in [true, false] {
            let plain = |sql: &'static str| tokens(sql.as_bytes(), conforms, Characters::Utf8);
            let [before, between, after] = [plain(before)?, plain(between)?, plain(after)?];
            let name = Token::Identifier(name.as_bytes().to_vec());
            let text = Token::Literal(text.as_bytes().to_vec());
            let expected = [before, vec![name], between, vec![text], after].concat();
            if tokens(statement.as_bytes(), conforms, Characters::Utf8)? != expected {
                return Err(format!("conforming {conforms}: the server reads something else in {statement}"));
            }
            // Where the server takes two bytes for a character, the text is another one, but it ends where it did.
            let kinds = |tokens: &[Token]| tokens.iter().map(Token::kind).collect::<Vec<_>>();
            let other = tokens(statement.as_bytes(), conforms, Characters::TwoBytes)?;
            if kinds(&other) != kinds(&expected) {
                return Err(format!("conforming {conforms}, two bytes: other tokens in {statement}"));
            }
        }
    }
    // Whether there is something to escape, and of which kinds.
    for text in [&name, &text] {
        outcome.debug(&["'", "\"", "\\", "\0", "$", "--", "/*", ";"].map(|part| text.contains(part)));
    }
    Ok(outcome.value())
}
