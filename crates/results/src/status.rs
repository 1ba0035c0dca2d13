//! How a run ended: the status that its record keeps.
//! The store has the same in a column of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// How a run ended: `"complete"`, `"interrupted"` or `{"failed": {"reason": "…"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ran as long as it was asked to.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// It could not go on.
    Failed {
        /// Why, in one sentence.
        reason: SafeText,
    },
}
