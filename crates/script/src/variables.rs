//! The values of one client's variables.

use crate::error::EvaluationError;
use crate::symbols::{Slot, Symbols};
use crate::value::Value;

/// One client's variables.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    values: Vec<Value>,
}

impl Variables {
    /// All symbols of the table, all undefined. Symbols that are interned later may be set as well.
    pub fn new(_symbols: &Symbols) -> Self {
        todo!()
    }
    /// Gives a typed value.
    pub fn set(&mut self, _slot: Slot, _value: Value) {
        todo!()
    }
    /// Gives a text, typed when an expression first needs it.
    pub fn set_text(&mut self, _slot: Slot, _text: impl AsRef<str>) {
        todo!()
    }
    /// Whether it has a value (NULL is one).
    pub fn is_set(&self, _slot: Slot) -> bool {
        todo!()
    }
    /// Appends the text form; false (and nothing appended) if undefined.
    pub fn write_text(&self, _slot: Slot, _out: &mut Vec<u8>) -> bool {
        todo!()
    }
    /// The typed value; a text is typed now and the type remembered.
    pub fn value(&mut self, _slot: Slot, _symbols: &Symbols) -> Result<Value, EvaluationError> {
        todo!()
    }
}
