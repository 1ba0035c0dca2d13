//! What is known of the tables of a run's workload: found in the database or told by the user before a run.
//! Nothing is looked up here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::PartitionMethod;

/// The tables of a run's workload; each fact is `null` where nobody looked.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tables {
    /// The scale at which the workload's tables were loaded, as found or as told.
    pub scale: Option<u32>,
    /// How the workload's largest table is partitioned; `null` also where it is not.
    pub partition_method: Option<PartitionMethod>,
    /// Into how many partitions; 0 if it is not partitioned.
    pub partitions: Option<u32>,
}
