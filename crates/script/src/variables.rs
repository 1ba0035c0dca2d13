//! The values of one client's variables, an array by slot. A variable set from text (`-D`, `\gset`) keeps the text
//! for SQL and is typed when an expression first needs it. Owned by the engine's clients; no names are kept here.

use crate::error::EvaluationError;
use crate::number::{is_c_space, parse_double};
use crate::symbols::{Slot, Symbols};
use crate::value::Value;

/// One client's variables.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    by_slot: Vec<Variable>,
}

#[derive(Clone, Debug, Default)]
enum Variable {
    #[default]
    Undefined,
    Typed(Value),
    /// Boxed, so that the common case stays at two words.
    Text(Box<Text>),
}

#[derive(Clone, Debug)]
struct Text {
    text: String,
    typed: Option<Value>,
}

impl Variables {
    /// All symbols of the table, all undefined. Symbols that are interned later may be set as well.
    pub fn new(symbols: &Symbols) -> Self {
        Self { by_slot: vec![Variable::Undefined; symbols.len()] }
    }

    /// Gives a typed value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        *self.entry(slot) = Variable::Typed(value);
    }

    /// Gives a text, typed when an expression first needs it. The room of an earlier text is used again.
    pub fn set_text(&mut self, slot: Slot, text: impl AsRef<str>) {
        let text = text.as_ref();
        let entry = self.entry(slot);
        if let Variable::Text(old) = entry {
            old.text.clear();
            old.text.push_str(text);
            old.typed = None;
        } else {
            *entry = Variable::Text(Box::new(Text { text: text.to_owned(), typed: None }));
        }
    }

    /// Takes the value away.
    pub fn unset(&mut self, slot: Slot) {
        *self.entry(slot) = Variable::Undefined;
    }

    /// Whether it has a value (NULL is one).
    pub fn is_set(&self, slot: Slot) -> bool {
        !matches!(self.get(slot), Variable::Undefined)
    }

    /// Appends the text form; false, and nothing appended, if undefined.
    #[inline]
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.get(slot) {
            Variable::Undefined => return false,
            Variable::Typed(value) => value.write_text(out),
            Variable::Text(text) => out.extend_from_slice(text.text.as_bytes()),
        }
        true
    }

    /// The typed value; a text is typed now and its type remembered. `symbols` names it if that fails.
    #[inline]
    pub fn value(&mut self, slot: Slot, symbols: &Symbols) -> Result<Value, EvaluationError> {
        match self.by_slot.get(slot.index()) {
            Some(Variable::Typed(value)) => Ok(*value),
            _ => self.value_of_text(slot, symbols),
        }
    }

    #[cold]
    fn value_of_text(&mut self, slot: Slot, symbols: &Symbols) -> Result<Value, EvaluationError> {
        let Variable::Text(text) = self.entry(slot) else {
            return Err(EvaluationError::UndefinedVariable { name: symbols.name(slot).into() });
        };
        if let Some(value) = text.typed {
            return Ok(value);
        }
        let value = type_text(&text.text, slot, symbols)?;
        text.typed = Some(value);
        Ok(value)
    }

    #[inline]
    fn get(&self, slot: Slot) -> &Variable {
        self.by_slot.get(slot.index()).unwrap_or(&Variable::Undefined)
    }

    #[inline]
    fn entry(&mut self, slot: Slot) -> &mut Variable {
        if slot.index() >= self.by_slot.len() {
            self.grow(slot);
        }
        &mut self.by_slot[slot.index()]
    }

    #[cold]
    fn grow(&mut self, slot: Slot) {
        self.by_slot.resize_with(slot.index() + 1, Variable::default);
    }
}

/// The type of a text: NULL and booleans by their words, then what looks like an integer, then doubles.
fn type_text(text: &str, slot: Slot, symbols: &Symbols) -> Result<Value, EvaluationError> {
    let name = || Box::from(symbols.name(slot));
    if text.is_empty() {
        return Err(EvaluationError::EmptyVariable { name: name() });
    }
    if let Some(value) = word_value(text) {
        return Ok(value);
    }
    let unblanked = text.trim_start_matches(is_c_space);
    let digits = unblanked.strip_prefix(['+', '-']).unwrap_or(unblanked);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if digits.is_empty() {
            return Err(EvaluationError::NotAnInteger { text: text.into() });
        }
        let value =
            unblanked.parse().map_err(|_| EvaluationError::IntegerOutOfRange { text: text.into() })?;
        return Ok(Value::Int(value));
    }
    match parse_double(text) {
        Some(value) => Ok(Value::Double(value)),
        None => Err(EvaluationError::MalformedVariable { name: name(), value: text.into() }),
    }
}

/// `null`, and the words for booleans with their abbreviations, in any case.
fn word_value(text: &str) -> Option<Value> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    let begins = |word: &str| word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text));
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
    fn a_variable_takes_two_words() {
        assert_eq!(size_of::<Variable>(), 16);
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
