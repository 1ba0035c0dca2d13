//! The values of one client's variables, an array indexed by slot. A variable set from text (`-D`, `\gset`) keeps the
//! text for SQL; its type is determined when an expression first uses it. Owned by the engine's clients; `symbols` has
//! the names.

use std::mem;

use crate::datum::{Datum, Kind};
use crate::error::{EvaluationError, shown};
use crate::number::{parse_double, trim_start};
use crate::symbols::{Slot, Symbols};
use crate::value::Value;

/// One client's variables.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    by_slot: Vec<Datum>,
    /// Texts of the variables of kind `Text`, whose bits are the index. The text of a variable with a later typed value
    /// is kept for reuse.
    texts: Vec<Text>,
    /// By slot, the index of its text plus one; 0 without a text. Ends at the last slot with a text.
    places: Vec<u32>,
    /// Buffer for an array under construction.
    array: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Text {
    text: Vec<u8>,
    kind: TextKind,
    typed: Option<Datum>,
}

/// Origin of a text, which determines its use.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// From outside (`-D`, `\gset`) or an element of a list: an expression determines its type.
    Untyped,
    /// An array literal, which is quoted in SQL.
    Array,
    /// A string, which has no value in expressions.
    String,
    /// NULL: a parameter is NULL.
    Null,
}

const UNDEFINED: Datum = Datum { kind: Kind::Undefined, bits: 0 };

impl Variables {
    /// Undefined variables for all symbols of the table. Symbols interned later can be set as well.
    pub fn new(symbols: &Symbols) -> Self {
        Self { by_slot: vec![UNDEFINED; symbols.len()], ..Self::default() }
    }

    /// Sets a typed value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.set_datum(slot, value.into());
    }

    #[inline]
    pub(crate) fn set_datum(&mut self, slot: Slot, datum: Datum) {
        match self.by_slot.get_mut(slot.index()) {
            Some(variable) => *variable = datum,
            None => self.grow_and_set(slot, datum),
        }
    }

    #[cold]
    fn grow_and_set(&mut self, slot: Slot, datum: Datum) {
        self.by_slot.resize(slot.index(), UNDEFINED);
        self.by_slot.push(datum);
    }

    /// Sets a text; its type is determined when an expression first uses it. Reuses the buffer of an earlier text. It
    /// need not be UTF-8.
    pub fn set_text(&mut self, slot: Slot, text: impl AsRef<[u8]>) {
        let entry = self.text_of(slot);
        entry.text.clear();
        entry.text.extend_from_slice(text.as_ref());
        entry.kind = TextKind::Untyped;
    }

    /// Sets NULL: as a parameter it is NULL, in SQL and in expressions the word.
    pub fn set_null(&mut self, slot: Slot) {
        self.set_string(slot, TextKind::Null, |out| out.extend_from_slice(b"NULL"));
    }

    /// Sets a text that `write` appends to an empty buffer.
    pub(crate) fn set_string(&mut self, slot: Slot, kind: TextKind, write: impl FnOnce(&mut Vec<u8>)) {
        let entry = self.text_of(slot);
        entry.kind = kind;
        entry.text.clear();
        write(&mut entry.text);
    }

    /// The buffer of an array under construction, for [`Variables::set_array`].
    pub(crate) fn take_array_buffer(&mut self) -> Vec<u8> {
        let mut buffer = mem::take(&mut self.array);
        buffer.clear();
        buffer
    }

    /// Sets an array literal as text.
    pub(crate) fn set_array(&mut self, slot: Slot, literal: Vec<u8>) {
        let entry = self.text_of(slot);
        entry.kind = TextKind::Array;
        self.array = mem::replace(&mut entry.text, literal);
    }

    /// The buffer of a variable's text, whose type is not determined yet; the variable becomes a text.
    fn text_of(&mut self, slot: Slot) -> &mut Text {
        if self.places.len() <= slot.index() {
            self.places.resize(slot.index() + 1, 0);
        }
        let known = &mut self.places[slot.index()];
        if *known == 0 {
            self.texts.push(Text { text: Vec::new(), kind: TextKind::Untyped, typed: None });
            *known = u32::try_from(self.texts.len()).expect("no more texts than slots");
        }
        let place = *known - 1;
        self.set_datum(slot, Datum { kind: Kind::Text, bits: u64::from(place) });
        let entry = &mut self.texts[place as usize];
        entry.typed = None;
        entry
    }

    /// Makes the variable undefined.
    pub fn unset(&mut self, slot: Slot) {
        self.set_datum(slot, UNDEFINED);
    }

    /// Whether it has a value (including NULL).
    pub fn is_set(&self, slot: Slot) -> bool {
        self.get(slot).kind != Kind::Undefined
    }

    /// Whether its value is NULL, also from the server.
    pub(crate) fn is_null(&self, slot: Slot) -> bool {
        let is_text = |place: usize| self.texts[place].kind == TextKind::Null;
        self.get(slot).kind == Kind::Null || self.text_place(slot).is_some_and(is_text)
    }

    /// Appends the text form; returns false without appending if undefined.
    #[inline]
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let datum = self.get(slot);
        match datum.kind {
            Kind::Undefined => return false,
            Kind::Text => {
                if let Some(place) = self.text_place(slot) {
                    out.extend_from_slice(&self.texts[place].text);
                }
            }
            Kind::Null | Kind::Boolean | Kind::Int | Kind::Double => datum.value().write_text(out),
        }
        true
    }

    /// The same in the form for SQL, where an array is quoted (it contains no quotes).
    #[inline]
    pub(crate) fn write_sql(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let Some(place) = self.text_place(slot).filter(|&place| self.texts[place].kind == TextKind::Array)
        else {
            return self.write_text(slot, out);
        };
        out.push(b'\'');
        out.extend_from_slice(&self.texts[place].text);
        out.push(b'\'');
        true
    }

    /// The same in the form for a parameter; false for NULL from the server, and if undefined.
    #[inline]
    pub fn write_parameter(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.text_place(slot) {
            Some(place) if self.texts[place].kind == TextKind::Null => false,
            Some(place) => {
                out.extend_from_slice(&self.texts[place].text);
                true
            }
            None => self.write_text(slot, out),
        }
    }

    /// The same as a list of elements with commas between them: an array without its braces.
    pub(crate) fn write_list(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        let is_defined = self.write_text(slot, out);
        if self.text_place(slot).is_some_and(|place| self.texts[place].kind == TextKind::Array) {
            out.retain(|byte| !matches!(byte, b'{' | b'}'));
        }
        is_defined
    }

    /// The typed value; the type of a text is determined and stored. `symbols` has its name for errors.
    pub fn value(&mut self, slot: Slot, symbols: &Symbols) -> Result<Value, EvaluationError> {
        self.datum(slot, symbols).map(Datum::value)
    }

    /// The same in the form for the evaluator.
    #[inline(always)]
    pub(crate) fn datum(&mut self, slot: Slot, symbols: &Symbols) -> Result<Datum, EvaluationError> {
        let datum = self.get(slot);
        match datum.kind {
            Kind::Undefined | Kind::Text => self.datum_of_text(slot, symbols),
            Kind::Null | Kind::Boolean | Kind::Int | Kind::Double => Ok(datum),
        }
    }

    #[inline(never)]
    fn datum_of_text(&mut self, slot: Slot, symbols: &Symbols) -> Result<Datum, EvaluationError> {
        let Some(place) = self.text_place(slot) else {
            return Err(EvaluationError::undefined(slot, symbols));
        };
        let text = &mut self.texts[place];
        if let Some(datum) = text.typed {
            return Ok(datum);
        }
        if text.kind == TextKind::String {
            return Err(EvaluationError::new(format!(
                "variable \"{}\" is a string, and expressions only calculate with numbers and booleans",
                symbols.name(slot)
            )));
        }
        let datum = type_text(&text.text, slot, symbols)?.into();
        text.typed = Some(datum);
        Ok(datum)
    }

    #[inline(always)]
    fn get(&self, slot: Slot) -> Datum {
        self.by_slot.get(slot.index()).copied().unwrap_or(UNDEFINED)
    }

    /// Index of its text, if the value is a text.
    fn text_place(&self, slot: Slot) -> Option<usize> {
        let datum = self.get(slot);
        (datum.kind == Kind::Text).then(|| usize::try_from(datum.bits).expect("a place in a vector"))
    }
}

/// Determines the type of a text: NULL and booleans, then integers, then doubles.
fn type_text(text: &[u8], slot: Slot, symbols: &Symbols) -> Result<Value, EvaluationError> {
    let name = || symbols.name(slot);
    if text.is_empty() {
        return Err(EvaluationError::new(format!(
            "variable \"{}\" is empty, and an empty text has no value",
            name()
        )));
    }
    if let Some(value) = word_value(text) {
        return Ok(value);
    }
    let unblanked = trim_start(text);
    let digits = if let [b'+' | b'-', digits @ ..] = unblanked { digits } else { unblanked };
    if digits.iter().all(u8::is_ascii_digit) {
        if digits.is_empty() {
            return Err(EvaluationError::new(format!(
                "invalid input syntax for type bigint: \"{}\"",
                shown(text)
            )));
        }
        let value = str::from_utf8(unblanked).ok().and_then(|digits| digits.parse().ok());
        let out_of_range =
            || EvaluationError::new(format!("value \"{}\" is out of range for type bigint", shown(text)));
        return value.map(Value::Int).ok_or_else(out_of_range);
    }
    parse_double(text).map(Value::Double).ok_or_else(|| {
        EvaluationError::new(format!("malformed variable \"{}\" value: \"{}\"", name(), shown(text)))
    })
}

/// `null`, booleans and their abbreviations, in any case.
fn word_value(text: &[u8]) -> Option<Value> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    let begins =
        |word: &str| word.as_bytes().get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
    if is("null") {
        Some(Value::Null)
    } else if begins("true") || begins("yes") || is("on") {
        Some(Value::Boolean(true))
    } else if begins("false") || begins("no") || is("off") || is("of") {
        Some(Value::Boolean(false))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn typed(text: &str) -> Result<Value, String> {
        let mut symbols = Symbols::new();
        let slot = symbols.intern("y");
        let mut variables = Variables::new(&symbols);
        variables.set_text(slot, text);
        variables.value(slot, &symbols).map_err(|error| error.to_string())
    }

    #[test]
    fn text_is_typed_when_it_is_needed() {
        for text in ["t", "TRUE", "tr", "y", "Yes", "on"] {
            assert_eq!(typed(text), Ok(Value::Boolean(true)), "{text}");
        }
        for text in ["f", "False", "n", "NO", "of", "off"] {
            assert_eq!(typed(text), Ok(Value::Boolean(false)), "{text}");
        }
        assert_eq!(typed("NuLL"), Ok(Value::Null));
        assert_eq!(typed(" 12"), Ok(Value::Int(12)));
        assert_eq!(typed("+5"), Ok(Value::Int(5)));
        assert_eq!(typed("-9223372036854775808"), Ok(Value::Int(i64::MIN)));
        assert_eq!(typed(" 1.5"), Ok(Value::Double(1.5)));
        assert_eq!(typed("0x10"), Ok(Value::Double(16.0)));
        assert_eq!(typed("-inFiNity"), Ok(Value::Double(f64::NEG_INFINITY)));
    }

    #[test]
    fn text_that_is_no_value_says_so() {
        for text in ["o", "abc", "12 ", "1.5 ", "t ", " null", "1 2", "0x", "1e999", "1e-400"] {
            assert_eq!(typed(text), Err(format!("malformed variable \"y\" value: \"{text}\"")));
        }
        for text in ["+", "-", " "] {
            assert_eq!(typed(text), Err(format!("invalid input syntax for type bigint: \"{text}\"")));
        }
        assert_eq!(
            typed("99999999999999999999").unwrap_err(),
            "value \"99999999999999999999\" is out of range for type bigint"
        );
        assert_eq!(typed("").unwrap_err(), "variable \"y\" is empty, and an empty text has no value");
    }

    #[test]
    fn text_keeps_its_form_for_sql_after_it_was_typed() {
        let mut symbols = Symbols::new();
        let slot = symbols.intern("y");
        let mut variables = Variables::new(&symbols);
        assert!(!variables.is_set(slot) && !variables.write_text(slot, &mut Vec::new()));
        assert_eq!(variables.value(slot, &symbols).unwrap_err().to_string(), "undefined variable \"y\"");
        variables.set_text(slot, "007");
        assert_eq!(variables.value(slot, &symbols), Ok(Value::Int(7)));
        let mut out = Vec::new();
        assert!(variables.write_text(slot, &mut out));
        assert_eq!(out, b"007");
        variables.set_text(slot, String::from("8"));
        assert_eq!(variables.value(slot, &symbols), Ok(Value::Int(8)));
        variables.set(slot, Value::Null);
        assert!(variables.is_set(slot));
        variables.set_text(slot, "9");
        assert_eq!(variables.texts.len(), 1, "the room is used again");
        assert_eq!(variables.value(slot, &symbols), Ok(Value::Int(9)));
        variables.unset(slot);
        assert!(!variables.is_set(slot));
    }

    #[test]
    fn symbols_made_later_can_be_set_too() {
        let mut symbols = Symbols::new();
        let mut variables = Variables::new(&symbols);
        let late = symbols.intern("late");
        assert!(!variables.is_set(late));
        variables.set(late, Value::Int(1));
        assert_eq!(variables.value(late, &symbols), Ok(Value::Int(1)));
    }

    proptest! {
        #[test]
        fn typing_never_panics(text in "\\PC*") {
            let _ = typed(&text);
        }

        #[test]
        fn integers_come_back(value: i64) {
            prop_assert_eq!(typed(&value.to_string()), Ok(Value::Int(value)));
        }
    }
}
