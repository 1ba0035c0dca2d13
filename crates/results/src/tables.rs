//! What is known of the tables that the built-in scripts work on. Found or told before a run; nothing is
//! looked up here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PartitionMethod;

/// The `pgbench_*` tables; each fact is `null` where nobody looked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tables {
    /// How many branches there are, with ten tellers and 100,000 accounts each; as found, or as told.
    pub scale: Option<u32>,
    /// How the accounts are partitioned; `null` also where they are not.
    pub partition_method: Option<PartitionMethod>,
    /// Into how many parts; 0 if they are not.
    pub partitions: Option<u32>,
}
