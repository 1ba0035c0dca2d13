//! Keyword/value connection strings, `host=/tmp dbname='my base'`, with libpq's quoting. Parses pairs; `resolve`
//! interprets them. Messages show no values, since any value may be a password.
//!
//! Manual: libpq, "Keyword/Value Connection Strings".

use std::iter::Peekable;
use std::str::Chars;

use crate::error::ConnectError;
use crate::keywords::{self, Keyword};

/// A keyword and its value, in the order of the string.
pub(crate) type Pair = (&'static Keyword, String);

/// Splits the string into pairs. If a keyword occurs twice, the last value counts.
pub(crate) fn parse(text: &str) -> Result<Vec<Pair>, ConnectError> {
    let mut rest = text.chars().peekable();
    let mut pairs: Vec<Pair> = Vec::new();
    loop {
        skip_blanks(&mut rest);
        if rest.peek().is_none() {
            return Ok(pairs);
        }
        let name: String =
            std::iter::from_fn(|| rest.next_if(|next| *next != '=' && !is_blank(*next))).collect();
        skip_blanks(&mut rest);
        if rest.next_if_eq(&'=').is_none() {
            return Err(missing_equals(&name, &pairs));
        }
        let keyword = find(&name, &pairs)?;
        skip_blanks(&mut rest);
        let value = if rest.next_if_eq(&'\'').is_some() {
            quoted(&mut rest).ok_or_else(|| unterminated(keyword))?
        } else {
            plain(&mut rest)
        };
        pairs.push((keyword, value));
    }
}

/// The keyword of this name, or an error with the most similar one. Shared with URIs.
pub(crate) fn find(name: &str, before: &[Pair]) -> Result<&'static Keyword, ConnectError> {
    if let Some(keyword) = keywords::find(name) {
        return Ok(keyword);
    }
    if follows_secret(before) {
        return Err(after_secret());
    }
    let meant = match keywords::nearest(name) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => "see the manual's page on connections for all keywords".to_owned(),
    };
    Err(ConnectError::Settings(format!("the connection string has an unknown keyword \"{name}\"; {meant}")))
}

/// `'…'` after the opening quote; `None` if the closing one is missing.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut value = String::new();
    loop {
        match rest.next()? {
            '\'' => return Some(value),
            '\\' => value.push(rest.next()?),
            other => value.push(other),
        }
    }
}

/// Up to the next space; a backslash escapes the next character.
fn plain(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut value = String::new();
    while let Some(next) = rest.next_if(|next| !is_blank(*next)) {
        match next {
            '\\' => value.extend(rest.next()),
            other => value.push(other),
        }
    }
    value
}

fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|next| is_blank(*next)).is_some() {}
}

/// C's `isspace`.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

fn missing_equals(name: &str, before: &[Pair]) -> ConnectError {
    if follows_secret(before) {
        return after_secret();
    }
    ConnectError::Settings(format!(
        "the connection string has no \"=\" after \"{name}\": quote a value that contains spaces, as in \
         options='-c geqo=off'"
    ))
}

fn unterminated(keyword: &Keyword) -> ConnectError {
    ConnectError::Settings(format!(
        "the connection string has no closing quote after the value of {}: write a quote inside the value as \\'",
        keyword.name
    ))
}

fn follows_secret(before: &[Pair]) -> bool {
    before.last().is_some_and(|(keyword, _)| keywords::is_secret(keyword.name))
}

/// The unreadable text may be the rest of a password, so the message does not show it.
fn after_secret() -> ConnectError {
    ConnectError::Settings(
        "the connection string is invalid after the password: quote a password that contains spaces, \
         password='…', and in a URI write \"&\" as %26"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(&'static str, String)> {
        parse(text).unwrap().into_iter().map(|(keyword, value)| (keyword.name, value)).collect()
    }

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn pairs_are_read_with_libpqs_quoting() {
        let check = |text, expected: &[(&'static str, &str)]| {
            let expected: Vec<_> =
                expected.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            assert_eq!(pairs(text), expected, "{text}");
        };
        check("", &[]);
        check(" \t\n", &[]);
        check("host=localhost port=5432", &[("host", "localhost"), ("port", "5432")]);
        check("host = localhost\nport\t=\t1", &[("host", "localhost"), ("port", "1")]);
        check("host=", &[("host", "")]);
        check("host='' port=1", &[("host", ""), ("port", "1")]);
        check(r"password='it\'s a \\ secret'", &[("password", r"it's a \ secret")]);
        check(r"password=it\'s\ a\ secret dbname=x", &[("password", "it's a secret"), ("dbname", "x")]);
        check("host='a'port='b'", &[("host", "a"), ("port", "b")]);
        check("options='-c a=b -c c=d'", &[("options", "-c a=b -c c=d")]);
        check("dbname=a=b", &[("dbname", "a=b")]);
        check(r"dbname=a\", &[("dbname", "a")]);
        check("user=a user=b", &[("user", "a"), ("user", "b")]);
        check("dbname=bücher", &[("dbname", "bücher")]);
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        assert!(refusal("host localhost=x").contains("no \"=\" after \"host\""));
        assert!(refusal("host=a nonsense").contains("no \"=\" after \"nonsense\""));
        assert!(refusal("dbname='open").contains("no closing quote after the value of dbname"));
        assert!(refusal(r"dbname='open\").contains("no closing quote"));
        assert!(refusal("hots=a").contains("unknown keyword \"hots\"; did you mean \"host\"?"));
        assert!(refusal("=a").contains("unknown keyword \"\""));
    }

    #[test]
    fn a_piece_of_a_password_is_never_shown() {
        for text in ["password=correct horse=1", "password=correct horse", "password='correct horse"] {
            let refusal = refusal(text);
            assert!(!refusal.contains("correct") && !refusal.contains("horse"), "{refusal}");
        }
    }
}
