//! Connection URIs, `postgresql://user:secret@host:port,host2/dbname?keyword=value`. Yields the same pairs as a
//! keyword/value string. Messages show no part that may be a password.
//!
//! Manual: libpq, "Connection URIs". The order of parsing is libpq's, so that unusual URIs have the same meaning.

use crate::conninfo::{self, Pair};
use crate::error::ConnectError;
use crate::keywords;

const PREFIXES: [&str; 2] = ["postgresql://", "postgres://"];

/// The text after the scheme; `None` if this is not a URI.
pub(crate) fn strip_scheme(text: &str) -> Option<&str> {
    PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix))
}

/// Splits the text after the scheme into pairs.
pub(crate) fn parse(text: &str) -> Result<Vec<Pair>, ConnectError> {
    let mut pairs = Vec::new();
    let (credentials, rest) = credentials(text);
    if let Some(credentials) = credentials {
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        push_given(&mut pairs, "user", user)?;
        push_given(&mut pairs, "password", password)?;
    }
    let rest = hosts(rest, &mut pairs)?;
    let (database, query) = rest.split_once('?').unwrap_or((rest, ""));
    if let Some(database) = database.strip_prefix('/') {
        if credentials.is_none() && database.contains('@') {
            return Err(unescaped_password());
        }
        push_given(&mut pairs, "dbname", database)?;
    }
    parameters(query, &mut pairs)?;
    Ok(pairs)
}

/// Splits off `user:password@`, which must be before the first slash.
fn credentials(text: &str) -> (Option<&str>, &str) {
    match text.find(['@', '/']) {
        Some(place) if text[place..].starts_with('@') => (Some(&text[..place]), &text[place + 1..]),
        _ => (None, text),
    }
}

/// Parses comma-separated hosts and ports; returns the rest, which starts with a slash or a question mark.
fn hosts<'a>(mut rest: &'a str, pairs: &mut Vec<Pair>) -> Result<&'a str, ConnectError> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    loop {
        let host;
        if let Some(bracketed) = rest.strip_prefix('[') {
            let Some((address, after)) = bracketed.split_once(']') else {
                return Err(wrong("has no \"]\" after an IPv6 address"));
            };
            if address.is_empty() {
                return Err(wrong("has no address between \"[\" and \"]\""));
            }
            if !(after.is_empty() || after.starts_with([':', '/', '?', ','])) {
                return Err(wrong("has something between the \"]\" of an IPv6 address and the port"));
            }
            (host, rest) = (address, after);
        } else {
            (host, rest) = rest.split_at(rest.find([':', '/', '?', ',']).unwrap_or(rest.len()));
        }
        if host.contains('@') {
            return Err(unescaped_password());
        }
        hosts.push(host);
        let mut port = "";
        if let Some(after) = rest.strip_prefix(':') {
            (port, rest) = after.split_at(after.find(['/', '?', ',']).unwrap_or(after.len()));
            if rest.contains('@') && !port.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(unescaped_password());
            }
        }
        ports.push(port);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => break,
        }
    }
    push_given(pairs, "host", &hosts.join(","))?;
    push_given(pairs, "port", &ports.join(","))?;
    Ok(rest)
}

/// `keyword=value&keyword=value`
fn parameters(query: &str, pairs: &mut Vec<Pair>) -> Result<(), ConnectError> {
    if query.is_empty() {
        return Ok(());
    }
    // As in libpq, a single "&" at the end is ignored.
    let query = query.strip_suffix('&').filter(|query| !query.is_empty()).unwrap_or(query);
    for parameter in query.split('&') {
        let Some((name, value)) = parameter.split_once('=') else {
            return Err(wrong("has a query parameter without \"=\""));
        };
        if value.contains('=') {
            return Err(wrong("has a query parameter with two \"=\": write the second as %3D"));
        }
        let (name, value) = (decode(name)?, decode(value)?);
        // JDBC's spelling, also accepted by libpq.
        if name == "ssl" && value == "true" {
            pairs.push((conninfo::find("sslmode", pairs)?, "require".to_owned()));
        } else {
            pairs.push((conninfo::find(&name, pairs)?, value));
        }
    }
    Ok(())
}

/// Adds a part of the URI unless it is empty.
fn push_given(pairs: &mut Vec<Pair>, name: &'static str, part: &str) -> Result<(), ConnectError> {
    if part.is_empty() {
        return Ok(());
    }
    let keyword = keywords::find(name).expect("the parts of a URI are in the table of keywords");
    pairs.push((keyword, decode(part)?));
    Ok(())
}

/// Percent-decoding; a plus sign is not a space.
fn decode(part: &str) -> Result<String, ConnectError> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let code = after.split_at_checked(2).and_then(|(digits, after)| Some((hexadecimal(digits)?, after)));
        match code {
            Some((0, _)) => return Err(wrong("has %00, a character that PostgreSQL does not accept")),
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
            }
            None => {
                return Err(wrong("has a \"%\" without two hexadecimal digits: write a percent sign as %25"));
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong("has percent codes that are not UTF-8"))
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |byte, digit| {
        let value = u8::try_from(char::from(*digit).to_digit(16)?).ok()?;
        Some(byte << 4 | value)
    })
}

fn wrong(what: &str) -> ConnectError {
    ConnectError::Settings(format!("the connection URI {what}"))
}

/// An unescaped slash in a password yields an invalid port. The message shows no part of the URI.
fn unescaped_password() -> ConnectError {
    wrong(
        "has an \"@\" in its hosts or after them: in a user name or password, write \"/\" as %2F, \":\" as %3A and \"@\" \
         as %40",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(uri: &str) -> String {
        let pairs = parse(strip_scheme(uri).unwrap()).unwrap();
        let pairs: Vec<_> =
            pairs.iter().map(|(keyword, value)| format!("{}={value}", keyword.name)).collect();
        pairs.join(" ")
    }

    fn refusal(uri: &str) -> String {
        parse(strip_scheme(uri).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn uris_are_read_as_the_manual_has_them() {
        let check = |uri, expected: &str| assert_eq!(pairs(uri), expected, "{uri}");
        check("postgresql://", "");
        check("postgres://localhost", "host=localhost");
        check("postgresql://localhost:5433", "host=localhost port=5433");
        check("postgresql://localhost/mydb", "host=localhost dbname=mydb");
        check("postgresql://user@localhost", "user=user host=localhost");
        check("postgresql://user:secret@localhost", "user=user password=secret host=localhost");
        check(
            "postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp",
            "user=other host=localhost dbname=otherdb connect_timeout=10 application_name=myapp",
        );
        check("postgresql://host1:123,host2:456/somedb", "host=host1,host2 port=123,456 dbname=somedb");
        check("postgresql://host1,host2:456/", "host=host1,host2 port=,456");
        check("postgresql:///mydb?host=localhost&port=5433", "dbname=mydb host=localhost port=5433");
        check("postgresql://[2001:db8::1234]/database", "host=2001:db8::1234 dbname=database");
        check("postgresql://[::1]:5433,[::2]?user=u", "host=::1,::2 port=5433, user=u");
        check("postgresql:///dbname?host=/var/lib/postgresql", "dbname=dbname host=/var/lib/postgresql");
        check("postgresql://%2Fvar%2Flib%2Fpostgresql/dbname", "host=/var/lib/postgresql dbname=dbname");
        check("postgresql://user@localhost:5433/mydb?options=-c%20a%3Db", {
            "user=user host=localhost port=5433 dbname=mydb options=-c a=b"
        });
        check("postgresql://u:p%40ss%2Fw%3Ard@h/d", "user=u password=p@ss/w:rd host=h dbname=d");
        check("postgresql://:secret@h", "password=secret host=h");
        check("postgresql://h?ssl=true", "host=h sslmode=require");
        check("postgresql://u%C3%BC@h", "user=uü host=h");
        check("postgresql://h/a+b", "host=h dbname=a+b");
        check("postgresql://h:/d", "host=h dbname=d");
        check("postgresql://h?", "host=h");
        check("postgresql://h?user=u&", "host=h user=u");
    }

    #[test]
    fn what_cannot_be_read_says_what_is_wrong() {
        assert!(refusal("postgresql://[::1").contains("no \"]\""));
        assert!(refusal("postgresql://[]").contains("no address between"));
        assert!(refusal("postgresql://[::1]x").contains("between the \"]\""));
        assert!(refusal("postgresql://h?port").contains("without \"=\""));
        assert!(refusal("postgresql://h?&").contains("without \"=\""));
        assert!(refusal("postgresql://h?options=a=b").contains("%3D"));
        assert!(refusal("postgresql://h?prot=1").contains("did you mean \"port\"?"));
        assert!(refusal("postgresql://h/%zz").contains("two hexadecimal digits"));
        assert!(refusal("postgresql://h/%4").contains("two hexadecimal digits"));
        assert!(refusal("postgresql://h/a%00b").contains("%00"));
        assert!(refusal("postgresql://h/%ff").contains("not UTF-8"));
    }

    #[test]
    fn a_piece_of_a_password_is_never_shown() {
        for uri in [
            "postgresql://user:correct/horse@host/db",
            "postgresql://user:correct@horse@host/db",
            "postgresql://user:12/horse@host/db",
            "postgresql://user:correct%zzhorse@host",
            "postgresql://host?password=correct&horse=1",
            "postgresql://user:correct,horse/x@host",
        ] {
            let refusal = refusal(uri);
            assert!(!refusal.contains("correct") && !refusal.contains("horse"), "{refusal}");
        }
    }
}
