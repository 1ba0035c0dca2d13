//! The workload `events`: inserts and queries of time partitions. Its own SQL creates the partitions and their rows, so the
//! folder has no code.

use super::{NO_CODE, Shelved};

/// Its files and its code.
pub(super) const FOLDER: Shelved = Shelved {
    files: files![
        "workload.toml",
        "schema.sql",
        "rows.sql",
        "finish.sql",
        "scripts/insert_parent.sql",
        "scripts/insert_child.sql",
        "scripts/insert_spread.sql",
        "scripts/insert_parent_rows.sql",
        "scripts/insert_child_rows.sql",
        "scripts/select_day.sql",
        "scripts/select_all_days.sql",
        "checks/partitions.sql",
        "checks/rows.sql",
    ],
    own: NO_CODE,
};
