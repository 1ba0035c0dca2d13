//! Splits SQL text into statements and `--` comments, with their places, and psql's backslash lines. Used for the schema's
//! text alone.

use std::collections::BTreeSet;

use sql::{Lexer, Nesting, Token, TokenKind};

use crate::error::{Checked, Fault, Place};

/// A statement without its semicolon, from its first character on.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub text: &'a str,
    pub place: Place,
}

/// Text of a `--` comment after the first two dashes, to the end of the line.
#[derive(Clone, Debug)]
pub(crate) struct Comment<'a> {
    pub text: &'a str,
    /// Of the first dash.
    pub place: Place,
}

/// A command of psql that changes nothing in the database, or includes a file.
#[derive(Clone, Debug)]
pub(crate) struct Command<'a> {
    pub name: &'a str,
    /// The first one, without quotes.
    pub argument: &'a str,
    /// Of the backslash.
    pub place: Place,
    /// Its bytes, without the end of its line.
    pub start: usize,
    pub end: usize,
}

/// Statements, comments and commands, each in their order.
#[derive(Debug, Default)]
pub(crate) struct Pieces<'a> {
    pub statements: Vec<Piece<'a>>,
    pub comments: Vec<Comment<'a>>,
    pub commands: Vec<Command<'a>>,
}

impl Command<'_> {
    pub fn includes(&self) -> bool {
        INCLUDES.contains(&self.name)
    }

    /// Whether the name of the file is relative to the file with the command.
    pub fn is_relative(&self) -> bool {
        matches!(self.name, "ir" | "include_relative")
    }

    /// Whether the file ends here.
    pub fn is_end(&self) -> bool {
        matches!(self.name, "q" | "quit")
    }
}

/// Splits `text`, which includes no files.
pub(crate) fn split(text: &str) -> Checked<Pieces<'_>> {
    let pieces = split_with_includes(text)?;
    match pieces.commands.iter().find(|command| command.includes()) {
        Some(command) => Err(refused(command.name, command.place)),
        None => Ok(pieces),
    }
}

/// Splits `text`, whose included files are read later.
pub(crate) fn split_with_includes(text: &str) -> Checked<Pieces<'_>> {
    let mut scanner = Scanner {
        text,
        lexer: Lexer::new(text.as_bytes()).with_variables(),
        nesting: Nesting::default(),
        variables: BTreeSet::new(),
        at: 0,
        place: Place { line: 1, column: 1 },
        start: None,
    };
    let mut pieces = Pieces::default();
    while let Some(token) = scanner.lexer.next() {
        scanner.token(&token, &mut pieces)?;
    }
    scanner.end_statement(&mut pieces);
    Ok(pieces)
}

/// Commands of psql that include a file.
const INCLUDES: [&str; 4] = ["i", "ir", "include", "include_relative"];
/// Commands of psql that set up psql itself, or print. Those that begin with `d` describe objects.
const SKIPPED: [&str; 31] = [
    "a",
    "C",
    "c",
    "connect",
    "conninfo",
    "echo",
    "encoding",
    "errverbose",
    "f",
    "H",
    "l",
    "p",
    "print",
    "pset",
    "q",
    "qecho",
    "quit",
    "restrict",
    "set",
    "sf",
    "sv",
    "t",
    "T",
    "timing",
    "unrestrict",
    "unset",
    "warn",
    "x",
    "z",
    "h",
    "help",
];

/// Commands of psql whose argument is the rest of the line.
const WHOLE_LINE: [&str; 4] = ["h", "help", "sf", "sv"];

/// The length of the arguments of a command of psql: a backslash that is not quoted ends them.
fn arguments_length(line: &str) -> usize {
    let mut quote = None;
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (None, '\\') if line[at..].trim_end() != "\\" => return at,
            (Some('\''), '\\') => drop(characters.next()),
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    line.len()
}

fn refused(name: &str, place: Place) -> Fault {
    let message = format!(
        "psql's command \\{name} is not executed here: write SQL statements instead, or remove the line"
    );
    Fault::new(place, message)
}

struct Scanner<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    nesting: Nesting,
    /// Variables of psql that the text has set.
    variables: BTreeSet<&'a str>,
    /// The first byte of the next token, and its place.
    at: usize,
    place: Place,
    /// First character of the statement.
    start: Option<(usize, Place)>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Passes over so many bytes, which end at a character.
    fn pass(&mut self, bytes: usize) {
        for character in self.text[self.at..self.at + bytes].chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.at += bytes;
        self.lexer.continue_at(self.at);
    }

    fn token(&mut self, token: &Token, pieces: &mut Pieces<'a>) -> Checked<()> {
        let text = token.of(self.text);
        if !token.is_closed {
            return Err(self.unclosed(token));
        }
        if token.kind == TokenKind::LineComment {
            pieces.comments.push(Comment { text: &text[2..], place: self.place });
        } else if text == "\\" && (self.place.column == 1 || self.start.is_none()) {
            return self.command(pieces);
        } else if self.nesting.ends_at(token, self.text.as_bytes()) {
            let is_statement = self.start.is_some();
            self.end_statement(pieces);
            self.pass(1);
            let copies = |piece: &Piece<'_>| sql::copies_from_stdin(piece.text.as_bytes()) > 0;
            let is_copy = is_statement && pieces.statements.last().is_some_and(copies);
            return if is_copy { self.rows_of_copy() } else { Ok(()) };
        } else if !token.is_blank() {
            self.start.get_or_insert((self.at, self.place));
        }
        if token.kind == TokenKind::Variable {
            self.check_variable(text)?;
        }
        self.pass(text.len());
        Ok(())
    }

    fn unclosed(&self, token: &Token) -> Fault {
        let text = token.of(self.text);
        let quote = match token.kind {
            TokenKind::BlockComment => return Fault::new(self.place, "the comment /* is not closed"),
            TokenKind::DollarString => &text[..text[1..].find('$').map_or(text.len(), |end| end + 2)],
            TokenKind::QuotedName | TokenKind::UnicodeName => "\"",
            _ => "'",
        };
        // The length of the prefix, such as E.
        let prefix = u32::try_from(text.find(quote).unwrap_or_default()).unwrap_or_default();
        let place = Place { column: self.place.column + prefix, ..self.place };
        Fault::new(place, format!("the quote {quote} is not closed"))
    }

    /// Passes over a command of psql that changes nothing in the database, or includes a file.
    fn command(&mut self, pieces: &mut Pieces<'a>) -> Checked<()> {
        let (rest, place, start) = (self.rest(), self.place, self.at);
        let line = rest[..rest.find('\n').unwrap_or(rest.len())].trim_end_matches('\r');
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = line[1..].find(|c: char| !is_name(c)).map_or(line.len(), |length| length + 1);
        // `\!ls` is `\! ls`.
        let length = if length == 1 { line.chars().nth(1).map_or(1, |c| 1 + c.len_utf8()) } else { length };
        let name = &line[1..length];
        let rest_of_line = &line[length..];
        let arguments =
            if WHOLE_LINE.contains(&name) { rest_of_line.len() } else { arguments_length(rest_of_line) };
        let argument = argument(&rest_of_line[..arguments]);
        let end = length + arguments;
        let end = end + if line[end..].starts_with("\\\\") { 2 } else { 0 };
        let known = INCLUDES.contains(&name) || SKIPPED.contains(&name) || name.starts_with('d');
        if !known {
            return Err(refused(name, place));
        }
        if INCLUDES.contains(&name) && self.start.is_some() {
            return Err(Fault::new(
                place,
                "a statement cannot include a file: end it with ; before this line",
            ));
        }
        if name == "encoding"
            && !["utf8", "utf-8", "unicode", ""].iter().any(|own| argument.eq_ignore_ascii_case(own))
        {
            return Err(Fault::new(
                place,
                "schemas are read as UTF-8: convert the file, and remove this line",
            ));
        }
        match name {
            "set" => drop(self.variables.insert(argument)),
            "unset" => drop(self.variables.remove(argument)),
            _ => {}
        }
        let command = Command { name, argument, place, start, end: start + end };
        self.pass(if command.is_end() { rest.len() } else { end });
        pieces.commands.push(command);
        Ok(())
    }

    /// Refuses a variable that the text has set: psql would replace it.
    fn check_variable(&self, text: &str) -> Checked<()> {
        let name = text.trim_matches([':', '\'', '"', '{', '?', '}']);
        if self.variables.contains(name) {
            let message = format!(
                "psql's variable :{name} is not replaced: write its value instead, and remove \\set {name}"
            );
            return Err(Fault::new(self.place, message));
        }
        Ok(())
    }

    /// Passes over the lines after COPY … FROM stdin, up to the one that ends them.
    fn rows_of_copy(&mut self) -> Checked<()> {
        let place = self.place;
        let mut lines = self.rest().split_inclusive('\n');
        let mut length = lines.next().map_or(0, str::len);
        for line in lines {
            length += line.len();
            if line.trim_end() == "\\." {
                self.pass(length);
                return Ok(());
            }
        }
        Err(Fault::new(place, "the rows of this COPY have no end: a line with \\. alone"))
    }

    fn end_statement(&mut self, pieces: &mut Pieces<'a>) {
        if let Some((start, place)) = self.start.take() {
            pieces.statements.push(Piece { text: self.text[start..self.at].trim_end(), place });
        }
    }
}

/// The first argument of a command, without its quotes.
fn argument(text: &str) -> &str {
    let text = text.trim();
    for quote in ['\'', '"'] {
        if let Some((quoted, _)) = text.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return quoted;
        }
    }
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, statements: &[&str], comments: &[&str]) {
        let pieces = split(text).expect("text");
        let texts: Vec<&str> = pieces.statements.iter().map(|piece| piece.text).collect();
        assert_eq!(texts, statements, "{text}");
        let texts: Vec<&str> = pieces.comments.iter().map(|comment| comment.text).collect();
        assert_eq!(texts, comments, "{text}");
    }

    #[test]
    fn semicolons_end_statements_only_outside_of_quotes_comments_and_parentheses() {
        check("a; b ;; c", &["a", "b", "c"], &[]);
        check(
            "a ';' \";\" $$;$$ $x$;$$;$x$ /* ; /* ; */ ; */ e'\\';' (;);b",
            &["a ';' \";\" $$;$$ $x$;$$;$x$ /* ; /* ; */ ; */ e'\\';' (;)", "b"],
            &[],
        );
        check("a 'it''s;'; b$1;", &["a 'it''s;'", "b$1"], &[]);
    }

    #[test]
    fn bodies_of_functions_in_standard_form_belong_to_their_statement() {
        let function = "create or replace function f(x int) returns int language sql begin atomic select case when x > 0 then (select 1); end; end";
        let procedure = "CREATE PROCEDURE p()\nBEGIN ATOMIC\n INSERT INTO t VALUES ('END;'); -- END;\n DELETE FROM t WHERE \"end\" = 1;\nEND";
        check(&format!("{function};\n{procedure}; b"), &[function, procedure, "b"], &[" END;"]);
        check("begin; select 1; end; c", &["begin", "select 1", "end", "c"], &[]);
        check(
            "create table t(begin int, atomic int); b",
            &["create table t(begin int, atomic int)", "b"],
            &[],
        );
    }

    #[test]
    fn comments_are_kept_apart_and_backslash_lines_are_skipped() {
        check(
            "-- one\n\\set x ';'\na -- two;\n b; '-- no'",
            &["a -- two;\n b", "'-- no'"],
            &[" one", " two;"],
        );
        let pieces = split("é\n  x; -- c").expect("text");
        assert_eq!(pieces.comments[0].place, Place { line: 2, column: 6 });
    }

    #[test]
    fn rows_of_copy_are_no_statements() {
        let rows = "1\tit's; -- $$\n\\N\tx\n";
        check(
            &format!("COPY a (b, c) FROM stdin;\n{rows}\\.\n\nb; -- c\n"),
            &["COPY a (b, c) FROM stdin", "b"],
            &[" c"],
        );
        let fault = split(&format!("a;\ncopy a from STDIN with (format csv);\n{rows}")).expect_err("no end");
        assert_eq!(fault.place.line, 2);
        check(
            "copy a to stdout; copy a from 'stdin'; c",
            &["copy a to stdout", "copy a from 'stdin'", "c"],
            &[],
        );
    }

    #[test]
    fn commands_of_psql_that_execute_something_are_refused_at_their_place() {
        let skipped = "\\restrict x\n  \\echo ';' \\\n\\set ON_ERROR_STOP on\na;\n\\unrestrict x\n\\encoding 'utf8'\n\\dt+";
        check(skipped, &["a"], &[]);
        check("a;\n\\q\n'", &["a"], &[]);
        check("\\echo 'x \\\\ y' \\\\ a; \\timing \\x\nb;\n\\h select \\\\ c;\nd", &["a", "b", "d"], &[]);
        for command in [
            "\\i other.sql",
            "  \\ir other.sql",
            "\\! ls",
            "\\!ls",
            "\\.",
            "\\password x",
            "\\if :x",
            "\\gexec",
            "\\copy a from 'b'",
            "\\encoding LATIN1",
        ] {
            let fault = split(&format!("a;\n{command}\n")).expect_err(command);
            assert_eq!(fault.place.line, 2, "{command}");
        }
        assert_eq!(split_with_includes("a\n\\i b").expect_err("within a statement").place.line, 2);
        let commands = split_with_includes("a; \\i 'b c' d\r\n\\ir\n").expect("commands").commands;
        let shown: Vec<_> = commands.iter().map(|own| (own.argument, own.start, own.end)).collect();
        assert_eq!(shown, [("b c", 3, 13), ("", 15, 18)]);
    }

    #[test]
    fn variables_of_psql_that_the_text_has_set_are_refused_where_they_stand() {
        for (text, is_refused) in [
            ("select :name", true),
            ("select :'name'", true),
            ("select :\"name\"", true),
            ("select a::name, b[1:2], :other, ':name' -- :name", false),
            ("\\unset name\nselect :name", false),
        ] {
            let text = format!("\\set name 'x'\n{text};");
            let found = split(&text);
            assert_eq!(found.err().map(|fault| fault.place.line), is_refused.then_some(2), "{text}");
        }
    }

    #[test]
    fn what_is_not_closed_is_an_error_at_its_place() {
        for text in ["a\n 'b", "a\n \"b", "a\n $$b", "a\n /* /* */"] {
            let fault = split(text).expect_err(text);
            assert_eq!(fault.place, Place { line: 2, column: 2 }, "{text}");
        }
    }
}
