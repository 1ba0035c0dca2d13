//! The description of a journal: what `pgmeter verify` has to know of a run whose process was killed.
//! It is written before the first transaction.

use serde::{Deserialize, Serialize};

use crate::classification::Scripts;
use crate::token_table::TokenTable;

/// The file `run.json` of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Version of the format.
    pub version: u32,
    /// The table of the tokens.
    pub table: TokenTable,
    /// When the run started, as in its record.
    pub started_at: String,
    /// What happens to the transactions of each script.
    pub scripts: Scripts,
}

impl Description {
    /// The version that is written and read.
    pub const VERSION: u32 = 1;
}
