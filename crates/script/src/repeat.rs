//! `\repeat number` … `\endrepeat`: executes the commands between them several times. Created by `meta` in the extended
//! dialect; `blocks` sets the jumps and the engine counts. pgbench has no loops.

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};

/// `\repeat expression`
#[derive(Debug)]
pub struct Repeat {
    /// Index of its `\endrepeat`.
    pub end: usize,
    expression: Expression,
}

/// `\endrepeat`
#[derive(Debug)]
pub struct EndRepeat {
    /// Index of its `\repeat`.
    pub start: usize,
}

impl Repeat {
    /// A loop without its end; see `blocks`.
    pub(crate) fn new(expression: Expression) -> Self {
        Self { end: usize::MAX, expression }
    }

    /// The number of repetitions, evaluated once at the entry. Negative numbers are zero.
    pub fn count(&self, scope: &mut Scope<'_>) -> Result<u64, EvaluationError> {
        let count = self.expression.datum(scope).and_then(Datum::to_int)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Whether the number is a constant of at least 1, so that the commands are certainly executed.
    pub fn is_certain(&self) -> bool {
        self.expression.constant().and_then(Datum::as_int).is_some_and(|count| count > 0)
    }
}
