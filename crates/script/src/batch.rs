//! `\batch number`: one execution of a script counts as that many business transactions. Created by `meta` in the
//! extended dialect; pgbench does not have it.

use crate::datum::Datum;
use crate::error::EvaluationError;
use crate::expression::{Expression, Scope};

/// `\batch expression`
#[derive(Debug)]
pub struct Batch {
    pub(crate) expression: Expression,
}

impl Batch {
    /// Number of transactions of this execution, at least 1.
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
