//! One SQL command: its text and the positions of variables. Simple queries contain the values; the extended and
//! prepared protocols use `$1`, `$2`, … and send the values separately. Created by `program`; the engine writes it into
//! its send buffers without allocation.

use std::ops::Range;

use crate::number::write_integer;
use crate::symbols::{Slot, Symbols, is_name_byte, is_name_start};
use crate::variables::Variables;

/// Maximum number of parameters of a command in the extended and prepared protocols (pgbench's limit).
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
    pub(crate) capture: Option<Capture>,
}

/// `\gset [prefix]` or `\aset [prefix]`: assigns results to variables. Column `c` is assigned to the variable named
/// prefix plus `c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// `\gset` or `\aset`.
    pub kind: CaptureKind,
    /// Prefix of variable names; may be empty, need not be UTF-8.
    pub prefix: Box<[u8]>,
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
        Self { text, numbered, places, parameters, capture: None }
    }

    /// The text as in the script, with `:name`.
    pub fn text_as_written(&self) -> &[u8] {
        &self.text
    }

    /// The variable of `$1`, `$2`, … in order, one per occurrence.
    pub fn parameters(&self) -> &[Slot] {
        &self.parameters
    }

    /// The text with `$1`, `$2`, … for its variables.
    pub fn numbered_text(&self) -> &[u8] {
        self.numbered.as_deref().unwrap_or(&self.text)
    }

    /// The assignment of its results, if `\gset` or `\aset` follows.
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
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
