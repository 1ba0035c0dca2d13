//! `\if`, `\elif` and `\else`: the condition and the jumps. Created by `meta`; `blocks` sets the jumps and the engine
//! follows them.

use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};

/// The condition of `\if` or `\elif`, with its jumps.
#[derive(Debug)]
pub struct Condition {
    /// Index of the next `\elif`, `\else` or `\endif` of the same `\if`.
    pub next: usize,
    /// Index of its `\endif`.
    pub end: usize,
    expression: Expression,
}

impl Condition {
    /// A condition without jumps; see `blocks`.
    pub(crate) fn new(expression: Expression) -> Self {
        Self { next: usize::MAX, end: usize::MAX, expression }
    }

    /// Whether its branch is executed: a true boolean, or a number other than zero; NULL is false.
    pub fn holds(&self, scope: &mut Scope<'_>) -> Result<bool, EvaluationError> {
        self.expression.datum(scope).map(|datum| datum.is_true())
    }
}

/// `\else`, reached at the end of an executed branch.
#[derive(Debug)]
pub struct Else {
    /// Index of its `\endif`.
    pub end: usize,
}
