//! The text of an error or notice as libpq's `PQerrorMessage` has it, with its default verbosity: the message, the
//! line of the statement with a caret below the place, and the fields that follow. What pgbench's messages end
//! with. Called through [`ServerError::report`] and [`ErrorFields::report`]; the last newline is left out.
//!
//! Manual: libpq, `PQsetErrorVerbosity` and `PQsetErrorContextVisibility`; protocol, "Error and Notice Message Fields".

use std::fmt::Write;

use super::error::{ErrorFields, ServerError};

/// Columns of a statement's line that are shown; libpq's number.
const LINE_WIDTH_MAX: usize = 60;
/// Columns right of the place that stay when a longer line is cut; libpq's number.
const RIGHT_WIDTH_MIN: usize = 10;

impl ServerError {
    /// The error as libpq words it; `query` is the text of the statement that the server was sent, if it is known.
    /// Without it a position is told as `at character 8`. Several lines, the last without its newline.
    pub fn report(&self, query: Option<&[u8]>) -> String {
        let mut text = self.report_notice(query);
        add_fields(&mut text, &[("CONTEXT", &self.context)]);
        text
    }

    /// As [`ServerError::report`], for a notice or a warning: its context is left out.
    pub fn report_notice(&self, query: Option<&[u8]>) -> String {
        let ServerError { severity, sqlstate: _, message, detail, hint, position, internal_query, .. } = self;
        let mut text = format!("{severity}:  {message}");
        let internal = internal_query.as_deref().map(str::as_bytes);
        // A statement of the user's is shown before one that the server made up itself.
        let place = position.map(|place| (place, query)).or(self.internal_position.map(|at| (at, internal)));
        match place {
            Some((place, Some(query))) => add_line(&mut text, query, place),
            // Writing to a String cannot fail.
            Some((place, None)) => drop(write!(text, " at character {place}")),
            None => {}
        }
        add_fields(&mut text, &[("DETAIL", detail), ("HINT", hint), ("QUERY", internal_query)]);
        text
    }
}

fn add_fields(text: &mut String, fields: &[(&str, &Option<String>)]) {
    for (label, value) in fields {
        if let Some(value) = value {
            let _ = write!(text, "\n{label}:  {value}");
        }
    }
}

impl ErrorFields<'_> {
    /// As [`ServerError::report`].
    pub fn report(self, query: Option<&[u8]>) -> String {
        ServerError::from(self).report(query)
    }

    /// As [`ServerError::report_notice`].
    pub fn report_notice(self, query: Option<&[u8]>) -> String {
        ServerError::from(self).report_notice(query)
    }
}

/// Adds `LINE n: …` and a caret below the character at `place`, counted from 1; nothing if it is not in the query.
fn add_line(text: &mut String, query: &[u8], place: u32) {
    let Some(index) = usize::try_from(place).ok().and_then(|place| place.checked_sub(1)) else { return };
    let query = encoding::decode(query);
    let Some(line) = line_at(&query, index) else { return };
    let Extract { shown, is_cut_left, is_cut_right, column } = extract(&line);
    let (left, right) = (if is_cut_left { "..." } else { "" }, if is_cut_right { "..." } else { "" });
    let head = format!("LINE {}: {left}", line.number);
    let shown: String = shown.iter().collect();
    let blank = " ".repeat(head.len() + column);
    let _ = write!(text, "\n{head}{shown}{right}\n{blank}^");
}

/// The line of a query that holds the place.
struct Line {
    /// From 1.
    number: usize,
    /// Its characters, a tab as one blank.
    characters: Vec<char>,
    /// The place within; just behind the last character for an error at the line's end.
    place: usize,
}

/// Finds the line of the character at `index`. A line ends with `\n`, `\r` or both.
fn line_at(query: &str, index: usize) -> Option<Line> {
    let (mut number, mut before) = (1, None);
    let mut characters = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (at, character) in query.chars().enumerate() {
        let ends_line = matches!(character, '\r' | '\n');
        if ends_line && at >= index {
            return Some(Line { number, characters, place: index - start });
        }
        if ends_line {
            let is_second_half = character == '\n' && before == Some('\r');
            number += usize::from(!is_second_half);
            characters.clear();
            start = at + 1;
        } else {
            characters.push(if character == '\t' { ' ' } else { character });
        }
        before = Some(character);
        end = at + 1;
    }
    (index <= end).then(|| Line { number, characters, place: index - start })
}

/// What of a line is shown.
struct Extract<'a> {
    shown: &'a [char],
    is_cut_left: bool,
    is_cut_right: bool,
    /// Columns before the place, in what is shown.
    column: usize,
}

/// Cuts a long line so that the place stays in sight: on the right only if that is enough.
fn extract(line: &Line) -> Extract<'_> {
    let mut columns = Vec::with_capacity(line.characters.len() + 1);
    let mut column = 0;
    for character in &line.characters {
        columns.push(column);
        column += width(*character);
    }
    columns.push(column);
    let place = line.place;
    let (mut start, mut end) = (0, line.characters.len());
    let is_too_long = |start: usize, end: usize| columns[end] - columns[start] > LINE_WIDTH_MAX;
    if is_too_long(start, end) {
        if LINE_WIDTH_MAX < columns[place] + RIGHT_WIDTH_MIN {
            while columns[place] + RIGHT_WIDTH_MIN < columns[end] {
                end -= 1;
            }
            while is_too_long(start, end) {
                start += 1;
            }
        } else {
            while is_too_long(start, end) {
                end -= 1;
            }
        }
    }
    Extract {
        shown: &line.characters[start..end],
        is_cut_left: start > 0,
        is_cut_right: end < line.characters.len(),
        column: columns[place] - columns[start],
    }
}

/// The columns of a character on a terminal: two for those of East Asia and for pictures, else one; libpq, too, counts
/// one for what has no width.
fn width(character: char) -> usize {
    const WIDE: &[(u32, u32)] = &[
        (0x1100, 0x115f),
        (0x231a, 0x231b),
        (0x2e80, 0x303e),
        (0x3041, 0xa4cf),
        (0xa960, 0xa97f),
        (0xac00, 0xd7a3),
        (0xf900, 0xfaff),
        (0xfe30, 0xfe6f),
        (0xff00, 0xff60),
        (0xffe0, 0xffe6),
        (0x1f300, 0x1f64f),
        (0x1f900, 0x1f9ff),
        (0x20000, 0x3fffd),
    ];
    let code = u32::from(character);
    1 + usize::from(WIDE.iter().any(|(first, last)| (*first..=*last).contains(&code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::SqlState;

    fn error_at(position: Option<u32>) -> ServerError {
        ServerError {
            severity: "ERROR".to_owned(),
            sqlstate: SqlState::INTERNAL_ERROR,
            message: "it went wrong".to_owned(),
            detail: None,
            hint: None,
            position,
            internal_position: None,
            internal_query: None,
            context: None,
        }
    }

    /// The lines below the message.
    fn check(query: &str, position: u32, expected: &str) {
        let text = error_at(Some(position)).report(Some(query.as_bytes()));
        let expected = if expected.is_empty() {
            String::new()
        } else {
            format!("\n{}", expected.trim_end_matches('\n'))
        };
        assert_eq!(text, format!("ERROR:  it went wrong{expected}"), "{query}");
    }

    #[test]
    fn the_place_is_marked_below_its_line() {
        check("select nosuch;", 8, "LINE 1: select nosuch;\n               ^");
        check("select 1,\n\tnosuch\nfrom t", 12, "LINE 2:  nosuch\n         ^");
        check("a\r\nb\r\nc", 7, "LINE 3: c\n        ^");
        check("a\rb\n\nc", 6, "LINE 4: c\n        ^");
        check("select", 7, "LINE 1: select\n              ^");
        check("a\nb", 2, "LINE 1: a\n         ^");
        check("äöü x", 5, "LINE 1: äöü x\n            ^");
        check("漢字 x", 4, "LINE 1: 漢字 x\n             ^");
    }

    #[test]
    fn a_place_outside_of_the_query_is_not_marked() {
        check("select", 0, "");
        check("select", 8, "");
        check("", 2, "");
        check("select", u32::MAX, "");
    }

    #[test]
    fn a_long_line_is_cut_where_the_place_is_not() {
        let long = "x".repeat(100);
        check(&long, 3, &format!("LINE 1: {}...\n          ^", "x".repeat(60)));
        check(&long, 51, &format!("LINE 1: {}...\n{}^", "x".repeat(60), " ".repeat(58)));
        check(&long, 60, &format!("LINE 1: ...{}...\n{}^", "x".repeat(60), " ".repeat(61)));
        check(&long, 100, &format!("LINE 1: ...{}\n{}^", "x".repeat(60), " ".repeat(70)));
        check(&"x".repeat(60), 60, &format!("LINE 1: {}\n{}^", "x".repeat(60), " ".repeat(67)));
    }

    #[test]
    fn fields_follow_in_libpqs_order_and_a_notice_has_no_context() {
        let error = ServerError {
            detail: Some("Key (id)=(1).".to_owned()),
            hint: Some("Try 2.".to_owned()),
            internal_position: Some(8),
            internal_query: Some("select broken".to_owned()),
            context: Some("PL/pgSQL function f()\nline 3".to_owned()),
            ..error_at(None)
        };
        let place = "LINE 1: select broken\n               ^";
        let fields = "DETAIL:  Key (id)=(1).\nHINT:  Try 2.\nQUERY:  select broken";
        let notice = format!("ERROR:  it went wrong\n{place}\n{fields}");
        assert_eq!(error.report_notice(None), notice);
        let context = "CONTEXT:  PL/pgSQL function f()\nline 3";
        assert_eq!(error.report(Some(b"select f()")), format!("{notice}\n{context}"));
    }

    #[test]
    fn without_the_query_the_position_is_a_number() {
        assert_eq!(error_at(Some(8)).report(None), "ERROR:  it went wrong at character 8");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_all_the_same() {
        let text = error_at(Some(3)).report(Some(b"\xff\xfe x"));
        assert_eq!(text, "ERROR:  it went wrong\nLINE 1: \u{10ffff}\u{10fffe} x\n          ^");
    }
}
