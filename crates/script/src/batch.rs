//! `\batch number`: one run of a script stands for so many business transactions, which the engine counts. Made by
//! `meta` in the extended dialect; pgbench has nothing like it.

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};

/// `\batch expression`
#[derive(Debug)]
pub struct Batch {
    pub(crate) expression: Expression,
}

impl Batch {
    /// How many transactions this run stands for, at least 1.
    pub fn size(&self, scope: &mut Scope<'_>) -> Result<u64, EvaluationError> {
        let size = self.expression.datum(scope).and_then(Datum::to_int)?;
        match u64::try_from(size) {
            Ok(size @ 1..) => Ok(size),
            _ => Err(EvaluationError::new(format!(
                "a batch must stand for at least one transaction (not {size})"
            ))),
        }
    }
}
