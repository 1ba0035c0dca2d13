//! Rows after `COPY … FROM stdin` in a schema, as `pg_dump` writes them, become one INSERT in the same lines. Then they
//! are statements like all others.

use std::fmt::Write as _;

use connect::quote::literal;
use sql::{Lexer, Token, TokenKind};

use datagen::Source;

use crate::loader::enum_values;
use crate::loader::execution::TableSet;

/// The same text, with an INSERT in the place of each COPY whose rows follow it. A COPY with options stays.
///
/// # Errors
/// The text cannot be split into statements.
pub(super) fn as_inserts(source: Source) -> Result<Source, datagen::Error> {
    let statements = datagen::statements(&source)?;
    let text = source.text();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut written = String::with_capacity(text.len());
    let mut next = 0;
    for statement in &statements {
        let Some(copied) = copied(&statement.text) else { continue };
        let first = (statement.line as usize).saturating_sub(1);
        let rows = first + statement.text.lines().count();
        // A dump has each COPY and each row in lines of its own.
        let is_alone = lines.get(first).is_some_and(|line| line.starts_with(&statement.text[..4]));
        let Some(end) = (rows..lines.len()).find(|line| lines[*line].trim_end() == "\\.") else { continue };
        if !is_alone || first < next {
            continue;
        }
        written.extend(lines[next..first].iter().copied());
        insert(&mut written, &copied, &lines[rows..end]);
        written.push_str(&"\n".repeat(rows - first + 1));
        next = end + 1;
    }
    if next == 0 {
        return Ok(source);
    }
    written.extend(lines[next..].iter().copied());
    Ok(source.with_text(written))
}

/// A COPY whose rows are in the schema.
struct Copied<'a> {
    /// The table and the columns.
    target: &'a str,
    delimiter: String,
    null: String,
}

/// Reads `COPY … FROM stdin`, in the text format.
fn copied(text: &str) -> Option<Copied<'_>> {
    let tokens: Vec<Token> = Lexer::new(text.as_bytes()).filter(|token| !token.is_blank()).collect();
    let is =
        |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.of(text).eq_ignore_ascii_case(word));
    let from = (0..tokens.len()).find(|at| is(*at, "from") && is(at + 1, "stdin"))?;
    if !is(0, "copy") || from < 2 {
        return None;
    }
    let target = &text[tokens[1].start..tokens[from - 1].end];
    let mut copied = Copied { target, delimiter: "\t".to_owned(), null: "\\N".to_owned() };
    let options = tokens[from + 2..].iter().filter(|token| token.kind != TokenKind::Symbol);
    let mut words = options.map(|token| token.of(text));
    while let Some(word) = words.next() {
        let option = match word.to_ascii_lowercase().as_str() {
            "with" => continue,
            "delimiter" | "delimiters" => &mut copied.delimiter,
            "null" => &mut copied.null,
            "format" if words.next().is_some_and(|format| format.eq_ignore_ascii_case("text")) => continue,
            _ => return None,
        };
        let value =
            words.next().filter(|value| !value.eq_ignore_ascii_case("as")).or_else(|| words.next())?;
        let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
        // An escape such as E'\t' is not read.
        value.clone_into(option);
    }
    Some(copied)
}

/// One line for the INSERT and its first row, and one for each other row.
fn insert(out: &mut String, Copied { target, delimiter, null }: &Copied<'_>, rows: &[&str]) {
    for (number, row) in rows.iter().enumerate() {
        let before =
            if number == 0 { format!("INSERT INTO {target} {OVERRIDING}VALUES ") } else { String::new() };
        let values: Vec<String> =
            fields(row.trim_end_matches(['\n', '\r']), delimiter).map(|text| value(text, null)).collect();
        let end = if number + 1 == rows.len() { ";" } else { "," };
        let _ = writeln!(out, "{before}({}){end}", values.join(", "));
    }
}

/// COPY gives identity columns their values, too.
const OVERRIDING: &str = "OVERRIDING SYSTEM VALUE ";
/// Servers before this version have no such columns, and no such words.
const IDENTITY_FROM: u32 = 100_000;

/// Makes the statements fit to a server of this version.
pub(crate) fn fit_to(set: &mut TableSet, version: u32) {
    enum_values::add_early(&mut set.schema, version);
    for statement in set.schema.iter_mut().filter(|_| version < IDENTITY_FROM) {
        let head = statement.sql.find(" VALUES (").unwrap_or(0);
        if statement.sql.starts_with("INSERT INTO ") && statement.sql[..head].ends_with(OVERRIDING.trim_end())
        {
            statement.sql = statement.sql.replacen(OVERRIDING, "", 1);
        }
    }
}

/// The fields of a row. A delimiter after a backslash is part of a value.
fn fields<'a>(row: &'a str, delimiter: &'a str) -> impl Iterator<Item = &'a str> {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let row = rest?;
        let is_escaped =
            |at: usize| row[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        match row.match_indices(delimiter).find(|(at, _)| !is_escaped(*at)) {
            Some((at, _)) => {
                rest = Some(&row[at + delimiter.len()..]);
                Some(&row[..at])
            }
            None => rest.take(),
        }
    })
}

/// A value of COPY's text format as a literal.
fn value(text: &str, null: &str) -> String {
    if text == null {
        return "NULL".to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        let Some(escaped) = characters.next() else { continue };
        let mut number = |first: Option<char>, radix: u32, most: usize| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most && characters.peek().is_some_and(|next| next.is_digit(radix)) {
                digits.extend(characters.next());
            }
            u8::from_str_radix(&digits, radix).map_or(escaped, char::from)
        };
        plain.push(match escaped {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => number(None, 16, 2),
            '0'..='7' => number(Some(escaped), 8, 3),
            other => other,
        });
    }
    if plain.contains('\n') {
        // The lines of the text stay the same.
        let escaped = plain.replace('\'', "''").replace('\\', "\\134").replace('\n', "\\n");
        return format!("E'{escaped}'");
    }
    literal(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_copy_become_an_insert_in_the_same_lines() {
        let text = "create table a (b int, c text);\n--\nCOPY public.a (b, c) FROM stdin;\n1\tit's\n\\N\tx\\ty\\\\\n\\.\n\n\
                    COPY a FROM stdin;\n\\.\ncopy a from stdin with (format csv);\n1,2\n\\.\ncreate index on a (b);\n";
        let written = as_inserts(Source::new(text, "s.sql")).unwrap();
        let lines: Vec<&str> = written.text().lines().collect();
        assert_eq!(lines[2], "INSERT INTO public.a (b, c) OVERRIDING SYSTEM VALUE VALUES ('1', 'it''s'),");
        assert!(lines[3].starts_with("(NULL, ") && lines[3].ends_with(';'), "{}", lines[3]);
        assert_eq!(lines[4..9], ["", "", "", "", ""], "no rows, no statement");
        assert_eq!(lines[9], "copy a from stdin with (format csv);");
        assert_eq!(lines[12], "create index on a (b);");
    }

    #[test]
    fn options_of_the_text_format_are_read() {
        for options in ["DELIMITER '|'", "with delimiter as '|' null ''", "WITH (FORMAT text, DELIMITER '|')"]
        {
            let text = format!("COPY a FROM stdin {options};\n1|x\\|y\n\\.\n");
            let written = as_inserts(Source::new(&text, "s.sql")).unwrap();
            let written = written.text();
            assert!(
                written.starts_with("INSERT INTO a OVERRIDING SYSTEM VALUE VALUES ('1', 'x|y');\n"),
                "{written}"
            );
        }
        assert!(copied("COPY a FROM stdin CSV").is_none() && copied("COPY a TO stdout").is_none());
    }

    #[test]
    fn values_are_those_of_copys_text_format() {
        assert_eq!(value("a\\tb\\x41\\101", "\\N"), literal("a\tbAA"));
        assert_eq!(value("it's\\n\\\\n", "\\N"), "E'it''s\\n\\134n'");
        let values = ["", "\\N", "\\\\N"].map(|text| value(text, "\\N"));
        assert_eq!(values, [literal(""), "NULL".to_owned(), literal("\\N")]);
    }
}
