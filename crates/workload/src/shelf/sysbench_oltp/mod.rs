//! The workload `sysbench-oltp`: the OLTP scripts of sysbench on one table. Directives of its schema describe the rows, so the
//! folder has no code.

use super::{NO_CODE, Shelved};

/// Its files and its code.
pub(super) const FOLDER: Shelved = Shelved {
    files: files![
        "workload.toml",
        "schema.sql",
        "scripts/oltp_read_write.sql",
        "scripts/oltp_read_only.sql",
        "scripts/oltp_write_only.sql",
        "scripts/oltp_point_select.sql",
        "scripts/oltp_update_index.sql",
        "scripts/oltp_update_non_index.sql",
        "scripts/oltp_insert.sql",
        "scripts/oltp_delete.sql",
    ],
    own: NO_CODE,
};
