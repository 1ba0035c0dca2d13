//! One SQL command: its text and the positions of variables. Simple queries contain the values; the extended and
//! prepared protocols use `$1`, `$2`, … and send the values separately. Created by `program`; the engine writes it into
//! its send buffers without allocation.

use std::ops::Range;

use crate::copy::CopySource;
use crate::number::write_integer;
use crate::symbols::{Slot, Symbols, is_name_byte, is_name_start};
use crate::variables::Variables;

/// Maximum number of parameters of a command in the extended and prepared protocols of pgbench; the protocol's own is
/// higher.
pub const PARAMETERS_MAX: usize = 255;

/// An SQL command.
#[derive(Debug)]
pub struct Sql {
    text: Box<[u8]>,
    /// `None` if it equals `text`.
    numbered: Option<Box<[u8]>>,
    /// Range of each `:name` in `text`, including the colon; in order.
    places: Box<[Range<usize>]>,
    /// The variable at each range.
    parameters: Box<[Slot]>,
    pub(crate) attached: Option<Attached>,
}

/// A meta command that belongs to the command before it.
#[derive(Debug)]
pub(crate) enum Attached {
    Capture(Capture),
    Copy(CopySource),
}

/// `\gset [prefix]` or `\aset [prefix]`, or one of them with `_null`: assigns results to variables. Column `c` is assigned to the variable named
/// prefix plus `c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// `\gset` or `\aset`.
    pub kind: CaptureKind,
    /// Prefix of variable names; may be empty, need not be UTF-8.
    pub prefix: Box<[u8]>,
    /// NULL is stored as NULL, and not as an empty text.
    pub keeps_null: bool,
}

/// Results that [`Capture`] assigns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// The last result of the command, which must have exactly one row.
    Gset,
    /// The last row of every result of the command.
    Aset,
}

impl Sql {
    /// Finds the variables of `text`: `:name` at any position, including strings and comments. Several colons, and a
    /// colon before a digit, are plain text.
    pub(crate) fn new(text: Vec<u8>, symbols: &mut Symbols) -> Self {
        let mut places = Vec::new();
        let mut parameters = Vec::new();
        let mut numbered: Vec<u8> = Vec::new();
        let mut copied = 0;
        for place in self::places(&text) {
            parameters.push(symbols.intern(&text[place.start + 1..place.end]));
            numbered.extend_from_slice(&text[copied..place.start]);
            numbered.push(b'$');
            write_integer(i64::try_from(parameters.len()).expect("a count"), &mut numbered);
            copied = place.end;
            places.push(place);
        }
        let numbered = (!places.is_empty()).then(|| {
            numbered.extend_from_slice(&text[copied..]);
            numbered.into()
        });
        let (text, places, parameters) = (text.into(), places.into(), parameters.into());
        Self { text, numbered, places, parameters, attached: None }
    }

    /// The text as in the script, with `:name`.
    pub fn text_as_written(&self) -> &[u8] {
        &self.text
    }

    /// The variable of `$1`, `$2`, … in order, one per occurrence.
    pub fn parameters(&self) -> &[Slot] {
        &self.parameters
    }

    /// The ranges of its variables in the text as written, each with its colon; in order.
    pub(crate) fn places(&self) -> &[Range<usize>] {
        &self.places
    }

    /// The text with `$1`, `$2`, … for its variables.
    pub fn numbered_text(&self) -> &[u8] {
        self.numbered.as_deref().unwrap_or(&self.text)
    }

    /// The assignment of its results, if `\gset` or `\aset` follows.
    pub fn capture(&self) -> Option<&Capture> {
        if let Some(Attached::Capture(capture)) = &self.attached { Some(capture) } else { None }
    }

    /// The rows of its `COPY … FROM STDIN`, if `\copy_rows` or `\copy_file` follows.
    pub fn copy_source(&self) -> Option<&CopySource> {
        if let Some(Attached::Copy(source)) = &self.attached { Some(source) } else { None }
    }

    /// Whether `\gset`, `\copy_rows` or a similar command follows, so that the reply needs more than its outcome.
    pub fn is_attended(&self) -> bool {
        self.attached.is_some()
    }

    /// Appends the text with the values of variables; undefined ones stay as written, an array is quoted.
    pub fn write_simple(&self, variables: &Variables, out: &mut Vec<u8>) {
        self.write_simple_up_to(variables, out, usize::MAX);
    }

    /// As [`Sql::write_simple`], but stops after more than `length_max` bytes: the text cannot be sent, and must not
    /// fill memory.
    pub fn write_simple_up_to(&self, variables: &Variables, out: &mut Vec<u8>, length_max: usize) {
        let text = &*self.text;
        let start = out.len();
        let mut copied = 0;
        for (place, &slot) in self.places.iter().zip(&self.parameters) {
            if out.len() - start > length_max {
                return;
            }
            out.extend_from_slice(&text[copied..place.start]);
            if !variables.write_sql(slot, out) {
                out.extend_from_slice(&text[place.clone()]);
            }
            copied = place.end;
        }
        out.extend_from_slice(&text[copied..]);
    }

    /// The byte of the text as written at a position of the text as sent, in characters from 1. A position in the value
    /// of a variable is that of its name. `None` if it is beyond the end.
    pub fn offset_of(&self, position: u32, sent: SentAs<'_>) -> Option<usize> {
        let mut left = usize::try_from(position).ok()?.checked_sub(1)?;
        let mut copied = 0;
        let mut value = Vec::new();
        let text_end = self.text.len();
        let ends = std::iter::once(text_end..text_end);
        for (index, place) in self.places.iter().cloned().chain(ends).enumerate() {
            let literal = &self.text[copied..place.start];
            let length = characters(literal);
            if left < length {
                let mut starts = literal.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80);
                return starts.nth(left).map(|(at, _)| copied + at);
            }
            left -= length;
            let Some(&slot) = self.parameters.get(index) else { break };
            value.clear();
            let is_sent = match sent {
                SentAs::Values(variables) => variables.write_sql(slot, &mut value),
                SentAs::Numbered => {
                    value.push(b'$');
                    write_integer(i64::try_from(index + 1).ok()?, &mut value);
                    true
                }
            };
            let length = characters(if is_sent { &value } else { &self.text[place.clone()] });
            if left < length {
                return Some(place.start);
            }
            left -= length;
            copied = place.end;
        }
        // The server points behind the last character if the statement ends too early.
        (left == 0).then_some(text_end)
    }
}

/// Form in which a command was sent, which determines the meaning of a position in an error message.
#[derive(Copy, Clone, Debug)]
pub enum SentAs<'a> {
    /// [`Sql::write_simple`] with these variables.
    Values(&'a Variables),
    /// [`Sql::numbered_text`].
    Numbered,
}

/// Bytes that begin a character of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Ranges of the `:name`s in a text.
fn places(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        loop {
            let colon = position + bytes[position..].iter().position(|&byte| byte == b':')?;
            let colons = bytes[colon..].iter().take_while(|&&byte| byte == b':').count();
            position = colon + colons;
            if colons == 1 && bytes.get(position).is_some_and(|&byte| is_name_start(byte)) {
                position += bytes[position..].iter().take_while(|&&byte| is_name_byte(byte)).count();
                return Some(colon..position);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use proptest::prelude::*;

    fn numbered(text: &str) -> (String, Vec<String>) {
        let mut symbols = Symbols::new();
        let sql = Sql::new(text.into(), &mut symbols);
        assert_eq!(sql.text_as_written(), text.as_bytes());
        let names = sql.parameters().iter().map(|&slot| symbols.name(slot).into_owned()).collect();
        (String::from_utf8(sql.numbered_text().to_owned()).unwrap(), names)
    }

    fn check(text: &str, expected: &str, names: &[&str]) {
        let (numbered, found) = numbered(text);
        assert_eq!((numbered.as_str(), found), (expected, names.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn every_occurrence_has_its_own_number() {
        check("select :a, :b, :a;", "select $1, $2, $3;", &["a", "b", "a"]);
        check("select :a:b", "select $1$2", &["a", "b"]);
        check("select ':été_1' -- :c", "select '$1' -- $2", &["été_1", "c"]);
    }

    #[test]
    fn casts_and_colons_before_digits_are_plain_text() {
        for text in
            ["select 1::int", "select :::a", "select a[1:2]", "select '12:30'", "select :", "select :-a", ""]
        {
            check(text, text, &[]);
        }
        check("select :a::int, ::b:c", "select $1::int, ::b$2", &["a", "c"]);
    }

    #[test]
    fn simple_queries_carry_the_values_and_leave_unknown_names() {
        let mut symbols = Symbols::new();
        let sql = Sql::new("select :a, ':b', :c, :d, :e, :f".into(), &mut symbols);
        let mut variables = Variables::new(&symbols);
        let mut set = |name: &str, value| variables.set(symbols.intern(name), value);
        set("a", Value::Int(-5));
        set("b", Value::Boolean(true));
        set("c", Value::Null);
        set("d", Value::Double(0.5));
        variables.set_text(symbols.intern("e"), "x'y");
        let mut out = b"> ".to_vec();
        sql.write_simple(&variables, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "> select -5, 'true', NULL, 0.5, x'y, :f");
    }

    #[test]
    fn positions_in_what_was_sent_are_found_in_the_script() {
        let mut symbols = Symbols::new();
        let text = "select 'é', :name, :n frm t";
        let sql = Sql::new(text.into(), &mut symbols);
        let mut variables = Variables::new(&symbols);
        variables.set_text(symbols.intern("name"), "'Zoë or so'");
        let check = |sent: &str, form, at: &str, expected: &str| {
            let position = sent.split(at).next().map(|before| before.chars().count() + 1).unwrap();
            let offset = sql.offset_of(u32::try_from(position).unwrap(), form).unwrap();
            assert!(text[offset..].starts_with(expected), "{sent}: {at}");
        };
        let mut simple = Vec::new();
        sql.write_simple(&variables, &mut simple);
        let simple = String::from_utf8(simple).unwrap();
        let numbered = std::str::from_utf8(sql.numbered_text()).unwrap();
        for (sent, form) in [(&*simple, SentAs::Values(&variables)), (numbered, SentAs::Numbered)] {
            check(sent, form, "select", "select");
            check(sent, form, "'é'", "'é'");
            check(sent, form, "frm", "frm");
        }
        check(&simple, SentAs::Values(&variables), "or so", ":name");
        check(&simple, SentAs::Values(&variables), ":n", ":n frm");
        check(numbered, SentAs::Numbered, "$2", ":n frm");
        let end = u32::try_from(numbered.chars().count() + 1).unwrap();
        assert_eq!(sql.offset_of(end, SentAs::Numbered), Some(text.len()));
        assert_eq!([0, end + 1].map(|position| sql.offset_of(position, SentAs::Numbered)), [None, None]);
    }

    proptest! {
        #[test]
        fn without_values_the_text_stays_as_written(text in "[:a1é ]{0,30}|\\PC*") {
            let mut symbols = Symbols::new();
            let sql = Sql::new(text.clone().into(), &mut symbols);
            let mut out = Vec::new();
            sql.write_simple(&Variables::new(&symbols), &mut out);
            prop_assert_eq!(out, text.as_bytes());
        }

        #[test]
        fn both_forms_agree_when_each_value_is_its_number(parts in prop::collection::vec("[:a1é ]{0,4}", 0..9)) {
            let named = |(index, part): (usize, &String)| format!("{part} :v{index}_");
            let text = parts.iter().enumerate().map(named).collect::<String>();
            let mut symbols = Symbols::new();
            let sql = Sql::new(text.into(), &mut symbols);
            let mut variables = Variables::new(&symbols);
            let mut wanted = String::from_utf8(sql.numbered_text().to_owned()).unwrap();
            for (index, &slot) in sql.parameters().iter().enumerate().rev() {
                let value = format!("<{}>", symbols.name(slot));
                wanted = wanted.replace(&format!("${}", index + 1), &value);
                variables.set_text(slot, value);
            }
            let mut out = Vec::new();
            sql.write_simple(&variables, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), wanted);
            prop_assert!(sql.parameters().len() >= parts.len());
        }
    }
}
