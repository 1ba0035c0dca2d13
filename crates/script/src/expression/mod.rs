//! Expressions: compiled once when the script is read, evaluated many times while it runs. The parser writes code
//! for a small stack machine directly, so there is no tree to walk or to drop, and an evaluation needs no memory but
//! a stack whose size is known beforehand.

mod arithmetic;
mod evaluate;
mod functions;
mod lexer;
mod parser;

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::random::Random;
use crate::symbols::{Slot, Symbols};
use crate::value::Value;
use crate::variables::Variables;

pub(crate) use parser::{ARRAY, ARRAY_NOT_ALONE, SYNTAX_ERROR, parse, parse_array};

/// Deepest nesting of parentheses, calls, CASEs and prefix operators. The parser calls itself once per level, which
/// takes less than 1 MB of stack even in an unoptimised build; a thread has at least two.
pub(crate) const NESTING_MAX: usize = 256;

/// What an evaluation may read and change. Build it with [`Scope::new`].
pub struct Scope<'a> {
    /// The client's variables.
    pub variables: &'a mut Variables,
    /// The client's function stream.
    pub random: &'a mut Random,
    /// The names, for messages.
    pub symbols: &'a Symbols,
    /// Receives the argument of each `debug()`; without one, `debug(x)` is just x.
    pub debug: Option<&'a mut dyn FnMut(Value)>,
}

impl<'a> Scope<'a> {
    /// A scope in which `debug()` is silent.
    pub fn new(variables: &'a mut Variables, random: &'a mut Random, symbols: &'a Symbols) -> Self {
        Self { variables, random, symbols, debug: None }
    }
}

/// A compiled expression.
#[derive(Debug)]
pub struct Expression {
    code: Box<[evaluate::Op]>,
    /// Most values on the stack at once.
    depth: usize,
}

impl Expression {
    /// The value. Does not allocate unless it fails.
    #[inline]
    pub fn evaluate(&self, scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
        self.datum(scope).map(Datum::value)
    }

    /// The same, but when it has a value it fails: the variable that should receive it has an impossible name.
    pub(crate) fn refusing_name(self, slot: Slot) -> Self {
        let code = self.code.into_iter().chain([evaluate::Op::RefuseName(slot)]).collect();
        Self { code, ..self }
    }

    /// The value as the machine leaves it.
    #[inline]
    pub(crate) fn datum(&self, scope: &mut Scope<'_>) -> Result<Datum, EvaluationError> {
        evaluate::evaluate(&self.code, self.depth, scope)
    }
}

#[cfg(test)]
mod tests;
