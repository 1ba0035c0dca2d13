//! Expressions: compiled once, evaluated many times.

use crate::error::EvaluationError;
use crate::random::Random;
use crate::symbols::Symbols;
use crate::value::Value;
use crate::variables::Variables;

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
pub struct Expression {}

impl Expression {
    /// The value. Does not allocate unless it fails.
    pub fn evaluate(&self, _scope: &mut Scope<'_>) -> Result<Value, EvaluationError> {
        todo!()
    }
}
