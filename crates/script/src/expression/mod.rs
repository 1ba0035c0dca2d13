//! Expressions: compiled once by the parser, evaluated many times. The parser directly creates code for a small stack
//! machine, so there is no tree, and an evaluation needs only a stack of known size.

mod arithmetic;
mod evaluate;
mod functions;
mod lexer;
mod parser;
mod strings;

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::random::Random;
use crate::symbols::{Slot, Symbols};
use crate::value::Value;
use crate::variables::Variables;

pub(crate) use parser::{ARRAY, ARRAY_NOT_ALONE, parse, parse_array};
pub(crate) use strings::{explain_string, parse_rows, parse_string};

/// State that an evaluation may read and change. Create it with [`Scope::new`].
pub struct Scope<'a> {
    /// The client's variables.
    pub variables: &'a mut Variables,
    /// The client's function stream.
    pub random: &'a mut Random,
    /// Names for messages.
    pub symbols: &'a Symbols,
    /// Called with the argument of each `debug()`; if `None`, `debug(x)` only returns x.
    pub debug: Option<&'a mut dyn FnMut(Value)>,
}

impl<'a> Scope<'a> {
    /// A scope without output of `debug()`.
    pub fn new(variables: &'a mut Variables, random: &'a mut Random, symbols: &'a Symbols) -> Self {
        Self { variables, random, symbols, debug: None }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    code: Box<[evaluate::Op]>,
    /// Maximum number of values on the stack.
    depth: usize,
}

impl Expression {
    /// The value. Allocates only if it fails.
    #[inline]
    pub fn evaluate(&self, scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
        self.datum(scope).map(Datum::value)
    }

    /// The value of an expression that is only a constant.
    pub(crate) fn constant(&self) -> Option<Datum> {
        if let [evaluate::Op::Push(value)] = *self.code { Some(value) } else { None }
    }

    /// The variable of an expression that is only a variable.
    pub(crate) fn variable(&self) -> Option<Slot> {
        if let [evaluate::Op::Load(slot)] = *self.code { Some(slot) } else { None }
    }

    /// The same, but assigning the value fails: the variable's name is invalid.
    pub(crate) fn refusing_name(self, slot: Slot) -> Self {
        let code = self.code.into_iter().chain([evaluate::Op::RefuseName(slot)]).collect();
        Self { code, ..self }
    }

    /// The value in the machine's representation.
    #[inline]
    pub(crate) fn datum(&self, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
        evaluate::evaluate(&self.code, self.depth, scope)
    }
}

#[cfg(test)]
mod tests;
